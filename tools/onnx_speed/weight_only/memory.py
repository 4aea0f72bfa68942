"""Measures a session's memory in a process of its own."""

import pathlib
import statistics
import subprocess
import sys

import numpy
import onnxruntime
from onnx import TensorProto, helper

from ..large_weights import kib
from ..sessions import Peer, make_model, session

PROCESSES = 3


def _measure(model: str, x: str, peer: Peer) -> float:
    """In MiB. A small session before is no part of it: the libraries' own memory."""
    shape = TensorProto.FLOAT, [1]
    session(make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": shape}, {"y": shape}, [], 13), peer, 1)
    inputs = {"x": numpy.load(x)}
    before = kib("VmRSS")
    one = session(model, peer, 1)
    one.run(None, inputs)
    return (kib("VmRSS") - before) / 1024


def resident_mib(model: bytes, x: numpy.ndarray, peer: Peer, folder: pathlib.Path) -> float:
    (folder / "model.onnx").write_bytes(model)
    numpy.save(folder / "x.npy", x)
    command = [sys.executable, "-m", __name__, str(folder / "model.onnx"), str(folder / "x.npy"), peer.provider or ""]
    said = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(PROCESSES)]
    return statistics.median(map(float, said))


def _main() -> None:
    onnxruntime.set_default_logger_severity(4)
    model, x, provider = sys.argv[1:]
    print(_measure(model, x, Peer("", provider=provider or None)))


if __name__ == "__main__":
    _main()
