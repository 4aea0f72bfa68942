"""What is measured, and the rows of the tables."""

import dataclasses
import statistics

from reporting.page import number, ratio, table, threads_label

from .cases import LABELS, Case

Key = tuple[str, str, str]  # a case of the batch: name, rule and types


@dataclasses.dataclass
class Turns:
    """The medians and the least times of the rounds, in seconds."""

    medians: list[float] = dataclasses.field(default_factory=list)
    least: list[float] = dataclasses.field(default_factory=list)

    def add(self, median: float, least: float) -> None:
        self.medians.append(median)
        self.least.append(least)


@dataclasses.dataclass(frozen=True)
class Share:
    """The least times of dynquant and of the flat loop, in seconds."""

    own: float
    flat: float
    elements: float

    def better(self, other: "Share") -> "Share":
        return Share(min(self.own, other.own), min(self.flat, other.flat), self.elements)


def rows(case: Case, results: dict[str, Turns]) -> list[list[str]]:
    own = results["dynquant"]
    lines = []
    for name, turns in results.items():
        faster = [theirs / ours for theirs, ours in zip(turns.medians, own.medians)]
        median = statistics.median(turns.medians)
        lines.append([case.name if name == "dynquant" else "", LABELS.get(name, name), number(1e6 * median), number(1e6 * min(turns.least)),
                      number(case.elements / median / 1e9), "" if name == "dynquant" else ratio(statistics.median(faster), faster)])  # fmt: skip
    return lines


def flat_table(threads: int, cases: dict[Key, dict[str, Share]]) -> list[str]:
    """Three columns for each instruction set."""
    isas = list(dict.fromkeys(isa for shares in cases.values() for isa in shares))
    header = [threads_label(threads), "rule", "types", *(cell for isa in isas for cell in (f"{isa}, us", "Gelem/s", "of flat"))]
    body = []
    for key, shares in cases.items():
        cells = [(number(1e6 * s.own), number(s.elements / s.own / 1e9), f"{100 * s.flat / s.own:.0f} %") for s in map(shares.get, isas) if s]
        body.append([*key, *(text for cell in cells for text in cell)])
    return table(header, body)
