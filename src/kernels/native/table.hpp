// The dispatch table of an instruction set: all its microkernels and codecs. Tests and instruction counts read it, too.
#pragma once

#include "kernels/native/bytes.hpp"
#include "kernels/native/codecs.hpp"
#include "kernels/native/loops.hpp"
#include "kernels/native/preparation.hpp"
#include "kernels/native/scales/ranges.hpp"
#include "kernels/native/scales/scale_formulas.hpp"

namespace dynquant::kernels::native {
namespace {

/// Adds groups of whole vectors.
template <typename V, typename Formula, typename Src, typename Dst>
constexpr void add_segs(microkernels &m, access a = access::as_is) {
    if constexpr (std::is_same_v<Dst, code>) {
        m.set(form::segs1, segs_to_codes<V, Formula, 1, Src>, a);
        m.set(form::segs2, segs_to_codes<V, Formula, 2, Src>, a);
        m.set(form::segs4, segs_to_codes<V, Formula, 4, Src>, a);
    } else {
        m.set(form::segs1, segs<V, Formula, 1, Src, Dst>, a);
        m.set(form::segs2, segs<V, Formula, 2, Src, Dst>, a);
        m.set(form::segs4, segs<V, Formula, 4, Src, Dst>, a);
    }
}

/// A formula in every form.
template <typename V, typename Formula, typename Src, typename Dst>
constexpr microkernels in_all_forms() {
    microkernels m = {};
    m.set(form::rows, rows<V, Formula, Src, Dst>);
    m.set(form::cols, cols < V, Formula, V::lanes == 1 ? 1 : sizeof(Dst) == 4 ? 2 : 4, Src, Dst >);
    if constexpr (V::lanes > 1) {
        m.set(form::short_groups, short_groups<V, Formula, Src, Dst>);
        add_segs<V, Formula, Src, Dst>(m);
    }
    return m;
}

/// A formula for rows and columns only. Groups then become rows. Vectors of one lane gain nothing from rows computed
/// together.
template <typename V, typename OfRows, typename OfColumns, typename Src, typename Dst, int Together = 1>
constexpr microkernels in_two_forms() {
    microkernels m = {};
    m.set(form::rows, rows<V, OfRows, Src, Dst, (Together > 1)>);
    m.set(form::cols, cols < V, OfColumns, V::lanes < Together ? V::lanes : Together, Src, Dst >);
    return m;
}

/// Adds rows that read f16 and bf16 without a codec.
template <typename V, typename Formula, typename Dst, bool Overruns = true>
constexpr void fuse_reals(microkernels &m) {
    if constexpr (V::lanes > 1) {
        m.set(form::rows, rows<V, Formula, float16_bits, Dst, Overruns>, access::of_f16);
        m.set(form::rows, rows<V, Formula, bfloat16_bits, Dst, Overruns>, access::of_bf16);
    }
}

/// Adds rows and columns that write codes of narrow floats without a codec.
template <typename V, typename Formula>
constexpr void fuse_codes(microkernels &m) {
    m.set(form::rows, rows_to_codes<V, Formula, float>, access::to_codes);
    m.set(form::cols, cols_to_codes<V, Formula, float>, access::to_codes);
}

/// Adds rows and groups that read f16 and bf16 and write codes, and groups that write codes.
template <typename V, typename Formula>
constexpr void fuse_reals_and_codes(microkernels &m) {
    m.set(form::rows, rows_to_codes<V, Formula, float16_bits>, access::f16_to_codes);
    m.set(form::rows, rows_to_codes<V, Formula, bfloat16_bits>, access::bf16_to_codes);
    add_segs<V, Formula, float, code>(m, access::to_codes);
    add_segs<V, Formula, float16_bits, code>(m, access::f16_to_codes);
    add_segs<V, Formula, bfloat16_bits, code>(m, access::bf16_to_codes);
}

/// The data type of elements that formulas read or write as T.
template <typename T>
constexpr data_type type_of = [] {
    auto found = data_type::f32;
    for_each_type([&]<data_type type>() {
        using element = std::conditional_t<traits(type).integral, integer_of<type>, float_of<type>>;
        if (std::is_same_v<T, element> && traits(type).bits == 8 * sizeof(T)) found = type;
    });
    return found;
}();

/// A family by its formula for any parameters. Zero points are s32.
template <typename V, typename Formula, typename Src, typename Dst, int Together = 1>
constexpr family family_of(prepare_function prepare) {
    family f = {};
    f.prepare = prepare;
    f.reads = type_of<Src>;
    f.writes = type_of<Dst>;
    f.any_parameters = in_two_forms<V, Formula, Formula, Src, Dst, Together>();
    return f;
}

/// A flat microkernel inside the guard. The formula takes zero points as f32, or as s32 bits.
template <typename V, typename Formula, bool RealZero, typename Src, typename Dst>
[[gnu::always_inline]] inline bool flat_row(
        const void *src, void *dst, std::int64_t count, std::int32_t scale_bits, std::int32_t zero_point) {
    const auto scale = V::as_reals(V::splat(scale_bits));
    const auto zero = RealZero ? V::to_reals(V::splat(zero_point)) : V::as_reals(V::splat(zero_point));
    const auto formula = Formula::from(held<V> {{scale, V::splat(1.0F) / scale, zero, two_to_22}});
    process_row<V, false>(
            static_cast<const Src *>(src), static_cast<Dst *>(dst), count, false,
            true, [&](std::int64_t) __attribute__((always_inline))->const Formula & { return formula; });
    V::zero_upper();
    return true;
}

/// Quantizes by `Formula`, or by two operations if the zero point is 0.
template <typename V, typename Formula, bool RealZero, typename Dst>
bool flat_quotient(const void *src, void *dst, std::int64_t count, std::int32_t scale, std::int32_t zero_point) {
    if (!are_inside_guard({scale, scale}, {zero_point, zero_point})) return false;
    if (zero_point == 0)
        return flat_row<V, two_part_and_zero<V, no_zero<V>>, false, float, Dst>(src, dst, count, scale, 0);
    return flat_row<V, Formula, RealZero, float, Dst>(src, dst, count, scale, zero_point);
}

/// Dequantizes bytes.
template <typename V, typename Src>
bool flat_difference(const void *src, void *dst, std::int64_t count, std::int32_t scale, std::int32_t zero_point) {
    if (!differences_fit<256>({zero_point, zero_point})) return false;
    return flat_row<V, narrow_difference<V>, false, Src, float>(src, dst, count, scale, zero_point);
}

template <typename V, typename Dst>
constexpr family strict() {
    auto f = family_of<V, division<V>, float, Dst>(prepare_integers<V::has_fma, true, zeros::reals>);
    if constexpr (V::has_fma) {
        f.guarded = in_all_forms<V, corrected_quotient<V, real_zero<V>>, float, Dst>();
        f.no_zero_points = in_all_forms<V, two_part_product<V>, float, Dst>();
        fuse_reals<V, corrected_quotient<V, real_zero<V>>, Dst>(f.guarded);
        fuse_reals<V, two_part_product<V>, Dst>(f.no_zero_points);
        add_segs<V, corrected_quotient<V, real_zero<V>>, float16_bits, Dst>(f.guarded, access::of_f16);
        add_segs<V, corrected_quotient<V, real_zero<V>>, bfloat16_bits, Dst>(f.guarded, access::of_bf16);
        add_segs<V, two_part_product<V>, float16_bits, Dst>(f.no_zero_points, access::of_f16);
        add_segs<V, two_part_product<V>, bfloat16_bits, Dst>(f.no_zero_points, access::of_bf16);
        using exact = two_part_and_zero<V, real_zero<V>>;
        f.exact.kernels.set(form::rows, rows<V, exact, float, Dst, false>);
        fuse_reals<V, exact, Dst, false>(f.exact.kernels);
        f.exact.is_exact = has_exact_two_part_reciprocal;
        f.flat = flat_quotient<V, corrected_quotient<V, real_zero<V>>, true, Dst>;
        f.exact.min_elements_to_test = 16 * 1024; // the test costs as much as an operation for a few thousand elements
    }
    return f;
}

template <typename V, typename Dst>
constexpr family any() {
    auto f = family_of<V, division<V>, float, Dst>(prepare_integers<true, false, zeros::reals>);
    f.guarded = in_all_forms<V, reciprocal_product<V>, float, Dst>();
    return f;
}

/// numerics::onnx to 8 bits. Quotients are rounded before the zero point is added, so two operations are exact for
/// every scale. Other forms than rows load their parameters often: there three operations cost less than the residual.
template <typename V, typename Dst>
constexpr family onnx() {
    auto f = family_of<V, limited_division<V, float>, float, Dst>(prepare_integers<V::has_fma, true, zeros::words>);
    if constexpr (V::has_fma) {
        using zero = word_zero<V>;
        f.guarded = in_all_forms<V, corrected_quotient<V, zero>, float, Dst>();
        f.guarded.set(form::rows, rows<V, two_part_and_zero<V, zero>, float, Dst>);
        f.flat = flat_quotient<V, two_part_and_zero<V, zero>, false, Dst>;
        fuse_reals<V, two_part_and_zero<V, zero>, Dst>(f.guarded);
        f.no_zero_points = in_all_forms<V, two_part_product<V>, float, Dst>();
        fuse_reals<V, two_part_product<V>, Dst>(f.no_zero_points);
    }
    return f;
}

/// numerics::onnx to 16 bits.
template <typename V, typename Dst>
constexpr family onnx_16() {
    auto f = family_of<V, limited_division<V, float>, float, Dst>(
            prepare_integers<V::has_fma, false, zeros::less_magic>);
    if constexpr (V::has_fma) {
        using guarded = corrected_quotient<V, rounded_zero<V>>;
        f.guarded = in_two_forms<V, guarded, guarded, float, Dst, 4>();
    }
    return f;
}

/// numerics::onnx, divided in f16 or bf16.
template <typename V, typename Division, typename Dst>
constexpr family narrow() {
    constexpr bool to_8_bits = sizeof(Dst) == 1;
    constexpr auto zero_points = to_8_bits ? zeros::words : zeros::less_magic;
    auto f = family_of<V, limited_division<V, Division>, float, Dst>(prepare_integers<V::has_fma, false, zero_points>);
    if constexpr (V::has_fma) {
        using zero = std::conditional_t<to_8_bits, word_zero<V>, rounded_zero<V>>;
        using of_rows = split_product<V, Division, zero>;
        f.guarded = in_two_forms < V, of_rows, limited_product<V, Division, zero>, float, Dst, to_8_bits ? 2 : 1 > ();
        // Src of another type than the division's is rounded to that, which takes staging.
        constexpr bool in_f16 = std::is_same_v<Division, float16_bits>;
        if constexpr (to_8_bits)
            f.guarded.set(form::rows, rows<V, of_rows, Division, Dst>, in_f16 ? access::of_f16 : access::of_bf16);
    }
    return f;
}

/// Formulas of any division.
template <typename V, typename Formula, typename Dst>
constexpr family of_any_division() {
    auto f = family_of<V, Formula, float, Dst>(prepare_nothing);
    f.takes_sums_by = true;
    return f;
}

template <typename V, typename Division>
constexpr family quotient() {
    constexpr bool in_f16 = std::is_same_v<Division, float16_bits>;
    using any_parameters = shifted_quotient<V, Division>;
    auto f = family_of<V, any_parameters, float, float>(prepare_quotient<V, in_f16>);
    f.is_f32_zero = true;
    f.no_zero = -0.0F;
    if constexpr (V::has_fma) {
        using guarded =
                std::conditional_t<in_f16, limited_quotient_and_zero<V>, limited_quotient<V, Division, real_zero<V>>>;
        using no_zero_points = limited_quotient<V, Division, no_zero<V>>;
        f.guarded = in_two_forms<V, guarded, guarded, float, float>();
        f.no_zero_points = in_two_forms<V, no_zero_points, no_zero_points, float, float>();
        fuse_codes<V, no_zero_points>(f.no_zero_points);
        if constexpr (std::is_same_v<Division, float>) {
            fuse_codes<V, any_parameters>(f.any_parameters);
            fuse_reals_and_codes<V, no_zero_points>(f.no_zero_points);
        }
    }
    return f;
}

/// RNE(x * m) + zp, for computed scales. two_part_product with a residual of 0 is that product.
template <typename V, typename Dst>
constexpr family product() {
    using zero = std::conditional_t<V::has_fma, word_zero<V>, rounded_zero<V>>;
    auto f = family_of<V, limited_product<V, float, zero>, float, Dst>(prepare_product<V>);
    if constexpr (V::has_fma) f.no_zero_points = onnx<V, Dst>().no_zero_points;
    return f;
}

/// Dequantize from bytes.
template <typename V, typename Src>
constexpr family difference_of_bytes() {
    using guarded = narrow_difference<V>;
    auto f = family_of<V, integer_difference<V, difference::in_33_bits>, Src, float>(prepare_difference<256>);
    f.guarded = in_all_forms<V, guarded, Src, float>();
    if constexpr (V::lanes > 1) {
        f.flat = flat_difference<V, Src>;
        f.guarded.set(form::rows, rows<V, guarded, Src, float16_bits>, access::to_f16);
        f.guarded.set(form::rows, rows<V, guarded, Src, bfloat16_bits>, access::to_bf16);
        f.guarded.set(form::cols, cols<V, guarded, 2, Src, float16_bits>, access::to_f16);
        f.guarded.set(form::cols, cols<V, guarded, 2, Src, bfloat16_bits>, access::to_bf16);
        add_segs<V, guarded, Src, float16_bits>(f.guarded, access::to_f16);
        add_segs<V, guarded, Src, bfloat16_bits>(f.guarded, access::to_bf16);
    }
    return f;
}

template <typename V, typename Src, std::int32_t Magnitude>
constexpr family difference() {
    using guarded = narrow_difference<V>;
    auto f = family_of<V, integer_difference<V, difference::in_33_bits>, Src, float>(prepare_difference<Magnitude>);
    f.guarded = in_two_forms<V, guarded, guarded, Src, float>();
    return f;
}

/// Dequantize from floats: f32, or floats of 8 bits without a codec.
template <typename V, typename Float>
constexpr family difference_of_floats() {
    using no_zero_points = multiplied_float<V>;
    auto f = family_of<V, float_difference<V>, Float, float>(prepare_float_difference);
    f.is_f32_zero = true;
    f.no_zero_points = in_two_forms<V, no_zero_points, no_zero_points, Float, float, 2>();
    return f;
}

/// x * m to floats, for computed scales. There are no zero points.
template <typename V>
constexpr family product_of_floats() {
    auto f = family_of<V, multiplied_float<V>, float, float, 2>(prepare_nothing);
    if constexpr (V::lanes > 1) fuse_codes<V, multiplied_float<V>>(f.any_parameters);
    return f;
}

/// Codes of groups whose scales are computed.
template <typename V, typename Formula, typename Src, typename Dst>
constexpr group_microkernels groups_of() {
    constexpr int of_16 = 16 / V::lanes;
    return {segs<V, Formula, of_16, Src, Dst>, segs<V, Formula, 2 * of_16, Src, Dst>, segs<V, Formula, 4, Src, Dst>,
            rows<V, Formula, Src, Dst>};
}

template <typename V, typename Src>
constexpr void add_groups(group_microkernels *to) {
    using zero = word_zero<V>;
    using formula = bounded_product<V>;
    constexpr int of_16 = 16 / V::lanes;
    const auto add = [&](group_formula f, const group_microkernels &g) { to[static_cast<int>(f)] = g; };
    add(group_formula::product_s8, groups_of<V, formula, Src, std::int8_t>());
    add(group_formula::quotient_s8, groups_of<V, bounded_quotient<V, no_zero<V>>, Src, std::int8_t>());
    add(group_formula::sum_s8, groups_of<V, bounded_quotient<V, zero>, Src, std::int8_t>());
    add(group_formula::sum_u8, groups_of<V, bounded_quotient<V, zero>, Src, std::uint8_t>());
    add(group_formula::codes,
            {segs_to_codes<V, formula, of_16, Src>, segs_to_codes<V, formula, 2 * of_16, Src>,
                    segs_to_codes<V, formula, 4, Src>, nullptr});
}

template <typename V>
constexpr instruction_set table_of() {
    using s8 = std::int8_t;
    using u8 = std::uint8_t;
    instruction_set set = {};
    set.name = V::name;
    set.lanes = V::lanes;
    const auto add = [&](kind k, const family &f) { set.families[static_cast<int>(k)] = f; };
    add(kind::strict_u8, strict<V, u8>());
    add(kind::strict_s8, strict<V, s8>());
    add(kind::any_u8, any<V, u8>());
    add(kind::any_s8, any<V, s8>());
    add(kind::onnx_u8, onnx<V, u8>());
    add(kind::onnx_s8, onnx<V, s8>());
    add(kind::onnx_u16, onnx_16<V, std::uint16_t>());
    add(kind::onnx_s16, onnx_16<V, std::int16_t>());
    add(kind::f16_u8, narrow<V, float16_bits, u8>());
    add(kind::f16_s8, narrow<V, float16_bits, s8>());
    add(kind::f16_16, narrow<V, float16_bits, float>());
    add(kind::bf16_u8, narrow<V, bfloat16_bits, u8>());
    add(kind::bf16_s8, narrow<V, bfloat16_bits, s8>());
    add(kind::bf16_16, narrow<V, bfloat16_bits, float>());
    add(kind::wide_s32, family_of<V, wide_division<V, std::int32_t>, float, std::int32_t>(prepare_nothing));
    add(kind::wide_u32, family_of<V, wide_division<V, std::uint32_t>, float, std::int32_t>(prepare_nothing));
    add(kind::sum_u8, of_any_division<V, any_small_sum<V>, u8>());
    add(kind::sum_s8, of_any_division<V, any_small_sum<V>, s8>());
    add(kind::sum_16, of_any_division<V, any_small_sum<V>, float>());
    add(kind::sum_32, of_any_division<V, any_sum<V>, std::int32_t>());
    add(kind::quotient_f32, quotient<V, float>());
    add(kind::quotient_f16, quotient<V, float16_bits>());
    add(kind::quotient_bf16, quotient<V, bfloat16_bits>());
    auto in_f64 = of_any_division<V, quotient_in_f64<V>, float>();
    in_f64.is_f32_zero = true;
    in_f64.no_zero = -0.0F;
    add(kind::quotient_f64, in_f64);
    add(kind::product_u8, product<V, u8>());
    add(kind::product_s8, product<V, s8>());
    add(kind::product_f32, product_of_floats<V>());
    add(kind::difference_u8, difference_of_bytes<V, u8>());
    add(kind::difference_s8, difference_of_bytes<V, s8>());
    add(kind::difference_u16, difference<V, std::uint16_t, 65536>());
    add(kind::difference_s16, difference<V, std::int16_t, 65536>());
    add(kind::difference_32, difference<V, std::int32_t, INT32_MAX>());
    add(kind::difference_u32,
            family_of<V, integer_difference<V, difference::of_u32>, std::int32_t, float>(prepare_nothing));
    add(kind::difference_floats, difference_of_floats<V, float>());
    for_each_type([&]<data_type type>() {
        if constexpr (is_float8(traits(type))) add(difference_kinds[type], difference_of_floats<V, float_of<type>>());
    });
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

} // namespace
} // namespace dynquant::kernels::native
