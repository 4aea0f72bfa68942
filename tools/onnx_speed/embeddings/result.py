"""The measured figures of one way to compute embeddings."""

import dataclasses
import statistics

FLOAT, RUNTIME, PER_TENSOR, PER_ROW = "float", "ONNX Runtime, int8", "provider, per_tensor", "provider, per_row"


@dataclasses.dataclass
class Embedded:
    """to_float: of each text in a batch, the cosine to float's embedding of the text alone; kept: the share of its nearest
    ones there that stay. to_alone: of each text in a batch, the cosine to the same text alone; differing: how many differ
    in a bit. alone, batched: seconds for each text of each turn."""

    name: str
    threads: int
    to_float: list[float]
    kept: float
    to_alone: list[float]
    differing: int
    alone: list[float]
    batched: list[float]

    @property
    def key(self) -> tuple:
        return self.name, self.threads


def time_ratio(of: list[float], over: list[float]) -> float:
    """The median of those of neighbouring turns."""
    return statistics.median(a / b for a, b in zip(of, over, strict=True))
