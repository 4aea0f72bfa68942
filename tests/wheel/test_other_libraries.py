"""The provider in a process with another package's oneTBB, which its library neither takes nor disturbs. Needs PyPI's
tbb and numba."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import models

ORDERS = (
    ("tbb", "provider"),
    ("provider", "tbb", "provider"),
    ("numba", "provider", "numba"),
    ("provider", "numba", "provider"),
    ("tbb", "numba", "provider", "numba"),
)


class OtherLibraries(unittest.TestCase):
    def test_every_order(self):
        program = pathlib.Path(__file__).with_name("load_in_order.py")
        with tempfile.TemporaryDirectory() as folder:
            model = models.dynamic(pathlib.Path(folder, "m.onnx"))
            for order in ORDERS:
                with self.subTest(order=order):
                    done = subprocess.run([sys.executable, program, model, *order], capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
