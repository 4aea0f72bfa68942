"""Known differences of the CPU library of AMD Quark 0.13, built from its sources for x86-64."""
from math import inf

import numpy as np
from differences import Case, Difference, dequantizing, node_of, quantizing
from elements import as_double, unequal
from nodes import QUARK, Node, broadcast, tensor
from onnx import TensorProto as T


def quantize(x, scale, zero):
    return node_of("ExtendedQuantizeLinear", 1, (T.FLOAT, x), (T.FLOAT, scale), zero, {}, QUARK)


def default_axis(e):
    """Where the parameters along axis 0 differ from those along axis 1."""
    if "axis" in e.node.attributes or e.node.inputs[1].size == 1:
        return e.everywhere(False)
    scale, zero = (broadcast(parameter, e.x.shape, {"axis": 0}) for parameter in e.node.inputs[1:])
    return (scale != e.scale) | (zero != e.zero)


def float16_of_x(e):
    largest = 65504
    theirs, ours = (np.clip(number, -largest, largest).astype(np.float16) for number in (e.x, e.total))
    return unequal(theirs, ours) & (e.y_type == T.FLOAT16)


def dequantized_x(e):
    return unequal(as_double(e.x), e.dequantized(e.difference)) & (e.x_type == T.FLOAT16)


def bfloat16_overflows(e):
    # Halfway between the largest number, 2^128 - 2^120, and 2^128.
    return (abs(e.total.astype(np.float32)) >= 2.0**128 - 2.0**119) & (e.y_type == T.BFLOAT16)


def columns(op, x_type):
    """Two rows, two scales and no axis."""
    return Node(op, 1, (tensor(x_type, [[1, 2], [3, 4]]), tensor(T.FLOAT, [1, 2]), tensor(T.UINT8, [0, 0])), {}, QUARK)


QUARKS = [
    Difference(
        "quark.int64_arithmetic", "ExtendedQuantizeLinear: saturate((x / y_scale) + y_zero_point)",
        quantizing(lambda e: e.wraps(e.quotient, 64)), [
            Case(quantize([inf, 2.0**63], 1, (T.INT8, 0)), [127, 127], [-128, -128]),
            # -2^63 - 1 is 2^63 - 1 when it wraps.
            Case(quantize(-inf, 1, (T.INT8, -1)), [-128], [127])]),
    Difference(
        "quark.default_axis", "ExtendedQuantizeLinear, ExtendedDequantizeLinear: axis is 1 when left out",
        default_axis, [
            # Columns by 1 and 2; rows in Quark.
            Case(columns("ExtendedQuantizeLinear", T.FLOAT), [1, 1, 3, 2], [1, 2, 2, 2]),
            Case(columns("ExtendedDequantizeLinear", T.UINT8), [1, 4, 3, 8], [1, 2, 6, 8])], exact=False),
    Difference(
        "quark.float16", "ExtendedQuantizeLinear: (x / y_scale) + y_zero_point",
        quantizing(float16_of_x), [
            Case(quantize(3, 2, (T.FLOAT16, 1)), [2.5], [3])]),
    Difference(
        "quark.dequantized_float16", "ExtendedDequantizeLinear: (x - x_zero_point) * x_scale",
        dequantizing(dequantized_x), [
            Case(node_of("ExtendedDequantizeLinear", 1, (T.FLOAT16, 3), (T.FLOAT, 2), (T.FLOAT16, 1), {}, QUARK),
                 [4], [3])]),
    Difference(
        "quark.bfloat16_overflow", "ExtendedQuantizeLinear: bfloat16 saturates to 3.38953139e38",
        quantizing(bfloat16_overflows), [
            # 2^128 - 2^120 is the largest.
            Case(quantize([inf, -3.4e38], 1, (T.BFLOAT16, 0)),
                 [2.0**128 - 2.0**120, -2.0**128 + 2.0**120], [inf, -inf])]),
]
