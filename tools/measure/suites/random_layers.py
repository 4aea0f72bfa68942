"""Random models of one layer in ONNX Runtime alone and with the execution provider: the slowest beside it."""

import argparse
import dataclasses
import math
import random
from collections.abc import Callable, Iterator

import numpy
from onnx import TensorProto, helper

from ..results import Measured
from ..sessions import EP_NAME, PROVIDER, RUNTIME, Graph, Peer, bound, provider_peer, session
from ..tables import median_and_least, table
from ..turns import chosen, take_turns
from .layers import FLOAT, INT8, UINT8, Layer, Shape, measure_layer

SHAPES = 75  # by two types of x, and two of weights
WEIGHT_ONLY = 200
SEED = 56
LIMIT = 0.97  # what is below is measured again
MOST_PRODUCTS, MOST_ELEMENTS = 2e7, 2e6


def _near(of: random.Random, *values: int) -> int:
    return max(1, of.choice(values) + of.randint(-1, 1))


def _log(of: random.Random, least: float, most: float) -> int:
    return round(least * (most / least) ** of.random())


def _product(of: random.Random) -> Shape:
    rows = of.choice((_log(of, 1, 4096), _near(of, 5, 6, 11, 12, 17, 48)))
    inner = of.choice((_log(of, 4, 2048), _near(of, 16, 32, 64, 512)))
    columns = of.choice((_log(of, 4, 4096), _near(of, 16, 64, 128, 200, 256)))
    return Shape((rows, inner), (inner, columns))


def _convolution(of: random.Random) -> Shape:
    rank = of.choice((1, 2, 2, 2, 3))
    most = {1: 100_000, 2: 300, 3: 40}[rank]
    extents = [_log(of, 2, most) for _ in range(rank)]
    channels, filters = (_log(of, 1, 64) for _ in range(2))
    kernel = [of.choice((1, 3, 3, 5))] * rank
    if of.random() < 0.2:
        return Shape((1, channels, *extents), (channels, 1, *kernel), of.choice((1, 1, 2)))
    return Shape((1, channels, *extents), (filters, channels, *kernel), of.choice((1, 1, 2)), of.choice((1, 1, 1, 2, 8)))


def shapes() -> list[Shape]:
    of, result = random.Random(SEED), []
    while len(result) < SHAPES:
        shape = of.choice((_product, _convolution))(of)
        elements = max(shape.products() / min(shape.w[0], shape.w[-1]), 1)
        if shape.products() <= MOST_PRODUCTS and elements <= MOST_ELEMENTS:
            result.append(shape)
    return result


def layers() -> list[Layer]:
    return [Layer("random", shape, x, weights) for shape in shapes() for x in (FLOAT, UINT8) for weights in (INT8, UINT8)]


@dataclasses.dataclass(frozen=True)
class WeightOnly:
    """A product of floats by weights of 8 or 4 bits. block: rows of weights with a scale; 0: one scale; 1: one for each column.
    image: of a convolution, whose weights are transposed; its positions are the rows. taps: of its window, whose pads keep the
    image by stride 1; none: one tap. inner and columns are those of all groups' channels and filters of a group."""

    rows: int
    inner: int
    columns: int
    weights: str
    block: int
    is_transposed: bool
    relu: bool
    image: tuple[int, ...] = ()
    taps: tuple[int, ...] = ()
    groups: int = 1
    stride: int = 1
    dilation: int = 1

    @property
    def name(self) -> str:
        scales = {0: "a scale", 1: "scales of columns"}.get(self.block, f"blocks of {self.block}")
        rows = "x".join(map(str, self.image or [self.rows]))
        window = f"{'x'.join(map(str, self.taps))} taps, {self.groups} groups, stride {self.stride}, dilation {self.dilation}, " if self.taps else ""
        return (f"weights alone: {rows}x{self.inner} by {self.inner}x{self.columns}, {window}{self.weights}, {scales}"
                f"{', transposed' if self.is_transposed else ''}{', Relu' if self.relu else ''}")  # fmt: skip

    def model(self) -> bytes:
        graph, of = Graph(), numpy.random.default_rng(0)
        turned = (lambda *extents: extents[::-1]) if self.is_transposed else (lambda *extents: extents)
        kind = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int4": TensorProto.INT4, "float8": TensorProto.FLOAT8E4M3FN}[self.weights]
        taps, columns = self.taps or tuple(1 for _ in self.image), self.columns * self.groups
        shape = (*turned(self.inner, columns), *taps)
        codes = of.integers(0, 7, math.prod(shape))
        if self.weights == "float8":
            graph.constants.append(helper.make_tensor("w", kind, shape, codes.astype(numpy.uint8).tobytes(), raw=True))
        else:
            graph.constants.append(helper.make_tensor("w", kind, shape, codes.tolist()))
        axis = int(self.is_transposed)
        extents = {0: (), 1: (columns,)}.get(self.block, (*turned(-(-self.inner // max(self.block, 1)), columns), *taps))
        attributes = {0: {}, 1: {"axis": 1 - axis}}.get(self.block, {"axis": axis, "block_size": self.block})
        w = graph.op("DequantizeLinear", "w", numpy.full(extents, 0.01, numpy.float32), **attributes)
        bias = numpy.full(columns, 0.5, numpy.float32)
        rank = len(self.image)
        pads = [k // 2 * self.dilation for k in self.taps]
        window = {"pads": pads + pads, "strides": [self.stride] * rank, "dilations": [self.dilation] * rank, "group": self.groups} if self.taps else {}
        y = graph.op("Conv", "x", w, bias, **window) if self.image else graph.op("Gemm", "x", w, bias, transB=1) if self.is_transposed else graph.op("MatMul", "x", w)
        if self.relu:
            y = graph.op("Neg", graph.op("Relu", y))
        return graph.model({"x": (TensorProto.FLOAT, self.x().shape)}, {y: (TensorProto.FLOAT, None)}, 21)

    def x(self) -> numpy.ndarray:
        return numpy.random.default_rng(1).standard_normal((1, self.inner * self.groups, *self.image) if self.image else (self.rows, self.inner), numpy.float32)

    def measure(self, threads: int, provider: Peer, rounds: int, seconds: float) -> Measured:
        sessions = {peer.name: session(self.model(), peer, threads) for peer in (Peer(RUNTIME), provider)}
        parts = [part for part in sessions[PROVIDER].get_provider_graph_assignment_info() if part.ep_name == EP_NAME]
        is_claimed = any(node.op_type in ("MatMul", "Gemm", "Conv") for part in parts for node in part.get_nodes())
        turns = take_turns({name: bound(one, {"x": self.x()}) for name, one in sessions.items()}, rounds, seconds)
        return Measured("random_layers", self.name, threads, *turns, {"claimed": is_claimed})


def weight_only() -> list[WeightOnly]:
    of, result = random.Random(SEED), []
    while len(result) < WEIGHT_ONLY:
        rows = of.choice((_log(of, 1, 512), _near(of, 1, 4, 8, 16, 40, 48, 56, 64, 100)))
        one = WeightOnly(rows, _log(of, 16, 2048), _log(of, 8, 2048), of.choice(("int8", "uint8", "int4", "float8")),
                         of.choice((0, 1, 8, 16, 32, 64, 128, 2048)), of.random() < 0.5, of.random() < 0.5)  # fmt: skip
        if rows * one.inner * one.columns <= 2 * MOST_PRODUCTS and one.block <= one.inner:
            result.append(one)
    return result


def measure_one(layer: Layer | WeightOnly, *how: object) -> Measured:
    return layer.measure(*how) if isinstance(layer, WeightOnly) else measure_layer(layer, *how)


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    provider = provider_peer(given.build)
    for layer, threads in chosen([*layers(), *weight_only()], given, say):
        measured = measure_one(layer, threads, provider, given.rounds, given.seconds)
        if measured.ratio(RUNTIME, PROVIDER) < LIMIT:
            say(f"{layer.name}, again")
            measured = measure_one(layer, threads, provider, 3 * given.rounds, given.seconds)
        measured.suite = "random_layers"
        yield measured


def tables(results: list[Measured]) -> dict[str, list[str]]:
    def ratio(m: Measured) -> float:
        return m.ratio(RUNTIME, PROVIDER)

    # What ONNX Runtime saturates, VPMADDUBSW multiplies there in three instructions; exact sums take four.
    saturated = [m for m in results if m.facts.get("saturated")]
    right = [m for m in results if not m.facts.get("saturated")]
    slowest = sorted(right, key=ratio)[:10]
    rows = [[m.case, median_and_least(m, RUNTIME, 1e-6), median_and_least(m, PROVIDER, 1e-6),
             f"{ratio(m):.2f}" + ("" if m.facts["claimed"] else ", left")] for m in slowest]  # fmt: skip
    counts = [[f"{len(some)}{what}", *(str(sum(ratio(m) < limit for m in some)) for limit in (0.95, LIMIT, 1)),
               str(sum(not m.facts["claimed"] for m in some))]
              for some, what in ((right, ""), (saturated, ", whose sums saturate in ONNX Runtime")) if some]  # fmt: skip
    return {
        "random layers": table(["the slowest of random layers, us (least)", RUNTIME, PROVIDER, "times"], rows),
        "random counts": table(["random layers", "below 0.95", f"below {LIMIT}", "below 1", "left to ONNX Runtime"], counts),
    }
