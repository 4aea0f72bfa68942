"""Computes nodes by dynquant, by onnx.reference, by ONNX Runtime's own kernels and by AMD Quark's library in it."""
import ctypes
import dataclasses
import os
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx.reference
import onnxruntime
from nodes import QUARK, dtype_of, from_raw_bytes, raw_bytes, read_outputs, type_of

onnxruntime.set_default_logger_severity(4)  # errors reach the tests as exceptions


class NotOffered(Exception):
    """The peer does not compute this node, for this reason."""


class ComputingFailed(Exception):
    """dynquant fails to compute a valid node."""


# Thousands of small files: in memory where the system has a RAM disk.
FILES = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def dynquant(nodes):
    """The outputs of each node."""
    return dynquant_by([{}], nodes)[0]


def dynquant_by(environments, nodes):
    """The outputs of each node in each environment. Each environment takes one run of run_nodes."""
    with tempfile.TemporaryDirectory(dir=FILES) as where:
        folders = [Path(where, str(i)) for i in range(len(nodes))]
        for node, folder in zip(nodes, folders):
            node.write(folder)
        results = []
        for environment in environments:
            done = run_nodes(folders, environment)
            if done.returncode or done.stderr:
                raise ComputingFailed(done.stderr or f"exit status {done.returncode}")
            results.append([read_outputs(node, folder) for node, folder in zip(nodes, folders)])
        return results


def run_nodes(folders, environment):
    return subprocess.run([os.environ["RUN_NODES"], *folders], text=True, capture_output=True,
                          env={**os.environ, **environment})


def reference(node):
    if node.domain:
        raise NotOffered("the domain")
    model, given = node.model()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = onnx.reference.ReferenceEvaluator(model).run(None, given)
    except Exception as error:  # NumPy raises various classes
        raise NotOffered(reason(error)) from error
    return [np.asarray(output) for output in outputs]


def reason(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def run_bound(session, given, output_types):
    """Outputs of any types. ONNX Runtime wants NumPy arrays of the tensors' shapes, whose first bytes are the tensors."""
    binding, buffers = session.io_binding(), []  # not copied
    for name, value in given.items():
        buffers.append(np.zeros(value.shape, f"u{value.dtype.itemsize}"))
        data = np.frombuffer(raw_bytes(value), np.uint8)
        buffers[-1].reshape(-1).view(np.uint8)[:data.size] = data
        bound = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(buffers[-1], type_of(value))
        binding.bind_ortvalue_input(name, bound)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return [unpacked(*of) for of in zip(output_types, binding.get_outputs(), strict=True)]


def unpacked(type_number, value):
    shape = tuple(value.shape())
    size = len(raw_bytes(np.zeros(shape, dtype_of(type_number))))
    return from_raw_bytes(type_number, shape, ctypes.string_at(value.data_ptr(), size))


def run_in_onnxruntime(node, library=None):
    model, given = node.model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if library:
        options.register_custom_ops_library(library)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return run_bound(session, given, node.output_types)
    except Exception as error:  # ONNX Runtime has a class for each status
        raise NotOffered(reason(error)) from error


def ort(node):
    if node.domain:
        raise NotOffered("the domain")
    return run_in_onnxruntime(node)


def quark(node):
    if node.domain != QUARK:
        raise NotOffered("the domain")
    return run_in_onnxruntime(node, os.environ["QUARK_LIBRARY"])


def dynquant_in_onnxruntime(node):
    if not node.domain:
        rule = {"rule": "onnx"} if node.dynamic else {}
        node = dataclasses.replace(node, domain="dynquant", opset=1, attributes={**node.attributes, **rule})
    return run_in_onnxruntime(node, os.environ["DYNQUANT_ONNXRUNTIME"])


PEERS = {"onnx.reference": reference, "ONNX Runtime": ort, "Quark": quark,
         "dynquant in ONNX Runtime": dynquant_in_onnxruntime}
