"""Of which weights an ONNX Runtime makes MatMulNBits that compute the layer: of these the provider quantizes x as that does, or
leaves blocks that it does not have. It claims the others, of which versions before 1.27 give garbage, and 1.27 to 1.29 fail."""

import itertools
import json
import pathlib
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import onnxruntime_ep_dynquant

INNER, COLUMNS = 4096, 64
NAME = onnxruntime_ep_dynquant.get_ep_name()
ort.register_execution_provider_library(NAME, onnxruntime_ep_dynquant.get_library_path())
DEVICES = [device for device in ort.get_ep_devices() if device.ep_name == NAME]
KINDS = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int4": TensorProto.INT4, "uint4": TensorProto.UINT4}


def model(product, kind, block):
    """block: rows of a scale; 0: a scalar scale; 1: one for each column."""
    shape, attributes = {0: ((), {}), 1: ((COLUMNS,), {"axis": 1})}.get(block) or ((-(-INNER // block), COLUMNS), {"axis": 0, "block_size": block})
    w = helper.make_tensor("w", KINDS[kind], (INNER, COLUMNS), (np.arange(INNER * COLUMNS) % 7).tolist())
    s = helper.make_tensor("s", TensorProto.FLOAT, shape, np.full(shape, 0.01).ravel().tolist())
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], **attributes), helper.make_node(product, ["x", "f"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, INNER]), ("y", [1, COLUMNS]))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [w, s])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


X = {"x": np.random.default_rng(1).standard_normal((1, INNER)).astype(np.float32)}
EXACT = X["x"].astype(np.float64) @ (np.float32(0.01) * (np.arange(INNER * COLUMNS) % 7).reshape(INNER, COLUMNS))


def distance(y, other):
    """Of the largest result."""
    return np.abs(y - other).max() / np.abs(EXACT).max()


def as_matmulnbits(m, folder):
    """The result of the MatMulNBits that it makes, or None."""
    path = f"{folder}/optimized.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = path
    options.log_severity_level = 4
    try:
        y = ort.InferenceSession(m, options, providers=["CPUExecutionProvider"]).run(None, X)[0]
    except Exception:
        return None
    return y if "MatMulNBits" in [n.op_type for n in onnx.load(path).graph.node] and distance(y, EXACT) < 0.05 else None


def with_provider(m, folder):
    """The result, and whether it is the provider's."""
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f"{folder}/profile"
    options.add_provider_for_devices(DEVICES, {"claim": "all"})
    session = ort.InferenceSession(m, options)
    y = session.run(None, X)[0]
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    return y, any(e["args"]["op_name"].startswith(NAME) for e in events if e.get("name", "").endswith("_kernel_time"))


class MatMulNBits(unittest.TestCase):
    def test_x_is_what_it_would_be(self):
        for product, kind, block in itertools.product(("MatMul", "Gemm"), KINDS, (0, 1, 8, 16, 48, 256, 512, 2048)):
            with self.subTest(product=product, kind=kind, block=block), tempfile.TemporaryDirectory() as folder:
                m = model(product, kind, block)
                theirs, (ours, is_claimed) = as_matmulnbits(m, folder), with_provider(m, folder)
                self.assertEqual(is_claimed, theirs is None or block <= 256)
                self.assertLess(distance(ours, EXACT if theirs is None else theirs), 5e-5)
                if theirs is not None:
                    self.assertGreater(distance(ours, EXACT), 1e-4)  # x is quantized


if __name__ == "__main__":
    unittest.main()
