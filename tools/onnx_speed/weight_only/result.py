"""The measured figures of a chain."""

import dataclasses
import statistics

FLOAT, RUNTIME, PROVIDER = "float", "ONNX Runtime's nodes", "provider"


@dataclasses.dataclass
class Turns:
    """Of some rows: each peer's median time of each turn, in seconds, and its shortest run."""

    rows: int
    times: dict[str, list[float]]
    least: dict[str, float]

    def ratio(self, slower: str) -> float:
        """The median of those of neighbouring turns."""
        return statistics.median(a / b for a, b in zip(self.times[slower], self.times[PROVIDER], strict=True))


@dataclasses.dataclass
class Measured:
    """layers, weights: as a Chain has them. claimed: the layers that the provider computes. mib: of each peer, the growth of
    the resident set by a session's creation and a run, one thread."""

    layers: str
    weights: str
    threads: int
    claimed: int
    turns: list[Turns]
    mib: dict[str, float]

    def __post_init__(self) -> None:
        self.turns = [one if isinstance(one, Turns) else Turns(**one) for one in self.turns]  # of a file

    @property
    def key(self) -> tuple:
        return self.layers, self.weights, self.threads

    def memory_ratio(self) -> float:
        return self.mib[PROVIDER] / self.mib[FLOAT]
