"""Times ConvInteger and MatMulInteger, alone in a session of one thread: ONNX Runtime's own and dynquant's.

Prints the table of docs/onnx_speed.md, in processor time. Not part of scripts/compare-onnxruntime. MatMulInteger is the
execution provider's, as the custom operators have none. Usage, from the project's folder:
    DYNQUANT_ORT=build/release/src/libdynquant_ort.so DYNQUANT_ORT_EP=build/release/src/libdynquant_ort_ep.so \\
        PYTHONPATH=tools .deps/onnxruntime/bin/python -m onnx_speed.integer_products
"""

import os
import statistics
import time

import numpy
from onnx import TensorProto, helper, numpy_helper

from .sessions import Peer, make_model, session

TURNS, SECONDS = 7, 0.2

# Shapes of x and of the weights; padding and groups.
CONVOLUTIONS = (
    ((1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    ((1, 256, 14, 14), (256, 256, 1, 1), 0, 1),
    ((1, 96, 40, 40), (96, 1, 3, 3), 1, 96),
    ((1, 3, 224, 224), (32, 3, 3, 3), 1, 1),
    ((1, 8, 6, 6), (4, 8, 3, 3), 1, 1),
)
PRODUCTS = (((1, 768), (768, 768)), ((8, 256), (256, 256)), ((128, 384), (384, 384)), ((512, 1024), (1024, 1024)))


def random_bytes(shape, kind):
    info = numpy.iinfo(kind)
    return numpy.random.default_rng(0).integers(info.min, info.max + 1, shape).astype(kind)


def run_time(one, inputs):
    """Of a run, in microseconds of the processor."""
    runs, start = 0, time.thread_time()
    while (spent := time.thread_time() - start) < SECONDS:
        one.run(None, inputs)
        runs += 1
    return spent / runs * 1e6


def cells(node, x, w, kind, peer):
    """ONNX Runtime's time, dynquant's, and the median ratio of neighbouring turns."""
    constants = [numpy_helper.from_array(value, name) for name, value in (("w", random_bytes(w, kind)), ("z", numpy.array(7, "u1")))]
    model = make_model([node], {"x": (TensorProto.UINT8, x)}, {"y": (TensorProto.INT32, None)}, constants, 13)
    sessions = [session(model, of, 1) for of in (Peer("ONNX Runtime"), peer)]
    inputs = {"x": random_bytes(x, "u1")}
    turns = [[run_time(one, inputs) for one in sessions] for _ in range(TURNS)]
    times = [f"{statistics.median(of):.0f}" for of in zip(*turns, strict=True)]
    return [*times, f"{statistics.median(theirs / ours for theirs, ours in turns):.1f}"]


def row(op, x, w, peer, suffix="", **attributes):
    node = helper.make_node(op, ["x", "w", "z"], ["y"], **attributes)
    shapes = ", ".join("x".join(map(str, shape)) for shape in (x, w))
    values = [value for kind in ("i1", "u1") for value in cells(node, x, w, kind, peer)]
    print(f"| {op} {shapes}{suffix} | {' | '.join(values)} |", flush=True)


def main():
    print("| us; shapes of x and the weights | int8 weights: ONNX Runtime | dynquant | times | uint8 weights: ONNX Runtime | dynquant | times |")
    print("|---|---|---|---|---|---|---|")
    library = Peer("dynquant", library=os.path.abspath(os.environ["DYNQUANT_ORT"]), standard=True)
    for x, w, pad, group in CONVOLUTIONS:
        row("ConvInteger", x, w, library, f", {group} groups" if group > 1 else "", pads=[pad] * 4, group=group)
    provider = Peer("dynquant", provider=os.path.abspath(os.environ["DYNQUANT_ORT_EP"]))
    for x, w in PRODUCTS:
        row("MatMulInteger", x, w, provider)


main()
