"""Known differences of onnx.reference 1.23.2, which computes with NumPy and ml_dtypes."""
from math import inf

import numpy as np
from differences import (Case, Difference, dequantize, dequantizing, dynamic, dynamic_quantize, has_no_range,
                         quantize, quantizing, without_float8_zero_point)
from elements import as_double, unequal
from nodes import FLOAT8, INTEGERS, dtype_of
from onnx import TensorProto as T

SMALL_FLOATS = {T.FLOAT4E2M1, T.FLOAT6E2M3, T.FLOAT6E3M2}


def numpys_division(e):
    """The quotient in the common type of x and scale."""
    if e.node.attributes.get("precision"):
        return e.x.astype(e.division) / e.scale.astype(e.division)
    return e.x / e.scale


def numpys_quotient(e):
    return as_double(numpys_division(e))


def other_y(e):
    """Where NumPy's types give a y that differs."""
    if e.zero is not None and e.y_type in FLOAT8:
        return e.everywhere(False)  # no zero point is added
    quotient = numpys_division(e)
    adds = e.zero is not None and e.y_type in SMALL_FLOATS
    return e.lands_elsewhere(as_double(quotient), (quotient + e.zero if adds else quotient).dtype)


def other_division(e):
    return other_y(e) & unequal(numpys_quotient(e), e.quotient)


def other_sum(e):
    return other_y(e) & ~unequal(numpys_quotient(e), e.quotient)


def small_floats_of_nan(e):
    return np.isnan(e.quotient) & (e.y_type in SMALL_FLOATS)


def rounded_by_way_of_float(e):
    """Doubles where the nearest float and the next float on the other side give different y."""
    if e.y_type in INTEGERS:
        return e.everywhere(False)
    nearest = e.total.astype(np.float32)
    towards = np.where(nearest < e.total, np.float32(inf), np.float32(-inf))
    beyond = np.where(nearest == e.total, nearest, np.nextafter(nearest, towards))
    return unequal(e.as_float(as_double(nearest)), e.as_float(as_double(beyond)))


def floats_without_zero_points(e):
    if e.zero is None or e.x_type not in FLOAT8 | {T.FLOAT4E2M1}:
        return e.everywhere(False)
    return unequal(e.dequantized(as_double(e.x)), e.dequantized(e.difference))


def int32_rounded_elsewhere(e):
    if e.zero is None or e.x_type != T.INT32:
        return e.everywhere(False)
    theirs = (e.x.astype(np.float32) - e.zero) * e.scale  # in double
    return unequal(as_double(theirs.astype(dtype_of(e.y_type))), e.dequantized(e.difference))


REFERENCE = [
    Difference(
        "reference.type_of_division", "QuantizeLinear-23: the type of y_scale determines the precision of the division",
        quantizing(other_division), [
            # 1025 has 11 bits, bfloat16 has 8: 1024 and 1032 are beside it.
            Case(quantize(23, (T.FLOAT, 1025), (T.BFLOAT16, 1), (T.INT16, 0)), [1024], [1025]),
            # In float 2^24 + 1 is 2^24, whose half of 2^-24 is a tie that goes to 0. In double it is above the tie.
            Case(quantize(23, (T.INT32, 2**24 + 1), (T.FLOAT, 2**25)), [0], [1])]),
    Difference(
        "reference.type_of_sum", "left open: the type in which a float's zero point is added",
        quantizing(other_sum), [
            # 2.50390625, which in bfloat16, with steps of 1/64 there, is 2.5: a tie, which goes to 2.
            Case(quantize(23, (T.FLOAT, 0.50390625), (T.FLOAT, 1), (T.FLOAT4E2M1, 2), precision=T.BFLOAT16),
                 [2], [3])]),
    Difference(
        "reference.int32_arithmetic", "QuantizeLinear-10: saturate((x / y_scale) + y_zero_point)",
        quantizing(lambda e: e.wraps(numpys_quotient(e), 32)), [
            Case(quantize(13, (T.FLOAT, [inf, 2**31]), (T.FLOAT, 1)), [255, 255], [0, 0]),
            # -2^31 - 1 is 2^31 - 1 when it wraps.
            Case(quantize(13, (T.FLOAT, -inf), (T.FLOAT, 1), (T.INT8, -1)), [-128], [127])]),
    Difference(
        "reference.float8_zero_point", "QuantizeLinear-19: the formula remains the same; y_zero_point is added",
        without_float8_zero_point(numpys_quotient), [
            Case(quantize(19, (T.FLOAT, 1), (T.FLOAT, 1), (T.FLOAT8E4M3FN, 0.5)), [1.5], [1])]),
    Difference(
        "reference.nan_to_float4", "technical/float4: NaN is 6; float6 here alike",
        quantizing(small_floats_of_nan), [
            Case(quantize(23, (T.FLOAT, np.nan), (T.FLOAT, 1), (T.FLOAT4E2M1, 0)), [6], [-0.0]),
            Case(quantize(28, (T.FLOAT, np.nan), (T.FLOAT, 1), (T.FLOAT6E2M3, 0)), [7.5], [-0.0]),
            Case(quantize(28, (T.FLOAT, np.nan), (T.FLOAT, 1), (T.FLOAT6E3M2, 0)), [28], [-0.0])]),
    Difference(
        "reference.rounds_twice", "Cast-24: to the nearest, ties to even; y is rounded once",
        quantizing(rounded_by_way_of_float), [
            # 3.5 - 2^-28: nearer to 3 than to 4. A float of 24 bits makes it 3.5, the tie, which goes to 4.
            Case(quantize(23, (T.INT32, 7 * 2**27 - 1), (T.INT32, 2**28), (T.FLOAT4E2M1, 0)), [3], [4])], exact=False),
    Difference(
        "reference.dequantized_float_zero_point",
        "DequantizeLinear-19: the formula remains the same, (x - x_zero_point)",
        dequantizing(floats_without_zero_points), [
            Case(dequantize(23, (T.FLOAT4E2M1, 3), (T.FLOAT, 1), (T.FLOAT4E2M1, 2)), [1], [3]),
            # Zero points of float8 must be 0. They are compared as uint8, where 0.5 becomes 0.
            Case(dequantize(19, (T.FLOAT8E5M2, 3), (T.FLOAT, 1), (T.FLOAT8E5M2, 0.5)), [2.5], [3])]),
    Difference(
        "reference.dequantized_int32", "DequantizeLinear-10: (x - x_zero_point) * x_scale",
        dequantizing(int32_rounded_elsewhere), [
            # The difference is 2^24. As a float x is 2^24 too, before 1 is subtracted.
            Case(dequantize(19, (T.INT32, 2**24 + 1), (T.FLOAT, 1), (T.INT32, 1)), [2**24], [2**24 - 1])]),
    Difference(
        "reference.dynamic_scale_of_zeros", "left open: the scale of zeros, by which they are divided",
        dynamic(has_no_range), [
            Case(dynamic_quantize(0, 0), [1], [float(np.float32(1) / 255)], output=1)]),
]
