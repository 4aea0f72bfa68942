// How scales and zero points are computed from src: a rule of independent choices, and the choices of standards and
// libraries as presets. A part of quantization.hpp.
#pragma once

#include "dynquant/export.hpp"

namespace dynquant {

/// The range R of a block's elements.
///   absmax: R = max |x|. Symmetric, no zero points.
///   minmax: R = hi - lo, lo = min(0, min x), hi = max(0, max x). Asymmetric: integers with zero points.
enum class scale_range { absmax, minmax };

/// How the scale is rounded to its type. With R the range and M the largest number of dst's type:
///   nearest: ties to even; every type but f8_e8m0. f8_e4m3 saturates.
///   floor, ceil, even, rceil: f8_e8m0 alone. 2^k, with e = floor(log2 M) and
///     floor: k = floor(log2 R) - e (OCP MX v1.0)
///     ceil:  k = ceil(log2 R) - e
///     even:  k = floor(log2 R') - e, R' being R rounded to dst's fraction bits, half up; s8 has 6, s4 has 2
///     rceil: k = ceil(log2 (R / M))
///   k is clamped to [-127, 127]. R = 0 gives 2^-127; NaN and infinity give NaN.
enum class scale_rounding { nearest, floor, ceil, even, rceil };

/// How x is divided. s is the scale as stored, g the global scale, or 1. Blocks whose range is 0 give the code of 0:
/// the zero point, or 0; for floats 0 with the sign of x.
///   divide:              x / (s * g)
///   multiply_reciprocal: x * (1 / g / s)
///   multiply_range:      x * (D / R), D being the divisor of scale_rule. The codes do not see how the scale was
///                        rounded. Only for absmax and scales of f32, f16 and bf16.
enum class scale_quotient { divide, multiply_reciprocal, multiply_range };

/// NaN and infinities in src.
///   propagate: they take part in the range. NaN makes the block's scale NaN and its zero point the lowest code. An
///              infinity makes the scale infinite; of f8_e4m3 448, of f8_e8m0 NaN.
///   skip:      the range leaves them out, and they are quantized as 0.
enum class nonfinite { propagate, skip };

/// All arithmetic is f32, each operation rounded to nearest, ties to even. For each block:
///   v = R == 0 ? of_zero : max(R / D / g, least)
///   s = v rounded to the scales' type
///   zero point = clamp(lowest - RNE(lo / s)); the highest code if that is NaN
///   code = clamp(RNE(quotient) + zero point); the lowest code if that is NaN
/// D is (highest - lowest) / 2 for absmax and highest - lowest for minmax, of the codes; the largest number of dst's
/// type if that is a float. Floats have no zero point; their codes are rounded and saturate as under numerics::onnx.
/// g is above 0 and finite in f32: check() refuses a known one that is not. One given at run time is not checked: under
/// a negative one the scale is `least` and codes have the other sign.
/// docs/dynamic.md has the rules of libraries side by side.
struct scale_rule {
    scale_range range = scale_range::absmax;
    /// Signed integers without their lowest code: -127 to 127 for s8.
    bool narrow = false;
    /// No effect on scales of f8_e8m0. 0 or more, finite in f32, to which they are rounded, and then to the scales'
    /// type. least = 0 is no limit, except that a negative global scale makes scales 0.
    double least = 0, of_zero = 1;
    scale_rounding rounding = scale_rounding::nearest;
    scale_quotient quotient = scale_quotient::divide;
    nonfinite special = nonfinite::propagate;
    /// Computes no codes: arguments::dst is ignored. q.dst still says for which type.
    bool scales_only = false;

    bool operator==(const scale_rule &other) const {
        return range == other.range && narrow == other.narrow && least == other.least && of_zero == other.of_zero
                && rounding == other.rounding && quotient == other.quotient && special == other.special
                && scales_only == other.scales_only;
    }
    bool operator!=(const scale_rule &other) const { return !(*this == other); }
};

DYNQUANT_API const char *to_string(scale_range value);
DYNQUANT_API const char *to_string(scale_rounding value);
DYNQUANT_API const char *to_string(scale_quotient value);
DYNQUANT_API const char *to_string(nonfinite value);

/// The rules of standards and libraries. The comments name the types and blocks that their owners use with them.
namespace presets {

/// ONNX DynamicQuantizeLinear-11: f32 to u8, one block. The text does not say which scale zeros have; they have ONNX
/// Runtime's, 1, so that models can divide by it.
inline scale_rule onnx() {
    scale_rule rule;
    rule.range = scale_range::minmax;
    return rule;
}

/// oneDNN's pull request 5879, reduction_dynamic_quantize: f32, f16 or bf16 to s8, scales f32.
inline scale_rule onednn_dynamic_quantize() {
    scale_rule rule;
    rule.narrow = true;
    rule.least = rule.of_zero = 1e-30;
    rule.special = nonfinite::skip;
    return rule;
}

/// OCP MX v1.0 and torchao's four rules: f8, f6 or f4 by scales f8_e8m0 in blocks of 32, with quantization::saturate.
/// floor is also dynamic_mx of oneDNN's matmul, which saturates since 1d5bcd9029 (2026-08-03).
inline scale_rule mx(scale_rounding rounding = scale_rounding::floor) {
    scale_rule rule;
    rule.rounding = rounding;
    return rule;
}

/// torchao's nvfp4_quantize: f4_e2m1 by scales f8_e4m3 in blocks of 16, under a global scale
/// (quantization::second_scales) or none. The least scale is e4m3's least normal number.
inline scale_rule nvfp4() {
    scale_rule rule;
    rule.least = rule.of_zero = 0x1p-6;
    rule.quotient = scale_quotient::multiply_reciprocal;
    return rule;
}

/// dynamic_fp of oneDNN's matmul since f27fa87aa4 (2026-08-17): f4_e2m1 by scales f8_e4m3 in blocks of 16. The least
/// scale is e4m3's epsilon.
inline scale_rule onednn_dynamic_fp() {
    scale_rule rule;
    rule.least = rule.of_zero = 0.125;
    rule.quotient = scale_quotient::multiply_reciprocal;
    return rule;
}

/// torchao's Int8DynamicActivationInt8WeightConfig: s8 by token, scales of src's type.
inline scale_rule torchao_symmetric() {
    scale_rule rule;
    rule.least = rule.of_zero = 0x1p-23;
    rule.quotient = scale_quotient::multiply_reciprocal;
    return rule;
}

/// The same with zero points: f32 to s8 by token, scales f32.
inline scale_rule torchao_asymmetric() {
    auto rule = torchao_symmetric();
    rule.range = scale_range::minmax;
    return rule;
}

/// ggml's block_q8_0 on x86: f32 to s8, scales f16 in blocks of 32.
inline scale_rule ggml_q8_0() {
    scale_rule rule;
    rule.narrow = true;
    rule.of_zero = 0;
    rule.quotient = scale_quotient::multiply_range;
    return rule;
}

/// vLLM's dynamic_scaled_int8_quant on CPUs: s8 by token, scales f32.
inline scale_rule vllm() {
    scale_rule rule;
    rule.narrow = true;
    rule.of_zero = 0;
    rule.quotient = scale_quotient::multiply_reciprocal;
    return rule;
}

} // namespace presets

} // namespace dynquant
