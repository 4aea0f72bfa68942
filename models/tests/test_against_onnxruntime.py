"""Models give ONNX Runtime's results bit for bit, fused and not, on one thread and on several."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper
from measure.models import runtime

import models

RUNS = [(fuse, threads) for fuse in (0, 1) for threads in (1, 3)]


class Runner:
    """The program that runs models by dynquant."""

    def __init__(self, program, folder):
        self.folder = folder
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, model, feeds, fuse, threads):
        """The results, and the stages' patterns."""
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        names = []
        for i, array in enumerate(feeds.values()):
            names.append(self.path(f"in{i}"))
            np.ascontiguousarray(array).tofile(names[-1])
        results = [self.path(f"out{i}") for i in range(len(model.graph.output))]
        self.process.stdin.write("\t".join([self.path("model.onnx"), str(fuse), str(threads), *names, *results]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if answer[0] != "ok":
            raise RuntimeError(answer[-1] or f"the program ended with {self.process.poll()}")
        ports, patterns = answer[1:1 + len(results)], answer[1 + len(results):]
        return [array_of(*map(int, port.split()), path=path) for port, path in zip(ports, results)], patterns


def array_of(element_type, *shape, path):
    return np.fromfile(path, helper.tensor_dtype_to_np_dtype(element_type)).reshape(shape)


def random_inputs(model, seed):
    random = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if np.issubdtype(dtype, np.integer):
            limits = np.iinfo(dtype)
            feeds[value.name] = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        else:
            feeds[value.name] = random.normal(size=shape).astype(dtype)
    return feeds


def run_onnxruntime(model, feeds):
    """ONNX Runtime computes float16 in float, and removes a Cast to float16 that meets a Cast from it, which loses the
    model's rounding. A single node keeps it."""
    float16 = onnx.TensorProto.FLOAT16
    has_float16 = any(value.type.tensor_type.elem_type == float16 for value in model.graph.value_info)
    values = (runtime.node_by_node if has_float16 else runtime.session)(model, feeds)
    return [values[output.name] for output in model.graph.output]


def bits(array):
    """The bits as integers, with one code for all NaNs."""
    array = array.copy()
    if np.issubdtype(array.dtype, np.floating):
        array[np.isnan(array)] = np.nan
    return array.view(f"u{array.dtype.itemsize}")


def differences(ours, theirs):
    """Empty if both have the same type, shape and bits. Any NaN equals any NaN."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{ours.dtype} {ours.shape}, expected {theirs.dtype} {theirs.shape}"
    different = bits(ours) != bits(theirs)
    if not different.any():
        return ""
    at = tuple(np.argwhere(different)[0])
    return f"{different.sum()} of {different.size} differ, the first at {[int(i) for i in at]}: {ours[at]}, expected {theirs[at]}"


def check(runner, name, model, seed, stages=None):
    """Lines that describe errors. `stages` are the expected patterns of the fused stages, if given."""
    onnx.checker.check_model(model)
    feeds = random_inputs(model, seed)
    expected = run_onnxruntime(model, feeds)
    wrong = []
    for fuse, threads in RUNS:
        results, patterns = runner.run(model, feeds, fuse, threads)
        if fuse and stages and patterns != stages:
            wrong.append(f"{name}: stages {patterns}, expected {stages}")
        for ours, theirs in zip(results, expected):
            if text := differences(ours, theirs):
                wrong.append(f"{name}, fuse {fuse}, {threads} threads: {text}")
    return wrong


def main(program, groups):
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(program, folder)
        for group in groups:
            for name, model, *stages in getattr(models, group)():
                count += 1
                try:
                    wrong += check(runner, name, model, count, *stages)
                except Exception as error:
                    wrong.append(f"{name}: {error}")
    for line in wrong:
        print(line)
    print(f"{count} models, {len(wrong)} differences")
    return bool(wrong) or count == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
