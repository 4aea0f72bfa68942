"""The command's --per-row IN.onnx OUT.onnx. What the file computes is tests/onnxruntime_ep/test_per_row_file.py's to test."""

import os
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto
from onnxruntime_ep_dynquant import sessions

import models
from cases import ENDINGS, Command, setUpModule  # noqa: F401 -- which unittest calls
from models import command


class PerRow(Command):
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
        self.assertIn(": the provider claims 1 of 1 quantized layer (1 product).\n", self.succeeds(self.out))

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
        self.assertIn(": the provider claims 1 of 1 quantized layer (1 product).\n", self.succeeds(self.out))
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


if __name__ == "__main__":
    unittest.main()
