"""Chains of layers whose weights alone are quantized, and convolutions of several taps: the float model, ONNX Runtime's
nodes, and dynquant's execution provider: docs/onnx_speed.md, Weights alone."""

import argparse
import dataclasses
import math
import pathlib
import tempfile
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy
import onnxruntime
from onnx import TensorProto

from ..process import opened
from ..results import Measured
from ..sessions import EP_NAME, PROVIDER, Graph, Peer, bound, provider_peer, session
from ..tables import by_threads, goal, median_and_least, number, table, threads_label
from ..turns import chosen, take_turns

FLOAT, NODES = "float", "ONNX Runtime's nodes"
PEERS = FLOAT, NODES, PROVIDER
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
    graph, x = Graph(), "x"
    granularity = {"tensor": {}, "column": {"axis": 0}, "block": {"axis": 1, "block_size": BLOCK}}[chain.weights.granularity]
    for i in range(LAYERS):
        (codes, *parameters), bias = constants_of(chain, i)
        window = (1, 1) if chain.is_convolution else ()
        if is_narrow:
            w = graph.op("DequantizeLinear", codes.reshape(codes.shape + window), *parameters[: 2 if chain.weights.zero_points else 1], **granularity)
        else:
            w = dequantized(codes, *parameters).reshape(codes.shape + window)
        x = graph.op("Conv", x, w, bias) if chain.is_convolution else graph.op("Gemm", x, w, bias, transB=1)
        x = graph.op("Relu", x) if i + 1 < LAYERS else x
    return graph.model({"x": (TensorProto.FLOAT, chain.shape_of_x("rows"))}, {x: (TensorProto.FLOAT, None)}, 21)


def count_claimed(provider: onnxruntime.InferenceSession) -> int:
    return sum(part.ep_name == EP_NAME for part in provider.get_provider_graph_assignment_info())


def measure_chain(chain: Chain, threads: int, provider: Peer, rounds: int, seconds: float) -> Iterator[Measured]:
    narrow = model_of(chain, is_narrow=True)
    models = {FLOAT: (model_of(chain, is_narrow=False), Peer(FLOAT)), NODES: (narrow, Peer(NODES)), PROVIDER: (narrow, provider)}
    sessions = {name: session(*of, threads) for name, of in models.items()}
    of = {"layers": chain.layers, "weights": chain.weights.name}
    for rows in chain.rows:
        turns = take_turns({name: bound(one, {"x": input_of(chain, rows)}) for name, one in sessions.items()}, rounds, seconds)
        yield Measured("weights", f"{chain.name}, {rows} rows", threads, *turns, {**of, "rows": rows, "claimed": count_claimed(sessions[PROVIDER])})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        mib = {}
        for name, (model, peer) in models.items():
            path.write_bytes(model)
            mib[name] = round(opened(path, peer, {"x": input_of(chain, 1)}).resident, 1)
    yield Measured("weights", f"{chain.name}, memory", 1, facts={**of, "mib": mib})


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    for chain, threads in chosen(all_chains(), given, say):
        yield from measure_chain(chain, threads, provider_peer(given.build), given.rounds, given.seconds)
    for one, threads in chosen(all_convolutions(), given, say):
        yield measure_convolution(one, threads, provider_peer(given.build), given.rounds, given.seconds)


@dataclasses.dataclass(frozen=True)
class Convolution:
    """Of several taps, strides or groups, with a bias, padded so that stride 1 keeps the image; patches are not padded."""

    channels: int
    filters: int
    kernel: tuple[int, ...]
    image: tuple[int, ...]
    stride: int = 1
    dilation: int = 1
    group: int = 1

    @property
    def name(self) -> str:
        more = {"stride": (self.stride, 1), "dilation": (self.dilation, 1), "groups": (self.group, 1)}
        is_depthwise = self.group == self.channels
        said = [f"{name} {value}" for name, (value, usual) in more.items() if value != usual and not (name == "groups" and is_depthwise)]
        kernel, image = (" x ".join(map(str, of)) for of in (self.kernel, self.image))
        channels = f"depthwise, {self.channels}" if is_depthwise else f"{self.channels} to {self.filters}"
        return ", ".join([f"Conv of {kernel} taps, {channels} channels, {image}", *said])

    def model(self, is_narrow: bool) -> bytes:
        graph, random = Graph(), numpy.random.default_rng(3)
        shape = (self.filters, self.channels // self.group, *self.kernel)
        codes, scales, zero_points = quantized(random.standard_normal((self.filters, math.prod(shape[1:])), numpy.float32), INT8)
        w = dequantized(codes, scales, zero_points).reshape(shape)
        if is_narrow:
            w = graph.op("DequantizeLinear", codes.reshape(shape), scales, axis=0)
        pads = [0 if k == self.stride else k // 2 * self.dilation for k in self.kernel]
        rank = len(self.kernel)
        y = graph.op("Conv", "x", w, random.standard_normal(self.filters, numpy.float32), pads=pads + pads, strides=[self.stride] * rank,
                     dilations=[self.dilation] * rank, group=self.group)  # fmt: skip
        return graph.model({"x": (TensorProto.FLOAT, self.shape_of_x)}, {y: (TensorProto.FLOAT, None)}, 21)

    @property
    def shape_of_x(self) -> tuple[int, ...]:
        return (1, self.channels, *self.image)


def all_convolutions() -> list[Convolution]:
    c = Convolution
    return [
        c(512, 512, (3,), (16,)), c(384, 384, (3,), (100,), 2), c(384, 384, (3,), (1500,)), c(64, 64, (5,), (200,)), c(256, 256, (31,), (200,), group=256),
        c(1024, 1024, (3, 3), (2, 2)), c(512, 512, (3, 3), (4, 4)), c(512, 512, (3, 3), (7, 7)), c(256, 256, (3, 3), (7, 7)),
        c(256, 256, (3, 3), (14, 14)), c(128, 128, (3, 3), (28, 28)), c(128, 128, (3, 3), (28, 28), dilation=2), c(64, 64, (3, 3), (56, 56)),
        c(128, 256, (3, 3), (28, 28), 2), c(64, 128, (3, 3), (56, 56), 2), c(3, 64, (7, 7), (224, 224), 2), c(3, 32, (3, 3), (112, 112), 2),
        c(32, 64, (5, 5), (28, 28)), c(3, 768, (16, 16), (224, 224), 16), c(32, 32, (3, 3, 3), (8, 14, 14)), c(64, 64, (3, 3, 3), (4, 7, 7)),
        c(128, 128, (3, 3), (28, 28), group=4), c(256, 256, (3, 3), (14, 14), group=32), c(96, 96, (3, 3), (56, 56), group=96),
        c(96, 96, (3, 3), (56, 56), 2, group=96), c(96, 96, (7, 7), (56, 56), group=96), c(384, 384, (3, 3), (14, 14), group=384),
        c(240, 240, (5, 5), (14, 14), group=240), c(960, 960, (3, 3), (7, 7), group=960),
    ]  # fmt: skip


def measure_convolution(of: Convolution, threads: int, provider: Peer, rounds: int, seconds: float) -> Measured:
    models = {FLOAT: (of.model(is_narrow=False), Peer(FLOAT)), NODES: (of.model(is_narrow=True), Peer(NODES)), PROVIDER: (of.model(is_narrow=True), provider)}
    x = numpy.random.default_rng(1).standard_normal(of.shape_of_x, numpy.float32)
    sessions = {name: session(*model, threads) for name, model in models.items()}
    turns = take_turns({name: bound(one, {"x": x}) for name, one in sessions.items()}, rounds, seconds)
    return Measured("weights", of.name, threads, *turns, {"convolution": of.name, "claimed": count_claimed(sessions[PROVIDER])})


MANY_ROWS, OF_MANY_ROWS = 16, 0.5  # from so many rows on, times float
OF_FEW_ROWS = {"int8": {1: 3, 4: 1.5, 8: 1.1}, "int4": {1: 3}}  # by weights; uint8 as int8
OF_MEMORY = {"int8": 0.4, "int4": 0.3}


def _goal_of(goals: dict, weights: str) -> object:
    return next((value for kind, value in goals.items() if kind in weights), None)


def _time_row(m: Measured) -> list[str]:
    rows, weights, times = m.facts["rows"], m.facts["weights"], m.ratio(FLOAT, PROVIDER)
    wanted = OF_MANY_ROWS if rows >= MANY_ROWS else (_goal_of(OF_FEW_ROWS, weights) or {}).get(rows)
    nodes = number(m.ratio(NODES, PROVIDER))
    return [m.facts["layers"], weights, str(rows), *(median_and_least(m, peer, 1e-3) for peer in PEERS), number(times), goal(wanted, times),
            (nodes if round(m.ratio(NODES, PROVIDER), 2) >= 1 else f"**{nodes}**") + ("" if m.facts["claimed"] else ", left")]  # fmt: skip


def _convolution_row(m: Measured) -> list[str]:
    least = [number(1e3 * m.least[peer]) for peer in PEERS]
    of_float, of_nodes = (m.least[peer] / m.least[PROVIDER] for peer in (FLOAT, NODES))
    return [m.facts["convolution"], *least, f"{of_float:.2f}", f"{of_nodes:.2f}" + ("" if m.facts["claimed"] else ", left")]


def _memory_row(m: Measured) -> list[str]:
    mib, most = m.facts["mib"], _goal_of(OF_MEMORY, m.facts["weights"])
    share = mib[PROVIDER] / mib[FLOAT]
    met = "" if most is None else f"{most:g}, met" if share <= most else f"{most:g}, **missed**"
    return [m.facts["layers"], m.facts["weights"], *(number(mib[peer]) for peer in PEERS), number(share), met]


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """For each number of threads a table of times, and one of memory."""
    result = {}
    for threads, timed in by_threads([m for m in results if m.times]).items():
        some, convolutions = ([m for m in timed if ("convolution" in m.facts) == is_one] for is_one in (False, True))
        header = [f"{threads_label(threads)}, least ms, int8 weights", *PEERS, "times float", "times the nodes"]
        if convolutions:
            result[f"weights convolutions {threads}"] = table(header, list(map(_convolution_row, convolutions)))
        header = [f"{threads_label(threads)}, ms (least)", "weights", "rows", *PEERS, "times float", "goal", "times the nodes"]
        if some:
            result[f"weights {threads}"] = table(header, list(map(_time_row, some)))
    header = ["resident, MiB", "weights", *PEERS, "of float", "goal: at most"]
    return result | {"weights memory": table(header, [_memory_row(m) for m in results if "mib" in m.facts])}
