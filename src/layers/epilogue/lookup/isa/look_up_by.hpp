// The loop of lookup.hpp, over a class that looks up one vector:
//     Lookup(values)           loads the table
//     width                    bytes in a vector: 64 or a divisor of it
//     look_up(src)             the results for the vector at src
//     store(dst, result)
#pragma once

#include <cstdint>

#include "layers/epilogue/lookup/lookup.hpp"

namespace dynquant::lookup {
namespace {

inline void look_up_each(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        dst[i] = values[src[i]];
}

/// Aligned stores in the middle, and one unaligned vector at each end that overlaps them. The ends are looked up before
/// the first store and stored last, so that dst may be src.
template <typename Lookup>
void look_up_by(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    constexpr std::int64_t width = Lookup::width;
    if (count < width) return look_up_each(values, src, dst, count);
    const Lookup lookup(values);
    const auto last = count - width;
    const auto first_result = lookup.look_up(src), last_result = lookup.look_up(src + last);
    const auto to_aligned = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) % width);
    for (auto i = to_aligned; i < last; i += width)
        lookup.store(dst + i, lookup.look_up(src + i));
    lookup.store(dst, first_result);
    lookup.store(dst + last, last_result);
}

/// The whole table is in registers: four of AVX-512, sixteen of NEON. V permutes them by bytes.
template <typename Vectors>
class by_registers {
  public:
    using V = Vectors;
    static constexpr std::int64_t width = 4 * V::lanes;

    explicit by_registers(const table &values)
        : values_(V::load_table(values.data())) {}

    typename V::integers look_up(const std::uint8_t *src) const { return V::look_up(values_, V::load_bits(src)); }
    static void store(std::uint8_t *dst, typename V::integers result) { V::store(dst, result); }

  private:
    typename V::table_of_256 values_;
};

} // namespace
} // namespace dynquant::lookup
