"""dqbench's performance batches, beside a flat loop and other libraries: docs/performance.md."""

import argparse
import dataclasses
import math
import pathlib
import statistics
from collections.abc import Callable, Iterable, Iterator

import numpy
from onnx import TensorProto, helper

from .. import dqbench, machine, sessions
from ..results import Measured, Processor
from ..tables import table
from ..turns import Turn, runs

PAGE, OF_ALL = "performance.md", True
Q, D = "DynamicQuantize", "DynamicDequantize"
# The peers of each batch and its numbers of threads. XNNPACK runs by one thread only: its worker threads spin and would take
# cores from the other peers.
ONE, ALL, UP_TO_ALL = "one", "all", "up to all"
BATCHES = [
    ("perf_1_per_tensor", ("flat", "onednn_graph", "xnnpack"), ONE),
    ("perf_1_per_tensor", ("flat", "onednn_graph"), ALL),
    ("perf_2_per_channel", ("flat", "onednn_graph"), ONE),
    ("perf_3_shapes", ("flat", "onednn_graph"), ONE),
    ("perf_4_dequantize", ("flat", "onednn_graph"), ONE),
    ("perf_5_small", ("onednn_graph", "xnnpack"), ONE),
    ("perf_6_threads", ("flat",), UP_TO_ALL),
    ("perf_7_peers", ("onednn_graph", "onednn_reorder", "xnnpack"), ONE),
]
# Names of dqbench's cases, ops, shapes and axes that libraries for Python compute too. pi-quant has no axis.
PYTHON = [
    *((name, op, (extent,), None) for op in (Q, D) for name, extent in (("64Ki", 2**16), ("1Mi", 2**20), ("64Mi", 2**26), ("1000003", 1000003))),
    ("256", Q, (256,), None),
    ("8x64x56x56", Q, (8, 64, 56, 56), 1),
    ("512x768", Q, (512, 768), 1),
]
SCALE, ZERO_POINT = 0.02, 128
_KEY = ["name", "op", "dt", "fpmath-mode", "isa", "api"]


def _thread_counts(mode: str) -> list[int]:
    most = machine.threads()
    if mode != UP_TO_ALL:
        return [1 if mode == ONE else most]
    return sorted({1, most, *(2**i for i in range(most.bit_length()) if 2**i <= most)})


def _dqbench(given: argparse.Namespace, batch: str, peers: tuple[str, ...], counts: list[int]) -> Iterator[Measured]:
    fields = [*_KEY, "desc", "threads", "~time", "~ctime", *(f"~peertime:{peer}" for peer in peers)]
    seen: dict[str, int] = {}
    arguments = [f"--peer={','.join(peers)}", f"--batch={batch}"]
    for row in dqbench.run(given.build / "tools/dqbench/dqbench", fields, arguments, counts, given.seconds):
        case = " ".join([batch, *(row[field] for field in _KEY)])
        seen[case + row["threads"]] = seen.get(case + row["threads"], 0) + 1
        if seen[case + row["threads"]] > 1:
            case += f" {seen[case + row['threads']]}"  # of other offsets, or the best instruction set by its name
        times = {"dynquant": dqbench.seconds(row["~time"])}
        times |= {peer: dqbench.seconds(row[f"~peertime:{peer}"]) for peer in peers}
        if batch == "perf_5_small" and row["api"] == "graph":
            times["compile"] = dqbench.seconds(row["~ctime"])
        elements = math.prod(map(int, row["desc"].split("x")))
        yield Measured("core", case, int(row["threads"]), {name: [t] for name, t in times.items() if t}, facts={"elements": elements})


def _python(op: str, dims: tuple[int, ...], axis: int | None, threads: int) -> dict[str, Turn]:
    """Libraries that are called from Python, which takes some microseconds: ONNX Runtime by one-node models, pi-quant."""
    import piquant

    random = numpy.random.default_rng(1)
    x = random.uniform(-3, 3, dims).astype(numpy.float32) if op == Q else random.integers(0, 256, dims, numpy.uint8)
    y = numpy.empty(dims, numpy.uint8 if op == Q else numpy.float32)
    types = (TensorProto.FLOAT, TensorProto.UINT8) if op == Q else (TensorProto.UINT8, TensorProto.FLOAT)
    count = () if axis is None else (dims[axis],)
    node = helper.make_node(op.replace("Dynamic", "") + "Linear", ["x", "scale", "zero_point"], ["y"], **({} if axis is None else {"axis": axis}))
    inputs = {"x": (types[0], dims), "scale": (TensorProto.FLOAT, count), "zero_point": (TensorProto.UINT8, count)}
    session = sessions.session(sessions.make_model([node], inputs, {"y": (types[1], dims)}, [], 21), sessions.Peer(sessions.RUNTIME), threads)
    values = {"x": x, "scale": numpy.full(count, SCALE, numpy.float32), "zero_point": numpy.full(count, ZERO_POINT, numpy.uint8)}
    result = {sessions.RUNTIME: sessions.bound(session, values)}
    if axis is None:
        context, real, code = piquant.Context(threads), piquant.DataType.F32, piquant.DataType.UINT8
        run, of, how = ((context.quantize_ptr, (real, code), piquant.RoundMode.NEAREST) if op == Q else
                        (context.dequantize_ptr, (code, real), piquant.ReduceOp.SET))  # fmt: skip
        result |= runs({"pi-quant": lambda: run(x.ctypes.data, of[0], y.ctypes.data, of[1], x.size, SCALE, ZERO_POINT, how)})
    return result


def _one_pass(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    batches = [batch for batch in BATCHES if given.only in batch[0]]
    steps = given.rounds * (len(batches) + (given.only in "python"))
    for batch, peers, mode in batches:
        say(f"{batch}, threads {', '.join(map(str, _thread_counts(mode)))}", steps)
        yield from _dqbench(given, batch, peers, _thread_counts(mode))
    if given.only in "python":
        say("ONNX Runtime and pi-quant", steps)
        for threads in _thread_counts(UP_TO_ALL):
            for name, op, dims, axis in PYTHON:
                times = {library: [take(given.seconds)[0]] for library, take in _python(op, dims, axis, threads).items()}
                yield Measured("core", f"python {name} {op}", threads, times, facts={"elements": math.prod(dims)})


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    """Several passes, so that a disturbance affects one of them and not the median."""
    known: dict[tuple, Measured] = {}
    for _ in range(given.rounds):
        for one in _one_pass(given, say):
            before = known.setdefault(one.key, one)
            if before is not one:
                for name, some in one.times.items():
                    before.times.setdefault(name, []).extend(some)
    yield from known.values()


@dataclasses.dataclass(frozen=True)
class Row:
    """A case of dqbench, in seconds. A peer that did not run is missing."""

    batch: str
    name: str
    op: str
    dt: str
    fpmath: str
    isa: str
    api: str
    threads: int
    elements: int
    time: float
    peers: dict[str, float]

    def rate(self, peer: str | None = None) -> float | None:
        """A peer's, or without one dynquant's. Gelem/s."""
        time = self.time if peer is None else self.peers.get(peer)
        return time and self.elements / time / 1e9

    def ratio(self, peer: str) -> float | None:
        """The peer's time divided by dynquant's."""
        return self.peers[peer] / self.time if peer in self.peers else None


class Pass:
    """What one pass measured: rows of dqbench, and seconds of libraries for Python by (library, case, op, threads)."""

    def __init__(self, results: list[Measured], number: int) -> None:
        self._rows, self.python = [], {}
        for m in results:
            parts = m.case.split(" ")
            times = {name: some[number] for name, some in m.times.items() if len(some) > number}
            if parts[0] == "python":
                self.python |= {(library, *parts[1:], m.threads): time for library, time in times.items()}
            elif own := times.pop("dynquant", None):
                self._rows.append(Row(*parts[:7], m.threads, m.facts["elements"], own, times))

    def rows(self, batch: str, **where: object) -> list[Row]:
        """The rows whose fields have these values."""
        return [row for row in self._rows if row.batch == batch and all(getattr(row, field) == value for field, value in where.items())]

    def row(self, batch: str, name: str, **where: object) -> Row | None:
        return next(iter(self.rows(batch, name=name, **where)), None)


def passes(p: Processor) -> list[Pass]:
    results = p.of("core")
    return [Pass(results, number) for number in range(max((len(some) for m in results for some in m.times.values()), default=0))]


Figure = Callable[[Pass], float | None]


def median(some: list[Pass], figure: Figure) -> float | None:
    values = [value for value in map(figure, some) if value is not None]
    return statistics.median(values) if values else None


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the page."""

    section: int
    what: str
    unit: str
    value: Figure
    less_is_better: bool = False


class Named(float):
    """A figure with the name of its case."""

    def __new__(cls, value: float, name: str) -> "Named":
        figure = super().__new__(cls, value)
        figure.name = name
        return figure


STRICT = {"fpmath": "strict", "api": "graph"}
LONG = [f"middle_{n}" for n in (64, 100, 196, 784, 3136)] + [f"first_{n}" for n in (64, 1024, 4096)]
SHORT = [f"middle_{n}" for n in (2, 3, 7, 8, 15, 16, 17, 32, 49, 63)] + [f"first_{n}" for n in (3, 8, 16, 49)]
LAST = [f"last_{n}" for n in (3, 16, 64, 128, 512, 768, 1024, 4096)]
COUNTS = {"4096": ("+1", "+3"), "65536": ("+1", "+3"), "1000000": ("+3",), "16777216": ("-3",)}
PERMUTED = [f"{shape}:{way}" for shape in ("res2", "conv1") for way in ("nchw_to_nhwc", "nhwc_to_nchw")]
VECTORS = {"avx512": "AVX-512", "avx2": "AVX2"}


def _ratio(batch: str, name: str, peer: str, **where: object) -> Figure:
    return lambda p: row.ratio(peer) if (row := p.row(batch, name, **where)) else None


def _least(figures: Iterable[float | None]) -> float | None:
    return min((figure for figure in figures if figure is not None), default=None)


def _slowest(batch: str, op: str, names: Iterable[str], base: str | None = None) -> Figure:
    """The least throughput of these cases relative to the base's, or without one to the flat loop of each."""
    where = {"op": op, "threads": 1, **STRICT}

    def value(p: Pass) -> float | None:
        rows = [row for name in names for row in p.rows(batch, name=name, **where)]
        if base is None:
            return _least(Named(row.ratio("flat"), row.name) for row in rows if "flat" in row.peers)
        reference = p.row(batch, base, **where)
        return _least(Named(row.rate() / reference.rate(), row.name) for row in rows) if reference else None

    return value


def _beside_python(library: str, names: Iterable[str], op: str = Q) -> Figure:
    """The least ratio of a library's time to dynquant's."""

    def ratio(p: Pass, name: str) -> float | None:
        row, time = p.row("perf_7_peers", name, op=op, **STRICT), p.python.get((library, name, op, 1))
        return Named(time / row.time, name) if row and time else None

    return lambda p: _least(ratio(p, name) for name in names)


def _by_threads(p: Pass, op: str) -> dict[str, dict[int, float]]:
    """The times of each size by the number of threads."""
    result: dict[str, dict[int, float]] = {}
    for row in p.rows("perf_6_threads", op=op):
        result.setdefault(row.name, {})[row.threads] = row.time
    return result


def _slowdown(op: str) -> Figure:
    """The worst ratio of the time by all threads to the time by one."""
    return lambda p: max((Named(times[max(times)] / times[1], name) for name, times in _by_threads(p, op).items() if 1 in times), default=None)


def _efficiency(op: str) -> Figure:
    def value(p: Pass) -> float | None:
        some = {name: times for name, times in _by_threads(p, op).items() if name in ("1Mi", "2Mi", "4Mi") and 1 in times}
        return _least(Named(times[1] / times[max(times)] / max(times), name) for name, times in some.items())

    return value


def _time(api: str, of: Callable[[Row], float | None]) -> Figure:
    return lambda p: of(row) if (row := p.row("perf_5_small", "256", op=Q, api=api)) else None


def _speed(section: int, batch: str, op: str, isa: str) -> list[Line]:
    """Throughput relative to the flat loop, by instruction set and cache level."""

    def by(isa: str, size: str) -> Figure:
        return _ratio(batch, size, "flat", op=op, isa=isa, threads=1, **STRICT)

    def all_threads(p: Pass) -> float | None:
        most = max((row.threads for row in p.rows("perf_6_threads")), default=1)
        return _ratio("perf_6_threads", "64Mi", "flat", op=op, threads=most)(p)

    return [
        *(
            Line(section, f"{VECTORS[name]}, {what}, one thread", f"of flat, {VECTORS[name]}", by(name, size))
            for name in VECTORS
            if isa == "avx512" or name == isa
            for size, what in (("64Ki", "64 Ki elements (second-level cache)"), ("1Mi", "1 Mi elements"))
        ),
        Line(section, "64 Mi elements (memory), one thread", "of flat", by(isa, "64Mi")),
        Line(section, "64 Mi elements (memory), all threads", "of flat", all_threads),
    ]


def _channels(section: int, batch: str, op: str) -> list[Line]:
    return [
        line
        for label, size in (("1Mi", "1 Mi"), ("64Ki", "64 Ki"))
        for names, what in ((LONG, "runs of 64 and more"), (LAST, "channels last"), (SHORT, "runs of 2 to 63"))
        for of in ([f"{label}:{name}" for name in names],)
        for line in (
            Line(section, f"{size} elements, {what}: the slowest shape", "of per_tensor", _slowest(batch, op, of, f"{label}:per_tensor")),
            Line(section, f"{size} elements, {what}: the least share", "of flat", _slowest(batch, op, of)),
        )
    ]


def _shapes(section: int, batch: str, op: str) -> list[Line]:
    def worst(some: dict[str, Iterable[str]]) -> Figure:
        return lambda p: _least(_slowest(batch, op, names, base)(p) for base, names in some.items())

    return [
        Line(section, "odd counts from 4096 up: the slowest", "of the round count", worst({base: [base + more for more in odd] for base, odd in COUNTS.items()})),
        Line(section, "misaligned buffers: the slowest", "of aligned ones", worst({base: [f"{base}:offset"] for base in ("65536", "1048576")})),
        Line(section, "padded outer strides", "of dense ones", worst({"1048576": ["1048576:padded"]})),
        Line(section, "nchw to nhwc and back: the slowest", "of flat", _slowest(batch, op, PERMUTED)),
    ]


def lines(isa: str) -> list[Line]:
    """All lines, for a machine whose best instruction set is `isa`, in dqbench's spelling."""
    peers = "times dynquant's time"
    strict, approximate = {"op": Q, "fpmath": "strict"}, {"op": Q, "fpmath": "any"}
    return [
        *_speed(1, "perf_1_per_tensor", Q, isa),
        Line(1, "fpmath mode any, 64 Ki elements, one thread", "of flat", _ratio("perf_1_per_tensor", "64Ki", "flat", op=Q, isa=isa, threads=1, fpmath="any")),
        *_channels(2, "perf_2_per_channel", Q),
        Line(2, "zero points of other types, runs of 392: the slowest", "of per_tensor",
             _slowest("perf_2_per_channel", Q, ["1Mi:zps"], "1Mi:per_tensor")),
        *_shapes(3, "perf_3_shapes", Q),
        *_speed(4, "perf_4_dequantize", D, isa),
        *_channels(4, "perf_4_dequantize", D),
        *_shapes(4, "perf_4_dequantize", D),
        Line(5, "execute 256 elements through the graph", "ns", _time("graph", lambda row: row.time * 1e9), less_is_better=True),
        Line(5, "run 256 elements through the direct API", "ns", _time("direct", lambda row: row.time * 1e9), less_is_better=True),
        Line(5, "XNNPACK's time for 256 elements, against the direct API", peers, _time("direct", lambda row: row.ratio("xnnpack"))),
        Line(5, "oneDNN Graph's time for 256 elements", peers, _time("graph", lambda row: row.ratio("onednn_graph"))),
        Line(5, "build and compile a graph of one op", "us", _time("graph", lambda row: 1e6 * row.peers["compile"]), less_is_better=True),
        *(
            line
            for op, what in ((Q, "quantize"), (D, "dequantize"))
            for line in (
                Line(6, f"{what}: time by all threads, the worst size", "of one thread's", _slowdown(op), less_is_better=True),
                Line(6, f"{what}: efficiency of all threads, 1 to 4 Mi elements", "of linear", _efficiency(op)),
            )
        ),
        *(Line(7, f"oneDNN Graph, {what}", peers, _ratio("perf_7_peers", name, "onednn_graph", **strict))
          for name, what in (("64Ki", "64 Ki elements"), ("65537", "65,537 elements (a prime)"), ("1000003", "1,000,003 elements (a prime)"))),
        Line(7, "ONNX Runtime where it is good: the closest", peers, _beside_python("ONNX Runtime", ["64Ki", "1Mi", "8x64x56x56"])),
        Line(7, "ONNX Runtime, dequantize: the closest", peers, _beside_python("ONNX Runtime", ["64Ki", "1Mi"], D)),
        Line(7, "ONNX Runtime, 512x768 channels last", peers, _beside_python("ONNX Runtime", ["512x768"])),
        *(Line(7, f"XNNPACK, {what}", peers, _ratio("perf_7_peers", name, "xnnpack", **where))
          for name, what, where in (("64Ki", "64 Ki elements, fpmath mode any", approximate), ("1Mi", "1 Mi elements, fpmath mode any", approximate),
                                    ("64Ki", "64 Ki elements, strict", strict))),
        *(
            Line(7, f"pi-quant, {what} {size} elements", peers, _beside_python("pi-quant", [name], op))
            for op, what in ((Q, "quantize"), (D, "dequantize"))
            for name, size in (("1Mi", "1 Mi"), ("64Mi", "64 Mi"))
        ),
    ]  # fmt: skip


def isa_of(p: Processor) -> str:
    names = {name: isa for isa, name in VECTORS.items()}
    return names.get(p.facts("core").get("Instruction set", ""), "scalar")


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return "not measured"
    digits = 0 if unit == "ns" or value >= 100 else 1 if unit == "us" or value >= 10 else 2
    return f"{value:.{digits}f}" + (f" ({value.name})" if isinstance(value, Named) else "")


SLOWER = 1.1  # times as slow as before, and more than the variation between runs on a shared machine


def tables(processors: list[Processor]) -> dict[str, list[str]]:
    """A column for each processor. If one stands there twice, figures of the second time that are worse are bold."""
    columns = []  # of the title, all passes, lines by what they say, and figures of the same processor before
    for p in processors:
        some, before = passes(p), next((own for own in columns if own[0].partition(",")[0] == p.name), None)
        figures = {(line.section, line.what): (line, median(some, line.value)) for line in lines(isa_of(p))}
        columns.append((p.name if before is None else f"{p.name}, {p.facts('core')['date']}", figures, before[1] if before else {}))

    def cell(key: tuple[int, str], figures: dict, before: dict) -> str:
        if key not in figures:
            return "not measured"
        line, value = figures[key]
        known = before.get(key, (None, None))[1]
        text = _text(value, line.unit)
        if None in (known, value):
            return text
        return f"**{text}**" if (value / known if line.less_is_better else known / value) > SLOWER else text

    all_lines = {key: line for _, figures, _ in columns for key, (line, value) in figures.items() if value is not None}
    left_out = {"date", *machine.PACKAGES} - {"ONNX Runtime", "onnx", "pi-quant"}
    names = list(dict.fromkeys(name for p in processors for name in p.facts("core") if name not in left_out))
    facts = [[name, *(p.facts("core").get(name, "-") for p in processors)] for name in names]
    result = {"core machine": table(["", *(f"{p.name}, {p.facts('core')['date']}" for p in processors)], facts)}
    for section in sorted({section for section, _ in all_lines}):
        rows = [[line.what, line.unit, *(cell(key, *column[1:]) for column in columns)] for key, line in all_lines.items() if key[0] == section]
        result[f"core {section}"] = table(["what", "unit", *(column[0] for column in columns)], rows)
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    from . import core_charts  # needs matplotlib

    core_charts.draw(processors, figures)
