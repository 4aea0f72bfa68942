"""Builds models of layers one behind the other, with narrow weights and with the float ones that these mean."""

import dataclasses

import ml_dtypes
import numpy
from onnx import TensorProto, helper, numpy_helper

from ..sessions import make_model

LAYERS, ROWS = 4, (1, 4, 8, 16, 128)
BLOCK, SIDE = 32, 7  # inputs of an output that share a scale; of an image


@dataclasses.dataclass(frozen=True)
class Weights:
    """How floats become narrow. most: of the codes. granularity: what has a scale, "column": an output."""

    name: str
    dtype: type
    most: int
    granularity: str
    zero_points: bool = False


INT8, FLOAT8 = Weights("int8 per column", numpy.int8, 127, "column"), Weights("float8e4m3fn per column", ml_dtypes.float8_e4m3fn, 448, "column")
INT4 = Weights(f"int4 in blocks of {BLOCK}", ml_dtypes.int4, 7, "block")
WEIGHTS = [
    INT8,
    Weights("int8 per tensor", numpy.int8, 127, "tensor"),
    Weights("uint8 per column, zero points", numpy.uint8, 255, "column", zero_points=True),
    INT4,
    FLOAT8,
]


@dataclasses.dataclass(frozen=True)
class Chain:
    """Gemm with bias, and Relu between; is_convolution: Conv of one tap. features: inputs and outputs of each layer."""

    features: int
    weights: Weights
    is_convolution: bool = False

    @property
    def layers(self) -> str:
        f = self.features
        return f"1x1 Conv, {f} to {f} channels, {SIDE} x {SIDE}" if self.is_convolution else f"Gemm, {f} x {f}"

    @property
    def name(self) -> str:
        return f"{self.layers}, {self.weights.name}"

    @property
    def rows(self) -> tuple[int, ...]:
        """The measured numbers of vectors that the weights multiply."""
        return (SIDE * SIDE,) if self.is_convolution else ROWS

    def shape_of_x(self, rows: int | str) -> tuple:
        return (1, self.features, SIDE, SIDE) if self.is_convolution else (rows, self.features)


def all_chains() -> list[Chain]:
    return [*(Chain(features, weights) for features in (2048, 512) for weights in WEIGHTS), Chain(256, INT8, is_convolution=True)]


def input_of(chain: Chain, rows: int) -> numpy.ndarray:
    return numpy.random.default_rng(1).standard_normal(chain.shape_of_x(rows), numpy.float32)


def quantized(values: numpy.ndarray, weights: Weights) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """values: [outputs, inputs]. Codes, and scales and zero points as DequantizeLinear takes them."""
    outputs = len(values)
    groups = values.reshape({"tensor": (1, 1, -1), "column": (outputs, 1, -1), "block": (outputs, -1, BLOCK)}[weights.granularity])
    low, high = groups.min(axis=-1, keepdims=True), groups.max(axis=-1, keepdims=True)
    scales = (high - low) / weights.most if weights.zero_points else numpy.maximum(-low, high) / weights.most
    zero_points = numpy.rint(-low / scales) if weights.zero_points else numpy.zeros_like(scales)
    codes = groups / scales + zero_points
    if weights is not FLOAT8:
        codes = numpy.clip(numpy.rint(codes), 0 if weights.zero_points else -weights.most, weights.most)
    shape = {"tensor": (), "column": (outputs,), "block": scales.shape[:2]}[weights.granularity]
    return codes.reshape(values.shape).astype(weights.dtype), scales.reshape(shape), zero_points.reshape(shape).astype(weights.dtype)


def dequantized(codes: numpy.ndarray, scales: numpy.ndarray, zero_points: numpy.ndarray) -> numpy.ndarray:
    """As DequantizeLinear defines it, in float."""

    def spread(of: numpy.ndarray) -> numpy.ndarray:
        of = of.astype(numpy.float32)
        return of if of.ndim == 0 else numpy.repeat(of.reshape(len(codes), -1), codes.shape[1] // (of.size // len(codes)), axis=1)

    return (codes.astype(numpy.float32) - spread(zero_points)) * spread(scales)


def constants_of(chain: Chain, layer: int) -> tuple[tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray], numpy.ndarray]:
    """Codes, scales and zero points; and the bias. Values keep their size from layer to layer."""
    random = numpy.random.default_rng([2, layer])
    values = random.standard_normal((chain.features, chain.features), numpy.float32) * numpy.float32((2 / chain.features) ** 0.5)
    return quantized(values, chain.weights), random.standard_normal(chain.features, numpy.float32)


def model_of(chain: Chain, is_narrow: bool) -> bytes:
    """is_narrow: with DequantizeLinear of each layer's weights; else with what it gives, as if it were folded."""
    x, nodes, constants = "x", [], []
    attributes = {"tensor": {}, "column": {"axis": 0}, "block": {"axis": 1, "block_size": BLOCK}}[chain.weights.granularity]
    for i in range(LAYERS):
        of_weights, bias = constants_of(chain, i)
        shape = of_weights[0].shape + ((1, 1) if chain.is_convolution else ())
        if is_narrow:
            given = [of_weights[0].reshape(shape), *(of_weights[1:] if chain.weights.zero_points else of_weights[1:2])]
            names = [f"{name}{i}" for name in ("w", "scale", "zero_point")][: len(given)]
            constants += [numpy_helper.from_array(value, name) for value, name in zip(given, names, strict=True)]
            nodes.append(helper.make_node("DequantizeLinear", names, [f"float{i}"], f"dequantize{i}", **attributes))
        else:
            constants.append(numpy_helper.from_array(dequantized(*of_weights).reshape(shape), f"float{i}"))
        constants.append(numpy_helper.from_array(bias, f"bias{i}"))
        op, of_op = ("Conv", {}) if chain.is_convolution else ("Gemm", {"transB": 1})
        nodes.append(helper.make_node(op, [x, f"float{i}", f"bias{i}"], [f"y{i}"], f"product{i}", **of_op))
        x = f"y{i}"
        if i + 1 < LAYERS:
            nodes.append(helper.make_node("Relu", [x], [f"x{i + 1}"], f"relu{i}"))
            x = f"x{i + 1}"
    return make_model(nodes, {"x": (TensorProto.FLOAT, chain.shape_of_x("rows"))}, {x: (TensorProto.FLOAT, None)}, constants, 21)
