"""Rewrites models so that ONNX Runtime computes integer products by constant weights exactly, on every processor.

Without VNNI, ONNX Runtime's MatMulInteger adds two products of 8 bits in 16 bits, which saturates: 2 * 255 * 127
becomes 32767."""

import functools

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..sessions import RUNTIME, Graph, Peer, session

_PRODUCTS = "MatMulInteger", "ConvInteger"


@functools.cache
def _saturates() -> bool:
    graph = Graph()
    y = graph.op("MatMulInteger", "x", numpy.full((4, 1), 127, numpy.int8))
    model = graph.model({"x": (TensorProto.UINT8, [1, 4])}, {y: (TensorProto.INT32, [1, 1])}, 11)
    (y,) = session(model, Peer(RUNTIME), 1).run(None, {"x": numpy.full((1, 4), 255, numpy.uint8)})
    return y.item() != 4 * 255 * 127


def _halves(node: onnx.NodeProto, w: numpy.ndarray) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Replaces a product by the sum of two, whose weights are from -64 to 64 and so cannot saturate."""
    x, name, *zero_points = node.input
    (y,) = node.output
    halves = {f"{name} for {y}, {part}": half for part, half in (("low", w >> 1), ("high", w - (w >> 1)))}
    nodes = []
    for half, given in zip(halves, (zero_points, zero_points[:1])):
        nodes.append(onnx.NodeProto())
        nodes[-1].CopyFrom(node)
        nodes[-1].name = half
        nodes[-1].input[:] = [x, half, *given]
        nodes[-1].output[:] = [half + ", product"]
    add = helper.make_node("Add", [n.output[0] for n in nodes], [y])
    return [*nodes, add], [numpy_helper.from_array(half, name) for name, half in halves.items()]


def exact(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model itself, or if ONNX Runtime saturates an equal one with smaller weights. Only initializers that no input
    overrides are constant weights."""
    if not _saturates():
        return model
    inputs = {value.name for value in model.graph.input}
    constants = {constant.name: constant for constant in model.graph.initializer if constant.name not in inputs}
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    for node in model.graph.node:
        w = constants.get(node.input[1]) if node.op_type in _PRODUCTS else None
        if w is None or w.data_type != TensorProto.INT8:
            result.graph.node.append(node)
            continue
        nodes, halves = _halves(node, numpy_helper.to_array(w))
        result.graph.node.extend(nodes)
        result.graph.initializer.extend(halves)
    return result
