"""dqmodel as a program: what its commands print and write, and what they refuse."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

DQMODEL = os.environ["DQMODEL"]


def float_model(batch="n"):
    """y = x W + B, then Relu: 2 to 2."""
    weights = numpy.array([[1.27, -0.5], [0.25, 0.004]], numpy.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["s"], name="fc"),
            helper.make_node("Relu", ["s"], ["y"], name="relu"),
        ],
        "float",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 2])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(numpy.array([1, -1], numpy.float32), "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def rescaled_model(multiplier):
    """y = the int8 of (x W) multiplied, where W is 1."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMulInteger", ["x", "w"], ["sums"], name="fc"),
            helper.make_node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["f", "m"], ["p"]),
            helper.make_node("QuantizeLinear", ["p", "one", "zero"], ["y"]),
        ],
        "rescaled",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [4, 1])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [4, 1])],
        [
            numpy_helper.from_array(numpy.array([[1]], numpy.int8), "w"),
            numpy_helper.from_array(numpy.array(multiplier, numpy.float32), "m"),
            numpy_helper.from_array(numpy.array(1, numpy.float32), "one"),
            numpy_helper.from_array(numpy.array(0, numpy.int8), "zero"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        onnx.save(float_model(), self.folder / "float.onnx")
        self.save("x", [[-2.54, 1], [1, 1]])

    def save(self, name, values, dtype=numpy.float32):
        numpy.save(self.folder / f"{name}.npy", numpy.array(values, dtype))

    def run_program(self, *arguments):
        return subprocess.run([DQMODEL, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def prints(self, *arguments):
        ran = self.run_program(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def refuses(self, message, *arguments, status=1):
        ran = self.run_program(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (status, f"dqmodel: {message}\n"))

    def codify(self, *arguments):
        return self.prints("codify", "float.onnx", "--calibration", "x.npy", "-o", "q.onnx", *arguments)


class Rescale(Program):
    def test_the_papers_examples(self):
        self.assertEqual(
            self.prints("rescale", "0.25"),
            "Quant_scale      1\nQuant_shift      2^-2 = 0.25\nQuant_multiplier 0.25, exactly\n",
        )
        third = self.prints("rescale", "1/3").splitlines()
        self.assertEqual(third[:2], ["Quant_scale      11184810", "Quant_shift      2^-25 = 2.98023224e-08"])

    def test_what_is_no_multiplier(self):
        self.refuses("VALUE: expected a number such as 0.25 or 1/3, given 'a third'", "rescale", "a third")
        for value in ("0", "1/0", "1e9", "1e-39"):
            self.refuses(
                f"VALUE: expected 2^-126 to 2^24, which a float of an integer and a shift can state, given {value}",
                "rescale",
                value,
            )


class Codify(Program):
    def test_a_model_passes_the_checker_and_is_the_same_each_time(self):
        self.assertEqual(self.codify(), "q.onnx: 9 nodes of 2, 2 samples\n")
        onnx.checker.check_model(self.folder / "q.onnx", full_check=True)
        first = (self.folder / "q.onnx").read_bytes()
        self.codify()
        self.assertEqual((self.folder / "q.onnx").read_bytes(), first)

    def test_samples_of_zeros_are_said(self):
        self.save("x", [[0, 0]])
        self.assertIn("note: value 'x': 0 throughout calibration; its scale is 1\n", self.codify())

    def test_samples_must_be_finite(self):
        self.save("x", [[1, numpy.nan]])
        self.refuses(
            "x.npy: expected finite numbers, given nan at element 1",
            *("codify", "float.onnx", "--calibration", "x.npy", "-o", "q.onnx"),
        )
        self.assertFalse((self.folder / "q.onnx").exists())

    def test_samples_must_fit_and_be_there(self):
        arguments = ("codify", "float.onnx", "-o", "q.onnx", "--calibration")
        self.save("x", [[1, 2, 3]])
        self.refuses(
            "input 'x': x.npy: shape: expected [?, 2], or a multiple of its first extent, given [1, 3]", *arguments, "x.npy"
        )
        self.save("x", numpy.zeros((0, 2)))
        self.refuses("x.npy: expected samples, given none", *arguments, "x.npy")
        self.refuses("--calibration: expected an input of the model, x, given 'z'", *arguments, "z=x.npy")
        self.refuses("input 'x': y.npy: no such file", *arguments, "y.npy")

    def test_what_cannot_be_codified_is_named(self):
        model = float_model()
        model.graph.node[1].op_type = "Softmax"
        onnx.save(model, self.folder / "float.onnx")
        ran = self.run_program("codify", "float.onnx", "--calibration", "x.npy", "-o", "q.onnx")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("float.onnx: node 'relu' (Softmax): operator: expected ", ran.stderr)


class Run(Program):
    def test_it_writes_what_the_model_computes(self):
        self.codify()
        printed = self.prints("run", "q.onnx", "--input", "x=x.npy", "--output", "results", "--compare", "reference")
        self.assertEqual(printed, "output 'y': equal to the reference in every bit\n")
        y = numpy.load(self.folder / "results" / "y.npy")
        # x W + B is [-1.9758, 0.274] and [2.52, -1.496]; Relu; y goes to 2.52 by 255 steps
        self.assertLess(numpy.abs(y - [[0, 0.274], [2.52, 0]]).max(), 0.03)

    def test_integers_beside_floats(self):
        # 0.3 is 10066330 * 2^-25: 5 times it is a float's tie between 1.5 and the next one, and goes to 1.5, and to 2; exactly
        # it is more than 1.5, and goes to 2 too. 0.5 + 2^-24 is more than a half, as a float too: both give 1.
        for multiplier in (0.3, 0.5 + 2**-24):
            onnx.save(rescaled_model(multiplier), self.folder / "m.onnx")
            self.save("x", [[1], [5], [3], [254]], numpy.uint8)
            self.assertEqual(
                self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer"),
                "node 'fc' (MatMulInteger): 0 of 4 results differ by integers\n",
            )

    def test_integers_see_what_floats_round_away(self):
        # 0.1 is 13421773 * 2^-27; 5 times it is 67108865 * 2^-27: more than a half by 2^-27, which a float does not hold.
        # So 1 by integers and 0 by floats.
        onnx.save(rescaled_model(numpy.float32(0.1)), self.folder / "m.onnx")
        self.save("x", [[5], [0], [10], [20]], numpy.uint8)
        self.assertEqual(
            self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer"),
            "node 'fc' (MatMulInteger): 1 of 4 results differ by integers, by 1 at most\n",
        )

    def test_multipliers_that_are_no_integer_and_shift(self):
        onnx.save(rescaled_model(2.0**25), self.folder / "m.onnx")
        self.save("x", [[1], [2], [3], [4]], numpy.uint8)
        self.assertEqual(
            self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer"),
            "node 'fc' (MatMulInteger): no integers to compare with: its multipliers are no integer of 24 bits and a "
            "right shift\n",
        )

    def test_times(self):
        printed = self.prints("run", "float.onnx", "--input", "x.npy", "--repeat", "3", "--threads", "1")
        self.assertRegex(
            printed,
            r"^median of 3 runs: [\d.]+ us, least [\d.]+ us\n"
            r"to read the file's 0.000\d+ MB and do nothing else: [\d.]+ us\n$",
        )

    def test_inputs_must_fit(self):
        self.save("z", [[1, 2]], numpy.float64)
        self.refuses(
            "input 'x': z.npy: dtype <f8: expected <f4, little-endian float32; convert with "
            "numpy.save(new, numpy.load(old).astype('<f4'))",
            *("run", "float.onnx", "--input", "z.npy"),
        )
        self.save("z", [[1, 2, 3]])
        self.refuses("input 'x': z.npy: shape: expected [?, 2], given [1, 3]", "run", "float.onnx", "--input", "z.npy")
        self.refuses(
            "--input: expected one file for 'x', given two", "run", "float.onnx", "--input", "x.npy", "--input", "x=z.npy"
        )

    def test_a_file_that_is_no_model(self):
        (self.folder / "m.onnx").write_bytes((self.folder / "float.onnx").read_bytes()[:40])
        ran = self.run_program("run", "m.onnx", "--input", "x.npy")
        self.assertEqual(ran.returncode, 1)
        self.assertTrue(ran.stderr.startswith("dqmodel: m.onnx: "), ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1)


class Inspect(Program):
    def test_layers_and_rescalings(self):
        self.codify()
        lines = self.prints("inspect", "q.onnx", "--shape", "x=1,2").splitlines()
        self.assertEqual(
            lines[0].split(), ["layer", "pattern", "nodes", "from", "to", "Quant_scale", "Quant_shift", "multiplier"]
        )
        layer = next(line for line in lines if line.startswith("y_product"))
        self.assertIn("fully connected with ReLU  7", layer)
        multiplier = (1.27 / 127) * (2.54 / 127) / (2.52 / 255)
        self.assertAlmostEqual(float(layer.split()[-1]), multiplier, delta=1e-4 * multiplier)
        self.assertRegex(layer, r" 2\^-\d+ ")

    def test_a_shape_that_is_open(self):
        self.codify()
        self.refuses(
            "q.onnx: input 'x': expected its shape, as in --shape x=1,2, since the file says [?, 2], given none",
            *("inspect", "q.onnx"),
        )
        self.refuses("--shape: expected name=1,28,28, given 'x=1,b'", "inspect", "q.onnx", "--shape", "x=1,b")


    def test_multipliers_that_are_not_positive(self):
        for multiplier, text in ((-0.5, "-0.5"), (0, "0"), (numpy.nan, "nan"), (numpy.inf, "inf")):
            onnx.save(rescaled_model(multiplier), self.folder / "m.onnx")
            lines = self.prints("inspect", "m.onnx").splitlines()
            patterns = [line.split()[1] for line in lines[1:5]]
            self.assertEqual(patterns, ["MatMulInteger", "Cast", "Mul", "QuantizeLinear"])
            self.assertEqual(lines[5], f"fc: not fused: node of 'p' (Mul): expected positive multipliers, given {text}")


class Usage(Program):
    def test_a_command_that_is_nearly_right(self):
        ran = self.run_program("resale", "3")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("(did you mean 'rescale'?)", ran.stderr)

    def test_help(self):
        for command in ("inspect", "run", "rescale", "codify"):
            self.assertIn(command, self.prints("--help"))
            self.assertIn("--help", self.prints(command, "--help"))


if __name__ == "__main__":
    unittest.main()
