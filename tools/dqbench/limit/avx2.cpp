#include "kernels/native/isa/avx2.hpp"
#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

struct avx2 : native::avx2 {
    using native::avx2::load, native::avx2::store, native::avx2::store_partial, native::avx2::stream;

    static integers load(const std::uint8_t *p) {
        std::int64_t bytes;
        std::memcpy(&bytes, p, sizeof(bytes));
        return _mm256_set1_epi64x(bytes);
    }
    static reals as_reals(integers a) { return _mm256_castsi256_ps(a); }

    static void store(std::uint8_t *p, reals a, reals b, reals c, reals d) {
        _mm256_storeu_ps(reinterpret_cast<float *>(p), join(a, b, c, d));
    }
    static void stream(std::uint8_t *p, reals a, reals b, reals c, reals d) {
        _mm256_stream_ps(reinterpret_cast<float *>(p), join(a, b, c, d));
    }
    /// In pieces, as the native kernel stores the end of a row.
    static void store_partial(std::uint8_t *p, std::int64_t count, reals a, reals b, reals c, reals d) {
        alignas(32) std::uint8_t bytes[32];
        store(bytes, a, b, c, d);
        const auto *from = bytes;
        store_piece<16>(p, from, count);
        store_piece<8>(p, from, count);
        store_piece<4>(p, from, count);
        store_piece<2>(p, from, count);
        store_piece<1>(p, from, count);
    }

  private:
    template <int Size>
    static void store_piece(std::uint8_t *&to, const std::uint8_t *&from, std::int64_t count) {
        if (!(count & Size)) return;
        std::memcpy(to, from, Size);
        to += Size;
        from += Size;
    }

    static reals join(reals a, reals b, reals c, reals d) {
        return _mm256_or_ps(_mm256_or_ps(a, b), _mm256_or_ps(c, d));
    }
};

} // namespace

constinit const instruction_set avx2_set = set_of<avx2>();

} // namespace dqbench::limit
