"""Compares the rescalings of a pre-quantized model in integer arithmetic with ONNX's operators.

Integer hardware multiplies by an integer and shifts right, rounding half to even.
"""

import numpy
import onnx

from .runtime import Values


def quant_scale_and_shift(multiplier: float) -> tuple[int, int]:
    """The integer and N of multiplier = integer * 2^-N. Exact: an f32 has 24 bits."""
    numerator, denominator = float(multiplier).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def shifted(product: numpy.ndarray, shift: int) -> numpy.ndarray:
    """product * 2^-shift, rounded to nearest, ties to even."""
    if shift >= 62:
        return numpy.zeros_like(product)  # a product of 32 and 24 bits is below 2^61, half of the divisor
    floor, rest = product >> shift, product & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    return floor + ((rest > half) | ((rest == half) & (half > 0) & (floor & 1 == 1)))


def rescaled(sums: numpy.ndarray, multipliers: list[float], relu: bool, to: numpy.dtype) -> numpy.ndarray:
    """Rescales sums in integer arithmetic."""
    scale, shift = 1, 0
    for multiplier in multipliers:
        integer, bits = quant_scale_and_shift(multiplier)
        scale, shift = scale * integer, shift + bits
    y = shifted(sums.astype(numpy.int64) * scale, shift)
    limits = numpy.iinfo(to)
    return numpy.clip(numpy.maximum(y, 0) if relu else y, limits.min, limits.max).astype(to)


def differences(model: onnx.ModelProto, values: Values) -> tuple[int, int, int]:
    """Of all layers that round to 8 bits: how many results differ, of how many, and by how much at most. values: all values of
    a run. Precondition: a layer has one multiplier, or Quant_scale and Quant_shift, for all channels."""
    users = {name: node for node in model.graph.node for name in node.input[:1]}
    differing = elements = largest = 0
    for cast in model.graph.node:
        if cast.op_type != "Cast" or values[cast.input[0]].dtype != numpy.int32:
            continue
        node, multipliers, relu = users[cast.output[0]], [], False
        while node.op_type in ("Mul", "Relu"):
            if node.op_type == "Mul":
                multipliers.append(float(values[node.input[1]]))
            relu |= node.op_type == "Relu"
            node = users[node.output[0]]
        if node.op_type == "QuantizeLinear":
            expected = values[node.output[0]]
            given = rescaled(values[cast.input[0]], multipliers, relu, expected.dtype)
            apart = numpy.abs(given.astype(int) - expected.astype(int))
            differing, elements, largest = differing + int((apart > 0).sum()), elements + apart.size, max(largest, int(apart.max(initial=0)))
    return differing, elements, largest
