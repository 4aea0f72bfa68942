"""Draws random nodes: every type that ONNX's schemas allow at an opset, and values biased towards hard cases."""
import random

import ml_dtypes
import numpy as np
import onnx
from nodes import INTEGERS, QUARK, Node, dtype_of, limits, tensor
from onnx import TensorProto

OPSETS = (10, 11, 12, 13, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28)
QUARK_TYPES = [TensorProto.DataType.Value(name) for name in (
    "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8", "FLOAT16", "BFLOAT16")]
# Signalling and quiet NaNs, with fraction bits among those that bfloat16 drops and among those that it keeps.
NANS = np.array([0x7f800001, 0xff800001, 0x7f80ffff, 0xff80ffff, 0x7fc00000, 0x7fc00001, 0xffc0ffff], np.uint32)
PRECISIONS = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16]


def number_of(type_string):
    """The number of a type such as "tensor(float16)"."""
    return TensorProto.DataType.Value(type_string[len("tensor("):-1].upper())


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = np.random.default_rng(seed)

    def likely(self, probability):
        return self.random.random() < probability

    def node(self):
        kind = self.random.choices(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Extended"),
                                   (10, 6, 1, 3))[0]
        if kind == "DynamicQuantizeLinear":
            return Node(kind, self.random.choice([o for o in OPSETS if o >= 11]), (self.any_reals(self.shape()),))
        return self.quark() if kind == "Extended" else self.standard(kind)

    def quark(self):
        op = self.random.choice(("ExtendedQuantizeLinear", "ExtendedDequantizeLinear"))
        quantized = self.random.choice(QUARK_TYPES)
        x_type = TensorProto.FLOAT if op == "ExtendedQuantizeLinear" else quantized
        x_shape, parameters, attributes = self.granularity(["axis"])
        x, scale, _ = self.inputs((x_type, TensorProto.FLOAT), quantized, x_shape, parameters)
        zero = self.zero_point(quantized, parameters) if self.likely(0.95) else None
        return Node(op, 1, (x, scale, zero), attributes, QUARK)

    def standard(self, op):
        opset = self.random.choice(OPSETS)
        schema = onnx.defs.get_schema(op, opset)
        allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        drawn = {param: number_of(self.random.choice(strings)) for param, strings in allowed.items()}
        x_type, scale_type = (drawn.get(i.type_str) or number_of(i.type_str) for i in schema.inputs[:2])
        x_shape, parameters, attributes = self.granularity(schema.attributes)
        quantized = drawn[schema.inputs[2].type_str] if op == "QuantizeLinear" else x_type
        x, scale, zero = self.inputs((x_type, scale_type), quantized, x_shape, parameters)
        if op == "QuantizeLinear":
            self.quantizing_attributes(schema.attributes, attributes, quantized, zero)
        elif "output_dtype" in schema.attributes and (scale_type == TensorProto.FLOAT8E8M0 or self.likely(0.5)):
            attributes["output_dtype"] = self.random.choice(PRECISIONS)
        return Node(op, opset, (x, scale, zero), attributes)

    def quantizing_attributes(self, known, attributes, quantized, zero):
        if "output_dtype" in known and (zero is None or self.likely(0.3)):
            attributes["output_dtype"] = quantized
        if "precision" in known and self.likely(0.3):
            attributes["precision"] = self.random.choice(PRECISIONS)
        if "saturate" in known and self.likely(0.5):
            attributes["saturate"] = self.random.randint(0, 1)

    def inputs(self, types, quantized, x_shape, parameters):
        x_type, scale_type = types
        scale = self.scale(scale_type, parameters)
        with_zero = self.likely(0.6 if quantized in INTEGERS else 0.4)
        zero = self.zero_point(quantized, parameters) if with_zero else None
        if x_type == quantized and x_type not in (TensorProto.FLOAT, TensorProto.INT32):
            x = self.codes(x_type, x_shape)
        elif x_type == TensorProto.INT32:
            x = self.int32s(x_shape, scale, quantized)
        else:
            x = self.reals(x_type, x_shape, scale, quantized)
        return x, scale, zero

    # ---- shapes

    def shape(self, least=0):
        rank = self.random.choices(range(least, 5), [1, 3, 4, 3, 2][least:])[0]
        if rank == 1 and self.likely(0.5):
            return (self.random.choice((1, 7, 16, 33, 100)),)
        return tuple(0 if self.likely(0.03) else self.random.randint(1, 6) for _ in range(rank))

    def granularity(self, known):
        """The shapes of x and scale, and matching attributes."""
        kinds = ["tensor"] + ["axis"] * ("axis" in known) + ["block"] * ("block_size" in known)
        kind = self.random.choice(kinds)
        if kind == "tensor":
            return self.shape(), self.random.choice(((), (1,))), {}
        shape = self.shape(least=1)
        axis = self.random.randrange(len(shape))
        attributes = {"axis": axis - len(shape) if self.likely(0.5) else axis}
        if axis == 1 and self.likely(0.5):
            del attributes["axis"]  # leaves the default
        if kind == "axis":
            return shape, (shape[axis],), attributes
        attributes["block_size"] = size = self.random.randint(1, max(1, shape[axis]))
        return shape, shape[:axis] + (-(-shape[axis] // size),) + shape[axis + 1:], attributes

    # ---- values

    def scale(self, type_number, shape):
        count = int(np.prod(shape))
        if type_number == TensorProto.INT32:
            return tensor(type_number, self.values.integers(1, self.random.choice((3, 100, 2**31)), count), shape)
        kind = self.random.choices(("even", "any", "wild", "special"), (3, 4, 2, 1))[0]
        if kind == "even":
            values = 2.0**self.values.integers(-6, 6, count)
        elif kind == "any":
            values = self.values.uniform(0.01, 3, count)
        else:
            values = 2.0**self.values.uniform(-140, 127, count)
        if kind == "special":
            strange = [np.inf, np.nan, 2.0**-149, 2.0**127]
            if type_number != TensorProto.FLOAT8E8M0:  # has neither zero nor sign
                strange += [0.0, -0.0, -1.5, -np.inf]
            values = self.random.choices(strange, k=count)
        return self.with_any_nan(tensor(type_number, values, shape))

    def with_any_nan(self, array):
        """The array; in an array of floats NaNs become some of NANS."""
        if array.dtype == np.float32:
            nan = np.isnan(array)
            array.view(np.uint32)[nan] = self.values.choice(NANS, np.count_nonzero(nan))
        return array

    def zero_point(self, type_number, shape):
        count = int(np.prod(shape))
        lowest, highest = limits(type_number)
        if type_number in INTEGERS:
            span = (int(lowest), int(highest) + 1)
            return tensor(type_number, self.values.integers(*span, count), shape)
        if self.likely(0.5):
            return tensor(type_number, np.zeros(count), shape)
        return tensor(type_number, self.random.choices((0.5, 1, -1, 2, 1.5, -3), k=count), shape)

    def codes(self, type_number, shape):
        """Any bits."""
        count = int(np.prod(shape))
        if type_number in INTEGERS:
            lowest, highest = limits(type_number)
            return tensor(type_number, self.values.integers(int(lowest), int(highest) + 1, count), shape)
        dtype = np.dtype(dtype_of(type_number))
        bits = {TensorProto.FLOAT4E2M1: 4, TensorProto.FLOAT6E2M3: 6, TensorProto.FLOAT6E3M2: 6}
        most = 2**bits.get(type_number, 8 * dtype.itemsize)
        return self.values.integers(0, most, count).astype(f"u{dtype.itemsize}").view(dtype).reshape(shape)

    def int32s(self, shape, scale, quantized):
        count = int(np.prod(shape))
        most = self.random.choice((10, 1000, 2**25, 2**31 - 1))
        values = self.values.integers(-most, most, count)
        if quantized != TensorProto.INT32 and self.likely(0.5):
            about = np.nan_to_num(np.rint(self.about(scale, quantized, count)))
            values = np.clip(about, -2.0**31, 2.0**31 - 1)
        return tensor(TensorProto.INT32, values, shape)

    def any_reals(self, shape):
        count = int(np.prod(shape))
        kind = self.random.choices(("normal", "one sign", "zeros", "wild", "special"), (4, 3, 1, 2, 2))[0]
        values = self.values.normal(size=count) * 2.0**self.random.randint(-20, 20)
        if kind == "one sign":
            values = abs(values) * self.random.choice((1, -1))
        elif kind == "zeros":
            values = values * 0
        elif kind == "wild":
            values = values * 2.0**self.values.uniform(-100, 100, count)
        elif kind == "special" and count:
            values[self.values.integers(0, count)] = self.random.choice((np.inf, -np.inf, np.nan, 3e38))
        return self.with_any_nan(tensor(TensorProto.FLOAT, values, shape))

    def reals(self, type_number, shape, scale, quantized):
        count = int(np.prod(shape))
        values = self.about(scale, quantized, count)
        if self.likely(0.4):
            special = self.values.choice((np.inf, -np.inf, np.nan, 0.0, -0.0, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63),
                                          1e30, -1e30, 65519, 65520, 2.0**-149), count)
            values = np.where(self.values.random(count) < 0.3, special, values)
        return self.with_any_nan(tensor(type_number, values, shape))

    def about(self, scale, quantized, count):
        """Values at and near ties of y, near its limits, and beyond, each for one of the scales."""
        scales = scale.reshape(-1).astype(np.float64)
        by = self.values.choice(scales, count) if scales.size else np.ones(count)
        lowest, highest = limits(quantized)
        highest = min(highest, 2.0**33)
        lowest = max(lowest, -(2.0**33))
        kinds = np.stack([self.values.integers(-20, 20, count) / 2, self.values.normal(size=count) * 5,
                          self.values.uniform(lowest, highest, count), self.near_ties(quantized, count),
                          self.values.choice((lowest, highest), count) * self.values.uniform(0.9, 1.2, count)])
        values = kinds[self.values.choice(len(kinds), count, p=(0.15, 0.25, 0.15, 0.3, 0.15)), np.arange(count)]
        with np.errstate(all="ignore"):
            return values * by * self.values.choice((1, 1 + 2.0**-22, 1 - 2.0**-22), count)

    def near_ties(self, quantized, count):
        """Numbers of y's type and midpoints between two of them."""
        if quantized in INTEGERS:
            return np.clip(self.values.normal(size=count) * 100, *limits(quantized)).round() + 0.5
        mantissa = ml_dtypes.finfo(dtype_of(quantized)).nmant
        with np.errstate(all="ignore"):
            codes = self.codes(quantized, (count,)).astype(np.float64)
        codes = np.where(np.isfinite(codes), codes, 1)
        steps = 2.0 ** (np.floor(np.log2(np.maximum(abs(codes), 2.0**-149))) - mantissa)
        return codes + self.values.choice((0, 0.5, 0.25, -0.5), count) * steps
