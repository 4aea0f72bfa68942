// A layer and oneDNN's f32 MatMul of the same dequantized tensors differ by no more than docs/reference.md derives.
#include <algorithm>
#include <cmath>

#include "by_hand.hpp"
#include "support/number_source.hpp"

namespace dynquant::test {
namespace {

/// x of u8 and w of s8, each with one zero point; a scale for each row of x and each column of w.
struct operands {
    std::int64_t rows, inner, columns;
    std::vector<std::uint8_t> x;
    std::vector<std::int8_t> w;
    std::int32_t x_zp = 0, w_zp = 0;
    floats x_scales, w_scales;

    program chain() const {
        const lt x_codes = u8(0, {rows, inner}), of_x = f32(1, {rows}), x_zps = s32(2, {rows});
        const lt w_codes = s8(10, {inner, columns}), of_w = f32(11, {columns}), w_zps = s32(12, {columns});
        const lt x_real = f32(3, {rows, inner}), w_real = f32(13, {inner, columns});
        program p;
        p.y = f32(20, {rows, columns});
        p.ops = {by_channel({100, kind::DynamicDequantize, {x_codes, of_x, x_zps}, {x_real}, "dx"}, 0),
                by_channel({101, kind::DynamicDequantize, {w_codes, of_w, w_zps}, {w_real}, "dw"}, 1),
                {102, kind::MatMul, {x_real, w_real}, {p.y}, "product"}};
        p.give(x_codes, x).give(w_codes, w).give(of_x, x_scales).give(of_w, w_scales);
        p.give(x_zps, std::vector<std::int32_t>(x_scales.size(), x_zp));
        p.give(w_zps, std::vector<std::int32_t>(w_scales.size(), w_zp));
        return p;
    }
};

/// The largest distance of each result as a part of what the reference allows it.
struct distances {
    double apart = 0, layer = 0, onednn = 0;

    void add(const distances &other) {
        apart = std::max(apart, other.apart);
        layer = std::max(layer, other.layer);
        onednn = std::max(onednn, other.onednn);
    }
};

distances compare(const operands &o) {
    const auto by_layer = layer_gives(o.chain());
    auto separate = o.chain();
    const auto partitions = partitions_of(separate, dg::partition::policy::debug);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100}, {101}, {102}}));
    run_in_order(partitions, separate);
    const auto by_onednn = data_of(separate, 20);

    const auto roundings = [](std::int64_t n) {
        const auto all = std::ldexp(static_cast<double>(n), -24);
        return all / (1 - all);
    };
    distances result;
    for (std::int64_t row = 0; row < o.rows; ++row)
        for (std::int64_t column = 0; column < o.columns; ++column) {
            std::int64_t sum = 0, of_magnitudes = 0;
            for (std::int64_t k = 0; k < o.inner; ++k) {
                const std::int64_t term = (o.x[static_cast<std::size_t>(row * o.inner + k)] - o.x_zp)
                        * (o.w[static_cast<std::size_t>(k * o.columns + column)] - o.w_zp);
                sum += term;
                of_magnitudes += std::abs(term);
            }
            // A double holds the product of two floats.
            const auto scale = static_cast<double>(o.x_scales[static_cast<std::size_t>(row)])
                    * o.w_scales[static_cast<std::size_t>(column)];
            const auto exact = static_cast<long double>(scale) * static_cast<long double>(sum);
            const auto most = scale * static_cast<double>(of_magnitudes);
            const auto i = static_cast<std::size_t>(row * o.columns + column);
            const auto part = [&](long double a, long double b, std::int64_t count) {
                const auto apart = static_cast<double>(std::abs(a - b));
                return apart == 0 ? 0 : apart / (roundings(count) * most);
            };
            result.add({part(by_layer[i], by_onednn[i], o.inner + 5), part(by_layer[i], exact, 3),
                    part(by_onednn[i], exact, o.inner + 2)});
        }
    return result;
}

void expect_allowed(const distances &d) {
    EXPECT_LE(d.apart, 1);
    EXPECT_LE(d.layer, 1);
    EXPECT_LE(d.onednn, 1);
}

class drawn_operands {
  public:
    explicit drawn_operands(std::uint64_t seed)
        : drawn_(seed) {}

    operands draw(std::int64_t inner) {
        operands o {within(1, 5), inner, within(1, 9), {}, {}, 0, 0, {}, {}};
        o.x_zp = static_cast<std::int32_t>(within(0, 255));
        o.w_zp = static_cast<std::int32_t>(within(-128, 127));
        for (std::int64_t i = 0; i < o.rows * inner; ++i)
            o.x.push_back(static_cast<std::uint8_t>(within(0, 255)));
        for (std::int64_t i = 0; i < inner * o.columns; ++i)
            o.w.push_back(static_cast<std::int8_t>(within(-128, 127)));
        for (std::int64_t i = 0; i < o.rows; ++i)
            o.x_scales.push_back(scale());
        for (std::int64_t i = 0; i < o.columns; ++i)
            o.w_scales.push_back(scale());
        return o;
    }

    /// All 24 bits of a significand, so that each product is rounded.
    float scale() {
        return std::ldexp(static_cast<float>(within(1 << 23, (1 << 24) - 1)), static_cast<int>(within(-34, -24)));
    }

  private:
    std::int64_t within(std::int64_t lowest, std::int64_t highest) { return drawn_.within(lowest, highest); }

    number_source drawn_;
};

TEST(layers_beside_f32_products, differ_by_a_few_roundings) {
    distances all;
    for (const std::int64_t inner : {1, 2, 3, 7, 16, 33, 100, 257, 1000, 4096})
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            SCOPED_TRACE(testing::Message() << inner << " terms, seed " << seed);
            const auto d = compare(drawn_operands(seed).draw(inner));
            expect_allowed(d);
            all.add(d);
        }
    // Bounds that were ten times tighter would be wrong, so that the comparison can fail.
    EXPECT_GT(all.apart, 0.1);
    EXPECT_GT(all.layer, 0.1);
    EXPECT_GT(all.onednn, 0.1);
}

// Equal terms round in one direction for as long as the exponent of a sum stays. Where half of them have the other
// sign, the result is near 0, and what was rounded stays.
TEST(layers_beside_f32_products, differ_by_no_more_in_sums_of_equal_terms) {
    distances all;
    for (const bool cancels : {false, true})
        for (const std::int64_t inner : {2, 6, 32, 250, 1024, 8192})
            for (std::uint64_t seed = 0; seed < 10; ++seed) {
                SCOPED_TRACE(testing::Message() << inner << " terms, seed " << seed);
                drawn_operands drawn(seed);
                operands o {1, inner, 1, {}, {}, 0, 0, {drawn.scale()}, {drawn.scale()}};
                o.x.assign(static_cast<std::size_t>(inner), 255);
                o.w.assign(static_cast<std::size_t>(inner), 127);
                if (cancels) std::fill_n(o.w.begin(), inner / 2, std::int8_t {-127});
                const auto d = compare(o);
                expect_allowed(d);
                all.add(d);
            }
    EXPECT_GT(all.apart, 0.1);
}

} // namespace
} // namespace dynquant::test
