"""Models give ONNX Runtime's results bit for bit, fused and not, on one thread and on several."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper
from measure.models import runtime

import models

RUNS = [(*fuse, "--threads", threads) for fuse in ((), ("--no-fuse",)) for threads in ("1", "3")]


def dqmodel(folder, *arguments):
    """What it prints."""
    done = subprocess.run([os.environ["DQMODEL"], *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr or f"dqmodel ended with {done.returncode}")
    return done.stdout


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


def check(folder, name, model, seed, stages=None):
    """Lines that describe errors. `stages` are the expected patterns of the fused stages, if given."""
    onnx.checker.check_model(model)
    onnx.save(model, f"{folder}/model.onnx")
    feeds = random_inputs(model, seed)
    for port, values in feeds.items():
        np.save(f"{folder}/{port}.npy", values)
    wrong = []
    if stages:
        patterns = [stage["pattern"] for stage in json.loads(dqmodel(folder, "inspect", "model.onnx", "--json"))["stages"]]
        if patterns != stages:
            wrong.append(f"{name}: stages {patterns}, expected {stages}")
    expected = run_onnxruntime(model, feeds)
    inputs = [argument for port in feeds for argument in ("--input", f"{port}={port}.npy")]
    for options in RUNS:
        dqmodel(folder, "run", "model.onnx", *inputs, *options, "--output", "results")
        for output, theirs in zip(model.graph.output, expected):
            if text := differences(np.load(f"{folder}/results/{output.name}.npy"), theirs):
                wrong.append(f"{name}, {' '.join(options)}: {text}")
    return wrong


def main(groups):
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            for name, model, *stages in getattr(models, group)():
                count += 1
                try:
                    wrong += check(folder, name, model, count, *stages)
                except Exception as error:
                    wrong.append(f"{name}: {error}")
    for line in wrong:
        print(line)
    print(f"{count} models, {len(wrong)} differences")
    return bool(wrong) or count == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
