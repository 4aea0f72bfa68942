"""Integer products by weights that are split in two halves give ONNX's exact sums in ONNX Runtime."""

import unittest
from unittest import mock

import numpy
from dqmodel_support import graph_model
from measure.models import exact, runtime
from onnx import checker

X_TYPES = numpy.uint8, numpy.int8


def product(x, w, x_zero_point=None, w_zero_point=None, w_is_input=False):
    """A model with two MatMulInteger by w, and the sum of both."""
    zero_points = {"xz": x_zero_point, "wz": w_zero_point}
    names = ", ".join(name if value is not None else '""' for name, value in zero_points.items())
    constants = {"w": w} | {name: value for name, value in zero_points.items() if value is not None}
    inputs = {"x": x, "w": w} if w_is_input else {"x": x}
    ports = ", ".join(f"{value.dtype}{list(value.shape)} {name}" for name, value in inputs.items())
    of_sums = f"int32{[len(x), w.shape[1]]}"
    nodes = f"[product] a = MatMulInteger(x, w, {names}) b = MatMulInteger(x, w) y = Add(a, b)"
    return graph_model(f"({ports}) => ({of_sums} a, {of_sums} y) {{ {nodes} }}", constants)


class Exact(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(exact, "_saturates", return_value=True)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, x, w, x_zero_point=None, w_zero_point=None):
        model = product(x, w, x_zero_point, w_zero_point)
        checker.check_model(exact.exact(model))
        wide = [v.astype(numpy.int64) if v is not None else 0 for v in (x, w, x_zero_point, w_zero_point)]
        first = (wide[0] - wide[2]) @ (wide[1] - wide[3])
        for run in (runtime.session, runtime.node_by_node):
            values = run(model, {"x": x})
            numpy.testing.assert_array_equal(values["a"], first)
            numpy.testing.assert_array_equal(values["y"], first + wide[0] @ wide[1])

    def test_the_largest_magnitudes(self):
        for weight in (127, -128):
            self.check(numpy.full((2, 8), 255, numpy.uint8), numpy.full((8, 3), weight, numpy.int8))
            self.check(numpy.full((2, 8), -128, numpy.int8), numpy.full((8, 3), weight, numpy.int8))

    def test_zero_points(self):
        w = numpy.arange(-128, 128, 2, numpy.int8).reshape(32, 4)
        for dtype in X_TYPES:
            limits = numpy.iinfo(dtype)
            x = numpy.linspace(limits.min, limits.max, 96).astype(dtype).reshape(3, 32)
            zero_point = numpy.array(limits.max, dtype)
            for w_zero_point in (None, numpy.array(-128, numpy.int8), numpy.array([5, -7, 127, 0], numpy.int8)):
                self.check(x, w, None, w_zero_point)
                self.check(x, w, zero_point, w_zero_point)

    def test_weights_that_an_input_replaces_are_left_alone(self):
        model = product(numpy.ones((1, 2), numpy.uint8), numpy.ones((2, 2), numpy.int8), w_is_input=True)
        self.assertEqual(exact.exact(model), model)


if __name__ == "__main__":
    unittest.main()
