"""Known differences of ONNX Runtime 1.32.0's own kernels."""
from math import inf, nan

import numpy as np
from differences import (Case, Difference, dequantize, dequantizing, dynamic, dynamic_quantize, quantize,
                         quantizing, without_float8_zero_point)
from elements import unequal
from nodes import FLOAT8
from onnx import TensorProto as T


def quotient(e):
    return e.quotient if e.node.opset >= 23 else e.quotient_in(np.float32)


def other_division(e):
    if e.zero is not None and e.y_type in FLOAT8:
        return e.everywhere(False)  # no zero point is added
    return e.lands_elsewhere(quotient(e), np.float32)


def not_saturated(e, y_type, least, most):
    total = abs(quotient(e))
    return (total >= least) & (total < most) & (e.y_type == y_type and e.node.attributes.get("saturate") == 0)


def int32_difference_wraps(e):
    if e.zero is None or e.x_type != T.INT32:
        return e.everywhere(False)
    half = 2.0**31
    return unequal(e.dequantized((e.difference + half) % (2 * half) - half), e.dequantized(e.difference))


def has_nan(x):
    return np.isnan(x).any()


ONNXRUNTIME = [
    Difference(
        "onnxruntime.divides_in_float",
        "QuantizeLinear-23: the type of y_scale determines the precision of the division",
        quantizing(other_division), [
            # 92.5254... In float16, which has steps of 1/16 there, 92.5: a tie, which goes to 92.
            Case(quantize(22, (T.FLOAT16, 150.625), (T.FLOAT16, 1.6279296875), (T.UINT8, 0)), [92], [93])]),
    Difference(
        "onnxruntime.float8_zero_point", "QuantizeLinear-19: the formula remains the same; y_zero_point is added",
        without_float8_zero_point(quotient), [
            Case(quantize(19, (T.FLOAT, 1), (T.FLOAT, 1), (T.FLOAT8E4M3FN, 0.5)), [1.5], [1])]),
    Difference(
        "onnxruntime.e4m3fn_480", "Cast-24: x > FLT_MAX is NaN when not saturated",
        quantizing(lambda e: not_saturated(e, T.FLOAT8E4M3FN, 480, 496)), [
            # Beyond 448 and the tie after it, 464. 480 would be next, and its bits are NaN's; 496 is the tie after it.
            Case(quantize(19, (T.FLOAT, [464, 480, -495]), (T.FLOAT, 1), (T.FLOAT8E4M3FN, 0), saturate=0),
                 [448, nan, nan], [448, 448, -448])]),
    Difference(
        "onnxruntime.e5m2_infinity", "Cast-24: x > FLT_MAX is Inf for E5M2 when not saturated",
        quantizing(lambda e: not_saturated(e, T.FLOAT8E5M2, 61440, 65536)), [
            # Beyond 57344 and the tie after it, 61440, which goes to the even 65536.
            Case(quantize(19, (T.FLOAT, [61440, -65535, 65536]), (T.FLOAT, 1), (T.FLOAT8E5M2, 0), saturate=0),
                 [inf, -inf, inf], [nan, nan, inf])]),
    Difference(
        "onnxruntime.dequantized_int32", "DequantizeLinear-10: (x - x_zero_point) * x_scale",
        dequantizing(int32_difference_wraps), [
            # -2^31 - 1 is -2^31 as a float, and 2^31 - 1, as a float 2^31, when it wraps.
            Case(dequantize(10, (T.INT32, -2**31), (T.FLOAT, 1), (T.INT32, 1)), [-2.0**31], [2.0**31])]),
    Difference(
        "onnxruntime.dynamic_range_without_nan", "left open: the range of an x with NaN",
        dynamic(has_nan), [
            Case(dynamic_quantize(nan, 1), [nan], [float(np.float32(1) / 255)], output=1)]),
]
