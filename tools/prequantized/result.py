"""What is measured, and what it comes to."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a float model is codified, in the words of dqmodel's options."""

    rescale: str
    activation: str

    @property
    def options(self) -> tuple[str, str]:
        return f"--rescale={self.rescale}", f"--activation={self.activation}"


@dataclasses.dataclass(frozen=True)
class Differences:
    """Of rescalings by integers from those of ONNX's operators, over all layers that round to 8 bits there."""

    differing: int = 0
    elements: int = 0
    largest: int = 0

    def __add__(self, other: "Differences") -> "Differences":
        return Differences(self.differing + other.differing, self.elements + other.elements, max(self.largest, other.largest))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one codified network on the images to test by. Accuracies are from 0 to 1; the rest counts the scores that are
    not the same bits in ONNX Runtime: of dynquant's fused and node by node, both against ONNX Runtime node by node, and of
    ONNX Runtime's own when one session has the whole model."""

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
    """Medians of each round, in seconds. `limit`: of a program that only loads and stores, of a model with
    many weights one that only reads these."""

    name: str
    threads: int
    goal: float
    ours: list[float] = dataclasses.field(default_factory=list)
    theirs: list[float] = dataclasses.field(default_factory=list)
    limit: list[float] = dataclasses.field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for theirs, ours in zip(self.theirs, self.ours)]

    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def of_limit(self) -> float | None:
        """How much of the limit's speed is reached."""
        return statistics.median(limit / ours for limit, ours in zip(self.limit, self.ours)) if self.limit else None
