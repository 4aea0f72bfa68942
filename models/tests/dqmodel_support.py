"""Builds float and pre-quantized models, and runs dqmodel on files in a temporary folder."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from measure.models import runtime

DQMODEL = os.environ["DQMODEL"]
CODIFY = ("codify", "float.onnx", "--calibration", "x.npy", "-o", "q.onnx")


def graph_model(nodes, inputs, outputs, constants=None, opset=13):
    """A model. Ports are (name, type, shape), or a name alone; constants are arrays or tensors by name."""
    ports = [
        [onnx.ValueInfoProto(name=p) if isinstance(p, str) else helper.make_tensor_value_info(*p) for p in side]
        for side in (inputs, outputs)
    ]
    initializers = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value), name)
        for name, value in (constants or {}).items()
    ]
    graph = helper.make_graph(nodes, "graph", *ports, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 18 else 8)


def float_model():
    """y = x W + B, then Relu: 2 to 2."""
    return graph_model(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["s"], name="fc"),
            helper.make_node("Relu", ["s"], ["y"], name="relu"),
        ],
        [("x", TensorProto.FLOAT, ["n", 2])],
        [("y", TensorProto.FLOAT, ["n", 2])],
        {
            "w": numpy.array([[1.27, -0.5], [0.25, 0.004]], numpy.float32),
            "b": numpy.array([1, -1], numpy.float32),
        },
    )


def network():
    """Convolution, MaxPool, matrices and each activation: 2x6x6 to 3. Output channels differ in magnitude."""
    random = numpy.random.default_rng(7)

    def normal(*shape, channels=0):
        by_channel = [extent if axis == channels else 1 for axis, extent in enumerate(shape)]
        return (random.normal(size=shape) * 2.0 ** random.integers(-3, 1, by_channel)).astype(numpy.float32)

    return graph_model(
        [
            helper.make_node("Conv", ["x", "w1", "b1"], ["s1"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["s1"], ["r"]),
            helper.make_node("MaxPool", ["r"], ["p", ""], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Flatten", ["p"], ["f"]),
            helper.make_node("MatMul", ["f", "w2"], ["m"]),
            helper.make_node("Add", ["b2", "m"], ["s2"]),
            helper.make_node("Tanh", ["s2"], ["t"]),
            helper.make_node("Gemm", ["t", "w3", "b3"], ["s3"], transB=1),
            helper.make_node("Sigmoid", ["s3"], ["y"]),
        ],
        [("x", TensorProto.FLOAT, ["n", 2, 6, 6])],
        [("y", TensorProto.FLOAT, ["n", 3])],
        {
            "w1": normal(4, 2, 3, 3),
            "b1": normal(4),
            "w2": normal(36, 5, channels=1) / 8,
            "b2": normal(1, 5, channels=1),
            "w3": normal(3, 5),
            "b3": numpy.float32(0.25),
        },
    )


def rescaled_model(*multipliers, out=TensorProto.INT8):
    """y = the rounded product of x W and a multiplier, where W is 1."""
    values = ["f"] + [f"p{i}" for i in range(len(multipliers))]
    multiplications = [
        helper.make_node("Mul", [values[i], f"m{i}"], [values[i + 1]]) for i in range(len(multipliers))
    ]
    return graph_model(
        [
            helper.make_node("MatMulInteger", ["x", "w"], ["sums"], name="fc"),
            helper.make_node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
            *multiplications,
            helper.make_node("QuantizeLinear", [values[-1], "one", "zero"], ["y"]),
        ],
        [("x", TensorProto.UINT8, [4, 1])],
        [("y", out, [4, 1])],
        {
            "w": numpy.array([[1]], numpy.int8),
            "one": numpy.float32(1),
            "zero": numpy.array(0, helper.tensor_dtype_to_np_dtype(out)),
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
