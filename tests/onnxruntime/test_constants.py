"""Nodes of which all inputs are constants: sessions open, and compute what ONNX Runtime computes without the library. It
makes MatMulNBits of a MatMul whose weights it has folded, with other sums: such are compared with a session that folds
nothing."""
import os
import unittest

import numpy as np
from models import LIBRARY, OLDEST, OPSETS, TensorProto, helper, model, normal, onnxruntime

FLOAT = TensorProto.FLOAT
KEY = "optimization.disable_specified_optimizers"
node = helper.make_node

CONSTANTS = {"w": normal(4, 8, 3, 3), "m": normal(8, 5), "half": np.array(0.5, np.float32),
             "s": np.array(0.02, np.float32), "z": np.array(3, np.uint8),
             "sc": np.linspace(0.01, 0.04, 4, dtype=np.float32), "zc": np.zeros(4, np.int8),
             "xu": np.random.default_rng(2).integers(0, 256, (1, 8, 6, 6)).astype(np.uint8),
             "wu": np.random.default_rng(3).integers(0, 256, (4, 8, 3, 3)).astype(np.uint8),
             "wq": np.random.default_rng(1).integers(-9, 9, (4, 8, 3, 3)).astype(np.int8)}

IMAGE, MATRIX = (1, 8, 6, 6), (4, 8)


def quantized_and_back(name, scale="s", zero="z", **attributes):
    parameters = [scale] + ([zero] if zero else [])
    return [node("QuantizeLinear", [name] + parameters, ["q"], **attributes),
            node("DequantizeLinear", ["q"] + parameters, ["d"], **attributes)]


def options(entries):
    result = onnxruntime.SessionOptions()
    for key, value in entries.items():
        result.add_session_config_entry(key, value)
    return result


class Constants(unittest.TestCase):
    UNFOLDED = {"disabled_optimizers": ["ConstantFolding"]}
    DISABLED = UNFOLDED if OLDEST else {}  # the entry that the library sets is read by 1.18 and newer

    def result(self, model_bytes, feed, session_options, **how):
        s = onnxruntime.InferenceSession(model_bytes, session_options, providers=["CPUExecutionProvider"], **how)
        return s.run(None, feed)[0]

    def same(self, nodes, shape, since=10, entries=None, theirs=None):
        used = {name for n in nodes for name in n.input}
        constants = {name: value for name, value in CONSTANTS.items() if name in used}
        feed = {"x": normal(*shape)}
        for opset in [opset for opset in OPSETS if opset >= since]:
            m = model(nodes, {"x": (FLOAT, shape)}, {"y": (FLOAT, None)}, opset, constants)
            with self.subTest(opset=opset):
                expected = self.result(m, feed, options({}), **(theirs or {}))
                with_library = options(entries or {})
                os.environ["DYNQUANT_ORT_STANDARD"] = "1"
                with_library.register_custom_ops_library(LIBRARY)
                given = self.result(m, feed, with_library, **self.DISABLED)
                np.testing.assert_array_equal(given.view(np.uint8), expected.view(np.uint8))

    def test_float_weights_of_a_convolution(self):
        self.same(quantized_and_back("w") + [node("Conv", ["x", "d"], ["y"])], IMAGE)
        self.same(quantized_and_back("w", "sc", "zc", axis=0) + [node("Conv", ["x", "d"], ["y"])], IMAGE, since=13)

    def test_float_weights_of_a_quantized_convolution(self):
        nodes = [node("QuantizeLinear", ["x", "s", "z"], ["xq"]), node("DequantizeLinear", ["xq", "s", "z"], ["xd"])]
        nodes += quantized_and_back("w", "sc", "zc", axis=0) + [node("Conv", ["xd", "d"], ["c"])]
        nodes += [node("QuantizeLinear", ["c", "s", "z"], ["yq"]), node("DequantizeLinear", ["yq", "s", "z"], ["y"])]
        self.same(nodes, IMAGE, since=13)

    def test_float_weights_of_a_matmul(self):
        self.same(quantized_and_back("m") + [node("MatMul", ["x", "d"], ["y"])], MATRIX, theirs=self.UNFOLDED)

    def test_without_zero_point(self):
        self.same(quantized_and_back("m", zero=None) + [node("MatMul", ["x", "d"], ["y"])], MATRIX, theirs=self.UNFOLDED)

    def test_an_input_that_folding_makes_constant(self):
        self.same([node("Mul", ["m", "half"], ["v"])] + quantized_and_back("v") + [node("MatMul", ["x", "d"], ["y"])], MATRIX,
                  theirs=self.UNFOLDED)

    def test_dequantized_weights(self):
        nodes = [node("DequantizeLinear", ["wq", "sc", "zc"], ["d"], axis=0), node("Conv", ["x", "d"], ["y"])]
        self.same(nodes, IMAGE, since=13)
        self.same(nodes, IMAGE, since=13, entries={"session.disable_quant_qdq": "1"})

    def test_dynamic_quantize_linear(self):
        self.same([node("DynamicQuantizeLinear", ["m"], ["q", "dynamic_s", "dynamic_z"]),
                   node("DequantizeLinear", ["q", "dynamic_s", "dynamic_z"], ["d"]), node("MatMul", ["x", "d"], ["y"])], MATRIX, since=11,
                  theirs=self.UNFOLDED)

    def test_conv_integer(self):
        self.same([node("ConvInteger", ["xu", "wu", "z"], ["sums"]), node("Cast", ["sums"], ["c"], to=FLOAT),
                   node("Add", ["c", "x"], ["y"])], (1, 4, 4, 4))

    def test_beside_other_optimizers_that_are_left_out(self):
        nodes = quantized_and_back("m") + [node("MatMul", ["x", "d"], ["y"])]
        for entry in ("", "GemmActivationFusion", "GemmActivationFusion;MatMulAddFusion", "ConstantFolding;MatMulAddFusion"):
            self.same(nodes, MATRIX, since=13, entries={KEY: entry}, theirs=self.UNFOLDED)


class Entry(unittest.TestCase):
    """What the options hold after the library is registered."""

    def after(self, standard, *entry):
        result = options({KEY: e for e in entry})
        os.environ["DYNQUANT_ORT_STANDARD"] = standard
        result.register_custom_ops_library(LIBRARY)
        try:
            return result.get_session_config_entry(KEY)
        except RuntimeError:
            return None  # there is none

    def test_own_domains_leave_it_as_it_is(self):
        self.assertIsNone(self.after("0"))
        self.assertEqual(self.after("0", "MatMulAddFusion"), "MatMulAddFusion")

    def test_standard_operators_add_constant_folding_once(self):
        self.assertEqual(self.after("1"), "ConstantFolding")
        self.assertEqual(self.after("1", "A;B"), "A;B;ConstantFolding")
        for given in ("ConstantFolding", "A;ConstantFolding", "ConstantFolding;B"):
            self.assertEqual(self.after("1", given), given)
        self.assertEqual(self.after("1", "NoConstantFolding"), "NoConstantFolding;ConstantFolding")


if __name__ == "__main__":
    unittest.main(verbosity=2)
