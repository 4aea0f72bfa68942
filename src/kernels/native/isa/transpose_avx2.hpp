// Turning 8-bit elements; AVX-512 gains nothing here, as its shuffles run on one port.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace dynquant::kernels::native {
namespace {

/// 16 lines of 32 bytes to 32 lines of 16. Interleaving line i with line i + 8 turns 16 by 16 bytes when it is
/// done four times: each time moves one bit of a byte's place from the column to the line. Both halves
/// of the registers do it at once.
inline void transpose_bytes(const void *from, std::int64_t from_stride, void *to, std::int64_t to_stride) {
    __m256i lines[16], interleaved[16];
    for (int i = 0; i < 16; ++i)
        lines[i] = _mm256_loadu_si256(
                reinterpret_cast<const __m256i *>(static_cast<const char *>(from) + i * from_stride));
    for (int step = 0; step < 4; ++step) {
        for (int i = 0; i < 8; ++i) {
            interleaved[2 * i] = _mm256_unpacklo_epi8(lines[i], lines[i + 8]);
            interleaved[2 * i + 1] = _mm256_unpackhi_epi8(lines[i], lines[i + 8]);
        }
        for (int i = 0; i < 16; ++i)
            lines[i] = interleaved[i];
    }
    const auto line = [=](int i) { return reinterpret_cast<__m128i *>(static_cast<char *>(to) + i * to_stride); };
    for (int i = 0; i < 16; ++i) {
        _mm_storeu_si128(line(i), _mm256_castsi256_si128(lines[i]));
        _mm_storeu_si128(line(i + 16), _mm256_extracti128_si256(lines[i], 1));
    }
}

} // namespace
} // namespace dynquant::kernels::native
