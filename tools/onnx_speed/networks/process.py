"""Measures a session in a process of its own: the time of its creation, and memory."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy
import onnxruntime

from ..sessions import Peer, session
from .models import Network, inputs_of
from .result import Opened

CREATIONS = 3


def _resident_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measure(model: str, peer: Peer, inputs: dict[str, numpy.ndarray]) -> dict:
    before = _resident_bytes()
    seconds = []
    for creation in range(CREATIONS):
        start = time.perf_counter()
        one = session(model, peer, 1)
        seconds.append(time.perf_counter() - start)
        if creation == 0:
            one.run(None, inputs)
            grown = _resident_bytes() - before
        del one
    return {"seconds": statistics.median(seconds), "bytes": grown}


def opened(network: Network, variant: str, model: pathlib.Path, peer: Peer, folder: pathlib.Path) -> Opened:
    """model: the variant's file. The provider's library is loaded by the process too, and its memory counts."""
    inputs = folder / "inputs.npz"
    numpy.savez(inputs, **inputs_of(network, 9))
    arguments = [str(model), str(inputs), peer.provider or ""]
    done = subprocess.run([sys.executable, "-m", __name__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return Opened(network.name, variant, peer.name, **json.loads(done.stdout))


def _main() -> None:
    onnxruntime.set_default_logger_severity(4)
    model, inputs, provider = sys.argv[1:]
    with numpy.load(inputs) as file:
        given = dict(file)
    print(json.dumps(_measure(model, Peer("", provider=provider or None), given)))


if __name__ == "__main__":
    _main()
