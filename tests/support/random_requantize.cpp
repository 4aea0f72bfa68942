#include "random_requantize.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dynquant::test {
namespace {

struct multipliers {
    std::vector<float> first, second; // second may be empty

    double product(std::size_t i) const { return double {first[i]} * (second.empty() ? 1 : second[i]); }
};

/// An integer of at most 2^24 and 2^-N, as hardware multiplies and shifts by.
multipliers random_codified(random_source &random, std::size_t count) {
    multipliers m;
    for (std::size_t i = 0; i < count; ++i) {
        const auto n = random.chance(80) ? random.within(0, 40) : random.within(100, 149);
        m.first.push_back(static_cast<float>(random.chance(50) ? random.within(1, 300) : random.within(0, 1 << 24)));
        m.second.push_back(std::ldexp(1.0F, static_cast<int>(-n)));
    }
    return m;
}

multipliers random_multipliers(random_source &random, std::size_t count) {
    if (random.chance(40)) return random_codified(random, count);
    const auto kind = random.one_of(std::vector {parameters::tame, parameters::fast, parameters::mixed});
    multipliers m {random_scales(random, kind, static_cast<std::int64_t>(count)), {}};
    if (random.chance(50)) m.second = random_scales(random, kind, static_cast<std::int64_t>(count));
    return m;
}

std::vector<std::int64_t> random_biases(random_source &random, std::size_t count) {
    const std::int64_t widest = random.one_of(std::vector<std::int64_t> {10, 100000, INT32_MAX});
    std::vector<std::int64_t> values(count);
    std::ranges::generate(values, [&] { return random.within(-widest - 1, widest); });
    return values;
}

std::int64_t random_sum(random_source &random, double multiplier) {
    const auto kind = random.within(1, 100);
    const double at_a_tie = (static_cast<double>(random.within(-140, 270)) + 0.5) / multiplier;
    if (kind <= 70 && std::abs(at_a_tie) < 0x1p31) return std::llrint(at_a_tie) + random.within(-2, 2);
    if (kind <= 90) return std::bit_cast<std::int32_t>(random.any_float());
    return random.one_of(std::vector<std::int64_t> {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 63, INT32_MAX - 64,
            INT32_MIN + 64, (1 << 24) + 1, -(1 << 24) - 1, (1 << 25) + 6});
}

/// Puts the values into the buffer or, sometimes, into the statement as known values.
template <typename T>
void place(random_source &random, parameter &p, const std::vector<T> &values, const std::vector<std::byte> &encoded,
        std::vector<std::byte> &buffer) {
    if (random.chance(50))
        p.values.assign(values.begin(), values.end());
    else
        buffer = encoded;
}

} // namespace

sample random_requantization(random_source &random) {
    auto q = random_layout(random);
    q.dir = direction::requantize;
    q.src.type = data_type::s32;
    q.dst.type = random.one_of(std::vector {data_type::s8, data_type::u8});
    q.relu = random.chance(30);
    const auto count = static_cast<std::size_t>(parameter_count(q));
    const auto m = random_multipliers(random, count);
    std::vector<std::int64_t> biases;
    oracle::inputs in;
    place(random, q.scales, m.first, encode_reals(data_type::f32, m.first), in.scales);
    if (!m.second.empty()) {
        q.second_scales = {data_type::f32, q.scales.block, {}};
        place(random, *q.second_scales, m.second, encode_reals(data_type::f32, m.second), in.second_scales);
    }
    if (random.chance(60)) {
        q.bias = {data_type::s32, q.scales.block, {}};
        biases = random_biases(random, count);
        place(random, *q.bias, biases, encode(data_type::s32, biases), in.bias);
    }
    const auto elements = static_cast<std::int64_t>(bytes_spanned(q.src) / 4);
    in.src.resize(bytes_spanned(q.src));
    for (std::int64_t i = 0; i < elements && count > 0; ++i) {
        // The element's own parameters are not known here. Some elements meet the parameters that they are drawn for.
        const auto p = static_cast<std::size_t>(random.within(0, static_cast<std::int64_t>(count) - 1));
        const auto sum = random_sum(random, m.product(p)) - (biases.empty() ? 0 : biases[p]);
        set_bits(data_type::s32, in.src.data(), i, static_cast<std::uint32_t>(sum));
    }
    return {q, in};
}

} // namespace dynquant::test
