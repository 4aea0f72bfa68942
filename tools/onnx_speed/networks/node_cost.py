"""Times a claimed layer that computes next to nothing, and nodes of ONNX Runtime, each in a chain."""

import pathlib
import statistics

import numpy
from onnx import TensorProto, helper, numpy_helper

from ..sessions import Peer, make_model, session
from .measure import profiles, turn
from .result import CLAIMED, FUSED, PLAIN, PROVIDER, RUNTIME, NodeCost

NODES, WIDTH = 200, 16
INPUTS = {"x": numpy.linspace(-1, 1, WIDTH, dtype=numpy.float32).reshape(1, WIDTH)}


def _layers() -> bytes:
    """MatMulInteger of 1 x 16 by 16 x 16: the weights pass x on, so that values stay in range."""
    constants = [
        numpy_helper.from_array(numpy.eye(WIDTH, dtype=numpy.int8) * numpy.int8(127), "w"),
        numpy_helper.from_array(numpy.int8(0), "w_zero_point"),
        numpy_helper.from_array(numpy.float32(1 / 127), "w_scale"),
    ]
    nodes, x = [], "x"
    for i in range(NODES):
        quantized, scale, zero_point = (f"{name}_{i}" for name in ("quantized", "scale", "zero_point"))
        y = "y" if i == NODES - 1 else f"y_{i}"
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [x], [quantized, scale, zero_point], f"quantize_{i}"),
            helper.make_node("MatMulInteger", [quantized, "w", zero_point, "w_zero_point"], [f"sums_{i}"], f"product_{i}"),
            helper.make_node("Cast", [f"sums_{i}"], [f"floats_{i}"], f"cast_{i}", to=TensorProto.FLOAT),
            helper.make_node("Mul", [scale, "w_scale"], [f"scales_{i}"], f"scales_{i}"),
            helper.make_node("Mul", [f"floats_{i}", f"scales_{i}"], [y], f"rescale_{i}"),
        ]
        x = y
    return _model(nodes, constants)


def _negations() -> bytes:
    values = ["x", *(f"value_{i}" for i in range(1, NODES)), "y"]
    return _model([helper.make_node("Neg", [a], [b], f"neg_{b}") for a, b in zip(values, values[1:])], [])


def _model(nodes: list, constants: list) -> bytes:
    return make_model(nodes, {"x": (TensorProto.FLOAT, (1, WIDTH))}, {"y": (TensorProto.FLOAT, (1, WIDTH))}, constants, 17)


def profiled_idle(peer: Peer, folder: pathlib.Path) -> float:
    """What a profile says of a node that computes next to nothing: mostly the time that profiling takes itself."""
    (profile,) = profiles(_negations(), INPUTS, [peer], folder)
    return statistics.median(profile.times().values())


def node_costs(peers: dict[str, Peer], rounds: int, seconds: float, folder: pathlib.Path) -> list[NodeCost]:
    layers = _layers()
    (profile,) = profiles(layers, INPUTS, [peers[PROVIDER]], folder)
    if profile.claimed() != NODES:
        raise RuntimeError(f"expected {NODES} claimed layers, given {profile.claimed()}")
    sessions = {
        CLAIMED: session(layers, peers[PROVIDER], 1),
        FUSED: session(layers, peers[RUNTIME], 1),
        PLAIN: session(_negations(), peers[RUNTIME], 1),
    }
    result = {name: NodeCost(name, []) for name in sessions}
    for _ in range(rounds):
        for name, one in sessions.items():
            result[name].seconds.append(turn(lambda one=one: one.run(None, INPUTS), seconds) / NODES)
    return list(result.values())
