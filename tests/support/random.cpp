#include "random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <numeric>

namespace dynquant::test {
namespace {

std::uint64_t read_seed() {
    const char *text = std::getenv("DYNQUANT_TEST_SEED");
    const std::uint64_t value = text ? std::strtoull(text, nullptr, 10) : 20240229;
    std::cout << "DYNQUANT_TEST_SEED=" << value << "\n";
    return value;
}

/// `value` moved up or down by a few floats.
float neighbour(float value, std::int64_t steps) {
    const float toward = steps > 0 ? INFINITY : -INFINITY;
    for (auto left = std::abs(steps); left > 0; --left)
        value = std::nextafter(value, toward);
    return value;
}

} // namespace

std::uint64_t seed() {
    static const std::uint64_t value = read_seed();
    return value;
}

float random_source::any_float() {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
}

float random_source::exponent_within(int least, int most) {
    const auto exponent = static_cast<std::uint32_t>(within(least, most) + 127);
    return std::bit_cast<float>((static_cast<std::uint32_t>(bits()) & 0x807fffffu) | exponent << 23);
}

std::vector<std::byte> random_source::bytes(std::int64_t count) {
    std::vector<std::byte> values(static_cast<std::size_t>(count));
    std::ranges::generate(values, [&] { return static_cast<std::byte>(bits()); });
    return values;
}

std::vector<float> various_nans() {
    std::vector<float> nans;
    for (const std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0x7f80ffffu, 0x7fc00001u, 0x7fffffffu})
        for (const std::uint32_t sign : {0u, 0x80000000u})
            nans.push_back(std::bit_cast<float>(bits | sign));
    return nans;
}

std::vector<float> random_scales(random_source &random, parameters kind, std::int64_t count) {
    const std::vector<float> edges = {0x1p-75f, 0x1p75f, -0x1p-75f, -0x1p75f, neighbour(0x1p-75f, 1), 0x1.fffffep74f};
    const std::vector<float> beyond = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-130f, 0x1.fffffep-76f,
            neighbour(0x1p75f, 1), std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
    const auto draw = [&]() -> float {
        if (kind == parameters::tame || random.chance(60)) return std::abs(random.exponent_within(-10, 2));
        if (random.chance(30)) return std::ldexp(1.0f, static_cast<int>(random.within(-20, 20)));
        if (kind == parameters::fast || random.chance(40))
            return random.chance(20) ? random.one_of(edges) : random.exponent_within(-75, 74);
        if (random.chance(5)) return random.one_of(various_nans());
        return random.chance(50) ? random.one_of(beyond) : random.any_float();
    };
    std::vector<float> scales(static_cast<std::size_t>(count));
    std::ranges::generate(scales, draw);
    return scales;
}

namespace {

std::vector<std::int64_t> random_zero_points(
        random_source &random, parameters kind, data_type type, std::int64_t count) {
    const auto draw = [&]() -> std::int64_t {
        if (type != data_type::s32) return random.within(range_of(type).lowest, range_of(type).highest);
        if (kind == parameters::tame || random.chance(60)) return random.within(-128, 255);
        const std::int64_t guard = (1 << 20) - 1;
        if (kind == parameters::fast || random.chance(30))
            return random.chance(20) ? random.one_of(std::vector {-guard, guard}) : random.within(-guard, guard);
        if (random.chance(50))
            return random.one_of(std::vector<std::int64_t> {INT32_MIN, INT32_MIN + 1, INT32_MIN + 255, INT32_MIN + 256,
                    INT32_MAX, INT32_MAX - 126, INT32_MAX - 255, INT32_MAX - 256, guard + 1, -guard - 1, 1 << 22,
                    -6000000, 1 << 24, (1 << 24) + 1});
        return random.within(INT32_MIN, INT32_MAX);
    };
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::ranges::generate(values, draw);
    return values;
}

/// A value next to a tie or an end of dst's range under these parameters, or a special value.
float random_real(random_source &random, const std::vector<float> &scales, std::int64_t zp) {
    const float scale = random.one_of(scales);
    const auto kind = random.within(1, 100);
    if (kind <= 60) { // at a tie, or a few floats beside it
        const double integer = static_cast<double>(random.within(-140, 270) - zp) + 0.5;
        return neighbour(static_cast<float>(integer * scale), random.within(-3, 3));
    }
    if (kind <= 80) return static_cast<float>(static_cast<double>(random.within(-2000, 2000)) / 8) * scale;
    if (kind <= 90) return random.any_float();
    if (kind <= 92) return random.one_of(various_nans());
    return random.one_of(std::vector<float> {0.0f, -0.0f, INFINITY, -INFINITY, 0x1p-149f, -0x1p-126f,
            std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()});
}

} // namespace

std::int64_t parameter_count(const quantization &q) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        count *= (q.src.dims[d] + q.scales.block[d] - 1) / q.scales.block[d];
    return count;
}

sample random_sample(random_source &random, quantization q, parameters kind) {
    const auto count = parameter_count(q);
    oracle::inputs in;
    const auto scales = random_scales(random, kind, count);
    std::vector<std::int64_t> zps = {0};
    if (q.scales.values.empty()) in.scales = encode_reals(q.scales.type, scales);
    if (q.zero_points && q.zero_points->values.empty()) {
        zps = random_zero_points(random, kind, q.zero_points->type, count);
        in.zero_points = encode(q.zero_points->type, zps);
    }
    const auto usual_scales =
            q.scales.values.empty() ? scales : std::vector<float>(q.scales.values.begin(), q.scales.values.end());
    const auto bytes = bytes_spanned(q.src);
    if (bytes == 0 || count == 0) return {q, in};
    // Large buffers repeat a drawn sequence. Its period is prime, so no row length is a multiple of it.
    const std::size_t period = 65521;
    if (q.dir == direction::quantize) {
        std::vector<float> values(bytes * 8 / static_cast<std::size_t>(bits_in(q.src.type)));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = i < period ? random_real(random, usual_scales, random.one_of(zps)) : values[i - period];
        in.src = encode_reals(q.src.type, values);
    } else {
        in.src.resize(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            in.src[i] = i < period ? static_cast<std::byte>(random.within(0, 255)) : in.src[i - period];
    }
    return {q, in};
}

namespace {

dims random_dims(random_source &random) {
    const auto rank = random.chance(10) ? random.within(7, max_rank) : random.within(0, 6);
    dims extents(static_cast<std::size_t>(rank));
    std::int64_t budget = random.chance(5) ? 100000 : 4000;
    for (auto &extent : extents) {
        if (random.chance(2))
            extent = 0;
        else if (random.chance(25))
            extent = 1;
        else
            extent = random.within(
                    1, std::max<std::int64_t>(1, std::min<std::int64_t>(budget, random.chance(20) ? 700 : 17)));
        budget /= std::max<std::int64_t>(extent, 1);
    }
    random.shuffle(extents);
    return extents;
}

/// Strides under which no two elements overlap: the dims nest in a random order, with random gaps.
dims random_strides(random_source &random, const dims &extents) {
    if (random.chance(30)) return {};
    std::vector<std::size_t> order(extents.size());
    std::iota(order.rbegin(), order.rend(), 0); // innermost first
    if (random.chance(50)) random.shuffle(order);
    const bool gaps = random.chance(50);
    std::int64_t next = gaps && random.chance(30) ? random.within(1, 3) : 1;
    dims strides(extents.size());
    for (const auto d : order) {
        strides[d] = extents[d] == 1 ? random.within(0, 9) : next;
        next *= std::max<std::int64_t>(extents[d], 1);
        if (gaps && random.chance(30)) next += random.within(1, 9);
    }
    return strides;
}

/// Strides of src, under which elements may overlap.
dims random_src_strides(random_source &random, const dims &extents) {
    auto strides = random_strides(random, extents);
    if (strides.empty() || random.chance(70)) return strides;
    for (auto &stride : strides)
        if (random.chance(40)) stride = random.chance(60) ? 0 : random.within(1, 5);
    return strides;
}

dims random_block(random_source &random, const dims &extents) {
    dims block = extents;
    if (extents.empty() || random.chance(30)) return block;
    if (random.chance(50)) {
        block[static_cast<std::size_t>(random.within(0, static_cast<std::int64_t>(extents.size()) - 1))] = 1;
    } else {
        for (std::size_t d = 0; d < extents.size(); ++d)
            if (random.chance(60)) block[d] = random.within(1, std::max<std::int64_t>(1, extents[d]));
    }
    return block;
}

struct types {
    data_type real, quantized, scales;
    std::optional<data_type> zero_points;
};

/// Half of them the types of the 8-bit integers' ops, half of them any.
types random_types(random_source &random) {
    using enum data_type;
    if (random.chance(50))
        return {f32, random.one_of(std::vector {s8, u8}), f32,
                random.chance(70) ? std::optional(random.one_of(std::vector {s8, u8, s32})) : std::nullopt};
    const std::vector reals = {f32, f16, bf16};
    types t {random.one_of(reals), random.one_of(std::vector {s8, u8, s4, u4, s4, u4, f8_e4m3, f8_e5m2}),
            random.one_of(reals), {}};
    if (is_integer(t.quantized) && random.chance(70)) t.zero_points = random.one_of(std::vector {s8, u8, s32, s4, u4});
    return t;
}

} // namespace

quantization random_layout(random_source &random) {
    quantization q;
    const auto extents = random_dims(random);
    q.src = {data_type::f32, extents, random_src_strides(random, extents)};
    q.dst = {data_type::s8, extents, random_strides(random, extents)};
    q.scales.block = random_block(random, extents);
    for (auto &block : q.scales.block)
        block = std::max<std::int64_t>(block, 1);
    return q;
}

sample random_statement(random_source &random) {
    auto q = random_layout(random);
    q.dir = random.one_of(std::vector {direction::quantize, direction::dequantize});
    q.rule = random.chance(25) ? numerics::any : numerics::strict;
    const auto types = random_types(random);
    q.src.type = q.dir == direction::quantize ? types.real : types.quantized;
    q.dst.type = q.dir == direction::quantize ? types.quantized : types.real;
    q.scales.type = types.scales;
    const auto kind = random.one_of(std::vector {parameters::tame, parameters::fast, parameters::mixed});
    const auto count = parameter_count(q);
    if (random.chance(30)) {
        const auto scales = random_scales(random, kind, count);
        q.scales.values.assign(scales.begin(), scales.end());
    }
    if (types.zero_points) {
        const auto type = *types.zero_points;
        q.zero_points = {type, q.scales.block, {}};
        if (random.chance(30)) {
            const auto zps = random_zero_points(random, kind, type, count);
            q.zero_points->values.assign(zps.begin(), zps.end());
        }
    }
    return random_sample(random, q, kind);
}

} // namespace dynquant::test
