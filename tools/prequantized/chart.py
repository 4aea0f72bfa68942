"""The charts of docs/prequantized.md."""

import pathlib

import matplotlib.pyplot as plt
from report.charts import save  # and the style of all charts

from .result import Outcome, Timing

_STYLES = {
    "float": {"color": "#888888", "marker": "|", "markersize": 16},
    "codified, activation in int8": {"color": "#0b6e4f", "marker": "o"},
    "codified, activation in float16": {"color": "#d55e00", "marker": "D"},
}


def accuracies(outcomes: list[Outcome], path: pathlib.Path) -> None:
    """A row for each network; rescalings by two Mul."""
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
    save(figure, path.parent, path.stem)


def speeds(timings: list[Timing], path: pathlib.Path) -> None:
    """A bar for each case and number of threads."""
    rows = timings[::-1]
    figure, axes = plt.subplots(figsize=(8, 0.3 * len(rows) + 1))
    names = [f"{t.name}, {t.threads} thread{'s' if t.threads > 1 else ''}" for t in rows]
    axes.barh(names, [t.ratio() for t in rows], color=["#0b6e4f" if t.ratio() >= t.goal else "#d55e00" for t in rows])
    for place, t in enumerate(rows):
        axes.text(t.ratio() * 1.02, place, f"{t.ratio():.1f}", va="center", fontsize=7)
    axes.axvline(1, color="#888888", linestyle="--")
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="times as fast", title="Pre-quantized models beside ONNX Runtime")
    save(figure, path.parent, path.stem)
