"""Sessions of 64 MiB of int8 weights, their creation and memory: docs/onnx_speed.md, Creation and memory."""

import argparse
import pathlib
import tempfile
from collections.abc import Callable, Iterator

import numpy
from onnx import TensorProto as T

from ..process import opened
from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, Graph, Peer, provider_peer
from ..tables import table

CASES = {  # how many layers, one behind the other, and the shape of their weights
    "a product, 4096 x 16384": (1, (4096, 16384)),
    "a convolution, 2048 x 3640 x 3 x 3": (1, (2048, 3640, 3, 3)),
    "64 products, 1024 x 1024": (64, (1024, 1024)),
    "28 convolutions, 512 x 512 x 3 x 3": (28, (512, 512, 3, 3)),
}


def model_of(count: int, shape: tuple[int, ...]) -> bytes:
    random, graph, x = numpy.random.default_rng(1), Graph(), "x"
    for _ in range(count):
        weights = numpy.clip(numpy.rint(random.standard_normal(shape, numpy.float32) * 32), -127, 127)  # as trained ones
        x = graph.dynamic_layer(x, weights.astype(numpy.int8))
    return graph.model({"x": (T.FLOAT, ["m", shape[0]] if len(shape) == 2 else ["n", shape[1], "h", "w"])}, {x: (T.FLOAT, None)}, 13)


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    cases = {name: of for name, of in CASES.items() if given.only in name}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        for name, of in cases.items():
            say(name, len(cases))
            path.write_bytes(model_of(*of))
            some = {peer.name: opened(path, peer, processes=given.rounds) for peer in (Peer(RUNTIME), provider_peer(given.build))}
            mib = {peer: [round(one.resident), round(one.peak)] for peer, one in some.items()}
            yield Measured("large", name, 1, {peer: [one.seconds] for peer, one in some.items()}, facts={"mib": mib})


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """ONNX Runtime / with the provider."""

    def pair(m: Measured, figure: Callable[[str], float]) -> str:
        return " / ".join(f"{figure(peer):.0f}" for peer in (RUNTIME, PROVIDER))

    rows = [[m.case, pair(m, lambda peer: 1e3 * m.median(peer)), *(pair(m, lambda peer: m.facts["mib"][peer][i]) for i in (0, 1))] for m in results]  # noqa: B023
    return {"large": table(["model", "creation, ms", "resident afterwards, MiB", "at most"], rows)}
