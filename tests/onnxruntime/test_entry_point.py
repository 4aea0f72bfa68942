"""The library's entry point registers the documented operators when a C program calls it by name."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from models import LIBRARY, TensorProto, model, quantize

PROGRAM, RUNTIME = os.environ["ENTRY_POINT"], os.environ["ONNXRUNTIME"]


def quantizing_model(domain):
    """A model of int32, which ONNX Runtime's own QuantizeLinear refuses, so the result shows whose operator runs."""
    return model([quantize(domain=domain)], {"x": (TensorProto.INT32, [4])}, {"y": (TensorProto.UINT8, [4])}, 13,
                 {"scale": np.array(2, np.float32), "zero": np.array(10, np.uint8)})


class EntryPoint(unittest.TestCase):
    def run_program(self, domain):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(quantizing_model(domain))
            done = subprocess.run([PROGRAM, RUNTIME, LIBRARY, "RegisterCustomOps", path], text=True, capture_output=True)
        self.assertIn(done.returncode, (0, 1))
        return done.stdout.strip()

    def test_domains_of_their_own(self):
        self.assertEqual(self.run_program("dynquant"), "8 12 14 255")  # -1.5 and 2.5 are ties

    def test_standard_operators_stay_onnx_runtime_s(self):
        self.assertIn("QuantizeLinear", self.run_program(""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
