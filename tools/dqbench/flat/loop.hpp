// The flat loop: reads src and writes dst once, in order.
#pragma once

#include <cstdint>
#include <cstring>

#include "flat/flat.hpp"
#include "kernels/native/loops.hpp"

namespace dqbench::flat {
namespace {

template <typename V>
typename V::integers load_vector(const char *p) {
    typename V::integers bits;
    std::memcpy(&bits, p, sizeof(bits));
    return bits;
}

/// What is left of src and dst.
struct remains {
    const char *src;
    std::int64_t src_bytes;
    char *dst;
    std::int64_t dst_bytes;
};

/// Reads `loads` vectors for each `stores` that it writes, until src or dst lacks them. dst is aligned. The OR of the
/// vectors keeps the compiler from leaving out loads.
template <typename V, int loads, int stores>
void flat_steps(remains &rest, bool stream, std::int64_t distance) {
    constexpr std::int64_t vector = sizeof(typename V::integers), src_step = loads * vector, dst_step = stores * vector;
    const auto by_src = rest.src_bytes / src_step, by_dst = rest.dst_bytes / dst_step;
    const auto steps = by_src < by_dst ? by_src : by_dst;
    const char *src = rest.src;
    char *dst = rest.dst;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < steps; ++i, src += src_step, dst += dst_step) {
        if (distance > 0)
            for (std::int64_t k = 0; k < src_step; k += 64)
                __builtin_prefetch(src + distance + k);
        auto bits = load_vector<V>(src);
#pragma GCC unroll 16
        for (int k = 1; k < loads; ++k)
            bits = V::bit_or(bits, load_vector<V>(src + k * vector));
#pragma GCC unroll 16
        for (int k = 0; k < stores; ++k)
            stream ? V::stream(dst + k * vector, bits) : V::store(dst + k * vector, bits);
    }
    rest = {src, rest.src_bytes - steps * src_step, dst, rest.dst_bytes - steps * dst_step};
}

/// flat_steps() by the larger of src and dst in multiples of the smaller.
template <typename V, int... multiples>
void flat_steps_of(std::int64_t larger, bool src_is_larger, remains &rest, bool stream, std::int64_t distance) {
    const auto run = [&](auto *steps) { steps(rest, stream, distance); };
    static_cast<void>(
            ((larger == multiples
                     && (run(src_is_larger ? flat_steps<V, multiples, 1> : flat_steps<V, 1, multiples>), true))
                    || ...));
}

/// A flat::function.
template <typename V>
void copy(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream) {
    constexpr std::int64_t vector = sizeof(typename V::integers);
    typename V::integers bits {};
    const auto head = dynquant::kernels::native::unaligned_head<vector>(dst, dst_bytes);
    std::memcpy(dst, &bits, static_cast<std::size_t>(head));
    remains rest {src, src_bytes, dst + head, dst_bytes - head};
    const bool src_is_larger = rest.src_bytes > rest.dst_bytes;
    const auto smaller = src_is_larger ? rest.dst_bytes : rest.src_bytes;
    const auto larger = src_is_larger ? rest.src_bytes : rest.dst_bytes;
    // Rounded, so that elements of 6 bits leave a ninth or less to the loops below.
    if (smaller > 0)
        flat_steps_of<V, 1, 2, 3, 4, 5, 8, 16>((larger + smaller / 2) / smaller, src_is_larger, rest, stream,
                dynquant::kernels::native::prefetch_distance);
    for (; rest.src_bytes >= vector; rest.src += vector, rest.src_bytes -= vector)
        bits = V::bit_or(bits, load_vector<V>(rest.src));
    for (; rest.dst_bytes >= vector; rest.dst += vector, rest.dst_bytes -= vector)
        stream ? V::stream(rest.dst, bits) : V::store(rest.dst, bits);
    std::memcpy(&bits, rest.src, static_cast<std::size_t>(rest.src_bytes));
    std::memcpy(rest.dst, &bits, static_cast<std::size_t>(rest.dst_bytes));
    if (stream) V::fence();
    V::zero_upper();
}

template <typename V>
constexpr function flat_of = copy<V>;

} // namespace
} // namespace dqbench::flat
