"""The measured times of one node, and figures computed from them."""

import dataclasses
import statistics


@dataclasses.dataclass
class Result:
    """ours, theirs: the median of each round, in seconds; of a chain for all nodes together. theirs is empty if the
    peer does not support the node; refusal is the reason."""

    key: str
    threads: int
    elements: int
    bytes: float
    peer: str
    goal: float | None
    ours: list[float]
    theirs: list[float]
    refusal: str = ""
    nodes: int = 1

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for theirs, ours in zip(self.theirs, self.ours)]

    def ours_gelems(self) -> float:
        return self.elements / statistics.median(self.ours) / 1e9

    def theirs_gelems(self) -> float | None:
        return self.elements / statistics.median(self.theirs) / 1e9 if self.theirs else None

    def ours_per_node(self) -> float:
        return statistics.median(self.ours) / self.nodes

    def theirs_per_node(self) -> float | None:
        return statistics.median(self.theirs) / self.nodes if self.theirs else None

    def gigabytes_per_second(self) -> float:
        return self.bytes / statistics.median(self.ours) / 1e9

    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.theirs else None
