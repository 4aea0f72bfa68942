"""How many times as fast, node by node."""

import pathlib

import matplotlib.pyplot as plt
from report.charts import save  # and the style of all charts

from .result import Result


def draw(results: list[Result], path: pathlib.Path) -> None:
    """One bar for each node that ONNX Runtime has, one thread."""
    rows = [r for r in results if r.peer == "ONNX Runtime" and r.threads == 1 and r.nodes == 1 and r.theirs][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.24 * len(rows) + 1))
    ratios = [r.ratio() or 0 for r in rows]
    axes.barh([r.key for r in rows], ratios, color=["#0b6e4f" if ratio >= 1 else "#d55e00" for ratio in ratios])
    for place, ratio in enumerate(ratios):
        axes.text(ratio * 1.05, place, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}", va="center", fontsize=7)
    axes.axvline(1, color="#888888", linestyle="--")
    axes.set_xscale("log")
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="times as fast", title="Beside ONNX Runtime's own operators, one thread")
    save(figure, path.parent, path.stem)
