// One element at a time, for processors without AVX2 and as the plainest reading of the row algorithms.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/native/types.hpp"
#include "quantization/small_float.hpp"

namespace dynquant::kernels::native {
namespace {

struct scalar {
    using reals = float;
    using integers = std::int32_t;
    static constexpr std::int64_t lanes = 1;
    static constexpr bool adds_words = false;
    static constexpr bool has_fma = false; // std::fma without the instruction is slower than dividing

    static reals splat(float value) { return value; }
    static integers splat(std::int32_t value) { return value; }
    static reals load(const float *p) { return *p; }
    static reals load(const half *p) { return float16 {p->bits}.value(); }
    static reals load(const brain *p) { return bfloat16 {p->bits}.value(); }
    template <typename Integer>
    static integers load(const Integer *p) {
        return *p;
    }
    static integers load(const std::uint32_t *p) { return static_cast<integers>(*p ^ 0x80000000U); }
    template <typename T>
    static auto load_partial(const T *p, std::int64_t count) {
        return count > 0 ? load(p) : decltype(load(p)) {};
    }

    template <typename T>
    static T pick(const T *p, integers index) {
        return p[index];
    }

    static reals add(reals a, reals b) { return a + b; }
    static reals subtract(reals a, reals b) { return a - b; }
    static reals mul(reals a, reals b) { return a * b; }
    static reals div(reals a, reals b) { return a / b; }
    static reals fma(reals a, reals b, reals c) { return a * b + c; } // only where contraction is optional
    static reals min(reals bound, reals x) { return bound < x ? bound : x; }
    static reals max(reals bound, reals x) { return bound > x ? bound : x; }
    static reals as_reals(integers bits) { return __builtin_bit_cast(reals, bits); }
    static integers as_integers(reals x) { return __builtin_bit_cast(integers, x); }

    static integers add(integers a, integers b) { // wraps
        return static_cast<integers>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    }
    static reals abs(reals x) { return __builtin_fabsf(x); }
    static reals copy_sign(reals magnitude, reals x) { return __builtin_copysignf(magnitude, x); }
    /// To numbers of f16 or bf16, NaN to a quiet one.
    static reals rounded(const half *, reals x) { return float16::from(x).value(); }
    static reals rounded(const brain *, reals x) { return bfloat16::from(x).value(); }
    static integers subtract(integers a, integers b) { return a - b; }
    static integers min(integers a, integers b) { return a < b ? a : b; }
    static integers bit_and(integers a, integers b) { return a & b; }
    static integers bit_or(integers a, integers b) { return a | b; }
    template <int by>
    static integers shift_left(integers a) {
        return static_cast<integers>(static_cast<std::uint32_t>(a) << by);
    }
    template <int by>
    static integers shift_right(integers a) {
        return static_cast<integers>(static_cast<std::uint32_t>(a) >> by);
    }
    static integers shift_right(integers a, integers by) {
        return static_cast<integers>(static_cast<std::uint32_t>(a) >> by);
    }
    static integers select_less(integers a, integers b, integers then, integers otherwise) {
        return a < b ? then : otherwise;
    }
    static reals to_reals(integers a) { return static_cast<float>(a); }
    static reals subtract_exactly(integers a, integers b) { return static_cast<float>(std::int64_t {a} - b); }

    template <typename Integer>
    static Integer saturate(reals x) {
        constexpr float lowest = std::numeric_limits<Integer>::lowest(), highest = std::numeric_limits<Integer>::max();
        return static_cast<Integer>(__builtin_rintf(x > lowest ? min(highest, x) : lowest));
    }

    static void store(float *p, reals a) { *p = a; }
    static void store(half *p, reals a) { p->bits = float16::from(a).bits; }
    static void store(brain *p, reals a) { p->bits = bfloat16::from(a).bits; }
    static void store(std::int32_t *p, integers a) { *p = a; }
    template <typename Real>
    static void store(Real *p, reals a, reals b) {
        store(p, a);
        store(p + 1, b);
    }
    template <typename Real, typename... More>
    static void stream(Real *p, reals a, More... more) {
        store(p, a, more...);
    }
    static constexpr bool has_tables_of_32 = false;
    static constexpr std::int64_t looked_up = 0; // tables of sixteen pay in AVX-512 only
    static constexpr std::int64_t nibbles = 2;
    static void unpack(const unsigned char *from, std::int8_t *to, bool is_signed) {
        const int sign = is_signed ? 8 : 0; // extends: (x ^ 8) - 8
        to[0] = static_cast<std::int8_t>(((*from & 0xf) ^ sign) - sign);
        to[1] = static_cast<std::int8_t>((*from >> 4 ^ sign) - sign);
    }
    static void pack(const std::int8_t *from, unsigned char *to, std::int8_t lowest, std::int8_t highest) {
        const auto bounded = [=](int value) { return value < lowest ? lowest : value > highest ? highest : value; };
        *to = static_cast<unsigned char>((bounded(from[0]) & 0xf) | (bounded(from[1]) & 0xf) << 4);
    }
    static void stream_line(std::uint8_t *to, const std::uint8_t *from) { std::memcpy(to, from, 64); }
    static void fence() {}
    static void leave() {}
    static void transpose(
            const unsigned char *from, std::int64_t from_stride, unsigned char *to, std::int64_t to_stride) {
        for (int i = 0; i < 16; ++i)
            for (int j = 0; j < 32; ++j)
                to[j * to_stride + i] = from[i * from_stride + j];
    }
    template <typename Integer>
    static void store(Integer *p, reals a, reals b, reals c, reals d) {
        p[0] = saturate<Integer>(a);
        p[1] = saturate<Integer>(b);
        p[2] = saturate<Integer>(c);
        p[3] = saturate<Integer>(d);
    }
    /// Those of four elements, as codes of a format.
    static void store_codes(
            std::uint8_t *p, const integers (&magnitudes)[4], const reals (&signs)[4], const narrow_format &format) {
        for (int k = 0; k < 4; ++k) {
            const auto given = static_cast<std::uint8_t>(min(magnitudes[k], 255));
            const bool has_sign = static_cast<std::int8_t>(given) > format.signless && as_integers(signs[k]) < 0;
            p[k] = static_cast<std::uint8_t>(min(given, format.nan) | (has_sign ? 0x80 >> format.sign_shift : 0));
        }
    }
    static void store(std::int32_t *p, integers a, integers b, integers c, integers d) {
        p[0] = a;
        p[1] = b;
        p[2] = c;
        p[3] = d;
    }
    static void stream(std::int32_t *p, integers a, integers b, integers c, integers d) { store(p, a, b, c, d); }
    static void store_partial(std::int32_t *p, std::int64_t count, integers a, integers b, integers c, integers) {
        const integers block[] = {a, b, c};
        for (std::int64_t i = 0; i < count; ++i)
            p[i] = block[i];
    }
    /// u32's zero points are 2^31 less, and so is the sum until its end.
    template <typename Integer>
    static integers saturated_sum(reals quotient, integers zero_point) {
        constexpr double lowest = INT32_MIN, highest = INT32_MAX;
        const double exact = __builtin_rint(double {quotient}) + zero_point;
        const auto sum = static_cast<integers>(exact > lowest ? exact < highest ? exact : highest : lowest);
        return std::is_signed_v<Integer> ? sum : sum ^ INT32_MIN;
    }

    static void store_partial(float *p, std::int64_t count, reals a) {
        if (count > 0) *p = a;
    }
    template <typename Integer>
    static void store_partial(Integer *p, std::int64_t count, reals a, reals b, reals c, reals) {
        const reals block[] = {a, b, c};
        for (std::int64_t i = 0; i < count; ++i)
            p[i] = saturate<Integer>(block[i]);
    }
};

} // namespace
} // namespace dynquant::kernels::native
