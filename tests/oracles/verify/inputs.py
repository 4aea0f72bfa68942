"""Inputs as dqbench draws them: tools/dqbench/parameters.cpp, compiled_case.cpp and fill.cpp, an array at a time."""
import functools

import numpy as np

from data_types import bits_of, cyclic, f32, floor_log2, is_integer, limits, rounded, values_of
from formulas import RULES

u64 = np.uint64
FLOAT_MAX, FLOAT_MIN, DENORM_MIN = float(np.finfo(np.float32).max), 2.0 ** -126, 2.0 ** -149
INT32 = limits("s32")
GLOBAL_SCALE = 0.0131  # of nvfp4: tools/dqbench/statement.hpp
SPECIAL_VALUES = f32([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, DENORM_MIN, -DENORM_MIN, FLOAT_MIN, FLOAT_MAX, -FLOAT_MAX, 2147483648.0,
                      -2147483904.0, 8388608.5])
WILD_SCALES = f32([-0.37, 2.0 ** -100, 1.5 * 2.0 ** 100, DENORM_MIN * 12345, 0.0, -0.0, np.inf, np.nan, FLOAT_MIN, FLOAT_MAX, -np.inf, DENORM_MIN,
                   1 - 2.0 ** -24, 2.0 ** -75, 2.0 ** 75])
WILD_ZERO_POINTS = np.array([INT32[0], INT32[1], -1, 2 ** 20 - 1, 2 ** 20, -2 ** 20, -129, 2 ** 24 + 1, 256, INT32[0] + 1, 1000, -2 ** 24 - 1, 127,
                             INT32[1] - 127])


def mix(x):
    """SplitMix64."""
    x = np.asarray(x, u64) + u64(0x9e3779b97f4a7c15)
    x = (x ^ (x >> u64(30))) * u64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> u64(27))) * u64(0x94d049bb133111eb)
    return x ^ (x >> u64(31))


def parameter_indices(extents, count):
    salt = u64(len(extents))
    for extent in extents:
        salt = mix(salt) + u64(extent)
    return (mix(salt) >> u64(32)) + np.arange(count, dtype=u64)


def scale_of_nvfp4(bits):
    """By which those that nvfp4 computes are numbers of f8_e4m3, ties between them, or nearly so."""
    multiple = np.ldexp(16.0 + bits % u64(16), -4 - ((bits >> u64(4)) % u64(9)).astype(int))
    scale, neighbour = f32(multiple) * f32(GLOBAL_SCALE), (bits >> u64(8)) % u64(3)
    return np.select([neighbour == 0, neighbour == 1], [scale, np.nextafter(scale, f32(FLOAT_MAX))], np.nextafter(scale, f32(0))).astype(np.float64)


def draw_scales(s, indices):
    bits, name = mix(indices), "f32" if s.computed else s.scales
    if s.given_scales:
        drawn = cyclic(f32(s.given_scales).astype(np.float64), np.arange(len(indices)))
    elif s.params == "nvfp4":
        drawn = scale_of_nvfp4(bits)
    else:
        pow2 = np.ldexp(1.0, -(bits % u64(9)).astype(int))
        usual = (1 + (bits >> u64(41)) * 2.0 ** -23) * pow2
        wild = np.where(indices % u64(4) == 0, usual, cyclic(WILD_SCALES, indices - indices // u64(4)))
        drawn = {"usual": usual, "pow2": pow2, "wild": wild}[s.params]
    if name == "s32":
        return np.where(np.isfinite(drawn), np.ceil(np.clip(np.abs(drawn), 0, 1e6)), 1)
    if name == "f8_e8m0":  # the power of two at or below the magnitude
        power = np.where(drawn == 0, -127, np.maximum(floor_log2(np.abs(drawn)), -127))
        return np.where(np.isfinite(drawn), np.ldexp(1.0, power), np.nan)
    return rounded(drawn, name)


def draw_zero_points(kind, indices, name):
    """Integers, which a float type may not have: see Statement."""
    bits = mix(~indices)
    lowest, highest = limits(name)
    low, high = (int(lowest), int(highest)) if bits_of(name) <= 8 else (int(max(lowest, -256)), 512)
    usual = low + (bits % u64(high - low + 1)).astype(np.float64)
    if kind != "wild":
        return usual
    wild = cyclic(WILD_ZERO_POINTS, bits)
    ends = np.trunc(np.clip(np.where(bits % u64(2) == 1, lowest, highest), *INT32))
    return np.where(indices % u64(3) == 0, usual, np.where((lowest <= wild) & (wild <= highest), wild, ends))


def to_float(values):
    return f32(np.clip(values, -FLOAT_MAX, FLOAT_MAX))


def to_s32(values):
    return np.clip(np.rint(np.where(np.isnan(values), 0, values.astype(np.float64))), *INT32) + 0.0  # not -0


def draw_real(bits, scale, zero_point, lowest, highest):
    """Floats of which most are in or near [lowest, highest] when quantized."""
    margin = 2 if highest - lowest < 8 else 16
    unit = np.where(np.isfinite(scale) & (scale != 0), scale, 1.0)
    target = lowest - margin + (bits >> u64(32)) % u64(int(highest - lowest + 2 * margin + 1)) - zero_point
    others = bits >> u64(8)
    fraction = (others & u64(0xffff)) / 65536
    shift = np.fmod(others.astype(np.uint32).view(np.int32), 32)  # C's %, which keeps the sign
    tie = to_float((target + 0.5) * unit)
    kind = bits % u64(16)
    return np.select(
        [kind == 0, kind == 1, kind <= 4, kind == 5, kind == 6, kind == 7],
        [cyclic(SPECIAL_VALUES, others), to_float(np.ldexp(target, shift) * unit), tie, np.nextafter(tie, f32(FLOAT_MAX)),
         np.nextafter(tie, f32(-FLOAT_MAX)), to_float(target * unit)],
        to_float((target + fraction) * unit))


def in_range_of(s, x, scale, zero_point):
    """Where scales are computed: in the range of dst's codes by the drawn scale and zero point."""
    rule, (lowest, highest) = RULES[s.computed], limits(s.dst)
    half = (highest - lowest) / 2 if is_integer(s.dst) and not rule.narrow else highest
    low, high = (-half, half) if rule.range == "absmax" else (lowest - zero_point, highest - zero_point)
    low, high = to_float(low * np.abs(scale)), np.where(scale < 0, f32(0), to_float(high * np.abs(scale)))
    numbers = np.where(np.isnan(x), f32(0), x)
    return np.where(np.isfinite(scale), np.where(numbers < low, low, np.where(high < numbers, high, numbers)), x)


@functools.cache
def element_bits(count):
    indices = np.arange(count, dtype=u64)
    return mix(indices), mix(~indices) % u64(16) == 0


def with_low_bits(drawn, unit):
    """Where a code has more than 2^20 integers: these, not only those that are floats."""
    magnitude = f32(np.abs(drawn))
    gap = (np.nextafter(magnitude, f32(FLOAT_MAX)) - magnitude).astype(np.int64)
    offset = (mix(~np.arange(len(drawn), dtype=u64)) >> u64(8)) % (2 * gap + 1).astype(u64)
    unit = np.abs(unit.astype(np.float64))
    return np.where((2.0 ** 20 < unit) & (unit < 2.0 ** 40), np.clip(drawn + offset.astype(np.int64) - gap, *INT32), drawn)


def draw_src(s, scale, zero_point):
    """Values of src's type, by each element's scale and zero point."""
    bits, is_arbitrary = element_bits(len(scale))
    if bits_of(s.src) >= 8:
        arbitrary = values_of(np.arange(len(bits), dtype=u64) * u64(0x9e37) if bits_of(s.src) == 16 else bits, s.src)
    if s.op.endswith("Dequantize"):
        if bits_of(s.src) >= 8:
            return arbitrary
        lowest, highest = limits(s.src)
        steps = lowest + (bits % u64(int(highest - lowest) + 1)).astype(np.float64)
        return steps if is_integer(s.src) else rounded(steps, s.src)
    ends = np.clip(limits(s.dst), -2.0 ** 32, 2.0 ** 32)
    drawn = draw_real(bits, scale, zero_point, *ends)
    drawn = in_range_of(s, drawn, scale, zero_point) if s.computed else drawn
    values = with_low_bits(to_s32(drawn), scale) if is_integer(s.src) else rounded(drawn, s.src)
    return values if s.computed else np.where(is_arbitrary, arbitrary, values)
