"""Pre-quantized models by dqmodel beside ONNX Runtime: models/docs/prequantized_speed.md."""

import argparse
import dataclasses
import pathlib
from collections.abc import Callable, Iterator

import numpy
import onnx
from onnx import TensorProto

from ..models import runtime
from ..models.dqmodel import DqModel
from ..results import Measured, Processor
from ..sessions import RUNTIME, Graph, Peer, fresh
from ..tables import by_threads, goal, number, table, threads_label, times
from ..turns import Turn, chosen, take_turns

OWN, READING = "dynquant", "reading the model"
MULTIPLIER = 11184810, 2.0**-36  # Quant_scale and Quant_shift: 1/6144, with which few results saturate


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    x: numpy.ndarray
    goal: float
    has_many_weights: bool = False  # bound by reading the weights


def _weights(random: numpy.random.Generator, *shape: int) -> numpy.ndarray:
    """Normally distributed int8 weights, as of a trained network, scaled by the largest."""
    values = random.standard_normal(shape)
    return numpy.rint(values * (127 / numpy.abs(values).max())).astype(numpy.int8)


def _rescaled(graph: Graph, sums: str, bias: numpy.ndarray, relu: bool) -> str:
    """By two Mul, as in figures 1 and 2 of the paper (models/docs/prequantized.md)."""
    x = graph.op("Cast", graph.op("Add", sums, bias), to=TensorProto.FLOAT)
    for factor in MULTIPLIER:
        x = graph.op("Mul", x, numpy.float32(factor))
    return graph.op("QuantizeLinear", graph.op("Relu", x) if relu else x, numpy.float32(1), numpy.uint8(0) if relu else numpy.int8(0))


def _mlp(batch: int) -> Case:
    random, graph, value = numpy.random.default_rng(1), Graph(), "x"
    x = random.integers(0, 256, (batch, 1024), numpy.uint8)
    for inputs, outputs, relu in ((1024, 4096, True), (4096, 1024, False)):
        sums = graph.op("MatMulInteger", value, _weights(random, inputs, outputs))
        value = _rescaled(graph, sums, random.integers(-5_000, 5_000, outputs, numpy.int32), relu)
    model = graph.model({"x": (TensorProto.UINT8, x.shape)}, {value: (TensorProto.INT8, x.shape)}, 13)
    return Case(f"MLP 1024-4096-1024, batch {batch}", onnx.load_from_string(model), x, 1.5, has_many_weights=True)


def _cnn() -> Case:
    random, graph = numpy.random.default_rng(1), Graph()
    x = random.integers(0, 256, (1, 64, 56, 56), numpy.uint8)
    sums = graph.op("ConvInteger", "x", _weights(random, 64, 64, 3, 3), pads=[1, 1, 1, 1])
    y = _rescaled(graph, sums, random.integers(-5_000, 5_000, (1, 64, 1, 1), numpy.int32), True)
    model = graph.model({"x": (TensorProto.UINT8, x.shape)}, {y: (TensorProto.UINT8, x.shape)}, 13)
    return Case("CNN 56x56x64, 3x3", onnx.load_from_string(model), x, 1.5)


def cases() -> list[Case]:
    return [_mlp(batch) for batch in (1, 16, 256)] + [_cnn()]


def _own(case: Case, threads: int, dqmodel: DqModel, reading: list[float]) -> Turn:
    """reading: gets the time to read the model's bytes, of each turn."""
    (expected,) = runtime.session(case.model, {"x": case.x}).values()
    repeat = 5

    def turn(seconds: float) -> tuple[float, float]:
        nonlocal repeat
        ran = dqmodel.run(case.model, case.x, f"--threads={threads}", f"--repeat={repeat}")
        (y,) = ran.outputs.values()
        if ran.seconds is None or ran.seconds_to_read is None or not numpy.array_equal(y, expected):
            raise RuntimeError(f"{case.name}: expected a time and the results of ONNX Runtime, given others: {ran.text}")
        reading.append(ran.seconds_to_read)
        repeat = max(5, round(seconds / ran.seconds))
        return ran.seconds, ran.seconds

    return turn


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    """No session outlives its turn."""
    dqmodel = DqModel(given.build / "models/dqmodel/dqmodel")
    for case, threads in chosen(cases(), given, say):
        reading: list[float] = []
        contestants = {RUNTIME: fresh(case.model.SerializeToString(), Peer(RUNTIME), threads, {"x": case.x}), OWN: _own(case, threads, dqmodel, reading)}
        measured, _ = take_turns(contestants, given.rounds, given.seconds)
        if case.has_many_weights:
            measured[READING] = reading
        yield Measured("models", case.name, threads, measured, facts={"goal": case.goal})


def tables(results: list[Measured]) -> dict[str, list[str]]:
    def microseconds(m: Measured, name: str) -> str:
        median = m.median(name)
        return "" if median is None else number(1e6 * median, 1)

    result = {}
    for threads, some in by_threads(results).items():
        header = [f"{threads_label(threads)}, us", RUNTIME, OWN, "limit", "times as fast (least to most)", "goal", "of the limit"]
        rows = [[m.case, *(microseconds(m, name) for name in (RUNTIME, OWN, READING)), times(m, RUNTIME, OWN), goal(m.facts["goal"], m.ratio(RUNTIME, OWN)),
                 f"{m.ratio(READING, OWN):.2f}" if READING in m.times else ""] for m in some]  # fmt: skip
        result[f"models {threads}"] = table(header, rows)
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    from ..charts import newest, ratio_bars

    some = [(m, m.ratio(RUNTIME, OWN)) for m in newest(processors, "models")]
    bars = [(f"{m.case}, {threads_label(m.threads)}", ratio, ratio >= m.facts["goal"]) for m, ratio in some]
    ratio_bars(bars, "Pre-quantized models beside ONNX Runtime", figures / "models.svg")
