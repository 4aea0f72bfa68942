"""Writes the tables of docs/onnx_speed.md, Layers."""

import statistics

from reporting.page import number, table, threads_label

from .result import Timed

NOISE = 0.97  # from here on a layer counts as fast as ONNX Runtime's


def _is_below(ratio: float, limit: float) -> bool:
    """Of the ratio as it is printed."""
    return round(ratio, 2) < limit


def _times(ratio: float) -> str:
    return f"**{number(ratio)}**" if _is_below(ratio, NOISE) else number(ratio)


def _microseconds(turns: list[float], least: float) -> str:
    return f"{number(1e6 * statistics.median(turns))} ({number(1e6 * least)})"


def _layers(kind: str, threads: int, timed: list[Timed]) -> list[str]:
    header = [f"{kind}, {threads_label(threads)}, us (least)", "x", "weights", "ONNX Runtime", "provider", "times"]
    rows = [[t.shape, t.x, t.weights, _microseconds(t.runtime, t.runtime_least), _microseconds(t.provider, t.provider_least),
             _times(t.ratio()) + ("" if t.claimed else ", left")] for t in timed]  # fmt: skip
    return table(header, rows)


def _least_and_mean(timed: list[Timed], weights: str) -> list[str]:
    ratios = [t.ratio() for t in timed if t.weights == weights]
    return [_times(min(ratios)), _times(statistics.geometric_mean(ratios))] if ratios else ["", ""]


def _summary(threads: int, timed: list[Timed]) -> list[str]:
    groups: dict[tuple[str, str], list[Timed]] = {}
    for kind in [*dict.fromkeys(t.kind for t in timed), "all"]:
        for t in timed:
            if kind in (t.kind, "all"):
                groups.setdefault((kind, t.x), []).append(t)
    rows = []
    for names, some in groups.items():
        below = [sum(_is_below(t.ratio(), limit) for t in some) for limit in (1, NOISE)]
        counts = [len(some), sum(not t.claimed for t in some), *below]
        rows.append([*names, *map(str, counts), *_least_and_mean(some, "int8"), *_least_and_mean(some, "uint8")])
    header = [threads_label(threads), "x", "measured", "left to ONNX Runtime", "below 1", f"below {NOISE}", "int8, times: least", "geometric mean",
              "uint8, times: least", "geometric mean"]  # fmt: skip
    return table(header, rows)


def tables(results: list[Timed]) -> str:
    """For each number of threads a table of each kind, and a summary."""
    lines: list[str] = []
    for threads in dict.fromkeys(t.threads for t in results):
        timed = [t for t in results if t.threads == threads]
        for kind in dict.fromkeys(t.kind for t in timed):
            lines += _layers(kind, threads, [t for t in timed if t.kind == kind])
        lines += _summary(threads, timed)
    return "\n".join(lines)
