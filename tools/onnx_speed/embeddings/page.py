"""Writes the tables of docs/onnx_speed.md, Embeddings."""

import math
import statistics

from reporting.page import number, table, threads_label

from .result import PER_ROW, PER_TENSOR, Embedded, time_ratio


def _cosines(some: list[float]) -> list[str]:
    """The least and the mean, rounded down, so that 1 is 1."""
    return ["1" if value == 1 else f"{math.floor(1e5 * value) / 1e5:.5f}" for value in (min(some), statistics.mean(some))]


def _milliseconds(turns: list[float]) -> str:
    return f"{number(1e3 * statistics.median(turns))} ({number(1e3 * min(turns))})"


def _ratios(some: dict[str, Embedded]) -> str:
    if not {PER_ROW, PER_TENSOR} <= set(some):
        return ""
    row, tensor = some[PER_ROW], some[PER_TENSOR]
    alone, batched = time_ratio(row.alone, tensor.alone), time_ratio(row.batched, tensor.batched)
    return f"{PER_ROW} takes {number(alone)} of the time of per_tensor alone and {number(batched)} in batches.\n"


def tables(results: list[Embedded]) -> str:
    """For each number of threads a table, and what a scale for each row costs."""
    lines: list[str] = []
    for threads in dict.fromkeys(e.threads for e in results):
        some = {e.name: e for e in results if e.threads == threads}
        header = [threads_label(threads), "cosine to float: least", "mean", "neighbours kept", "alone against in a batch, cosine: least", "mean",
                  "texts that differ in a bit", "ms a text (least): alone", "in a batch"]  # fmt: skip
        rows = [[e.name, *_cosines(e.to_float), f"{100 * e.kept:.1f} %", *_cosines(e.to_alone), f"{e.differing} of {len(e.to_alone)}",
                 _milliseconds(e.alone), _milliseconds(e.batched)] for e in some.values()]  # fmt: skip
        lines += [*table(header, rows), _ratios(some)]
    return "\n".join(lines)
