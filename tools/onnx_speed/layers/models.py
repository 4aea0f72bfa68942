"""Builds the model of one layer, and its x."""

import dataclasses
import itertools

import numpy
from onnx import TensorProto, helper, numpy_helper

from ..sessions import make_model
from .shapes import SHAPES, Shape

FLOAT, INT8, UINT8 = "float", "int8", "uint8"


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


def float_weights(layer: Layer) -> numpy.ndarray:
    return numpy.random.default_rng(0).standard_normal(layer.shape.w, numpy.float32)


def _quantized_weights(layer: Layer) -> dict[str, numpy.ndarray]:
    """By quantize_dynamic's formulas. Random bytes would be larger than trained weights are, and saturate more often."""
    values = float_weights(layer)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    least, most = 0, 255
    if layer.weights == INT8:
        low, high = min(low, -high), max(high, -low)
        least, most = -127, 127
    zero_point = numpy.rint(least - low * (most - least) / (high - low))
    scale = numpy.float32((high - low) / (most - least))
    w = numpy.clip(numpy.rint(values / scale) + zero_point, least, most)
    return {"w": w.astype(layer.weights), "w_zero_point": zero_point.astype(layer.weights), "w_scale": scale}


def input_of(layer: Layer) -> numpy.ndarray:
    if layer.x == FLOAT:
        return numpy.random.default_rng(1).standard_normal(layer.shape.x, numpy.float32)
    return numpy.random.default_rng(1).integers(0, 255, layer.shape.x, UINT8, endpoint=True)


def model_of(layer: Layer) -> bytes:
    shape, constants = layer.shape, _quantized_weights(layer)
    inputs = ["quantized", "w", "zero_point", "w_zero_point"]
    window = {} if shape.is_product else {"pads": [shape.kernel // 2] * 4, "strides": [shape.stride] * 2, "group": shape.groups}
    product = helper.make_node("MatMulInteger" if shape.is_product else "ConvInteger", inputs, ["sums"], "product", **window)
    if layer.x == UINT8:
        del constants["w_scale"]
        constants["zero_point"] = numpy.uint8(121)
        return _model([product], {"quantized": (TensorProto.UINT8, shape.x)}, {"sums": (TensorProto.INT32, None)}, constants)
    bias = numpy.random.default_rng(2).standard_normal(shape.channels, numpy.float32)
    constants |= {"bias": bias if shape.is_product else bias.reshape(1, -1, 1, 1)}
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
