"""Writes the tables of docs/onnx_speed.md, Weights alone."""

import statistics

from reporting.page import goal, number, table, threads_label

from .result import FLOAT, PROVIDER, RUNTIME, Measured, Turns

PEERS = FLOAT, RUNTIME, PROVIDER
MANY_ROWS, OF_MANY_ROWS = 16, 0.5  # from so many rows on, times float
OF_FEW_ROWS = {"int8": {1: 3, 4: 1.5, 8: 1.1}, "int4": {1: 3}}  # by weights; uint8 as int8
OF_MEMORY = {"int8": 0.4, "int4": 0.3}


def _goal_of(goals: dict, weights: str) -> object:
    return next((value for kind, value in goals.items() if kind in weights), None)


def _milliseconds(turns: Turns, peer: str) -> str:
    return f"{number(1e3 * statistics.median(turns.times[peer]))} ({number(1e3 * turns.least[peer])})"


def _times_nodes(ratio: float) -> str:
    return number(ratio) if round(ratio, 2) >= 1 else f"**{number(ratio)}**"


def _time_row(m: Measured, turns: Turns) -> list[str]:
    few = (_goal_of(OF_FEW_ROWS, m.weights) or {}).get(turns.rows)
    wanted = OF_MANY_ROWS if turns.rows >= MANY_ROWS else few
    return [m.layers, m.weights, str(turns.rows), *(_milliseconds(turns, peer) for peer in PEERS), number(turns.ratio(FLOAT)),
            goal(wanted, turns.ratio(FLOAT)), _times_nodes(turns.ratio(RUNTIME)) + ("" if m.claimed else ", left")]  # fmt: skip


def _memory_row(m: Measured) -> list[str]:
    most = _goal_of(OF_MEMORY, m.weights)
    met = "" if most is None else f"{most:g}, met" if m.memory_ratio() <= most else f"{most:g}, **missed**"
    return [m.layers, m.weights, *(number(m.mib[peer]) for peer in PEERS), number(m.memory_ratio()), met]


def tables(results: list[Measured]) -> str:
    """For each number of threads a table of times, and one of memory."""
    lines: list[str] = []
    for threads in dict.fromkeys(m.threads for m in results):
        some = [m for m in results if m.threads == threads]
        header = [f"{threads_label(threads)}, ms (least)", "weights", "rows", *PEERS, "times float", "goal", "times the nodes"]
        lines += table(header, [_time_row(m, turns) for m in some for turns in m.turns])
    of_memory = {(m.layers, m.weights): m for m in results}
    lines += table(["resident, MiB", "weights", *PEERS, "of float", "goal: at most"], [_memory_row(m) for m in of_memory.values()])
    return "\n".join(lines)
