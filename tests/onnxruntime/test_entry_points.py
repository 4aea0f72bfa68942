"""The library's two entry points register the documented operators when a C program calls them by name."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from models import LIBRARY, TensorProto, helper, model

PROGRAM, RUNTIME = os.environ["ENTRY_POINTS"], os.environ["ONNXRUNTIME"]


def quantizing_model(domain):
    """A model of int32, which ONNX Runtime's own QuantizeLinear refuses, so the result shows whose operator runs."""
    node = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], "q", domain=domain)
    return model([node], {"x": (TensorProto.INT32, [4])}, {"y": (TensorProto.UINT8, [4])}, 13,
                 {"scale": np.array(2, np.float32), "zero": np.array(10, np.uint8)})


class EntryPoints(unittest.TestCase):
    def run_program(self, entry_point, domain, standard=None):
        environment = {**os.environ, **({"DYNQUANT_ORT_STANDARD": standard} if standard else {})}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(quantizing_model(domain))
            done = subprocess.run([PROGRAM, RUNTIME, LIBRARY, entry_point, path], env=environment, text=True,
                                  capture_output=True)
        self.assertIn(done.returncode, (0, 1))
        return done.stdout.strip()

    def test_domains_of_their_own_always(self):
        for entry_point in ("RegisterCustomOps", "RegisterCustomOpsAltName"):
            self.assertEqual(self.run_program(entry_point, "dynquant"), "8 12 14 255")  # -1.5 and 2.5 are ties

    def test_standard_operators_by_the_alternative_name(self):
        self.assertEqual(self.run_program("RegisterCustomOpsAltName", ""), "8 12 14 255")

    def test_standard_operators_by_the_environment(self):
        self.assertEqual(self.run_program("RegisterCustomOps", "", standard="1"), "8 12 14 255")
        for not_asked_for in (None, "0"):
            self.assertIn("QuantizeLinear", self.run_program("RegisterCustomOps", "", standard=not_asked_for))


if __name__ == "__main__":
    unittest.main(verbosity=2)
