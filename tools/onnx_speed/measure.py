"""Peer and dynquant by turns, round by round, each with a session of its own: the threads of another would wait for work in
a loop and take the cores."""

import numpy
import onnxruntime

from .cases import Case
from .result import Result
from .sessions import Peer, Runner, bytes_moved, input_of


def _median(case: Case, peer: Peer, threads: int, x: onnxruntime.OrtValue, seconds: float) -> float:
    return Runner(case, peer, threads, x).median(seconds)


def measure(case: Case, threads: int, dynquant: Peer, peer: Peer, rounds: int, seconds: float) -> Result:
    x = input_of(case, dynquant)
    elements = int(numpy.prod(case.dims))
    result = Result(case.key, threads, elements, bytes_moved(case), peer.name, case.goal, [], [], nodes=case.nodes)
    for _ in range(rounds):
        if not result.refusal:
            try:
                result.theirs.append(_median(case, peer, threads, x, seconds))
            except Exception as error:  # ONNX Runtime's own have no base but this
                result.refusal = str(error).partition("\n")[0]
        result.ours.append(_median(case, dynquant, threads, x, seconds))
    return result
