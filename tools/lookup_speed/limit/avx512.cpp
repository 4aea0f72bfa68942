#include <immintrin.h>

#include "layers/lookup/isa/look_up_by.hpp"
#include "limit.hpp"

namespace lookup_speed {
namespace {

struct vector_copy {
    static constexpr std::int64_t width = 64;
    explicit vector_copy(const dynquant::lookup::table &) {}
    static __m512i look_up(const std::uint8_t *src) { return _mm512_loadu_si512(src); }
    static void store(std::uint8_t *dst, __m512i v) { _mm512_storeu_si512(dst, v); }
};

} // namespace

constinit const dynquant::lookup::look_up_function avx512_copy = dynquant::lookup::look_up_by<vector_copy>;

} // namespace lookup_speed
