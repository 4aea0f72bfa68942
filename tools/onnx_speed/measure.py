"""Peer and dynquant by turns, round by round, each with a session of its own: the threads of another would wait for work in
a loop and take the cores."""

import dataclasses
import statistics

import numpy

from .cases import Case
from .sessions import Peer, Runner, bytes_moved, input_of


@dataclasses.dataclass
class Result:
    """Medians of each round, in seconds; none of the peer's where it has no such node, for this reason."""

    key: str
    threads: int
    elements: int
    bytes: float
    peer: str
    goal: float | None
    ours: list[float]
    theirs: list[float]
    refusal: str = ""

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for theirs, ours in zip(self.theirs, self.ours)]

    def ours_gelems(self) -> float:
        return self.elements / statistics.median(self.ours) / 1e9

    def theirs_gelems(self) -> float | None:
        return self.elements / statistics.median(self.theirs) / 1e9 if self.theirs else None

    def gigabytes_per_second(self) -> float:
        return self.bytes / statistics.median(self.ours) / 1e9

    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.theirs else None


def _median(case: Case, peer: Peer, threads: int, x, seconds: float) -> float:
    return Runner(case, peer, threads, x).median(seconds)


def measure(case: Case, threads: int, dynquant: Peer, peer: Peer, rounds: int, seconds: float) -> Result:
    x = input_of(case, dynquant)
    elements = int(numpy.prod(case.dims))
    result = Result(case.key, threads, elements, bytes_moved(case), peer.name, case.goal, [], [])
    for _ in range(rounds):
        if not result.refusal:
            try:
                result.theirs.append(_median(case, peer, threads, x, seconds))
            except Exception as error:  # ONNX Runtime's own have no base but this
                result.refusal = str(error).partition("\n")[0]
        result.ours.append(_median(case, dynquant, threads, x, seconds))
    return result
