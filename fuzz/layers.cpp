// Layers: products, convolutions of each algorithm, depthwise ones, by narrow weights and by blocks, with the steps
// behind their sums. Each instruction set, for several numbers of threads, gives what the loops of dqbench verify give.
#include "support/number_source.hpp"
#include "target.hpp"
#include "verify/layers_statements.hpp"

namespace {

using namespace dqbench::verify;
using dynquant::data_type, dynquant::dims;
using dynquant::test::number_source;
namespace targets = dynquant::targets;

template <typename T>
T one_of(number_source &n, std::initializer_list<T> values) {
    return n.one_of(std::vector<T>(values));
}

/// Most are small; few are as long as the walks of threads and panels are.
std::int64_t extent(number_source &n, std::int64_t most) {
    return n.within(1, n.chance(80) ? std::min<std::int64_t>(most, 40) : most);
}

void draw_convolution(plan &p, number_source &n) {
    const auto rank = n.within(1, 3);
    const bool is_depthwise = n.chance(35);
    p.d.is_convolution = true;
    p.d.groups = is_depthwise ? extent(n, 140) : n.chance(75) ? 1 : n.within(1, 5);
    const auto channels = is_depthwise ? 1 : extent(n, 60), filters = is_depthwise ? 1 : extent(n, 70);
    p.x = {n.within(1, 3), channels * p.d.groups};
    p.d.weights_shape = {filters * p.d.groups, channels};
    dims begin, end;
    for (std::int64_t d = 0; d < rank; ++d) {
        const auto taps = n.within(1, 5), dilation = n.chance(70) ? 1 : n.within(1, 3);
        const auto reach = (taps - 1) * dilation + 1;
        begin.push_back(n.within(0, reach - 1));
        end.push_back(n.within(0, reach - 1));
        const auto least = std::max<std::int64_t>(1, reach - begin.back() - end.back());
        p.x.push_back(n.within(least, least + (rank == 1 ? 100 : rank == 2 ? 30 : 8)));
        p.d.weights_shape.push_back(taps);
        p.d.window.strides.push_back(n.chance(60) ? 1 : n.within(1, 3));
        p.d.window.dilations.push_back(dilation);
    }
    if (n.chance(20)) {
        p.d.window.auto_pad = n.chance(50) ? "SAME_UPPER" : "SAME_LOWER";
    } else {
        p.d.window.pads = begin;
        p.d.window.pads.insert(p.d.window.pads.end(), end.begin(), end.end());
    }
    p.d.x_is_channels_last = n.chance(40);
    p.d.y_is_channels_last = n.chance(40);
}

plan draw_plan(number_source &n) {
    plan p;
    if (n.chance(60)) {
        draw_convolution(p, n);
    } else {
        p.x = {extent(n, 130), extent(n, 600)};
        if (n.chance(25)) p.x.insert(p.x.begin(), n.within(1, 4));
        p.d.weights_shape = {p.x.back(), extent(n, 300)};
    }
    p.d.x_is_signed = n.chance(50);
    p.d.w_is_signed = n.chance(50);
    p.w_zero_points = one_of(n, {amount::none, amount::one, amount::each});
    p.bias = one_of(n, {amount::none, amount::one, amount::each});
    p.bytes = one_of(n, {filling::any, filling::ends, filling::greatest});
    p.floats = one_of(n, {reals::any, reals::ties, reals::wild});
    const bool quantizes_x = n.chance(30);
    if (quantizes_x) p.d.prepare = prepare_by(targets::scalar);
    p.knows_x_zero_point = !quantizes_x && n.chance(33);
    p.d.scales_by_row = !p.knows_x_zero_point && n.chance(50);
    if (n.chance(70)) p.steps = &chains()[static_cast<std::size_t>(n.within(0, std::ssize(chains()) - 1))];
    if (p.d.is_convolution && p.steps->normalization != chain::normalization::none) p.steps = &sums;
    using enum dynquant::layers::post_op_kind;
    p.has_x_scale = !p.steps->steps.empty() && p.steps->steps.front() == multiply && (quantizes_x || n.chance(50));
    return p;
}

weight_only_plan draw_narrow(number_source &n) {
    using enum data_type;
    weight_only_plan p {one_of(n, {s8, u8, s4, u4, f8_e4m3, f8_e5m2}), extent(n, 130), extent(n, 300), extent(n, 200)};
    const bool is_float8 = p.type == f8_e4m3 || p.type == f8_e5m2;
    p.quantizes_x = !is_float8 && n.chance(40);
    p.is_by_column = p.quantizes_x || n.chance(50);
    p.block = p.quantizes_x ? std::int64_t {16} << n.within(0, 4) : n.chance(50) ? n.within(1, p.inner + 8) : 32;
    p.has_zero_points = !is_float8 && n.chance(50);
    p.is_convolution = !p.quantizes_x && n.chance(25);
    p.is_transposed = p.is_convolution || n.chance(50);
    p.floats = one_of(n, {reals::any, reals::ties, reals::wild});
    p.steps = &chains()[static_cast<std::size_t>(n.within(0, 9))]; // those that end in floats
    return p;
}

/// What x86 and ARM compile loops for, as far as this processor has it.
std::vector<way> ways(number_source &n) {
    std::vector<way> result;
    for (const auto &set : targets::instruction_sets)
        if (targets::has(targets::of_processor(), set.needs))
            result.push_back({set.name, false, set.needs, static_cast<int>(n.within(1, 4))});
    return result;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    number_source n(std::span(data, size));
    const auto s = n.chance(65) ? statement_of(draw_plan(n)) : statement_of(draw_narrow(n));
    if (s.results > 20'000) return -1; // larger ones take most of the time
    const auto compute = s.draw();
    const auto expected = compute({"reference", true});
    for (const auto &w : ways(n))
        fuzz::expect(
                compute(w) == expected, w.name + ", " + std::to_string(w.threads) + " threads: differs in " + s.line);
    return 0;
}
