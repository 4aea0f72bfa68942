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


def table(results: list[Result], peer: str, threads: int) -> list[str]:
    """Rows of one peer and one number of threads; nothing when there are none."""
    rows = [r for r in results if (r.peer, r.threads) == (peer, threads)]
    if not rows:
        return []
    who = "one thread" if threads == 1 else f"{threads} threads"
    lines = [
        f"| {who}, Gelem/s | {peer} | dynquant | GB/s | times as fast (least to most) | asked for |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        theirs = _number(r.theirs_gelems())
        lines.append(
            f"| {r.key} | {theirs} | {_number(r.ours_gelems())} | {_number(r.gigabytes_per_second())} | {_ratio(r)} | {_goal(r)} |"
        )
    return lines + [""]


def tables(results: list[Result]) -> str:
    keys = dict.fromkeys((r.peer, r.threads) for r in results)
    return "\n".join(line for peer, threads in keys for line in table(results, peer, threads))
