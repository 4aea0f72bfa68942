#include "kernels/native/isa/avx512.hpp"
#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

struct avx512 : native::avx512 {
    using native::avx512::load, native::avx512::store, native::avx512::store_partial, native::avx512::stream;

    static integers load(const std::uint8_t *p) {
        return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
    }
    static reals as_reals(integers a) { return _mm512_castsi512_ps(a); }

    static void store(std::uint8_t *p, reals a, reals b, reals c, reals d) { _mm512_storeu_si512(p, join(a, b, c, d)); }
    static void stream(std::uint8_t *p, reals a, reals b, reals c, reals d) {
        _mm512_stream_si512(reinterpret_cast<__m512i *>(p), join(a, b, c, d));
    }
    static void store_partial(std::uint8_t *p, std::int64_t count, reals a, reals b, reals c, reals d) {
        const auto mask = _cvtu64_mask64(_bzhi_u64(~0ULL, static_cast<unsigned>(count)));
        _mm512_mask_storeu_epi8(p, mask, join(a, b, c, d));
    }

  private:
    static integers join(reals a, reals b, reals c, reals d) {
        return _mm512_castps_si512(_mm512_or_ps(_mm512_or_ps(a, b), _mm512_or_ps(c, d)));
    }
};

} // namespace

constinit const instruction_set avx512_set = set_of<avx512>();

} // namespace dqbench::limit
