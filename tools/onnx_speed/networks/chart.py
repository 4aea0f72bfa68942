"""Draws the networks' times beside those of ONNX Runtime's dynamic models."""

import pathlib

from reporting.charts import GOOD, grouped_bars

from .result import FLOAT_MODEL, INT8, PROVIDER, RUNTIME, Results, Timed

_NAMES = {FLOAT_MODEL: "float model, ONNX Runtime", RUNTIME: "int8, ONNX Runtime", PROVIDER: "int8, dynquant's provider"}


def draw(results: Results, path: pathlib.Path) -> None:
    """Three bars for each network, one thread."""
    timed = [t for t in results.all(Timed) if t.variant == INT8 and t.threads == 1]
    series = {name: [1 / t.ratio(RUNTIME, peer) for t in timed] for peer, name in _NAMES.items()}
    title = "quantize_dynamic with int8 weights, one thread"
    grouped_bars([t.network for t in timed], series, ["#888888", "#9a5ba5", GOOD], "time, relative to int8 in ONNX Runtime", title, path)
