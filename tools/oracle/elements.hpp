// Encodes and decodes elements of every data type in integer arithmetic. The oracle uses it, so it shares no code with
// the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynquant/quantization.hpp"
#include "exact.hpp"

namespace dynquant::test {

int bits_in(data_type type);
bool is_integer(data_type type);

/// The size in bytes of `elements` packed elements.
std::size_t bytes_for(data_type type, std::int64_t elements);

struct integer_range {
    std::int64_t lowest, highest;
};
/// The range of an integer type.
integer_range range_of(data_type type);

/// The raw bits of element `index`.
std::uint32_t get_bits(data_type type, const std::byte *buffer, std::int64_t index);
void set_bits(data_type type, std::byte *buffer, std::int64_t index, std::uint32_t bits);

std::int64_t integer_from(data_type type, std::uint32_t bits);
float real_from(data_type type, std::uint32_t bits);
/// The nearest number, ties to even. A value beyond the largest number becomes infinity, else NaN, or the largest
/// number if it saturates or the type has neither. NaN becomes the largest number in a type without NaN. f8_e8m0
/// accepts only powers of two and NaN.
std::uint32_t bits_of_real(data_type type, float value, bool saturate = false);
/// The nearest float16 as a float.
float nearest_float16(float value);
/// As bits_of_real, of an exact number; not for f32 and f8_e8m0.
std::uint32_t bits_of_number(data_type type, const exact::number &value, bool saturate = false);

/// Packs values as elements of `type`. Integers must be in range; reals are rounded.
std::vector<std::byte> encode(data_type type, const std::vector<std::int64_t> &values);
std::vector<std::byte> encode_reals(data_type type, const std::vector<float> &values);
std::vector<float> decode_reals(data_type type, const std::vector<std::byte> &bytes);

} // namespace dynquant::test
