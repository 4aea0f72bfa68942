"""The models that scripts/measure layers times: sums by ONNX's definitions, and what is said of their claims."""
import logging
import os
import pathlib
import tempfile
import unittest

import numpy as np
from layers import convolve
from measure.sessions import PROVIDER, RUNTIME, Graph, Peer, claimed_products, make_model, session
from measure.suites.layers import (FLOAT, INT8, SHAPES, UINT8, X_ZERO_POINT, Layer, Shape, all_layers, float_weights, input_of,
                                   measure_layer, model_of, quantized_weights)  # fmt: skip
from onnx import TensorProto, helper, load, load_from_string, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

PEER = Peer(PROVIDER, provider=os.environ["DYNQUANT_ONNXRUNTIME"])
logging.disable(logging.WARNING)  # of the quantization tools


class Models(unittest.TestCase):
    def test_sums(self):
        for text, kernel, stride, groups in (("1x3x9x8 by 4x3x5x5, stride 2", 5, 2, 1), ("1x8x6x7 by 12x2x3x3", 3, 1, 4), ("1x5x4x4 by 3x5x1x1", 1, 1, 1),
                                             ("3x20 by 20x7", 0, 1, 1)):  # fmt: skip
            for weights in (INT8, UINT8):
                with self.subTest(text=text, weights=weights):
                    layer = Layer("", Shape.of(text), UINT8, weights)
                    w, zero_point, _ = quantized_weights(layer)
                    x, w = input_of(layer).astype(np.int64) - X_ZERO_POINT, w.astype(np.int64) - zero_point
                    expected = convolve(x, w, groups, [stride] * 2, [1, 1], [(kernel // 2,) * 2] * 2) if kernel else x @ w
                    for peer in (Peer(RUNTIME), PEER):
                        np.testing.assert_array_equal(session(model_of(layer), peer, 1).run(None, {"x": input_of(layer)})[0], expected)

    def test_weights_are_those_of_quantize_dynamic(self):
        for text in ("3x20 by 20x7", "1x5x4x4 by 3x5x1x1", "1x1x4x4 by 1x1x1x1", "1x3x9x8 by 4x3x5x5"):
            for weights, kind in ((INT8, QuantType.QInt8), (UINT8, QuantType.QUInt8)):
                with self.subTest(text=text, weights=weights):
                    layer = Layer("", Shape.of(text), FLOAT, weights)
                    values = float_weights(layer)
                    node = helper.make_node("MatMul" if layer.shape.is_product else "Conv", ["x", "w"], ["y"])
                    model = make_model([node], {"x": (TensorProto.FLOAT, layer.shape.x)}, {"y": (TensorProto.FLOAT, None)},
                                       [numpy_helper.from_array(values, "w")], 17)  # fmt: skip
                    with tempfile.TemporaryDirectory() as folder:
                        path = pathlib.Path(folder) / "quantized.onnx"
                        quantize_dynamic(load_from_string(model), path, weight_type=kind)
                        expected = {i.name: numpy_helper.to_array(i) for i in load(path).graph.initializer}
                    for given, of in zip(quantized_weights(layer), ("w_quantized", "w_zero_point", "w_scale"), strict=True):
                        self.assertEqual(given.dtype, expected[of].dtype)
                        np.testing.assert_array_equal(given, expected[of])

    def test_all_types_of_all_shapes(self):
        self.assertEqual(len({layer.name for layer in all_layers()}), 4 * sum(map(len, SHAPES.values())))

    def test_of_floats_reach_to_relu(self):
        layer = Layer("", Shape.of("1x3x9x8 by 4x3x3x3"), FLOAT, UINT8)
        self.assertEqual([n.op_type for n in load_from_string(model_of(layer)).graph.node],
                         ["DynamicQuantizeLinear", "ConvInteger", "Mul", "Cast", "Mul", "Add", "Relu"])


class Measured(unittest.TestCase):
    def test_turns(self):
        layer = Layer("stems", Shape.of("1x8x16x16 by 16x8x3x3"), FLOAT, INT8)
        m = measure_layer(layer, 1, PEER, 2, 0)
        self.assertEqual((m.case, m.facts["claimed"]), (f"stems: {layer.shape.name}, float x, int8 weights", True))
        for peer in (RUNTIME, PROVIDER):
            self.assertEqual(len(m.times[peer]), 2)
            self.assertLessEqual(m.least[peer], min(m.times[peer]))

    def test_weights_that_come_with_a_run_are_left(self):
        inputs = {"x": (TensorProto.UINT8, (2, 3)), "w": (TensorProto.INT8, (3, 4))}
        model = make_model([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], inputs, {"y": (TensorProto.INT32, None)}, [], 17)
        self.assertEqual(claimed_products(session(model, PEER, 1)), 0)

    def test_products_of_one_node_count_each(self):
        graph, w = Graph(), np.ones((3, 4), np.int8)
        quantized, scale, zero_point = graph.op("DynamicQuantizeLinear", "x", outputs=3)
        y = [graph.op("Mul", graph.op("Cast", graph.op("MatMulInteger", quantized, w, zero_point), to=TensorProto.FLOAT), scale) for _ in range(3)]
        one = session(graph.model({"x": (TensorProto.FLOAT, (2, 3))}, {name: (TensorProto.FLOAT, None) for name in y}, 17), PEER, 1)
        self.assertEqual(len(one.get_provider_graph_assignment_info()), 1)
        self.assertEqual(claimed_products(one), 3)


if __name__ == "__main__":
    unittest.main()
