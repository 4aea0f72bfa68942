// What formulas share: how lanes take parameters, zero points, guards, and rounding to the division's type.
//
// A formula computes a vector of results. Its `parameters` name the columns of a chunk that it reads, and `from` takes
// them. A family has formulas by the state of a chunk and by form, a function that makes their parameters of those that
// the chunk has fetched, and the set of its statements. A file of this folder has formulas, parameters, guards, proofs,
// preparations, and the functions that make families, of which table.hpp has a line each.
//
// Formulas to integers give a real of at most 2^23 or, far below s32, NaN or +infinity. Packing rounds and saturates
// it; NaN, +infinity and everything below s32 become the lowest value (simd.hpp). Where conversion saturates instead,
// limited() leaves none of these. The cells quantize.small of `dqbench verify` meet such quotients.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {
namespace {

constexpr float two_to_22 = 4194304.0F, two_to_75 = 37778931862957161709568.0F;
/// 1.5 * 2^23. Adding it to a number below 2^22 rounds that to an integer.
constexpr float magic_bias = 12582912.0F;

// ---- Which parameters the lanes take ----------------------------------------------------------------

/// What a formula takes: its columns by their names, and the constants of the statement.
template <typename Formula>
struct taken : Formula::parameters {
    formula_constants constants;
};

template <typename Formula>
[[gnu::always_inline]] inline taken<Formula> taken_by(const prepared_parameters &p) {
    return {p.columns.as<typename Formula::parameters>(), p.constants};
}

template <typename V, typename Formula>
struct broadcast {
    const taken<Formula> &p;
    std::int64_t i;
    /// Broadcasts integers: otherwise g++ computes what formulas derive in one lane, and broadcasts the result.
    typename V::reals operator()(const float *column) const {
        return V::as_reals(V::splat(__builtin_bit_cast(std::int32_t, column[i])));
    }
    typename V::integers operator()(const std::int32_t *column) const { return V::splat(column[i]); }
};

template <typename V, typename Formula>
struct contiguous {
    const taken<Formula> &p;
    std::int64_t i;
    auto operator()(const auto *column) const { return V::load(column + i); }
};

template <typename V, typename Formula>
struct permuted {
    const taken<Formula> &p;
    std::int64_t first;
    typename V::integers index;
    typename V::reals operator()(const float *column) const { return V::pick(column + first, index); }
    typename V::integers operator()(const std::int32_t *column) const {
        return V::as_integers((*this)(reinterpret_cast<const float *>(column))); // V loads any bits
    }
};

/// Quotients take scales, RN(1 / scale), and zero points in the form that the formula adds.
template <typename ZeroPoint>
struct quotient_parameters {
    float *scale, *reciprocal;
    ZeroPoint *zero_point;
};

// ---- What is added to a quotient ----------------------------------------------------------------------
//
// `element` is the type of its column, which prepare() makes of s32, in place or not.

inline void to_reals(std::int64_t count, const std::int32_t *zero_point, float less, float *result) {
    for (std::int64_t i = 0; i < count; ++i)
        result[i] = static_cast<float>(zero_point[i]) - less;
}

template <typename V>
struct no_zero {
    using element = float; // not read
    static no_zero from(auto) { return {}; }
    typename V::reals added_to(typename V::reals x) const { return x; }
};

template <typename V>
struct real_zero {
    using element = float;
    typename V::reals zero;
    static void prepare(std::int64_t count, const std::int32_t *zero_point, float *result) {
        to_reals(count, zero_point, 0, result);
    }
    static real_zero of(std::int32_t zero_point) { return {V::to_reals(V::splat(zero_point))}; }
    static real_zero from(typename V::reals zero) { return {zero}; }
    typename V::reals added_to(typename V::reals x) const { return x + zero; }
};

/// Rounds the quotient to an integer, then adds the zero point (numerics::onnx). Adding 1.5 * 2^23 rounds all quotients
/// that do not saturate. `offset` is the zero point less 1.5 * 2^23: one exact addition for both.
template <typename V>
struct rounded_zero {
    using element = float;
    typename V::reals offset;
    static void prepare(std::int64_t count, const std::int32_t *zero_point, float *result) {
        to_reals(count, zero_point, magic_bias, result);
    }
    static rounded_zero from(typename V::reals offset) { return {offset}; }
    typename V::reals added_to(typename V::reals x) const { return x + V::splat(magic_bias) + offset; }
};

/// rounded_zero for dst and zero points of 8 bits. The zero point is added as a 16-bit word while packing, which takes
/// half an operation instead of two. Saturated words give the same bytes as exact sums.
template <typename V>
struct real_and_zero_point {
    typename V::reals real;
    typename V::integers zero_point;
};
template <typename V>
struct word_zero {
    using element = std::int32_t;
    typename V::integers zero_point;
    static void prepare(std::int64_t, const std::int32_t *, std::int32_t *) {} // in place
    static word_zero of(std::int32_t zero_point) { return {V::splat(zero_point)}; }
    static word_zero from(typename V::integers zero_point) { return {zero_point}; }
    real_and_zero_point<V> added_to(typename V::reals x) const { return {x, zero_point}; }
};

/// Limits a quotient to integers, or x of such a quotient, from above; from both sides where conversion of V saturates.
template <typename V>
[[gnu::always_inline]] inline typename V::reals limited(typename V::reals bound, typename V::reals x) {
    if constexpr (requires { V::within(bound, x); })
        return V::within(bound, x);
    else
        return V::min(bound, x);
}

// ---- Rounding to the division's type -------------------------------------------------------------------

/// Rounds to the division's type, with its exponent range.
template <typename V, typename Division>
typename V::reals in_division(typename V::reals x) {
    if constexpr (std::is_same_v<Division, float>)
        return x;
    else
        return V::rounded(static_cast<const Division *>(nullptr), x);
}

/// 2^n + 1, where n of the 24 bits of an f32's significand are dropped.
template <typename Division>
constexpr float splitter = std::is_same_v<Division, float16_bits> ? 0x2001 : 0x10001;

/// Rounds a quotient of two numbers of `Division`, float16_bits or bfloat16_bits, to that type by Veltkamp's splitting
/// (Boldo, "Pitfalls of a full floating-point proof", 2006). Splitting may round ties wrongly, but such quotients are
/// never ties. It ignores the exponent range, which changes no result: f16 subnormals are 0 as integers, and overflow,
/// 2^16, saturates as infinity does.
template <typename V, typename Division>
typename V::reals rounded_to(typename V::reals quotient) {
    if constexpr (std::is_same_v<Division, float>) {
        return quotient;
    } else {
        const auto scaled = quotient * V::splat(splitter<Division>);
        return scaled - (scaled - quotient);
    }
}

// ---- Magnitude and sign of a result ----------------------------------------------------------------------

/// A real as its magnitude and a second real that carries the sign.
template <typename V>
struct signed_magnitude {
    typename V::reals magnitude, sign;
};

/// A result as magnitude and sign, which some formulas have before they join them.
template <typename V, typename Formula>
[[gnu::always_inline]] inline signed_magnitude<V> parts_of(const Formula &formula, typename V::reals x) {
    if constexpr (requires { formula.parts(x); }) {
        return formula.parts(x);
    } else {
        const auto result = formula(x);
        return {V::abs(result), result};
    }
}

// ---- Floats by a factor ------------------------------------------------------------------------------------

/// x * m, or q * s. There are no zero points.
template <typename V>
struct multiplied_float {
    struct parameters {
        float *scale;
    };
    typename V::reals scale;
    static multiplied_float from(auto take) { return {take(take.p.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return q * scale; }
    static constexpr bool is_limited = false, is_bounded = false;
};

// ---- Guards, and the loops of preparations, which compilers vectorize -------------------------------------

inline std::int32_t bits_of(float value) {
    return __builtin_bit_cast(std::int32_t, value);
}

/// The least and the greatest value so far.
struct bounds {
    std::int32_t least = INT32_MAX, greatest = INT32_MIN;

    void include(std::int32_t value) {
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    bool within(std::int32_t low, std::int32_t high) const { return low <= least && greatest <= high; }
};

/// Whether all scales are from 2^-75 to 2^75. Positive floats sort by their bits, NaN last. Negative scales would need
/// a second limit, which every element would pay for.
inline bool are_inside_guard(const bounds &scales) {
    return scales.within(bits_of(1 / two_to_75), bits_of(two_to_75));
}

inline bool are_inside_guard(const bounds &scales, const bounds &zero_points) {
    return are_inside_guard(scales) && zero_points.within(-(1 << 20) + 1, (1 << 20) - 1);
}

struct examined {
    bool inside_guard, all_zero;
};

/// Computes the reciprocals and tests scales and zero points.
inline examined examine(std::int64_t count, const float *scale, float *reciprocal, const std::int32_t *zero_point) {
    bounds scales, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        reciprocal[i] = 1 / scale[i];
        scales.include(bits_of(scale[i]));
        zero_points.include(zero_point[i]);
    }
    return {are_inside_guard(scales, zero_points), zero_points.within(0, 0)};
}

/// For formulas that take parameters as they are fetched.
inline chunk_state prepare_nothing(std::int64_t, const parameter_columns &) {
    return chunk_state::any_parameters;
}

} // namespace
} // namespace dynquant::kernels::native
