#include <immintrin.h>

#include "layers/lookup/isa/by_shuffles.hpp"
#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {
namespace {

struct avx512 {
    static constexpr std::int64_t width = 64;
    using bytes = __m512i;
    static bytes load(const std::uint8_t *p) { return _mm512_loadu_si512(p); }
    static void store(std::uint8_t *p, bytes v) { _mm512_storeu_si512(p, v); }
    static bytes broadcast_16(const std::uint8_t *p) {
        return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i *>(p)));
    }
    static bytes sign_bits() { return _mm512_set1_epi8(-128); }
    static bytes shuffle(bytes values, bytes x) { return _mm512_shuffle_epi8(values, x); }
    static bytes exclusive_or(bytes a, bytes b) { return _mm512_xor_si512(a, b); }
    static bytes subtract_16(bytes x) { return _mm512_subs_epi8(x, _mm512_set1_epi8(16)); }
};

} // namespace

constinit const look_up_function avx512_look_up = look_up_by<by_shuffles<avx512>>;

} // namespace dynquant::lookup
