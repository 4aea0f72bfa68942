"""What layers cost besides their products: a scale for each row, many shapes, creation, and small tensors: docs/tuning.md,
In ONNX Runtime, and docs/onnx_speed.md."""

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator

import numpy
from onnx import TensorProto as T

from ..results import Measured
from ..sessions import EP_NAME, PROVIDER, RUNTIME, Graph, Peer, bound, provider_peer, session
from ..tables import median_and_least, number, table
from ..turns import Turn, chosen, samples, take_turns
from .layers import FLOAT, INT8, UINT8, Layer, Shape, input_of, model_of

BY_ROW = "provider, by row"
CHAIN = 200  # nodes
WIDTHS = (64, 128, 256, 512, 384, 256, 192, 128, 96, 320, 448, 64, 128)  # from layer to layer
COUNTS = [*range(1, 17), *(round(16 ** (1 + i / 24)) for i in range(1, 25))]  # of rows


@dataclasses.dataclass(frozen=True)
class ByRow:
    """A layer of floats. ONNX Runtime has one scale for all rows."""

    shape: Shape
    weights: str

    @property
    def name(self) -> str:
        return f"by row: {self.shape.name}, {self.weights} weights"

    def measure(self, peers: dict[str, Peer], rounds: int, seconds: float) -> Measured:
        layer = Layer("by row", self.shape, FLOAT, self.weights)
        peers = peers | {BY_ROW: dataclasses.replace(peers[PROVIDER], name=BY_ROW, options={"activation_scales": "per_row"})}
        turns = {name: bound(session(model_of(layer), peer, 1), {"x": input_of(layer)}) for name, peer in peers.items()}
        return Measured("surroundings", self.name, 1, *take_turns(turns, rounds, seconds))


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Layers, one behind the other, that run with another number of rows each time."""

    weights: str

    @property
    def name(self) -> str:
        return f"shapes: {len(WIDTHS) - 1} layers, {len(COUNTS)} counts of rows by turns, {self.weights} weights"

    def model(self) -> bytes:
        graph, x, of = Graph(), "x", numpy.random.default_rng(0)
        least, most = (-127, 127) if self.weights == INT8 else (0, 255)
        for shape in zip(WIDTHS, WIDTHS[1:]):
            w = numpy.clip(numpy.rint(of.standard_normal(shape) * 32 + (least + most) / 2), least, most).astype(self.weights)
            x = graph.op("Relu", graph.dynamic_layer(x, w, round((least + most) / 2), 0.01))
        return graph.model({"x": (T.FLOAT, ["rows", WIDTHS[0]])}, {x: (T.FLOAT, None)}, 17)

    def measure(self, peers: dict[str, Peer], rounds: int, seconds: float) -> Measured:
        of, model = numpy.random.default_rng(1), self.model()
        xs = [{"x": of.standard_normal((count, WIDTHS[0]), numpy.float32)} for count in COUNTS]

        def passes(one) -> Turn:  # noqa: ANN001
            def take(least: float) -> tuple[float, float]:
                some = [s / len(xs) for s in samples(lambda: [one.run(None, x) for x in xs], least)]
                return statistics.median(some), min(some)

            return take

        turns = {name: passes(session(model, peer, 1)) for name, peer in peers.items()}
        return Measured("surroundings", self.name, 1, *take_turns(turns, rounds, seconds))


@dataclasses.dataclass(frozen=True)
class Creation:
    """Products of 16 x 16, one behind the other, each with Relu; or three of each x, whose results are added up."""

    products: int
    of_each_x: int = 1

    @property
    def name(self) -> str:
        return f"creation: {self.products} products, " + ("one behind the other" if self.of_each_x == 1 else f"{self.of_each_x} of each x")

    def model(self) -> bytes:
        graph, x, of = Graph(), "x", numpy.random.default_rng(0)
        for _ in range(self.products // self.of_each_x):
            quantized, scale, zero = graph.op("DynamicQuantizeLinear", x, outputs=3)
            some = []
            for i in range(self.of_each_x):  # equal scales would make ONNX Runtime share the Mul
                sums = graph.op("MatMulInteger", quantized, of.integers(-127, 127, (16, 16), numpy.int8), zero)
                some.append(graph.op("Mul", graph.op("Cast", sums, to=T.FLOAT), graph.op("Mul", scale, numpy.float32(0.01 + 0.001 * i))))
            x = graph.op("Relu", some[0]) if self.of_each_x == 1 else graph.op("Sum", *some)
        return graph.model({"x": (T.FLOAT, ["rows", 16])}, {x: (T.FLOAT, None)}, 17)

    def measure(self, peers: dict[str, Peer], rounds: int, seconds: float) -> Measured:  # noqa: ARG002
        model, times, nodes = self.model(), {name: [] for name in peers}, 0
        for _ in range(rounds):
            for name, peer in peers.items():
                start = time.perf_counter()
                one = session(model, peer, 1)
                times[name].append(time.perf_counter() - start)
                if name == PROVIDER:
                    nodes = sum(part.ep_name == EP_NAME for part in one.get_provider_graph_assignment_info())
        least = {name: min(some) for name, some in times.items()}
        return Measured("surroundings", self.name, 1, times, least, {"nodes": nodes})


@dataclasses.dataclass(frozen=True)
class Quantization:
    """A chain of DynamicQuantizeLinear outside of layers, a Cast behind each; the provider claims all of them."""

    elements: int

    @property
    def name(self) -> str:
        return f"DynamicQuantizeLinear: {self.elements} elements"

    def measure(self, peers: dict[str, Peer], rounds: int, seconds: float) -> Measured:
        graph, x = Graph(), "x"
        for _ in range(CHAIN):
            x = graph.op("Cast", graph.op("DynamicQuantizeLinear", x, outputs=3)[0], to=T.FLOAT)
        model = graph.model({"x": (T.FLOAT, [self.elements])}, {x: (T.FLOAT, None)}, 17)
        peers = peers | {PROVIDER: dataclasses.replace(peers[PROVIDER], options={"claim": "all"})}
        x = {"x": numpy.random.default_rng(1).standard_normal(self.elements, numpy.float32)}
        times, least = take_turns({name: bound(session(model, peer, 1), x) for name, peer in peers.items()}, rounds, seconds)
        of_node = {name: [t / CHAIN for t in some] for name, some in times.items()}
        return Measured("surroundings", self.name, 1, of_node, {name: t / CHAIN for name, t in least.items()})


def cases() -> list:
    tiny = [Shape((4096, 16), (16, 24)), Shape((8192, 24), (24, 8)), Shape((2048, 8), (8, 32))]
    return [
        *(ByRow(shape, weights) for shape in tiny for weights in (INT8, UINT8)),
        *map(Shapes, (INT8, UINT8)),
        Creation(400),
        Creation(1600),
        Creation(390, 3),
        Creation(1200, 3),
        *map(Quantization, (256, 1024, 2048, 2560, 4096, 16384)),
    ]


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    peers = {peer.name: peer for peer in (Peer(RUNTIME), provider_peer(given.build))}
    for case, _ in chosen(cases(), given, say):
        yield case.measure(peers, given.rounds, given.seconds)


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """Times: ONNX Runtime's over that of the provider, which has a scale for each row where it can."""
    rows = []
    for m in results:
        kind, _, _ = m.case.partition(":")
        unit = {"creation": 1e-3, "DynamicQuantizeLinear": 1e-9}.get(kind, 1e-6)
        own = BY_ROW if BY_ROW in m.times else PROVIDER
        cells = [median_and_least(m, name, unit) for name in (RUNTIME, PROVIDER, BY_ROW)]
        label = {1e-3: "ms", 1e-9: "ns a node"}.get(unit, "us")
        rows.append([m.case, label, *cells, number(m.ratio(RUNTIME, own)), str(m.facts.get("nodes", ""))])
    header = ["one thread, medians (least)", "", RUNTIME, PROVIDER, BY_ROW, "times", "nodes"]
    return {"surroundings": table(header, rows)}
