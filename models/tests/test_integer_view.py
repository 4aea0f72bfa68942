"""dqmodel run --compare integer follows a layer from its sums in integers, and reports where it has none."""

import unittest

import numpy
import onnx
from dqmodel_support import Program, graph_model
from onnx import TensorProto, helper

LAYER = "node 'fc' (MatMulInteger)"
NONE = f"{LAYER}: no integers to compare with: "


def quantize(source, result, zero_point=None, **attributes):
    return helper.make_node("QuantizeLinear", [source, "one", *([zero_point] if zero_point else [])], [result], **attributes)


def mul(source, result, multiplier="m"):
    return helper.make_node("Mul", [source, multiplier], [result])


def model(nodes, outputs, opset=13, **constants):
    """x [4, 1] of uint8 times 1, cast to float as `f`, then these nodes. `zero` is of int8, `m` 0.25."""
    known = {"w": numpy.array([[1]], numpy.int8), "m": numpy.float32(0.25), "one": numpy.float32(1), "zero": numpy.int8(0)}
    layer = [
        helper.make_node("MatMulInteger", ["x", "w"], ["sums"], name="fc"),
        helper.make_node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
    ]
    made = graph_model([*layer, *nodes], [("x", TensorProto.UINT8, [4, 1])], outputs, known | constants, opset)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)  # the outputs' types


class IntegerView(Program):
    def compared(self, *arguments, **constants):
        onnx.save(model(*arguments, **constants), self.folder / "m.onnx")
        self.save("x", [[5], [1], [3], [254]], numpy.uint8)
        printed = self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer").splitlines()
        return [line for line in printed if ".npy: " not in line]  # not the lines about written files

    def test_sums_that_two_casts_take(self):
        again = helper.make_node("Cast", ["sums"], ["g"], to=TensorProto.FLOAT)
        nodes = [mul("f", "p"), quantize("p", "y", "zero"), again, mul("g", "q"), quantize("q", "z", "zero")]
        equal = [f"{LAYER}, '{name}': 0 of 4 results differ by integers" for name in ("y", "z")]
        self.assertEqual(self.compared(nodes, ["y", "z"]), equal)

    def test_floats_that_round_as_integers_do(self):
        # 0.3 is 10066330 * 2^-25: 5 times it is a float's tie between 1.5 and the next one, and goes to 1.5, and to 2; exactly
        # it is more than 1.5, and goes to 2 too. 0.5 + 2^-24 is more than a half, as a float too: both give 1.
        for multiplier in (0.3, 0.5 + 2**-24):
            nodes = [mul("f", "p"), quantize("p", "y", "zero")]
            wanted = [f"{LAYER}: 0 of 4 results differ by integers"]
            self.assertEqual(self.compared(nodes, ["y"], m=numpy.float32(multiplier)), wanted)

    def test_all_that_is_made_of_a_rescaling(self):
        # 0.1 is 13421773 * 2^-27; 5 times it is more than a half by 2^-27, which a float does not hold: 1 by integers, 0 by floats.
        nodes = [quantize("f", "y"), mul("f", "p", "tenth"), quantize("p", "z"), helper.make_node("Relu", ["p"], ["r"])]
        self.assertEqual(
            self.compared(nodes, ["y", "z", "r"], tenth=numpy.float32(0.1)),
            [
                f"{LAYER}, 'y': 0 of 4 results differ by integers",
                f"{LAYER}, 'z': 1 of 4 results differ by integers, by 1 at most",
                f"{NONE}nothing rounds its rescaled values, 'r'",
            ],
        )

    def test_both_types_of_8_bits(self):
        wanted = [f"{LAYER}: 0 of 4 results differ by integers"]
        for attributes in ({}, {"output_dtype": TensorProto.UINT8}, {"output_dtype": TensorProto.INT8}):
            self.assertEqual(self.compared([quantize("f", "y", **attributes)], ["y"], 21), wanted)
        for dtype in (numpy.int8, numpy.uint8):
            self.assertEqual(self.compared([quantize("f", "y", "z")], ["y"], z=numpy.array(0, dtype)), wanted)

    def test_types_of_more_or_fewer_bits(self):
        for name in ("INT16", "UINT16", "INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2"):
            element = TensorProto.DataType.Value(name)
            zero = helper.make_tensor("z", element, [], [0])
            for node in (quantize("f", "q", "z"), quantize("f", "q", output_dtype=element)):
                back = helper.make_node("DequantizeLinear", ["q", "one"], ["y"])
                text = f"{NONE}its rescaled values are rounded to {name.lower()}, where integers of 8 bits are expected"
                self.assertEqual(self.compared([node, back], ["y"], 21, z=zero), [text], name)

    def test_results_that_no_shift_rounds(self):
        half = helper.make_node("Cast", ["f"], ["h"], to=TensorProto.FLOAT16)
        tail = [helper.make_node("Tanh", ["h"], ["t"]), helper.make_node("Cast", ["t"], ["y"], to=TensorProto.FLOAT)]
        text = "its rescaled values are rounded to float16, which no right shift does"
        self.assertEqual(self.compared([half, *tail], ["y"]), [NONE + text])
        text = "its rescaled values are not rounded by a QuantizeLinear of scale 1 and zero point 0"
        for constants in ({"one": numpy.float32(2)}, {"zero": numpy.int8(1)}):
            self.assertEqual(self.compared([quantize("f", "y", "zero")], ["y"], **constants), [NONE + text])
        scales = {"w": numpy.ones((1, 3), numpy.int8), "one": numpy.ones(3, numpy.float16), "zero": numpy.zeros(3, numpy.int8)}
        self.assertEqual(self.compared([quantize("f", "y", "zero", axis=1)], ["y"], 23, **scales), [NONE + text])

    def test_multipliers_without_integers(self):
        nodes = [mul("f", "p"), helper.make_node("Relu", ["p"], ["r"]), quantize("r", "y", "zero")]
        text = "its multipliers are negative, and there is a Relu"
        self.assertEqual(self.compared(nodes, ["y"], m=numpy.float32(-0.25)), [NONE + text])
        text = "its multipliers repeat its sums"
        thrice = numpy.full((3, 1, 1), 0.25, numpy.float32)
        nodes = [mul("f", "p"), quantize("p", "y", "zero")]
        self.assertEqual(self.compared(nodes, ["y"], m=thrice), [NONE + text])
        text = "its multipliers are no integer of 24 bits and a right shift"
        self.assertEqual(self.compared(nodes, ["y"], m=numpy.float32(2.0**25)), [NONE + text])


if __name__ == "__main__":
    unittest.main()
