"""Generates a transformer: a BERT-like encoder with random weights, of the operators that PyTorch exports."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, HIDDEN, INNER = 6, 12, 384, 1536


class _Builder:
    def __init__(self, batch: int, tokens: int) -> None:
        self.batch, self.tokens = batch, tokens
        self.random = numpy.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: numpy.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def scalar(self, value: float) -> str:
        return self.constant(numpy.float32(value))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        w = self.random.standard_normal((inputs, outputs), numpy.float32) / numpy.float32(inputs**0.5)
        b = self.random.standard_normal(outputs, numpy.float32) / 10
        return self.op("Add", self.op("MatMul", x, self.constant(w)), self.constant(b))

    def heads(self, x: str, perm: list[int]) -> str:
        shape = self.constant(numpy.array([self.batch, self.tokens, HEADS, HIDDEN // HEADS]))
        return self.op("Transpose", self.op("Reshape", self.dense(x, HIDDEN, HIDDEN), shape), perm=perm)

    def norm(self, x: str) -> str:
        ones, zeros = self.constant(numpy.ones(HIDDEN, numpy.float32)), self.constant(numpy.zeros(HIDDEN, numpy.float32))
        return self.op("LayerNormalization", x, ones, zeros, axis=-1)

    def layer(self, x: str) -> str:
        query, key, value = (self.heads(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        weights = self.op("Softmax", self.op("Div", self.op("MatMul", query, key), self.scalar((HIDDEN / HEADS) ** 0.5)), axis=-1)
        joined = self.op("Transpose", self.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", joined, self.constant(numpy.array([self.batch, self.tokens, HIDDEN])))
        x = self.norm(self.op("Add", self.dense(joined, HIDDEN, HIDDEN), x))
        inner = self.dense(x, HIDDEN, INNER)
        erf = self.op("Erf", self.op("Div", inner, self.scalar(2**0.5)))
        gelu = self.op("Mul", self.op("Mul", inner, self.op("Add", erf, self.scalar(1))), self.scalar(0.5))
        return self.norm(self.op("Add", self.dense(gelu, INNER, HIDDEN), x))


def model(batch: int, tokens: int) -> onnx.ModelProto:
    """x: the embeddings of sequences."""
    builder, value = _Builder(batch, tokens), "x"
    for _ in range(LAYERS):
        value = builder.layer(value)
    builder.nodes.append(helper.make_node("Identity", [value], ["y"], "y"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, tokens, HIDDEN]) for name in "xy")
    graph = helper.make_graph(builder.nodes, "encoder", [x], [y], builder.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
