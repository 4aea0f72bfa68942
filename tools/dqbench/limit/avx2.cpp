#include "targets/avx2.hpp"

#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

struct avx2 : simd::avx2 {
    using simd::avx2::load, simd::avx2::pack;

    static integers load(const std::uint8_t *p) {
        std::int64_t bytes;
        std::memcpy(&bytes, p, sizeof(bytes));
        return _mm256_set1_epi64x(bytes);
    }
    static reals as_reals(integers a) { return _mm256_castsi256_ps(a); }

    template <bool>
    static simd::several<avx2, 1> pack(const std::uint8_t *, reals a, reals b, reals c, reals d) {
        return {_mm256_castps_si256(_mm256_or_ps(_mm256_or_ps(a, b), _mm256_or_ps(c, d)))};
    }
};

} // namespace

constinit const instruction_set avx2_set = set_of<avx2>();

} // namespace dqbench::limit
