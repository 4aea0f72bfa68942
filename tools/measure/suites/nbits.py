"""MatMulNBits by ONNX Runtime and by dynquant's execution provider: docs/onnx_speed.md, MatMulNBits."""

import argparse
import dataclasses
from collections.abc import Callable, Iterator

import numpy
from onnx import TensorProto

from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, Graph, Peer, bound, provider_peer, session
from ..tables import by_threads, median_and_least, number, table, threads_label
from ..turns import chosen, take_turns

ROWS = 1, 4, 16, 128
SHAPES = (768, 768), (768, 3072), (2048, 2048), (4096, 4096)
MEMORY = 256 << 20  # bytes, more than caches hold


@dataclasses.dataclass(frozen=True)
class Case:
    """layers: one after another, of which each has weights of its own."""

    inner: int
    columns: int
    bits: int
    block: int
    level: int = 4
    layers: int = 1

    @property
    def name(self) -> str:
        many = f", {self.layers} layers" if self.layers > 1 else ""
        return f"{self.inner} x {self.columns}{many}, {self.bits} bits, blocks of {self.block}, level {self.level}"

    @property
    def bytes(self) -> int:
        """Of a layer's weights and scales."""
        return self.inner * self.columns * self.bits // 8 + 4 * self.inner // self.block * self.columns


def cases() -> list[Case]:
    cached = [Case(*shape, bits, block) for bits in (4, 8) for block in (32, 128) for shape in SHAPES]
    from_memory = [Case(n, n, bits, block) for bits in (4, 8) for block in (32, 128) for n in (2048, 4096)]
    floats = [Case(n, n, 4, 32, 0) for n in (768, 2048)]
    return [*cached, *floats, *(dataclasses.replace(one, layers=-(-MEMORY // one.bytes)) for one in from_memory)]


def model_of(case: Case) -> bytes:
    """Scales keep values from growing from layer to layer."""
    random, graph, x = numpy.random.default_rng(3), Graph(), "x"
    blocks = case.inner // case.block
    for _ in range(case.layers):
        weights = random.integers(0, 256, (case.columns, blocks, case.block * case.bits // 8), numpy.uint8)
        scales = random.uniform(0.5, 1, (case.columns, blocks)).astype(numpy.float32) / numpy.float32(case.inner**0.5 * 2 ** (case.bits - 1))
        x = graph.op("MatMulNBits", x, weights, scales, domain="com.microsoft", K=case.inner, N=case.columns, bits=case.bits, block_size=case.block,
                     accuracy_level=case.level)  # fmt: skip
    return graph.model({"x": (TensorProto.FLOAT, ("rows", case.inner))}, {x: (TensorProto.FLOAT, None)}, 21)


def measure_case(case: Case, threads: int, provider: Peer, rounds: int, seconds: float) -> Iterator[Measured]:
    model = model_of(case)
    sessions = {name: session(model, peer, threads) for name, peer in {RUNTIME: Peer(RUNTIME), PROVIDER: provider}.items()}
    for rows in ROWS if case.layers == 1 else (1,):
        x = numpy.random.default_rng(1).standard_normal((rows, case.inner), numpy.float32)
        turns = take_turns({name: bound(one, {"x": x}) for name, one in sessions.items()}, rounds, seconds)
        yield Measured("nbits", f"{case.name}, {rows} rows", threads, *turns, {"case": case.name, "rows": rows, "products": case.layers * rows * case.inner
                       * case.columns, "bytes": case.layers * case.bytes})  # fmt: skip


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    for case, threads in chosen(cases(), given, say):
        yield from measure_case(case, threads, provider_peer(given.build), given.rounds, given.seconds)


def _row(m: Measured) -> list[str]:
    least = m.least[PROVIDER]
    return [m.facts["case"], str(m.facts["rows"]), *(median_and_least(m, peer, 1e-6) for peer in (RUNTIME, PROVIDER)), number(m.ratio(RUNTIME, PROVIDER)),
            f"{m.facts['products'] / least / 1e9:.1f}", f"{m.facts['bytes'] / least / 1e9:.1f}"]  # fmt: skip


def tables(results: list[Measured]) -> dict[str, list[str]]:
    result = {}
    for threads, some in by_threads(results).items():
        header = [f"{threads_label(threads)}, us (least)", "rows", RUNTIME, PROVIDER, "times", "G products/s", "GB/s"]
        result[f"nbits {threads}"] = table(header, list(map(_row, some)))
    return result
