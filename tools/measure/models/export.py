"""Exports a network of training.py as an ONNX model of float32."""

import onnx
from onnx import TensorProto, helper, numpy_helper

from .digits import CLASSES, SIZE
from .training import Activation, Convolution, Dense, Flatten, Layer, Network, Pool

OPSET = 21


def _node(layer: Layer, x: str, name: str) -> onnx.NodeProto:
    constants = [f"{name}_weights", f"{name}_bias"] if layer.parameters else []
    match layer:
        case Dense():
            operator, attributes = "Gemm", {}
        case Convolution():
            operator, attributes = "Conv", {"pads": [1, 1, 1, 1]}
        case Pool():
            operator, attributes = "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}
        case Flatten():
            operator, attributes = "Flatten", {}
        case Activation():
            operator, attributes = layer.name, {}
        case _:
            raise TypeError(f"expected a layer of training.py, given {type(layer).__name__}")
    return helper.make_node(operator, [x, *constants], [name], name=name, **attributes)


def model_of(network: Network, name: str) -> onnx.ModelProto:
    """A model from "images" [N, 1, 8, 8] to "scores" [N, 10]."""
    nodes, constants, x = [], [], "images"
    for place, layer in enumerate(network, 1):
        y = "scores" if layer is network[-1] else f"{type(layer).__name__.lower()}{place}"
        nodes.append(_node(layer, x, y))
        constants += [numpy_helper.from_array(p, n) for p, n in zip(layer.parameters, nodes[-1].input[1:])]
        x = y
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", CLASSES])],
        constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model
