// TensorProto.DataType: its numbers, and sets of them.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dynquant/onnx.hpp"
#include "elements/table.hpp"

namespace dynquant::onnx {

namespace type {
constexpr element_type number_of(data_type type) {
    return traits(type).onnx;
}

inline constexpr element_type undefined = no_number, float32 = number_of(data_type::f32),
                              uint8 = number_of(data_type::u8), int8 = number_of(data_type::s8),
                              uint16 = number_of(data_type::u16), int16 = number_of(data_type::s16),
                              int32 = number_of(data_type::s32), int64 = 7, boolean = 9,
                              float16 = number_of(data_type::f16), float64 = 11, uint32 = number_of(data_type::u32),
                              uint64 = 13, bfloat16 = number_of(data_type::bf16),
                              float8e4m3fn = number_of(data_type::f8_e4m3),
                              float8e4m3fnuz = number_of(data_type::f8_e4m3fnuz),
                              float8e5m2 = number_of(data_type::f8_e5m2),
                              float8e5m2fnuz = number_of(data_type::f8_e5m2fnuz), uint4 = number_of(data_type::u4),
                              int4 = number_of(data_type::s4), float4e2m1 = number_of(data_type::f4_e2m1),
                              float8e8m0 = number_of(data_type::f8_e8m0), uint2 = number_of(data_type::u2),
                              int2 = number_of(data_type::s2), float6e2m3 = number_of(data_type::f6_e2m3),
                              float6e3m2 = number_of(data_type::f6_e3m2);
} // namespace type

/// A set of types, for instance those that an input may have.
class type_set {
  public:
    constexpr type_set() = default;
    constexpr type_set(std::initializer_list<element_type> types) {
        for (const auto t : types)
            bits_ |= bit(t);
    }
    type_set(const std::vector<data_type> &types) {
        for (const auto t : types)
            bits_ |= bit(type::number_of(t));
    }
    constexpr bool contains(element_type t) const { return (bits_ & bit(t)) != 0; }
    constexpr type_set operator|(type_set other) const { return type_set(bits_ | other.bits_); }
    constexpr bool operator==(const type_set &) const = default;

  private:
    explicit constexpr type_set(std::uint64_t bits)
        : bits_(bits) {}
    static constexpr std::uint64_t bit(element_type t) { return t > 0 && t < 64 ? std::uint64_t {1} << t : 0; }

    std::uint64_t bits_ = 0;
};

/// "float, float16 or int32", in the order of their numbers.
std::string names_of(type_set types);

} // namespace dynquant::onnx
