"""The measured figures of networks, and what is computed from them."""

import dataclasses
import json
import pathlib
import statistics

FLOAT, INT8, UINT8, INT8_PER_CHANNEL, STATIC = "float", "int8", "uint8", "int8 per channel", "static"
DYNAMIC = (INT8, UINT8, INT8_PER_CHANNEL)  # by the type of the weights
VARIANTS = (FLOAT, *DYNAMIC, STATIC)
FLOAT_MODEL, RUNTIME, PROVIDER = "float model", "ONNX Runtime", "provider"
CNN, TRANSFORMER = "CNN", "transformer"
CLAIMED, FUSED, PLAIN = "claimed layer", "its nodes in ONNX Runtime", "Neg in ONNX Runtime"  # of NodeCost
ONEDNN = "oneDNN"


@dataclasses.dataclass
class Timed:
    """times: of each peer, in seconds, one for each round. FLOAT_MODEL is ONNX Runtime's, of quantized variants only.
    largest_difference: of the provider's outputs from ONNX Runtime's, relative to the largest absolute value."""

    network: str
    kind: str
    variant: str
    threads: int
    times: dict[str, list[float]]
    largest_difference: float

    @property
    def key(self) -> tuple:
        return self.network, self.variant, self.threads

    def median(self, peer: str) -> float:
        return statistics.median(self.times[peer])

    def ratios(self, slower: str, faster: str) -> list[float]:
        return [a / b for a, b in zip(self.times[slower], self.times[faster])]

    def ratio(self, slower: str, faster: str = PROVIDER) -> float:
        return statistics.median(self.ratios(slower, faster))


@dataclasses.dataclass
class Opened:
    """A session in a process of its own, one thread. bytes: the growth of the resident set by its creation and a run."""

    network: str
    variant: str
    peer: str
    seconds: float
    bytes: int

    @property
    def key(self) -> tuple:
        return self.network, self.variant, self.peer


@dataclasses.dataclass
class Spent:
    """Where a run's time goes, one thread. operators: seconds by operator of the provider's session, PROVIDER for claimed
    layers. replaced: the time of the nodes that only ONNX Runtime's own session has; replacing: of those that only the
    provider's has."""

    network: str
    variant: str
    claimed: int
    eligible: int
    operators: dict[str, float]
    replaced: float
    replacing: float

    @property
    def key(self) -> tuple:
        return self.network, self.variant

    def ratio(self) -> float:
        return self.replaced / self.replacing

    def share(self, operator: str) -> float:
        return self.operators.get(operator, 0) / sum(self.operators.values())

    def largest_others(self, count: int = 3) -> list[str]:
        others = [name for name in self.operators if name != PROVIDER]
        return sorted(others, key=lambda name: -self.operators[name])[:count]


@dataclasses.dataclass
class NodeCost:
    """seconds: of one node of a chain, one for each round."""

    name: str
    seconds: list[float]

    @property
    def key(self) -> tuple:
        return (self.name,)


@dataclasses.dataclass
class Convolution:
    """products: multiplications of a run. times: of each peer, in seconds, one for each round."""

    name: str
    products: int
    times: dict[str, list[float]]

    @property
    def key(self) -> tuple:
        return (self.name,)


_TYPES = {one.__name__: one for one in (Timed, Opened, Spent, NodeCost, Convolution)}


class Results:
    """Each figure by its key. A later one replaces an earlier one."""

    def __init__(self) -> None:
        self._by_key: dict[tuple, object] = {}

    def add(self, one: object) -> None:
        self._by_key[type(one).__name__, *one.key] = one

    def all(self, of: type) -> list:
        return [one for one in self._by_key.values() if type(one) is of]

    def save(self, path: pathlib.Path) -> None:
        path.write_text(json.dumps([[type(one).__name__, dataclasses.asdict(one)] for one in self._by_key.values()]))

    @staticmethod
    def load(path: pathlib.Path | None) -> "Results":
        result = Results()
        for name, fields in json.loads(path.read_text()) if path and path.exists() else []:
            result.add(_TYPES[name](**fields))
        return result
