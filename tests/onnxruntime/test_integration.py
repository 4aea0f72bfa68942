"""dynquant's operators replace the standard ones when the session asks for it, and wrong models get clear errors."""
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import numpy as np
from models import LIBRARY, OPSETS, TensorProto, helper, in_domain, model, normal, onnxruntime, run, session

FLOAT, UINT8, INT8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


def quantize(**attributes):
    return helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], "q", **attributes)


def quantizing_model(opset=13, scale=(), domain="", **attributes):
    nodes = in_domain([quantize(**attributes)], domain)
    constants = {"scale": np.full(scale, 0.1, np.float32), "zero": np.zeros(scale, np.uint8)}
    return model(nodes, {"x": (FLOAT, [2, 4])}, {"y": (UINT8, None)}, opset, constants)


class Replacement(unittest.TestCase):
    """Verbose lines show whether dynquant computes."""

    def lines(self, standard):
        program = ("import numpy as np, test_integration as t\n"
                   "t.run(t.quantizing_model(), {'x': np.ones((2, 4), np.float32)}, library=True,"
                   f" standard={standard})")
        done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True, text=True,
                              capture_output=True, env={**os.environ, "DYNQUANT_VERBOSE": "1"})
        return [line for line in done.stdout.splitlines() if line.startswith("dynquant_verbose")]

    def test_standard_operators_only_when_asked_for(self):
        self.assertEqual(self.lines(standard=False), [])
        (line,) = self.lines(standard=True)
        self.assertIn(",quantize,", line)
        self.assertIn(",q,2x4,", line)


class Preparations(unittest.TestCase):
    """Verbose lines show for which shapes a node prepares, and when."""

    def prepared_for(self, counts):
        """Runs x with each of these numbers of rows; the numbers of rows for which the node prepared."""
        program = ("import numpy as np, test_integration as t\n"
                   "nodes = t.in_domain([t.quantize()], 'dynquant')\n"
                   "constants = {'scale': np.array(1, np.float32), 'zero': np.array(0, np.uint8)}\n"
                   "m = t.model(nodes, {'x': (t.FLOAT, ['n', 4])}, {'y': (t.UINT8, None)}, 13, constants)\n"
                   "s = t.session(m, library=True)\n"
                   f"for n in {counts}:\n"
                   "    (y,) = s.run(None, {'x': np.full((n, 4), n, np.float32)})\n"
                   "    np.testing.assert_array_equal(y, np.full((n, 4), n, np.uint8))\n")
        done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True, text=True,
                              capture_output=True, env={**os.environ, "DYNQUANT_VERBOSE": "2"})
        lines = [line.split(",") for line in done.stdout.splitlines() if line.startswith("dynquant_verbose")]
        return [int(line[-2].split("x")[0]) for line in lines if line[2] == "create"]

    def test_shapes_that_take_turns_are_prepared_once_each(self):
        twenty = [*range(1, 21)]
        self.assertEqual(self.prepared_for(3 * twenty), twenty)

    def test_one_shape_more_takes_the_place_of_the_oldest(self):
        kept = [*range(1, 33)]
        self.assertEqual(self.prepared_for([*kept, *kept, 33, *kept[1:], 33, 1, *kept[2:], 33, 2]), [*kept, 33, 1, 2])


class Environment(unittest.TestCase):
    def test_other_values_are_refused(self):
        for value in ("true", "on", "2", " 1"):
            os.environ["DYNQUANT_ORT_STANDARD"] = value
            with self.subTest(value=value), self.assertRaises(Exception) as caught:
                onnxruntime.SessionOptions().register_custom_ops_library(LIBRARY)
            self.assertIn(f"DYNQUANT_ORT_STANDARD: expected 0 or 1, given '{value}'", str(caught.exception))

    def test_empty_is_not_set(self):
        os.environ["DYNQUANT_ORT_STANDARD"] = ""
        onnxruntime.SessionOptions().register_custom_ops_library(LIBRARY)


class Errors(unittest.TestCase):
    """INVALID_ARGUMENT with a message of dynquant: where, what is expected, what is given."""

    def refused(self, model_bytes, *parts, feed=None):
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) as caught:
            run(model_bytes, feed or {"x": np.ones((2, 4), np.float32)}, library=True, standard=True)
        for part in ("node 'q' (QuantizeLinear",) + parts:
            self.assertIn(part, str(caught.exception))

    def test_axis(self):
        for domain in ("", "dynquant"):
            self.refused(quantizing_model(scale=4, axis=2, domain=domain), "axis", "given 2")

    def test_shape_of_scale(self):
        self.refused(quantizing_model(scale=3, axis=1), "y_scale", "3")

    def test_block_size(self):
        self.refused(quantizing_model(opset=OPSETS[-1], scale=(2, 4), block_size=-1), "block_size", "-1")
        self.refused(quantizing_model(opset=OPSETS[-1], scale=(2, 3), block_size=2), "y_scale")

    def test_type_of_attribute(self):
        self.refused(quantizing_model(scale=4, axis="1"), "'axis'", "INT", "STRING")
        self.refused(quantizing_model(scale=4, axis=[1]), "'axis'", "INT", "INTS")

    def test_output_dtype_beside_zero_point(self):
        self.refused(quantizing_model(opset=OPSETS[-1], output_dtype=INT8), "output_dtype", "uint8", "int8")

    def test_shapes_that_come_with_the_tensors(self):
        constants = {"scale": np.full(4, 0.1, np.float32), "zero": np.zeros(4, np.uint8)}
        m = model([quantize()], {"x": (FLOAT, ["a", "b"])}, {"y": (UINT8, None)}, 13, constants)
        s = session(m, library=True, standard=True)
        s.run(None, {"x": np.ones((2, 4), np.float32)})
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) as caught:
            s.run(None, {"x": np.ones((4, 5), np.float32)})
        self.assertIn("y_scale", str(caught.exception))
        s.run(None, {"x": np.ones((1, 4), np.float32)})


class Times(unittest.TestCase):
    """Times are printed, not asserted."""

    def fastest(self, s, x):
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            s.run(None, {"x": x})
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def test_print(self):
        x = normal(512, 1024)
        node = helper.make_node
        for what, scale, attributes in (("per tensor", (), {}), ("channels last", 1024, {"axis": -1})):
            constants = {"scale": np.full(scale, 0.1, np.float32), "zero": np.zeros(scale, np.uint8)}
            for op, source, type_in, type_out in (("QuantizeLinear", x, FLOAT, UINT8),
                                                  ("DequantizeLinear", x.view(np.uint8)[:, :1024].copy(), UINT8, FLOAT)):
                nodes = [node(op, ["x", "scale", "zero"], ["y"], "q", **attributes)]
                m = model(nodes, {"x": (type_in, [512, 1024])}, {"y": (type_out, [512, 1024])}, 13, constants)
                theirs = self.fastest(session(m, threads=1), source)
                ours = self.fastest(session(m, library=True, standard=True, threads=1), source)
                print(f"  {op}, {what}, one thread: ONNX Runtime {theirs * 1e6:.0f} us, dynquant {ours * 1e6:.0f} us")


if __name__ == "__main__":
    unittest.main(verbosity=2)
