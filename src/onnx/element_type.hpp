// TensorProto.DataType: its numbers, and sets of them.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "dynquant/onnx.hpp"

namespace dynquant::onnx {

namespace type {
inline constexpr element_type undefined = 0, float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6,
                              int64 = 7, boolean = 9, float16 = 10, float64 = 11, uint32 = 12, uint64 = 13,
                              bfloat16 = 16, float8e4m3fn = 17, float8e4m3fnuz = 18, float8e5m2 = 19,
                              float8e5m2fnuz = 20, uint4 = 21, int4 = 22, float4e2m1 = 23, float8e8m0 = 24, uint2 = 25,
                              int2 = 26, float6e2m3 = 27, float6e3m2 = 28;
} // namespace type

/// A set of types, for instance those that an input may have.
class type_set {
  public:
    constexpr type_set() = default;
    constexpr type_set(std::initializer_list<element_type> types) {
        for (const auto t : types)
            bits_ |= bit(t);
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
