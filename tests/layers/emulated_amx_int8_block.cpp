// Products of x quantized in blocks by AMX, with tiles in memory, and few rows by the functions of
// emulated_avx512_vnni.cpp: on processors with AVX-512.
#include "emulated_dot.hpp"
#include "emulated_tiles.hpp"

#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)
#undef _mm256_dpbusd_epi32
#define _mm256_dpbusd_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)

#define avx512_vnni_block emulated_avx512_vnni_block
#define amx_int8_block emulated_amx_int8_block
#include "layers/gemm/by_blocks/isa/amx_int8.cpp" // NOLINT(bugprone-suspicious-include)
