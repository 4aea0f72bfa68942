#include "layers_statements.hpp"

#include <iterator>
#include <memory>
#include <span>

#include "arena.hpp"
#include "guarded_buffer.hpp"
#include "layers/epilogue/lookup/lookup.hpp"
#include "layers/layer/weight_only_layer.hpp"
#include "oracle/layers.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dqbench::verify {
namespace {

namespace layers = dynquant::layers;
namespace lookup = dynquant::lookup;
namespace oracle = dynquant::test::oracle;
namespace targets = dynquant::targets;
using dynquant::concat, dynquant::data_type, dynquant::dims, dynquant::to_string;
using kind = layers::post_op_kind;
using layers::result_type;
using layer_inputs = oracle::layer_inputs<layers::layer_description>;
using weight_only_inputs = oracle::weight_only_inputs<layers::weight_only_weights, layers::post_op>;

std::vector<layers::post_op> draw_steps(const chain &c, reals how, std::int64_t channels, drawing &draw) {
    std::vector<layers::post_op> steps;
    const auto values = [&](auto f) { return draw.many(draw.coin() ? 1 : channels, f); };
    for (const auto what : c.steps) {
        layers::post_op s {what};
        switch (what) {
            case kind::multiply:
                if (how == reals::wild || steps.empty() || steps.back().what != kind::multiply) {
                    s.a = values([&] { return draw.factor(how); });
                } else if (how == reals::ties && draw.coin()) { // 7 (1 / 14) is 1 / 2, but not for all sums
                    steps.back().a = {7};
                    s.a = {1 / 14.0F};
                } else { // layers may make one of them
                    s.a = values([&] { return 1 / static_cast<float>(1 << draw.number(0, 4)); });
                }
                break;
            case kind::divide:
                s.a = values([&] { return how == reals::ties ? 1 / draw.factor(how) : draw.real(how); });
                break;
            case kind::add:
                s.a = values([&] {
                    return steps.back().what == kind::round ? static_cast<float>(draw.number(-99, 155))
                                                            : draw.real(how);
                });
                break;
            case kind::clip: {
                constexpr auto infinity = std::numeric_limits<float>::infinity();
                constexpr float bounds[][2] = {{0, infinity}, {0, 6}, {0, 1}, {-1, 1}, {-3.5F, 300}, {-infinity, 2}};
                const auto &chosen = bounds[draw.number(0, std::ssize(bounds) - 1)];
                s.a = {chosen[0]};
                s.b = {chosen[1]};
                break;
            }
            case kind::saturate:
                s.a = {c.is_signed ? -128.0F : 0.0F};
                s.b = {c.is_signed ? 127.0F : 255.0F};
                break;
            case kind::look_up:
                s.table = draw.many(65536, [&] { return static_cast<std::uint8_t>(draw.number(0, 255)); });
                for (std::size_t i = 0; i < s.table.size(); ++i)
                    if ((i & 0x7fff) > 0x7c00) s.table[i] = 200; // any NaN
                break;
            case kind::scale: // no chain has it; the plan tells which `multiply` becomes one
            case kind::round:
            case kind::save:
            case kind::add_saved:
            case kind::erf:
            case kind::tanh:
            case kind::sigmoid: break;
            case kind::multiply_saved:
                if (steps.back().what == kind::add && draw.number(0, 1) == 0) s.a = {0.5F};
                break;
            default: s.a = values([&] { return draw.real(how) / 4; });
        }
        steps.push_back(std::move(s));
    }
    return steps;
}

/// The native kernel up to an instruction set.
template <dynquant::isa most>
dynquant::operation prepare_up_to(const dynquant::quantization &q) {
    dynquant::options how;
    how.kernel = dynquant::kernel_kind::native;
    how.max_isa = most;
    return dynquant::prepare(q, how);
}

/// Another one where something was written beyond the results.
digest digest_of(data_type type, std::span<std::byte> results, bool are_guards_intact) {
    hasher of;
    of.add(type, results);
    if (!are_guards_intact) of.add(digest {1});
    return of.value();
}
digest digest_of(data_type type, guarded_buffer &results) {
    return digest_of(type, results.bytes(), results.guards_intact());
}

std::int64_t channels_of(const plan &p) {
    return p.d.weights_shape[p.d.is_convolution ? 0 : 1];
}

/// Of x, that have scales and zero points of their own.
std::int64_t rows_of(const plan &p) {
    if (!p.d.scales_by_row) return 1;
    return p.d.is_convolution ? p.x.front() : *dynquant::volume(p.x) / p.x.back();
}

data_type type_of(result_type of) {
    return of == result_type::s32 ? data_type::s32 : of == result_type::f32 ? data_type::f32 : data_type::u8;
}

template <typename F>
auto draw_amount(amount a, std::int64_t each, drawing &draw, F f) {
    return draw.many(a == amount::none ? 0 : a == amount::one ? 1 : each, f);
}

/// What a layer quantizes. Wild: a row of zeros or any numbers, with a wild one. Ties: a scale of 1.
std::vector<float> draw_rows(std::int64_t rows, std::int64_t length, reals how, drawing &draw) {
    std::vector<float> x;
    for (std::int64_t row = 0; row < rows; ++row) {
        const bool is_zero = how == reals::wild && draw.coin();
        auto values = draw.many(length, [&] { return is_zero ? 0 : draw.real(reals::any); });
        auto &special = values[static_cast<std::size_t>(draw.number(0, length - 1))];
        if (how == reals::wild) special = draw.real(reals::wild);
        if (how == reals::ties) {
            std::ranges::generate(values, [&] { return static_cast<float>(draw.number(-200, 310)) / 2; });
            values.front() = -100;
            values.back() = 155;
        }
        x.insert(x.end(), values.begin(), values.end());
    }
    return x;
}

std::vector<std::byte> bytes_of(const std::vector<float> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

layer_inputs draw_inputs(const plan &p, drawing draw) {
    layer_inputs in {p.d, p.x, {}, {}, {}, {}, {}};
    auto &d = in.d;
    const auto channels = channels_of(p), rows = rows_of(p), elements = *dynquant::volume(p.x);
    const auto zero_points_of = [&](bool is_signed) {
        return [&draw, is_signed] { return static_cast<std::int32_t>(draw.number(0, 255) - (is_signed ? 128 : 0)); };
    };
    const auto bytes = [&](std::int64_t count, bool is_signed) {
        const auto greatest = is_signed ? std::byte {0x80} : std::byte {0xff};
        return draw.many(count, [&] { return p.bytes == filling::greatest ? greatest : draw.byte(p.bytes); });
    };
    in.w = bytes(*dynquant::volume(d.weights_shape), d.w_is_signed);
    in.x = d.prepare ? bytes_of(draw_rows(rows, elements / rows, p.floats, draw)) : bytes(elements, d.x_is_signed);
    d.w_zero_points = draw_amount(p.w_zero_points, channels, draw, zero_points_of(d.w_is_signed));
    const auto of_x = zero_points_of(d.x_is_signed);
    if (p.knows_x_zero_point)
        d.x_zero_point = of_x();
    else if (!d.prepare)
        in.x_zero_points = draw.many(rows, of_x);
    if (!p.knows_x_zero_point) d.x_zero_point.reset();
    d.bias = draw_amount(p.bias, channels, draw,
            [&] { return static_cast<std::int32_t>(draw.number(INT32_MIN, INT32_MAX)) >> draw.number(0, 30); });
    if (p.has_x_scale && !d.prepare) in.x_scales = draw.many(rows, [&] { return draw.factor(p.floats); });
    d.post_ops = draw_steps(*p.steps, p.floats, channels, draw);
    if (p.has_x_scale) d.post_ops.front().what = kind::scale;
    d.result = p.steps->result;
    if (const auto kind = p.steps->normalization; kind != chain::normalization::none) {
        auto &by = d.normalization.emplace();
        by.has_mean = kind == chain::normalization::layer;
        by.epsilon = draw.coin() ? 1e-5F : 0;
        by.scale = draw.many(channels, [&] { return draw.factor(p.floats); });
        if (by.has_mean) by.bias = draw.many(channels, [&] { return draw.real(p.floats) / 4; });
    }
    if (p.steps->has_table)
        std::ranges::generate(d.table.emplace(), [&] { return static_cast<std::uint8_t>(draw.number(0, 255)); });
    return in;
}

digest compute(const layer_inputs &in, const way &w) {
    const auto result = type_of(in.d.result);
    if (w.is_reference) {
        auto y = oracle::result_of(in);
        return digest_of(result, y, true);
    }
    auto d = in.d;
    if (d.prepare) d.prepare = prepare_by(w.available);
    const layers::packed_layer problem(d, in.w.data(), w.available);
    const layers::layer layer(problem, in.x_shape);
    guarded_buffer y(*dynquant::volume(layer.y()) * (result == data_type::u8 ? 1 : 4));
    layers::workspace memory;
    in_arena(w.threads, [&] { layer.run({in.x.data(), y.data(), in.x_zero_points, in.x_scales}, memory); });
    return digest_of(result, y);
}

std::string line_of(const weight_only_plan &p) {
    return concat("layer: ", p.is_convolution ? "Conv" : "MatMul", " x f32 of ", p.rows, " rows by ", to_string(p.type),
            ' ', p.inner, 'x', p.columns, p.is_transposed ? " transposed" : "", ", blocks of ", p.block,
            p.is_by_column ? ", by column" : "", p.quantizes_x ? ", x quantized" : "",
            p.has_zero_points ? ", zero points" : "", ", floats ", name_of(p.floats), "; ", p.steps->name);
}

weight_only_inputs draw_inputs(const weight_only_plan &p, drawing draw) {
    weight_only_inputs in;
    auto &w = in.w;
    w.type = p.type;
    w.inner = p.inner;
    w.columns = p.columns;
    w.is_transposed = p.is_transposed;
    w.block = p.block;
    w.scale_columns = p.is_by_column ? p.columns : 1;
    w.quantizes_x = p.quantizes_x;
    const bool is_nibble = p.type == data_type::s4 || p.type == data_type::u4;
    const bool is_signed = p.type == data_type::s4 || p.type == data_type::s8;
    const auto codes = p.inner * p.columns, parameters = (p.inner - 1) / p.block * w.scale_columns + w.scale_columns;
    in.data = draw.many(is_nibble ? (codes + 1) / 2 : codes, [&] {
        const auto code = draw.byte(filling::any), magnitude = code & std::byte {0x7f};
        const bool is_finite = p.type == data_type::f8_e4m3
                ? magnitude != std::byte {0x7f}
                : p.type != data_type::f8_e5m2 || magnitude < std::byte {0x7c};
        return is_finite || p.floats == reals::wild ? code : std::byte {};
    });
    w.scales = draw.many(parameters, [&] { return draw.factor(p.floats); });
    const auto range = is_nibble ? 16 : 256;
    if (p.has_zero_points)
        w.zero_points = draw.many(parameters,
                [&] { return static_cast<std::int32_t>(draw.number(0, range - 1) - (is_signed ? range / 2 : 0)); });
    in.is_convolution = p.is_convolution;
    in.x_shape = p.is_convolution ? dims {2, p.inner, p.rows} : dims {p.rows, p.inner};
    for (std::int64_t i = *dynquant::volume(in.x_shape) / p.inner; i > 0; --i) { // any NaN is in few rows
        const auto x =
                draw.many(p.inner, [&] { return draw.real(p.floats == reals::ties ? reals::ties : reals::any); });
        in.x.insert(in.x.end(), x.begin(), x.end());
        if (p.floats == reals::wild && draw.coin()) in.x.back() = draw.real(reals::wild);
    }
    in.steps = draw_steps(*p.steps, p.floats, p.columns, draw);
    return in;
}

digest compute(const weight_only_inputs &in, const way &w) {
    if (w.is_reference) {
        auto y = oracle::result_of(in);
        return digest_of(data_type::f32, std::as_writable_bytes(std::span(y)), true);
    }
    layers::weight_only_description d;
    d.weights = in.w;
    d.weights.data = in.data.data();
    d.is_convolution = in.is_convolution;
    d.post_ops = in.steps;
    const layers::weight_only_layer layer(d, w.available);
    guarded_buffer y(*dynquant::volume(layer.y_of(in.x_shape)) * std::int64_t {sizeof(float)});
    layers::weight_only_layer::memory memory;
    in_arena(w.threads, [&] { layer.run({in.x.data(), y.as<float>()}, in.x_shape, memory); });
    return digest_of(data_type::f32, y);
}

} // namespace

const chain sums {"s32", {}, result_type::s32};

const std::vector<chain> &chains() {
    using enum layers::post_op_kind;
    constexpr auto bytes = result_type::bytes;
    static const std::vector<chain> all {
            {"f32", {}},
            {"multiply", {multiply}},
            {"multiply,add", {multiply, add}},
            {"multiply,multiply,add,clip", {multiply, multiply, add, clip}},
            {"divide,leaky_relu", {divide, leaky_relu}},
            {"multiply,add,leaky_relu,round", {multiply, add, leaky_relu, round}},
            {"hard_sigmoid", {multiply, multiply, add, clip}},
            {"hard_swish", {multiply, save, multiply, add, clip, multiply_saved}},
            {"hard_swish_by_relu6", {multiply, add, save, add, clip, multiply_saved, divide}},
            {"times_itself", {multiply, save, leaky_relu, divide, multiply_saved, add}},
            {"gelu", {multiply, add, save, divide, erf, add, multiply_saved}},
            {"layer_normalization", {multiply, add}, result_type::f32, false, false, chain::normalization::layer},
            {"rms_normalization", {multiply}, result_type::f32, false, false, chain::normalization::rms},
            {"gelu_by_tanh",
                    {multiply, add, save, multiply_saved, multiply_saved, multiply, add_saved, multiply, tanh, add,
                            multiply_saved}},
            {"fast_gelu",
                    {multiply, add, save, multiply_saved, multiply, add, multiply_saved, tanh, add, multiply_saved,
                            multiply}},
            {"swish", {multiply, add, save, multiply, sigmoid, multiply_saved}},
            {"tanh", {multiply, add, tanh}},
            {"sigmoid", {multiply, add, sigmoid}},
            {"bytes_by_multiply->u8", {multiply, saturate}, bytes},
            {"bytes_by_multiply->s8", {multiply, saturate}, bytes, true},
            {"bytes_by_two_multipliers->s8", {multiply, multiply, saturate}, bytes, true},
            {"bytes_by_two_multipliers,relu->u8", {multiply, multiply, clip, saturate}, bytes},
            {"quantize->u8", {multiply, add, divide, round, add, saturate}, bytes},
            {"quantize->s8", {multiply, clip, divide, round, add, saturate}, bytes, true},
            {"look_up_float16->u8", {multiply, add, look_up}, bytes},
            {"table->u8", {multiply, divide, saturate}, bytes, false, true},
            {"table->s8", {multiply, round, add, saturate}, bytes, true, true},
    };
    return all;
}

layers::prepare_function prepare_by(targets::features available) {
    using enum dynquant::isa;
    switch (targets::strongest(available)) {
        case scalar: return prepare_up_to<scalar>;
        case avx2: return prepare_up_to<avx2>;
        case neon: return prepare_up_to<neon>;
        case avx512: break;
    }
    return prepare_up_to<avx512>;
}

std::string line_of(const plan &p) {
    const auto &d = p.d;
    const auto type = [](bool is_signed) { return is_signed ? " s8 " : " u8 "; };
    auto line = concat("layer: ", d.is_convolution ? "ConvInteger" : "MatMulInteger", " x",
            d.prepare ? " f32 " : type(d.x_is_signed), to_string(p.x), d.x_is_channels_last ? " channels last" : "",
            " w", type(d.w_is_signed), to_string(d.weights_shape));
    if (d.is_convolution) {
        const auto add = [&](const char *name, const dims &values) {
            if (!values.empty()) line += concat(' ', name, ' ', to_string(values));
        };
        if (d.groups > 1) add("groups", {d.groups});
        add("strides", d.window.strides);
        add("dilations", d.window.dilations);
        add("pads", d.window.pads);
        if (d.window.auto_pad != "NOTSET") line += " auto_pad " + d.window.auto_pad;
        if (d.y_is_channels_last) line += " y channels last";
    }
    line += concat(", zero points of x ",
            p.knows_x_zero_point ? "known"
                    : d.prepare  ? "computed"
                                 : "given",
            ", of w ", name_of(p.w_zero_points), ", bias ", name_of(p.bias), d.scales_by_row ? ", by row" : "",
            p.has_x_scale ? ", x scale" : "", ", bytes ", name_of(p.bytes), "; ", p.steps->name);
    if (d.prepare || p.steps != &sums) line += concat(", floats ", name_of(p.floats));
    return line;
}

statement statement_of(const plan &p) {
    const auto line = line_of(p);
    return {line, *dynquant::volume(oracle::y_shape(p.d, p.x)), [p, line]() -> computation {
                const auto in = std::make_shared<layer_inputs>(draw_inputs(p, drawing(line)));
                return [in](const way &w) { return compute(*in, w); };
            }};
}

statement statement_of(const weight_only_plan &p) {
    const auto line = line_of(p);
    return {line, p.rows * p.columns * (p.is_convolution ? 2 : 1), [p, line]() -> computation {
                const auto in = std::make_shared<weight_only_inputs>(draw_inputs(p, drawing(line)));
                return [in](const way &w) { return compute(*in, w); };
            }};
}

statement look_up_statement(std::int64_t count, std::int64_t offset, bool in_place) {
    const auto line = concat("table of bytes: ", count, " bytes from ", offset, " on", in_place ? ", in place" : "");
    return {line, count, [=]() -> computation {
                drawing draw(line);
                lookup::table values;
                std::ranges::generate(values, [&] { return static_cast<std::uint8_t>(draw.number(0, 255)); });
                const auto src = draw.many(count, [&] { return draw.byte(filling::any); });
                return [=](const way &w) {
                    guarded_buffer dst(count, static_cast<std::size_t>(offset));
                    if (w.is_reference) {
                        std::ranges::transform(src, dst.data(), [&](std::byte x) {
                            return static_cast<std::byte>(values[std::to_integer<std::size_t>(x)]);
                        });
                        return digest_of(data_type::u8, dst);
                    }
                    if (in_place) std::ranges::copy(src, dst.data());
                    const auto *const from =
                            in_place ? dst.as<std::uint8_t>() : reinterpret_cast<const std::uint8_t *>(src.data());
                    in_arena(w.threads, [&] {
                        lookup::look_up(lookup::function_for(w.available), values, from, dst.as<std::uint8_t>(), count,
                                w.threads);
                    });
                    return digest_of(data_type::u8, dst);
                };
            }};
}

} // namespace dqbench::verify
