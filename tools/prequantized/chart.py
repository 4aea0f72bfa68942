"""Draws the charts of models/docs/prequantized.md and prequantized_speed.md."""

import pathlib

import matplotlib.pyplot as plt
from reporting.charts import GOOD, SHORT, ratio_bars, save
from reporting.page import threads_label

from .result import Outcome, Timing

_STYLES = {
    "float": {"color": "#888888", "marker": "|", "markersize": 16},
    "codified, activation in int8": {"color": GOOD, "marker": "o"},
    "codified, activation in float16": {"color": SHORT, "marker": "D"},
}


def accuracies(outcomes: list[Outcome], path: pathlib.Path) -> None:
    """A row for each network with rescaling by two Mul."""
    figure, axes = plt.subplots(figsize=(8, 3.2))
    rows = list(dict.fromkeys(f"{o.network}, {o.activation}" for o in outcomes))[::-1]
    points: dict[str, list[tuple[float, str]]] = {label: [] for label in _STYLES}
    for o in outcomes:
        if o.variant.rescale == "2mul":
            row, fp16 = f"{o.network}, {o.activation}", o.variant.activation == "fp16"
            label = "codified, activation in float16" if fp16 else "codified, activation in int8"
            points[label].append((100 * o.accuracy, row))
            points["float"].append((100 * o.float_accuracy, row))
    axes.set_yticks(range(len(rows)), rows)
    for label, some in points.items():
        offset = {"codified, activation in int8": 0.12, "codified, activation in float16": -0.12}.get(label, 0)
        axes.plot([x for x, _ in some], [rows.index(row) + offset for _, row in some], linestyle="", label=label, **_STYLES[label])
    axes.set(xlabel="% of 600 images", title="Handwritten digits: accuracy before and after codifying")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, fontsize=8)
    save(figure, path)


def speeds(timings: list[Timing], path: pathlib.Path) -> None:
    """A bar for each case and number of threads."""
    bars = [(f"{t.name}, {threads_label(t.threads)}", t.ratio(), t.ratio() >= t.goal) for t in timings]
    ratio_bars(bars, "Pre-quantized models beside ONNX Runtime", path)
