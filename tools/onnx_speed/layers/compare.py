"""Times a layer by two sessions that take turns."""

import statistics

import onnxruntime

from ..sessions import Peer, Runner, session
from .models import Layer, input_of, model_of
from .result import Timed

PRODUCTS = "ConvInteger", "MatMulInteger"


def claims(provider: onnxruntime.InferenceSession) -> bool:
    parts = [part for part in provider.get_provider_graph_assignment_info() if part.ep_name == "DynquantExecutionProvider"]
    return any(node.op_type in PRODUCTS for part in parts for node in part.get_nodes())


def measure(layer: Layer, threads: int, runtime: Peer, provider: Peer, rounds: int, seconds: float) -> Timed:
    model, x = model_of(layer), onnxruntime.OrtValue.ortvalue_from_numpy(input_of(layer))
    sessions = [session(model, peer, threads) for peer in (runtime, provider)]
    runners = [Runner(one, x) for one in sessions]
    turns = [[runner.times(seconds) for runner in runners] for _ in range(rounds)]
    times = [[statistics.median(turn) for turn in of] for of in zip(*turns)]
    least = [min(map(min, of)) for of in zip(*turns)]
    return Timed(layer.kind, layer.shape.name, layer.x, layer.weights, threads, *times, *least, claims(sessions[1]))
