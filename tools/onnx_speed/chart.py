"""Draws dynquant's speed against ONNX Runtime's, node by node."""

import pathlib

from reporting.charts import ratio_bars

from .result import Result


def draw(results: list[Result], path: pathlib.Path) -> None:
    """One bar for each node that ONNX Runtime supports, by one thread."""
    rows = [r for r in results if r.peer == "ONNX Runtime" and r.threads == 1 and r.nodes == 1 and r.peer_seconds]
    bars = [(r.key, r.ratio() or 0, (r.ratio() or 0) >= 1) for r in rows]
    ratio_bars(bars, "Beside ONNX Runtime's own operators, one thread", path, row_height=0.24, log=True)
