"""Tables in Markdown and the format of their cells."""


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


def ratio(median: float, all_of_them: list[float]) -> str:
    """A ratio of speeds: the median, the least and the most."""
    return f"{number(median, 1)} ({number(min(all_of_them), 1)} to {number(max(all_of_them), 1)})"


def goal(target: float | None, measured: float | None) -> str:
    if target is None or measured is None:
        return ""
    return f"{target:g}, met" if measured >= target else f"{target:g}, **missed**"
