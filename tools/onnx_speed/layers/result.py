"""The measured times of a layer."""

import dataclasses
import statistics


@dataclasses.dataclass
class Timed:
    """kind, shape, x, weights: as a Layer has them. runtime, provider: ONNX Runtime's median time of each turn and the
    provider's, in seconds; least: the shortest run of each. claimed: whether the provider computes the product."""

    kind: str
    shape: str
    x: str
    weights: str
    threads: int
    runtime: list[float]
    provider: list[float]
    runtime_least: float
    provider_least: float
    claimed: bool

    @property
    def key(self) -> tuple:
        return self.kind, self.shape, self.x, self.weights, self.threads

    def ratio(self) -> float:
        return statistics.median(runtime / provider for runtime, provider in zip(self.runtime, self.provider, strict=True))
