// Layers of models: products and convolutions of 8-bit integers with the steps behind their sums, tables of bytes, and
// products by narrow weights. oracle/layers.hpp defines their results.
#include "layers_statements.hpp"
#include "quantization/text.hpp"

namespace dqbench::verify {
namespace {

namespace layers = dynquant::layers;
namespace targets = dynquant::targets;
using dynquant::concat, dynquant::data_type, dynquant::dims;
using kind = layers::post_op_kind;
using sets = std::vector<targets::instruction_set>;

plan product(const dims &x, std::int64_t columns) {
    plan p;
    p.x = x;
    p.d.weights_shape = {x.back(), columns};
    return p;
}

struct layout {
    bool x_is_last = false, y_is_last = false;
};
constexpr layout first {}, last {true, true}, x_last {true, false}, y_last {false, true};

plan convolution(const dims &x, std::int64_t filters, const dims &kernel, const layers::window_attributes &window = {},
        std::int64_t groups = 1, layout of = first) {
    plan p;
    p.x = x;
    p.d.is_convolution = true;
    p.d.weights_shape = {filters, x[1] / groups};
    p.d.weights_shape.insert(p.d.weights_shape.end(), kernel.begin(), kernel.end());
    p.d.window = window;
    p.d.groups = groups;
    p.d.x_is_channels_last = of.x_is_last;
    p.d.y_is_channels_last = of.y_is_last;
    return p;
}

layers::window_attributes window(const dims &pads, const dims &strides = {}, const dims &dilations = {}) {
    layers::window_attributes given;
    given.pads = pads;
    given.strides = strides;
    given.dilations = dilations;
    return given;
}
layers::window_attributes same(const char *auto_pad, const dims &strides) {
    auto given = window({}, strides);
    given.auto_pad = auto_pad;
    return given;
}

/// Those whose results are as many as threads share are behind.
std::vector<plan> products() {
    return {product({1}, 1), product({129}, 37), product({2, 64}, 16), product({3, 63}, 17), product({4, 65}, 33),
            product({5, 4}, 64), product({6, 7}, 65), product({7, 31}, 129), product({2, 4, 128}, 8),
            product({11, 2}, 100), product({12, 255}, 3), product({13, 256}, 48), product({3, 8, 33}, 70),
            product({25, 96}, 32), product({47, 40}, 50), product({48, 19}, 24), product({49, 130}, 15),
            product({70, 77}, 96), product({4, 3000}, 48), product({3, 66051}, 5), product({200, 192}, 200),
            product({32, 256}, 1030)};
}

std::vector<plan> convolutions() {
    return {convolution({2, 26, 9, 11}, 30, {3, 3}, window({1, 1, 1, 1})),
            convolution({1, 32, 14, 14}, 40, {3, 3}, window({1, 1, 1, 1}, {2, 2})),
            convolution({1, 3, 20, 33}, 8, {5, 5}, window({2, 2, 2, 2}), 1, last),
            convolution({2, 12, 50}, 27, {5}, window({4, 3}, {1}, {2}), 1, last),
            convolution({3, 30, 40}, 26, {4}, window({1, 2}, {3})),
            convolution({1, 5, 6, 7, 8}, 9, {2, 3, 3}, window({0, 1, 1, 1, 1, 1}, {2, 1, 1})),
            convolution({1, 4, 5, 6, 20}, 12, {3, 1, 2}, window({1, 0, 0, 1, 0, 1}, {}, {2, 1, 3}), 2),
            convolution({2, 24, 10, 12}, 30, {3, 3}, window({1, 1, 1, 1}), 2, last),
            convolution({1, 24, 11, 9}, 16, {2, 3}, window({0, 2, 1, 0}, {}, {2, 2}), 4),
            convolution({1, 70, 6, 9}, 66, {1, 1}, {}, 1, x_last),
            convolution({2, 40, 9, 9}, 33, {1, 1}, window({}, {2, 2})),
            convolution({1, 28, 13, 17}, 25, {3, 4}, window({0, 1, 2, 3}, {3, 2}, {2, 1}), 1, y_last),
            convolution({2, 7, 15, 18}, 20, {3, 3}, same("SAME_UPPER", {2, 2}), 1, last),
            convolution({1, 9, 14, 21}, 13, {4, 2}, same("SAME_LOWER", {3, 1}), 1, x_last),
            convolution({1, 27, 3, 2}, 25, {3, 5}, window({2, 4, 2, 4})),
            convolution({2, 24, 26, 26}, 26, {3, 3}, window({1, 1, 1, 1}), 1, last)};
}

std::vector<plan> depthwise_convolutions() {
    return {convolution({2, 9, 12, 13}, 9, {3, 3}, window({1, 1, 1, 1}), 9),
            convolution({1, 64, 15, 15}, 64, {5, 5}, window({2, 2, 2, 2}), 64, last),
            convolution({1, 100, 11, 9}, 100, {3, 3}, window({1, 1, 1, 1}, {2, 2}), 100, last),
            convolution({2, 16, 30}, 16, {4}, window({3, 3}, {}, {2}), 16),
            convolution({1, 33, 5, 6, 7}, 33, {2, 2, 3}, window({0, 1, 1, 1, 0, 1}), 33, x_last),
            convolution({1, 5, 17, 19}, 5, {2, 2}, window({}, {1, 2}), 5, last),
            convolution({1, 130, 7, 7}, 130, {7, 7}, window({3, 3, 3, 3}), 130, y_last),
            convolution({3, 48, 10, 10}, 48, {3, 3}, same("SAME_UPPER", {2, 2}), 48),
            convolution({1, 17, 9, 31}, 17, {1, 9}, window({0, 4, 0, 4}), 17, last),
            convolution({2, 80, 6, 8}, 80, {1, 1}, {}, 80, last),
            convolution({1, 20, 4, 3}, 20, {5, 5}, window({4, 4, 4, 4}, {}, {2, 2}), 20),
            convolution({1, 96, 40, 40}, 96, {3, 3}, window({1, 1, 1, 1}), 96, last)};
}

/// Channels first, with long lines: by conv/channels_first/.
std::vector<plan> channels_first_convolutions() {
    return {convolution({1, 1, 9, 20}, 5, {3, 3}, window({1, 1, 1, 1})),
            convolution({1, 3, 33, 40}, 16, {3, 3}, window({1, 1, 1, 1}, {2, 2})),
            convolution({2, 3, 21, 30}, 7, {5, 5}, window({2, 2, 2, 2})),
            convolution({2, 2, 100}, 7, {9}, window({4, 4})), convolution({3, 5, 61}, 1, {4}, window({}, {3}, {2})),
            convolution({1, 24, 14, 30}, 24, {3, 3}, window({1, 1, 1, 1})),
            convolution({1, 12, 10, 33}, 18, {2, 5}, window({1, 0, 0, 2}, {1, 2}), 3),
            convolution({2, 8, 11, 29}, 8, {3, 3}, window({1, 1, 1, 1}), 8), convolution({1, 100, 7, 30}, 60, {1, 1}),
            convolution({2, 6, 12, 25}, 9, {3, 3}, window({2, 2, 2, 2}, {}, {2, 2})),
            convolution({1, 4, 16, 37}, 3, {7, 7}, same("SAME_LOWER", {2, 2})),
            convolution({1, 30, 5, 45}, 2, {1, 3}, window({0, 1, 0, 1}, {}, {1, 3})),
            convolution({1, 8, 64, 80}, 10, {3, 3}, window({1, 1, 1, 1}))};
}

/// Sums of few products, in each layout of sums and results.
std::vector<plan> layers_with_steps() {
    return {product({7, 3}, 521), product({33, 2}, 9), product({64, 1}, 64), product({5, 4}, 8), product({300}, 2),
            product({2, 2}, 300), product({1}, 130), convolution({2, 2, 9, 31}, 5, {1, 1}), // channels first
            convolution({1, 1, 14, 20}, 3, {3, 3}, window({1, 1, 1, 1})),
            convolution({2, 3, 9, 10}, 37, {1, 1}, {}, 1, x_last), // im2col
            convolution({2, 3, 5, 6}, 70, {1, 2}, {}, 1, last), convolution({1, 30, 4, 5}, 30, {2, 2}, {}, 30),
            convolution({2, 19, 8, 7}, 19, {3, 3}, window({1, 1, 1, 1}), 19, last), // depthwise
            product({200, 96}, 200)};
}

/// Layers that quantize x.
std::vector<plan> layers_of_floats() {
    return {product({1}, 7), product({33}, 40), product({3, 64}, 16), product({2, 5, 37}, 65), product({31, 100}, 20),
            product({70, 19}, 33), convolution({2, 3, 12, 20}, 8, {3, 3}, window({1, 1, 1, 1})),
            convolution({3, 26, 7, 9}, 30, {3, 3}, window({1, 1, 1, 1}, {2, 2})),
            convolution({2, 20, 8, 9}, 20, {3, 3}, window({1, 1, 1, 1}), 20, last),
            convolution({2, 17, 25}, 27, {3}, window({1, 1}), 1, y_last), product({180, 130}, 190)};
}

/// So many rows of so few columns that several pass the epilogue as one.
std::vector<plan> layers_of_few_columns() {
    return {product({267, 6}, 1), product({150, 9}, 2), product({263, 17}, 3), product({330, 4}, 5),
            product({41, 33}, 24), product({259, 5}, 33), product({23, 70}, 48)};
}

void choose_integers(plan &p, drawing &draw) {
    constexpr amount amounts[] = {amount::none, amount::one, amount::each};
    p.w_zero_points = draw.one_of(amounts);
    p.bias = draw.one_of(amounts);
    p.knows_x_zero_point = draw.number(0, 2) == 0;
    p.bytes = draw.one_of({filling::any, filling::ends, filling::greatest});
}

/// Sums by each pair of types.
group sums_of(const std::string &name, const sets &by, const std::vector<plan> &plans, int times) {
    group g {"layers." + name, by, {}};
    for (const bool x_is_signed : {false, true})
        for (const bool w_is_signed : {true, false}) {
            auto &c = g.cells.emplace_back();
            c.name = concat(g.name, x_is_signed ? "/s8" : "/u8", w_is_signed ? "*s8" : "*u8");
            for (int i = 0; i < times; ++i)
                for (auto p : plans) {
                    drawing draw(concat(c.name, i, line_of(p)));
                    p.d.x_is_signed = x_is_signed;
                    p.d.w_is_signed = w_is_signed;
                    choose_integers(p, draw);
                    p.d.scales_by_row = !p.knows_x_zero_point && draw.coin();
                    c.statements.push_back(statement_of(p));
                }
        }
    return g;
}

group steps_of_layers(int times) {
    group g {"layers.steps", sets_named({"scalar", "avx2", "avx512", "avx512_vbmi", "neon"}), {}};
    for (const auto &steps : chains()) {
        auto &c = g.cells.emplace_back();
        c.name = concat(g.name, '/', steps.name);
        for (int i = 0; i < times; ++i)
            for (auto p : layers_with_steps()) {
                if (steps.normalization != chain::normalization::none && p.d.is_convolution) continue;
                drawing draw(concat(c.name, i, line_of(p)));
                p.d.x_is_signed = draw.coin();
                p.d.w_is_signed = draw.coin();
                choose_integers(p, draw);
                p.floats = draw.one_of({reals::any, reals::ties, reals::wild});
                p.steps = &steps;
                p.has_x_scale = !steps.steps.empty() && steps.steps.front() == kind::multiply && draw.coin();
                p.d.scales_by_row = draw.coin();
                c.statements.push_back(statement_of(p));
            }
    }
    return g;
}

group quantized_layers(int times) {
    group g {"layers.quantized",
            sets_named({"scalar", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "amx_int8", "neon", "neon_dot",
                    "neon_i8mm"}),
            {}};
    const auto add_cell = [&](const char *name, bool by_row, const std::vector<plan> &layers) {
        auto &c = g.cells.emplace_back();
        c.name = concat(g.name, "/", name);
        for (int i = 0; i < times; ++i)
            for (auto p : layers) {
                drawing draw(concat(c.name, i, line_of(p)));
                p.d.prepare = prepare_by(targets::scalar);
                p.d.w_is_signed = draw.coin();
                choose_integers(p, draw);
                p.floats = draw.one_of({reals::any, reals::ties, reals::wild});
                p.steps = draw.coin() ? &sums : &chains()[static_cast<std::size_t>(draw.number(0, 3))];
                p.has_x_scale = !p.steps->steps.empty();
                p.d.scales_by_row = by_row;
                c.statements.push_back(statement_of(p));
            }
    };
    add_cell("per_tensor", false, layers_of_floats());
    add_cell("by_row", true, layers_of_floats());
    add_cell("by_row_of_few_columns", true, layers_of_few_columns());
    return g;
}

group tables_of_bytes() {
    group g {"layers.lookup", sets_named({"scalar", "avx2", "avx512", "avx512_vbmi", "neon"}), {}};
    for (const bool in_place : {false, true}) {
        auto &c = g.cells.emplace_back();
        c.name = concat(g.name, in_place ? "/in_place" : "/apart");
        for (const std::int64_t count : {1, 15, 31, 32, 33, 63, 64, 65, 127, 200, 511, 4093, 800'000})
            for (const std::int64_t offset : {0, 1, 33})
                if (count < 5000 || offset == 1) c.statements.push_back(look_up_statement(count, offset, in_place));
    }
    return g;
}

constexpr std::int64_t weight_only_shapes[][3] = {{1, 37, 70}, {1, 1103, 9}, {2, 64, 64}, {3, 19, 5}, {4, 130, 33},
        {5, 7, 140}, {6, 41, 17}, {9, 100, 24}, {12, 33, 65}, {13, 40, 80}, {26, 96, 50}, {97, 20, 100},
        {200, 64, 180}};

/// What sums of four products are compiled for, and where there are none those of two.
const auto of_blocks = sets_named({"scalar", "avx2", "avx2_vnni", "avx512_vnni", "neon", "neon_dot", "neon_i8mm"});

/// A cell for each type. choose: draws the rest of a plan.
template <typename Choose>
group of_weight_types(
        const std::string &name, const sets &by, const std::vector<data_type> &types, int times, const Choose &choose) {
    group g {name, by, {}};
    for (const auto type : types) {
        auto &c = g.cells.emplace_back();
        c.name = concat(g.name, '/', to_string(type));
        for (int i = 0; i < times; ++i)
            for (const auto &[rows, inner, columns] : weight_only_shapes) {
                drawing draw(concat(c.name, i, ' ', rows));
                weight_only_plan p {type, rows, inner, columns};
                choose(p, draw);
                p.floats = draw.one_of({reals::any, reals::ties, reals::wild});
                p.steps = &chains()[static_cast<std::size_t>(draw.coin() ? 0 : draw.number(0, 8))];
                c.statements.push_back(statement_of(p));
            }
    }
    return g;
}

group weight_only_products(int times) {
    using enum data_type;
    return of_weight_types("layers.narrow", operator_sets, {s8, u8, s4, u4, f8_e4m3, f8_e5m2}, times,
            [](weight_only_plan &p, drawing &draw) {
                p.block = draw.one_of({std::int64_t {1}, std::int64_t {2}, std::int64_t {5}, std::int64_t {16},
                        std::int64_t {32}, p.inner, p.inner + 7, p.inner / 2 + 1});
                p.is_by_column = draw.coin();
                p.has_zero_points = p.type != f8_e4m3 && p.type != f8_e5m2 && draw.coin();
                p.is_convolution = draw.number(0, 3) == 0;
                p.is_transposed = p.is_convolution || draw.coin();
            });
}

/// Products of x that is quantized in blocks.
group block_products(int times) {
    using enum data_type;
    const auto by =
            sets_named({"scalar", "avx2", "avx2_vnni", "avx512_vnni", "amx_int8", "neon", "neon_dot", "neon_i8mm"});
    return of_weight_types("layers.blocks", by, {s8, u8, s4, u4}, times, [](weight_only_plan &p, drawing &draw) {
        p.quantizes_x = p.is_by_column = true;
        p.block = std::int64_t {16} << draw.number(0, 4);
        p.has_zero_points = draw.coin();
        p.is_transposed = draw.coin();
    });
}

} // namespace

std::vector<group> layer_groups() {
    const auto of_products =
            sets_named({"scalar", "avx2", "avx2_vnni", "avx512_vnni", "amx_int8", "neon", "neon_dot", "neon_i8mm"});
    return {
            sums_of("matmul", of_products, products(), 3),
            sums_of("conv", of_products, convolutions(), 3),
            sums_of("depthwise",
                    sets_named(
                            {"scalar", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "neon", "neon_dot", "neon_i8mm"}),
                    depthwise_convolutions(), 3),
            sums_of("planar", of_blocks, channels_first_convolutions(), 3),
            steps_of_layers(3),
            quantized_layers(3),
            tables_of_bytes(),
            weight_only_products(3),
            block_products(3),
    };
}

} // namespace dqbench::verify
