// The dispatch table of an instruction set: all its microkernels and codecs. Tests and instruction counts read it, too.
#pragma once

#include "kernels/native/bytes.hpp"
#include "kernels/native/codecs.hpp"
#include "kernels/native/formulas/any_division.hpp"
#include "kernels/native/formulas/dequantize.hpp"
#include "kernels/native/formulas/groups.hpp"
#include "kernels/native/formulas/to_floats.hpp"
#include "kernels/native/formulas/to_integers.hpp"
#include "kernels/native/scales/ranges.hpp"
#include "kernels/native/scales/scale_formulas.hpp"

namespace dynquant::kernels::native {
namespace {

template <int capacity>
struct family_table {
    family rows[capacity] = {};
    int count = 0;
    constexpr void add(const family &f) { rows[count++] = f; }
};

/// All families. The first that computes a statement is taken.
template <typename V, int capacity>
constexpr family_table<capacity> all_families() {
    using s8 = std::int8_t;
    using u8 = std::uint8_t;
    constexpr auto of_16_bits = types_as<std::int16_t> | types_as<std::uint16_t>,
                   of_32_bits = types_as<std::int32_t> | types_as<std::uint32_t>;
    family_table<capacity> all;
    all.add(products<V, u8>());
    all.add(products<V, s8>());
    all.add(products_of_floats<V>());
    all.add(quotients_to_floats<V, float>(precision::f32));
    all.add(quotients_to_floats<V, float16_bits>(precision::f16));
    all.add(quotients_to_floats<V, bfloat16_bits>(precision::bf16));
    all.add(quotients_to_bf16<V, float>(precision::f32));
    all.add(quotients_to_bf16<V, bfloat16_bits>(precision::bf16));
    all.add(quotients_in_f64<V>());
    all.add(strict<V, u8>());
    all.add(strict<V, s8>());
    all.add(any<V, u8>());
    all.add(any<V, s8>());
    all.add(onnx<V, u8>());
    all.add(onnx<V, s8>());
    all.add(onnx_16<V, std::uint16_t>());
    all.add(onnx_16<V, std::int16_t>());
    all.add(quotients_in_16_bits<V, float16_bits, u8>());
    all.add(quotients_in_16_bits<V, float16_bits, s8>());
    all.add(quotients_in_16_bits<V, float16_bits, float>(of_16_bits));
    all.add(quotients_in_16_bits<V, bfloat16_bits, u8>());
    all.add(quotients_in_16_bits<V, bfloat16_bits, s8>());
    all.add(quotients_in_16_bits<V, bfloat16_bits, float>(of_16_bits));
    all.add(wide_quotients<V, std::int32_t>());
    all.add(wide_quotients<V, std::uint32_t>());
    all.add(any_sums<V, any_small_sum<V>, u8>());
    all.add(any_sums<V, any_small_sum<V>, s8>());
    all.add(any_sums<V, any_small_sum<V>, float>(of_16_bits));
    all.add(any_sums<V, any_sum<V>, std::int32_t>(of_32_bits));
    all.add(differences_of_bytes<V, u8>());
    all.add(differences_of_bytes<V, s8>());
    all.add(differences<V, std::uint16_t, 65536>());
    all.add(differences<V, std::int16_t, 65536>());
    all.add(differences_of_u32<V>());
    all.add(differences<V, std::int32_t, INT32_MAX>(of_32_bits));
    for_each_type([&]<data_type type>() {
        if constexpr (is_float8(traits(type))) all.add(differences_of_floats<V, float_of<type>>(bit(type)));
    });
    all.add(differences_of_floats<V, float>(types_as<float>)); // narrower ones become f32
    return all;
}

template <typename V>
constexpr auto families_of = all_families<V, all_families<V, 64>().count>();

template <typename V>
constexpr kernel_loops table_of() {
    kernel_loops set = {};
    set.name = V::name;
    set.lanes = V::lanes;
    set.families = families_of<V>.rows;
    set.family_count = families_of<V>.count;
    for_each_type([&]<data_type type>() {
        add_codecs<V, type>(set.code);
        if constexpr (V::looked_up > 0 && traits(type).bits == 4) {
            set.look_up_to_f32[type] = look_up_of<V, type, float>;
            set.look_up_to_f16[type] = look_up_of<V, type, float16_bits>;
            set.look_up_to_bf16[type] = look_up_of<V, type, bfloat16_bits>;
        }
    });
    set.code.reals_to = {{nullptr, to_division<V, float, float16_bits>, to_division<V, float, bfloat16_bits>, nullptr}};
    set.code.integers_to = {{to_division<V, std::int32_t, float>, to_division<V, std::int32_t, float16_bits>,
            to_division<V, std::int32_t, bfloat16_bits>, nullptr}};
    set.transpose_in = transpose_in<V>;
    set.transpose_out = transpose_out<V>;
    set.interleave = interleave<V>;
    set.gather_bytes = gather_bytes<V>;
    set.expand = expand<V>;
    constexpr auto bytes = V::lanes == 1 ? 16 : 4 * V::lanes; // GNU vectors need no more than SSE2
    set.ranges[0] = range_functions_of<bytes, std::uint32_t>();
    set.ranges[1] = range_functions_of<bytes, std::uint16_t>();
    set.find_parameters = find_parameters<V, bytes>;
    if constexpr (V::lanes > 1) {
        add_groups<V, float>(set.groups[0]);
        add_groups<V, float16_bits>(set.groups[1]);
        add_groups<V, bfloat16_bits>(set.groups[2]);
    }
    set.fence = [] { V::fence(); };
    set.zero_upper = [] { V::zero_upper(); };
    return set;
}

template <typename V>
constexpr kernel_loops loops_of = table_of<V>();

} // namespace
} // namespace dynquant::kernels::native
