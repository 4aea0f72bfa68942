"""dqmodel codify, run as a program, writes the right models and refuses others."""

import os
import pathlib
import resource
import subprocess
import unittest

import numpy
import onnx
from dqmodel_support import CODIFY, Program, float_model, graph_model, network, onnxruntime_results


class Codify(Program):
    def test_a_model_passes_the_checker_and_is_the_same_each_time(self):
        self.assertEqual(self.codify(), "q.onnx: 9 nodes for the 2 of float.onnx, scales from 2 samples\n")
        onnx.checker.check_model(self.folder / "q.onnx", full_check=True)
        first = (self.folder / "q.onnx").read_bytes()
        self.codify()
        self.assertEqual((self.folder / "q.onnx").read_bytes(), first)

    def test_samples_must_be_finite(self):
        self.save("x", [[1, numpy.nan]])
        self.refuses("x.npy: expected finite numbers, given nan at element 1", *CODIFY)
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
        onnx.save(model, self.folder / "m.onnx")
        self.refuses(
            "m.onnx: operators: expected Add, Conv, Flatten, Gemm, MatMul, MaxPool, Relu, Reshape, Sigmoid, Tanh or Transpose, "
            "given Softmax of node 'relu'",
            *("codify", "m.onnx", "--calibration", "x.npy", "-o", "q.onnx"),
        )

    def equals_onnxruntime(self, inputs):
        """The first result of q.onnx on these inputs."""
        model = onnx.load(self.folder / "q.onnx")
        onnx.checker.check_model(model, full_check=True)
        for name, values in inputs.items():
            self.save(name, values)
        arguments = [argument for name in inputs for argument in ("--input", f"{name}={name}.npy")]
        for options in ((), ("--no-fuse",), ("--threads", "1")):
            self.prints("run", "q.onnx", *arguments, *options)
            for output, expected in zip(model.graph.output, onnxruntime_results(model, inputs)):
                given = self.load(output.name)
                self.assertEqual((given.dtype, given.shape), (expected.dtype, expected.shape))
                self.assertEqual(given.tobytes(), expected.tobytes())
        return self.load(model.graph.output[0].name)

    def test_every_option_gives_what_onnxruntime_gives(self):
        onnx.save(network(), self.folder / "float.onnx")
        random = numpy.random.default_rng(1)
        x = random.normal(size=(50, 2, 6, 6)).astype(numpy.float32)
        [y] = onnxruntime_results(network(), {"x": x})
        errors = {}
        for per_channel in ((), ("--per-channel",)):
            for rescale in ("1mul", "2mul"):
                self.save("x", x)
                self.codify("--rescale", rescale, *per_channel)
                errors[rescale, per_channel] = numpy.abs(self.equals_onnxruntime({"x": x}) - y).mean()
        for rescale in ("1mul", "2mul"):
            self.assertLess(errors[rescale, ("--per-channel",)], errors[rescale, ()])
            self.assertLess(errors[rescale, ()], 0.05)

    def test_float16_is_as_onnxruntime_computes_it_node_by_node(self):
        # In one session ONNX Runtime removes the casts to float16 and back. Results then differ only by rounding to 8
        # bits.
        onnx.save(network(), self.folder / "float.onnx")
        x = numpy.random.default_rng(1).normal(size=(50, 2, 6, 6)).astype(numpy.float32)
        self.save("x", x)
        self.codify("--activation", "fp16", "--per-channel")
        model = onnx.load(self.folder / "q.onnx")
        self.assertEqual([node.op_type for node in model.graph.node].count("Cast"), 3 + 2 * 2)
        self.prints("run", "q.onnx", "--input", "x.npy", "--compare", "reference")
        [y] = onnxruntime_results(network(), {"x": x})
        self.assertLess(numpy.abs(self.load("y") - y).max(), 0.05)

    def test_large_biases(self):
        model = float_model()
        for bias in (1e5, -3e9):
            model.graph.initializer[1].CopyFrom(
                onnx.numpy_helper.from_array(numpy.array([bias, -bias], numpy.float32), "b")
            )
            onnx.save(model, self.folder / "float.onnx")
            x = numpy.array([[-2.54, 1], [1, 1]], numpy.float32) * numpy.float32(1e-3)
            self.save("x", x)
            self.assertIn("sums with their biases would go beyond int32", self.codify())
            y = self.equals_onnxruntime({"x": x})
            expected = numpy.maximum([bias, -bias], 0)
            self.assertLess(numpy.abs(y - expected).max(), abs(bias) * 1e-6)

    def test_an_input_that_is_an_output(self):
        model = float_model()
        model.graph.output.append(model.graph.input[0])
        onnx.save(model, self.folder / "float.onnx")
        self.codify()
        self.prints("run", "q.onnx", "--input", "x.npy", "--output", "results")
        self.assertEqual((self.folder / "results" / "x.npy").read_bytes(), (self.folder / "x.npy").read_bytes())

    def test_a_window_that_is_not_that_of_the_weights(self):
        self.save_model(
            "(float[1, 2, 9] x) => (float[] y) { [c] y = Conv <kernel_shape = [2]> (x, w) }",
            {"w": numpy.ones((3, 2, 3), numpy.float32)},
        )
        self.save("x", numpy.ones((1, 2, 9)))
        self.refuses(
            "m.onnx: node 'c' (Conv): attribute 'kernel_shape': expected 3, as in the weights' shape, given 2",
            *("codify", "m.onnx", "--calibration", "x.npy", "-o", "q.onnx"),
        )

    def test_the_file_may_come_after_the_samples(self):
        self.assertEqual(
            self.prints("codify", "--calibration", "x.npy", "float.onnx", "-o", "q.onnx"),
            "q.onnx: 9 nodes for the 2 of float.onnx, scales from 2 samples\n",
        )


class Output(Program):
    """The file that codify writes."""

    def setUp(self):
        super().setUp()
        self.codify()
        self.path = self.folder / "q.onnx"
        self.model = self.path.read_bytes()
        self.files = sorted(self.folder.iterdir())

    def test_a_link_stays_and_its_file_is_replaced(self):
        self.path.unlink()
        self.path.symlink_to("folder/link.onnx")  # relative to its own folder, and a link again
        (self.folder / "folder").mkdir()
        (self.folder / "folder/link.onnx").symlink_to("../real.onnx")
        for text in (None, "old"):  # the last file is not there, and is
            if text:
                (self.folder / "real.onnx").write_text(text)
            self.codify()
            self.assertTrue(self.path.is_symlink())
            self.assertTrue((self.folder / "folder/link.onnx").is_symlink())
            self.assertEqual((self.folder / "real.onnx").read_bytes(), self.model)

    def test_links_without_an_end_are_refused(self):
        self.path.unlink()
        self.path.symlink_to("q.onnx")
        self.refuses("cannot write q.onnx: Too many levels of symbolic links", *CODIFY)
        self.assertTrue(self.path.is_symlink())

    def test_a_pipe_is_written_to_and_stays(self):
        self.path.unlink()
        os.mkfifo(self.path)
        reader = subprocess.Popen(["cat", self.path], stdout=subprocess.PIPE)
        self.addCleanup(reader.communicate)
        self.addCleanup(reader.kill)
        self.codify()
        self.assertEqual(reader.communicate(timeout=60)[0], self.model)
        self.assertTrue(self.path.is_fifo())

    def test_a_device_stays_and_says_why_it_is_full(self):
        self.path.unlink()
        self.path.symlink_to("/dev/full")
        self.refuses("cannot write q.onnx: No space left on device", *CODIFY)
        self.assertEqual(os.readlink(self.path), "/dev/full")
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())

    def test_a_pipe_without_a_reader_is_an_error(self):
        self.path.unlink()
        os.mkfifo(self.path)
        reader = subprocess.Popen(["head", "-c", "1", self.path], stdout=subprocess.PIPE)
        self.addCleanup(reader.communicate)
        weights = numpy.ones((2, 200_000), numpy.float32)  # more than a pipe holds
        model = graph_model("(float[n, 2] x) => (float[n, columns] y) { y = MatMul(x, w) }", {"w": weights})
        onnx.save(model, self.folder / "float.onnx")
        self.refuses("cannot write q.onnx: Broken pipe", *CODIFY)

    def test_a_link_to_an_open_file_is_refused(self):
        with open(self.folder / "log", "a+") as log:
            log.write("precious")
            log.flush()
            ran = self.run_program(*CODIFY[:-1], "/dev/stdout", stdout=log)
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stderr, "dqmodel: cannot write /dev/stdout: it is an open file: expected a name of that file\n")
        self.assertEqual((self.folder / "log").read_text(), "precious")

    def test_names_that_no_file_can_have(self):
        for name, reason in (("n" * 256, "File name too long"), ("new/", "expected a file's name"),
                             ("", "expected a file's name"), ("x.npy/q.onnx", "Not a directory")):
            ran = self.run_program(*CODIFY[:-1], name)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(reason, ran.stderr)
        self.assertEqual(sorted(self.folder.iterdir()), self.files)

    def test_a_folder_is_refused(self):
        self.path.unlink()
        self.path.mkdir()
        self.refuses("cannot write q.onnx: it is a folder", *CODIFY)

    def test_a_full_disk_leaves_the_old_file(self):
        self.path.write_text("old")
        ran = self.run_program(
            *CODIFY,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
            restore_signals=False,  # Python ignores SIGXFSZ, and so the program gets the error
        )
        self.assertEqual((ran.returncode, ran.stderr), (1, "dqmodel: cannot write q.onnx: File too large\n"))
        self.assertEqual(self.path.read_text(), "old")
        self.assertEqual(sorted(self.folder.iterdir()), self.files)

    def test_files_of_other_names_stay(self):
        other = self.folder / "q.onnx.part"
        other.write_text("the user's")
        self.codify()
        self.assertEqual(other.read_text(), "the user's")
        self.assertEqual(sorted(self.folder.iterdir()), sorted([*self.files, other]))

    def test_modes_are_those_of_other_programs(self):
        mask = os.umask(0o027)
        self.addCleanup(os.umask, mask)
        self.path.unlink()
        self.codify()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o640)
        self.path.chmod(0o604)
        self.codify()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o604)


if __name__ == "__main__":
    unittest.main()
