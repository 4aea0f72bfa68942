"""Measures a session in a process of its own: the time of its creation, and memory."""

import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
from onnx import TensorProto, helper

from .sessions import Peer, make_model, session

CREATIONS, PROCESSES = 3, 3


@dataclasses.dataclass(frozen=True)
class Opened:
    """seconds: the median of some creations. resident, peak: the MiB by which the first one and a run, if there are inputs, let
    the resident set grow, and at most."""

    seconds: float
    resident: float
    peak: float


def opened(model: pathlib.Path, peer: Peer, inputs: dict[str, numpy.ndarray] | None = None, *, counts_libraries: bool = False,
           processes: int = PROCESSES) -> Opened:  # fmt: skip
    """The medians of processes, of one thread. counts_libraries: their own memory too."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        numpy.savez(file.name, **(inputs or {}))
        command = [sys.executable, "-m", __name__, str(model), json.dumps(dataclasses.asdict(peer)), file.name, str(int(counts_libraries))]
        said = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(processes)]
    return Opened(*(statistics.median(column) for column in zip(*map(json.loads, said))))


def _mib(name: str) -> float:
    return next(int(line.split()[1]) for line in pathlib.Path("/proc/self/status").open() if line.startswith(name)) / 1024


def _measure(model: str, peer: Peer, inputs: dict[str, numpy.ndarray], counts_libraries: bool) -> tuple[float, float, float]:
    if not counts_libraries:  # a small session loads them
        of = TensorProto.FLOAT, [1]
        session(make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": of}, {"y": of}, [], 13), peer, 1)
    before, seconds, memory = _mib("VmRSS"), [], None
    for _ in range(CREATIONS):
        start = time.perf_counter()
        one = session(model, peer, 1)
        seconds.append(time.perf_counter() - start)
        if memory is None:
            if inputs:
                one.run(None, inputs)
            memory = [_mib(name) - before for name in ("VmRSS", "VmHWM")]
        del one
    return statistics.median(seconds), *memory


def _main() -> None:
    onnxruntime.set_default_logger_severity(4)
    model, peer, inputs, counts_libraries = sys.argv[1:]
    with numpy.load(inputs) as file:
        print(json.dumps(_measure(model, Peer(**json.loads(peer)), dict(file), counts_libraries == "1")))


if __name__ == "__main__":
    _main()
