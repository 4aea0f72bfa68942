#include <immintrin.h>

#include "layers/lookup/isa/by_shuffles.hpp"
#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {
namespace {

struct avx2 {
    static constexpr std::int64_t width = 32;
    using bytes = __m256i;
    static bytes load(const std::uint8_t *p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)); }
    static void store(std::uint8_t *p, bytes v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v); }
    static bytes broadcast_16(const std::uint8_t *p) {
        return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i *>(p)));
    }
    static bytes sign_bits() { return _mm256_set1_epi8(-128); }
    static bytes shuffle(bytes values, bytes x) { return _mm256_shuffle_epi8(values, x); }
    static bytes exclusive_or(bytes a, bytes b) { return _mm256_xor_si256(a, b); }
    static bytes subtract_16(bytes x) { return _mm256_subs_epi8(x, _mm256_set1_epi8(16)); }
};

} // namespace

constinit const look_up_function avx2_look_up = look_up_by<by_shuffles<avx2>>;

} // namespace dynquant::lookup
