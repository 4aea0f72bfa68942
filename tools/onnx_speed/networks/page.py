"""Writes the tables of docs/onnx_speed.md, Whole networks."""

import dataclasses
import statistics
from collections.abc import Callable

from reporting.page import number, ratio, table, threads_label

from .result import (CLAIMED, CNN, DYNAMIC, FLOAT, FLOAT_MODEL, FUSED, ONEDNN, PLAIN, PROVIDER, RUNTIME, STATIC,
                     TRANSFORMER, Convolution, NodeCost, Opened, Results, Spent, Timed)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Goal:
    """At least `least` times `peer`'s speed, in variants of networks of a kind, on one thread."""

    text: str
    kinds: tuple[str, ...]
    variants: tuple[str, ...]
    peer: str
    least: float


GOALS = (
    Goal("dynamic CNNs, times ONNX Runtime", (CNN,), DYNAMIC, RUNTIME, 3),
    Goal("dynamic CNNs, times their float model", (CNN,), DYNAMIC, FLOAT_MODEL, 1),
    Goal("dynamic transformers, times ONNX Runtime", (TRANSFORMER,), DYNAMIC, RUNTIME, 1.1),
    Goal("static models, times ONNX Runtime", (CNN, TRANSFORMER), (STATIC,), RUNTIME, 0.98),
    Goal("float models, times ONNX Runtime", (CNN, TRANSFORMER), (FLOAT,), RUNTIME, 0.98),
)
CLAIMED_GOAL = 5
NODE_GOAL = 300  # ns


def _is_missed(t: Timed, peer: str) -> bool:
    goals = [g for g in GOALS if t.threads == 1 and g.peer == peer and t.kind in g.kinds and t.variant in g.variants]
    return any(t.ratio(peer) < g.least for g in goals)


def _ratio(t: Timed, peer: str) -> str:
    if peer not in t.times:
        return ""
    text = ratio(t.ratio(peer), t.ratios(peer, PROVIDER))
    return f"**{text}**" if _is_missed(t, peer) else text


def _latency(timed: list[Timed], threads: int) -> list[str]:
    header = [f"{threads_label(threads)}, ms", "weights", "float model", "ONNX Runtime", "dynquant's provider",
              "provider, times ONNX Runtime", "times the float model", "differs by"]  # fmt: skip
    rows = []
    for t in timed:
        times = [number(1e3 * t.median(peer)) if peer in t.times else "" for peer in (FLOAT_MODEL, RUNTIME, PROVIDER)]
        rows.append([t.network, t.variant, *times, _ratio(t, RUNTIME), _ratio(t, FLOAT_MODEL), f"{100 * t.largest_difference:.1g} %"])
    return table(header, rows)


def _goal_row(text: str, least: float, measured: list[tuple[str, str, float]]) -> list[str]:
    """measured: network, variant, figure."""
    values = [value for _, _, value in measured]
    missed: dict[str, list[str]] = {}
    for network, name, value in measured:
        if value < least:
            missed.setdefault(network, []).append(f"{name} {number(value, 2)}")
    spread = f"{number(statistics.median(values), 2)} ({number(min(values), 2)} to {number(max(values), 2)})"
    outcome = "; ".join(f"{network}: {', '.join(some)}" for network, some in missed.items())
    return [text, f"{least:g}", spread, f"**missed** by {outcome}" if outcome else "met"]


def _goals(results: Results) -> list[str]:
    timed = [t for t in results.all(Timed) if t.threads == 1]
    rows = []
    if layers := [(s.network, s.variant, s.ratio()) for s in results.all(Spent) if s.claimed]:
        rows.append(_goal_row("claimed layers, times the nodes they replace", CLAIMED_GOAL, layers))
    for goal in GOALS:
        measured = [(t.network, t.variant, t.ratio(goal.peer)) for t in timed if t.kind in goal.kinds and t.variant in goal.variants]
        if measured:
            rows.append(_goal_row(goal.text, goal.least, measured))
    if costs := {c.name: statistics.median(c.seconds) for c in results.all(NodeCost)}:
        over = 1e9 * (costs[CLAIMED] - costs[FUSED])
        met = "met" if over <= NODE_GOAL else "**missed**"
        rows.append(["the smallest claimed layer over its nodes in ONNX Runtime, ns", f"at most {NODE_GOAL}", f"{over:.0f}", met])
    return table(["one thread", "goal", "median (least to most)", ""], rows) if rows else []


def _memory(opened: list[Opened]) -> list[str]:
    by_row: dict[tuple[str, str], dict[str, Opened]] = {}
    for one in opened:
        by_row.setdefault((one.network, one.variant), {})[one.peer] = one

    def cells(peers: dict[str, Opened], figure: Callable[[Opened], float]) -> list[str]:
        return [number(figure(peers[peer])) if peer in peers else "" for peer in (RUNTIME, PROVIDER)]

    rows = [[*row, *cells(peers, lambda o: 1e3 * o.seconds), *cells(peers, lambda o: o.bytes / 2**20)] for row, peers in by_row.items()]
    header = ["a session, one thread", "weights", "creation, ms: ONNX Runtime", "provider", "memory, MiB: ONNX Runtime", "provider"]
    return table(header, rows)


def _time_left(spent: list[Spent]) -> list[str]:
    rows = []
    for s in spent:
        others = ", ".join(f"{name} {100 * s.share(name):.0f} %" for name in s.largest_others())
        times = number(s.ratio(), 1) if s.claimed else ""
        rows.append([s.network, s.variant, f"{s.claimed} of {s.eligible}", f"{100 * s.share(PROVIDER):.0f} %", others, times])
    return table(["one thread", "weights", "claimed layers", "of the nodes' time", "the next three operators", "times the nodes they replace"], rows)


def _nodes(costs: list[NodeCost]) -> list[str]:
    def nanoseconds(c: NodeCost) -> str:
        return f"{1e9 * statistics.median(c.seconds):.0f} ({1e9 * min(c.seconds):.0f} to {1e9 * max(c.seconds):.0f})"

    names = {CLAIMED: CLAIMED + ", 1 x 16 by 16 x 16", FUSED: FUSED, PLAIN: PLAIN + ", 16 floats"}
    return table(["one thread", "ns in a chain"], [[names[c.name], nanoseconds(c)] for c in costs])


def _convolutions(convolutions: list[Convolution]) -> list[str]:
    def billions(c: Convolution) -> float:
        return c.products / statistics.median(c.times[ONEDNN]) / 1e9

    most = max(billions(c) for c in convolutions)
    rows = []
    for c in convolutions:
        times = [number(1e6 * statistics.median(c.times[peer])) if peer in c.times else "" for peer in (RUNTIME, PROVIDER, ONEDNN)]
        rows.append([c.name, *times, number(billions(c)), f"{100 * billions(c) / most:.0f} %"])
    return table(["one processor, us", "ONNX Runtime's nodes", "claimed layer", "oneDNN's primitive", "10^9 products/s", "of the most"], rows)


def tables(results: Results) -> str:
    """The goals, then a table for each number of threads and each kind of figure that was measured."""
    lines = _goals(results)
    timed = results.all(Timed)
    for threads in sorted({t.threads for t in timed}):
        lines += _latency([t for t in timed if t.threads == threads], threads)
    for kind, write in ((Spent, _time_left), (Opened, _memory), (NodeCost, _nodes), (Convolution, _convolutions)):
        if some := results.all(kind):
            lines += write(some)
    return "\n".join(lines)
