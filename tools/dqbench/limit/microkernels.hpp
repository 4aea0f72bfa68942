// The native kernel's microkernels without arithmetic: each stores what it loads. Unaligned heads, remainders, tiles
// and non-temporal stores are the native kernel's code.
//
// An instruction set derives from the native kernel's primitives and replaces the conversions:
// - load of 8-bit elements: the bytes unchanged, repeated in every quarter of a vector;
// - pack to 8-bit elements: the OR of the four vectors, so that the compiler drops no load.
#pragma once

#include <cstdint>

#include "kernels/native/table.hpp"
#include "limit/flat.hpp"
#include "limit/limit.hpp"

namespace dqbench::limit {
namespace {

namespace native = dynquant::kernels::native;
namespace simd = dynquant::simd;

/// Replaces a formula.
template <typename V>
struct no_arithmetic {
    static no_arithmetic from(const auto &) { return {}; }

    typename V::reals operator()(typename V::reals x) const { return x; }
    typename V::reals operator()(typename V::integers x) const { return V::as_reals(x); }
};

template <typename V, typename Src, typename Dst>
constexpr native::family family_of(const native::microkernels &kernels) {
    auto f = native::family_of<V, no_arithmetic<V>, Src, Dst>(native::prepare_nothing);
    f.any_parameters = kernels;
    return f;
}

template <typename V, bool prefetches>
float read(const char *src, std::int64_t bytes) {
    constexpr int together = 8; // hides the latency of the sums
    constexpr std::int64_t vector = V::lanes * 4;
    const auto distance = native::prefetch_distance;
    typename V::reals sums[together] = {};
    for (std::int64_t i = 0; i + together * vector <= bytes; i += together * vector)
#pragma GCC unroll 8
        for (int k = 0; k < together; ++k) {
            const char *const p = src + i + k * vector;
            if constexpr (prefetches) __builtin_prefetch(p + distance);
            sums[k] += V::load(reinterpret_cast<const float *>(p));
        }
    for (int k = 1; k < together; ++k)
        sums[0] += sums[k];
    float lanes[V::lanes], sum = 0;
    V::store(lanes, sums[0]);
    for (const float lane : lanes)
        sum += lane;
    V::zero_upper();
    return sum;
}

/// One family serves all signs, numerics and 32-bit types of src: without arithmetic they do not differ.
template <typename V>
constexpr instruction_set set_of() {
    using enum native::kind;
    using nothing = no_arithmetic<V>;
    instruction_set set = {native::table_of<V>(), flat<V>, read<V, false>, read<V, true>};
    const auto add = [&](native::kind k, const native::family &f) {
        set.microkernels.families[static_cast<int>(k)] = f;
    };
    for (const auto k : {strict_u8, strict_s8, any_u8, any_s8, onnx_u8, onnx_s8})
        add(k, family_of<V, float, std::uint8_t>(native::in_all_forms<V, nothing, float, std::uint8_t>()));
    for (const auto k : {once_u8, once_s8, once_s8_relu, twice_u8, twice_s8, twice_s8_relu})
        add(k,
                family_of<V, std::int32_t, std::uint8_t>(
                        native::in_two_forms<V, nothing, nothing, std::int32_t, std::uint8_t, 4>()));
    for (const auto k : {difference_u8, difference_s8})
        add(k, family_of<V, std::uint8_t, float>(native::in_all_forms<V, nothing, std::uint8_t, float>()));
    return set;
}

} // namespace
} // namespace dqbench::limit
