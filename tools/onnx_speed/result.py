"""The measured times of one node, and figures computed from them."""

import dataclasses
import statistics


@dataclasses.dataclass
class Result:
    """dynquant_seconds, peer_seconds: the median of each round; of a chain for all nodes together. peer_seconds is empty
    if the peer does not support the node; refusal is the reason."""

    key: str
    threads: int
    elements: int
    bytes: float
    peer: str
    goal: float | None
    dynquant_seconds: list[float]
    peer_seconds: list[float]
    refusal: str = ""
    nodes: int = 1

    @property
    def ratios(self) -> list[float]:
        return [peer / dynquant for peer, dynquant in zip(self.peer_seconds, self.dynquant_seconds)]

    def dynquant_gelems(self) -> float:
        return self.elements / statistics.median(self.dynquant_seconds) / 1e9

    def peer_gelems(self) -> float | None:
        return self.elements / statistics.median(self.peer_seconds) / 1e9 if self.peer_seconds else None

    def dynquant_per_node(self) -> float:
        return statistics.median(self.dynquant_seconds) / self.nodes

    def peer_per_node(self) -> float | None:
        return statistics.median(self.peer_seconds) / self.nodes if self.peer_seconds else None

    def gigabytes_per_second(self) -> float:
        return self.bytes / statistics.median(self.dynquant_seconds) / 1e9

    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.peer_seconds else None
