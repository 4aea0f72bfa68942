"""dqmodel, run as a program, prints, writes and refuses as documented."""

import json
import unittest

import numpy
import onnx
from dqmodel_support import Program, float_model, graph_model, rescaled_model
from onnx import TensorProto, helper


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


class Run(Program):
    def test_it_writes_what_the_model_computes(self):
        self.codify()
        printed = self.prints("run", "q.onnx", "--input", "x=x.npy", "--output", "results", "--compare", "reference")
        self.assertEqual(
            printed, "results/y.npy: float 2x2\noutput 'y': equal to the reference in every bit\n"
        )
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
                "y.npy: int8 4x1\nnode 'fc' (MatMulInteger): 0 of 4 results differ by integers\n",
            )

    def test_integers_see_what_floats_round_away(self):
        # 0.1 is 13421773 * 2^-27; 5 times it is 67108865 * 2^-27: more than a half by 2^-27, which a float does not hold.
        # So 1 by integers and 0 by floats.
        onnx.save(rescaled_model(numpy.float32(0.1)), self.folder / "m.onnx")
        self.save("x", [[5], [0], [10], [20]], numpy.uint8)
        self.assertEqual(
            self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer"),
            "y.npy: int8 4x1\nnode 'fc' (MatMulInteger): 1 of 4 results differ by integers, by 1 at most\n",
        )

    def test_multipliers_that_are_no_integer_and_shift(self):
        onnx.save(rescaled_model(2.0**25), self.folder / "m.onnx")
        self.save("x", [[1], [2], [3], [4]], numpy.uint8)
        self.assertEqual(
            self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer"),
            "y.npy: int8 4x1\nnode 'fc' (MatMulInteger): no integers to compare with: its multipliers are no integer of 24 bits and a "
            "right shift\n",
        )

    def test_times(self):
        printed = self.prints("run", "float.onnx", "--input", "x.npy", "--repeat", "3", "--threads", "1")
        self.assertRegex(
            printed,
            r"^y.npy: float 2x2\nmedian of 3 runs: [\d.]+ us, least [\d.]+ us\n"
            r"to read the constants' 2.4e-05 MB and do nothing else: [\d.]+ us\n$",  # 6 floats
        )

    def test_node_by_node_in_the_same_bits(self):
        self.codify()
        self.prints("run", "q.onnx", "--input", "x.npy")
        fused = (self.folder / "y.npy").read_bytes()
        self.prints("run", "q.onnx", "--input", "x.npy", "--no-fuse", "--threads", "2")
        self.assertEqual((self.folder / "y.npy").read_bytes(), fused)

    def test_all_types_that_files_have(self):
        types = {
            TensorProto.FLOAT16: numpy.float16,
            TensorProto.DOUBLE: numpy.float64,
            TensorProto.BOOL: numpy.bool_,
            **{getattr(TensorProto, name.upper()): getattr(numpy, name) for name in ("int8", "int16", "int32", "int64")},
            **{
                getattr(TensorProto, name.upper()): getattr(numpy, name)
                for name in ("uint8", "uint16", "uint32", "uint64")
            },
        }
        for to, dtype in types.items():
            values = numpy.array([[0, 1, 3], [100, 2, 0]], dtype)
            onnx.save(
                graph_model([], [("x", to, [2, 3])], [("x", to, [2, 3])], {}),
                self.folder / "m.onnx",
            )
            self.save("x", numpy.asfortranarray(values), dtype)
            self.prints("run", "m.onnx", "--input", "x.npy", "--output", "results")
            given = self.load("results/x")
            self.assertEqual((given.dtype, given.tolist()), (dtype, values.tolist()))

    def test_an_output_of_float16(self):
        onnx.save(
            graph_model(
                [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)],
                [("x", TensorProto.FLOAT, [4])],
                [("y", TensorProto.FLOAT16, [4])],
                {},
            ),
            self.folder / "m.onnx",
        )
        self.save("x", [1 / 3, 65504, 1e6, -6e-8])
        self.prints("run", "m.onnx", "--input", "x.npy")
        self.assertEqual(self.load("y").dtype.str, "<f2")
        self.assertEqual(self.load("y").tolist(), [1365 * 2**-12, 65504, float("inf"), -(2**-24)])

    def test_types_that_files_lack_are_said_before_the_run(self):
        for to, name in ((TensorProto.INT4, "int4"), (TensorProto.FLOAT8E4M3FN, "float8e4m3fn")):
            onnx.save(
                graph_model(
                    [helper.make_node("QuantizeLinear", ["x", "one"], ["h"], output_dtype=to)],
                    [("x", TensorProto.FLOAT, [1])],
                    [("h", to, [1])],
                    {"one": numpy.float32(1)},
                    opset=21,
                ),
                self.folder / "m.onnx",
            )
            self.save("x", [1])
            self.refuses(
                "output 'h': expected a type that .npy files have (float, double, float16, bool, integers of 8 to 64 bits), "
                f"given {name}",
                *("run", "m.onnx", "--input", "x.npy"),
            )

    def test_two_outputs_of_one_file(self):
        onnx.save(
            graph_model(
                [helper.make_node("Relu", ["x"], ["a/b"]), helper.make_node("Tanh", ["x"], ["a_b"])],
                [("x", TensorProto.FLOAT, [1])],
                [("a/b", TensorProto.FLOAT, [1]), ("a_b", TensorProto.FLOAT, [1])],
                {},
            ),
            self.folder / "m.onnx",
        )
        self.save("x", [1])
        self.refuses(
            "output 'a_b': expected a file of its own, given a_b.npy, which is that of 'a/b'",
            *("run", "m.onnx", "--input", "x.npy"),
        )

    def test_a_model_without_inputs(self):
        onnx.save(
            graph_model(
                [helper.make_node("Identity", ["c"], ["y"])], [], [("y", TensorProto.INT32, [2])], {"c": numpy.int32([3, 4])}
            ),
            self.folder / "m.onnx",
        )
        self.assertEqual(self.prints("run", "m.onnx"), "y.npy: int32 2\n")
        self.assertEqual(self.load("y").tolist(), [3, 4])
        self.refuses("--input: expected a file for each input, given none for 'x'", "run", "float.onnx")

    def test_an_output_without_a_type(self):
        for empty in (lambda output: output.ClearField("type"), lambda output: output.type.Clear()):
            model = float_model()
            empty(model.graph.output[0])
            onnx.save(model, self.folder / "m.onnx")
            self.refuses("m.onnx: output 'y': expected a tensor type, given none", "run", "m.onnx", "--input", "x.npy")

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


class ExternalData(Program):
    """Tensors in a file beside the model, as exporters of large models write them."""

    def setUp(self):
        super().setUp()
        (self.folder / "e").mkdir()
        self.save_external(float_model())

    def save_external(self, model):
        """e/m.onnx has no elements; e/m.data has them, also those of attributes."""
        external = {"location": "m.data", "size_threshold": 0, "convert_attribute": True}
        onnx.save(model, self.folder / "e/m.onnx", save_as_external_data=True, **external)

    def outputs(self, model):
        self.prints("run", model, "--input", "x.npy", "--compare", "reference")
        return self.load("y").tolist()

    def test_run_and_inspect(self):
        self.assertEqual(self.outputs("e/m.onnx"), self.outputs("float.onnx"))
        expected = self.prints("inspect", "float.onnx", "--shape", "x=3,2")
        self.assertEqual(self.prints("inspect", "e/m.onnx", "--shape", "x=3,2"), expected)
        printed = self.prints("run", "e/m.onnx", "--input", "x.npy", "--repeat", "1")
        self.assertIn("to read the constants' 2.4e-05 MB and do nothing else: ", printed)

    def test_codify_writes_one_file(self):
        self.codify()
        expected = (self.folder / "q.onnx").read_bytes()
        self.prints("codify", "e/m.onnx", "--calibration", "x.npy", "-o", "e/q.onnx")
        self.assertEqual((self.folder / "e/q.onnx").read_bytes(), expected)

    def test_constants_of_nodes_and_integers_beside_floats(self):
        model = rescaled_model(0.25)
        weights = model.graph.initializer[0]
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=weights))
        del model.graph.initializer[0]
        self.save_external(model)
        self.save("x", [[2], [6], [10], [255]], numpy.uint8)
        printed = self.prints("run", "e/m.onnx", "--input", "x.npy", "--compare", "integer")
        self.assertEqual(printed.splitlines()[1], "node 'fc' (MatMulInteger): 0 of 4 results differ by integers")
        self.assertEqual(self.load("y").tolist(), [[0], [2], [2], [64]])  # 0.5, 1.5, 2.5 and 63.75 to even

    def test_what_is_not_there(self):
        commands = {
            "run": ("--input", "x.npy"),
            "inspect": ("--shape", "x=1,2"),
            "codify": ("--calibration", "x.npy", "-o", "q.onnx"),
        }
        where = "e/m.onnx: initializer 'w': external data: 'm.data': "
        (self.folder / "e/m.data").write_bytes(bytes(15))
        for command, arguments in commands.items():
            message = where + "expected 16 bytes from byte 0 on, given a file of 15"
            self.refuses(message, command, "e/m.onnx", *arguments)
        (self.folder / "e/m.data").unlink()
        for command, arguments in commands.items():
            message = where + "expected a file in the model's folder, given No such file or directory"
            self.refuses(message, command, "e/m.onnx", *arguments)
        self.assertFalse((self.folder / "q.onnx").exists())


class Inspect(Program):
    def test_layers_and_rescalings(self):
        self.codify()
        lines = self.prints("inspect", "q.onnx", "--shape", "x=1,2").splitlines()
        self.assertEqual(
            lines[0].split(), ["layer", "pattern", "nodes", "from", "to", "Quant_scale", "Quant_shift", "multiplier", "Mul"]
        )
        layer = next(line for line in lines if line.startswith("y_product"))
        self.assertIn("fully connected with ReLU  7", layer)
        multiplier = (1.27 / 127) * (2.54 / 127) / (2.52 / 255)
        self.assertTrue(layer.endswith("  2, folded"), layer)
        self.assertAlmostEqual(float(layer.split()[-3]), multiplier, delta=1e-4 * multiplier)
        self.assertRegex(layer, r" 2\^-\d+ ")

    def test_all_unknown_operators_are_named(self):
        nodes = [helper.make_node("Rellu", ["x"], ["a"], name="first"), helper.make_node("Softmax", ["a"], ["b"])]
        nodes += [helper.make_node("Softmax", ["b"], ["c"]), helper.make_node("Relu", ["c"], ["d"], domain="com.x")]
        onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, [2])], [("d", TensorProto.FLOAT, [2])], {}), self.folder / "m.onnx")
        known = (
            "Add, Cast, Conv, ConvInteger, DequantizeLinear, Flatten, Gemm, Identity, MatMul, MatMulInteger, MaxPool, Mul, "
            "QuantizeLinear, Relu, Reshape, Sigmoid, Tanh or Transpose"
        )
        for command in (("inspect", "m.onnx"), ("run", "m.onnx", "--input", "x.npy")):
            self.save("x", [1, 2])
            self.refuses(
                f"m.onnx: operators: expected {known}, given Rellu (did you mean 'Relu'?) of node 'first', Softmax of node "
                "of 'b' and 1 other, com.x.Relu of node of 'd'",
                *command,
            )

    def test_extents_without_a_name_are_not_alike(self):
        # As exporters write them: "?" and -1.
        for first, second in (("?", "?"), (-1, -1)):
            onnx.save(
                graph_model(
                    [helper.make_node("Relu", ["x"], ["y"])],
                    [("x", TensorProto.FLOAT, [first, second])],
                    [("y", TensorProto.FLOAT, [first, second])],
                    {},
                ),
                self.folder / "m.onnx",
            )
            self.assertIn("float 2x3", self.prints("inspect", "m.onnx", "--shape", "x=2,3"))
        onnx.save(
            graph_model([], [("x", TensorProto.FLOAT, [-2])], [("x", TensorProto.FLOAT, [-2])], {}), self.folder / "m.onnx"
        )
        self.refuses(
            "m.onnx: input 'x': expected extents of 0 or more, or -1 for an open one, given -2",
            *("inspect", "m.onnx", "--shape", "x=2"),
        )

    def test_a_limit_that_is_not_onnx_s(self):
        onnx.save(
            graph_model(
                [helper.make_node("MatMulInteger", ["x", "w"], ["y"], name="fc")],
                [("x", TensorProto.UINT8, [1, 1])],
                [("y", TensorProto.INT32, [1, 1])],
                {"w": numpy.array([[200]], numpy.uint8)},
            ),
            self.folder / "m.onnx",
        )
        self.refuses(
            "m.onnx: node 'fc' (MatMulInteger): B 'w': expected type int8, what dynquant computes at opset 13, given uint8",
            *("inspect", "m.onnx"),
        )

    def test_a_shape_that_is_open(self):
        self.codify()
        self.refuses(
            "q.onnx: input 'x': expected its shape, as in --shape x=1,2, since the file says [?, 2], given none",
            *("inspect", "q.onnx"),
        )
        self.refuses("--shape: expected name=1,28,28, given 'x=1,b'", "inspect", "q.onnx", "--shape", "x=1,b")

    def test_multipliers_that_are_no_scale_and_shift(self):
        for scale, shift, muls, note in (
            (3, 0.5, "2, folded", None),
            (3, 2, "2, not folded", "not folded: Quant_shift 'm1': expected powers of two of at most 1, given 2"),
            (3, 0.3, "2, not folded", "not folded: Quant_shift 'm1': expected powers of two of at most 1, given 0.3"),
            (1.5, 0.5, "2, folded", "Quant_scale 'm0': expected integers of at most 2^24, given 1.5"),
            (2**24 + 2, 0.5, "2, folded", "Quant_scale 'm0': expected integers of at most 2^24, given 16777218"),
        ):
            onnx.save(rescaled_model(scale, shift), self.folder / "m.onnx")
            lines = self.prints("inspect", "m.onnx").splitlines()
            self.assertTrue(lines[1].endswith("  " + muls), lines[1])
            self.assertEqual(lines[2:], [f"fc: {note}"] if note else [])

    def test_one_multiplier(self):
        onnx.save(rescaled_model(0.25), self.folder / "m.onnx")
        self.assertTrue(self.prints("inspect", "m.onnx").splitlines()[1].endswith("  2^-2        1"))

    def test_json(self):
        onnx.save(rescaled_model(3, 2), self.folder / "m.onnx")
        told = json.loads(self.prints("inspect", "m.onnx", "--json"))
        self.assertEqual(told["inputs"], [{"name": "x", "type": "uint8", "shape": [4, 1]}])
        self.assertEqual(told["outputs"], [{"name": "y", "type": "int8", "shape": [4, 1]}])
        [stage] = told["stages"]
        self.assertEqual((stage["name"], stage["pattern"], len(stage["nodes"])), ("fc", "fully connected", 5))
        self.assertEqual(stage["rescale"], {"multipliers": [3.0], "shifts": [2.0], "folded": False})
        self.assertEqual(
            (stage["note"], stage["warning"]),
            ("not folded: Quant_shift 'm1': expected powers of two of at most 1, given 2", ""),
        )

    def test_sums_that_may_wrap_are_warned_of(self):
        onnx.save(
            graph_model(
                [
                    helper.make_node("MatMulInteger", ["x", "w"], ["s"], name="fc"),
                    helper.make_node("Add", ["s", "b"], ["t"]),
                    helper.make_node("Cast", ["t"], ["f"], to=TensorProto.FLOAT),
                    helper.make_node("Mul", ["f", "m"], ["p"]),
                    helper.make_node("QuantizeLinear", ["p", "m", "zero"], ["y"]),
                ],
                [("x", TensorProto.INT8, [1, 2])],
                [("y", TensorProto.INT8, [1, 1])],
                {
                    "w": numpy.array([[100], [-28]], numpy.int8),
                    "b": numpy.array([-(2**31)], numpy.int32),
                    "m": numpy.float32(1),
                    "zero": numpy.int8(0),
                },
            ),
            self.folder / "m.onnx",
        )
        warning = "sums may reach 2147500032, beyond 2147483647, where they wrap"  # 128 * 128 and 2^31
        self.assertEqual(self.prints("inspect", "m.onnx").splitlines()[2:], [f"fc: warning: {warning}"])
        self.save("x", [[1, 1]], numpy.int8)
        ran = self.run_program("run", "m.onnx", "--input", "x.npy")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "y.npy: int8 1x1\n", f"dqmodel: warning: fc: {warning}\n"))

    def test_names_do_not_reach_the_terminal_as_they_are(self):
        model = rescaled_model(0.5)
        model.graph.node[0].name = "f\x1b[31mc\nnew"
        onnx.save(model, self.folder / "m.onnx")
        self.save("x", [[1], [2], [3], [4]], numpy.uint8)
        head, row = self.prints("inspect", "m.onnx").splitlines()
        self.assertTrue(row.startswith("f\\x1b[31mc\\x0anew  fully connected "), row)
        self.assertEqual(row.index("fully"), head.index("pattern"))
        self.assertTrue(
            self.prints("run", "m.onnx", "--input", "x.npy", "--compare", "integer").startswith(
                "y.npy: int8 4x1\nnode 'f\\x1b[31mc\\x0anew' (MatMulInteger): 0 of 4"
            )
        )

    def test_the_file_may_come_after_shapes(self):
        self.assertEqual(
            self.prints("inspect", "--shape", "x=1,2", "float.onnx"),
            self.prints("inspect", "float.onnx", "--shape", "x=1,2"),
        )

    def test_multipliers_that_are_not_positive(self):
        for multiplier, text in ((-0.5, "-0.5"), (0, "0"), (numpy.nan, "nan"), (numpy.inf, "inf")):
            onnx.save(rescaled_model(multiplier), self.folder / "m.onnx")
            lines = self.prints("inspect", "m.onnx").splitlines()
            self.assertEqual(lines[1].split()[1:3], ["fully", "connected"])
            self.assertEqual(lines[1].split()[-2:], [text, "1"])
            self.assertEqual(lines[2:], [f"fc: Mul 'm0': expected positive multipliers, given {text}"])


class Usage(Program):
    def test_a_command_that_is_nearly_right(self):
        self.refuses(
            "expected a command, inspect, run, rescale or codify, given 'resale' (did you mean 'rescale'?) (--help tells the "
            "usage)",
            *("resale", "3"),
            status=2,
        )

    def test_an_option_that_is_nearly_right(self):
        for arguments in (("--imput", "x.npy"), ("--imput=x.npy",), ("--input", "x.npy", "--imput", "x.npy")):
            self.refuses(
                "expected an option, --help, --input, --shape, --output, --compare, --threads, --repeat or --no-fuse, given "
                "'--imput' (did you mean '--input'?) (--help tells the usage)",
                *("run", "float.onnx", *arguments),
                status=2,
            )

    def test_version(self):
        self.assertRegex(self.prints("--version"), r"^dqmodel \d+\.\d+\.\d+\n$")

    def test_help(self):
        for command in ("inspect", "run", "rescale", "codify"):
            self.assertIn(command, self.prints("--help"))
            told = self.prints(command, "--help")
            self.assertIn("--help", told)
            self.assertIn("Exit status: 0 for success", told)
            self.assertNotIn("{false}", told)
            self.assertNotIn("[FILE]", told)

    def test_numbers_out_of_range(self):
        for option, most in (("--threads", 65536), ("--repeat", 1000000000)):
            for value in ("-1", "1000000001"):
                ran = self.run_program("run", "float.onnx", "--input", "x.npy", option, value)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertRegex(ran.stderr, rf"^dqmodel: {option}: Value {value} not in range \[?0 (-|to) {most}\]? ")

    def test_a_command_without_its_file(self):
        for arguments in (("inspect",), ("run", "--input", "x.npy"), ("codify", "--calibration", "x.npy", "-o", "q.onnx")):
            self.refuses("FILE is required (--help tells the usage)", *arguments, status=2)


if __name__ == "__main__":
    unittest.main()
