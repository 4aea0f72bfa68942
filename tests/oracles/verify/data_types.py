"""Data types. Numbers are held in float64, which has each value of each type."""
import functools
import re

import ml_dtypes
import numpy as np

FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8_e4m3": ml_dtypes.float8_e4m3fn, "f8_e5m2": ml_dtypes.float8_e5m2,
          "f8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f8_e8m0": ml_dtypes.float8_e8m0fnu,
          "f6_e2m3": ml_dtypes.float6_e2m3fn, "f6_e3m2": ml_dtypes.float6_e3m2fn, "f4_e2m1": ml_dtypes.float4_e2m1fn}
HAVE_INFINITY = ("f32", "f16", "bf16", "f8_e5m2")
WITHOUT_NAN = ("f6_e2m3", "f6_e3m2", "f4_e2m1")
# Nobody promises which NaN an operation gives: digests have these in place of all.
NAN_CODES = {"f32": 0x7fc00000, "f16": 0x7e00, "bf16": 0x7fc0, "f8_e4m3": 0x7f, "f8_e5m2": 0x7e, "f8_e4m3fnuz": 0x80, "f8_e5m2fnuz": 0x80, "f8_e8m0": 0xff}


def f32(values):
    return np.asarray(values).astype(np.float32)


def cyclic(values, indices):
    """The values repeat."""
    return values[indices % indices.dtype.type(len(values))]


def is_integer(name):
    return name[0] in "su"


def bits_of(name):
    return int(re.match(r"[a-z]+(\d+)", name)[1])


def fraction_bits(name):
    return int(ml_dtypes.finfo(FLOATS[name]).nmant)


@functools.cache
def limits(name):
    """The lowest and the highest finite value."""
    if is_integer(name):
        bits = bits_of(name)
        return (-2.0 ** (bits - 1), 2.0 ** (bits - 1) - 1) if name[0] == "s" else (0.0, 2.0 ** bits - 1)
    highest = float(ml_dtypes.finfo(FLOATS[name]).max)
    return -highest, highest


def floor_log2(values):
    return np.frexp(values)[1] - 1


def ceil_log2(values):
    fraction, exponent = np.frexp(values)  # 0.5 <= fraction < 1
    return exponent - (fraction == 0.5)


def rounded(values, name, saturate=False):
    """To the nearest value of a float type, ties to even. Beyond the largest: that one, or infinity, or NaN where there is none."""
    values = np.asarray(values, np.float64)
    least_exponent, highest = int(ml_dtypes.finfo(FLOATS[name]).minexp), limits(name)[1]
    ulp = np.maximum(floor_log2(values), least_exponent) - fraction_bits(name)  # of powers of two
    result = np.ldexp(np.rint(np.ldexp(values, -ulp)), ulp)  # rint alone rounds
    if name in WITHOUT_NAN:
        return np.where(np.isnan(result), highest, np.clip(result, -highest, highest))
    if saturate:
        return np.clip(result, -highest, highest)
    return np.where(np.abs(result) > highest, np.copysign(np.inf, result) if name in HAVE_INFINITY else np.nan, result)


def clamped(values, name, lowest=None):
    """To the range of an integer type; NaN to its lowest value."""
    low, high = limits(name)
    low = low if lowest is None else lowest
    return np.clip(np.where(np.isnan(values), low, values), low, high)


def codes_of(values, name):
    """The bits of values that the type has."""
    if is_integer(name):
        return values.astype(np.int64) & (2 ** bits_of(name) - 1)
    codes = values.astype(FLOATS[name])
    codes = codes.view(f"u{codes.itemsize}").astype(np.int64)
    return codes if name in WITHOUT_NAN else np.where(np.isnan(values), NAN_CODES[name], codes)


def values_of(codes, name):
    """Of types of 8 bits and more, by their lowest bits."""
    bits = bits_of(name)
    return codes.astype(f"u{bits // 8}").view(FLOATS.get(name, f"{'i' if name[0] == 's' else 'u'}{bits // 8}")).astype(np.float64)
