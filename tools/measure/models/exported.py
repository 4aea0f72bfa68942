"""Parts of transformers, with random weights, in the nodes that PyTorch's exporter to ONNX writes for Hugging Face's.

Batches and sequences have any length, which the nodes take from shapes. No PyTorch is needed.
"""

import dataclasses

import numpy
import onnx
from onnx import TensorProto

from ..sessions import Graph
from .encoder import integers

F32 = numpy.float32
LOWEST = F32(numpy.finfo(F32).min)
ROWS = 1000  # of an embedding; how many it has costs no time
POSITIONS = 1024  # at most


@dataclasses.dataclass(frozen=True)
class Size:
    """inner: the width between a layer's last two products. outputs: those of a product behind the layers."""

    layers: int
    width: int
    heads: int
    inner: int
    outputs: int = 0

    @property
    def head(self) -> int:
        return self.width // self.heads


class Exported(Graph):
    """opset: before 17 LayerNormalization is its parts."""

    def __init__(self, opset: int = 17) -> None:
        super().__init__()
        self.opset = opset
        self._random = numpy.random.default_rng(0)
        self._inputs: dict[str, tuple] = {}

    def input(self, name: str, kind: int, *shape: str | int) -> str:
        self._inputs[name] = kind, list(shape)
        return name

    def of_outputs(self, *names: str) -> onnx.ModelProto:
        outputs = dict.fromkeys(names, (TensorProto.FLOAT, None))
        return onnx.load_from_string(self.model(self._inputs, outputs, self.opset))

    def normal(self, *shape: int, deviation: float = 0.1) -> numpy.ndarray:
        return self._random.standard_normal(shape, F32) * F32(deviation)

    def weights(self, *shape: int) -> numpy.ndarray:
        """Those of a product keep the deviation of what they multiply. shape: begins with a filter's outputs if it has
        more than two extents; rows of a matrix are inputs."""
        return self.normal(*shape, deviation=float(numpy.prod(shape[1:] if len(shape) > 2 else shape[:1])) ** -0.5)


def extent(g: Exported, x: str, axis: int) -> str:
    return g.op("Gather", g.op("Shape", x), numpy.array(axis, numpy.int64))


def shape(g: Exported, *extents: str | int) -> str:
    """extents: numbers, and names of scalars."""
    parts = (g.op("Unsqueeze", e, integers(0)) if isinstance(e, str) else integers(e) for e in extents)
    return g.op("Concat", *parts, axis=0)


def counted(g: Exported, first: str | int, end: str) -> str:
    """The integers from first on."""
    start = first if isinstance(first, str) else numpy.array(first, numpy.int64)
    return g.op("Range", start, end, numpy.array(1, numpy.int64))


def part(g: Exported, x: str, axis: int, first: int, end: int) -> str:
    return g.op("Slice", x, integers(first), integers(end), integers(axis), integers(1))


def embedding(g: Exported, ids: str, width: int, rows: int = ROWS) -> str:
    return g.op("Gather", g.normal(rows, width), ids)


def linear(g: Exported, x: str, inputs: int, outputs: int, has_bias: bool = True, factor: float = 1) -> str:
    """factor: of the weights."""
    product = g.op("MatMul", x, g.weights(inputs, outputs) * F32(factor))
    return g.op("Add", g.normal(outputs), product) if has_bias else product


def conv1d(g: Exported, x: str, inputs: int, outputs: int) -> str:
    """A linear layer of GPT-2, which flattens x to a matrix."""
    rows = g.op("Reshape", x, integers(-1, inputs))
    y = g.op("Gemm", rows, g.weights(inputs, outputs), g.normal(outputs))
    return g.op("Reshape", y, shape(g, extent(g, x, 0), extent(g, x, 1), outputs))


def layer_norm(g: Exported, x: str, width: int, epsilon: float = 1e-5) -> str:
    gain, bias = 1 + g.normal(width), g.normal(width)
    if g.opset >= 17:
        return g.op("LayerNormalization", x, gain, bias, axis=-1, epsilon=epsilon)
    centered = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
    variance = g.op("ReduceMean", g.op("Pow", centered, F32(2)), axes=[-1])
    y = g.op("Div", centered, g.op("Sqrt", g.op("Add", variance, F32(epsilon))))
    return g.op("Add", g.op("Mul", y, gain), bias)


def rms_norm(g: Exported, x: str, width: int, epsilon: float = 1e-6) -> str:
    mean = g.op("ReduceMean", g.op("Pow", x, F32(2)), axes=[-1])
    y = g.op("Mul", x, g.op("Div", F32(1), g.op("Sqrt", g.op("Add", mean, F32(epsilon)))))
    return g.op("Mul", 1 + g.normal(width), y)


def erf_gelu(g: Exported, x: str) -> str:
    erf = g.op("Erf", g.op("Div", x, F32(2**0.5)))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, F32(1))), F32(0.5))


def tanh_gelu(g: Exported, x: str) -> str:
    cubic = g.op("Add", x, g.op("Mul", g.op("Pow", x, F32(3)), F32(0.044715)))
    tanh = g.op("Tanh", g.op("Mul", cubic, F32((2 / numpy.pi) ** 0.5)))
    return g.op("Mul", g.op("Mul", x, F32(0.5)), g.op("Add", tanh, F32(1)))


def silu(g: Exported, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def split_heads(g: Exported, x: str, heads: int, size: int, is_transposed: bool = False) -> str:
    """[batch, heads, tokens, size], or with the last two transposed."""
    parts = g.op("Reshape", x, shape(g, extent(g, x, 0), extent(g, x, 1), heads, size))
    return g.op("Transpose", parts, perm=[0, 2, 3, 1] if is_transposed else [0, 2, 1, 3])


def transposed(g: Exported, keys: str) -> str:
    return g.op("Transpose", keys, perm=[0, 1, 3, 2])


def eager_scores(g: Exported, queries: str, keys: str, size: int) -> str:
    """Of attn_implementation="eager". keys: transposed."""
    return g.op("Div", g.op("MatMul", queries, keys), F32(size**0.5))


def sdpa_scores(g: Exported, queries: str, keys: str, size: int) -> str:
    """Of scaled_dot_product_attention. keys: transposed."""
    root = F32(size**-0.25)
    return g.op("MatMul", g.op("Mul", queries, root), g.op("Mul", keys, root))


def attended(g: Exported, scores: str, values: str, width: int, mask: str = "") -> str:
    """mask: is added to the scores."""
    shares = g.op("Softmax", g.op("Add", scores, mask) if mask else scores, axis=-1)
    joined = g.op("Transpose", g.op("MatMul", shares, values), perm=[0, 2, 1, 3])
    return g.op("Reshape", joined, shape(g, extent(g, joined, 0), extent(g, joined, 1), width))


def padding_mask(g: Exported, mask: str) -> str:
    """For scores: 0 where the mask is 1, else the lowest float, whose share of attention is 0."""
    wide = g.op("Unsqueeze", g.op("Unsqueeze", mask, integers(1)), integers(2))
    return g.op("Mul", g.op("Sub", F32(1), g.op("Cast", wide, to=TensorProto.FLOAT)), LOWEST)


def places(g: Exported, past: str, total: str) -> tuple[str, str]:
    """Those of new tokens, as a column, and of all, as a row."""
    new, all_of_them = counted(g, past, total), counted(g, 0, total)
    return g.op("Unsqueeze", new, integers(1)), g.op("Unsqueeze", all_of_them, integers(0))


def causal_mask(g: Exported, past: str, total: str) -> str:
    """For scores of new tokens, which see none behind them."""
    rows, columns = places(g, past, total)
    two = g.op("Where", g.op("Greater", columns, rows), LOWEST, F32(0))
    return g.op("Unsqueeze", g.op("Unsqueeze", two, integers(0)), integers(1))


class Cache:
    """Keys and values of earlier tokens, to which layers add those of new ones. kind: is behind a layer in names."""

    def __init__(self, g: Exported, heads: int, size: int, layers: int, kind: str = "") -> None:
        self._g = g
        names = [[f"past_key_values.{i}{kind}.{name}" for name in ("key", "value")] for i in range(layers)]
        shape = "batch", heads, "past", size
        self._pasts = [[g.input(name, TensorProto.FLOAT, *shape) for name in some] for some in names]
        self.outputs: list[str] = []

    def past_and_total(self, ids: str) -> tuple[str, str]:
        """How many tokens are in the cache, and with the new ones."""
        past = extent(self._g, self._pasts[0][0], 2)
        return past, self._g.op("Add", past, extent(self._g, ids, 1))

    def joined(self, layer: int, *new: str) -> list[str]:
        """new: keys and values."""
        some = [self._g.op("Concat", past, one, axis=2) for past, one in zip(self._pasts[layer], new, strict=True)]
        self.outputs += some
        return some


def encoder_cache(g: Exported, layer: int, heads: int, size: int) -> list[str]:
    """Keys and values of the encoder's tokens."""
    names = (f"past_key_values.{layer}.encoder.{name}" for name in ("key", "value"))
    return [g.input(name, TensorProto.FLOAT, "batch", heads, "source", size) for name in names]
