"""ONNX Runtime fuses dynquant's QDQ operators with the operators between them as its own, with equal results."""
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
from models import OPSETS, TensorProto, helper, model, normal, session

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
node = helper.make_node

CONSTANTS = {"sx": np.array(0.02, np.float32), "zx": np.array(128, np.uint8),
             "sw": np.array(0.03, np.float32), "zw": np.array(0, np.int8),
             "sy": np.array(0.1, np.float32), "zy": np.array(120, np.uint8)}


def integers(*shape):
    return np.random.default_rng(1).integers(-9, 9, shape).astype(np.int8)


def quantized_and_back(name, scale="sx", zero="zx"):
    return [node("QuantizeLinear", [name, scale, zero], [name + "_q"]), node("DequantizeLinear", [name + "_q", scale, zero], [name + "_f"])]


class Fusion(unittest.TestCase):
    def operators(self, model_bytes, feed, **how):
        with tempfile.TemporaryDirectory() as folder:
            s = session(model_bytes, profile=folder + "/profile", **how)
            results = s.run(None, feed)
            events = json.loads(Path(s.end_profiling()).read_text())
        return results, sorted(e["args"]["op_name"] for e in events if "op_name" in e.get("args", {}))

    def survives(self, fused, model_bytes, feed):
        expected, theirs = self.operators(model_bytes, feed)
        given, ours = self.operators(model_bytes, feed, library=True, standard=True)
        self.assertIn(fused, ours)
        self.assertEqual(theirs, ours)
        for e, g in zip(expected, given):
            np.testing.assert_array_equal(e, g)

    def around(self, fused, nodes, weights=None, since=10, **inputs):
        """`nodes` read the dequantized inputs, such as a_f, and dequantized weights, w_f, and give y."""
        constants = dict(CONSTANTS)
        before = [n for name in inputs for n in quantized_and_back(name)]
        if weights is not None:
            constants["w"] = weights
            before.append(node("DequantizeLinear", ["w", "sw", "zw"], ["w_f"]))
        feed = {name: normal(*shape) for name, shape in inputs.items()}
        for opset in [opset for opset in OPSETS if opset >= since]:
            m = model(before + nodes + quantized_and_back("y", "sy", "zy"), {name: (FLOAT, shape) for name, shape in inputs.items()},
                      {"y_f": (FLOAT, None)}, opset, constants)
            with self.subTest(opset=opset):
                self.survives(fused, m, feed)

    def test_matmul(self):
        self.around("QLinearMatMul", [node("MatMul", ["a_f", "w_f"], ["y"])], integers(64, 32), a=(8, 64))

    def test_convolution(self):
        self.around("QLinearConv", [node("Conv", ["a_f", "w_f"], ["y"])], integers(4, 8, 3, 3), a=(1, 8, 6, 6))

    def test_gemm(self):
        self.around("QGemm", [node("Gemm", ["a_f", "w_f"], ["y"])], integers(8, 3), since=11, a=(4, 8))

    def test_add(self):
        self.around("QLinearAdd", [node("Add", ["a_f", "b_f"], ["y"])], a=(4, 8), b=(4, 8))

    def test_sigmoid(self):
        self.around("QLinearSigmoid", [node("Sigmoid", ["a_f"], ["y"])], a=(4, 8))

    def test_softmax(self):
        self.around("QLinearSoftmax", [node("Softmax", ["a_f"], ["y"])], a=(4, 8))

    def test_average_pool(self):
        self.around("QLinearAveragePool", [node("AveragePool", ["a_f"], ["y"], kernel_shape=[2, 2])], a=(1, 8, 6, 6))

    def test_concat(self):
        self.around("QLinearConcat", [node("Concat", ["a_f", "b_f"], ["y"], axis=1)], a=(4, 8), b=(4, 8))

    def test_dynamic_matmul(self):
        constants = {"w": integers(8, 3), "zw": np.array(0, np.int8), "sw": np.array(0.03, np.float32)}
        nodes = [node("DynamicQuantizeLinear", ["x"], ["xq", "sx", "zx"]),
                 node("MatMulInteger", ["xq", "w", "zx", "zw"], ["i"]), node("Cast", ["i"], ["f"], to=FLOAT),
                 node("Mul", ["sx", "sw"], ["s"]), node("Mul", ["f", "s"], ["y"])]
        for opset in [opset for opset in OPSETS if opset >= 11]:
            m = model(nodes, {"x": (FLOAT, [4, 8])}, {"y": (FLOAT, [4, 3])}, opset, constants)
            with self.subTest(opset=opset):
                self.survives("DynamicQuantizeMatMul", m, {"x": normal(4, 8)})

    def test_blocks_of_4_bits(self):
        weights = helper.make_tensor("w", TensorProto.INT4, [64, 32], bytes(range(256)) * 4, raw=True)
        nodes = [node("DequantizeLinear", ["w", "s"], ["w_f"], axis=0, block_size=32), node("MatMul", ["x", "w_f"], ["y"])]
        scales = (0.01 * np.arange(1, 65, dtype=np.float32)).reshape(2, 32)
        for opset in [opset for opset in OPSETS if opset >= 21]:
            m = model(nodes, {"x": (FLOAT, [4, 64])}, {"y": (FLOAT, [4, 32])}, opset, {"w": weights, "s": scales})
            with self.subTest(opset=opset):
                self.survives("MatMulNBits", m, {"x": normal(4, 64)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
