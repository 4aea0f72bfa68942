// The table of data types: what the bits of an element mean, and where a type may stand. Everything else that depends
// on a type comes from its row, or is tied to it by a static_assert. An enumerator without a row does not compile.
//
// Without functions of the standard library at run time, as files compiled for one instruction set include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dynquant/quantization.hpp"
#include "elements/ceil_div.hpp"

namespace dynquant {

/// Where a statement may use a type, as a set of bits. onnx_: under numerics::onnx only.
namespace place {
inline constexpr unsigned real = 1, // src of quantize, dst of dequantize, and scales
        quantized = 2,              // dst of quantize, src of dequantize
        zero_point = 4,             // zero points of integers
        onnx_real = 8,              // src of quantize
        onnx_quantized = 16,        // dst of quantize, src of dequantize
        onnx_scale = 32,            // scales
        global_scale = 64,          // second scales
        computed = 128;             // dst of quantize by computed scales
} // namespace place

/// The values of a float type besides finite numbers.
enum class specials {
    infinity_and_nan, // at the greatest exponent
    nan,              // the last number of the greatest exponent
    nan_for_minus_0,  // and the exponent's bias is one greater
    none,
};

/// What the bits of an element mean. Floats have, from the highest bit down, the sign, the exponent, the fraction.
struct encoding {
    int bits;
    bool integral, is_signed;
    int exponent_bits, fraction_bits, bias; // of floats
    specials special;                       // of floats
    double lowest, highest;                 // finite values; what saturation gives
};

constexpr double power_of_2(int exponent) {
    return exponent < 0 ? 1 / power_of_2(-exponent) : exponent == 0 ? 1 : 2 * power_of_2(exponent - 1);
}

consteval encoding signed_integer(int bits) {
    return {bits, true, true, 0, 0, 0, specials::none, -power_of_2(bits - 1), power_of_2(bits - 1) - 1};
}
consteval encoding unsigned_integer(int bits) {
    return {bits, true, false, 0, 0, 0, specials::none, 0, power_of_2(bits) - 1};
}
consteval encoding floating(int exponent_bits, int fraction_bits, specials special) {
    const int bias = (1 << (exponent_bits - 1)) - (special == specials::nan_for_minus_0 ? 0 : 1);
    const int greatest = (1 << exponent_bits) - (special == specials::infinity_and_nan ? 2 : 1);
    const auto significand = 2 - power_of_2(special == specials::nan ? 1 - fraction_bits : -fraction_bits);
    const auto highest = significand * power_of_2(greatest - bias);
    return {1 + exponent_bits + fraction_bits, false, true, exponent_bits, fraction_bits, bias, special, -highest,
            highest};
}
/// An exponent alone. NaN if all bits are set.
consteval encoding power_of_two(int exponent_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    return {exponent_bits, false, false, exponent_bits, 0, bias, specials::nan, power_of_2(-bias), power_of_2(bias)};
}

/// A row of the table. No part of it may be left out.
struct data_type_traits : encoding {
    data_type type;
    const char *name;
    int onednn, onnx; // numbers in dnnl_data_type_t and TensorProto.DataType, or no_number
    unsigned places;

    consteval data_type_traits(data_type the_type, const char *the_name, int onednn_number, int onnx_number,
            encoding bits, unsigned the_places)
        : encoding(bits)
        , type(the_type)
        , name(the_name)
        , onednn(onednn_number)
        , onnx(onnx_number)
        , places(the_places) {}
};

inline constexpr int no_number = 0; // undefined in both enumerations

inline constexpr data_type_traits data_types[] = {
        {data_type::f32, "f32", 3, 1, floating(8, 23, specials::infinity_and_nan), place::real | place::global_scale},
        {data_type::s32, "s32", 4, 6, signed_integer(32),
                place::zero_point | place::onnx_real | place::onnx_quantized | place::onnx_scale},
        {data_type::s8, "s8", 5, 3, signed_integer(8), place::quantized | place::zero_point | place::computed},
        {data_type::u8, "u8", 6, 2, unsigned_integer(8), place::quantized | place::zero_point | place::computed},
        {data_type::f16, "f16", 1, 10, floating(5, 10, specials::infinity_and_nan),
                place::real | place::onnx_quantized},
        {data_type::bf16, "bf16", 2, 16, floating(8, 7, specials::infinity_and_nan),
                place::real | place::onnx_quantized},
        {data_type::s4, "s4", 11, 22, signed_integer(4), place::quantized | place::zero_point | place::computed},
        {data_type::u4, "u4", 12, 21, unsigned_integer(4), place::quantized | place::zero_point | place::computed},
        {data_type::f8_e4m3, "f8_e4m3", 10, 17, floating(4, 3, specials::nan),
                place::quantized | place::onnx_scale | place::computed},
        {data_type::f8_e5m2, "f8_e5m2", 9, 19, floating(5, 2, specials::infinity_and_nan),
                place::quantized | place::computed},
        {data_type::s16, "s16", no_number, 5, signed_integer(16), place::onnx_quantized},
        {data_type::u16, "u16", no_number, 4, unsigned_integer(16), place::onnx_quantized},
        {data_type::u32, "u32", no_number, 12, unsigned_integer(32), place::onnx_quantized},
        {data_type::s2, "s2", no_number, 26, signed_integer(2), place::onnx_quantized},
        {data_type::u2, "u2", no_number, 25, unsigned_integer(2), place::onnx_quantized},
        {data_type::f4_e2m1, "f4_e2m1", 14, 23, floating(2, 1, specials::none),
                place::onnx_quantized | place::computed},
        {data_type::f6_e2m3, "f6_e2m3", no_number, 27, floating(2, 3, specials::none),
                place::onnx_quantized | place::computed},
        {data_type::f6_e3m2, "f6_e3m2", no_number, 28, floating(3, 2, specials::none),
                place::onnx_quantized | place::computed},
        {data_type::f8_e4m3fnuz, "f8_e4m3fnuz", no_number, 18, floating(4, 3, specials::nan_for_minus_0),
                place::onnx_quantized},
        {data_type::f8_e5m2fnuz, "f8_e5m2fnuz", no_number, 20, floating(5, 2, specials::nan_for_minus_0),
                place::onnx_quantized},
        {data_type::f8_e8m0, "f8_e8m0", 13, 24, power_of_two(8), place::onnx_scale},
};

inline constexpr int number_of_types = std::size(data_types);

constexpr const data_type_traits &traits(data_type type) {
    return data_types[static_cast<int>(type)];
}

/// An integer that holds the elements of an integral type.
template <data_type type, bool is_signed = traits(type).is_signed, int bits = traits(type).bits>
using integer_of = std::conditional_t<bits == 32, std::conditional_t<is_signed, std::int32_t, std::uint32_t>,
        std::conditional_t<bits == 16, std::conditional_t<is_signed, std::int16_t, std::uint16_t>,
                std::conditional_t<is_signed, std::int8_t, std::uint8_t>>>;

/// Bytes of `elements` elements of `bits`, rounded up. Does not overflow for 8 bits and fewer.
constexpr std::int64_t size_in_bytes(int bits, std::int64_t elements) {
    return bits < 8 ? elements / 8 * bits + ceil_div(elements % 8 * bits, 8) : elements * (bits / 8);
}

constexpr std::int64_t size_in_bytes(data_type type, std::int64_t elements) {
    return size_in_bytes(traits(type).bits, elements);
}

// ---- The table is complete ---------------------------------------------------------------------------------

/// The enumerator as the compiler spells it in messages; without one there, "data_type)21". C++20 has no other way to
/// tell whether a value is an enumerator.
template <data_type type>
consteval std::string_view spelling() {
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("type = ") + 7);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}
static_assert(spelling<data_type::f32>() == "f32");
static_assert(spelling<static_cast<data_type>(number_of_types)>().starts_with("data_type)"),
        "the table of data types: expected a row for each enumerator of data_type");

/// One entry for each data type.
template <typename T>
struct by_type {
    T entries[number_of_types];

    [[gnu::always_inline]] constexpr T &operator[](data_type type) { return entries[static_cast<int>(type)]; }
    [[gnu::always_inline]] constexpr const T &operator[](data_type type) const {
        return entries[static_cast<int>(type)];
    }
};

/// Fills by_type<T> with f.operator()<type>() of each type, so that none is forgotten.
template <typename T, typename F>
constexpr by_type<T> by_type_of(const F &f) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        return by_type<T> {{f.template operator()<static_cast<data_type>(i)>()...}};
    }
    (std::make_integer_sequence<int, number_of_types>());
}

/// Calls f.operator()<type>() for each type.
template <typename F>
constexpr void for_each_type(const F &f) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
        (f.template operator()<static_cast<data_type>(i)>(), ...);
    }
    (std::make_integer_sequence<int, number_of_types>());
}

consteval bool all_of_types(const auto &holds) {
    for (const bool each : by_type_of<bool>(holds).entries)
        if (!each) return false;
    return true;
}

static_assert(all_of_types([]<data_type type>() { return traits(type).type == type; }),
        "the table of data types: expected the rows in the order of the enumerators");
static_assert(all_of_types([]<data_type type>() { return traits(type).name == spelling<type>(); }),
        "the table of data types: expected the enumerator's name");
static_assert(all_of_types([]<data_type type>() { return traits(type).places != 0; }),
        "the table of data types: expected a place where the type may stand");
constexpr bool has_codecs(const encoding &e) {
    if (!e.integral && e.bits == 32) return e.exponent_bits == 8;
    return e.bits == 4 || e.bits == 8 || e.bits == 16 || e.bits == 32 || e.bits == (e.integral ? 2 : 6);
}
static_assert(all_of_types([]<data_type type>() { return has_codecs(traits(type)); }),
        "the table of data types: expected an encoding that has loads and codecs, see CONTRIBUTING.md");
constexpr bool share_a_number(const data_type_traits &a, const data_type_traits &b) {
    return (a.onednn == b.onednn && a.onednn != no_number) || (a.onnx == b.onnx && a.onnx != no_number);
}
static_assert(all_of_types([]<data_type type>() {
    for (const auto &other : data_types)
        if (other.type != type && share_a_number(other, traits(type))) return false;
    return true;
}),
        "the table of data types: expected numbers of oneDNN and ONNX that no other type has");

} // namespace dynquant
