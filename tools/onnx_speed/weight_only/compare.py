"""Times a chain by three sessions that take turns, and measures their memory."""

import pathlib
import statistics
import tempfile

import onnxruntime

from ..sessions import Peer, Runner, session
from .chains import Chain, input_of, model_of
from .memory import resident_mib
from .result import FLOAT, PROVIDER, RUNTIME, Measured, Turns


def count_claimed(provider: onnxruntime.InferenceSession) -> int:
    return sum(part.ep_name == "DynquantExecutionProvider" for part in provider.get_provider_graph_assignment_info())


def _turns(sessions: dict[str, onnxruntime.InferenceSession], chain: Chain, rows: int, rounds: int, seconds: float) -> Turns:
    x = onnxruntime.OrtValue.ortvalue_from_numpy(input_of(chain, rows))
    runners = {name: Runner(one, x) for name, one in sessions.items()}
    turns = [{name: runner.times(seconds) for name, runner in runners.items()} for _ in range(rounds)]
    times = {name: [statistics.median(turn[name]) for turn in turns] for name in runners}
    return Turns(rows, times, {name: min(min(turn[name]) for turn in turns) for name in runners})


def measure(chain: Chain, threads: int, provider: Peer, rounds: int, seconds: float) -> Measured:
    narrow = model_of(chain, is_narrow=True)
    models = {FLOAT: (model_of(chain, is_narrow=False), Peer(FLOAT)), RUNTIME: (narrow, Peer(RUNTIME)), PROVIDER: (narrow, provider)}
    with tempfile.TemporaryDirectory() as folder:
        mib = {name: resident_mib(model, input_of(chain, 1), peer, pathlib.Path(folder)) for name, (model, peer) in models.items()}
    sessions = {name: session(*of, threads) for name, of in models.items()}
    turns = [_turns(sessions, chain, rows, rounds, seconds) for rows in chain.rows]
    return Measured(chain.layers, chain.weights.name, threads, count_claimed(sessions[PROVIDER]), turns, mib)
