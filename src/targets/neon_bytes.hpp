// Bytes in vectors of NEON: layout changes, the words of pairs of bytes, elements of 4 and 6 bits, a table of 256.
#pragma once

#include <arm_neon.h>
#include <cstdint>
#include <cstring>

namespace dynquant::simd {
namespace {

struct neon_bytes {
    /// Transposes 16 lines of 32 bytes. Interleaving lines i and i + 8 four times transposes 16 by 16 bytes: each time
    /// moves one bit of a byte's position from the column to the line.
    static void transpose(const void *from, std::int64_t from_stride, void *to, std::int64_t to_stride) {
        for (int half = 0; half < 32; half += 16) {
            uint8x16_t lines[16], interleaved[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                lines[i] = vld1q_u8(static_cast<const std::uint8_t *>(from) + i * from_stride + half);
#pragma GCC unroll 4
            for (int step = 0; step < 4; ++step) {
#pragma GCC unroll 8
                for (int i = 0; i < 8; ++i) {
                    interleaved[2 * i] = vzip1q_u8(lines[i], lines[i + 8]);
                    interleaved[2 * i + 1] = vzip2q_u8(lines[i], lines[i + 8]);
                }
#pragma GCC unroll 16
                for (int i = 0; i < 16; ++i)
                    lines[i] = interleaved[i];
            }
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                vst1q_u8(static_cast<std::uint8_t *>(to) + (half + i) * to_stride, lines[i]);
        }
    }

    /// Interleaves three lines of bytes, sixteen of each at a time. Returns how many of each are done.
    static std::int64_t interleave_3(
            const unsigned char *from, std::int64_t step, std::int64_t count, unsigned char *to) {
        std::int64_t i = 0;
        for (; i + 16 <= count; i += 16) { // vst3q_u8 and its like are macros in clang, which a brace's commas part
            const uint8x16x3_t lines = {{vld1q_u8(from + i), vld1q_u8(from + step + i), vld1q_u8(from + 2 * step + i)}};
            vst3q_u8(to + 3 * i, lines);
        }
        return i;
    }
    /// interleave_3() for four lines.
    static std::int64_t interleave_4(
            const unsigned char *from, std::int64_t step, std::int64_t count, unsigned char *to) {
        std::int64_t i = 0;
        for (; i + 16 <= count; i += 16) {
            const uint8x16x4_t lines = {{vld1q_u8(from + i), vld1q_u8(from + step + i), vld1q_u8(from + 2 * step + i),
                    vld1q_u8(from + 3 * step + i)}};
            vst4q_u8(to + 4 * i, lines);
        }
        return i;
    }
    /// Gathers every stride-th byte, sixteen at a time. Reads nothing beyond the last gathered byte. Returns how many
    /// are done.
    template <int stride>
    static std::int64_t gather_bytes(const unsigned char *from, std::int64_t count, unsigned char *to) {
        std::int64_t i = 0;
        for (; i + 16 < count; i += 16) {
            if constexpr (stride == 2) vst1q_u8(to + i, vld2q_u8(from + 2 * i).val[0]);
            if constexpr (stride == 3) vst1q_u8(to + i, vld3q_u8(from + 3 * i).val[0]);
            if constexpr (stride == 4) vst1q_u8(to + i, vld4q_u8(from + 4 * i).val[0]);
        }
        return i;
    }

    /// Interleaves 4 bytes of a and of b for each vector of words. The bytes are signed or not.
    template <bool is_signed, int vectors>
    static void interleave_to_words(const void *a, const void *b, int32x4_t (&words)[vectors]) {
        static_assert(vectors == 1 || vectors == 2);
        const auto load = [](const void *p) {
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, p, 4 * vectors);
            return vcreate_u8(bytes);
        };
        const auto both = vzip1q_u8(vcombine_u8(load(a), vcreate_u8(0)), vcombine_u8(load(b), vcreate_u8(0)));
        const auto low = vget_low_u8(both), high = vget_high_u8(both);
        const auto widened = [](uint8x8_t x) {
            return is_signed ? vreinterpretq_s32_s16(vmovl_s8(vreinterpret_s8_u8(x)))
                             : vreinterpretq_s32_u16(vmovl_u8(x));
        };
        words[0] = widened(low);
        words[vectors - 1] = vectors == 1 ? words[0] : widened(high);
    }

    /// Interleaves the bytes of four vectors. Vector j gets bytes 4 j to 4 j + 3 of all four.
    static void interleave_bytes(int32x4_t (&x)[4]) {
        const auto bytes = [&](int i) { return vreinterpretq_u8_s32(x[i]); };
        const auto words = [](uint8x16_t v) { return vreinterpretq_u16_u8(v); };
        const auto ab_low = words(vzip1q_u8(bytes(0), bytes(1))), ab_high = words(vzip2q_u8(bytes(0), bytes(1)));
        const auto cd_low = words(vzip1q_u8(bytes(2), bytes(3))), cd_high = words(vzip2q_u8(bytes(2), bytes(3)));
        x[0] = vreinterpretq_s32_u16(vzip1q_u16(ab_low, cd_low));
        x[1] = vreinterpretq_s32_u16(vzip2q_u16(ab_low, cd_low));
        x[2] = vreinterpretq_s32_u16(vzip1q_u16(ab_high, cd_high));
        x[3] = vreinterpretq_s32_u16(vzip2q_u16(ab_high, cd_high));
    }
    /// Lanes that belong to bytes of interleave_bytes(), in the order of these bytes.
    static void store_interleaved(std::int32_t *p, const int32x4_t (&x)[4]) {
        for (int i = 0; i < 4; ++i)
            vst1q_s32(p + 4 * i, x[i]);
    }

    static int32x4_t splat_bytes(int x) {
        return vreinterpretq_s32_s8(vdupq_n_s8(static_cast<std::int8_t>(x)));
    }
    static int32x4_t bit_xor(int32x4_t a, int32x4_t b) {
        return veorq_s32(a, b);
    }
    static int32x4_t min_bytes(int32x4_t a, int32x4_t b) {
        return vreinterpretq_s32_u8(vminq_u8(vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
    }
    static int32x4_t shift_words_right(int32x4_t a, int by) {
        const auto left = vdupq_n_s16(static_cast<std::int16_t>(-by));
        return vreinterpretq_s32_u16(vshlq_u16(vreinterpretq_u16_s32(a), left));
    }
    /// 0 where a > b, as s8, does not hold.
    static int32x4_t select_greater_bytes(int32x4_t a, int32x4_t b, int32x4_t then) {
        const auto greater = vcgtq_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
        return vandq_s32(then, vreinterpretq_s32_u8(greater));
    }

    static constexpr std::int64_t nibbles = 32;
    static void unpack_nibbles(const unsigned char *from, std::int8_t *to, bool is_signed) {
        const auto bytes = vld1q_u8(from), sign = vdupq_n_u8(is_signed ? 8 : 0); // extends: (x ^ 8) - 8
        const auto low = vandq_u8(bytes, vdupq_n_u8(0xf)), high = vshrq_n_u8(bytes, 4);
        const auto extended = [=](uint8x16_t x) { return vreinterpretq_s8_u8(vsubq_u8(veorq_u8(x, sign), sign)); };
        const int8x16x2_t both = {{extended(low), extended(high)}};
        vst2q_s8(to, both);
    }
    static void pack_nibbles(const std::int8_t *from, unsigned char *to, std::int8_t lowest, std::int8_t highest) {
        const auto pairs = vld2q_s8(from);
        const auto bounded = [=](int8x16_t x) {
            return vreinterpretq_u8_s8(vmaxq_s8(vminq_s8(x, vdupq_n_s8(highest)), vdupq_n_s8(lowest)));
        };
        vst1q_u8(to, vsliq_n_u8(vandq_u8(bounded(pairs.val[0]), vdupq_n_u8(0xf)), bounded(pairs.val[1]), 4));
    }

    static constexpr std::int64_t sixes = 16;
    /// Elements of 6 bits, from 12 bytes. Each word gets the two bytes that its two elements lie in: from bit 0 in even
    /// words, from bit 4 in odd ones.
    static void unpack_sixes(const unsigned char *from, std::int8_t *to) {
        std::uint64_t parts[2] = {};
        std::memcpy(parts, from, 12);
        constexpr std::uint8_t places[16] = {0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11};
        const auto bytes = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(parts[0]), vcreate_u64(parts[1])));
        const auto words = vreinterpretq_u16_u8(vqtbl1q_u8(bytes, vld1q_u8(places)));
        const auto shifts = vreinterpretq_s16_u32(vdupq_n_u32(0xfffc0000)); // right by 0 and 4
        const auto pairs = vshlq_u16(words, shifts);
        const auto low = vandq_u16(pairs, vdupq_n_u16(0x3f));
        const auto high = vandq_u16(vshlq_n_u16(pairs, 2), vdupq_n_u16(0x3f00));
        vst1q_s8(to, vreinterpretq_s8_u16(vorrq_u16(low, high)));
    }
    /// Joins pairs of elements to 12 bits, and pairs of these to 24.
    static void pack_sixes(const std::int8_t *from, unsigned char *to) {
        const auto bytes = vreinterpretq_u16_s8(vld1q_s8(from));
        const auto pairs =
                vorrq_u16(vandq_u16(bytes, vdupq_n_u16(0x3f)), vandq_u16(vshrq_n_u16(bytes, 2), vdupq_n_u16(0xfc0)));
        const auto wide = vreinterpretq_u32_u16(pairs);
        const auto fours =
                vorrq_u32(vandq_u32(wide, vdupq_n_u32(0xfff)), vandq_u32(vshrq_n_u32(wide, 4), vdupq_n_u32(0xfff000)));
        constexpr std::uint8_t places[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
        const auto packed = vqtbl1q_u8(vreinterpretq_u8_u32(fours), vld1q_u8(places));
        std::memcpy(to, &packed, 12);
    }

    /// A table of 256 bytes, four times four registers: TBL gives 0, and TBX leaves what is there, for indices beyond
    /// 63.
    struct table_of_256 {
        uint8x16x4_t quarters[4];
    };
    static table_of_256 load_table(const std::uint8_t *p) {
        return {{vld1q_u8_x4(p), vld1q_u8_x4(p + 64), vld1q_u8_x4(p + 128), vld1q_u8_x4(p + 192)}};
    }
    static int32x4_t look_up(const table_of_256 &t, int32x4_t indices) {
        const auto x = vreinterpretq_u8_s32(indices);
        auto result = vqtbl4q_u8(t.quarters[0], x);
        result = vqtbx4q_u8(result, t.quarters[1], veorq_u8(x, vdupq_n_u8(64)));
        result = vqtbx4q_u8(result, t.quarters[2], veorq_u8(x, vdupq_n_u8(128)));
        return vreinterpretq_s32_u8(vqtbx4q_u8(result, t.quarters[3], veorq_u8(x, vdupq_n_u8(192))));
    }
};

} // namespace
} // namespace dynquant::simd
