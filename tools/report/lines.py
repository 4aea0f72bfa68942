"""The page's lines as data: each is a figure computed from a pass."""

import dataclasses
from collections.abc import Callable, Iterable

from .measurements import Pass

Q, D = "DynamicQuantize", "DynamicDequantize"
STRICT = {"fpmath": "strict", "api": "graph"}


@dataclasses.dataclass(frozen=True)
class Line:
    section: int
    what: str
    unit: str
    value: Callable[[Pass], float | None]
    less_is_better: bool = False

    @property
    def key(self) -> str:
        """The line's key in floors.json."""
        return f"{self.section}. {self.what}"


SECTIONS = {
    1: "Quantize per_tensor against the flat loop",
    2: "per_channel against per_tensor and the flat loop",
    3: "Counts, alignment, padding, permuted layouts",
    4: "Dequantize",
    5: "Small tensors",
    6: "Threads",
    7: "Other libraries",
}


def _of_flat(batch: str, name: str, op: str, **where: object) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        row = p.row(batch, name, op=op, **where)
        return row.ratio("flat") if row else None

    return value


class Named(float):
    """A figure with the name of its case."""

    name: str

    @staticmethod
    def of(value: float, name: str) -> "Named":
        figure = Named(value)
        figure.name = name
        return figure


def _worst(ratios: Iterable[float | None]) -> float | None:
    return min((r for r in ratios if r is not None), default=None)


def _worst_relative_to(batch: str, op: str, base: str, names: Iterable[str]) -> Callable[[Pass], float | None]:
    """The least throughput of these cases, relative to the base's."""

    def value(p: Pass) -> float | None:
        where = {"op": op, "threads": 1, **STRICT}
        reference = p.row(batch, base, **where)
        rows = [row for name in names for row in p.rows(batch, name=name, **where)]
        return _worst(Named.of(row.gelems / reference.gelems, row.name) for row in rows) if reference else None

    return value


def _worst_of_flat(batch: str, op: str, names: Iterable[str]) -> Callable[[Pass], float | None]:
    """The least share of these cases, each of its own flat loop."""

    def value(p: Pass) -> float | None:
        rows = [row for name in names for row in p.rows(batch, name=name, op=op, threads=1, **STRICT)]
        return _worst(Named.of(row.ratio("flat"), row.name) for row in rows if "flat" in row.peers)

    return value


def _ratio(batch: str, name: str, peer: str, **where: object) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        row = p.row(batch, name, **where)
        return row.ratio(peer) if row else None

    return value


def _python(library: str, names: Iterable[str], op: str = Q) -> Callable[[Pass], float | None]:
    """The least ratio of a library's time to dynquant's."""

    def ratio(p: Pass, name: str) -> float | None:
        row, time = p.row("perf_7_peers", name, op=op, **STRICT), p.python.get((library, name, op, 1))
        return Named.of(time / row.time, name) if row and time else None

    return lambda p: _worst(ratio(p, name) for name in names)


def _slowdown(op: str) -> Callable[[Pass], float | None]:
    """The worst ratio of the time by all threads to the time by one."""

    def value(p: Pass) -> float | None:
        rows = p.rows("perf_6_threads", op=op)
        one = {row.name: row.time for row in rows if row.threads == 1}
        most = max((row.threads for row in rows), default=1)
        every = (row for row in rows if row.threads == most and row.name in one)
        return max((Named.of(row.time / one[row.name], row.name) for row in every), default=None)

    return value


def _efficiency(op: str) -> Callable[[Pass], float | None]:
    def value(p: Pass) -> float | None:
        ratios = []
        for name in ("1Mi", "2Mi", "4Mi"):
            rows = {row.threads: row.time for row in p.rows("perf_6_threads", name=name, op=op)}
            most = max(rows, default=0)
            ratios.append(Named.of(rows[1] / rows[most] / most, name) if 1 in rows else None)
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


VECTORS = {"avx512": "AVX-512", "avx2": "AVX2"}


def _speed(section: int, batch: str, op: str, isa: str) -> list[Line]:
    """Throughput relative to the flat loop, by instruction set and cache level."""

    def by(isa: str, size: str) -> Callable[[Pass], float | None]:
        return _of_flat(batch, size, op, isa=isa, threads=1, **STRICT)

    def all_threads(p: Pass) -> float | None:
        most = max((row.threads for row in p.rows("perf_6_threads")), default=1)
        return _of_flat("perf_6_threads", "64Mi", op, threads=most)(p)

    present = [name for name in VECTORS if isa == "avx512" or name == isa]
    return [
        *(
            Line(section, f"{VECTORS[name]}, {what}, one thread", f"of flat, {VECTORS[name]}", by(name, size))
            for name in present
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
        for line in (
            Line(section, f"{size} elements, {what}: the slowest shape", "of per_tensor",
                 _worst_relative_to(batch, op, f"{label}:per_tensor", _labelled(label, names))),
            Line(section, f"{size} elements, {what}: the least share", "of flat",
                 _worst_of_flat(batch, op, _labelled(label, names))),
        )
    ]  # fmt: skip


def _shapes(section: int, batch: str, op: str) -> list[Line]:
    def counts(p: Pass) -> float | None:
        return _worst(
            _worst_relative_to(batch, op, base, [base + more for more in odd])(p) for base, odd in COUNTS.items()
        )

    def offsets(p: Pass) -> float | None:
        return _worst(_worst_relative_to(batch, op, base, [f"{base}:offset"])(p) for base in ("65536", "1048576"))

    return [
        Line(section, "odd counts from 4096 up: the slowest", "of the round count", counts),
        Line(section, "misaligned buffers: the slowest", "of aligned ones", offsets),
        Line(section, "padded outer strides", "of dense ones",
             _worst_relative_to(batch, op, "1048576", ["1048576:padded"])),
        Line(section, "nchw to nhwc and back: the slowest", "of flat", _worst_of_flat(batch, op, PERMUTED)),
    ]  # fmt: skip


def lines(isa: str) -> list[Line]:
    """All lines, for a machine whose best instruction set is `isa`, in dqbench's spelling."""
    graph, direct = ({"op": Q, "api": api} for api in ("graph", "direct"))
    strict, approximate = ({"op": Q, "fpmath": rule} for rule in ("strict", "any"))
    return [
        *_speed(1, "perf_1_per_tensor", Q, isa),
        Line(1, "fpmath mode any, 64 Ki elements, one thread", "of flat",
             _of_flat("perf_1_per_tensor", "64Ki", Q, isa=isa, threads=1, fpmath="any")),
        *_channels(2, "perf_2_per_channel", Q),
        Line(2, "zero points of other types, runs of 392: the slowest", "of per_tensor",
             _worst_relative_to("perf_2_per_channel", Q, "1Mi:per_tensor", ["1Mi:zps"])),
        *_shapes(3, "perf_3_shapes", Q),
        *_speed(4, "perf_4_dequantize", D, isa),
        *_channels(4, "perf_4_dequantize", D),
        *_shapes(4, "perf_4_dequantize", D),
        Line(5, "execute 256 elements through the graph", "ns", _nanoseconds("256", "graph"), less_is_better=True),
        Line(5, "run 256 elements through the direct API", "ns", _nanoseconds("256", "direct"), less_is_better=True),
        Line(5, "XNNPACK's time for 256 elements, against the direct API", "times dynquant's time",
             _ratio("perf_5_small", "256", "xnnpack", **direct)),
        Line(5, "oneDNN Graph's time for 256 elements", "times dynquant's time",
             _ratio("perf_5_small", "256", "onednn_graph", **graph)),
        Line(5, "build and compile a graph of one op", "us",
             lambda p: row.compile_ms * 1e3 if (row := p.row("perf_5_small", "256", **graph)) else None, less_is_better=True),
        *(
            line
            for op, what in ((Q, "quantize"), (D, "dequantize"))
            for line in (
                Line(6, f"{what}: time by all threads, the worst size", "of one thread's", _slowdown(op), less_is_better=True),
                Line(6, f"{what}: efficiency of all threads, 1 to 4 Mi elements", "of linear", _efficiency(op)),
            )
        ),
        Line(7, "oneDNN Graph, 64 Ki elements", "times dynquant's time", _ratio("perf_7_peers", "64Ki", "onednn_graph", **strict)),
        Line(7, "oneDNN Graph, 65,537 elements (a prime)", "times dynquant's time",
             _ratio("perf_7_peers", "65537", "onednn_graph", **strict)),
        Line(7, "oneDNN Graph, 1,000,003 elements (a prime)", "times dynquant's time",
             _ratio("perf_7_peers", "1000003", "onednn_graph", **strict)),
        Line(7, "ONNX Runtime where it is good: the closest", "times dynquant's time",
             _python("onnxruntime", ["64Ki", "1Mi", "8x64x56x56"])),
        Line(7, "ONNX Runtime, dequantize: the closest", "times dynquant's time", _python("onnxruntime", ["64Ki", "1Mi"], D)),
        Line(7, "ONNX Runtime, 512x768 channels last", "times dynquant's time", _python("onnxruntime", ["512x768"])),
        Line(7, "XNNPACK, 64 Ki elements, fpmath mode any", "times dynquant's time",
             _ratio("perf_7_peers", "64Ki", "xnnpack", **approximate)),
        Line(7, "XNNPACK, 1 Mi elements, fpmath mode any", "times dynquant's time",
             _ratio("perf_7_peers", "1Mi", "xnnpack", **approximate)),
        Line(7, "XNNPACK, 64 Ki elements, strict", "times dynquant's time", _ratio("perf_7_peers", "64Ki", "xnnpack", **strict)),
        *(
            Line(7, f"pi-quant, {what} {size} elements", "times dynquant's time", _python("piquant", [name], op))
            for op, what in ((Q, "quantize"), (D, "dequantize"))
            for name, size in (("1Mi", "1 Mi"), ("64Mi", "64 Mi"))
        ),
    ]  # fmt: skip
