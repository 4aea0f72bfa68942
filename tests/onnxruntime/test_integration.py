"""dynquant's operators replace the standard ones when the session asks for it."""
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import numpy as np
from models import LIBRARY, TensorProto, helper, in_domain, model, normal, onnxruntime, run, session

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8


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
    def test_empty_is_not_set(self):
        os.environ["DYNQUANT_ORT_STANDARD"] = ""
        onnxruntime.SessionOptions().register_custom_ops_library(LIBRARY)


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
