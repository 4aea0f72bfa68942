#include <immintrin.h>

#include "layers/lookup/isa/look_up_by.hpp"
#include "limit.hpp"

namespace lookup_speed {
namespace {

struct vector_copy {
    static constexpr std::int64_t width = 32;
    explicit vector_copy(const dynquant::lookup::table &) {}
    static __m256i look_up(const std::uint8_t *src) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src));
    }
    static void store(std::uint8_t *dst, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(dst), v); }
};

} // namespace

constinit const dynquant::lookup::look_up_function avx2_copy = dynquant::lookup::look_up_by<vector_copy>;

} // namespace lookup_speed
