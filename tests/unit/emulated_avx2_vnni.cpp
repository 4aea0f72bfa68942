// By the same instruction of AVX-512, VPDPBUSD with 256 bits.
#include "emulated.hpp"

#include <immintrin.h>

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 _mm256_dpbusd_epi32
#define avx2_vnni_panels emulated_avx2_vnni_panels
#define avx2_vnni_planar emulated_avx2_vnni_planar
#include "layers/isa/avx2_vnni.cpp"        // NOLINT(bugprone-suspicious-include)
#include "layers/planar/isa/avx2_vnni.cpp" // NOLINT(bugprone-suspicious-include)
