"""Builds float and pre-quantized models, and runs dqmodel on files in a temporary folder."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper
from measure.models import runtime

DQMODEL = os.environ.get("DQMODEL")  # not where the tools are not built: tests of graphs alone import this, too
CODIFY = ("codify", "float.onnx", "--calibration", "x.npy", "-o", "q.onnx")
RUN = ("run", "m.onnx", "--input", "x.npy")


def graph_model(text, constants=None, opset=13):
    """A model of a graph in ONNX's textual syntax. Constants are arrays or tensors by name."""
    graph = onnx.parser.parse_graph(f"graph {text}")
    for name, value in (constants or {}).items():
        tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value), name)
        graph.initializer.append(tensor)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 18 else 8)


def float_model():
    """y = x W + B, then Relu: 2 to 2."""
    constants = {"w": numpy.float32([[1.27, -0.5], [0.25, 0.004]]), "b": numpy.float32([1, -1])}
    return graph_model("(float[n, 2] x) => (float[n, 2] y) { [fc] s = Gemm(x, w, b) [relu] y = Relu(s) }", constants)


def network():
    """Convolution, MaxPool, matrices and each activation: 2x6x6 to 3. Output channels differ in magnitude."""
    random = numpy.random.default_rng(7)

    def normal(*shape, channels=0):
        by_channel = [extent if axis == channels else 1 for axis, extent in enumerate(shape)]
        return (random.normal(size=shape) * 2.0 ** random.integers(-3, 1, by_channel)).astype(numpy.float32)

    return graph_model(
        """(float[n, 2, 6, 6] x) => (float[n, 3] y) {
            s1 = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
            r = Relu(s1)
            p, "" = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
            f = Flatten(p)
            m = MatMul(f, w2)
            s2 = Add(b2, m)
            t = Tanh(s2)
            s3 = Gemm <transB = 1> (t, w3, b3)
            y = Sigmoid(s3)
        }""",
        {
            "w1": normal(4, 2, 3, 3),
            "b1": normal(4),
            "w2": normal(36, 5, channels=1) / 8,
            "b2": normal(1, 5, channels=1),
            "w3": normal(3, 5),
            "b3": numpy.float32(0.25),
        },
    )


def rescaled_model(*multipliers):
    """y = the rounded product of x W and a multiplier, where W is 1."""
    products = " ".join(f"p{i + 1} = Mul(p{i}, m{i})" for i in range(len(multipliers)))
    return graph_model(
        f"""(uint8[4, 1] x) => (int8[4, 1] y) {{
            [fc] sums = MatMulInteger(x, w)
            p0 = Cast <to = {TensorProto.FLOAT}> (sums)
            {products}
            y = QuantizeLinear(p{len(multipliers)}, one, zero)
        }}""",
        {
            "w": numpy.int8([[1]]),
            "one": numpy.float32(1),
            "zero": numpy.int8(0),
            **{f"m{i}": numpy.float32(value) for i, value in enumerate(multipliers)},
        },
    )


def onnxruntime_results(model, inputs):
    return list(runtime.session(model, inputs).values())


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        onnx.save(float_model(), self.folder / "float.onnx")
        self.save("x", [[-2.54, 1], [1, 1]])

    def save(self, name, values, dtype=numpy.float32):
        numpy.save(self.folder / f"{name}.npy", numpy.array(values, dtype))

    def save_model(self, *of_graph, **options):
        """m.onnx is the graph_model() of these arguments."""
        onnx.save(graph_model(*of_graph, **options), self.folder / "m.onnx")

    def run_program(self, *arguments, stdout=subprocess.PIPE, **options):
        return subprocess.run(
            [DQMODEL, *arguments], cwd=self.folder, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, **options
        )

    def prints(self, *arguments):
        ran = self.run_program(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def refuses(self, message, *arguments, status=1):
        ran = self.run_program(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (status, f"dqmodel: {message}\n"))

    def load(self, name):
        return numpy.load(self.folder / f"{name}.npy")

    def codify(self, *arguments):
        return self.prints(*CODIFY, *arguments)
