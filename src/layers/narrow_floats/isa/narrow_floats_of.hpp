// The loops of narrow_floats.hpp over vectors V, see targets/simd.hpp. The last elements, fewer than a vector has, pass
// through copies that fill one.
#pragma once

#include <cstring>

#include "layers/narrow_floats/narrow_floats.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

template <typename V, typename T>
void widen(const std::byte *from, std::int64_t count, float *to) {
    const auto *elements = reinterpret_cast<const T *>(from);
    std::int64_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes)
        V::store(to + i, V::load(elements + i));
    if (i == count) return;
    T last[V::lanes] = {};
    float widened[V::lanes];
    const auto rest = static_cast<std::size_t>(count - i);
    std::memcpy(last, elements + i, rest * sizeof(T));
    V::store(widened, V::load(last));
    std::memcpy(to + i, widened, rest * sizeof *to);
}

template <typename V, typename T>
void store_narrow(const float *from, T *to) {
    if constexpr (V::lanes == 1)
        *to = V::template converted<T>(*from);
    else
        V::store(to, V::pack(static_cast<const T *>(nullptr), V::load(from), V::load(from + V::lanes)));
}

template <typename V, typename T>
void narrow(const float *from, std::int64_t count, std::byte *to) {
    auto *elements = reinterpret_cast<T *>(to);
    constexpr std::int64_t width = V::lanes == 1 ? 1 : 2 * V::lanes;
    std::int64_t i = 0;
    for (; i + width <= count; i += width)
        store_narrow<V, T>(from + i, elements + i);
    if (i == count) return;
    float last[width] = {};
    T narrowed[width];
    const auto rest = static_cast<std::size_t>(count - i);
    std::memcpy(last, from + i, rest * sizeof *from);
    store_narrow<V, T>(last, narrowed);
    std::memcpy(elements + i, narrowed, rest * sizeof(T));
}

template <typename V>
constexpr narrow_float_loops narrow_floats_of = {widen<V, simd::float16_bits>, widen<V, simd::bfloat16_bits>,
        narrow<V, simd::float16_bits>, narrow<V, simd::bfloat16_bits>};

} // namespace
} // namespace dynquant::layers
