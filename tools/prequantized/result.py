"""The results of accuracy.py and speed.py, and figures computed from them."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a float model is codified: values of dqmodel's options."""

    rescale: str
    activation: str

    @property
    def options(self) -> tuple[str, str]:
        return f"--rescale={self.rescale}", f"--activation={self.activation}"


@dataclasses.dataclass(frozen=True)
class Differences:
    """Differences between rescalings in integers and by ONNX's operators, over all layers that round to 8 bits."""

    differing: int = 0
    elements: int = 0
    largest: int = 0

    def __add__(self, other: "Differences") -> "Differences":
        return Differences(self.differing + other.differing, self.elements + other.elements, max(self.largest, other.largest))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One codified network on the test images.

    Accuracies are from 0 to 1. differing, differing_unfused, differing_session: the scores whose bits differ from ONNX
    Runtime node by node; of dynquant with and without fused layers, and of ONNX Runtime in one session.
    """

    network: str
    activation: str
    variant: Variant
    float_accuracy: float
    accuracy: float
    differing: int
    differing_unfused: int
    differing_session: int
    integer: Differences

    @property
    def drop(self) -> float:
        """In points."""
        return 100 * (self.float_accuracy - self.accuracy)


@dataclasses.dataclass
class Timing:
    """The median of each round, in seconds. limit: of a program that only loads and stores; for a model with many
    weights, of one that only reads them."""

    name: str
    threads: int
    goal: float
    dynquant_seconds: list[float] = dataclasses.field(default_factory=list)
    peer_seconds: list[float] = dataclasses.field(default_factory=list)
    limit: list[float] = dataclasses.field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [peer / dynquant for peer, dynquant in zip(self.peer_seconds, self.dynquant_seconds)]

    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def of_limit(self) -> float | None:
        """Speed as a fraction of the limit's."""
        return statistics.median(limit / dynquant for limit, dynquant in zip(self.limit, self.dynquant_seconds)) if self.limit else None
