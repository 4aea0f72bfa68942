#include <immintrin.h>

#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {
namespace {

/// The table is in four registers. VPERMI2B selects by seven bits of x, and the eighth blends two results.
class by_permutations {
  public:
    static constexpr std::int64_t width = 64;

    explicit by_permutations(const table &values) {
        for (int k = 0; k < 4; ++k)
            values_[k] = _mm512_loadu_si512(values.data() + k * width);
    }

    __m512i look_up(const std::uint8_t *src) const {
        const __m512i x = _mm512_loadu_si512(src);
        const __m512i low = _mm512_permutex2var_epi8(values_[0], x, values_[1]);
        const __m512i high = _mm512_permutex2var_epi8(values_[2], x, values_[3]);
        return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
    }

    static void store(std::uint8_t *dst, __m512i result) { _mm512_storeu_si512(dst, result); }

  private:
    __m512i values_[4];
};

} // namespace

constinit const look_up_function avx512_vbmi_look_up = look_up_by<by_permutations>;

} // namespace dynquant::lookup
