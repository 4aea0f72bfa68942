"""Pre-quantized models by dqmodel beside ONNX Runtime: models/docs/prequantized_speed.md."""

import argparse
import dataclasses
import pathlib
from collections.abc import Callable, Iterator

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..models import runtime
from ..models.dqmodel import DqModel
from ..results import Measured, Processor
from ..sessions import RUNTIME, Peer, fresh
from ..tables import by_threads, goal, number, table, threads_label, times
from ..turns import Turn, take_turns

OWN, READING = "dynquant", "reading the model"
MULTIPLIER = 11184810, 2.0**-36  # Quant_scale and Quant_shift: 1/6144, with which few results saturate


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    x: numpy.ndarray
    goal: float
    has_many_weights: bool = False  # bound by reading the weights


class _Builder:
    """Builds a graph that is a chain of nodes."""

    def __init__(self, dtype: type, shape: tuple[int, ...]) -> None:
        self._random = numpy.random.default_rng(1)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._input = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), shape)
        self._last = "x"

    def random(self, dtype: type, shape: tuple[int, ...], low: int, high: int) -> numpy.ndarray:
        return self._random.integers(low, high, shape, dtype=dtype)

    def weights(self, *shape: int) -> numpy.ndarray:
        """Normally distributed int8 weights, as of a trained network, scaled by the largest."""
        values = self._random.standard_normal(shape)
        return numpy.rint(values * (127 / numpy.abs(values).max())).astype(numpy.int8)

    def add(self, operator: str, *constants: numpy.ndarray, **attributes: object) -> None:
        place = len(self._nodes)
        names = [f"c{place}_{i}" for i in range(len(constants))]
        self._constants += [numpy_helper.from_array(value, name) for value, name in zip(constants, names)]
        self._nodes.append(helper.make_node(operator, [self._last, *names], [f"y{place}"], f"{operator}{place}", **attributes))
        self._last = f"y{place}"

    def rescale(self, bias: numpy.ndarray, relu: bool) -> None:
        """Adds the rescaling by two Mul, as in figures 1 and 2 of the paper (models/docs/prequantized.md)."""
        self.add("Add", bias)
        self.add("Cast", to=TensorProto.FLOAT)
        for factor in MULTIPLIER:
            self.add("Mul", numpy.float32(factor))
        if relu:
            self.add("Relu")
        self.add("QuantizeLinear", numpy.float32(1), numpy.uint8(0) if relu else numpy.int8(0))

    def model(self, shape: tuple[int, ...], result: int) -> onnx.ModelProto:
        output = helper.make_tensor_value_info(self._last, result, shape)
        graph = helper.make_graph(self._nodes, "case", [self._input], [output], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _mlp(batch: int) -> Case:
    b = _Builder(numpy.uint8, (batch, 1024))
    x = b.random(numpy.uint8, (batch, 1024), 0, 256)
    for inputs, outputs, relu in ((1024, 4096, True), (4096, 1024, False)):
        b.add("MatMulInteger", b.weights(inputs, outputs))
        b.rescale(b.random(numpy.int32, (outputs,), -5_000, 5_000), relu)
    return Case(f"MLP 1024-4096-1024, batch {batch}", b.model((batch, 1024), TensorProto.INT8), x, 1.5, has_many_weights=True)


def _cnn() -> Case:
    shape = (1, 64, 56, 56)
    b = _Builder(numpy.uint8, shape)
    x = b.random(numpy.uint8, shape, 0, 256)
    b.add("ConvInteger", b.weights(64, 64, 3, 3), pads=[1, 1, 1, 1])
    b.rescale(b.random(numpy.int32, (1, 64, 1, 1), -5_000, 5_000), relu=True)
    return Case("CNN 56x56x64, 3x3", b.model(shape, TensorProto.UINT8), x, 1.5)


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
    some, dqmodel = [case for case in cases() if given.only in case.name], DqModel(given.build / "models/dqmodel/dqmodel")
    for threads in given.threads:
        for case in some:
            say(f"{case.name}, threads {threads}", len(some) * len(given.threads))
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


def charts() -> dict[str, Callable[[list[Processor], pathlib.Path], None]]:
    from ..charts import newest, ratio_bars

    def draw(processors: list[Processor], path: pathlib.Path) -> None:
        some = [(m, m.ratio(RUNTIME, OWN)) for m in newest(processors, "models")]
        bars = [(f"{m.case}, {threads_label(m.threads)}", ratio, ratio >= m.facts["goal"]) for m, ratio in some]
        ratio_bars(bars, "Pre-quantized models beside ONNX Runtime", path)

    return {"models.svg": draw}
