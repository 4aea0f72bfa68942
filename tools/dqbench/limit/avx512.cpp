#include "targets/avx512.hpp"

#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

struct avx512 : simd::avx512 {
    using simd::avx512::load, simd::avx512::pack;

    static integers load(const std::uint8_t *p) {
        return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
    }
    static reals as_reals(integers a) { return _mm512_castsi512_ps(a); }

    template <bool>
    static simd::several<avx512, 1> pack(const std::uint8_t *, reals a, reals b, reals c, reals d) {
        return {_mm512_castps_si512(_mm512_or_ps(_mm512_or_ps(a, b), _mm512_or_ps(c, d)))};
    }
};

} // namespace

constinit const instruction_set avx512_set = set_of<avx512>();

} // namespace dqbench::limit
