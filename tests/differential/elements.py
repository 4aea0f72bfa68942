"""The operands of each element of y, its quotient by the specification, and the variants that peers compute."""
from functools import cached_property

import ml_dtypes
import numpy as np
from nodes import FLOAT8, INTEGERS, broadcast, dtype_of, limits, tensor, type_of
from onnx import TensorProto


def as_double(array):
    return np.asarray(array).astype(np.float64)


def unequal(a, b):
    """Where values differ. 0 and -0 are unequal, NaNs are equal."""
    return ((a != b) & ~(np.isnan(a) & np.isnan(b))) | ((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)))


class Elements:
    def __init__(self, node):
        self.node = node
        self.x, self.x_type = node.inputs[0], type_of(node.inputs[0])
        self.y_type = node.output_types[0]
        if node.dynamic:
            return
        self.scale = broadcast(node.inputs[1], self.x.shape, node.attributes)
        zero = node.zero_point
        self.zero = None if zero is None else broadcast(zero, self.x.shape, node.attributes)

    def everywhere(self, condition):
        return np.full(self.x.shape, condition)

    @cached_property
    def zeros(self):
        """Zero points as numbers, 0 where there are none."""
        return np.zeros(self.x.shape) if self.zero is None else as_double(self.zero)

    def quotient_in(self, dtype):
        """The quotient of x and scale, where all three are rounded to the type."""
        return as_double(self.x.astype(dtype) / self.scale.astype(dtype))

    @cached_property
    def division(self):
        """The type of the division, for NumPy."""
        chosen = self.node.attributes.get("precision") or type_of(self.node.inputs[1])
        return {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16,
                TensorProto.INT32: np.float64}.get(chosen, np.float32)

    @cached_property
    def quotient(self):
        return self.quotient_in(self.division)

    # ---- y

    @property
    def y(self):
        """By the specification, in its type."""
        if not self.node.quantizes:
            return self.dequantized(self.difference).astype(dtype_of(self.y_type))
        return tensor(self.y_type, self.integer_y(self.quotient) if self.y_type in INTEGERS else self.as_float(self.total))

    def as_float(self, total):
        """Numbers rounded to y's type, a float, as `saturate` says."""
        if self.y_type in FLOAT8 and self.node.attributes.get("saturate", 1):
            total = np.clip(total, *limits(self.y_type))
        return as_double(total.astype(dtype_of(self.y_type)))

    @property
    def total(self):
        """The sum that is rounded to y's type, if that is a float."""
        return self.plus_zero(self.quotient, self.division)

    def plus_zero(self, quotient, dtype):
        return quotient if self.zero is None else as_double((quotient + self.zeros).astype(dtype))

    def dequantized(self, difference):
        """y of DequantizeLinear, a float, from differences of x and zero point."""
        product = difference.astype(np.float32) * self.scale.astype(np.float32)
        return as_double(product.astype(dtype_of(self.y_type)))

    @property
    def difference(self):
        return as_double(self.x) - self.zeros

    def clamped(self, total):
        return np.clip(total, *limits(self.y_type))

    def integer_y(self, quotient):
        """y, an integer, from quotients; NaN gives the lowest value."""
        return self.clamped(np.where(np.isnan(quotient), -np.inf, np.rint(quotient)) + self.zeros)

    def wrapped_y(self, quotient, bits):
        """y, an integer, where the rounded quotient and the sum are integers of `bits` bits. As on x86 a quotient that
        does not fit becomes the lowest integer, and the sum wraps."""
        half = np.longdouble(2) ** (bits - 1)
        rounded = np.rint(quotient).astype(np.longdouble)
        total = np.where((rounded >= -half) & (rounded < half), rounded, -half) + self.zeros
        return self.clamped(np.where(total < -half, np.inf, np.where(total >= half, -np.inf, total)))

    def lands_elsewhere(self, quotient, dtype):
        """Where this quotient, of that type, gives a y that differs from the specification."""
        if self.y_type in INTEGERS:
            return self.integer_y(quotient) != self.integer_y(self.quotient)
        return unequal(self.as_float(self.plus_zero(quotient, dtype)), self.as_float(self.total))

    def wraps(self, quotient, bits):
        if self.y_type not in INTEGERS:
            return self.everywhere(False)
        return self.wrapped_y(quotient, bits) != self.integer_y(quotient)
