"""dqmodel, run as a program, prints, writes and refuses as documented."""

import json
import unittest

import numpy
import onnx
from dqmodel_support import RUN, Program, float_model, rescaled_model
from onnx import TensorProto, helper


class Rescale(Program):
    def test_the_papers_examples(self):
        self.assertEqual(
            self.prints("rescale", "0.25"),
            "Quant_scale      1\nQuant_shift      2^-2 = 0.25\nQuant_multiplier 0.25, exactly\n",
        )
        third = self.prints("rescale", "1/3").splitlines()
        self.assertEqual(third[:2], ["Quant_scale      11184810", "Quant_shift      2^-25 = 2.98023224e-08"])



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

    def test_times(self):
        printed = self.prints("run", "float.onnx", "--input", "x.npy", "--repeat", "3", "--threads", "1")
        self.assertRegex(
            printed,
            r"^y.npy: float 2x2\nmedian of 3 runs: [\d.]+ us, least [\d.]+ us\n"
            r"to read the constants' 2.4e-05 MB and do nothing else: [\d.]+ us\n$",  # 6 floats
        )

    def test_all_types_that_files_have(self):
        integers = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
        for name in ("float16", "float64", "bool", *integers):
            dtype = numpy.dtype(name)
            to = {"float64": "double"}.get(name, name)
            values = numpy.array([[0, 1, 3], [100, 2, 0]], dtype)
            self.save_model(f"({to}[2, 3] x) => ({to}[2, 3] x) {{}}")
            self.save("x", numpy.asfortranarray(values), dtype)
            self.prints(*RUN, "--output", "results")
            given = self.load("results/x")
            self.assertEqual((given.dtype, given.tolist()), (dtype, values.tolist()))

    def test_types_that_files_lack_are_said_before_the_run(self):
        for to, name in ((TensorProto.INT4, "int4"), (TensorProto.FLOAT8E4M3FN, "float8e4m3fn")):
            text = f"(float[1] x) => ({name}[1] h) {{ h = QuantizeLinear <output_dtype = {to}> (x, one) }}"
            self.save_model(text, {"one": numpy.float32(1)}, opset=21)
            self.save("x", [1])
            self.refuses(
                "output 'h': expected a type that .npy files have (float, double, float16, bool, integers of 8 to 64 "
                f"bits), given {name}",
                *RUN,
            )

    def test_two_outputs_of_one_file(self):
        self.save_model('(float[1] x) => (float[1] "a/b", float[1] a_b) { "a/b" = Relu(x) a_b = Tanh(x) }')
        self.save("x", [1])
        self.refuses(
            "output 'a_b': expected a file of its own, given a_b.npy, which is that of 'a/b'",
            *RUN,
        )

    def test_a_model_without_inputs(self):
        self.save_model("() => (int32[2] y) { y = Identity(c) }", {"c": numpy.int32([3, 4])})
        self.assertEqual(self.prints("run", "m.onnx"), "y.npy: int32 2\n")
        self.assertEqual(self.load("y").tolist(), [3, 4])

    def test_a_file_that_is_no_model(self):
        (self.folder / "m.onnx").write_bytes((self.folder / "float.onnx").read_bytes()[:40])
        ran = self.run_program(*RUN)
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

    def test_multipliers(self):
        for multipliers, end, note in (
            ((0.25,), "  2^-2        1", None),
            ((-0.5,), "  -0.5        1", "Mul 'm0': expected positive multipliers, given -0.5"),
            ((numpy.nan,), "  nan         1", "Mul 'm0': expected positive multipliers, given nan"),
            ((3, 2), "  2, not folded", "not folded: Quant_shift 'm1': expected powers of two of at most 1, given 2"),
        ):
            onnx.save(rescaled_model(*multipliers), self.folder / "m.onnx")
            lines = self.prints("inspect", "m.onnx").splitlines()
            self.assertTrue(lines[1].endswith(end), lines[1])
            self.assertEqual(lines[2:], [f"fc: {note}"] if note else [])

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
        self.save_model(
            f"""(int8[1, 2] x) => (int8[1, 1] y) {{
                [fc] s = MatMulInteger(x, w)
                t = Add(s, b)
                f = Cast <to = {TensorProto.FLOAT}> (t)
                y = QuantizeLinear(f, one, zero)
            }}""",
            {
                "w": numpy.array([[100], [-28]], numpy.int8),
                "b": numpy.array([-(2**31)], numpy.int32),
                "one": numpy.float32(1),
                "zero": numpy.int8(0),
            },
        )
        warning = "sums may reach 2147500032, beyond 2147483647, where they wrap"  # 128 * 128 and 2^31
        self.assertEqual(self.prints("inspect", "m.onnx").splitlines()[2:], [f"fc: warning: {warning}"])
        self.save("x", [[1, 1]], numpy.int8)
        ran = self.run_program(*RUN)
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
            self.prints(*RUN, "--compare", "integer").startswith(
                "y.npy: int8 4x1\nnode 'f\\x1b[31mc\\x0anew' (MatMulInteger): 0 of 4"
            )
        )

    def test_the_file_may_come_after_shapes(self):
        self.assertEqual(
            self.prints("inspect", "--shape", "x=1,2", "float.onnx"),
            self.prints("inspect", "float.onnx", "--shape", "x=1,2"),
        )


class Refusals(Program):
    def test_arguments_and_files(self):
        self.codify()
        self.save("three", [[1, 2, 3]])
        self.save("double", [[1, 2]], numpy.float64)
        for message, *arguments in (
            ("VALUE: expected a number such as 0.25 or 1/3, given 'a third'", "rescale", "a third"),
            *(
                ("VALUE: expected 2^-126 to 2^24, which a float of an integer and a shift can state, "
                 f"given {value}", "rescale", value)
                for value in ("0", "1/0", "1e9", "1e-39")
            ),
            ("--input: expected a file for each input, given none for 'x'", "run", "float.onnx"),
            ("input 'x': double.npy: dtype <f8: expected <f4, little-endian float32; convert with "
             "numpy.save(new, numpy.load(old).astype('<f4'))", "run", "float.onnx", "--input", "double.npy"),
            ("input 'x': three.npy: shape: expected [?, 2], given [1, 3]", "run", "float.onnx", "--input", "three.npy"),
            ("--input: expected one file for 'x', given two", "run", "float.onnx", "--input", "x.npy", "--input",
             "x=three.npy"),
            ("q.onnx: input 'x': expected its shape, as in --shape x=1,2, since the file says [?, 2], given none",
             "inspect", "q.onnx"),
            ("--shape: expected name=1,28,28, given 'x=1,b'", "inspect", "q.onnx", "--shape", "x=1,b"),
        ):
            with self.subTest(arguments=arguments):
                self.refuses(message, *arguments)

    def test_usage(self):
        option = (
            "expected an option, --help, --input, --shape, --output, --compare, --threads, --repeat or --no-fuse, "
            "given '--imput' (did you mean '--input'?)"
        )
        for message, *arguments in (
            ("expected a command, inspect, run, rescale or codify, given 'resale' (did you mean 'rescale'?)",
             "resale", "3"),
            (option, "run", "float.onnx", "--imput", "x.npy"),
            (option, "run", "float.onnx", "--imput=x.npy"),
            (option, "run", "float.onnx", "--input", "x.npy", "--imput", "x.npy"),
            ("FILE is required", "inspect"),
            ("FILE is required", "run", "--input", "x.npy"),
            ("FILE is required", "codify", "--calibration", "x.npy", "-o", "q.onnx"),
        ):
            with self.subTest(arguments=arguments):
                self.refuses(f"{message} (--help tells the usage)", *arguments, status=2)


class Usage(Program):
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


if __name__ == "__main__":
    unittest.main()
