// Vectors of an instruction set: the one vocabulary of all loops that are compiled for one. scalar.hpp, avx2.hpp,
// avx512.hpp and neon.hpp have a type of it each, V, with static members only. operators.hpp gives those that are the
// same in all; NAME_*.hpp extend one of these types by what few loops need. No other folder has vectors of intrinsics.
// All types lie in anonymous namespaces: code for one instruction set must not be taken for code of another by the
// linker. scalar.hpp has the simplest definition of most members; types of more than one lane also pack in steps,
// words() and bytes(), and have vectors of bytes. Most used are
//     lanes                           32-bit lanes of a vector
//     registers                       vectors that they hold: 16 or 32
//     reals, integers                 f32 with the operators + - * /; s32 or any other bits
//     splat(x)                        x in each lane
//     load(p)                         elements widened to f32 or s32; u32 less 2^31
//     load_bits(p), store(p, v)       a whole vector, unaligned; scalar has no load_bits and no bytes of vectors
//     mask, first_lanes(count)        none if count is negative, all if it is `lanes` or more
//     load(p, mask), store(p, mask, v)       other lanes are 0, neither read nor written
//     load_partial(p, count), store_partial(p, count, v)       the same for first_lanes(count)
//     stream(p, v), fence()           a non-temporal store to an aligned address; after the last one
//     min(bound, x), max(bound, x)    of reals: x where either is NaN
//     add, subtract, multiply, min, bit_and, bit_or, shift_left, shift_right of integers; the first three wrap
//     select_less(a, b, then, otherwise)       lane by lane
//     as_reals, as_integers           the same bits
//     dot(sums, a, b)                 adds four products of u8 and s8 to each lane; where dot_is_signed of s8 and s8;
//                                     where dot_saturates of pairs that saturate, or there is no dot()
//     to_reals, to_integers           converted, to nearest even
//     pack(type, a, b)                to elements of half the width, rounded and saturated; but NaN and both infinities
//                                     become the lowest integer, as x86 converts all that s32 lacks to its lowest value
//
// Formulas of types that have FMA count on the last rule: for x near -FLT_MAX they may give +infinity
// (kernels/native/formulas/two_part.hpp). Where a conversion saturates instead, as NEON's
// does, formulas limit quotients, or x, from both sides by within(bound, x), which also makes NaN the lowest, and
// packing counts on that.
//
// Loops that need no more than operators, of any number and any width, are written over lanes.hpp instead.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace dynquant::simd {

/// f16 and bf16 in memory.
struct float16_bits {
    std::uint16_t bits;
};
struct bfloat16_bits {
    std::uint16_t bits;
};

/// Consecutive vectors in memory.
template <typename V, int count>
struct several {
    typename V::integers at[count];
};

namespace {

/// f(0) to f(count - 1). g++ 12 unrolls loops after it decides which arrays to keep in registers.
template <int count, typename F>
[[gnu::always_inline]] inline void unroll(F f) {
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        (f(i), ...);
    }
    (std::make_integer_sequence<int, count>());
}

/// V whose fma() rounds once.
template <typename V>
struct fused_in_software : V {
    static typename V::reals fma(typename V::reals a, typename V::reals b, typename V::reals c) {
        return __builtin_fmaf(a, b, c);
    }
};
template <typename V>
using fused = std::conditional_t<V::has_fma, V, fused_in_software<V>>;

} // namespace
} // namespace dynquant::simd
