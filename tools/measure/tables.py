"""Tables in Markdown and the format of their cells."""

from .results import Measured


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """The table's lines and an empty line."""
    lines = [header, ["---"] * len(header), *rows]
    return ["|" + "|".join(line) + "|" if line[0] == "---" else "| " + " | ".join(line) + " |" for line in lines] + [""]


def number(value: float | None, digits: int = 2) -> str:
    """Fewer decimals for larger values; "-" if not measured."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.{digits}f}"


def threads_label(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def by_threads(results: list[Measured]) -> dict[int, list[Measured]]:
    return {threads: [m for m in results if m.threads == threads] for threads in dict.fromkeys(m.threads for m in results)}


def spread(value: float, some: list[float], digits: int = 1) -> str:
    """A figure, the least and the most."""
    return f"{number(value, digits)} ({number(min(some), digits)} to {number(max(some), digits)})"


def times(m: Measured, slower: str, faster: str) -> str:
    """How many times as fast, the median of neighbouring turns, the least and the most."""
    some = m.ratios(slower, faster)
    return spread(m.ratio(slower, faster) or 0, some) if some else ""


def median_and_least(m: Measured, name: str, unit: float) -> str:
    """unit: in seconds."""
    median = m.median(name)
    return "" if median is None else f"{number(median / unit)} ({number(m.least[name] / unit)})"


def goal(target: float | None, measured: float | None) -> str:
    if target is None or measured is None:
        return ""
    return f"{target:g}, met" if measured >= target else f"{target:g}, **missed**"
