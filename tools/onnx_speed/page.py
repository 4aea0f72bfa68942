"""Writes the tables of docs/onnx_speed.md."""

from reporting.page import goal, number, ratio, table, threads_label

from .result import Result


def _ratio(r: Result) -> str:
    return ratio(r.ratio() or 0, r.ratios) if r.peer_seconds else "not offered"


def _nodes(rows: list[Result], peer: str, threads: int) -> list[str]:
    header = [f"{threads_label(threads)}, Gelem/s", peer, "dynquant", "GB/s", "times as fast (least to most)", "goal"]
    return table(header, [[r.key, number(r.peer_gelems()), number(r.dynquant_gelems()), number(r.gigabytes_per_second()), _ratio(r),
                           goal(r.goal, r.ratio())] for r in rows])  # fmt: skip


def _chains(rows: list[Result], peer: str, threads: int) -> list[str]:
    def nanoseconds(seconds: float | None) -> str:
        return "-" if seconds is None else f"{seconds * 1e9:.0f}"

    header = [f"{threads_label(threads)}, ns a node of a chain", peer, "dynquant"]
    return table(header, [[r.key, nanoseconds(r.peer_per_node()), nanoseconds(r.dynquant_per_node())] for r in rows])


def tables(results: list[Result]) -> str:
    """For each peer and number of threads a table of nodes and one of chains, if there are any."""
    lines: list[str] = []
    for peer, threads in dict.fromkeys((r.peer, r.threads) for r in results):
        rows = [r for r in results if (r.peer, r.threads) == (peer, threads)]
        for write, some in ((_nodes, [r for r in rows if r.nodes == 1]), (_chains, [r for r in rows if r.nodes > 1])):
            lines += write(some, peer, threads) if some else []
    return "\n".join(lines)
