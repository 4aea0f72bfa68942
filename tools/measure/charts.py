"""The style of all charts, small SVG files that are the same for the same figures, and bar charts."""

import pathlib

import matplotlib

from .results import Measured, Processor
from .svg import compact

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

plt.rcParams.update(
    {
        "svg.hashsalt": "dynquant",
        "svg.fonttype": "none",  # text instead of outlines
        "figure.figsize": (8, 4.2),
        "figure.facecolor": "white",  # legible on a dark page
        "axes.grid": True,
        "grid.color": "#dddddd",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "font.family": "sans-serif",
        "xtick.bottom": False,
        "ytick.left": False,
        "legend.framealpha": 1,
    }
)

GOOD, SHORT, RUNTIME = "#0b6e4f", "#d55e00", "#9a5ba5"


def save(figure: plt.Figure, path: pathlib.Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    plt.close(figure)
    path.write_text(compact(path.read_text()))


def newest(processors: list[Processor], suite: str) -> list[Measured]:
    """Of the processor that was measured last."""
    return max(processors, key=lambda p: p.facts(suite)["date"]).of(suite)


def ratio_bars(rows: list[tuple[str, float, bool]], title: str, path: pathlib.Path, row_height: float = 0.3, log: bool = False) -> None:
    """Draws a bar for each (name, ratio of speeds, whether it meets the goal), the first on top."""
    rows = rows[::-1]
    figure, axes = plt.subplots(figsize=(8, row_height * len(rows) + 1))
    left = 0.8 * min(ratio for _, ratio, _ in rows) if log else 0
    axes.barh([name for name, _, _ in rows], [ratio - left for _, ratio, _ in rows], left=left, color=[GOOD if good else SHORT for _, _, good in rows])
    for place, (_, ratio, _) in enumerate(rows):
        axes.text(ratio * 1.03, place, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}", va="center", fontsize=7)
    axes.axvline(1, color="#888888", linestyle="--")
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="times as fast", title=title)
    save(figure, path)


def grouped_bars(groups: list[str], series: dict[str, list[float]], colors: list[str], label: str, title: str, path: pathlib.Path) -> None:
    """Draws a bar of each series for each group, the first on top."""
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(groups) + 1.6))
    height = 0.8 / len(series)
    for i, ((name, values), color) in enumerate(zip(series.items(), colors, strict=True)):
        places = [group + (i - (len(series) - 1) / 2) * height for group in range(len(groups))]
        axes.barh(places, values, height, label=name, color=color)
        for place, value in zip(places, values):
            axes.text(value, place, f" {value:.2f}", va="center", fontsize=7)
    axes.set_yticks(range(len(groups)), groups, fontsize=7)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel=label, title=title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=len(series), fontsize=8)
    save(figure, path)
