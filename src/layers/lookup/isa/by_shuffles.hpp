// A table of 256 bytes by 16-byte shuffles (PSHUFB), over the primitives of an instruction set:
//     width              bytes in a vector
//     bytes              the vector type
//     load(p), store(p, v)
//     broadcast_16(p)    broadcasts p[0] to p[15] to each 128-bit lane; p is aligned
//     sign_bits()        -128 in each byte
//     shuffle(t, x)      t[x % 16] within each 128-bit lane; 0 where x is negative as a signed byte
//     exclusive_or(a, b)
//     subtract_16(x)     x - 16, saturating as signed bytes
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/lookup/lookup.hpp"

namespace dynquant::lookup {
namespace {

/// Each half of the table is eight rows of 16 bytes. The shuffle of row h is not 0 where x >= 16 h as a signed byte.
/// Row h holds its exclusive or with row h - 1, so that the exclusive or of all shuffles is the element of row x / 16.
/// Bytes that belong to the other half are negative, and saturation keeps them negative.
template <typename V>
class by_shuffles {
  public:
    static constexpr std::int64_t width = V::width;

    explicit by_shuffles(const table &values) {
        alignas(64) std::uint8_t differences[256];
        for (std::size_t i = 0; i < 256; ++i)
            differences[i] = i % (16 * half) < 16 ? values[i] : values[i] ^ values[i - 16];
        for (int h = 0; h < 2 * half; ++h)
            rows_[h] = V::broadcast_16(differences + 16 * h);
    }

    typename V::bytes look_up(const std::uint8_t *src) const {
        const auto x = V::load(src);
        return V::exclusive_or(of_half(rows_, x), of_half(rows_ + half, V::exclusive_or(x, V::sign_bits())));
    }

    static void store(std::uint8_t *dst, typename V::bytes result) { V::store(dst, result); }

  private:
    static constexpr int half = 8;

    static typename V::bytes of_half(const typename V::bytes *rows, typename V::bytes x) {
        auto sum = V::shuffle(rows[0], x);
        for (int h = 1; h < half; ++h) {
            x = V::subtract_16(x);
            sum = V::exclusive_or(sum, V::shuffle(rows[h], x));
        }
        return sum;
    }

    typename V::bytes rows_[2 * half];
};

} // namespace
} // namespace dynquant::lookup
