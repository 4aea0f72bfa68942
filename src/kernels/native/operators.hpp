// Operators: their runs, and which formula a stretch of parameters takes. with_formula is for parameters alongside;
// with_constant_formula for one parameter and so many elements. run's `lead` is the distance at which 32-bit elements
// to come are asked for.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/half_product.hpp"
#include "kernels/native/runs.hpp"

namespace dynquant::kernels::native {
namespace {

/// Looking at a scale takes as long as quantizing a few thousand elements by one operation more, and its low part as
/// long as a few hundred.
constexpr std::int64_t worth_looking = 16 * 1024, worth_low_part = 512;

// A rule of quantizing: the formulas for parameters inside the guard, if the instruction set is fast at them, and for
// all others, and what becomes of quotients and zero points.

template <typename V>
struct strict_rule {
    static constexpr bool has_fast = V::has_fma, has_two_parts = has_fast, has_split_product = false;
    static constexpr auto low_parts_of_bytes = has_two_parts ? low_parts::used_if_symmetric : low_parts::unused;
    template <typename Integer>
    static constexpr bool in_halves = false;
    template <typename Zero>
    using fast = corrected_quotient<V, Zero>;
    using general = division<V>;

    template <typename Integer, typename Run>
    static void with_zero(const auto &t, const Run &run) {
        t.symmetric ? run(no_zero<V> {}) : run(some_zero<V> {});
    }
};

/// fpmath mode any.
template <typename V>
struct fpmath_any_rule : strict_rule<V> {
    static constexpr bool has_fast = true, has_two_parts = false, has_split_product = false;
    static constexpr auto low_parts_of_bytes = low_parts::unused;
    template <typename Zero>
    using fast = reciprocal_product<V, Zero>;
};

/// numerics::onnx to integers of up to 16 bits, divided in f32, f16 (half) or bf16 (brain).
template <typename V, typename Division = float>
struct onnx_rule {
    static constexpr bool in_f32 = std::is_same_v<Division, float>;
    static constexpr bool has_fast = V::has_fma, has_two_parts = has_fast && in_f32,
                          has_split_product = has_fast && !in_f32;
    static constexpr auto low_parts_of_bytes = has_two_parts ? low_parts::used : low_parts::unused;
    template <typename Integer>
    static constexpr bool in_halves = sizeof(Integer) == 1 && std::is_same_v<Division, half> &&requires {
        typename V::halves;
    };
    template <typename Integer>
    using zero_for = std::conditional_t<(V::adds_words && sizeof(Integer) == 1), word_zero<V>, rounded_zero<V>>;
    template <typename Zero>
    using fast = std::conditional_t<in_f32, corrected_quotient<V, Zero>, limited_product<V, Division, Zero>>;
    template <typename Zero>
    using split = split_product<V, Division, Zero>;
    using general = limited_division<V, Division, rounded_zero<V>>;

    template <typename Integer, typename Run>
    static void with_zero(const auto &t, const Run &run) {
        if constexpr (in_f32)
            if (t.symmetric) return run(no_zero<V> {});
        run(zero_for<Integer> {});
    }
};

/// numerics::onnx to integers of 32 bits, divided in f32.
template <typename V, typename Integer>
struct onnx_wide_rule {
    static constexpr bool has_fast = false, has_two_parts = false, has_split_product = false;
    template <typename>
    static constexpr bool in_halves = false;
    using general = wide_division<V, Integer>;
};

/// The runs of an operator from 32-bit numbers to integers.
template <typename V, typename Source, typename Integer>
struct quantizing_runs {
    using source = Source;
    using destination = Integer;
    static constexpr low_parts low_are() { return low_parts::unused; }

    template <storing Storing, typename Real, typename FormulaAt>
    static void run(const Real *src, Integer *dst, std::int64_t count, std::int64_t lead, FormulaAt formula_at) {
        using formula = std::remove_cvref_t<decltype(formula_at(0))>;
        quantize_run<typename vectors_of<V, formula>::type, Storing>(src, dst, count, lead, formula_at);
    }
    template <int Runs, typename FormulaAt>
    static void run_together(const Source *src, std::int64_t src_step, Integer *dst, std::int64_t dst_step,
            std::int64_t count, FormulaAt formula_at) {
        quantize_together<V, Runs>(src, src_step, dst, dst_step, count, formula_at);
    }
    template <storing Storing, typename FormulaOf>
    static void run_blocks(
            const Source *src, Integer *dst, std::int64_t rows, std::int64_t lead, const FormulaOf &formula_of) {
        quantize_blocks<V, Storing>(src, dst, rows, lead, formula_of);
    }
};

template <typename V, typename Integer, typename Rule>
struct quantizer : quantizing_runs<V, float, Integer> {
    static constexpr low_parts low_are() { return sizeof(Integer) == 1 ? Rule::low_parts_of_bytes : low_parts::unused; }

    template <typename Run>
    static void with_formula(const auto &t, const Run &run) {
        if constexpr (Rule::has_fast)
            if (t.inside_guard)
                return Rule::template with_zero<Integer>(t, [&](auto zero) {
                    using corrected = typename Rule::template fast<decltype(zero)>;
                    using in_two_parts = two_part_product<V, decltype(zero)>;
                    run(std::conditional_t<has_coarse_quotients<decltype(zero)>, in_two_parts, corrected> {});
                });
        run(typename Rule::general {});
    }
    template <typename Run>
    static void with_constant_formula(const auto &t, std::int64_t elements, const Run &run) {
        if constexpr (Rule::has_two_parts)
            if (t.inside_guard)
                return Rule::template with_zero<Integer>(t, [&](auto zero) {
                    using corrected = typename Rule::template fast<decltype(zero)>;
                    using in_two_parts = two_part_product_of_one<V, decltype(zero)>;
                    constexpr bool fits_all = has_coarse_quotients<decltype(zero)>;
                    if (fits_all ? elements >= worth_low_part
                                 : elements >= worth_looking && has_exact_two_part_reciprocal(t.scale[0]))
                        run(in_two_parts {});
                    else
                        run(corrected {});
                });
        if constexpr (Rule::template in_halves<Integer>)
            if (has_exact_half_product(t.scale[0])) return run(half_product<V> {});
        if constexpr (Rule::has_split_product)
            if (t.inside_guard)
                return Rule::template with_zero<Integer>(
                        t, [&](auto zero) { run(typename Rule::template split<decltype(zero)> {}); });
        with_formula(t, run);
    }

  private:
    /// Whether quotients are rounded to 8 bits before anything is added to them: two parts then do for all scales.
    template <typename Zero>
    static constexpr bool has_coarse_quotients = Rule::has_two_parts && sizeof(Integer) == 1
            && !std::is_same_v<Zero, some_zero<V>>;
};

/// The runs of an operator to floats.
template <typename V, typename Source>
struct dequantizing_runs {
    using source = Source;
    using destination = float;
    static constexpr low_parts low_are() { return low_parts::unused; }

    template <storing Storing, typename FormulaAt>
    static void run(const Source *src, float *dst, std::int64_t count, std::int64_t /*lead*/, FormulaAt formula_at) {
        dequantize_run<V, Storing>(src, dst, count, formula_at);
    }
    template <int Runs, typename FormulaAt>
    static void run_together(const Source *src, std::int64_t src_step, float *dst, std::int64_t dst_step,
            std::int64_t count, FormulaAt formula_at) {
        dequantize_together<V, Runs>(src, src_step, dst, dst_step, count, formula_at);
    }
    template <storing Storing, typename FormulaOf>
    static void run_blocks(
            const Source *src, float *dst, std::int64_t rows, std::int64_t /*lead*/, const FormulaOf &formula_of) {
        dequantize_blocks<V, Storing>(src, dst, rows, formula_of);
    }
};

/// From elements of any type.
template <typename V, typename Element>
struct dequantizer : dequantizing_runs<V, Element> {
    template <typename Run>
    static void with_formula(const auto &t, const Run &run) {
        if constexpr (std::is_integral_v<Element>)
            t.narrow ? run(narrow_difference<V> {}) : run(wide_difference<V> {});
        else
            t.symmetric ? run(multiplied<V> {}) : run(float_difference<V> {});
    }
    template <typename Run>
    static void with_constant_formula(const auto &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
};

} // namespace
} // namespace dynquant::kernels::native
