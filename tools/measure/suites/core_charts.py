"""The charts of docs/performance.md: processors side by side, with one scale."""

import pathlib
from collections.abc import Callable

from ..charts import GOOD, RUNTIME, SHORT, plt, save
from ..results import Processor
from .core import D, Figure, Pass, Q, isa_of, median, passes

ONEDNN, LIGHT = "#0068b5", "#6fb98f"
STYLES = {
    "flat loop (loads and stores only)": {"color": "#888888", "linestyle": "--"},
    "dynquant, strict": {"color": GOOD, "linewidth": 2.4, "marker": "o"},
    "dynquant, fpmath mode any": {"color": LIGHT, "marker": "o"},
    "dynquant, direct API": {"color": LIGHT, "marker": "o"},
    "oneDNN Graph": {"color": ONEDNN, "marker": "s"},
    "XNNPACK": {"color": SHORT, "marker": "^"},
    "ONNX Runtime": {"color": RUNTIME, "marker": "D"},
    "pi-quant": {"color": "#c9a227", "marker": "v"},
}
SIZES = {"4Ki": 2**12, "16Ki": 2**14, "64Ki": 2**16, "256Ki": 2**18, "1Mi": 2**20, "4Mi": 2**22, "16Mi": 2**24, "64Mi": 2**26}
Draw = Callable[[plt.Axes, list[Pass], str], None]  # the last one: the best instruction set


def _line(axes: plt.Axes, some: list[Pass], label: str, figures: dict[float, Figure]) -> None:
    known = [(x, y) for x, y in ((x, median(some, figure)) for x, figure in figures.items()) if y is not None]
    if known:
        axes.plot(*zip(*known), label=label, markersize=5, **STYLES[label])


def _over_size(batch: str, op: str, all_threads: bool) -> Draw:
    def draw(axes: plt.Axes, some: list[Pass], isa: str) -> None:
        threads = max((row.threads for row in some[0].rows(batch)), default=1) if all_threads else 1

        def series(label: str, rate: Callable[[Pass, str], float | None]) -> None:
            _line(axes, some, label, {elements: lambda p, size=size: rate(p, size) for size, elements in SIZES.items()})

        def dqbench(peer: str | None = None, fpmath: str = "strict") -> Callable[[Pass, str], float | None]:
            where = {"op": op, "threads": threads, "fpmath": fpmath, "isa": isa}
            return lambda p, size: row.rate(peer) if (row := p.row(batch, size, **where)) else None

        series("flat loop (loads and stores only)", dqbench("flat"))
        series("dynquant, fpmath mode any", dqbench(fpmath="any"))
        series("dynquant, strict", dqbench())
        series("XNNPACK", dqbench("xnnpack"))
        series("oneDNN Graph", dqbench("onednn_graph"))
        for library in ("ONNX Runtime", "pi-quant"):
            series(library, lambda p, size: SIZES[size] / t / 1e9 if (t := p.python.get((library, size, op, threads))) else None)  # noqa: B023
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(SIZES.values()), list(SIZES))
        axes.set_ylim(bottom=0)
        axes.set(xlabel="elements", ylabel="Gelem/s")

    return draw


def _bars(axes: plt.Axes, groups: list[str], series: dict[str, list[float | None]], colors: list[str]) -> None:
    width = 0.8 / max(1, len(series))
    for i, (label, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(places, [v or 0 for v in values], width, label=label, color=colors[i])
    axes.set_xticks(range(len(groups)), groups, fontsize=7, rotation=60, ha="right")
    axes.grid(axis="x", visible=False)
    axes.set(ylabel="Gelem/s")


def _per_channel(axes: plt.Axes, some: list[Pass], isa: str) -> None:
    batch = "perf_2_per_channel"
    names = [row.name for row in some[0].rows(batch, op=Q, dt="f32:f32:u8:u8") if row.name.startswith("1Mi:")]

    def of(name: str, peer: str | None = None) -> float | None:
        return median(some, lambda p: row.rate(peer) if (row := p.row(batch, name, op=Q)) else None)

    labels = [name.removeprefix("1Mi:").replace("_", " ") for name in names]
    _bars(axes, labels, {"dynquant, strict": [of(n) for n in names], "oneDNN Graph": [of(n, "onednn_graph") for n in names]}, [GOOD, ONEDNN])


def _instruction_sets(axes: plt.Axes, some: list[Pass], isa: str) -> None:
    cases = [(f"{what} {size}", batch, op, size) for what, batch, op in (("quantize", "perf_1_per_tensor", Q), ("dequantize", "perf_4_dequantize", D)) for size in ("64Ki", "1Mi")]  # fmt: skip

    def of(batch: str, op: str, size: str, isa: str) -> float | None:
        return median(some, lambda p: row.rate() if (row := p.row(batch, size, op=op, isa=isa, threads=1, fpmath="strict")) else None)

    series = {one: [of(batch, op, size, one) for _, batch, op, size in cases] for one in ("scalar", "avx2", "avx512")}
    _bars(axes, [label for label, *_ in cases], {one: values for one, values in series.items() if any(values)}, ["#b7d3c6", LIGHT, GOOD])


def _small(axes: plt.Axes, some: list[Pass], isa: str) -> None:
    sizes = (1, 16, 64, 256, 1024, 4096)

    def series(label: str, api: str, peer: str | None = None) -> None:
        def value(p: Pass, size: int) -> float | None:
            row = p.row("perf_5_small", str(size), op=Q, api=api)
            time = None if row is None else row.peers.get(peer) if peer else row.time
            return time * 1e9 if time else None

        _line(axes, some, label, {size: lambda p, size=size: value(p, size) for size in sizes})

    series("oneDNN Graph", "graph", "onednn_graph")
    series("dynquant, strict", "graph")
    series("dynquant, direct API", "direct")
    series("XNNPACK", "direct", "xnnpack")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set(xlabel="elements", ylabel="ns a call")


def _scaling(axes: plt.Axes, some: list[Pass], isa: str) -> None:
    batch = "perf_6_threads"
    counts = sorted({row.threads for row in some[0].rows(batch)})
    axes.plot(counts, counts, color="#888888", linestyle="--", label="linear")
    for name in ("64Ki", "256Ki", "1Mi", "4Mi", "64Mi"):

        def speed_up(p: Pass, threads: int) -> float | None:
            one, many = (p.row(batch, name, op=Q, threads=n) for n in (1, threads))  # noqa: B023
            return one.time / many.time if one and many else None

        axes.plot(counts, [median(some, lambda p: speed_up(p, n)) for n in counts], marker="o", label=f"{name} elements")  # noqa: B023
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_ylim(bottom=0)
    axes.set(xlabel="threads", ylabel="times one thread's speed")


CHARTS = {
    "throughput_one_thread.svg": (_over_size("perf_1_per_tensor", Q, False), "Quantize u8 with a zero point, one thread"),
    "throughput_all_threads.svg": (_over_size("perf_1_per_tensor", Q, True), "Quantize u8 with a zero point, all threads"),
    "dequantize_one_thread.svg": (_over_size("perf_4_dequantize", D, False), "Dequantize u8 with a zero point, one thread"),
    "instruction_sets.svg": (_instruction_sets, "Instruction sets, strict, one thread"),
    "small_tensors.svg": (_small, "Small tensors: time of a call, one thread"),
    "thread_scaling.svg": (_scaling, "Quantize: speed-up by threads"),
    "per_channel.svg": (_per_channel, "Quantize 1 Mi elements per channel, zero points, one thread (none: refused)", (9, 4.6)),
}


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    """Each chart has all processors side by side."""
    count = len(processors)
    for file, (draw_one, title, *wide) in CHARTS.items():
        width, height = wide[0] if wide else (8, 4.2)
        size = width if count == 1 else 0.75 * width * count, height
        figure, all_axes = plt.subplots(1, count, figsize=size, sharey=True, squeeze=False)
        for axes, p in zip(all_axes[0], processors):
            draw_one(axes, passes(p), isa_of(p))
            axes.set_title(p.name, fontsize=10)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=8)
        figure.suptitle(title)
        save(figure, figures / file)
