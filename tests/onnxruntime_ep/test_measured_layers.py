"""The models that scripts/compare-onnxruntime --layers measures: sums by ONNX's definitions, and what is said of their claims."""
import os
import unittest

import numpy as np
from layers import convolve
from onnx import TensorProto, helper, load_from_string, numpy_helper
from onnx_speed.layers.compare import claims, measure
from onnx_speed.layers.models import FLOAT, INT8, UINT8, Layer, all_layers, input_of, model_of
from onnx_speed.layers.shapes import SHAPES, Shape
from onnx_speed.sessions import Peer, make_model, session

PROVIDER = Peer("provider", provider=os.environ["DYNQUANT_ORT_EP"])
RUNTIME = Peer("ONNX Runtime")


class Models(unittest.TestCase):
    def test_sums(self):
        for text, kernel, stride, groups in (("1x3x9x8 by 4x3x5x5, stride 2", 5, 2, 1), ("1x8x6x7 by 12x2x3x3", 3, 1, 4), ("1x5x4x4 by 3x5x1x1", 1, 1, 1),
                                             ("3x20 by 20x7", 0, 1, 1)):  # fmt: skip
            for weights, zero_point in ((INT8, 0), (UINT8, 119)):
                with self.subTest(text=text, weights=weights):
                    layer = Layer("", Shape.of(text), UINT8, weights)
                    w = next(numpy_helper.to_array(c) for c in load_from_string(model_of(layer)).graph.initializer if c.name == "w")
                    self.assertEqual(w.dtype, weights)
                    x, w = input_of(layer).astype(np.int64) - 121, w.astype(np.int64) - zero_point
                    expected = convolve(x, w, groups, [stride] * 2, [1, 1], [(kernel // 2,) * 2] * 2) if kernel else x @ w
                    for peer in (RUNTIME, PROVIDER):
                        np.testing.assert_array_equal(session(model_of(layer), peer, 1).run(None, {"quantized": input_of(layer)})[0], expected)

    def test_all_types_of_all_shapes(self):
        self.assertEqual(len({layer.name for layer in all_layers()}), 4 * sum(map(len, SHAPES.values())))

    def test_of_floats_reach_to_relu(self):
        layer = Layer("", Shape.of("1x3x9x8 by 4x3x3x3"), FLOAT, UINT8)
        self.assertEqual([n.op_type for n in load_from_string(model_of(layer)).graph.node],
                         ["DynamicQuantizeLinear", "ConvInteger", "Cast", "Mul", "Mul", "Add", "Relu"])


class Measured(unittest.TestCase):
    def test_turns(self):
        layer = Layer("stems", Shape.of("1x8x16x16 by 16x8x3x3"), FLOAT, INT8)
        t = measure(layer, 1, RUNTIME, PROVIDER, 2, 0)
        self.assertEqual((t.key, t.claimed), (("stems", layer.shape.name, FLOAT, INT8, 1), True))
        for turns, least in ((t.runtime, t.runtime_least), (t.provider, t.provider_least)):
            self.assertEqual(len(turns), 2)
            self.assertLessEqual(least, min(turns))

    def test_weights_that_come_with_a_run_are_left(self):
        inputs = {"x": (TensorProto.UINT8, (2, 3)), "w": (TensorProto.INT8, (3, 4))}
        model = make_model([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], inputs, {"y": (TensorProto.INT32, None)}, [], 17)
        self.assertFalse(claims(session(model, PROVIDER, 1)))


if __name__ == "__main__":
    unittest.main()
