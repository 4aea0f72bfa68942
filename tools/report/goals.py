"""What must hold, as data: the page prints these, and nothing else judges."""

import dataclasses
from collections.abc import Callable, Iterable

from .measurements import Measurements, Pass

Q, D = "DynamicQuantize", "DynamicDequantize"
STRICT = {"fpmath": "strict", "api": "graph"}


@dataclasses.dataclass(frozen=True)
class Goal:
    section: int
    what: str
    sense: str  # "at least" or "at most"
    bound: float | None  # None: a figure that is only told
    unit: str
    value: Callable[[Pass], float | None]


@dataclasses.dataclass(frozen=True)
class Verdict:
    goal: Goal
    measured: float | None

    @property
    def met(self) -> bool | None:
        """None: not measured, or nothing is asked."""
        if self.measured is None or self.goal.bound is None:
            return None
        if self.goal.sense == "at least":
            return self.measured >= self.goal.bound
        return self.measured <= self.goal.bound

    @property
    def short_by(self) -> float:
        """In percent of the bound."""
        assert self.measured is not None and self.goal.bound is not None
        return abs(self.measured - self.goal.bound) / self.goal.bound * 100


SECTIONS = {
    1: "Quantize per_tensor against the limit",
    2: "per_channel against per_tensor",
    3: "Counts, alignment, padding, permuted layouts",
    4: "Dequantize",
    5: "Small tensors",
    6: "Threads",
    7: "Other libraries",
}


def _of_limit(batch: str, name: str, op: str, **where: object) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        row = p.row(batch, name, op=op, **where)
        return row.ratio("limit") if row else None

    return value


class Named(float):
    """A figure that remembers whose it is."""

    name: str

    @staticmethod
    def of(value: float, name: str) -> "Named":
        figure = Named(value)
        figure.name = name
        return figure


def _worst(ratios: Iterable[float | None]) -> float | None:
    return min((r for r in ratios if r is not None), default=None)


def _against(batch: str, op: str, base: str, names: Iterable[str]) -> Callable[[Pass], float | None]:
    """The least throughput of these cases, by that of the base."""

    def value(p: Pass) -> float | None:
        where = {"op": op, "threads": 1, **STRICT}
        of = p.row(batch, base, **where)
        rows = [row for name in names for row in p.rows(batch, name=name, **where)]
        return _worst(Named.of(row.gelems / of.gelems, row.name) for row in rows) if of else None

    return value


def _permuted(batch: str, op: str, names: Iterable[str]) -> Callable[[Pass], float | None]:
    """By the limit of a dense tensor, which moves the same bytes in order."""

    def value(p: Pass) -> float | None:
        where = {"op": op, "threads": 1, **STRICT}
        dense = p.row(batch, "1048576", **where)
        if not dense or "limit" not in dense.peers:
            return None
        limit = dense.gelems * dense.time / dense.peers["limit"]
        rows = [row for name in names for row in p.rows(batch, name=name, **where)]
        return _worst(Named.of(row.gelems / limit, row.name) for row in rows)

    return value


def _ratio(batch: str, name: str, peer: str, **where: object) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        row = p.row(batch, name, **where)
        return row.ratio(peer) if row else None

    return value


def _onnxruntime(names: Iterable[str], op: str = Q) -> Callable[[Pass], float | None]:
    onnx_op = "QuantizeLinear" if op == Q else "DequantizeLinear"

    def ratio(p: Pass, name: str) -> float | None:
        row, theirs = p.row("perf_7_peers", name, op=op, **STRICT), p.onnxruntime.get((name, onnx_op, 1))
        return Named.of(theirs / row.time, name) if row and theirs else None

    return lambda p: _worst(ratio(p, name) for name in names)


def _slowdown(threads: int, op: str) -> Callable[[Pass], float | None]:
    """The worst of time by all threads / time by one."""

    def value(p: Pass) -> float | None:
        one = {row.name: row.time for row in p.rows("perf_6_threads", op=op, threads=1)}
        every = p.rows("perf_6_threads", op=op, threads=threads)
        return max((Named.of(row.time / one[row.name], row.name) for row in every if row.name in one), default=None)

    return value


def _efficiency(threads: int, op: str) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        ratios = []
        for name in ("1Mi", "2Mi", "4Mi"):
            one, every = (p.row("perf_6_threads", name, op=op, threads=n) for n in (1, threads))
            ratios.append(Named.of(one.time / every.time / threads, name) if one and every else None)
        return _worst(ratios)

    return value


def _nanoseconds(name: str, api: str) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        row = p.row("perf_5_small", name, op=Q, api=api)
        return row.time * 1e6 if row else None

    return value


LONG = [f"middle_{n}" for n in (64, 100, 196, 784, 3136)] + [f"first_{n}" for n in (64, 1024, 4096)]
SHORT = [f"middle_{n}" for n in (2, 3, 7, 8, 15, 16, 17, 32, 49, 63)] + [f"first_{n}" for n in (3, 8, 16, 49)]
LAST = [f"last_{n}" for n in (3, 16, 64, 128, 512, 768, 1024, 4096)]
COUNTS = {"4096": ("+1", "+3"), "65536": ("+1", "+3"), "1000000": ("+3",), "16777216": ("-3",)}
PERMUTED = [f"{shape}:{way}" for shape in ("res2", "conv1") for way in ("nchw_to_nhwc", "nhwc_to_nchw")]


def _labelled(label: str, names: Iterable[str]) -> list[str]:
    return [f"{label}:{name}" for name in names]


def _speed(section: int, batch: str, op: str, isa: str, threads: int) -> list[Goal]:
    """Lines 1 and 4: what part of the limit."""
    one = {"threads": 1, **STRICT}
    every = {"threads": threads, "op": op}
    return [
        Goal(section, "64 Ki elements (second-level cache), one thread", "at least", 0.72, "of the limit",
             _of_limit(batch, "64Ki", op, isa=isa, **one)),
        Goal(section, "1 Mi elements, one thread", "at least", 0.75, "of the limit",
             _of_limit(batch, "1Mi", op, isa=isa, **one)),
        Goal(section, "64 Mi elements (memory), one thread", "at least", 0.95, "of the limit",
             _of_limit(batch, "64Mi", op, isa=isa, **one)),
        Goal(section, f"64 Mi elements, {threads} threads", "at least", 0.95, "of the limit",
             _of_limit("perf_6_threads", "64Mi", **every)),
        Goal(section, "AVX2, 64 Ki elements, one thread", "at least", 0.60, "of AVX2's limit",
             _of_limit(batch, "64Ki", op, isa="avx2", **one)),
    ]  # fmt: skip


def _channels(section: int, batch: str, op: str) -> list[Goal]:
    goals = []
    for label, size in (("1Mi", "1 Mi"), ("64Ki", "64 Ki")):
        for names, bound, what in (
            (LONG, 0.90, "runs of 64 and more"),
            (LAST, 0.90, "channels last"),
            (SHORT, 0.75, "runs of 2 to 63"),
        ):
            goals.append(
                Goal(section, f"{size} elements, {what}: the slowest shape", "at least", bound, "of per_tensor",
                     _against(batch, op, f"{label}:per_tensor", _labelled(label, names)))
            )  # fmt: skip
    return goals


def _shapes(section: int, batch: str, op: str) -> list[Goal]:
    def counts(p: Pass) -> float | None:
        return _worst(
            _against(batch, op, base, [base + more for more in odd])(p) for base, odd in COUNTS.items()
        )

    def offsets(p: Pass) -> float | None:
        return _worst(_against(batch, op, base, [f"{base}:offset"])(p) for base in ("65536", "1048576"))

    return [
        Goal(section, "odd counts from 4096 up: the slowest", "at least", 0.95, "of the round count", counts),
        Goal(section, "misaligned buffers: the slowest", "at least", 0.90, "of aligned ones", offsets),
        Goal(section, "padded outer strides", "at least", 0.90, "of dense ones",
             _against(batch, op, "1048576", ["1048576:padded"])),
        Goal(section, "nchw to nhwc and back: the slowest", "at least", 0.50, "of the limit of a dense tensor",
             _permuted(batch, op, PERMUTED)),
    ]  # fmt: skip


def goals(isa: str, threads: int) -> list[Goal]:
    """For a machine whose best instruction set is `isa` (as dqbench names it) and that has so many threads."""
    graph, direct = ({"op": Q, "api": api} for api in ("graph", "direct"))
    strict, approximate = ({"op": Q, "fpmath": rule} for rule in ("strict", "any"))
    return [
        *_speed(1, "perf_1_per_tensor", Q, isa, threads),
        Goal(1, "fpmath mode any, 64 Ki elements, one thread", "at least", 0.90, "of the limit",
             _of_limit("perf_1_per_tensor", "64Ki", Q, isa=isa, threads=1, fpmath="any")),
        *_channels(2, "perf_2_per_channel", Q),
        Goal(2, "zero points of other types, runs of 392: the slowest", "at least", 0.90, "of per_tensor",
             _against("perf_2_per_channel", Q, "1Mi:per_tensor", ["1Mi:zps"])),
        *_shapes(3, "perf_3_shapes", Q),
        *_speed(4, "perf_4_dequantize", D, isa, threads),
        *_channels(4, "perf_4_dequantize", D),
        *_shapes(4, "perf_4_dequantize", D),
        Goal(5, "execute 256 elements through the graph", "at most", 100, "ns", _nanoseconds("256", "graph")),
        Goal(5, "run 256 elements through the direct API", "at most", None, "ns", _nanoseconds("256", "direct")),
        Goal(5, "XNNPACK's time for 256 elements, against the direct API", "at least", 0.5, "times ours",
             _ratio("perf_5_small", "256", "xnnpack", **direct)),
        Goal(5, "oneDNN Graph's time for 256 elements", "at least", 10, "times ours",
             _ratio("perf_5_small", "256", "onednn_graph", **graph)),
        Goal(5, "build and compile a graph of one op", "at most", 20, "us",
             lambda p: row.compile_ms * 1e3 if (row := p.row("perf_5_small", "256", **graph)) else None),
        Goal(6, f"quantize: time by {threads} threads, the worst size", "at most", 1.05, "of one thread's",
             _slowdown(threads, Q)),
        Goal(6, f"dequantize: time by {threads} threads, the worst size", "at most", 1.05, "of one thread's",
             _slowdown(threads, D)),
        Goal(6, f"quantize: efficiency of {threads} threads, 1 to 4 Mi elements", "at least", 0.75, "of linear",
             _efficiency(threads, Q)),
        Goal(6, f"dequantize: efficiency of {threads} threads, 1 to 4 Mi elements", "at least", 0.75, "of linear",
             _efficiency(threads, D)),
        Goal(7, "oneDNN Graph, 64 Ki elements", "at least", 3, "times our time",
             _ratio("perf_7_peers", "64Ki", "onednn_graph", **strict)),
        Goal(7, "oneDNN Graph, 65,537 elements (a prime)", "at least", 10, "times our time",
             _ratio("perf_7_peers", "65537", "onednn_graph", **strict)),
        Goal(7, "oneDNN Graph, 1,000,003 elements (a prime)", "at least", 10, "times our time",
             _ratio("perf_7_peers", "1000003", "onednn_graph", **strict)),
        Goal(7, "ONNX Runtime where it is good: the closest", "at least", 1.5, "times our time",
             _onnxruntime(["64Ki", "1Mi", "8x64x56x56"])),
        Goal(7, "ONNX Runtime, dequantize: the closest", "at least", 1.5, "times our time",
             _onnxruntime(["64Ki", "1Mi"], D)),
        Goal(7, "ONNX Runtime, 512x768 channels last", "at least", 100, "times our time", _onnxruntime(["512x768"])),
        Goal(7, "XNNPACK, 64 Ki elements, fpmath mode any", "at least", 1.0, "times our time",
             _ratio("perf_7_peers", "64Ki", "xnnpack", **approximate)),
        Goal(7, "XNNPACK, 1 Mi elements, fpmath mode any", "at least", 1.0, "times our time",
             _ratio("perf_7_peers", "1Mi", "xnnpack", **approximate)),
        Goal(7, "XNNPACK, 64 Ki elements, strict", "at least", None, "times our time",
             _ratio("perf_7_peers", "64Ki", "xnnpack", **strict)),
    ]  # fmt: skip


def judge(m: Measurements) -> list[Verdict]:
    return [Verdict(goal, m.median(goal.value)) for goal in goals(m.isa, m.threads)]
