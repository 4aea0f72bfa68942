// Layout changes of bytes by AVX2. AVX-512 uses these, too: its byte shuffles run on one port, so wider ones gain
// nothing. And the words of pairs of bytes, of which products of 16 bits are made.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace dynquant::simd {
namespace {

struct byte_layouts {
    /// Transposes 16 lines of 32 bytes. Interleaving lines i and i + 8 four times transposes 16 by 16 bytes: each time
    /// moves one bit of a byte's position from the column to the line. Both register halves do so at once.
    static void transpose(const void *from, std::int64_t from_stride, void *to, std::int64_t to_stride) {
        __m256i lines[16], interleaved[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i)
            lines[i] = _mm256_loadu_si256(
                    reinterpret_cast<const __m256i *>(static_cast<const char *>(from) + i * from_stride));
#pragma GCC unroll 4
        for (int step = 0; step < 4; ++step) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                interleaved[2 * i] = _mm256_unpacklo_epi8(lines[i], lines[i + 8]);
                interleaved[2 * i + 1] = _mm256_unpackhi_epi8(lines[i], lines[i + 8]);
            }
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                lines[i] = interleaved[i];
        }
        const auto line = [=](int i) { return reinterpret_cast<__m128i *>(static_cast<char *>(to) + i * to_stride); };
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            _mm_storeu_si128(line(i), _mm256_castsi256_si128(lines[i]));
            _mm_storeu_si128(line(i + 16), _mm256_extracti128_si256(lines[i], 1));
        }
    }

    /// Interleaves 8 bytes of a and of b for each vector of words. The bytes are signed or not.
    template <bool is_signed, int vectors>
    static void interleave_to_words(const void *a, const void *b, __m256i (&words)[vectors]) {
        static_assert(vectors == 1 || vectors == 2);
        const auto load = [](const void *p) {
            const auto *const bytes = static_cast<const __m128i *>(p);
            return vectors == 1 ? _mm_loadl_epi64(bytes) : _mm_loadu_si128(bytes);
        };
        const auto widened = [](__m128i x) { return is_signed ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x); };
        const __m128i from_a = load(a), from_b = load(b);
        words[0] = widened(_mm_unpacklo_epi8(from_a, from_b));
        words[vectors - 1] = vectors == 1 ? words[0] : widened(_mm_unpackhi_epi8(from_a, from_b));
    }

    /// Interleaves the bytes of four vectors. Vector j gets bytes 4 j to 4 j + 3 of the first half of all four, then
    /// those of the second half.
    static void interleave_bytes(__m256i (&x)[4]) {
        const auto ab_low = _mm256_unpacklo_epi8(x[0], x[1]), ab_high = _mm256_unpackhi_epi8(x[0], x[1]);
        const auto cd_low = _mm256_unpacklo_epi8(x[2], x[3]), cd_high = _mm256_unpackhi_epi8(x[2], x[3]);
        x[0] = _mm256_unpacklo_epi16(ab_low, cd_low);
        x[1] = _mm256_unpackhi_epi16(ab_low, cd_low);
        x[2] = _mm256_unpacklo_epi16(ab_high, cd_high);
        x[3] = _mm256_unpackhi_epi16(ab_high, cd_high);
    }
    /// Lanes that belong to bytes of interleave_bytes(), in the order of these bytes.
    static void store_interleaved(std::int32_t *p, const __m256i (&x)[4]) {
        const auto store = [=](int i, __m256i lanes) {
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(p + 8 * i), lanes);
        };
        store(0, _mm256_permute2x128_si256(x[0], x[1], 0x20));
        store(1, _mm256_permute2x128_si256(x[2], x[3], 0x20));
        store(2, _mm256_permute2x128_si256(x[0], x[1], 0x31));
        store(3, _mm256_permute2x128_si256(x[2], x[3], 0x31));
    }

    /// The indices of a shuffle of 16 bytes: f(i) is the place that byte i comes from; -1 makes it 0.
    template <typename F>
    static __m128i shuffle_indices(F f) {
        alignas(16) std::int8_t index[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i)
            index[i] = static_cast<std::int8_t>(f(i));
        return _mm_load_si128(reinterpret_cast<const __m128i *>(index));
    }

    /// Interleaves three lines of bytes, sixteen of each at a time. Returns how many of each are done.
    static std::int64_t interleave_3(
            const unsigned char *from, std::int64_t step, std::int64_t count, unsigned char *to) {
        __m128i indices[3][3];
#pragma GCC unroll 3
        for (int plane = 0; plane < 3; ++plane)
#pragma GCC unroll 3
            for (int part = 0; part < 3; ++part)
                indices[plane][part] = shuffle_indices( // the bytes of one plane; those of the others become 0
                        [=](int i) { return (16 * part + i) % 3 == plane ? (16 * part + i) / 3 : -1; });
        std::int64_t i = 0;
        for (; i + 16 <= count; i += 16) {
            __m128i x[3];
#pragma GCC unroll 3
            for (int plane = 0; plane < 3; ++plane)
                x[plane] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + plane * step + i));
#pragma GCC unroll 3
            for (int part = 0; part < 3; ++part) {
                const __m128i first = _mm_shuffle_epi8(x[0], indices[0][part]),
                              second = _mm_shuffle_epi8(x[1], indices[1][part]);
                const __m128i both = _mm_or_si128(first, second);
                _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 3 * i + 16 * part),
                        _mm_or_si128(both, _mm_shuffle_epi8(x[2], indices[2][part])));
            }
        }
        return i;
    }

    /// interleave_3() for four lines.
    static std::int64_t interleave_4(
            const unsigned char *from, std::int64_t step, std::int64_t count, unsigned char *to) {
        std::int64_t i = 0;
        for (; i + 16 <= count; i += 16) {
            const auto load = [&](std::int64_t plane) {
                return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + plane * step + i));
            };
            const auto store = [&](int part, __m128i value) {
                _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 4 * i + 16 * part), value);
            };
            const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
            const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
            const __m128i high_ab = _mm_unpackhi_epi8(a, b), high_cd = _mm_unpackhi_epi8(c, d);
            store(0, _mm_unpacklo_epi16(ab, cd));
            store(1, _mm_unpackhi_epi16(ab, cd));
            store(2, _mm_unpacklo_epi16(high_ab, high_cd));
            store(3, _mm_unpackhi_epi16(high_ab, high_cd));
        }
        return i;
    }

    /// Gathers every stride-th byte, sixteen at a time, by a shuffle of each source vector. Reads nothing beyond the
    /// last gathered byte. Returns how many are done.
    template <int stride>
    static std::int64_t gather_bytes(const unsigned char *from, std::int64_t count, unsigned char *to) {
        __m128i indices[stride];
#pragma GCC unroll 4
        for (int part = 0; part < stride; ++part)
            indices[part] = shuffle_indices([=](int i) { return i * stride / 16 == part ? i * stride % 16 : -1; });
        std::int64_t i = 0;
        for (; i + 16 < count; i += 16) {
            __m128i all = _mm_setzero_si128();
#pragma GCC unroll 4
            for (int part = 0; part < stride; ++part) {
                const auto *const at = reinterpret_cast<const __m128i *>(from + i * stride + 16 * part);
                all = _mm_or_si128(all, _mm_shuffle_epi8(_mm_loadu_si128(at), indices[part]));
            }
            _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i), all);
        }
        return i;
    }
};

} // namespace
} // namespace dynquant::simd
