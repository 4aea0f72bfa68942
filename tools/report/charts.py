"""Draws the charts of docs/performance.md."""

import pathlib
from collections.abc import Callable

import matplotlib.pyplot as plt
from reporting.charts import GOOD, SHORT, save

from .dqbench import Row
from .lines import D, Q
from .measurements import Measurements, Pass

STYLES = {
    "flat loop (loads and stores only)": {"color": "#888888", "linestyle": "--"},
    "dynquant, strict": {"color": GOOD, "linewidth": 2.4, "marker": "o"},
    "dynquant, fpmath mode any": {"color": "#6fb98f", "marker": "o"},
    "dynquant, direct API": {"color": "#6fb98f", "marker": "o"},
    "oneDNN Graph": {"color": "#0068b5", "marker": "s"},
    "XNNPACK": {"color": SHORT, "marker": "^"},
    "ONNX Runtime": {"color": "#9a5ba5", "marker": "D"},
    "pi-quant": {"color": "#c9a227", "marker": "v"},
}
SIZES = {"4Ki": 2**12, "16Ki": 2**14, "64Ki": 2**16, "256Ki": 2**18, "1Mi": 2**20, "4Mi": 2**22, "16Mi": 2**24, "64Mi": 2**26}


def _gelems(row: Row | None, peer: str | None = None) -> float | None:
    """The throughput of dynquant, or of a peer."""
    if row is None or (peer and peer not in row.peers):
        return None
    return row.gelems * row.time / row.peers[peer] if peer else row.gelems


def _line(axes: plt.Axes, label: str, points: list[tuple[float, float | None]]) -> None:
    known = [(x, y) for x, y in points if y is not None]
    if known:
        axes.plot(*zip(*known), label=label, **STYLES[label])


def _draw_side_by_side(ms: list[Measurements], draw: Callable[[plt.Axes, Measurements], None], title: str, path: pathlib.Path, size: tuple[float, float] = (8, 4.2)) -> None:
    """Draws one chart for each processor, side by side, with one scale."""
    width = size[0] if len(ms) == 1 else 0.75 * size[0] * len(ms)
    figure, all_axes = plt.subplots(1, len(ms), figsize=(width, size[1]), sharey=True, squeeze=False)
    for axes, m in zip(all_axes[0], ms):
        draw(axes, m)
        axes.set_title(m.processor, fontsize=10)
        axes.legend(fontsize=8)
    figure.suptitle(title)
    save(figure, path)


def _over_size(axes: plt.Axes, m: Measurements, batch: str, op: str, threads: int) -> None:
    def series(label: str, peer: str | None = None, fpmath: str = "strict") -> None:
        def at(size: str) -> Callable[[Pass], float | None]:
            return lambda p: _gelems(p.row(batch, size, op=op, threads=threads, fpmath=fpmath, isa=m.isa), peer)

        _line(axes, label, [(SIZES[size], m.median(at(size))) for size in SIZES])

    def python(label: str, library: str) -> None:
        def at(size: str) -> Callable[[Pass], float | None]:
            return lambda p: SIZES[size] / t / 1e6 if (t := p.python.get((library, size, op, threads))) else None

        _line(axes, label, [(SIZES[size], m.median(at(size))) for size in SIZES])

    series("flat loop (loads and stores only)", "flat")
    series("dynquant, fpmath mode any", fpmath="any")
    series("dynquant, strict")
    series("XNNPACK", "xnnpack")
    series("oneDNN Graph", "onednn_graph")
    python("ONNX Runtime", "onnxruntime")
    python("pi-quant", "piquant")
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(SIZES.values()), list(SIZES))
    axes.set_ylim(bottom=0)
    axes.set(xlabel="elements", ylabel="Gelem/s")


def _bars(axes: plt.Axes, groups: list[str], series: dict[str, list[float | None]], colors: list[str]) -> None:
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(places, [v or 0 for v in values], width, label=label, color=colors[i])
    axes.set_xticks(range(len(groups)), groups, fontsize=7, rotation=60, ha="right")
    axes.grid(axis="x", visible=False)
    axes.set(ylabel="Gelem/s")


def _per_channel(axes: plt.Axes, m: Measurements) -> None:
    batch = "perf_2_per_channel"
    names = [row.name for row in m.passes[0].rows(batch, op=Q, dt="f32:f32:u8:u8") if row.name.startswith("1Mi:")]
    names = [name for name in dict.fromkeys(names) if name not in ("1Mi:zps",)]

    def of(name: str, peer: str | None = None) -> float | None:
        return m.median(lambda p: _gelems(p.row(batch, name, op=Q), peer))

    labels = [name.removeprefix("1Mi:").replace("_", " ") for name in names]
    series = {"dynquant, strict": [of(n) for n in names], "oneDNN Graph": [of(n, "onednn_graph") for n in names]}
    _bars(axes, labels, series, [GOOD, "#0068b5"])


def _instruction_sets(axes: plt.Axes, m: Measurements) -> None:
    isas = ["scalar", "avx2", "avx512"]
    cases = [(f"{what} {size}", batch, op, size) for what, batch, op in (("quantize", "perf_1_per_tensor", Q), ("dequantize", "perf_4_dequantize", D)) for size in ("64Ki", "1Mi")]  # fmt: skip
    series = {
        isa: [m.median(lambda p: _gelems(p.row(b, s, op=o, isa=isa, threads=1, fpmath="strict"))) for _, b, o, s in cases]
        for isa in isas
    }
    series = {isa: values for isa, values in series.items() if any(values)}
    _bars(axes, [label for label, *_ in cases], series, ["#b7d3c6", "#6fb98f", GOOD])


def _small(axes: plt.Axes, m: Measurements) -> None:
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
    axes.set(xlabel="elements", ylabel="ns a call")


def _scaling(axes: plt.Axes, m: Measurements) -> None:
    batch = "perf_6_threads"
    counts = sorted({row.threads for row in m.passes[0].rows(batch)})
    axes.plot(counts, counts, color="#888888", linestyle="--", label="linear")
    for name in ("64Ki", "256Ki", "1Mi", "4Mi", "64Mi"):

        def speed_up(p: Pass, threads: int) -> float | None:
            one, many = (p.row(batch, name, op=Q, threads=n) for n in (1, threads))
            return one.time / many.time if one and many else None

        axes.plot(counts, [m.median(lambda p: speed_up(p, n)) for n in counts], marker="o", label=f"{name} elements")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_ylim(bottom=0)
    axes.set(xlabel="threads", ylabel="times one thread's speed")


def draw(ms: list[Measurements], folder: pathlib.Path) -> None:
    def over_size(batch: str, op: str, all_threads: bool) -> Callable[[plt.Axes, Measurements], None]:
        return lambda axes, m: _over_size(axes, m, batch, op, m.threads if all_threads else 1)

    for name, drawing, title in (
        ("throughput_one_thread", over_size("perf_1_per_tensor", Q, False), "Quantize u8 with a zero point, one thread"),
        ("throughput_all_threads", over_size("perf_1_per_tensor", Q, True), "Quantize u8 with a zero point, all threads"),
        ("dequantize_one_thread", over_size("perf_4_dequantize", D, False), "Dequantize u8 with a zero point, one thread"),
        ("instruction_sets", _instruction_sets, "Instruction sets, strict, one thread"),
        ("small_tensors", _small, "Small tensors: time of a call, one thread"),
        ("thread_scaling", _scaling, "Quantize: speed-up by threads"),
    ):
        _draw_side_by_side(ms, drawing, title, folder / f"{name}.svg")
    title = "Quantize 1 Mi elements per channel, zero points, one thread (none: refused)"
    _draw_side_by_side(ms, _per_channel, title, folder / "per_channel.svg", (9, 4.6))
