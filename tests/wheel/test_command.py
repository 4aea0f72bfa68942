"""The command python -m onnxruntime_ep_dynquant: what it says of models, and every wrong argument."""

import importlib.metadata
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import types
import unittest

import numpy as np
import onnx
import onnxruntime
import onnxruntime_ep_dynquant as package
from onnx import TensorProto, helper
from onnxruntime_ep_dynquant import inputs, measure, sessions

import models
from cases import QUICK, Command, setUpModule  # noqa: F401 -- which unittest calls
from models import FLOAT, command

ONE_CONVOLUTION = "1 of 1 quantized layer (1 convolution)"


class Says(Command):
    def test_what_is_claimed_times_and_whether_it_pays(self):
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16")
        self.assertIn(f"ONNX Runtime {onnxruntime.__version__}: the provider claims {ONE_CONVOLUTION}.\n", said)
        self.assertNotIn("DynamicQuantizeLinear", said)
        self.assertRegex(said, r"\n *ONNX Runtime +[\d.]+ \([\d.]+ to [\d.]+\)")
        self.assertRegex(said, r"\n *with the provider +[\d.]+ \([\d.]+ to [\d.]+\)")
        self.assertIn("\nThe outputs with and without the provider are equal.\n", said)
        threads = ["one thread", *(f"{n} threads" for n in measure.numbers_of_threads()[1:])]
        verdicts = (rf"(It pays|It does not pay|Cannot tell) on {n}: .*ONNX Runtime alone.*\.\n" for n in threads)
        self.assertRegex(said, "\n" + "".join(verdicts) + "$")

    def test_operators(self):
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16", "--verbose")
        for operator, claimed, left in (
            ("DynamicQuantizeLinear", 1, "0"),
            ("ConvInteger", 1, "0"),
            ("Cast", 1, "-"),
            ("Mul", 2, "-"),
        ):
            self.assertRegex(said, rf"\n *{operator} +{claimed} +{left} +\n")

    def test_how_it_compares_with_the_float_model(self):
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16", "--float", models.floats(self.file("f.onnx")))
        self.assertRegex(said, r"\n *beside the float model, of drawn inputs +cosine +top-1 +largest difference *\n")
        self.assertRegex(said, r"\n *with the provider +0\.999\d+ +[\d.]+ % +[\d.e-]+ of [\d.e-]+ *\n")
        self.assertRegex(said, r"\n *float model +[\d.]+ \(")
        self.assertRegex(said, r"on one thread: .*the float model")
        self.assertNotIn("Warning", said)

    def test_a_low_cosine_is_a_warning(self):
        """Beside weights of the other sign all outputs are."""
        other = models.floats(self.file("f.onnx"), w=-models.W.astype(np.float32))
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16", "--float", other)
        warning = r"\nWarning: the cosine to the float model is -1 \(-1 in ONNX Runtime alone\)"
        drawn = ": these are drawn inputs, which say little; --input and --accuracy take real ones"
        self.assertRegex(said, warning + drawn + r"\.\n")
        x = self.array("x.npy", np.random.default_rng(1).standard_normal((1, 3, 7, 5)).astype(np.float32))
        said = self.succeeds(self.model, "--input", x, "--float", other)
        self.assertRegex(said, warning + r"\.\n")
        self.assertNotIn("drawn", said)

    def test_options(self):
        """A scale for each image: with one for both the second image, which is small, has codes of few values."""
        small = np.random.default_rng(1).standard_normal((2, 3, 7, 5)).astype(np.float32)
        small[1] *= 1e-3
        x = self.array("x.npy", small)
        self.assertIn("are equal", self.succeeds(self.model, "--input", x))
        self.assertIn("differ by", self.succeeds(self.model, "--input", x, "--option", "activation_scales=per_row"))
        said = self.succeeds(self.model, "--input", x, "--option", "claim=none")
        self.assertIn(": the provider claims nothing.\nIt does not pay: nothing is claimed", said)
        wrong = "--option 'activation_scales': expected per_tensor or per_row, given 'per_rwo' (did you mean 'per_row'?)"
        self.refused(wrong, self.model, "--option", "activation_scales=per_rwo")
        self.refused_like(r"--option 'claim': expected auto, all or none, given 'x=y'", self.model, "--option", "claim=x=y")

    def test_why_there_is_one_scale_for_all_rows(self):
        """The scale is an output of the model, too."""
        model = onnx.load(self.model)
        model.graph.output.append(helper.make_tensor_value_info("s", FLOAT, []))
        onnx.save(model, self.file("s.onnx"))
        per_row = "--option", "activation_scales=per_row"
        self.assertRegex(
            self.succeeds(self.file("s.onnx"), "--shape", "x=1x3x8x8", *per_row),
            r"\n1 DynamicQuantizeLinear: one scale for all rows, as '\.\.\.' is read outside of the graph\.\n",
        )

    def test_advice_for_embeddings(self):
        """Of models that mostly multiply, and have one scale for all rows."""
        advice = "\nFor embeddings try --option activation_scales=per_row: "
        product, rows = models.product(self.file("p.onnx")), self.file("rows.onnx")
        self.assertIn(advice, self.succeeds(product))
        self.assertNotIn(advice, self.succeeds(product, "--option", "activation_scales=per_row"))
        self.assertNotIn(advice, self.succeeds(self.model, "--shape", "x=1x3x8x8"))
        self.succeeds("--per-row", product, rows, options=())
        self.assertNotIn(advice, self.succeeds(rows))

    def test_inputs_are_read(self):
        x = self.array("x.npy", np.random.default_rng(1).standard_normal((1, 3, 7, 5)).astype(np.float32))
        for given in (x, f"x={x}"):
            self.assertIn("are equal", self.succeeds(self.model, "--input", given))

    def test_what_is_left_and_why(self):
        tail = [
            helper.make_node("QuantizeLinear", ["y", "s1"], ["q2"], "again"),
            helper.make_node("DequantizeLinear", ["q2", "s1"], ["d"], "back"),
            helper.make_node("GlobalAveragePool", ["d"], ["e"], "pool"),
        ]
        said = self.succeeds(
            models.dynamic(self.file("t.onnx"), tail=tail, constants={"s1": np.float32(1)}), "--shape", "x=1x3x8x8"
        )
        self.assertIn("\nLeft to ONNX Runtime: 1 DequantizeLinear, as ONNX Runtime has a fast kernel for it.\n", said)
        said = self.succeeds(self.file("t.onnx"), "--shape", "x=1x3x8x8", "--verbose")
        self.assertRegex(said, r"\n *DequantizeLinear +0 +1 +ONNX Runtime has a fast kernel for it *\n")

    def test_outputs_that_are_no_numbers(self):
        """The logarithm of a negative number is NaN, and some of those that are drawn are negative."""
        tail = [helper.make_node("Log", ["x"], ["log"]), helper.make_node("ReduceMean", ["log"], ["mean"], keepdims=0),
                helper.make_node("Mul", ["y", "mean"], ["nan"])]
        model = models.dynamic(self.file("nan.onnx"), tail=tail)
        floats = onnx.load(models.floats(self.file("f.onnx")))
        floats.graph.node.extend(tail)
        floats.graph.output[0].name = "nan"
        onnx.save(floats, self.file("f.onnx"))
        said = self.succeeds(model, "--shape", "x=1x3x16x16", "--float", self.file("f.onnx"))
        self.assertRegex(said, r"\n *with the provider( +no finite numbers){3} *\n")
        self.assertIn(
            "\nThe outputs with and without the provider are not compared: no finite numbers.\n"
            "2048 of 2048 numbers of the outputs with the provider are NaN: --input gives inputs that are not drawn.\n",
            said,
        )
        x = self.array("x.npy", np.random.default_rng(1).uniform(1, 2, (1, 3, 16, 16)).astype(np.float32))
        said = self.succeeds(model, "--input", x, "--float", self.file("f.onnx"))
        self.assertIn("\nThe outputs with and without the provider are equal.\n", said)
        self.assertNotIn("NaN", said)

    def test_names_of_nodes_may_be_anything(self):
        name = "a' (Foo), 'b\\\n\x1b[31mdynquant: leaves all nodes: hi"
        path = models.dynamic(self.file("n.onnx"))
        model = onnx.load(path)
        for node in model.graph.node:
            node.name += name
        onnx.save(model, path)
        said = self.succeeds(path, "--shape", "x=1x3x8x8")
        self.assertIn(f": the provider claims {ONE_CONVOLUTION}.\n", said)
        self.assertNotIn("Foo", said)

    def test_nothing_is_claimed(self):
        """Then nothing is timed, and wrong arguments are wrong all the same."""
        nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["y"])]
        inputs, outputs = [("x", FLOAT, ["n"])], [("y", TensorProto.UINT8, None)]
        model = models.save(self.file("q.onnx"), nodes, inputs, outputs, {"s": np.float32(1)})
        said = self.succeeds(model)
        self.assertIn(": the provider claims nothing.\n", said)
        self.assertTrue(
            said.endswith(
                "\nIt does not pay: nothing is claimed, and the model runs as it does without the provider.\n"
            ),
            said,
        )
        self.assertNotIn("one thread", said)
        self.refused(f"--shape z=1: expected an input of {model}, x, given 'z'", model, "--shape", "z=1")

    def test_a_model_in_qdq_format(self):
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "s"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
            helper.make_node("Neg", ["d"], ["y"]),
        ]
        inputs, outputs = [("x", FLOAT, ["n"])], [("y", FLOAT, None)]
        model = models.save(self.file("q.onnx"), nodes, inputs, outputs, {"s": np.float32(1)})
        self.assertEqual(
            self.succeeds(model),
            "It does not pay: this is a model in QDQ format, as quantize_static makes them, whose layers ONNX Runtime fuses "
            "itself; onnxruntime.quantization.quantize_dynamic makes models that gain.\n",
        )
        self.assertRegex(self.succeeds(model, "--verbose"), r"\n *QuantizeLinear +0 +1 +ONNX Runtime has a fast kernel for it *\n")

    def test_an_unknown_first_extent_is_1(self):
        self.assertIn("are equal", self.succeeds(models.dynamic(self.file("n.onnx"), x=("n", 3, 8, 8))))

    def test_help_and_version(self):
        self.assertIn("--shape NAME=1x3x640x640", command("--help").stdout)
        self.assertEqual(command("--version").stdout.split()[-1], importlib.metadata.version("onnxruntime-ep-dynquant"))


class Models(Command):
    def test_that_cannot_be_read(self):
        none = self.file("none.onnx")
        self.refused(f"{none} cannot be read: No such file or directory", none)
        self.refused(f"{self.folder} cannot be read: Is a directory", self.folder)
        self.refused(f"{none} cannot be read: No such file or directory", self.model, "--float", none)

    def test_that_are_no_models(self):
        text = self.file("text.onnx")
        text.write_text("text")
        said = self.refused_like(rf"{text} is no model that ONNX Runtime [\d.]+ can run: .+", text)
        self.assertEqual(said, "")

    def test_without_quantized_layers(self):
        model = models.floats(self.file("f.onnx"))
        said = self.refused(
            f"{model} has no quantized layers, as a float model, so that the provider changes nothing: "
            "onnxruntime.quantization.quantize_dynamic makes models that gain",
            model,
            "--shape",
            "x=1x3x8x8",
        )
        self.assertEqual(said, "")

    def test_that_do_not_run(self):
        """The kernel is larger than what it is moved over."""
        small = models.dynamic(self.file("small.onnx"), pads=(0, 0, 0, 0))
        expected = r".*small.onnx cannot run on 'x' of shape \[1, 3, 2, 2\]; .+"
        self.refused_like(expected, small, "--shape", "x=1x3x2x2")

    def test_float_models_of_others(self):
        other = models.floats(self.file("f.onnx"), name="image")
        expected = f"{other}: expected the inputs of the quantized model, x, given image"
        self.refused(expected, self.model, "--shape", "x=1x3x8x8", "--float", other)
        other = models.floats(self.file("f.onnx"), w=models.W[:5])
        self.assertRegex(
            self.succeeds(self.model, "--shape", "x=1x3x8x8", "--float", other),
            r"\n *with the provider( +other shapes){3} *\n",
        )


class Inputs(Command):
    def test_shapes_that_are_wrong(self):
        for given, expected in (
            ("x=1x4x8x8", "--shape x=1x4x8x8: expected a shape like [n, 3, h, w], given [1, 4, 8, 8]"),
            ("x=1x3x8", "--shape x=1x3x8: expected a shape like [n, 3, h, w], given [1, 3, 8]"),
            ("x=", "--shape x=: expected a shape like [n, 3, h, w], given []"),
            ("x=1x3xax8", "--shape x=1x3xax8: expected extents like 1x3x640x640, given '1x3xax8'"),
            ("x=1x3x-8x8", "--shape x=1x3x-8x8: expected extents like 1x3x640x640, given '1x3x-8x8'"),
            (
                "x=1x3x99999999x99999999",
                "input 'x': expected at most 2^31 elements, given the shape [1, 3, 99999999, 99999999]",
            ),
            ("x=1x3x99999999999999999999x0", "--shape x=1x3x99999999999999999999x0: expected extents like 1x3x640x640, "
             "given '1x3x99999999999999999999x0'"),
            ("1x3x8x8", "--shape: expected NAME=..., as the model has the inputs x; given '1x3x8x8'"),
            ("X1=1x3x8x8", f"--shape X1=1x3x8x8: expected an input of {self.model}, x, given 'X1'"),
        ):
            with self.subTest(given=given):
                self.refused(expected, self.model, "--shape", given)

    def test_a_near_name_is_suggested(self):
        model = models.dynamic(self.file("image.onnx"), name="image")
        expected = f"--shape imgae=1x3x8x8: expected an input of {model}, image, given 'imgae' (did you mean 'image'?)"
        self.refused(expected, model, "--shape", "imgae=1x3x8x8")

    def test_shapes_that_are_missing(self):
        missing = "the model leaves extents open, of the inputs 'x' [n, 3, h, w]. Give yours, such as --shape x=1x3x224x224"
        self.refused(missing, self.model)
        self.succeeds(self.model, *missing.split()[-2:])

    def test_inputs_given_twice(self):
        x = self.array("x.npy", np.zeros((1, 3, 8, 8), np.float32))
        self.refused(
            f"--input x={x}: input 'x' is given twice", self.model, "--shape", "x=1x3x8x8", "--input", f"x={x}"
        )

    def test_files_that_are_wrong(self):
        self.file("text.npy").write_text("text")
        self.file("empty.npy").write_text("")
        np.savez(self.file("two.npz"), a=1, b=2)
        self.array("objects.npy", np.array([None]))
        self.file("half.npz").write_bytes(self.file("two.npz").read_bytes()[:100])
        self.file("header.npy").write_bytes(b"\x93NUMPY\x01\x00\x04\x00{'a\n")
        for name in ("none.npy", "text.npy", "empty.npy", "two.npz", "half.npz", "header.npy", "objects.npy"):
            with self.subTest(name=name):
                path = self.file(name)
                expected = rf"--input {path}: {path} is no \.np[yz] file that can be read: .+"
                self.refused_like(expected, self.model, "--input", path)
        x = self.array("x.npy", np.zeros((1, 3, 8, 8)))
        self.refused(f"--input {x}: expected tensor(float) for input 'x', given float64", self.model, "--input", x)
        x = self.array("x.npy", np.zeros((1, 4, 8, 8), np.float32))
        self.refused(f"--input {x}: expected a shape like [n, 3, h, w], given [1, 4, 8, 8]", self.model, "--input", x)

    def test_extents_of_0_beside_extents_of_which_there_is_no_array(self):
        self.refused(
            "input 'x': expected at most 2^31 elements, given the shape [0, 3, 9999999999, 9999999999]",
            self.model, "--shape", "x=0x3x9999999999x9999999999",
        )  # fmt: skip

    def test_one_position_behind_a_cache(self):
        """Of a model whose position_ids has no dimension."""
        declared = [types.SimpleNamespace(name=name, shape=shape, type=kind) for name, shape, kind in (
            ("position_ids", [], "tensor(int32)"), ("attention_mask", [], "tensor(int64)"), ("past.0", [1, 2, "past", 4], "tensor(float)"))]  # fmt: skip
        values = inputs.make(declared, {})
        self.assertEqual((values["position_ids"].tolist(), values["position_ids"].dtype), (128, np.int32))
        self.assertEqual((values["attention_mask"].tolist(), values["past.0"].shape), (1, (1, 2, 128, 4)))

    def test_types_that_cannot_be_drawn(self):
        nodes = [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"]),
            helper.make_node("Identity", ["t"], ["same"]),
        ]
        model = models.save(
            self.file("text.onnx"),
            nodes,
            [("x", FLOAT, ["n"]), ("t", TensorProto.STRING, [1])],  # fewer than 2049 floats would be left
            [("y", TensorProto.UINT8, None), ("same", TensorProto.STRING, None)],
        )
        expected = r"input 't' is a tensor\(string\), which cannot be drawn: expected one of tensor\(float\), .+"
        self.refused_like(expected, model)


class Accuracy(Command):
    """--accuracy FOLDER."""

    def setUp(self):
        super().setUp()
        self.floats = models.floats(self.file("f.onnx"))
        self.real = self.file("real")
        self.real.mkdir()
        self.options = "--float", self.floats, "--accuracy", self.real

    def x(self, extent):
        return np.random.default_rng(extent).standard_normal((1, 3, extent, extent)).astype(np.float32)

    def test_all_files_are_compared(self):
        np.save(self.real / "0.npy", self.x(8))
        np.savez(self.real / "1.npz", x=self.x(9))
        (self.real / "notes.txt").write_text("no input")
        said = self.succeeds(self.model, *self.options)
        self.assertRegex(
            said, r"\n *beside the float model, of 2 inputs +mean cosine +least cosine +top-1 +largest difference *\n")
        for peer in ("ONNX Runtime", "with the provider"):
            self.assertRegex(said, rf"\n *{peer} +0\.999\d+ +0\.999\d+ +[\d.]+ % +[\d.e-]+ of [\d.e-]+ *\n")
        self.assertIn("\nThe first of the 2 inputs is timed.\n", said)
        self.assertNotIn("drawn", said)

    def test_one_file(self):
        np.save(self.real / "0.npy", self.x(8))
        said = self.succeeds(self.model, *self.options)
        self.assertRegex(said, r"\n *beside the float model, of 1 input +cosine +top-1 +largest difference *\n")

    def test_files_that_are_wrong(self):
        for name, value, expected in (
            ("0.npy", np.zeros((1, 3, 8, 8)), "expected tensor(float) for input 'x', given float64"),
            ("0.npy", self.x(8)[0], "expected a shape like [n, 3, h, w], given [3, 8, 8]"),
            ("0.npz", {"y": self.x(8)}, "expected the arrays x, given y"),
            ("0.npz", {}, "expected the arrays x, given none"),
        ):
            with self.subTest(expected=expected):
                path = self.real / name
                np.savez(path, **value) if isinstance(value, dict) else np.save(path, value)
                self.refused(f"--accuracy {path}: {expected}", self.model, *self.options)
                path.unlink()
        path = self.real / "0.npz"
        path.write_text("text")
        self.refused_like(rf"--accuracy {path}: {path} is no \.npz file that can be read: .+", self.model, *self.options)

    def test_a_later_file_that_does_not_run(self):
        """The kernel is larger than what it is moved over."""
        small = models.dynamic(self.file("small.onnx"), pads=(0, 0, 0, 0))
        np.save(self.real / "0.npy", self.x(8))
        np.save(self.real / "1.npy", self.x(2))
        self.refused_like(r".*\.onnx cannot run on 'x' of shape \[1, 3, 2, 2\]; .+", small, *self.options)

    def test_several_inputs_want_arrays_by_name(self):
        nodes = [helper.make_node("Add", ["y", "x2"], ["sum"])]
        model = onnx.load(models.dynamic(self.file("two.onnx"), tail=nodes))
        model.graph.input.append(helper.make_tensor_value_info("x2", FLOAT, [1]))
        onnx.save(model, self.file("two.onnx"))
        np.save(self.real / "0.npy", self.x(8))
        expected = f"--accuracy {self.real / '0.npy'}: expected a file .npz with the arrays x, x2, given one array"
        self.refused(expected, self.file("two.onnx"), *self.options)

    def test_folders_that_are_wrong(self):
        expected = f"--accuracy {self.real}: expected files .npz with the arrays x, or .npy of one input, given none"
        self.refused(expected, self.model, *self.options)
        none = self.file("none")
        expected = f"--accuracy {none}: the folder cannot be read: No such file or directory"
        self.refused(expected, self.model, "--float", self.floats, "--accuracy", none)


class Surroundings(Command):
    def test_onnxruntime_is_missing(self):
        expected = (
            "this command needs onnxruntime and rich, 'pip install onnxruntime rich': No module named 'onnxruntime'"
        )
        self.refused(expected, self.model, python_path=models.stub(self.folder, None))

    def test_onnxruntime_is_too_old(self):
        expected = "ONNX Runtime 1.22.1 is too old for onnxruntime-ep-dynquant: expected 1.23.2 or newer"
        self.refused(expected, self.model, python_path=models.stub(self.folder, "1.22.1"))

    def test_a_library_that_does_not_load(self):
        """As where libstdc++ is too old. The library needs no oneTBB, as the test onnxruntime.symbols checks."""
        copy = self.file("onnxruntime_ep_dynquant")
        shutil.copytree(pathlib.Path(package.__file__).parent, copy)
        (copy / "libdynquant_onnxruntime.so").write_bytes(b"\x7fELF")
        self.refused_like(r".*libdynquant_onnxruntime\.so.*", self.model, python_path=str(self.folder))

    def test_output_that_is_lost_is_a_failure(self):
        """Also without a buffer, and with the argparse of newer versions of Python, which ignores errors of stdout."""
        self.file("sitecustomize.py").write_text(
            "import argparse, contextlib\n"
            "def print_message(self, message, file=None, print_message=argparse.ArgumentParser._print_message):\n"
            "    with contextlib.suppress(OSError):\n"
            "        print_message(self, message, file)\n"
            "argparse.ArgumentParser._print_message = print_message\n"
        )
        product = models.product(self.file("p.onnx"))
        for arguments in (
            ["--help"],
            ["--version"],
            [self.model, "--shape", "x=1x3x8x8", *QUICK],
            ["--per-row", product, self.file("out.onnx")],
        ):
            for unbuffered in ("", "1"):
                with self.subTest(arguments=arguments, unbuffered=unbuffered), open("/dev/full", "w") as full:
                    self.refused(
                        "cannot write all output to stdout: No space left on device",
                        *arguments,
                        options=(),
                        stdout=full,
                        python_path=str(self.folder),
                        PYTHONUNBUFFERED=unbuffered,
                    )

    def test_metadata_are_missing(self):
        """As of a copy of the package's folder. Only the version needs them."""
        self.file("sitecustomize.py").write_text(
            "import importlib.metadata\n"
            "def version(name):\n"
            "    raise importlib.metadata.PackageNotFoundError(name)\n"
            "importlib.metadata.version = version\n"
        )
        path = str(self.folder)
        expected = "the version is unknown: onnxruntime-ep-dynquant has no metadata here, which pip installs"
        self.assertEqual(self.refused(expected, "--version", python_path=path), "")
        self.assertEqual(command("--help", python_path=path).returncode, 0)

    def test_control_characters_do_not_reach_the_terminal(self):
        model = models.dynamic(self.file("m.onnx"), name="a\x1b[31m\n")
        name = r"a\x1b[31m\x0a"
        self.refused(
            f"the model leaves extents open, of the inputs '{name}' [n, 3, h, w]. Give yours, such as "
            f"--shape '{name}=1x3x224x224'",
            model,
        )

    def test_streams_may_be_closed(self):
        shell = f"{sys.executable} -m onnxruntime_ep_dynquant {self.model} --shape x=1x3x8x8 {' '.join(QUICK)}"
        without_stderr = subprocess.run(f"{shell} 2>&-", shell=True, stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(without_stderr.returncode, 0)
        self.assertIn(f": the provider claims {ONE_CONVOLUTION}.\n", without_stderr.stdout)
        without_stdout = subprocess.run(f"{shell} >&-", shell=True, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(without_stdout.returncode, 1)
        self.assertIn("cannot write all output to stdout: Bad file descriptor\n", without_stdout.stderr)

    def test_a_bar_on_a_terminal_until_it_is_interrupted(self):
        ours, theirs = pty.openpty()
        long = "--rounds", "1000", "--milliseconds", "1000"
        running = subprocess.Popen(
            [sys.executable, "-m", "onnxruntime_ep_dynquant", self.model, "--shape", "x=1x3x8x8", *long],
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "150"},
        )
        os.close(theirs)
        self.addCleanup(os.close, ours)
        self.addCleanup(running.kill)
        drawn = ""
        while "with the provider, one thread" not in drawn:  # ends with an error where the program ends
            drawn += os.read(ours, 4096).decode()
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), 130)

    def test_sessions_have_the_threads_and_the_provider_that_they_are_asked_for(self):
        for provider in (False, True):
            one = sessions.session(str(self.model), provider=provider, threads=3)
            self.assertEqual(one.get_session_options().intra_op_num_threads, 3)
            self.assertEqual(package.get_ep_name() in one.get_providers(), provider)

    def test_wrong_usage(self):
        for arguments, expected in (
            ((), "one of the arguments MODEL.onnx --per-row --scale-channels is required"),
            (("m", "--per-row", "m", "o"), "argument --per-row: not allowed with argument MODEL.onnx"),
            (("--per-row", "m", "o", "m"), "argument MODEL.onnx: not allowed with argument --per-row"),
            (("--per-row", "m"), "argument --per-row: expected 2 arguments"),
            (("--scale-channels", "m"), "argument --scale-channels: expected 2 arguments"),
            (("--scale-channels", "m", "o", "--per-row", "m", "o"), "argument --per-row: not allowed with argument --scale-channels"),
            (("--scale-channels", "m", "o", "--shape", "x=1"), "argument --shape: not allowed with argument --scale-channels"),
            (("--per-row", "m", "o", "--shape", "x=1"), "argument --shape: not allowed with argument --per-row"),
            (("--per-row", "m", "o", "--rounds", "2"), "argument --rounds: not allowed with argument --per-row"),
            (("--per-row", "m", "o", "--verbose"), "argument --verbose: not allowed with argument --per-row"),
            (("--per-row", "m", "o", "--option", "a=b"), "argument --option: not allowed with argument --per-row"),
            (("m", "--option", "threads"), "argument --option: expected KEY=VALUE, given 'threads'"),
            (("m", "--option", "a=b", "--option", "a=c"), "argument --option: 'a' is given twice"),
            (("m", "--accuracy", "f"), "argument --accuracy: expected --float FLOAT.onnx, with which outputs are compared"),
            (("m", "--accuracy", "f", "--float", "f", "--shape", "x=1"), "argument --shape: not allowed with argument --accuracy"),
            (("m", "--accuracy", "f", "--float", "f", "--input", "x"), "argument --input: not allowed with argument --accuracy"),
            (("m", "--rounds", "0"), "argument --rounds: expected a number from 1 to 999999999, given '0'"),
            (("m", "--rounds", "9" * 400), f"argument --rounds: expected a number from 1 to 999999999, given '{'9' * 400}'"),
            (("m", "--milliseconds", "x"), "argument --milliseconds: expected a number from 1 to 999999999, given 'x'"),
            (("m", "--shap", "x=1", "--nothing"), "unrecognized arguments: --nothing"),
        ):
            done = command(*arguments)
            self.assertTrue(done.stderr.endswith(f"error: {expected}\n"), done.stderr)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
