"""What dynquant promises to compute: the formulas of docs/reference.md, an array at a time.

x, scale and zero_point are arrays of each element's, in float64; s says which types they have. Arithmetic of f32 is numpy's on float32:
IEEE 754, each operation rounded to nearest, ties to even.
"""
import collections

import numpy as np

from data_types import ceil_log2, clamped, f32, floor_log2, fraction_bits, is_integer, limits, rounded


def strict_quantize(s, x, scale, zero_point):
    """clamp(RNE(f32(f32(src / scale) + f32(zp)))); of 8-bit floats RNE(f32(src / scale))."""
    quotient = f32(x) / f32(scale)
    if is_integer(s.dst):
        return clamped(np.rint(quotient + f32(zero_point)), s.dst)
    return rounded(quotient, s.dst)


def onnx_quantize(s, x, scale, zero_point):
    """clamp(RNE(src / scale) + zp), the sum exact; of floats RNE(src / scale + zp).

    src, scale and quotient are rounded to the type of the division, a quotient of 16 bits to f32 before; of floats zp and the sum, too."""
    def of_division(values):
        return values if s.division == "f64" else rounded(values, s.division)

    x, scale = of_division(x), of_division(scale)
    quotient = of_division(x / scale if s.division == "f64" else f32(x) / f32(scale))
    if is_integer(s.dst):
        return clamped(np.rint(quotient) + zero_point, s.dst)  # exact below 2^53; above it saturates
    if s.zps:
        quotient = of_division(quotient + of_division(zero_point))
    return rounded(quotient, s.dst, s.saturate)


def dequantize(s, x, scale, zero_point):
    """f32(f32(src - zp) * scale), src - zp exact; rounded again to a dst of 16 bits. Under a global scale by f32(scale * global scale)."""
    # float64 has the differences of two integers or narrow floats, but not of two bf16: float32 rounds these once.
    difference = f32(x) - f32(zero_point) if s.src == "bf16" else f32(x - zero_point)
    return rounded(difference * (f32(scale) * f32(s.global_scale)), s.dst)


# The presets of include/dynquant/scale_rule.hpp: see the table of docs/dynamic.md.
Rule = collections.namedtuple("Rule", "range narrow least of_zero rounding quotient skips", defaults=("absmax", False, 0, 1, "nearest", "divide", False))
RULES = {
    "absmax": Rule(),
    "minmax": Rule("minmax"),
    "onnx": Rule("minmax"),
    "onednn_dynamic_quantize": Rule(narrow=True, least=1e-30, of_zero=1e-30, skips=True),
    "onednn_dynamic_fp": Rule(least=2.0 ** -3, of_zero=2.0 ** -3, quotient="multiply_reciprocal"),
    "mx_floor": Rule(rounding="floor"),
    "mx_ceil": Rule(rounding="ceil"),
    "mx_even": Rule(rounding="even"),
    "mx_rceil": Rule(rounding="rceil"),
    "nvfp4": Rule(least=2.0 ** -6, of_zero=2.0 ** -6, quotient="multiply_reciprocal"),
    "torchao_symmetric": Rule(least=2.0 ** -23, of_zero=2.0 ** -23, quotient="multiply_reciprocal"),
    "torchao_asymmetric": Rule("minmax", least=2.0 ** -23, of_zero=2.0 ** -23, quotient="multiply_reciprocal"),
    "ggml_q8_0": Rule(narrow=True, of_zero=0, quotient="multiply_range"),
    "vllm": Rule(narrow=True, of_zero=0, quotient="multiply_reciprocal"),
}


def power_of_two(r, dst, rounding):
    """Scales of f8_e8m0, 2^k, by the ranges r."""
    largest = limits(dst)[1]
    if rounding == "rceil":
        quotient = r / f32(largest)
        k = np.where(quotient == 0, -127, ceil_log2(quotient))
    elif rounding == "ceil":
        k = ceil_log2(r) - floor_log2(largest)
    else:
        of_k = r.astype(np.float64)
        if rounding == "even":  # to dst's fraction bits, half up
            ulp = floor_log2(r) - (floor_log2(largest) if is_integer(dst) else fraction_bits(dst))
            of_k = np.ldexp(np.floor(np.ldexp(of_k, -ulp) + 0.5), ulp)
        k = floor_log2(of_k) - floor_log2(largest)
    scale = np.ldexp(1.0, np.clip(k, -127, 127))
    return np.where(r == 0, 2.0 ** -127, np.where(np.isfinite(r), scale, np.nan))


def computed(s, x, global_scale):
    """Of each element the code, of each block the scale and the zero point."""
    rule, block, g = RULES[s.computed], s.block_of_element, f32(global_scale)
    lowest, highest = limits(s.dst)
    lowest = -highest if rule.narrow else lowest
    x = f32(x)
    if rule.skips:
        x = np.where(np.isfinite(x), x, f32(0))

    lo, hi = np.zeros(s.blocks, np.float32), np.zeros(s.blocks, np.float32)
    np.minimum.at(lo, block, x)
    np.maximum.at(hi, block, x)  # both keep NaN
    if rule.range == "minmax":
        r, d = hi - lo, f32(highest - lowest)
    else:
        r, d = np.maximum(hi, -lo), f32((highest - lowest) / 2 if is_integer(s.dst) else highest)

    if s.scales == "f8_e8m0":
        scale = power_of_two(r, s.dst, rule.rounding)
    else:
        v = np.where(r == 0, f32(rule.of_zero), np.maximum(r / d / g, f32(rule.least)))
        scale = rounded(v, s.scales, saturate=s.scales == "f8_e4m3")
    by = f32(scale)
    steps = (lo / by).astype(np.float64)
    zero_point = clamped(np.where(np.isnan(steps), highest, lowest - np.rint(steps)), s.dst) if s.zps else np.zeros(s.blocks)

    if rule.quotient == "divide":
        quotient = x / (by * g)[block]
    elif rule.quotient == "multiply_reciprocal":
        quotient = x * (1 / g / by)[block]
    else:
        quotient = x * (d / r)[block]
    quotient = np.where(r[block] == 0, x, quotient).astype(np.float64)  # x is 0 there
    if is_integer(s.dst):
        return clamped(np.rint(quotient) + zero_point[block], s.dst, lowest), scale, zero_point
    return rounded(quotient, s.dst, s.saturate), scale, zero_point
