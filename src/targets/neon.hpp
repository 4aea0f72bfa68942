// Vectors of NEON, Advanced SIMD of AArch64: four lanes. Instructions and their NaN rules: Arm ARM, C7.2.
#pragma once

#include <arm_neon.h>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "targets/neon_bytes.hpp"
#include "targets/operators.hpp"
#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

struct neon : operators<float32x4_t, int32x4_t, uint32x4_t>, neon_bytes {
    using of_32_bytes = neon;
    using reals = float32x4_t;
    using integers = int32x4_t;
    struct mask {
        std::int64_t count; // 0 to lanes
    };
    /// A vector's reals as f64.
    struct doubles {
        float64x2_t low, high;
        friend doubles operator+(const doubles &a, const doubles &b) { return {a.low + b.low, a.high + b.high}; }
        friend doubles operator-(const doubles &a, const doubles &b) { return {a.low - b.low, a.high - b.high}; }
        friend doubles operator*(const doubles &a, const doubles &b) { return {a.low * b.low, a.high * b.high}; }
        friend doubles operator/(const doubles &a, const doubles &b) { return {a.low / b.low, a.high / b.high}; }
    };
    static constexpr const char *name = "neon";
    static constexpr std::int64_t lanes = 4;
    static constexpr bool has_fma = true;
    static constexpr int registers = 32;
    static constexpr bool has_tables_of_32 = false; // two of TBL's four registers for each, and indices of bytes

    static reals splat(float value) { return vdupq_n_f32(value); }
    static integers splat(std::int32_t value) { return vdupq_n_s32(value); }
    static doubles splat(double value) { return {vdupq_n_f64(value), vdupq_n_f64(value)}; }

    static reals load(const float *p) { return vld1q_f32(p); }
    static integers load(const std::int32_t *p) { return vld1q_s32(p); }
    static integers load(const std::int8_t *p) {
        return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(four_bytes(p)))));
    }
    static integers load(const std::uint8_t *p) {
        return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(four_bytes(p))))));
    }
    /// Sixteen bytes, which take fewer operations than four times four.
    static void load_four(const std::int8_t *p, integers (&x)[4]) {
        const auto bytes = vld1q_s8(p);
        const auto low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
        x[0] = vmovl_s16(vget_low_s16(low));
        x[1] = vmovl_high_s16(low);
        x[2] = vmovl_s16(vget_low_s16(high));
        x[3] = vmovl_high_s16(high);
    }
    static void load_four(const std::uint8_t *p, integers (&x)[4]) {
        const auto bytes = vld1q_u8(p);
        const auto low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
        x[0] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low)));
        x[1] = vreinterpretq_s32_u32(vmovl_high_u16(low));
        x[2] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high)));
        x[3] = vreinterpretq_s32_u32(vmovl_high_u16(high));
    }
    /// A byte that is loaded as a real, `bias` more than it: as the low bits of 2^23, s8 with its sign bit flipped.
    /// Where the bias cancels out, that saves conversions, each of which is two operations.
    template <typename Integer>
    struct biased_byte {
        Integer value;
    };
    template <typename Integer>
    static constexpr float bias = std::is_signed_v<Integer> ? 0x1p23F + 128 : 0x1p23F;
    template <typename Integer>
    static reals load(const biased_byte<Integer> *p) {
        const auto bytes = veor_u8(vreinterpret_u8_u32(four_bytes(p)), vdup_n_u8(std::is_signed_v<Integer> ? 0x80 : 0));
        return biased<false>(vzip1q_u8(vcombine_u8(bytes, bytes), vdupq_n_u8(0)));
    }
    template <typename Integer>
    static void load_four(const biased_byte<Integer> *p, reals (&x)[4]) {
        const auto loaded = vld1q_u8(reinterpret_cast<const std::uint8_t *>(p)), zero = vdupq_n_u8(0);
        const auto bytes = std::is_signed_v<Integer> ? veorq_u8(loaded, vdupq_n_u8(0x80)) : loaded;
        const auto low = vzip1q_u8(bytes, zero), high = vzip2q_u8(bytes, zero);
        x[0] = biased<false>(low);
        x[1] = biased<true>(low);
        x[2] = biased<false>(high);
        x[3] = biased<true>(high);
    }
    static integers load(const std::int16_t *p) { return vmovl_s16(vld1_s16(p)); }
    static integers load(const std::uint16_t *p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
    static integers load(const std::uint32_t *p) {
        return veorq_s32(vreinterpretq_s32_u32(vld1q_u32(p)), splat(INT32_MIN));
    }
    static reals load(const float16_bits *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits))); }
    static reals load(const bfloat16_bits *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16)); }
    /// In order, as an instruction widens either half. in_order() then has nothing to do.
    static void load_pairs(const bfloat16_bits *p, reals &first, reals &second) {
        const auto all = vld1q_u16(&p->bits);
        first = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(all), 16));
        second = vreinterpretq_f32_u32(vshll_high_n_u16(all, 16));
    }
    /// Bytes as the upper bytes of f16.
    static reals load_as_upper_byte(const std::uint8_t *p) {
        return of_float16(vshll_n_u8(vreinterpret_u8_u32(four_bytes(p)), 8));
    }
    /// Bytes as f16 with a 0 in the exponent's highest bit: the sign, that 0, and the byte's other seven bits.
    static reals load_as_small_float16(const std::uint8_t *p) {
        const auto apart = vreinterpretq_u16_s16(vshll_n_s8(vreinterpret_s8_u32(four_bytes(p)), 7));
        return of_float16(vandq_u16(apart, vdupq_n_u16(0xbfff)));
    }

    static mask first_lanes(std::int64_t count) { return {count < 0 ? 0 : count < lanes ? count : lanes}; }
    template <typename T>
    static auto load_partial(const T *p, std::int64_t count) {
        if (count >= lanes) return load(p);
        T rest[lanes] = {};
        // Of known sizes, because a copy of an unknown one is a call.
        if (count > 0) std::memcpy(rest, p, sizeof(T));
        if (count > 1) std::memcpy(rest + 1, p + 1, sizeof(T));
        if (count > 2) std::memcpy(rest + 2, p + 2, sizeof(T));
        return load(rest);
    }
    static reals load(const float *p, const mask &m) { return load_partial(p, m.count); }
    static integers load(const std::int32_t *p, const mask &m) { return load_partial(p, m.count); }

    /// It picks from eight, which are two vectors here.
    static reals pick(const float *p, integers index) {
        const auto bytes = vmlaq_s32(splat(0x03020100), index, splat(0x04040404));
        const uint8x16x2_t eight = {vreinterpretq_u8_f32(load(p)), vreinterpretq_u8_f32(load(p + lanes))};
        return vreinterpretq_f32_u8(vqtbl2q_u8(eight, vreinterpretq_u8_s32(bytes)));
    }
    static integers pick(const std::int32_t *p, integers index) {
        return vreinterpretq_s32_f32(pick(reinterpret_cast<const float *>(p), index));
    }

    /// Transposes 4 x 4 reals: pairs, halves.
    static void transpose_reals(reals (&x)[lanes]) {
        const auto halves = [](reals a, reals b, bool second) {
            const auto c = vreinterpretq_f64_f32(a), d = vreinterpretq_f64_f32(b);
            return vreinterpretq_f32_f64(second ? vtrn2q_f64(c, d) : vtrn1q_f64(c, d));
        };
        const auto ab_even = vtrn1q_f32(x[0], x[1]), ab_odd = vtrn2q_f32(x[0], x[1]);
        const auto cd_even = vtrn1q_f32(x[2], x[3]), cd_odd = vtrn2q_f32(x[2], x[3]);
        x[0] = halves(ab_even, cd_even, false);
        x[1] = halves(ab_odd, cd_odd, false);
        x[2] = halves(ab_even, cd_even, true);
        x[3] = halves(ab_odd, cd_odd, true);
    }

    static reals fma(reals a, reals b, reals c) { return vfmaq_f32(c, a, b); }
    static reals negated_fma(reals a, reals b, reals c) { return vfmsq_f32(c, a, b); }

    // Products of integers, added to the sums, which wrap.
    template <bool is_signed>
    static integers load_words(const void *p) { // of 8 bytes
        const auto *const bytes = static_cast<const std::uint8_t *>(p);
        return is_signed ? vreinterpretq_s32_s16(vmovl_s8(vreinterpret_s8_u8(vld1_u8(bytes))))
                         : vreinterpretq_s32_u16(vmovl_u8(vld1_u8(bytes)));
    }
    /// Two of 16 bits to each lane.
    static integers dot_pairs(integers sums, integers a, integers b) {
        const auto x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
        const auto low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
        return vaddq_s32(sums, vpaddq_s32(low, high));
    }
    /// Eight words of w by a word of x, which is in a vector or not.
    template <int place>
    static void multiply_by_word(integers *sums, integers w, integers x) {
        const auto words = vreinterpretq_s16_s32(w), of_x = vreinterpretq_s16_s32(x);
        sums[0] = vmlal_laneq_s16(sums[0], vget_low_s16(words), of_x, place);
        sums[1] = vmlal_high_laneq_s16(sums[1], words, of_x, place);
    }
    static void multiply_by(integers *sums, integers w, std::int16_t x) {
        const auto words = vreinterpretq_s16_s32(w);
        sums[0] = vmlal_n_s16(sums[0], vget_low_s16(words), x);
        sums[1] = vmlal_high_n_s16(sums[1], words, x);
    }
    static constexpr bool dot_saturates = true, dot_is_signed = false; // so that loops take pairs
    /// Four of u8 below 16 and s8, added to sums in parts of 16 bits, which hold this many: 2 * 15 * 128 * 8 < 2^15.
    static constexpr std::int64_t most_small_dots = 8;
    static integers dot_small(integers parts, integers a, integers b) {
        const auto x = vreinterpretq_s8_s32(a), y = vreinterpretq_s8_s32(b);
        const auto low = vmull_s8(vget_low_s8(x), vget_low_s8(y)), high = vmull_high_s8(x, y);
        return vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(parts), vpaddq_s16(low, high)));
    }
    static integers sums_of_small(integers parts, std::int16_t factor) {
        return vmulq_n_s32(vpaddlq_s16(vreinterpretq_s16_s32(parts)), factor);
    }
    static integers load_bits(const void *p) {
        integers v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    /// g++ would load it again for each use.
    static integers load_to_register(const void *p) {
        auto result = load_bits(p);
        __asm__("" : "+w"(result));
        return result;
    }

    // FMIN and FMAX give NaN if either is NaN, and order -0 and 0, as two operations do not.
    static reals min(reals bound, reals x) { return vbslq_f32(vcltq_f32(bound, x), bound, x); }
    static reals max(reals bound, reals x) { return vbslq_f32(vcgtq_f32(bound, x), bound, x); }
    /// x between -bound and bound, and -bound for NaN, but a NaN that signals: for quotients to integers, of which
    /// conversion would make NaN 0 and +infinity the highest.
    static reals within(reals bound, reals x) { return vmaxnmq_f32(vminq_f32(x, bound), vnegq_f32(bound)); }
    static reals abs(reals x) { return vabsq_f32(x); }
    /// Rounds to f16 or bf16, NaN to a quiet one.
    static reals rounded(const float16_bits *, reals x) { return vcvt_f32_f16(vcvt_f16_f32(x)); }
    static reals rounded(const bfloat16_bits *, reals x) {
        return vreinterpretq_f32_u32(vandq_u32(rounded_to_upper_half(x), vdupq_n_u32(0xffff0000)));
    }
    static reals copy_sign(reals magnitude, reals x) { return vbslq_f32(vdupq_n_u32(0x80000000), x, magnitude); }

    static integers min(integers a, integers b) { return vminq_s32(a, b); }
    static integers select_less(integers a, integers b, integers then, integers otherwise) {
        return vbslq_s32(vcltq_s32(a, b), then, otherwise);
    }
    static reals select_less(reals a, reals b, reals then, reals otherwise) { // false for NaN
        return vbslq_f32(vcltq_f32(a, b), then, otherwise);
    }
    static reals to_reals(integers a) { return vcvtq_f32_s32(a); }
    /// The maximum of a quiet NaN and a number is the number.
    static integers to_integers(reals x) { return vcvtnq_s32_f32(vmaxnmq_f32(x, splat(-0x1p31F))); }
    static reals round(reals x) { return vrndnq_f32(x); }
    static doubles to_doubles(reals x) { return {vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)}; }
    static doubles to_doubles(integers x) {
        return {vcvtq_f64_s64(vmovl_s32(vget_low_s32(x))), vcvtq_f64_s64(vmovl_high_s32(x))};
    }
    static reals to_reals(const doubles &x) { return vcvt_high_f32_f64(vcvt_f32_f64(x.low), x.high); }
    /// The lowest value also for a quiet NaN.
    static doubles limited(const doubles &x, double lowest, double highest) {
        const auto low = vdupq_n_f64(lowest), high = vdupq_n_f64(highest);
        return {vminq_f64(vmaxnmq_f64(x.low, low), high), vminq_f64(vmaxnmq_f64(x.high, low), high)};
    }
    /// The low 32 bits of each f64.
    static integers low_halves(const doubles &x) {
        return vuzp1q_s32(vreinterpretq_s32_f64(x.low), vreinterpretq_s32_f64(x.high));
    }
    /// Rounds to odd (numerics.hpp), which is an instruction here.
    static reals rounded_to_odd(const doubles &x) { return vcvtx_high_f32_f64(vcvtx_f32_f64(x.low), x.high); }
    static reals subtract_exactly(integers a, integers b) { return to_reals(to_doubles(a) - to_doubles(b)); }

    static void store(float *p, reals a) { vst1q_f32(p, a); }
    static void store(void *p, integers a) { std::memcpy(p, &a, sizeof a); }
    static void store(float *p, const mask &m, reals a) { store_partial(p, m.count, a); }
    static void store_partial(float *p, std::int64_t count, reals a) {
        store_bytes(p, 4 * count, vreinterpretq_s32_f32(a));
    }
    static void store_partial(std::int32_t *p, std::int64_t count, integers a) { store_bytes(p, 4 * count, a); }
    /// The lowest byte of each lane.
    static void store_low_bytes(void *p, const mask &m, integers a) {
        const auto words = vmovn_s32(a);
        const auto bytes = vmovn_s16(vcombine_s16(words, words));
        if (m.count == lanes)
            std::memcpy(p, &bytes, 4);
        else
            std::memcpy(p, &bytes, static_cast<std::size_t>(m.count));
    }
    /// Stores the first `count` bytes; all if there are fewer.
    static void store_bytes(void *p, std::int64_t count, integers a) {
        if (count >= 16) return store(p, a);
        if (count <= 0) return;
        auto *to = static_cast<unsigned char *>(p);
        auto rest = vgetq_lane_u64(vreinterpretq_u64_s32(a), 0);
        const auto put = [&](auto part) {
            part = static_cast<decltype(part)>(rest);
            std::memcpy(to, &part, sizeof part);
            to += sizeof part;
        };
        if ((count & 8) != 0) {
            put(std::uint64_t {});
            rest = vgetq_lane_u64(vreinterpretq_u64_s32(a), 1);
        }
        if ((count & 4) != 0) {
            put(std::uint32_t {});
            rest >>= 32;
        }
        if ((count & 2) != 0) {
            put(std::uint16_t {});
            rest >>= 16;
        }
        if ((count & 1) != 0) put(std::uint8_t {});
    }
    // No store bypasses the caches for a vector alone; processors recognize streams of stores themselves.
    static void stream(float *p, reals a) { store(p, a); }
    static void stream(void *p, integers a) { store(p, a); }
    static void fence() {}
    static void zero_upper() {}

    // Packing in steps; all keep the order. Of reals that within() has limited.
    static integers words(integers a, integers b) { return vreinterpretq_s32_s16(vqmovn_high_s32(vqmovn_s32(a), b)); }
    static integers words(reals a, reals b) { return words(vcvtnq_s32_f32(a), vcvtnq_s32_f32(b)); }
    static integers add_saturated(integers a, integers b) { // of words
        return vreinterpretq_s32_s16(vqaddq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
    }
    template <typename Integer>
    static integers bytes(integers ab, integers cd) {
        const auto first = vreinterpretq_s16_s32(ab), second = vreinterpretq_s16_s32(cd);
        if constexpr (std::is_signed_v<Integer>)
            return vreinterpretq_s32_s8(vqmovn_high_s16(vqmovn_s16(first), second));
        else
            return vreinterpretq_s32_u8(vqmovun_high_s16(vqmovun_s16(first), second));
    }
    template <bool InPairs>
    static integers in_order(integers bytes) {
        return bytes;
    }
    // These pack one vector, and store it.
    static int16x4_t words(integers a) { return vqmovn_s32(a); }
    static int16x4_t words(reals a) { return words(vcvtnq_s32_f32(a)); }
    static int16x4_t add_saturated(int16x4_t a, int16x4_t b) { return vqadd_s16(a, b); }
    template <typename Integer>
    static void store_packed(Integer *p, int16x4_t words) {
        const auto both = vcombine_s16(words, words);
        if constexpr (std::is_signed_v<Integer>) {
            const auto bytes = vqmovn_s16(both);
            std::memcpy(p, &bytes, 4);
        } else {
            const auto bytes = vqmovun_s16(both);
            std::memcpy(p, &bytes, 4);
        }
    }
    template <typename Integer>
    static void store_packed(Integer *p, reals a) {
        store_packed(p, words(a));
    }
    /// To 16 bits.
    static integers pack(const float16_bits *, reals a, reals b) {
        return vreinterpretq_s32_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b));
    }
    static integers pack(const bfloat16_bits *, reals a, reals b) {
        const auto first = vshrn_n_u32(rounded_to_upper_half(a), 16);
        return vreinterpretq_s32_u16(vshrn_high_n_u32(first, rounded_to_upper_half(b), 16));
    }
    template <typename Integer>
    static integers pack(const Integer *, reals a, reals b) {
        if constexpr (std::is_signed_v<Integer>)
            return words(a, b);
        else
            return vreinterpretq_s32_u16(vqmovun_high_s32(vqmovun_s32(vcvtnq_s32_f32(a)), vcvtnq_s32_f32(b)));
    }
    static constexpr std::int64_t looked_up = 0; // tables of sixteen pay in AVX-512 only

  private:
    static uint32x2_t four_bytes(const void *p) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, p, sizeof bits);
        return vcreate_u32(bits);
    }
    template <bool second>
    static reals biased(uint8x16_t words) {
        const auto x = vreinterpretq_u16_u8(words), above = vdupq_n_u16(0x4b00);
        return vreinterpretq_f32_u16(second ? vzip2q_u16(x, above) : vzip1q_u16(x, above));
    }
    static reals of_float16(uint16x8_t bits) { return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(bits))); }
    /// Rounds to nearest even: adds just under half a unit, plus 1 if the last kept bit is odd. NaN gets the quiet bit
    /// instead.
    static uint32x4_t rounded_to_upper_half(reals a) {
        const auto bits = vreinterpretq_u32_f32(a);
        const auto odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
        const auto rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
        const auto quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
        return vbslq_u32(vceqq_f32(a, a), rounded, quiet);
    }
};

} // namespace
} // namespace dynquant::simd
