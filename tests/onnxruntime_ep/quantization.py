"""Nodes that quantize and dequantize as models, and their results by ONNX's definitions (docs/onnx_operators.md, "What is computed")."""
import pathlib
import sys

import numpy as np
from layers import model
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "differential"))
import nodes
import peers
from elements import Elements
from nodes import FLOAT8, dtype_of, limits, raw_bytes, type_of

F = np.float32
FLOAT, HALF, BFLOAT16, INT32 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT32
BYTES, SHORTS = (TensorProto.UINT8, TensorProto.INT8), (TensorProto.UINT16, TensorProto.INT16)
FOUR_BITS = (TensorProto.UINT4, TensorProto.INT4)


def quantize(x, scale, zero_point, kind, attributes):
    return Elements(nodes.Node("QuantizeLinear", 23, (x, scale, zero_point.astype(dtype_of(kind))), attributes)).y


def dequantize(x, scale, zero_point, attributes):
    return Elements(nodes.Node("DequantizeLinear", 23, (x, scale, zero_point), attributes)).y


class Node:
    """A model of one node, QuantizeLinear or DequantizeLinear, and what it is to compute."""

    def __init__(self, random, op, real, scale, quantized, granularity="tensor", opset=21, is_open=False, constants=True,
                 shape=None, **attributes):
        self.random, self.op, self.opset, self.attributes = random, op, opset, attributes
        self.quantizes = op == "QuantizeLinear"
        self.x_kind, self.y_kind = (real, quantized) if self.quantizes else (quantized, real)
        self.quantized, self.is_open, self.is_constant = quantized, is_open, constants
        self.shape = shape or tuple(random.integers(1, 9, 1 if granularity == "vector" else random.integers(2, 5)).tolist())
        parameters = ()
        if granularity not in ("tensor", "scalar"):
            axis = len(self.shape) - 1 if granularity in ("last", "vector") else int(random.integers(0, len(self.shape)))
            attributes["axis"] = axis - len(self.shape) if random.random() < 0.3 else axis
            parameters = (self.shape[axis],)
            if granularity == "blocks":
                attributes["block_size"] = block = int(random.integers(2, 9))
                parameters = tuple(-(-n // block) if d == axis else n for d, n in enumerate(self.shape))
        if granularity == "scalar":
            self.shape = ()
        self.scale = random.uniform(0.01, 0.2, parameters).astype(F).astype(dtype_of(scale))
        self.zero_point = self.draw_quantized(parameters)
        if quantized in (INT32, *FLOAT8):
            self.zero_point = np.zeros(parameters, dtype_of(quantized))  # as the specification wants it

    def draw_quantized(self, shape):
        low, high = (-100, 100) if self.quantized in FLOAT8 else map(int, limits(self.quantized))
        return self.random.integers(low, high, shape, endpoint=True).astype(dtype_of(self.quantized))

    def draw_x(self):
        if not self.quantizes:
            return self.draw_quantized(self.shape)
        low, high = limits(self.quantized)
        x = self.random.uniform(1.5 * low, 1.5 * high, self.shape) * 0.1
        return (np.rint(x) if self.x_kind == INT32 else x.astype(F)).astype(dtype_of(self.x_kind))

    def parameters(self):
        return {"scale": self.scale, "zero_point": self.zero_point}

    def model(self):
        open_shape = [None] * len(self.shape) if self.is_open else self.shape
        inputs, constants = {"x": (self.x_kind, open_shape)}, self.parameters()
        if not self.is_constant:
            inputs |= {name: (type_of(value), value.shape) for name, value in constants.items()}
            constants = {}
        node = helper.make_node(self.op, ["x", "scale", "zero_point"], ["y"], "node", **self.attributes)
        return model([node], inputs, {"y": (self.y_kind, None)}, self.opset, constants)

    def run(self, session, x):
        given = {"x": x} if self.is_constant else {"x": x, **self.parameters()}
        (y,) = peers.run_bound(session, given, [self.y_kind])
        return y.shape, raw_bytes(y)

    def expected(self, x):
        node = nodes.Node(self.op, self.opset, (x, self.scale, self.zero_point), self.attributes)
        return x.shape, raw_bytes(Elements(node).y)
