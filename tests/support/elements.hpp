// Elements of every type as bits, and what the bits mean, in integer arithmetic: the oracle's own, apart from the
// library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynquant/quantization.hpp"
#include "exact.hpp"

namespace dynquant::test {

int bits_in(data_type type);
bool is_integer(data_type type);

/// Bytes that hold so many elements.
std::size_t bytes_for(data_type type, std::int64_t elements);

struct integer_range {
    std::int64_t lowest, highest;
};
/// Of an integer type.
integer_range range_of(data_type type);

/// Element `index`, whatever it means.
std::uint32_t get_bits(data_type type, const std::byte *buffer, std::int64_t index);
void set_bits(data_type type, std::byte *buffer, std::int64_t index, std::uint32_t bits);

std::int64_t integer_from(data_type type, std::uint32_t bits);
/// The two's complement bits of a value of an integer type are those of the value, the upper ones left out.
float real_from(data_type type, std::uint32_t bits);
/// The nearest number, ties to even. Beyond the largest is infinity, or NaN where there is none, or the largest where
/// it saturates or there is neither; NaN is the largest where there is none. f8_e8m0: of powers of two and NaN only.
std::uint32_t bits_of_real(data_type type, float value, bool saturate = false);
/// The same, but for f32 and f8_e8m0.
std::uint32_t bits_of_number(data_type type, const exact::number &value, bool saturate = false);

/// Values in the bytes of `type`; it must hold the integers, and rounds reals.
std::vector<std::byte> encode(data_type type, const std::vector<std::int64_t> &values);
std::vector<std::byte> encode_reals(data_type type, const std::vector<float> &values);
std::vector<float> decode_reals(data_type type, const std::vector<std::byte> &bytes);

} // namespace dynquant::test
