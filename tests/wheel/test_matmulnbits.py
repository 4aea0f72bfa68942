"""Of which weights an ONNX Runtime makes MatMulNBits that compute the layer: these the provider leaves, and it claims the
others, of which versions before 1.27 give garbage, and 1.27 to 1.29 fail."""

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


X = {"x": np.ones((1, INNER), np.float32)}
EXPECTED = 0.01 * (np.arange(INNER * COLUMNS) % 7).reshape(INNER, COLUMNS).sum(0, keepdims=True)


def makes_matmulnbits(m, folder):
    path = f"{folder}/optimized.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = path
    options.log_severity_level = 4
    try:
        y = ort.InferenceSession(m, options, providers=["CPUExecutionProvider"]).run(None, X)[0]
    except Exception:
        return False
    return "MatMulNBits" in [n.op_type for n in onnx.load(path).graph.node] and np.allclose(y, EXPECTED, rtol=1e-4)


def is_claimed(m, folder):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f"{folder}/profile"
    options.add_provider_for_devices(DEVICES, {"claim": "all"})
    session = ort.InferenceSession(m, options)
    np.testing.assert_allclose(session.run(None, X)[0], EXPECTED, rtol=1e-4)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    return any(e["args"]["op_name"].startswith(NAME) for e in events if e.get("name", "").endswith("_kernel_time"))


class MatMulNBits(unittest.TestCase):
    def test_what_becomes_none_is_claimed(self):
        for product, kind, block in itertools.product(("MatMul", "Gemm"), KINDS, (0, 1, 8, 16, 48, 256, 512, 2048)):
            with self.subTest(product=product, kind=kind, block=block), tempfile.TemporaryDirectory() as folder:
                m = model(product, kind, block)
                self.assertEqual(is_claimed(m, folder), not makes_matmulnbits(m, folder))


if __name__ == "__main__":
    unittest.main()
