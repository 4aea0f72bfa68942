"""Layers beside oneDNN's int8 primitive of the same sums, on one processor: docs/onnx_speed.md, Whole networks."""

import argparse
import os
import statistics
from collections.abc import Callable, Iterator

from ..onednn import OneDnn
from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, Peer, kept, provider_peer, session
from ..tables import number, table
from ..turns import Turn, runs, take_turns
from .layers import FLOAT, INT8, Layer, Shape, input_of, model_of

ONEDNN = "oneDNN"
SIDE = 512  # of a product, which is near the processor's peak
SHAPES = (
    "1x3x224x224 by 32x3x3x3, stride 2",
    "1x64x56x56 by 64x64x3x3",
    "1x256x14x14 by 256x256x3x3",
    "1x128x28x28 by 128x128x1x1",
    "1x96x56x56 by 96x1x3x3",
    "1x128x28x28 by 128x1x5x5",
)


def _contestants(shape: Shape, provider: str) -> dict[str, Turn]:
    layer = Layer("convolution", shape, FLOAT, INT8)
    x = {"x": input_of(layer)}
    sessions = {peer.name: session(model_of(layer), peer, 1) for peer in (Peer(RUNTIME), Peer(PROVIDER, provider=provider))}
    onednn = OneDnn().convolution(shape.x, shape.w, (shape.stride,) * 2, (shape.w[-1] // 2,) * 2, shape.groups)
    return kept(sessions, x) | runs({ONEDNN: onednn})


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # oneDNN's threads are not the session's
    provider = provider_peer(given.build).provider
    some = {shape.name: (shape.products(), lambda shape=shape: _contestants(shape, provider)) for shape in map(Shape.of, SHAPES)}
    some |= {f"product of {SIDE} x {SIDE} by {SIDE} x {SIDE}": (SIDE**3, lambda: runs({ONEDNN: OneDnn().product(SIDE, SIDE, SIDE)}))}
    for name, (products, contestants) in some.items():
        if given.only in name:
            say(name)
            turns = take_turns(contestants(), given.rounds, given.seconds)
            yield Measured("convolutions", name, 1, *turns, {"products": products})


def tables(results: list[Measured]) -> dict[str, list[str]]:
    def billions(m: Measured) -> float:
        return m.facts["products"] / statistics.median(m.times[ONEDNN]) / 1e9

    def microseconds(m: Measured, peer: str) -> str:
        return number(1e6 * m.median(peer)) if peer in m.times else ""

    most = max(map(billions, results))
    rows = [[m.case, *(microseconds(m, peer) for peer in (RUNTIME, PROVIDER, ONEDNN)), number(billions(m)), f"{100 * billions(m) / most:.0f} %"] for m in results]
    return {"convolutions": table(["one processor, us", "ONNX Runtime's nodes", "claimed layer", "oneDNN's primitive", "10^9 products/s", "of the most"], rows)}
