"""The command python -m onnxruntime_ep_dynquant: what it says of models, and every wrong argument."""

import importlib.metadata
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np
import onnx
import onnxruntime
import onnxruntime_ep_dynquant as package
from onnx import TensorProto, helper
from onnxruntime_ep_dynquant import inputs, sessions

import models
from models import FLOAT, command

QUICK = "--rounds", "2", "--milliseconds", "1"


ENDINGS = {signal.SIGHUP: -1, signal.SIGINT: 130, signal.SIGQUIT: -3, signal.SIGTERM: -15}  # the status of the command


def setUpModule():
    sessions.register()
    for ending in ENDINGS:  # Children inherit what is ignored, as under nohup.
        signal.signal(ending, signal.SIG_DFL)


class Command(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.model = models.dynamic(self.folder / "m.onnx")

    def file(self, name):
        return self.folder / name

    def array(self, name, value):
        np.save(self.file(name), value)
        return self.file(name)

    def succeeds(self, *arguments, options=QUICK):
        done = command(*arguments, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def refused_like(self, pattern, *arguments, options=QUICK, **settings):
        """pattern: of all that stderr gets. settings: of command(). Returns what stdout gets."""
        done = command(*arguments, *options, **settings)
        self.assertRegex(done.stderr, rf"\Aonnxruntime_ep_dynquant: {pattern}\n\Z")
        self.assertEqual(done.returncode, 1)
        return done.stdout

    def refused(self, expected, *arguments, **settings):
        return self.refused_like(re.escape(expected), *arguments, **settings)


class Says(Command):
    def test_what_is_claimed_times_and_whether_it_pays(self):
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16")
        self.assertIn(f"ONNX Runtime {onnxruntime.__version__}: the provider claims 1 layer.\n", said)
        for operator, claimed, left in (
            ("DynamicQuantizeLinear", 1, "0"),
            ("ConvInteger", 1, "0"),
            ("Cast", 1, "-"),
            ("Mul", 2, "-"),
        ):
            self.assertRegex(said, rf"\n *{operator} +{claimed} +{left} +\n")
        self.assertRegex(said, r"\n *ONNX Runtime +[\d.e-]+ \([\d.e-]+ to [\d.e-]+\)")
        self.assertRegex(said, r"\n *with the provider +[\d.e-]+ \([\d.e-]+ to [\d.e-]+\)")
        self.assertIn("\nThe outputs with and without the provider are equal.\n", said)
        self.assertRegex(
            said,
            r"\nIt (pays|pays on .+ only|does not pay): with the provider the model runs [\d.]+ times as fast as without it "
            r"on one thread.*\.\n$",
        )

    def test_how_it_compares_with_the_float_model(self):
        said = self.succeeds(self.model, "--shape", "x=1x3x16x16", "--float", models.floats(self.file("f.onnx")))
        self.assertRegex(said, r"\n *with the provider .* 0\.999\d+ +[\d.e-]+ of [\d.e-]+ *\n")
        self.assertRegex(said, r"\n *float model +[\d.e-]+ \(")
        self.assertRegex(said, r" and [\d.]+ times as fast as the float model on one thread")

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
        self.assertRegex(said, r"\n *with the provider .* no finite numbers +no finite numbers *\n")
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
        self.assertIn(": the provider claims 1 layer.\n", said)
        self.assertNotIn("Foo", said)

    def test_nothing_is_claimed(self):
        """Then nothing is timed, and wrong arguments are wrong all the same."""
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "s"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
            helper.make_node("Neg", ["d"], ["y"]),
        ]
        model = models.save(
            self.file("q.onnx"), nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, None)], {"s": np.float32(1)}
        )
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
            f"{model} has no quantized layers, and nothing that the provider could claim. "
            "onnxruntime.quantization.quantize_dynamic makes such models",
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
            r"\n *with the provider .* other shapes +other shapes *\n",
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
        self.refused("input 'x' has the shape [n, 3, h, w]: give its extents, --shape x=1x3xNxN", self.model)

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
                expected = rf"--input {path}: {path} is no \.npy file that can be read: .+"
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


class PerRow(Command):
    """--per-row IN.onnx OUT.onnx. What the file computes is tests/onnxruntime_ep/test_per_row_file.py's to test."""

    def setUp(self):
        super().setUp()
        self.product = models.product(self.file("p.onnx"))
        self.out = self.file("out.onnx")

    def rewritten(self, source, target):
        return self.succeeds("--per-row", source, target, options=())

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def refused_without_a_trace(self, pattern, *arguments, **settings):
        before = self.files()
        self.assertEqual(self.refused_like(pattern, "--per-row", *arguments, options=(), **settings), "")
        self.assertEqual(self.files(), before)

    def test_what_is_rewritten(self):
        """The rows of the second file are what the first file computes of each row alone."""
        said = self.rewritten(self.product, self.out)
        self.assertEqual(said, f"{self.out}: 1 of 1 quantized layers have a scale for each row of x.\n")
        x = np.random.default_rng(1).standard_normal((5, 24)).astype(np.float32)
        x *= np.geomspace(0.1, 10, 5, dtype=np.float32)[:, None]
        run = lambda path, provider, x: sessions.session(str(path), provider=provider).run(None, {"x": x})[0]
        expected = np.concatenate([run(self.product, True, x[i : i + 1]) for i in range(5)])
        self.assertFalse(np.array_equal(run(self.product, True, x), expected))
        for provider in (True, False):
            np.testing.assert_array_equal(run(self.out, provider, x), expected)
        self.assertIn(": the provider claims 1 layer.\n", self.succeeds(self.out))

    def test_what_is_left_and_why(self):
        both, convolution = onnx.load(self.product), onnx.compose.add_prefix(onnx.load(self.model), "conv_").graph
        for field in ("node", "input", "output", "initializer"):
            getattr(both.graph, field).extend(getattr(convolution, field))
        onnx.save(both, self.file("both.onnx"))
        self.assertEqual(
            self.rewritten(self.file("both.onnx"), self.out),
            f"{self.out}: 1 of 2 quantized layers have a scale for each row of x. "
            "Left: 1 ConvInteger: a convolution has no rows.\n",
        )

    def test_nothing_to_rewrite(self):
        self.refused_without_a_trace(
            f"{self.model}: nothing to rewrite: 1 ConvInteger: a convolution has no rows", self.model, self.out
        )

    def test_models_that_cannot_be_read(self):
        text, empty, cut = map(self.file, ("text.onnx", "empty.onnx", "cut.onnx"))
        text.write_text("text")
        empty.write_text("")
        model = onnx.load(self.product)
        del model.graph.node[0].output[1:]
        onnx.save(model, cut)
        for path, expected in (
            (self.file("none.onnx"), f"{self.file('none.onnx')} cannot be read: No such file or directory"),
            (self.folder, f"{self.folder} cannot be read: Is a directory"),
            ("", "a file without a name cannot be read: No such file or directory"),
            (text, f"{text} is no ONNX model: .+"),
            (empty, f"{empty} is no ONNX model: it has no graph"),
            (cut, f"{cut} is no ONNX model: an operator lacks inputs, outputs or attributes"),
        ):
            with self.subTest(path=path):
                self.refused_without_a_trace(expected, path, self.out)

    def test_files_that_cannot_be_written(self):
        self.file("link.onnx").symlink_to(self.product)
        for path in (self.product, self.file("link.onnx")):
            self.refused_without_a_trace(f"{path} is read: expected another file to write", self.product, path)
        self.file("itself.onnx").symlink_to("itself.onnx")
        self.file("file").write_text("")
        for path, reason in (
            (self.file("itself.onnx"), "Too many levels of symbolic links"),
            (self.file("file") / "out.onnx", "File exists"),
            (self.file("file") / "folder/out.onnx", "Not a directory"),
            (self.file("o" * 256), "File name too long"),
            (self.folder, "Is a directory"),
            ("/dev/full", "No space left on device"),
            ("", "Is a directory"),
        ):
            self.refused_without_a_trace(
                f"{path or 'a file without a name'} cannot be written: {reason}", self.product, path
            )
        self.assertEqual(os.readlink(self.file("itself.onnx")), "itself.onnx")

    def test_files_that_are_replaced(self):
        """A file keeps its mode, and a link leads where it led."""
        self.file("old.onnx").write_text("old")
        self.file("old.onnx").chmod(0o604)
        self.out.symlink_to("old.onnx")
        names = sorted(os.listdir(self.folder))
        self.rewritten(self.product, self.out)
        self.assertEqual(sorted(os.listdir(self.folder)), names)
        self.assertEqual(self.file("old.onnx").stat().st_mode & 0o777, 0o604)
        self.assertEqual(os.readlink(self.out), "old.onnx")
        self.assertEqual([f.name for f in onnx.load(self.out).functions], ["DynamicQuantizeLinear", "MatMulInteger"])

    def test_a_pipe_gets_the_bytes(self):
        self.rewritten(self.product, self.out)
        arguments = [sys.executable, "-m", "onnxruntime_ep_dynquant", "--per-row", self.product, "/dev/stdout"]
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        said = b"/dev/stdout: 1 of 1 quantized layers have a scale for each row of x.\n"
        self.assertEqual(done.stdout, self.out.read_bytes() + said)

    def test_folders_are_made_and_names_may_be_as_long_as_names_can_be(self):
        path = self.file("new") / "folder" / ("o" * 255)
        self.rewritten(self.product, path)
        self.assertEqual(os.listdir(path.parent), [path.name])
        self.assertEqual(onnx.load(path).functions[0].domain, "dynquant")

    def test_a_signal_leaves_no_temporary_file(self):
        """It comes between the writing of a temporary file and its renaming."""
        for ending, status in ENDINGS.items():
            with self.subTest(ending=ending):
                self.file("sitecustomize.py").write_text(
                    "import os\n"
                    "def replace(*names, rename=os.replace):\n"
                    f"    os.kill(os.getpid(), {ending:d})\n"
                    "    rename(*names)\n"
                    "os.replace = replace\n"
                )
                done = command("--per-row", self.product, self.out, python_path=str(self.folder))
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertEqual([name for name in os.listdir(self.folder) if "dynquant" in name], [])
                self.assertEqual(onnx.load(self.out).functions[0].domain, "dynquant")
                self.out.unlink()

    def test_weights_in_another_file(self):
        """Which both models read."""
        external = {"save_as_external_data": True, "location": "w.data", "size_threshold": 0}
        model = models.product(self.file("e.onnx"), **external)
        before = self.file("w.data").read_bytes()
        self.rewritten(model, self.out)
        self.assertEqual(self.file("w.data").read_bytes(), before)
        self.assertIn(": the provider claims 1 layer.\n", self.succeeds(self.out))
        data = self.file("w.data")
        self.refused_without_a_trace(f"{data} is read: expected another file to write", model, data)
        self.file("other").mkdir()
        other = self.file("other") / "out.onnx"
        self.refused_without_a_trace(
            f"{other}: expected a file in the folder of {model}, as both read weights from {data}", model, other
        )

    def test_names_of_files_that_are_no_text(self):
        """In the model, where weights are in another file, and in the command."""
        self.file("out.onnx").write_bytes(b"")  # else nothing is compared with the weights' file
        for place in (b"w\xffyz", b"w\0yz"):
            model = onnx.load(self.product)
            weights = model.graph.initializer[0]
            weights.data_location = TensorProto.EXTERNAL
            weights.external_data.add(key="location", value="wxyz")
            self.file("e.onnx").write_bytes(model.SerializeToString().replace(b"wxyz", place))
            self.rewritten(self.file("e.onnx"), self.out)
        path = self.file("o\udcff.onnx")
        done = command("--per-row", self.product, path, PYTHONIOENCODING="utf-8:strict")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.endswith("/o\\udcff.onnx: 1 of 1 quantized layers have a scale for each row of x.\n"), done.stdout)

    def test_onnx_is_missing(self):
        self.file("onnx.py").write_text("raise ModuleNotFoundError(\"No module named 'onnx'\")\n")
        expected = "--per-row needs onnx, 'pip install onnx': No module named 'onnx'"
        self.refused_without_a_trace(expected, self.product, self.out, python_path=str(self.folder))


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
            f"input '{name}' has the shape [n, 3, h, w]: give its extents, --shape {name}=1x3xNxN", model
        )

    def test_streams_may_be_closed(self):
        shell = f"{sys.executable} -m onnxruntime_ep_dynquant {self.model} --shape x=1x3x8x8 {' '.join(QUICK)}"
        without_stderr = subprocess.run(f"{shell} 2>&-", shell=True, stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(without_stderr.returncode, 0)
        self.assertIn(": the provider claims 1 layer.\n", without_stderr.stdout)
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
            ((), "one of the arguments MODEL.onnx --per-row is required"),
            (("m", "--per-row", "m", "o"), "argument --per-row: not allowed with argument MODEL.onnx"),
            (("--per-row", "m", "o", "m"), "argument MODEL.onnx: not allowed with argument --per-row"),
            (("--per-row", "m"), "argument --per-row: expected 2 arguments"),
            (("--per-row", "m", "o", "--shape", "x=1"), "argument --shape: not allowed with argument --per-row"),
            (("--per-row", "m", "o", "--rounds", "2"), "argument --rounds: not allowed with argument --per-row"),
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
