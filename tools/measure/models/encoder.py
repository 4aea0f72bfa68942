"""Builds a transformer's encoder, like BERT, of the operators that PyTorch exports; and generates one with random weights."""

from collections.abc import Callable

import numpy
import onnx
from onnx import TensorProto

from ..sessions import Graph

LAYERS, HEADS, HIDDEN, INNER = 6, 12, 384, 1536


def integers(*values: int) -> numpy.ndarray:
    return numpy.array(values, numpy.int64)


class Builder(Graph):
    """weights: gives those of a name in BERT and a shape, rows of a matrix for its inputs. extents: of batch and tokens; 0
    takes x's."""

    def __init__(self, weights: Callable[[str, tuple[int, ...]], numpy.ndarray], extents: tuple[int, int] = (0, 0)) -> None:
        super().__init__()
        self.weights, self.extents = weights, extents

    def dense(self, x: str, name: str, inputs: int, outputs: int) -> str:
        w, b = self.weights(name + ".weight", (inputs, outputs)), self.weights(name + ".bias", (outputs,))
        return self.op("Add", self.op("MatMul", x, w), b)

    def heads(self, x: str, name: str, perm: list[int]) -> str:
        shape = integers(*self.extents, HEADS, HIDDEN // HEADS)
        return self.op("Transpose", self.op("Reshape", self.dense(x, name, HIDDEN, HIDDEN), shape), perm=perm)

    def norm(self, x: str, name: str) -> str:
        gain, bias = (self.weights(f"{name}.LayerNorm.{part}", (HIDDEN,)) for part in ("weight", "bias"))
        return self.op("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-12)

    def layer(self, x: str, index: int, mask: str = "") -> str:
        """mask: is added to the scores of attention."""
        at = f"encoder.layer.{index}."
        perms = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        query, key, value = (self.heads(x, f"{at}attention.self.{name}", perm) for name, perm in perms.items())
        scores = self.op("Div", self.op("MatMul", query, key), numpy.float32((HIDDEN / HEADS) ** 0.5))
        shares = self.op("Softmax", self.op("Add", scores, mask) if mask else scores, axis=-1)
        joined = self.op("Transpose", self.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", joined, integers(*self.extents, HIDDEN))
        x = self.norm(self.op("Add", self.dense(joined, at + "attention.output.dense", HIDDEN, HIDDEN), x), at + "attention.output")
        inner = self.dense(x, at + "intermediate.dense", HIDDEN, INNER)
        erf = self.op("Erf", self.op("Div", inner, numpy.float32(2**0.5)))
        gelu = self.op("Mul", self.op("Mul", inner, self.op("Add", erf, numpy.float32(1))), numpy.float32(0.5))
        return self.norm(self.op("Add", self.dense(gelu, at + "output.dense", INNER, HIDDEN), x), at + "output")


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
    of = TensorProto.FLOAT, [batch, tokens, HIDDEN]
    return onnx.load_from_string(builder.model({"x": of}, {value: of}, 17))
