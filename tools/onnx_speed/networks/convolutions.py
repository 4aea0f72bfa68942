"""Times layers beside oneDNN's int8 primitive of the same sums, in a process that one processor runs."""

import dataclasses
import json
import math
import os
import subprocess
import sys

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from ..sessions import Peer, make_model, session
from .measure import turn
from .onednn import OneDnn
from .result import ONEDNN, PROVIDER, RUNTIME, Convolution

SIDE = 512  # of a product, which is near the processor's peak


@dataclasses.dataclass(frozen=True)
class Shape:
    """extent: of both spatial dimensions. Pads keep it, but for the stride."""

    name: str
    inputs: int
    outputs: int
    extent: int
    kernel: int
    stride: int = 1
    groups: int = 1

    @property
    def x(self) -> tuple[int, ...]:
        return 1, self.inputs, self.extent, self.extent

    @property
    def w(self) -> tuple[int, ...]:
        return self.outputs, self.inputs // self.groups, self.kernel, self.kernel

    def products(self) -> int:
        return math.prod(self.w) * (self.extent // self.stride) ** 2


SHAPES = (
    Shape("3 x 3, 3 to 32 channels on 224 x 224, stride 2", 3, 32, 224, 3, 2),
    Shape("3 x 3, 64 to 64 on 56 x 56", 64, 64, 56, 3),
    Shape("3 x 3, 256 to 256 on 14 x 14", 256, 256, 14, 3),
    Shape("1 x 1, 128 to 128 on 28 x 28", 128, 128, 28, 1),
    Shape("depthwise 3 x 3, 96 on 56 x 56", 96, 96, 56, 3, 1, 96),
    Shape("depthwise 5 x 5, 128 on 28 x 28", 128, 128, 28, 5, 1, 128),
)


def layer(shape: Shape) -> bytes:
    """From DynamicQuantizeLinear to Relu, as quantize_dynamic makes it."""
    random = numpy.random.default_rng(0)
    constants = [
        numpy_helper.from_array(random.integers(-127, 128, shape.w).astype(numpy.int8), "w"),
        numpy_helper.from_array(numpy.int8(0), "w_zero_point"),
        numpy_helper.from_array(numpy.float32(0.01), "w_scale"),
        numpy_helper.from_array(random.standard_normal((1, shape.outputs, 1, 1), numpy.float32), "bias"),
    ]
    window = {"pads": [shape.kernel // 2] * 4, "strides": [shape.stride] * 2, "group": shape.groups}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["quantized", "scale", "zero_point"], "quantize"),
        helper.make_node("ConvInteger", ["quantized", "w", "zero_point", "w_zero_point"], ["sums"], "convolution", **window),
        helper.make_node("Cast", ["sums"], ["floats"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["scales"], "scales"),
        helper.make_node("Mul", ["floats", "scales"], ["scaled"], "rescale"),
        helper.make_node("Add", ["scaled", "bias"], ["sum"], "add"),
        helper.make_node("Relu", ["sum"], ["y"], "relu"),
    ]
    y = (1, shape.outputs, shape.extent // shape.stride, shape.extent // shape.stride)
    return make_model(nodes, {"x": (TensorProto.FLOAT, shape.x)}, {"y": (TensorProto.FLOAT, y)}, constants, 17)


def _measure(provider: str, rounds: int, seconds: float) -> list[Convolution]:
    peers = {RUNTIME: Peer(RUNTIME), PROVIDER: Peer(PROVIDER, provider=provider)}
    results = []
    for shape in SHAPES:
        x = {"x": numpy.random.default_rng(1).standard_normal(shape.x, numpy.float32)}
        sessions = {name: session(layer(shape), peer, 1) for name, peer in peers.items()}
        runs = {name: lambda one=one: one.run(None, x) for name, one in sessions.items()}
        onednn = OneDnn()  # which the provider has loaded
        runs[ONEDNN] = onednn.convolution(shape.x, shape.w, (shape.stride,) * 2, (shape.kernel // 2,) * 2, shape.groups)
        results.append(_take_turns(shape.name, shape.products(), runs, rounds, seconds))
    return [*results, _take_turns(f"product of {SIDE} x {SIDE} by {SIDE} x {SIDE}", SIDE**3, {ONEDNN: onednn.product(SIDE, SIDE, SIDE)}, rounds, seconds)]


def _take_turns(name: str, products: int, runs: dict, rounds: int, seconds: float) -> Convolution:
    times: dict[str, list[float]] = {peer: [] for peer in runs}
    for _ in range(rounds):
        for peer, run in runs.items():
            times[peer].append(turn(run, seconds))
    return Convolution(name, products, times)


def convolutions(provider: str, rounds: int, seconds: float) -> list[Convolution]:
    command = [sys.executable, "-m", __name__, provider, str(rounds), str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [Convolution(**fields) for fields in json.loads(done.stdout)]


def _main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # oneDNN's threads are not the session's
    onnxruntime.set_default_logger_severity(4)
    provider, rounds, seconds = sys.argv[1:]
    print(json.dumps([dataclasses.asdict(one) for one in _measure(provider, int(rounds), float(seconds))]))


if __name__ == "__main__":
    _main()
