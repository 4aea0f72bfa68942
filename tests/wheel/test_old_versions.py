"""An ONNX Runtime in which the provider claims nothing, 1.23.0 or 1.23.1, or one that is too old: what is installed."""

import pathlib
import tempfile
import unittest

import onnxruntime

import models

VERSION = onnxruntime.__version__


class OldVersions(unittest.TestCase):
    def test_the_command_says_why_nothing_is_claimed(self):
        self.assertLess(tuple(map(int, VERSION.split("."))), (1, 23, 2))
        if VERSION.startswith("1.23."):
            expected = f"nothing is claimed in ONNX Runtime {VERSION}: expected ONNX Runtime 1.23.2 or newer, given an older one"
        else:
            expected = f"ONNX Runtime {VERSION} is too old for onnxruntime-ep-dynquant: expected 1.23.2 or newer"
        with tempfile.TemporaryDirectory() as folder:
            done = models.command(models.dynamic(pathlib.Path(folder, "m.onnx")), "--shape", "x=1x3x8x8")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"onnxruntime_ep_dynquant: {expected}\n"))


if __name__ == "__main__":
    unittest.main()
