"""Whole networks and the cost of a node, in ONNX Runtime alone and with the execution provider: docs/onnx_speed.md."""

import argparse
import collections
import dataclasses
import json
import logging
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy
import onnx
import onnxruntime
from onnx import TensorProto

from ..arguments import ROOT
from ..models.networks import (CNN, DYNAMIC, FLOAT, INT8, NETWORKS, STATIC, TRANSFORMER, UINT8, VARIANTS, Network, eligible_layers,
                               inputs_of, load, variant)  # fmt: skip
from ..process import opened
from ..results import Measured, Processor, short
from ..sessions import EP_NAME, PROVIDER, RUNTIME, Graph, Peer, claimed_products, kept, provider_peer, session
from ..tables import by_threads, number, spread, table, threads_label, times
from ..turns import take_turns

PAGE = "performance/onnx.md"
FLOAT_MODEL = "float model"
CLAIMED, FUSED, PLAIN = "claimed layer", "its nodes in ONNX Runtime", "Neg in ONNX Runtime"
NODE_COST = "cost of a node"
PROFILED_RUNS, PROFILED_SECONDS = 5, 0.5  # at least


def difference(expected: list[numpy.ndarray], given: list[numpy.ndarray]) -> float:
    """Of the greatest value, and NaN where one is: Python's max() may lose it."""
    return float(numpy.max([numpy.max(numpy.abs(e - g)) / (numpy.max(numpy.abs(e)) or 1) for e, g in zip(expected, given, strict=True)]))


def _timed(network: Network, name: str, models: dict[str, bytes], threads: int, provider: Peer, given: argparse.Namespace) -> Measured:
    """models: the variant `name` and the float model."""
    inputs = inputs_of(network, 9)
    sessions = {} if name == FLOAT else {FLOAT_MODEL: session(models[FLOAT], Peer(RUNTIME), threads)}
    sessions |= {peer.name: session(models[name], peer, threads) for peer in (Peer(RUNTIME), provider)}
    outputs = {peer: one.run(None, inputs) for peer, one in sessions.items()}  # also the first run, which prepares
    turns = take_turns(kept(sessions, inputs), given.rounds, given.seconds)
    of = {"network": network.name, "variant": name, "kind": network.kind, "differs": short(difference(outputs[RUNTIME], outputs[PROVIDER]))}
    return Measured("networks", f"{network.name}, {name}", threads, *turns, of)


class Profile:
    """A session's time in each node, by its name."""

    def __init__(self, path: str, products: int) -> None:
        """products: how many the provider has claimed."""
        self.products = products
        self._times: dict[str, list[float]] = collections.defaultdict(list)
        self._operators: dict[str, str] = {}
        for event in json.loads(pathlib.Path(path).read_text()):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                operator = event["args"]["op_name"]
                self._times[event["name"]].append(event["dur"] / 1e6)
                self._operators[event["name"]] = PROVIDER if operator.startswith(EP_NAME) else operator

    def times(self, idle: float = 0) -> dict[str, float]:
        """A run's, less `idle` for each node. The first run, which prepares, does not count."""
        return {name: max(0.0, statistics.median(times[1:]) - idle) for name, times in self._times.items()}

    def by_operator(self, idle: float) -> dict[str, float]:
        result: dict[str, float] = collections.defaultdict(float)
        for name, seconds in self.times(idle).items():
            result[self._operators[name]] += seconds
        return dict(result)

    def fused_nodes(self) -> int:
        return list(self._operators.values()).count(PROVIDER)


def profiles(model: bytes, inputs: dict[str, numpy.ndarray], peers: list[Peer], folder: pathlib.Path) -> list[Profile]:
    """Of sessions on one thread that take turns."""
    sessions = [session(model, peer, 1, profile=str(folder / f"profile_{i}")) for i, peer in enumerate(peers)]
    end, count = time.perf_counter() + PROFILED_SECONDS, 0
    while count <= PROFILED_RUNS or time.perf_counter() < end:
        for one in sessions:
            one.run(None, inputs)
        count += 1
    return [Profile(one.end_profiling(), claimed_products(one) if peer.provider else 0) for one, peer in zip(sessions, peers)]


def _only_in(these: dict[str, float], others: dict[str, float]) -> float:
    return sum(value for name, value in these.items() if name not in others)


def time_left(model: onnx.ModelProto, inputs: dict[str, numpy.ndarray], provider: Peer, folder: pathlib.Path) -> dict:
    """Facts of where the time of a run goes, on one thread."""
    (nothing,) = profiles(_negations(), INPUTS, [Peer(RUNTIME)], folder)
    idle = statistics.median(nothing.times().values())  # mostly the time that profiling itself takes
    theirs, ours = profiles(model.SerializeToString(), inputs, [Peer(RUNTIME), provider], folder)
    replaced, replacing = _only_in(theirs.times(idle), ours.times(idle)), _only_in(ours.times(idle), theirs.times(idle))
    return {"claimed": ours.products, "eligible": eligible_layers(model),
            "operators": {operator: short(seconds) for operator, seconds in ours.by_operator(idle).items()},
            "times the nodes": short(replaced / replacing) if replacing else 0}  # fmt: skip


def _spent(network: Network, name: str, model: onnx.ModelProto, provider: Peer, folder: pathlib.Path) -> Measured:
    facts = {"network": network.name, "variant": name, **time_left(model, inputs_of(network, 9), provider, folder)}
    return Measured("networks", f"{network.name}, {name}, time left", 1, facts=facts)


def _opened(network: Network, name: str, model: bytes, provider: Peer, folder: pathlib.Path) -> Measured:
    path = folder / "variant.onnx"
    path.write_bytes(model)
    some = {peer.name: opened(path, peer, inputs_of(network, 9), counts_libraries=True, processes=1) for peer in (Peer(RUNTIME), provider)}
    of = {"network": network.name, "variant": name, "mib": {peer: round(one.resident, 2) for peer, one in some.items()}}
    return Measured("networks", f"{network.name}, {name}, creation", 1, {peer: [one.seconds] for peer, one in some.items()}, facts=of)


def _network(network: Network, given: argparse.Namespace, say: Callable[[str], None], folder: pathlib.Path) -> Iterator[Measured]:
    model, provider = load(network, ROOT / ".deps/networks"), provider_peer(given.build)
    models = {FLOAT: model.SerializeToString()}
    for name in VARIANTS:
        quantized = variant(network, model, name, folder)
        models[name] = quantized.SerializeToString()
        for threads in given.threads:
            say(f"{network.name}, {name}, threads {threads}")
            yield _timed(network, name, models, threads, provider, given)
        if name in (INT8, UINT8):
            yield _spent(network, name, quantized, provider, folder)
        if name in (FLOAT, INT8, STATIC):
            yield _opened(network, name, models[name], provider, folder)


def timed_variant(network: Network, name: str, given: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        model = load(network, ROOT / ".deps/networks")
        models = {FLOAT: model.SerializeToString(), name: variant(network, model, name, pathlib.Path(folder)).SerializeToString()}
    for threads in given.threads:
        say(f"{network.name}, {name}, threads {threads}")
        yield _timed(network, name, models, threads, provider_peer(given.build), given)


NODES, WIDTH = 128, 16  # more layers would share nodes
INPUTS = {"x": numpy.linspace(-1, 1, WIDTH, dtype=numpy.float32).reshape(1, WIDTH)}


def _chain(node: Callable[[Graph, str], str]) -> bytes:
    graph, x, of = Graph(), "x", (TensorProto.FLOAT, (1, WIDTH))
    for _ in range(NODES):
        x = node(graph, x)
    return graph.model({"x": of}, {x: of}, 17)


def _layers() -> bytes:
    """MatMulInteger of 1 x 16 by 16 x 16: the weights pass x on, so that values stay in range."""
    return _chain(lambda graph, x: graph.dynamic_layer(x, numpy.eye(WIDTH, dtype=numpy.int8) * numpy.int8(127), 0, 1 / 127))


def _negations() -> bytes:
    return _chain(lambda graph, x: graph.op("Neg", x))


def _node_cost(given: argparse.Namespace, folder: pathlib.Path) -> Measured:
    """The time of a claimed layer that computes next to nothing, and of nodes of ONNX Runtime, each in a chain."""
    provider = provider_peer(given.build)
    (profile,) = profiles(_layers(), INPUTS, [provider], folder)
    if profile.fused_nodes() != NODES:
        raise RuntimeError(f"expected {NODES} claimed layers, given {profile.fused_nodes()}")
    models = {CLAIMED: (_layers(), provider), FUSED: (_layers(), Peer(RUNTIME)), PLAIN: (_negations(), Peer(RUNTIME))}
    sessions = {name: session(*of, 1) for name, of in models.items()}
    turns = take_turns(kept(sessions, INPUTS), given.rounds, given.seconds)
    return Measured("networks", NODE_COST, 1, *({name: [v / NODES for v in some] for name, some in turns[0].items()}, {}))


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        networks = [network for network in NETWORKS if given.only in network.name]
        steps = len(networks) * len(VARIANTS) * len(given.threads) + (given.only in NODE_COST)
        for network in networks:
            yield from _network(network, given, lambda what: say(what, steps), folder)
        if given.only in NODE_COST:
            say(NODE_COST, steps)
            yield _node_cost(given, folder)


@dataclasses.dataclass(frozen=True)
class Goal:
    """At least `least` times `peer`'s speed, in variants of networks of a kind, on one thread."""

    text: str
    kinds: tuple[str, ...]
    variants: tuple[str, ...]
    peer: str
    least: float

    def is_for(self, m: Measured) -> bool:
        return m.threads == 1 and m.facts["kind"] in self.kinds and m.facts["variant"] in self.variants


GOALS = (
    Goal("dynamic CNNs, times ONNX Runtime", (CNN,), DYNAMIC, RUNTIME, 3),
    Goal("dynamic CNNs, times their float model", (CNN,), DYNAMIC, FLOAT_MODEL, 1),
    Goal("dynamic transformers, times ONNX Runtime", (TRANSFORMER,), DYNAMIC, RUNTIME, 1.1),
    Goal("static models, times ONNX Runtime", (CNN, TRANSFORMER), (STATIC,), RUNTIME, 0.98),
    Goal("float models, times ONNX Runtime", (CNN, TRANSFORMER), (FLOAT,), RUNTIME, 0.98),
)
CLAIMED_GOAL = 5
NODE_GOAL = 300  # ns


def _latency(threads: int, timed: list[Measured]) -> list[str]:
    header = [f"{threads_label(threads)}, ms", "weights", FLOAT_MODEL, RUNTIME, "dynquant's provider", "provider, times ONNX Runtime",
              "times the float model", "differs by"]  # fmt: skip
    rows = []
    for m in timed:
        cells = [number(1e3 * m.median(peer)) if peer in m.times else "" for peer in (FLOAT_MODEL, RUNTIME, PROVIDER)]
        ratios = [times(m, peer, PROVIDER) for peer in (RUNTIME, FLOAT_MODEL)]
        rows.append([m.facts["network"], m.facts["variant"], *cells, *ratios, f"{100 * m.facts['differs']:.1g} %"])
    return table(header, rows)


def _goal_row(text: str, least: float, measured: list[tuple[Measured, float]]) -> list[str]:
    values = [value for _, value in measured]
    missed: dict[str, list[str]] = {}
    for m, value in measured:
        if value < least:
            missed.setdefault(m.facts["network"], []).append(f"{m.facts['variant']} {number(value)}")
    outcome = "; ".join(f"{network}: {', '.join(some)}" for network, some in missed.items())
    return [text, f"{least:g}", spread(statistics.median(values), values, 2), f"**missed** by {outcome}" if outcome else "met"]


def goals(timed: list[Measured], spent: list[Measured], node: Measured | None) -> list[str]:
    rows = []
    if layers := [(m, m.facts["times the nodes"]) for m in spent if m.facts["claimed"]]:
        rows.append(_goal_row("claimed layers, times the nodes they replace", CLAIMED_GOAL, layers))
    for goal in GOALS:
        if measured := [(m, m.ratio(goal.peer, PROVIDER)) for m in timed if goal.is_for(m)]:
            rows.append(_goal_row(goal.text, goal.least, measured))
    if node:
        over = 1e9 * (node.median(CLAIMED) - node.median(FUSED))
        met = "met" if over <= NODE_GOAL else "**missed**"
        rows.append(["the smallest claimed layer over its nodes in ONNX Runtime, ns", f"at most {NODE_GOAL}", f"{over:.0f}", met])
    return table(["one thread", "goal", "median (least to most)", ""], rows) if rows else []


def _memory_row(m: Measured) -> list[str]:
    seconds, mib = ([number(of[peer]) for peer in (RUNTIME, PROVIDER)] for of in ({p: 1e3 * m.median(p) for p in m.times}, m.facts["mib"]))
    return [m.facts["network"], m.facts["variant"], *seconds, *mib]


def time_left_table(spent: list[Measured], shown: int = 3) -> list[str]:
    """shown: how many operators besides the provider's nodes."""
    header = ["one thread", "weights", "claimed layers", "of the nodes' time", "the next operators", "times the nodes they replace"]
    return table(header, [_time_left_row(m, shown) for m in spent])


def _time_left_row(m: Measured, shown: int) -> list[str]:
    operators = m.facts["operators"]

    def share(name: str) -> str:
        return f"{100 * operators.get(name, 0) / sum(operators.values()):.0f} %"

    others = sorted((name for name in operators if name != PROVIDER), key=lambda name: -operators[name])[:shown]
    claimed = m.facts["claimed"]
    return [m.facts["network"], m.facts["variant"], f"{claimed} of {m.facts['eligible']}", share(PROVIDER),
            ", ".join(f"{name} {share(name)}" for name in others), number(m.facts["times the nodes"], 1) if claimed else ""]  # fmt: skip


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """The goals, then a table for each number of threads and each kind of figure that was measured."""
    timed, spent, memory = ([m for m in results if fact in m.facts] for fact in ("kind", "operators", "mib"))
    node = next((m for m in results if m.case == NODE_COST), None)
    result = {"networks goals": goals(timed, spent, node)}
    for threads, some in by_threads(timed).items():
        result[f"networks {threads}"] = _latency(threads, some)
    if spent:
        result["networks time"] = time_left_table(spent)
    if memory:
        header = ["a session, one thread", "weights", "creation, ms: ONNX Runtime", "provider", "memory, MiB: ONNX Runtime", "provider"]
        result["networks memory"] = table(header, list(map(_memory_row, memory)))
    if node:
        names = {CLAIMED: CLAIMED + ", 1 x 16 by 16 x 16", FUSED: FUSED, PLAIN: PLAIN + ", 16 floats"}
        rows = [[text, spread(1e9 * node.median(name), [1e9 * v for v in node.times[name]], 0)] for name, text in names.items()]
        result["networks nodes"] = table(["one thread", "ns in a chain"], rows)
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    from ..charts import GOOD, grouped_bars, newest
    from ..charts import RUNTIME as COLOR

    timed = [m for m in newest(processors, "networks") if m.facts.get("variant") == INT8 and m.threads == 1 and RUNTIME in m.times and PROVIDER in m.times and "kind" in m.facts]
    names = {FLOAT_MODEL: "float model, ONNX Runtime", RUNTIME: "int8, ONNX Runtime", PROVIDER: "int8, dynquant's provider"}
    series = {name: [1 / m.ratio(RUNTIME, peer) for m in timed] for peer, name in names.items()}
    title = "quantize_dynamic with int8 weights, one thread"
    grouped_bars([m.facts["network"] for m in timed], series, ["#888888", COLOR, GOOD], "time, relative to int8 in ONNX Runtime", title, figures / "networks.svg")
