// VPDPBUSD by instructions of AVX2: the words of even bytes, then those of odd ones.
#include "emulated.hpp"

#include <immintrin.h>

namespace {

[[gnu::unused]] __m256i dot_of_bytes(__m256i sums, __m256i a, __m256i b) {
    const auto even = _mm256_madd_epi16(
            _mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
    const auto odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
    return _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}

} // namespace

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)
#define avx2_vnni_panels emulated_avx2_vnni_panels
#define avx2_vnni_planar emulated_avx2_vnni_planar
#define avx2_vnni_depthwise emulated_avx2_vnni_depthwise
#include "layers/depthwise/isa/avx2_vnni.cpp" // NOLINT(bugprone-suspicious-include)
#include "layers/isa/avx2_vnni.cpp"           // NOLINT(bugprone-suspicious-include)
#include "layers/planar/isa/avx2_vnni.cpp"    // NOLINT(bugprone-suspicious-include)
