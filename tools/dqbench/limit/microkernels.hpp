// The native kernel's microkernels without arithmetic: each stores what it loads. Unaligned heads, remainders, tiles
// and non-temporal stores are the native kernel's code.
//
// An instruction set derives from the native kernel's primitives and replaces the conversions:
// - load of 8-bit elements: the bytes unchanged, repeated in every quarter of a vector;
// - pack to 8-bit elements: the OR of the four vectors, so that the compiler drops no load.
#pragma once

#include <cstdint>

#include "kernels/native/table.hpp"
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

template <typename V>
void traffic(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream) {
    constexpr std::int64_t vector = V::lanes * 4;
    const auto load = [distance = native::prefetch_distance](const char *p) {
        __builtin_prefetch(p + distance);
        return V::load(reinterpret_cast<const float *>(p));
    };
    const auto head = native::unaligned_head<vector>(dst, dst_bytes);
    dst += head;
    dst_bytes -= head;
    const auto loads = src_bytes > dst_bytes ? src_bytes / (dst_bytes > 0 ? dst_bytes : 1) : 1;
    const auto stores = dst_bytes > src_bytes ? dst_bytes / (src_bytes > 0 ? src_bytes : 1) : 1;
    const auto by_src = src_bytes / (loads * vector), by_dst = dst_bytes / (stores * vector);
    for (std::int64_t i = 0, steps = by_src < by_dst ? by_src : by_dst; i < steps; ++i) {
        auto sum = load(src);
        for (std::int64_t k = 1; k < loads; ++k)
            sum += load(src + k * vector);
        src += loads * vector;
        for (std::int64_t k = 0; k < stores; ++k, dst += vector)
            stream ? V::stream(reinterpret_cast<float *>(dst), sum) : V::store(reinterpret_cast<float *>(dst), sum);
    }
    if (stream) V::fence();
    V::zero_upper();
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

/// Reads `loads` vectors for each one that it writes.
template <typename V, int loads>
void copy_by(const char *src, char *dst, std::int64_t stores, bool stream) {
    constexpr std::int64_t vector = V::lanes * 4;
    for (std::int64_t i = 0; i < stores; ++i, src += loads * vector, dst += vector) {
        auto sum = V::load(reinterpret_cast<const float *>(src));
#pragma GCC unroll 8
        for (int k = 1; k < loads; ++k)
            sum += V::load(reinterpret_cast<const float *>(src + k * vector));
        stream ? V::stream(reinterpret_cast<float *>(dst), sum) : V::store(reinterpret_cast<float *>(dst), sum);
    }
}

template <typename V>
void copy(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream) {
    constexpr std::int64_t vector = V::lanes * 4;
    const auto stores = dst_bytes / vector;
    const bool aligned = reinterpret_cast<std::uintptr_t>(dst) % vector == 0;
    switch (dst_bytes > 0 ? src_bytes / dst_bytes : 0) {
        case 8: copy_by<V, 8>(src, dst, stores, stream && aligned); break; // f32 to 4 bits
        case 5: copy_by<V, 5>(src, dst, stores, stream && aligned); break; // f32 to 6 bits
        case 4: copy_by<V, 4>(src, dst, stores, stream && aligned); break;
        case 2: copy_by<V, 2>(src, dst, stores, stream && aligned); break;
        default: break;
    }
    if (stream) V::fence();
    V::zero_upper();
}

/// One family serves all signs, numerics and 32-bit types of src: without arithmetic they do not differ.
template <typename V>
constexpr instruction_set set_of() {
    using enum native::kind;
    using nothing = no_arithmetic<V>;
    instruction_set set = {native::table_of<V>(), traffic<V>, read<V, false>, read<V, true>, copy<V>};
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
