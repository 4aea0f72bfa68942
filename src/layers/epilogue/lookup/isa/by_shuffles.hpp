// A table of 256 bytes by 16-byte shuffles (PSHUFB) of vectors V, see targets/simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/epilogue/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {
namespace {

/// Each half of the table is eight rows of 16 bytes. The shuffle of row h is not 0 where x >= 16 h as a signed byte.
/// Row h holds its exclusive or with row h - 1, so that the exclusive or of all shuffles is the element of row x / 16.
/// Bytes that belong to the other half are negative, and saturation keeps them negative.
template <typename V>
class by_shuffles {
  public:
    static constexpr std::int64_t width = 4 * V::lanes;

    explicit by_shuffles(const table &values) {
        alignas(64) std::uint8_t differences[256];
        for (std::size_t i = 0; i < 256; ++i)
            differences[i] = i % (16 * half) < 16 ? values[i] : values[i] ^ values[i - 16];
        for (int h = 0; h < 2 * half; ++h)
            rows_[h] = V::splat_16_bytes(differences + 16 * h);
    }

    typename V::integers look_up(const std::uint8_t *src) const {
        const auto x = V::load_bits(src);
        return V::bit_xor(of_half(rows_, x), of_half(rows_ + half, V::bit_xor(x, V::splat_bytes(-128))));
    }

    static void store(std::uint8_t *dst, typename V::integers result) { V::store(dst, result); }

  private:
    static constexpr int half = 8;

    static typename V::integers of_half(const typename V::integers *rows, typename V::integers x) {
        auto sum = V::look_up_16(rows[0], x);
        for (int h = 1; h < half; ++h) {
            x = V::subtract_bytes(x, V::splat_bytes(16));
            sum = V::bit_xor(sum, V::look_up_16(rows[h], x));
        }
        return sum;
    }

    typename V::integers rows_[2 * half];
};

template <typename V>
constexpr look_up_function look_up_of = [] {
    if constexpr (V::lanes > 1)
        return look_up_by<by_shuffles<V>>;
    else
        return look_up_each;
}();

} // namespace
} // namespace dynquant::lookup
