"""Builds a transformer's encoder, like BERT, of the operators that PyTorch exports; and generates one with random weights."""

from collections.abc import Callable

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, HIDDEN, INNER = 6, 12, 384, 1536


class Builder:
    """weights: gives those of a name in BERT and a shape, rows of a matrix for its inputs. extents: of batch and tokens; 0
    takes x's."""

    def __init__(self, weights: Callable[[str, tuple[int, ...]], numpy.ndarray], extents: tuple[int, int] = (0, 0)) -> None:
        self.weights, self.extents = weights, extents
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: numpy.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(numpy.array(values, numpy.int64))

    def scalar(self, value: float) -> str:
        return self.constant(numpy.float32(value))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def dense(self, x: str, name: str, inputs: int, outputs: int) -> str:
        w, b = self.weights(name + ".weight", (inputs, outputs)), self.weights(name + ".bias", (outputs,))
        return self.op("Add", self.op("MatMul", x, self.constant(w)), self.constant(b))

    def heads(self, x: str, name: str, perm: list[int]) -> str:
        shape = self.integers(*self.extents, HEADS, HIDDEN // HEADS)
        return self.op("Transpose", self.op("Reshape", self.dense(x, name, HIDDEN, HIDDEN), shape), perm=perm)

    def norm(self, x: str, name: str) -> str:
        gain, bias = (self.constant(self.weights(f"{name}.LayerNorm.{part}", (HIDDEN,))) for part in ("weight", "bias"))
        return self.op("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-12)

    def layer(self, x: str, index: int, mask: str = "") -> str:
        """mask: is added to the scores of attention."""
        at = f"encoder.layer.{index}."
        perms = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        query, key, value = (self.heads(x, f"{at}attention.self.{name}", perm) for name, perm in perms.items())
        scores = self.op("Div", self.op("MatMul", query, key), self.scalar((HIDDEN / HEADS) ** 0.5))
        shares = self.op("Softmax", self.op("Add", scores, mask) if mask else scores, axis=-1)
        joined = self.op("Transpose", self.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", joined, self.integers(*self.extents, HIDDEN))
        x = self.norm(self.op("Add", self.dense(joined, at + "attention.output.dense", HIDDEN, HIDDEN), x), at + "attention.output")
        inner = self.dense(x, at + "intermediate.dense", HIDDEN, INNER)
        erf = self.op("Erf", self.op("Div", inner, self.scalar(2**0.5)))
        gelu = self.op("Mul", self.op("Mul", inner, self.op("Add", erf, self.scalar(1))), self.scalar(0.5))
        return self.norm(self.op("Add", self.dense(gelu, at + "output.dense", INNER, HIDDEN), x), at + "output")

    def model(self, inputs: list[onnx.ValueInfoProto], result: str, y: onnx.ValueInfoProto) -> onnx.ModelProto:
        self.nodes.append(helper.make_node("Identity", [result], [y.name], y.name))
        graph = helper.make_graph(self.nodes, "encoder", inputs, [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _random_weights() -> Callable[[str, tuple[int, ...]], numpy.ndarray]:
    random = numpy.random.default_rng(0)

    def weights(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
        if "LayerNorm" in name:
            return numpy.full(shape, name.endswith("weight"), numpy.float32)
        values = random.standard_normal(shape, numpy.float32)
        return values / numpy.float32(shape[0] ** 0.5) if len(shape) == 2 else values / 10

    return weights


def model(batch: int, tokens: int) -> onnx.ModelProto:
    """x: the embeddings of sequences."""
    builder, value = Builder(_random_weights(), (batch, tokens)), "x"
    for index in range(LAYERS):
        value = builder.layer(value, index)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, tokens, HIDDEN]) for name in "xy")
    return builder.model([x], value, y)
