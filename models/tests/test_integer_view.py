"""dqmodel run --compare integer follows a layer from its sums in integers, and reports where it has none."""

import unittest

import numpy
import onnx
from dqmodel_support import RUN, Program, graph_model
from onnx import TensorProto, helper

LAYER = "node 'fc' (MatMulInteger)"
NONE = f"{LAYER}: no integers to compare with: "


RESCALED = "p = Mul(f, m) y = QuantizeLinear(p, one, zero)"
TO_FLOAT, TO_FLOAT16 = (f"Cast <to = {to}>" for to in (TensorProto.FLOAT, TensorProto.FLOAT16))


def model(nodes, outputs, opset=13, **constants):
    """x [4, 1] of uint8 times 1, cast to float as `f`, then these nodes. `zero` is of int8, `m` 0.25."""
    known = {"w": numpy.array([[1]], numpy.int8), "m": numpy.float32(0.25), "one": numpy.float32(1), "zero": numpy.int8(0)}
    layer = f"[fc] sums = MatMulInteger(x, w) f = {TO_FLOAT} (sums)"
    made = graph_model(f"(uint8[4, 1] x) => ({outputs}) {{ {layer} {nodes} }}", known | constants, opset)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)  # the outputs' types


class IntegerView(Program):
    def compared(self, *arguments, **constants):
        onnx.save(model(*arguments, **constants), self.folder / "m.onnx")
        self.save("x", [[5], [1], [3], [254]], numpy.uint8)
        printed = self.prints(*RUN, "--compare", "integer").splitlines()
        return [line for line in printed if ".npy: " not in line]  # not the lines about written files

    def test_sums_that_two_casts_take(self):
        nodes = f"{RESCALED} g = {TO_FLOAT} (sums) q = Mul(g, m) z = QuantizeLinear(q, one, zero)"
        equal = [f"{LAYER}, '{name}': 0 of 4 results differ by integers" for name in ("y", "z")]
        self.assertEqual(self.compared(nodes, "y, z"), equal)

    def test_floats_that_round_as_integers_do(self):
        # 0.3 is 10066330 * 2^-25: 5 times it is a float's tie between 1.5 and the next one, and goes to 1.5, and to 2; exactly
        # it is more than 1.5, and goes to 2 too. 0.5 + 2^-24 is more than a half, as a float too: both give 1.
        for multiplier in (0.3, 0.5 + 2**-24):
            wanted = [f"{LAYER}: 0 of 4 results differ by integers"]
            self.assertEqual(self.compared(RESCALED, "y", m=numpy.float32(multiplier)), wanted)

    def test_all_that_is_made_of_a_rescaling(self):
        # 0.1 is 13421773 * 2^-27; 5 times it is more than a half by 2^-27, which a float does not hold: 1 by integers, 0 by floats.
        nodes = "y = QuantizeLinear(f, one) p = Mul(f, tenth) z = QuantizeLinear(p, one) r = Relu(p)"
        self.assertEqual(
            self.compared(nodes, "y, z, r", tenth=numpy.float32(0.1)),
            [
                f"{LAYER}, 'y': 0 of 4 results differ by integers",
                f"{LAYER}, 'z': 1 of 4 results differ by integers, by 1 at most",
                f"{NONE}nothing rounds its rescaled values, 'r'",
            ],
        )

    def test_both_types_of_8_bits(self):
        wanted = [f"{LAYER}: 0 of 4 results differ by integers"]
        for attributes in ("", f"<output_dtype = {TensorProto.UINT8}>", f"<output_dtype = {TensorProto.INT8}>"):
            self.assertEqual(self.compared(f"y = QuantizeLinear {attributes} (f, one)", "y", 21), wanted)
        for dtype in (numpy.int8, numpy.uint8):
            self.assertEqual(self.compared("y = QuantizeLinear(f, one, z)", "y", z=numpy.array(0, dtype)), wanted)

    def test_types_of_more_or_fewer_bits(self):
        for name in ("INT16", "UINT16", "INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2"):
            element = TensorProto.DataType.Value(name)
            zero = helper.make_tensor("z", element, [], [0])
            for quantize in ("QuantizeLinear(f, one, z)", f"QuantizeLinear <output_dtype = {element}> (f, one)"):
                nodes = f"q = {quantize} y = DequantizeLinear(q, one)"
                text = f"{NONE}its rescaled values are rounded to {name.lower()}, where integers of 8 bits are expected"
                self.assertEqual(self.compared(nodes, "y", 21, z=zero), [text], name)

    def test_results_that_no_shift_rounds(self):
        nodes = f"h = {TO_FLOAT16} (f) t = Tanh(h) y = {TO_FLOAT} (t)"
        text = "its rescaled values are rounded to float16, which no right shift does"
        self.assertEqual(self.compared(nodes, "y"), [NONE + text])
        text = "its rescaled values are not rounded by a QuantizeLinear of scale 1 and zero point 0"
        for constants in ({"one": numpy.float32(2)}, {"zero": numpy.int8(1)}):
            self.assertEqual(self.compared("y = QuantizeLinear(f, one, zero)", "y", **constants), [NONE + text])
        scales = {"w": numpy.ones((1, 3), numpy.int8), "one": numpy.ones(3, numpy.float16), "zero": numpy.zeros(3, numpy.int8)}
        nodes = "y = QuantizeLinear <axis = 1> (f, one, zero)"
        self.assertEqual(self.compared(nodes, "y", 23, **scales), [NONE + text])

    def test_multipliers_without_integers(self):
        nodes = "p = Mul(f, m) r = Relu(p) y = QuantizeLinear(r, one, zero)"
        text = "its multipliers are negative, and there is a Relu"
        self.assertEqual(self.compared(nodes, "y", m=numpy.float32(-0.25)), [NONE + text])
        text = "its multipliers repeat its sums"
        thrice = numpy.full((3, 1, 1), 0.25, numpy.float32)
        self.assertEqual(self.compared(RESCALED, "y", m=thrice), [NONE + text])
        text = "its multipliers are no integer of 24 bits and a right shift"
        self.assertEqual(self.compared(RESCALED, "y", m=numpy.float32(2.0**25)), [NONE + text])


if __name__ == "__main__":
    unittest.main()
