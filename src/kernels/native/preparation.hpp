// Prepares a panel: derives what microkernels read from scales and zero points. Plain loops, which compilers vectorize.
#pragma once

#include <cstdint>

#include "kernels/native/formulas.hpp"

namespace dynquant::kernels::native {
namespace {

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
inline examined examine(std::int64_t count, const float *scale, float *reciprocal, const float *zero_point) {
    bounds scales, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        reciprocal[i] = 1 / scale[i];
        scales.include(bits_of(scale[i]));
        zero_points.include(bits_of(zero_point[i]));
    }
    return {are_inside_guard(scales, zero_points), zero_points.within(0, 0)};
}

inline void to_residuals(std::int64_t count, const float *scale, const float *reciprocal, float *residual) {
    for (std::int64_t i = 0; i < count; ++i)
        residual[i] = reciprocal_residual(scale[i], reciprocal[i]);
}

inline void to_reals(std::int64_t count, float *zero_point, float less) {
    for (std::int64_t i = 0; i < count; ++i)
        zero_point[i] = static_cast<float>(bits_of(zero_point[i])) - less;
}

/// How formulas take zero points: as reals, as reals less 1.5 * 2^23 (rounded_zero), or inside the guard as s32
/// (word_zero) and outside as rounded_zero does.
enum class zeros { reals, less_magic, words };

/// Quantize to integers. Guards: the family has formulas inside the guard. KeepsResiduals: it has those that need no
/// zero points, whose place the residuals take.
template <bool Guards, bool KeepsResiduals, zeros Zeros>
preparation prepare_integers(
        std::int64_t count, const float *scale, float *reciprocal, float *of_family, float *bound) {
    *bound = two_to_22;
    const auto found = Guards ? examine(count, scale, reciprocal, of_family) : examined {};
    const bool guarded = found.inside_guard;
    if (KeepsResiduals && guarded && found.all_zero) {
        to_residuals(count, scale, reciprocal, of_family);
        return preparation::no_zero_points;
    }
    if (Zeros != zeros::words || !guarded) to_reals(count, of_family, Zeros == zeros::reals ? 0 : magic_bias);
    return guarded ? preparation::guarded : preparation::any_parameters;
}

/// reciprocal holds multipliers: 1 / scale, but rounded otherwise. Scales only limit x.
template <typename V>
preparation prepare_product(std::int64_t count, const float *scale, float *reciprocal, float *of_family, float *bound) {
    *bound = two_to_22;
    bounds factors, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        factors.include(bits_of(scale[i]));
        factors.include(bits_of(reciprocal[i]));
        zero_points.include(bits_of(of_family[i]));
    }
    // The residuals of two_part_product are 0, as the zero points are.
    if (V::has_fma && are_inside_guard(factors) && zero_points.within(0, 0)) return preparation::no_zero_points;
    if (!V::has_fma) to_reals(count, of_family, magic_bias);
    return preparation::any_parameters;
}

/// For formulas that need no derived parameters.
inline preparation prepare_nothing(std::int64_t, const float *, float *, float *, float *) {
    return preparation::any_parameters;
}

/// Whether q - zp fits in s32 for all |q| <= Magnitude.
template <std::int32_t Magnitude>
bool differences_fit(const bounds &zero_points) {
    return Magnitude == INT32_MAX ? zero_points.within(0, 0)
                                  : zero_points.within(INT32_MIN + Magnitude, INT32_MAX - Magnitude);
}

template <std::int32_t Magnitude>
preparation prepare_difference(std::int64_t count, const float *, float *, float *of_family, float *) {
    bounds zero_points;
    for (std::int64_t i = 0; i < count; ++i)
        zero_points.include(bits_of(of_family[i]));
    return differences_fit<Magnitude>(zero_points) ? preparation::guarded : preparation::any_parameters;
}

/// Dequantize from floats. A zero point of +0 changes no element.
inline preparation prepare_float_difference(std::int64_t count, const float *, float *, float *of_family, float *) {
    std::int32_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i)
        bits |= bits_of(of_family[i]);
    return bits == 0 ? preparation::no_zero_points : preparation::any_parameters;
}

/// Quantize to floats. On entry bound is the limit of dst's quotients, or 0 if two operations are not exact enough for
/// dst. A zero point of -0 acts as none. One of +0 changes only the sign of zeros. The guarded formula takes that sign
/// from x, so in f32 and bf16 no nonzero x may give a quotient of 0. Scales below 2 ensure it: |x / s| > 2^-150 for the
/// least x of 2^-149 in f32, and > 2^-134 for 2^-133 in bf16.
template <typename V, bool InF16>
preparation prepare_quotient(
        std::int64_t count, const float *scale, float *reciprocal, float *of_family, float *bound) {
    bounds scales, signs, magnitudes;
    for (std::int64_t i = 0; i < count; ++i) {
        reciprocal[i] = 1 / scale[i];
        scales.include(bits_of(scale[i]));
        signs.include(bits_of(of_family[i]));
        magnitudes.include(bits_of(of_family[i]) & INT32_MAX);
    }
    if (!V::has_fma || *bound == 0 || !are_inside_guard(scales)) return preparation::any_parameters;
    if (signs.within(INT32_MIN, INT32_MIN)) {
        to_residuals(count, scale, reciprocal, of_family);
        return preparation::no_zero_points;
    }
    if (!InF16)
        return magnitudes.within(0, 0) && scales.greatest < bits_of(2.0F) ? preparation::guarded
                                                                          : preparation::any_parameters;
    *bound = two_to_22; // zero points may bring quotients back from beyond the bound
    return preparation::guarded;
}

} // namespace
} // namespace dynquant::kernels::native
