"""Times variants of networks by sessions that take turns, and sums the time of their nodes."""

import collections
import json
import pathlib
import statistics
import time
from collections.abc import Callable

import numpy
import onnx

from ..sessions import Peer, session
from .models import Network, eligible_layers, inputs_of
from .result import FLOAT, FLOAT_MODEL, PROVIDER, RUNTIME, Spent, Timed

PROFILED_RUNS, PROFILED_SECONDS = 5, 0.5  # at least


def turn(run: Callable[[], object], seconds: float) -> float:
    """The median time of runs, over at least `seconds`. The first one warms caches and counts only if it alone is as long."""
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    if first >= seconds:
        return first
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def _difference(expected: list[numpy.ndarray], given: list[numpy.ndarray]) -> float:
    return max(float(numpy.max(numpy.abs(e - g)) / (numpy.max(numpy.abs(e)) or 1)) for e, g in zip(expected, given, strict=True))


def timed(network: Network, name: str, models: dict[str, bytes], threads: int, peers: dict[str, Peer], rounds: int, seconds: float) -> Timed:
    """models: the variant `name` and the float model."""
    inputs = inputs_of(network, 9)
    sessions = {} if name == FLOAT else {FLOAT_MODEL: session(models[FLOAT], peers[RUNTIME], threads)}
    sessions |= {peer: session(models[name], of, threads) for peer, of in peers.items()}
    outputs = {peer: one.run(None, inputs) for peer, one in sessions.items()}  # also the first run, which prepares
    result = Timed(network.name, network.kind, name, threads, {peer: [] for peer in sessions}, _difference(outputs[RUNTIME], outputs[PROVIDER]))
    for _ in range(rounds):
        for peer, one in sessions.items():
            result.times[peer].append(turn(lambda one=one: one.run(None, inputs), seconds))
    return result


class Profile:
    """A session's time in each node, by its name."""

    def __init__(self, path: str) -> None:
        self._times: dict[str, list[float]] = collections.defaultdict(list)
        self._operators: dict[str, str] = {}
        for event in json.loads(pathlib.Path(path).read_text()):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                operator = event["args"]["op_name"]
                self._times[event["name"]].append(event["dur"] / 1e6)
                self._operators[event["name"]] = PROVIDER if operator.startswith("DynquantExecutionProvider") else operator

    def times(self, idle: float = 0) -> dict[str, float]:
        """A run's, less `idle` for each node. The first run, which prepares, does not count."""
        return {name: max(0.0, statistics.median(times[1:]) - idle) for name, times in self._times.items()}

    def by_operator(self, idle: float) -> dict[str, float]:
        result: dict[str, float] = collections.defaultdict(float)
        for name, seconds in self.times(idle).items():
            result[self._operators[name]] += seconds
        return dict(result)

    def claimed(self) -> int:
        return list(self._operators.values()).count(PROVIDER)


def profiles(model: bytes, inputs: dict[str, numpy.ndarray], peers: list[Peer], folder: pathlib.Path) -> list[Profile]:
    """Of sessions on one thread that take turns."""
    sessions = [session(model, peer, 1, profile=str(folder / f"profile_{i}")) for i, peer in enumerate(peers)]
    end, runs = time.perf_counter() + PROFILED_SECONDS, 0
    while runs <= PROFILED_RUNS or time.perf_counter() < end:
        for one in sessions:
            one.run(None, inputs)
        runs += 1
    return [Profile(one.end_profiling()) for one in sessions]


def only_in(these: dict[str, float], others: dict[str, float]) -> float:
    """The sum of the values whose names the others lack."""
    return sum(value for name, value in these.items() if name not in others)


def spent(network: Network, name: str, model: onnx.ModelProto, peers: dict[str, Peer], idle: float, folder: pathlib.Path) -> Spent:
    """model: the variant `name`. idle: what a profile says of a node that computes nothing."""
    own, ours = profiles(model.SerializeToString(), inputs_of(network, 9), [peers[RUNTIME], peers[PROVIDER]], folder)
    own_times, times = own.times(idle), ours.times(idle)
    replaced, replacing = only_in(own_times, times), only_in(times, own_times)
    return Spent(network.name, name, ours.claimed(), eligible_layers(model), ours.by_operator(idle), replaced, replacing)
