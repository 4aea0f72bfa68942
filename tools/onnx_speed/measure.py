"""Times peer and dynquant in turns.

Each turn has a new session, and no other is alive: its threads would spin and take cores.
"""

import statistics

import numpy
import onnxruntime

from .cases import Case
from .result import Result
from .sessions import Peer, Runner, bytes_moved, input_of, model_of, session


def _median(case: Case, peer: Peer, threads: int, x: onnxruntime.OrtValue, seconds: float) -> float:
    # ONNX Runtime's optimizer would remove most of a chain.
    return statistics.median(Runner(session(model_of(case, peer), peer, threads, optimized=case.nodes == 1), x).times(seconds))


def measure(case: Case, threads: int, dynquant: Peer, peer: Peer, rounds: int, seconds: float) -> Result:
    x = input_of(case, dynquant)
    elements = int(numpy.prod(case.dims))
    result = Result(case.key, threads, elements, bytes_moved(case), peer.name, case.goal, [], [], nodes=case.nodes)
    for _ in range(rounds):
        if not result.refusal:
            try:
                result.peer_seconds.append(_median(case, peer, threads, x, seconds))
            except Exception as error:  # the only base of ONNX Runtime's exceptions
                result.refusal = str(error).partition("\n")[0]
        result.dynquant_seconds.append(_median(case, dynquant, threads, x, seconds))
    return result
