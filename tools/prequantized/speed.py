"""Times pre-quantized models and their rescaling against ONNX Runtime, in turns."""

import dataclasses
import pathlib

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from report import dqbench
from reporting.timing import median_time

from . import runtime
from .dqmodel import DqModel
from .result import Timing

MULTIPLIER = 11184810, 2.0**-36  # Quant_scale and Quant_shift: 1/6144, with which few results saturate


@dataclasses.dataclass(frozen=True)
class Programs:
    dqmodel: DqModel
    dqbench: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    x: numpy.ndarray
    goal: float
    is_rescaling: bool = False  # only a rescaling, which dqbench times
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


def _rescaling(elements: int, name: str) -> Case:
    shape = (elements // 1024, 1024)
    b = _Builder(numpy.int32, shape)
    x = b.random(numpy.int32, shape, -800_000, 800_000)
    b.rescale(b.random(numpy.int32, (1024,), -5_000, 5_000), relu=False)
    return Case(f"requantize, {name}", b.model(shape, TensorProto.INT8), x, 3, is_rescaling=True)


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
    sizes = {"64 Ki": 2**16, "1 Mi": 2**20, "16 Mi": 2**24}
    return [_rescaling(n, name) for name, n in sizes.items()] + [_mlp(batch) for batch in (1, 16, 256)] + [_cnn()]


class _OnnxRuntime:
    """A session whose buffers stay the same from run to run."""

    def __init__(self, case: Case, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        x = onnxruntime.OrtValue.ortvalue_from_numpy(case.x)
        name = self._session.get_outputs()[0].name
        y = self._session.run_with_ort_values([name], {"x": x})[0]
        self._binding = self._session.io_binding()
        self._binding.bind_ortvalue_input("x", x)
        self._binding.bind_ortvalue_output(name, y)

    def median(self, seconds: float) -> float:
        """The median time of a run, over at least `seconds`."""
        return median_time(lambda: self._session.run_with_iobinding(self._binding), seconds)


def _requantize(case: Case, threads: int, program: pathlib.Path, seconds: float) -> tuple[float, float]:
    """The times of dynquant and of its limit."""
    # Bias and multiplier along the last axis, as the model has the bias.
    options = ["--api=direct", "--op=Requantize", "--dt=s32:f32:s32:s8", "--qtype=per_channel", "--axis=-1"]
    shape = "x".join(map(str, case.x.shape))
    (row,) = dqbench.run(program, [*options, shape], peers=["flat"], threads=[threads], milliseconds=int(1e3 * seconds))
    return row.time / 1e3, row.peers["flat"] / 1e3


def _model(case: Case, threads: int, dqmodel: DqModel, repeat: int, expected: numpy.ndarray) -> tuple[float, float]:
    """The times of dynquant and of reading the model's bytes."""
    ran = dqmodel.run(case.model, case.x, f"--threads={threads}", f"--repeat={repeat}")
    (given,) = ran.outputs.values()
    if ran.seconds is None or ran.seconds_to_read is None or not numpy.array_equal(given, expected):
        raise RuntimeError(f"{case.name}: expected a time and the results of ONNX Runtime, given others: {ran.text}")
    return ran.seconds, ran.seconds_to_read


def measure(case: Case, threads: int, programs: Programs, rounds: int, seconds: float) -> Timing:
    """Measures in turns. No session outlives its turn: its threads would spin and take cores."""
    timing = Timing(case.name, threads, case.goal)
    if not case.is_rescaling:
        (expected,) = runtime.session(case.model, {"x": case.x}).values()
    for _ in range(rounds):
        peer = _OnnxRuntime(case, threads)
        timing.peer_seconds.append(peer.median(seconds))
        del peer
        if case.is_rescaling:
            own, limit = _requantize(case, threads, programs.dqbench, seconds)
        else:
            own, limit = _model(case, threads, programs.dqmodel, max(5, round(seconds / timing.peer_seconds[-1])), expected)
        timing.dynquant_seconds.append(own)
        if case.is_rescaling or case.has_many_weights:
            timing.limit.append(limit)
    return timing
