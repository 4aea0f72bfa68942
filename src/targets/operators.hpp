// What operators give in every instruction set: numbers have them, and so have GNU vectors. Not selection: for AVX-512
// g++ 12 computes what is selected once more, under the mask.
#pragma once

#include <cstdint>

#include "targets/lanes.hpp"

namespace dynquant::simd {
namespace {

/// Unsigned are the lanes of Integers as u32.
template <typename Reals, typename Integers, typename Unsigned>
struct operators {
    static Reals as_reals(Integers bits) { return __builtin_bit_cast(Reals, bits); }
    static Integers as_integers(Reals x) { return __builtin_bit_cast(Integers, x); }

    static Integers add(Integers a, Integers b) { return Integers(Unsigned(a) + Unsigned(b)); }
    static Integers subtract(Integers a, Integers b) { return Integers(Unsigned(a) - Unsigned(b)); }
    static Integers multiply(Integers a, Integers b) { return Integers(Unsigned(a) * Unsigned(b)); }
    static Integers bit_and(Integers a, Integers b) { return a & b; }
    static Integers bit_or(Integers a, Integers b) { return a | b; }
    template <int by>
    static Integers shift_left(Integers a) {
        return Integers(Unsigned(a) << by);
    }
    template <int by>
    static Integers shift_right(Integers a) {
        return Integers(Unsigned(a) >> by);
    }
    static Integers shift_right(Integers a, Integers by) { return Integers(Unsigned(a) >> Unsigned(by)); }
};

/// Vectors of `bytes` bytes. Their integers are those of intrinsics, of 64 bits.
template <int bytes>
struct vector_operators
    : operators<typename lanes_of<float, bytes>::vector, typename lanes_of<long long, bytes>::vector,
              typename lanes_of<std::uint32_t, bytes>::vector> {
    /// A vector's reals as f64.
    struct doubles {
        typename lanes_of<double, bytes>::vector low, high;
        friend doubles operator+(const doubles &a, const doubles &b) { return {a.low + b.low, a.high + b.high}; }
        friend doubles operator-(const doubles &a, const doubles &b) { return {a.low - b.low, a.high - b.high}; }
        friend doubles operator*(const doubles &a, const doubles &b) { return {a.low * b.low, a.high * b.high}; }
        friend doubles operator/(const doubles &a, const doubles &b) { return {a.low / b.low, a.high / b.high}; }
    };
};

} // namespace
} // namespace dynquant::simd
