"""The tables for docs/onnx.md."""

from .result import Result


def _number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.{digits}f}"


def _ratio(r: Result) -> str:
    if not r.theirs:
        return "not offered"
    return f"{_number(r.ratio(), 1)} ({_number(min(r.ratios), 1)} to {_number(max(r.ratios), 1)})"


def _goal(r: Result) -> str:
    ratio = r.ratio()
    if r.goal is None or ratio is None:
        return ""
    return f"{r.goal:g}, met" if ratio >= r.goal else f"{r.goal:g}, **missed**"


def _who(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def _nodes(rows: list[Result], peer: str, threads: int) -> list[str]:
    lines = [
        f"| {_who(threads)}, Gelem/s | {peer} | dynquant | GB/s | times as fast (least to most) | asked for |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        theirs = _number(r.theirs_gelems())
        lines.append(
            f"| {r.key} | {theirs} | {_number(r.ours_gelems())} | {_number(r.gigabytes_per_second())} | {_ratio(r)} | {_goal(r)} |"
        )
    return lines + [""]


def _chains(rows: list[Result], peer: str, threads: int) -> list[str]:
    def nanoseconds(seconds: float | None) -> str:
        return "-" if seconds is None else f"{seconds * 1e9:.0f}"

    lines = [f"| {_who(threads)}, ns a node of a chain | {peer} | dynquant |", "|---|---|---|"]
    lines += [f"| {r.key} | {nanoseconds(r.theirs_a_node())} | {nanoseconds(r.ours_a_node())} |" for r in rows]
    return lines + [""]


def tables(results: list[Result]) -> str:
    """Of each peer and number of threads one of nodes and one of chains, as far as there are any."""
    lines: list[str] = []
    for peer, threads in dict.fromkeys((r.peer, r.threads) for r in results):
        rows = [r for r in results if (r.peer, r.threads) == (peer, threads)]
        for write, some in ((_nodes, [r for r in rows if r.nodes == 1]), (_chains, [r for r in rows if r.nodes > 1])):
            lines += write(some, peer, threads) if some else []
    return "\n".join(lines)
