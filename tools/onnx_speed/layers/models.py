"""Builds the model of one layer, and its x."""

import dataclasses
import itertools

import numpy
from onnx import TensorProto, helper, numpy_helper

from ..sessions import make_model
from .shapes import SHAPES, Shape

FLOAT, INT8, UINT8 = "float", "int8", "uint8"
ZERO_POINTS = {INT8: numpy.int8(0), UINT8: numpy.uint8(119)}  # as quantize_dynamic makes them: uint8's is seldom 128


@dataclasses.dataclass(frozen=True)
class Layer:
    """x: its type. A layer of floats reaches from DynamicQuantizeLinear to Relu, as quantize_dynamic makes it; with uint8
    it is the product alone. weights: their type."""

    kind: str
    shape: Shape
    x: str
    weights: str

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.shape.name}, {self.x} x, {self.weights} weights"


def all_layers() -> list[Layer]:
    types = list(itertools.product((FLOAT, UINT8), (INT8, UINT8)))
    return [Layer(kind, shape, *of) for kind, shapes in SHAPES.items() for shape in shapes for of in types]


def _bytes(shape: tuple[int, ...], kind: str) -> numpy.ndarray:
    limits = numpy.iinfo(kind)
    return numpy.random.default_rng(0).integers(limits.min, limits.max, shape, kind, endpoint=True)


def input_of(layer: Layer) -> numpy.ndarray:
    return numpy.random.default_rng(1).standard_normal(layer.shape.x, numpy.float32) if layer.x == FLOAT else _bytes(layer.shape.x, UINT8)


def model_of(layer: Layer) -> bytes:
    shape, constants = layer.shape, {"w": _bytes(layer.shape.w, layer.weights), "w_zero_point": ZERO_POINTS[layer.weights]}
    inputs = ["quantized", "w", "zero_point", "w_zero_point"]
    window = {} if shape.is_product else {"pads": [shape.kernel // 2] * 4, "strides": [shape.stride] * 2, "group": shape.groups}
    product = helper.make_node("MatMulInteger" if shape.is_product else "ConvInteger", inputs, ["sums"], "product", **window)
    if layer.x == UINT8:
        constants["zero_point"] = numpy.uint8(121)
        return _model([product], {"quantized": (TensorProto.UINT8, shape.x)}, {"sums": (TensorProto.INT32, None)}, constants)
    bias = numpy.random.default_rng(2).standard_normal(shape.channels, numpy.float32)
    constants |= {"w_scale": numpy.float32(0.01), "bias": bias if shape.is_product else bias.reshape(1, -1, 1, 1)}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["quantized", "scale", "zero_point"], "quantize"),
        product,
        helper.make_node("Cast", ["sums"], ["floats"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["scales"], "scales"),
        helper.make_node("Mul", ["floats", "scales"], ["scaled"], "rescale"),
        helper.make_node("Add", ["scaled", "bias"], ["sum"], "add"),
        helper.make_node("Relu", ["sum"], ["y"], "relu"),
    ]
    return _model(nodes, {"x": (TensorProto.FLOAT, shape.x)}, {"y": (TensorProto.FLOAT, None)}, constants)


def _model(nodes: list, inputs: dict, outputs: dict, constants: dict[str, numpy.ndarray]) -> bytes:
    return make_model(nodes, inputs, outputs, [numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items()], 17)
