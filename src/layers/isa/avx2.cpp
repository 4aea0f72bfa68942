#include <immintrin.h>

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

struct avx2 {
    static constexpr int lanes = 8, rows = 6;
    static constexpr std::int64_t columns = avx2_columns;
    static constexpr bool has_excess = true; // VPMADDUBSW adds two products in 16 bits, with saturation
    using vector = __m256i;
    static vector load(const void *p) { return _mm256_loadu_si256(static_cast<const vector *>(p)); }
    static void store(void *p, vector v) { _mm256_storeu_si256(static_cast<vector *>(p), v); }
    static vector broadcast(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
    static vector dot(vector sums, vector x, vector w) {
        const auto of_two = _mm256_maddubs_epi16(x, w);
        return _mm256_add_epi32(sums, _mm256_madd_epi16(of_two, _mm256_set1_epi16(1)));
    }
};

} // namespace

constinit const multiply_panels_function avx2_multiply_panels = multiply_panels<avx2>;

} // namespace dynquant::layers
