"""Times layers beside oneDNN's int8 primitive of the same sums, in a process that one processor runs."""

import dataclasses
import json
import os
import subprocess
import sys

import onnxruntime

from ..layers.models import FLOAT, INT8, Layer, input_of, model_of
from ..layers.shapes import Shape
from ..sessions import Peer, session
from .measure import turn
from .onednn import OneDnn
from .result import ONEDNN, PROVIDER, RUNTIME, Convolution

SIDE = 512  # of a product, which is near the processor's peak
SHAPES = (
    "1x3x224x224 by 32x3x3x3, stride 2",
    "1x64x56x56 by 64x64x3x3",
    "1x256x14x14 by 256x256x3x3",
    "1x128x28x28 by 128x128x1x1",
    "1x96x56x56 by 96x1x3x3",
    "1x128x28x28 by 128x1x5x5",
)


def _measure(provider: str, rounds: int, seconds: float) -> list[Convolution]:
    peers = {RUNTIME: Peer(RUNTIME), PROVIDER: Peer(PROVIDER, provider=provider)}
    results = []
    for shape in map(Shape.of, SHAPES):
        layer = Layer("convolution", shape, FLOAT, INT8)
        x = {"x": input_of(layer)}
        sessions = {name: session(model_of(layer), peer, 1) for name, peer in peers.items()}
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
