// Models whose attributes, shapes and parameters are as large, as small and as many as a file can say: each is a layer
// that can be described and run, or is refused in words. Under the sanitizers no arithmetic on them overflows.
#include <limits>

#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "layers/match/describe.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "support/random.hpp"

namespace dynquant::layers::match {
namespace {

using integers = std::vector<std::int64_t>;
constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

class extreme_model {
  public:
    explicit extreme_model(unsigned seed)
        : random_(seed) {
        one_in(2) ? add_integer_product() : add_weight_only_product();
        std::string y = "y";
        for (auto i = pick(4); i > 0; --i)
            y = add_step(y, "y" + std::to_string(i));
    }

    const builder &result() const { return b_; }

    /// Draws a shape of x, which is sometimes the one that the weights want.
    dims x_shape(std::int64_t channels, std::size_t rank, bool is_convolution) {
        dims x = shape(rank);
        if (rank > (is_convolution ? 1 : 0)) x[is_convolution ? 1 : rank - 1] = channels;
        return x;
    }

    std::int64_t number() {
        constexpr std::int64_t extremes[] = {least, least + 1, -(std::int64_t {1} << 62), -(std::int64_t {1} << 31), -3,
                -2, -1, std::int64_t {1} << 30, (std::int64_t {1} << 30) + 1, std::int64_t {1} << 31,
                std::int64_t {1} << 44, std::int64_t {1} << 62, most - 70, most - 1, most};
        return one_in(2) ? pick(5) : extremes[pick(std::size(extremes))];
    }

    /// Small, or without elements and otherwise huge.
    dims shape(std::size_t rank) {
        dims result;
        for (std::size_t d = 0; d < rank; ++d)
            result.push_back(1 + pick(6));
        if (rank > 0 && one_in(3)) {
            for (auto &extent : result)
                if (one_in(2)) extent = std::max<std::int64_t>(number(), 1);
            result[static_cast<std::size_t>(pick(rank))] = 0;
        }
        return result;
    }

    bool one_in(std::size_t count) { return pick(count) == 0; }

  private:
    std::int64_t pick(std::size_t count) { return random_.within(0, static_cast<std::int64_t>(count) - 1); }

    void set(node &n, const char *name, std::int64_t value) { n.attributes[name] = value; }
    void set_numbers(node &n, const char *name, std::size_t count) {
        if (one_in(2)) return;
        integers values;
        for (std::size_t i = 0; i < count + (one_in(9) ? 1 : 0); ++i)
            values.push_back(one_in(3) ? number() : 1 + pick(2));
        n.attributes[name] = values;
    }
    void add_integer_product() {
        const bool is_convolution = one_in(2);
        const auto rank = static_cast<std::size_t>(is_convolution ? 3 + pick(3) : 1 + pick(3));
        const auto w = shape(rank);
        std::optional<dims> x;
        if (one_in(2)) x = shape(rank);
        if (one_in(3)) {
            b_.add("floats", data_type::f32, x);
            auto &n = b_.then("DynamicQuantizeLinear", {"floats"}, {"x", "s", "z"});
            if (one_in(2)) {
                n.what = op::dynamic_quantize_rows;
                set(n, "block_size", number());
            }
            b_["s"].shape = b_["z"].shape = dims {};
            b_["z"].type = data_type::u8;
        } else {
            b_.add_bytes("z", one_in(9) ? shape(1) : dims {});
        }
        b_.add("x", data_type::u8, x);
        b_.add_bytes("w", w, 3, one_in(2) ? data_type::s8 : data_type::u8);
        names inputs = {"x", "w", one_in(5) ? "" : "z"};
        if (one_in(2)) {
            const auto filters = is_convolution ? w.front() : w.back();
            b_.add_bytes("wz", one_in(2) && filters < 9 ? dims {filters} : one_in(9) ? shape(1) : dims {1});
            inputs.push_back("wz");
        }
        b_.add("sums", data_type::s32, std::nullopt);
        auto &n = b_.then(is_convolution ? "ConvInteger" : "MatMulInteger", inputs, {"sums"});
        if (is_convolution) add_window(n, w);
        b_.cast("sums", "y");
    }

    void add_window(node &n, const dims &w) {
        const auto rank = w.size() - 2;
        if (one_in(2)) set(n, "group", one_in(2) ? number() : w.front());
        for (const char *name : {"dilations", "strides", "kernel_shape"})
            set_numbers(n, name, rank);
        set_numbers(n, "pads", 2 * rank);
        const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "NONE"};
        n.attributes["auto_pad"] = std::string(modes[pick(5)]);
    }

    void add_weight_only_product() {
        const bool is_convolution = one_in(3);
        auto w = shape(2);
        if (is_convolution) w.push_back(1); // tap
        const bool is_transposed = is_convolution || one_in(2);
        const std::size_t inner = is_transposed ? 1 : 0, axis = one_in(4) ? 1 - inner : inner;
        const auto block = number();
        dims scale;
        if (block > 0 && !is_convolution) {
            scale = w;
            scale[axis] = ceil_div(w[axis], block);
        } else if (one_in(2) && w[axis] < 9) {
            scale = {w[axis]};
        }
        b_.add_bytes("q", w, 3, one_in(2) ? data_type::s8 : data_type::f8_e4m3);
        b_.add_floats("scale", scale);
        b_.add("w", data_type::f32, w);
        auto &dequantize = b_.then("DequantizeLinear", {"q", "scale"}, {"w"});
        if (block != 0) set(dequantize, "block_size", block);
        const auto given = static_cast<std::int64_t>(axis);
        set(dequantize, "axis", one_in(5) ? number() : one_in(2) ? given : given - std::ssize(w));
        b_.add("x", data_type::f32, one_in(2) ? std::optional(shape(w.size())) : std::nullopt);
        const bool is_turned = !is_convolution && one_in(4);
        if (is_turned) {
            b_.add("turned", data_type::f32, dims {w[1], w[0]});
            b_.then("Transpose", {"w"}, {"turned"});
        }
        auto &n = b_.then(is_convolution ? "Conv" : "Gemm", {"x", is_turned ? "turned" : "w"}, {"y"});
        if (!is_convolution)
            set(n, "transB", is_transposed != is_turned ? one_in(5) ? number() : 1 : 0);
        else if (one_in(2))
            add_window(n, w);
    }

    std::string add_step(const std::string &x, const std::string &y) {
        if (one_in(4)) {
            b_.add_floats("y_scale", one_in(2) ? dims {} : shape(1));
            b_.add(y, data_type::s8, std::nullopt);
            auto &n = b_.then("QuantizeLinear", {x, "y_scale"}, {y});
            for (const char *name : {"axis", "block_size", "precision"})
                if (one_in(3)) set(n, name, number());
        } else if (one_in(3)) {
            b_.then("LeakyRelu", {x}, {y});
        } else {
            b_.add_floats("factor", one_in(2) ? dims {} : shape(static_cast<std::size_t>(pick(4))));
            b_.then("Mul", {x, "factor"}, {y});
        }
        return y;
    }

    test::random_source random_;
    builder b_;
};

bool can_run(const dims &x, const dims &y) {
    constexpr std::int64_t few = 4096;
    return volume(x).value_or(few) < few && volume(y).value_or(few) < few;
}

struct counts {
    int found = 0, described = 0, shaped = 0, run = 0;
};

void check_integers(extreme_model &model, const layer_match &m, counts &of) {
    const auto &g = model.result().g;
    auto d = describe(g, m);
    const auto w = d.weights_shape;
    const auto rank = w.size();
    const bool is_convolution = d.is_convolution;
    if (m.quantize != none) d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
    const auto channels = is_convolution ? w[1] : w[0];
    const auto &known = *g.input(g.nodes[m.product], 1).known;
    if (volume(known.shape) == 0 && volume(w) != 0) return; // of several matrices, none
    const packed_layer problem(std::move(d), known.data, environment::usable_features());
    ++of.described;
    const auto filters = is_convolution ? w[0] : w[1];
    for (int i = 0; i < 4; ++i) {
        const auto x_shape = model.x_shape(model.one_in(8) ? model.number() : channels, rank, is_convolution);
        if (std::ranges::any_of(x_shape, [](std::int64_t extent) { return extent < 0; })) continue;
        if (channels == 0 && filters > 1 << 20) continue; // sums of nothing, as many as y has
        try {
            const layer l(problem, x_shape);
            ++of.shaped;
            if (!can_run(l.x(), l.y())) continue;
            const std::vector<float> x(static_cast<std::size_t>(*volume(l.x())), 1);
            std::vector<float> y(static_cast<std::size_t>(*volume(l.y())));
            const std::vector<std::int32_t> zero_points(static_cast<std::size_t>(l.rows()), 5);
            const std::vector<float> scales(static_cast<std::size_t>(l.rows()), 0.5F);
            workspace memory;
            l.run({x.data(), y.data(), zero_points, scales}, memory);
            ++of.run;
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()), "");
        }
    }
}

void check_weight_only(extreme_model &model, const layer_match &m, counts &of) {
    const auto d = describe_weight_only(model.result().g, m);
    const weight_only_layer l(d, environment::usable_features());
    ++of.described;
    for (int i = 0; i < 4; ++i) {
        const auto rank = d.x_rank == 0 ? 2 : d.x_rank;
        const auto inner = model.one_in(8) ? std::max<std::int64_t>(model.number(), 0) : d.weights.inner;
        const auto x_shape = model.x_shape(inner, rank, d.is_convolution);
        try {
            const auto y_shape = l.y_of(x_shape);
            ++of.shaped;
            if (!can_run(x_shape, y_shape)) continue;
            const std::vector<float> x(static_cast<std::size_t>(*volume(x_shape)), 1);
            std::vector<float> y(static_cast<std::size_t>(*volume(y_shape)));
            weight_only_layer::memory memory;
            l.run({x.data(), y.data()}, x_shape, memory);
            ++of.run;
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()), "");
        }
    }
}

TEST(extreme_models, are_layers_or_are_refused) {
    counts of_integers, of_floats;
    constexpr int models = 20000;
    for (unsigned seed = 0; seed < models; ++seed) {
        SCOPED_TRACE(seed);
        extreme_model model(seed);
        const auto found = model.result().find().found;
        if (!found) continue;
        auto &of = found->weights.dequantize == none ? of_integers : of_floats;
        ++of.found;
        try {
            found->weights.dequantize == none ? check_integers(model, *found, of)
                                              : check_weight_only(model, *found, of);
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()), "");
        }
        if (HasFailure()) FAIL();
    }
    for (const auto &of : {of_integers, of_floats}) {
        EXPECT_GT(of.found, models / 20);
        EXPECT_GT(of.described, of.found / 3);
        EXPECT_GT(of.shaped, of.found / 3);
        EXPECT_GT(of.run, of.found / 10);
    }
}

} // namespace
} // namespace dynquant::layers::match
