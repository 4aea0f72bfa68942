// A table of 256 bytes by shuffles of sixteen, over the primitives of an instruction set:
//     width              bytes in a vector
//     bytes              so many of them
//     load(p), store(p, v)
//     sixteen(p)         p[0] to p[15], again and again; p is aligned
//     sign_bits()        -128 everywhere
//     shuffle(t, x)      t[x % 16] in each group of sixteen; 0 where x is negative as a signed byte
//     exclusive_or(a, b)
//     less_sixteen(x)    as signed bytes, and no less than -128
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/lookup/lookup.hpp"

namespace dynquant::lookup {
namespace {

/// Row h of a half of the table, which has eight, gives something where x >= 16 h as a signed byte. It holds the
/// difference from the row before it, so that all of them together, joined by exclusive or, are row x / 16. The bytes
/// of the other half are negative, and stay so.
template <typename V>
class by_shuffles {
  public:
    static constexpr std::int64_t width = V::width;

    explicit by_shuffles(const table &values) {
        alignas(64) std::uint8_t differences[256];
        for (std::size_t i = 0; i < 256; ++i)
            differences[i] = i % (16 * half) < 16 ? values[i] : values[i] ^ values[i - 16];
        for (int h = 0; h < 2 * half; ++h)
            rows_[h] = V::sixteen(differences + 16 * h);
    }

    typename V::bytes of(const std::uint8_t *src) const {
        const auto x = V::load(src);
        return V::exclusive_or(of_half(rows_, x), of_half(rows_ + half, V::exclusive_or(x, V::sign_bits())));
    }

    static void store(std::uint8_t *dst, typename V::bytes result) { V::store(dst, result); }

  private:
    static constexpr int half = 8;

    static typename V::bytes of_half(const typename V::bytes *rows, typename V::bytes x) {
        auto sum = V::shuffle(rows[0], x);
        for (int h = 1; h < half; ++h) {
            x = V::less_sixteen(x);
            sum = V::exclusive_or(sum, V::shuffle(rows[h], x));
        }
        return sum;
    }

    typename V::bytes rows_[2 * half];
};

} // namespace
} // namespace dynquant::lookup
