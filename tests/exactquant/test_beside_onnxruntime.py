"""exactquant in one process with ONNX Runtime: its operators give the same bits."""

import unittest

import exactquant
import numpy
import onnxruntime
from onnx import TensorProto, helper

RANDOM = numpy.random.default_rng(65)
X = RANDOM.standard_normal((37, 129), numpy.float32)


def run(operator: str, inputs: dict, outputs: int = 1, **attributes: object) -> list[numpy.ndarray]:
    types = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.int8): TensorProto.INT8, numpy.dtype(numpy.uint8): TensorProto.UINT8}
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, list(inputs), names, **attributes)
    infos = [helper.make_tensor_value_info(name, types[value.dtype], value.shape) for name, value in inputs.items()]
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info(name) for name in names])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)


class SameBits(unittest.TestCase):
    def test_one_scale(self):
        for dtype in (numpy.int8, numpy.uint8):
            zero_point = numpy.array(3, dtype)
            (expected,) = run("QuantizeLinear", {"x": X, "s": numpy.array(0.02, numpy.float32), "z": zero_point})
            q = exactquant.quantize(X, 0.02, zero_point, dtype=dtype)
            numpy.testing.assert_array_equal(q, expected)
            (back,) = run("DequantizeLinear", {"x": q, "s": numpy.array(0.02, numpy.float32), "z": zero_point})
            numpy.testing.assert_array_equal(exactquant.dequantize(q, 0.02, zero_point), back)

    def test_scales_of_an_axis_and_of_blocks(self):
        scale = numpy.exp2(RANDOM.integers(-7, 0, 37)).astype(numpy.float32)
        (expected,) = run("QuantizeLinear", {"x": X, "s": scale, "z": numpy.zeros(37, numpy.int8)}, axis=0)
        numpy.testing.assert_array_equal(exactquant.quantize(X, scale, dtype="int8", axis=0), expected)
        scale = numpy.exp2(RANDOM.integers(-7, 0, (37, 5))).astype(numpy.float32)
        (expected,) = run("QuantizeLinear", {"x": X, "s": scale, "z": numpy.zeros((37, 5), numpy.int8)}, axis=1, block_size=32)
        numpy.testing.assert_array_equal(exactquant.quantize(X, scale, dtype="int8", axis=1, block_size=32), expected)

    def test_dynamic(self):
        for got, expected in zip(exactquant.quantize_dynamic(X, "uint8"), run("DynamicQuantizeLinear", {"x": X}, 3)):
            numpy.testing.assert_array_equal(got, expected)


if __name__ == "__main__":
    unittest.main()
