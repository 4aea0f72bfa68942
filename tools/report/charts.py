"""The charts of docs/performance.md."""

import pathlib
from collections.abc import Callable

import matplotlib.pyplot as plt
from reporting.charts import GOOD, SHORT, save

from .dqbench import Row
from .goals import D, Q
from .measurements import Measurements, Pass

STYLES = {
    "limit (loads and stores only)": {"color": "#888888", "linestyle": "--"},
    "dynquant, strict": {"color": GOOD, "linewidth": 2.4, "marker": "o"},
    "dynquant, fpmath mode any": {"color": "#6fb98f", "marker": "o"},
    "dynquant, direct API": {"color": "#6fb98f", "marker": "o"},
    "oneDNN Graph": {"color": "#0068b5", "marker": "s"},
    "XNNPACK": {"color": SHORT, "marker": "^"},
    "ONNX Runtime": {"color": "#9a5ba5", "marker": "D"},
}
SIZES = {"4Ki": 2**12, "16Ki": 2**14, "64Ki": 2**16, "256Ki": 2**18, "1Mi": 2**20, "4Mi": 2**22, "16Mi": 2**24, "64Mi": 2**26}


def _gelems(row: Row | None, peer: str | None = None) -> float | None:
    """Ours, or a peer's."""
    if row is None or (peer and peer not in row.peers):
        return None
    return row.gelems * row.time / row.peers[peer] if peer else row.gelems


def _line(axes: plt.Axes, label: str, points: list[tuple[float, float | None]]) -> None:
    known = [(x, y) for x, y in points if y is not None]
    if known:
        axes.plot(*zip(*known), label=label, **STYLES[label])


def _over_size(m: Measurements, folder: pathlib.Path, name: str, batch: str, op: str, threads: int, title: str) -> None:
    figure, axes = plt.subplots()

    def series(label: str, peer: str | None = None, fpmath: str = "strict") -> None:
        def at(size: str) -> Callable[[Pass], float | None]:
            return lambda p: _gelems(p.row(batch, size, op=op, threads=threads, fpmath=fpmath, isa=m.isa), peer)

        _line(axes, label, [(SIZES[size], m.median(at(size))) for size in SIZES])

    series("limit (loads and stores only)", "limit")
    series("dynquant, fpmath mode any", fpmath="any")
    series("dynquant, strict")
    series("XNNPACK", "xnnpack")
    series("oneDNN Graph", "onednn_graph")
    onnx_op = "QuantizeLinear" if op == Q else "DequantizeLinear"

    def onnxruntime(size: str) -> Callable[[Pass], float | None]:
        return lambda p: SIZES[size] / t / 1e6 if (t := p.onnxruntime.get((size, onnx_op, threads))) else None

    _line(axes, "ONNX Runtime", [(SIZES[size], m.median(onnxruntime(size))) for size in SIZES])
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(SIZES.values()), list(SIZES))
    axes.set_ylim(bottom=0)
    axes.set(xlabel="elements", ylabel="Gelem/s", title=title)
    axes.legend(fontsize=8)
    save(figure, folder / f"{name}.svg")


def _bars(axes: plt.Axes, groups: list[str], series: dict[str, list[float | None]], colors: list[str]) -> None:
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(places, [v or 0 for v in values], width, label=label, color=colors[i])
    axes.set_xticks(range(len(groups)), groups, fontsize=7, rotation=60, ha="right")
    axes.grid(axis="x", visible=False)


def _per_channel(m: Measurements, folder: pathlib.Path) -> None:
    batch = "perf_2_per_channel"
    names = [row.name for row in m.passes[0].rows(batch, op=Q, dt="f32:f32:u8:u8") if row.name.startswith("1Mi:")]
    names = [name for name in dict.fromkeys(names) if name not in ("1Mi:zps",)]

    def of(name: str, peer: str | None = None) -> float | None:
        return m.median(lambda p: _gelems(p.row(batch, name, op=Q), peer))

    figure, axes = plt.subplots(figsize=(9, 4.6))
    labels = [name.removeprefix("1Mi:").replace("_", " ") for name in names]
    series = {"dynquant, strict": [of(n) for n in names], "oneDNN Graph": [of(n, "onednn_graph") for n in names]}
    _bars(axes, labels, series, [GOOD, "#0068b5"])
    axes.set(ylabel="Gelem/s", title="Quantize 1 Mi elements per channel, zero points, one thread (none: refused)")
    axes.legend(fontsize=8)
    save(figure, folder / "per_channel.svg")


def _instruction_sets(m: Measurements, folder: pathlib.Path) -> None:
    figure, axes = plt.subplots()
    isas = ["scalar", "avx2", "avx512"]
    cases = [(f"{what} {size}", batch, op, size) for what, batch, op in (("quantize", "perf_1_per_tensor", Q), ("dequantize", "perf_4_dequantize", D)) for size in ("64Ki", "1Mi")]  # fmt: skip
    series = {
        isa: [m.median(lambda p: _gelems(p.row(b, s, op=o, isa=isa, threads=1, fpmath="strict"))) for _, b, o, s in cases]
        for isa in isas
    }
    series = {isa: values for isa, values in series.items() if any(values)}
    _bars(axes, [label for label, *_ in cases], series, ["#b7d3c6", "#6fb98f", GOOD])
    axes.set(ylabel="Gelem/s", title="Instruction sets, strict, one thread")
    axes.legend(fontsize=8)
    save(figure, folder / "instruction_sets.svg")


def _small(m: Measurements, folder: pathlib.Path) -> None:
    figure, axes = plt.subplots()
    sizes = (1, 16, 64, 256, 1024, 4096)

    def series(label: str, api: str, peer: str | None = None) -> None:
        def at(size: int) -> Callable[[Pass], float | None]:
            def value(p: Pass) -> float | None:
                row = p.row("perf_5_small", str(size), op=Q, api=api)
                time = None if row is None else row.peers.get(peer) if peer else row.time
                return time * 1e6 if time else None

            return value

        _line(axes, label, [(size, m.median(at(size))) for size in sizes])

    series("oneDNN Graph", "graph", "onednn_graph")
    series("dynquant, strict", "graph")
    series("dynquant, direct API", "direct")
    series("XNNPACK", "direct", "xnnpack")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set(xlabel="elements", ylabel="ns a call", title="Small tensors: time of a call, one thread")
    axes.legend(fontsize=8)
    save(figure, folder / "small_tensors.svg")


def _scaling(m: Measurements, folder: pathlib.Path) -> None:
    batch = "perf_6_threads"
    counts = sorted({row.threads for row in m.passes[0].rows(batch)})
    figure, axes = plt.subplots()
    axes.plot(counts, counts, color="#888888", linestyle="--", label="linear")
    for name in ("64Ki", "256Ki", "1Mi", "4Mi", "64Mi"):

        def speed_up(p: Pass, threads: int) -> float | None:
            one, many = (p.row(batch, name, op=Q, threads=n) for n in (1, threads))
            return one.time / many.time if one and many else None

        axes.plot(counts, [m.median(lambda p: speed_up(p, n)) for n in counts], marker="o", label=f"{name} elements")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_ylim(bottom=0)
    axes.set(xlabel="threads", ylabel="times one thread's speed", title="Quantize: speed-up by threads")
    axes.legend(fontsize=8)
    save(figure, folder / "thread_scaling.svg")


def draw(m: Measurements, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    one, every = "Quantize u8 with a zero point, one thread", f"Quantize u8 with a zero point, {m.threads} threads"
    _over_size(m, folder, "throughput_one_thread", "perf_1_per_tensor", Q, 1, one)
    _over_size(m, folder, "throughput_all_threads", "perf_1_per_tensor", Q, m.threads, every)
    _over_size(m, folder, "dequantize_one_thread", "perf_4_dequantize", D, 1, "Dequantize u8 with a zero point, one thread")
    _per_channel(m, folder)
    _instruction_sets(m, folder)
    _small(m, folder)
    _scaling(m, folder)
