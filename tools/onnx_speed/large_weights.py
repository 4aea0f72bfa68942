"""Measures sessions of 64 MiB of int8 weights: their creation, and their memory.

Not part of scripts/compare-onnxruntime. Usage, from the project's folder:
    PYTHONPATH=tools taskset -c 1 .deps/onnxruntime/bin/python -m onnx_speed.large_weights \\
        build/release/src/libdynquant_onnxruntime.so
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from .sessions import Peer, make_model, session

PROCESSES = 5
CASES = {  # how many layers, one behind the other, and the shape of their weights
    "a product, 4096 x 16384": (1, (4096, 16384)),
    "a convolution, 2048 x 3640 x 3 x 3": (1, (2048, 3640, 3, 3)),
    "64 products, 1024 x 1024": (64, (1024, 1024)),
    "28 convolutions, 512 x 512 x 3 x 3": (28, (512, 512, 3, 3)),
}


def model_of(count: int, shape: tuple[int, ...]) -> bytes:
    random, x, nodes, constants = numpy.random.default_rng(1), "x", [], []
    is_product = len(shape) == 2
    for i in range(count):
        weights = numpy.clip(numpy.rint(random.standard_normal(shape, numpy.float32) * 32), -127, 127)  # as trained ones
        constants.append(numpy_helper.from_array(weights.astype(numpy.int8), f"w{i}"))
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [x], [f"q{i}", f"s{i}", f"z{i}"]),
            helper.make_node("MatMulInteger" if is_product else "ConvInteger", [f"q{i}", f"w{i}", f"z{i}"], [f"sums{i}"]),
            helper.make_node("Cast", [f"sums{i}"], [f"f{i}"], to=T.FLOAT),
            helper.make_node("Mul", [f"f{i}", f"s{i}"], [f"y{i}"]),
        ]
        x = f"y{i}"
    given = ["m", shape[0]] if is_product else ["n", shape[1], "h", "w"]
    return make_model(nodes, {"x": (T.FLOAT, given)}, {x: (T.FLOAT, None)}, constants, 13)


def kib(name: str) -> int:
    return next(int(line.split()[1]) for line in pathlib.Path("/proc/self/status").open() if line.startswith(name))


def measure(path: str, provider: str) -> None:
    """Prints milliseconds, and MiB that were resident afterwards, and at most, above what was before."""
    peer = Peer("", provider=provider or None)
    session(make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": (T.FLOAT, [1])}, {"y": (T.FLOAT, [1])}, [], 13), peer, 1)
    before, start = kib("VmRSS"), time.process_time()
    _ = session(path, peer, 1)
    spent = time.process_time() - start
    print(1e3 * spent, *((kib(name) - before) / 1024 for name in ("VmRSS", "VmHWM")))


def main(provider: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, (count, shape) in CASES.items():
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model_of(count, shape))
            runs = {"ONNX Runtime": ("", []), "provider": (provider, [])}
            for _ in range(PROCESSES):
                for of_provider, measured in runs.values():
                    command = [sys.executable, "-m", "onnx_speed.large_weights", str(path), of_provider]
                    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                    measured.append([float(number) for number in done.stdout.split()])
            for peer, (_, measured) in runs.items():
                ms, resident, peak = (statistics.median(column) for column in zip(*measured))
                print(f"{name}, {peer}: {ms:.0f} ms, {resident:.0f} MiB, at most {peak:.0f} MiB", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        main(str(pathlib.Path(sys.argv[1]).resolve()))
