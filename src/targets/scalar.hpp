// Vectors of one element, for processors without AVX2. Also the simplest form of the row algorithms.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "elements/small_float.hpp"
#include "targets/operators.hpp"
#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

struct scalar : operators<float, std::int32_t, std::uint32_t> {
    using reals = float;
    using integers = std::int32_t;
    using mask = bool;
    using doubles = double;
    static constexpr const char *name = "scalar";
    static constexpr std::int64_t lanes = 1;
    static constexpr int registers = 16;
    static constexpr bool has_fma = false; // std::fma without the instruction is slower than dividing

    static reals splat(float value) { return value; }
    static integers splat(std::int32_t value) { return value; }
    static doubles splat(double value) { return value; }
    static reals load(const float *p) { return *p; }
    static reals load(const float16_bits *p) { return float16 {p->bits}.value(); }
    static reals load(const bfloat16_bits *p) { return bfloat16 {p->bits}.value(); }
    template <typename Integer>
    static integers load(const Integer *p) {
        return *p;
    }
    static integers load(const std::uint32_t *p) { return static_cast<integers>(*p ^ 0x80000000U); }
    static mask first_lanes(std::int64_t count) { return count > 0; }
    template <typename T>
    static auto load(const T *p, mask m) {
        return m ? load(p) : decltype(load(p)) {};
    }
    template <typename T>
    static auto load_partial(const T *p, std::int64_t count) {
        return load(p, first_lanes(count));
    }

    template <typename T>
    static T pick(const T *p, integers index) {
        return p[index];
    }

    static reals fma(reals a, reals b, reals c) { return a * b + c; } // only for formulas that do not need it fused
    static reals min(reals bound, reals x) { return bound < x ? bound : x; }
    static reals max(reals bound, reals x) { return bound > x ? bound : x; }
    static reals abs(reals x) { return __builtin_fabsf(x); }
    static reals copy_sign(reals magnitude, reals x) { return __builtin_copysignf(magnitude, x); }
    /// Rounds to f16 or bf16, NaN to a quiet one.
    static reals rounded(const float16_bits *, reals x) { return float16::from(x).value(); }
    static reals rounded(const bfloat16_bits *, reals x) { return bfloat16::from(x).value(); }
    static integers min(integers a, integers b) { return a < b ? a : b; }
    static integers select_less(integers a, integers b, integers then, integers otherwise) {
        return a < b ? then : otherwise;
    }
    static reals select_less(reals a, reals b, reals then, reals otherwise) { return a < b ? then : otherwise; }
    static reals to_reals(integers a) { return static_cast<float>(a); }
    static integers to_integers(reals x) { return static_cast<integers>(round(x)); }
    static reals round(reals x) { return __builtin_nearbyintf(x); }
    static doubles to_doubles(reals x) { return x; }
    static doubles to_doubles(integers x) { return x; }
    static doubles limited(doubles x, double lowest, double highest) {
        return x > lowest ? x < highest ? x : highest : lowest;
    }
    static integers low_halves(doubles x) { return static_cast<integers>(__builtin_bit_cast(std::int64_t, x)); }
    static reals to_reals(doubles x) { return static_cast<float>(x); }
    /// Rounds to odd (numerics.hpp): the neighbour of an inexact value whose last bit is set.
    static reals rounded_to_odd(doubles x) {
        const auto nearest = static_cast<float>(x);
        if (nearest == x || x != x) return nearest;
        const bool above = __builtin_fabs(double {nearest}) > __builtin_fabs(x);
        return as_reals((as_integers(nearest) - (above ? 1 : 0)) | 1);
    }
    static reals subtract_exactly(integers a, integers b) { return static_cast<float>(std::int64_t {a} - b); }

    /// Rounded and saturated, in place of pack(). +infinity may become the highest integer here: without FMA no formula
    /// gives it.
    template <typename T>
    static T converted(reals x) {
        if constexpr (std::is_same_v<T, float16_bits>) {
            return {float16::from(x).bits};
        } else if constexpr (std::is_same_v<T, bfloat16_bits>) {
            return {bfloat16::from(x).bits};
        } else {
            constexpr float lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
            return static_cast<T>(__builtin_rintf(x > lowest ? min(highest, x) : lowest));
        }
    }
    static integers load_bits(const void *p) {
        integers bits = 0;
        std::memcpy(&bits, p, sizeof bits);
        return bits;
    }
    static constexpr bool dot_saturates = true, dot_is_signed = false; // so that loops take pairs
    /// Two products of 16 bits, added to the sum, which wraps.
    static integers dot_pairs(integers sums, integers a, integers b) {
        const auto product = [=](int at) {
            return static_cast<std::int16_t>(a >> at) * static_cast<std::int16_t>(b >> at);
        };
        return add(sums, add(product(0), product(16)));
    }
    static void store(void *p, reals a) { std::memcpy(p, &a, sizeof(a)); }
    static void store(void *p, integers a) { std::memcpy(p, &a, sizeof(a)); }
    static void store(float *p, mask m, reals a) {
        if (m) *p = a;
    }
    /// The lowest byte of each lane.
    static void store_low_bytes(void *p, mask m, integers a) { std::memcpy(p, &a, m ? 1 : 0); }
    template <typename Number>
    static void store_partial(Number *p, std::int64_t count, Number a) {
        if (count > 0) *p = a;
    }
    template <typename Number>
    static void stream(void *p, Number a) {
        store(p, a);
    }
    static constexpr bool has_tables_of_32 = false;
    static constexpr std::int64_t looked_up = 0; // tables of sixteen pay in AVX-512 only
    static constexpr std::int64_t nibbles = 2;
    static void unpack_nibbles(const unsigned char *from, std::int8_t *to, bool is_signed) {
        const int sign = is_signed ? 8 : 0; // extends: (x ^ 8) - 8
        to[0] = static_cast<std::int8_t>(((*from & 0xf) ^ sign) - sign);
        to[1] = static_cast<std::int8_t>((*from >> 4 ^ sign) - sign);
    }
    static void pack_nibbles(const std::int8_t *from, unsigned char *to, std::int8_t lowest, std::int8_t highest) {
        const auto bounded = [=](int value) { return value < lowest ? lowest : value > highest ? highest : value; };
        *to = static_cast<unsigned char>((bounded(from[0]) & 0xf) | (bounded(from[1]) & 0xf) << 4);
    }
    static constexpr std::int64_t sixes = 4;
    /// Four elements of 6 bits, from three bytes.
    static void unpack_sixes(const unsigned char *from, std::int8_t *to) {
        const auto bits = static_cast<unsigned>(from[0] | from[1] << 8 | from[2] << 16);
        for (int k = 0; k < 4; ++k)
            to[k] = static_cast<std::int8_t>(bits >> 6 * k & 0x3f);
    }
    static void pack_sixes(const std::int8_t *from, unsigned char *to) {
        const auto bits = static_cast<unsigned>(from[0] | from[1] << 6 | from[2] << 12 | from[3] << 18);
        for (int k = 0; k < 3; ++k)
            to[k] = static_cast<unsigned char>(bits >> 8 * k);
    }
    static void fence() {}
    static void zero_upper() {}
    static void transpose(
            const unsigned char *from, std::int64_t from_stride, unsigned char *to, std::int64_t to_stride) {
        for (int i = 0; i < 16; ++i)
            for (int j = 0; j < 32; ++j)
                to[j * to_stride + i] = from[i * from_stride + j];
    }
};

} // namespace
} // namespace dynquant::simd
