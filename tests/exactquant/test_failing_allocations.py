"""Calls that run out of memory: each allocation of the module fails in turn. The call raises MemoryError, nothing of it stays, and the next one is right."""

import ctypes
import os
import unittest

import exactquant
import numpy

NEW = ctypes.CDLL(os.environ["LD_PRELOAD"])
NEW.fail_after.argtypes, NEW.alive.restype = [ctypes.c_long], ctypes.c_long
X = numpy.random.default_rng(64).standard_normal((64, 256), numpy.float32)
COLUMNS = numpy.linspace(0.1, 1, 256, dtype=numpy.float32)
BLOCKS = exactquant.gguf.quantize(X, "Q4_0")

CALLS = {
    "quantize": lambda: exactquant.quantize(X, COLUMNS, dtype="int8", axis=1),
    "dequantize": lambda: exactquant.dequantize(numpy.ones((64, 256), numpy.int8), 0.5),
    "quantize_dynamic": lambda: exactquant.quantize_dynamic(X, "uint8")[0],
    "mxfp4": lambda: exactquant.mxfp4(X)[0],
    "int8_per_token": lambda: exactquant.int8_per_token(X)[0],
    "gguf": lambda: exactquant.gguf.quantize(X, "Q8_0"),
    "from gguf": lambda: exactquant.gguf.dequantize(BLOCKS, "Q4_0"),
}


class FailingAllocations(unittest.TestCase):
    def test_each_call(self):
        self.assertTrue(NEW.watch(b"exactquant/_core"))
        for name, call in CALLS.items():
            expected = call()
            alive = NEW.alive()
            for after in range(10_000):
                NEW.fail_after(after)
                try:
                    result = call()
                except MemoryError:
                    NEW.fail_after(-1)
                    self.assertEqual(NEW.alive(), alive, f"{name}: after allocation {after} failed")
                    continue
                has_failed = NEW.failed()
                NEW.fail_after(-1)
                numpy.testing.assert_array_equal(result, expected)
                self.assertFalse(has_failed, f"{name}: allocation {after} failed, and the call did not")
                break
            numpy.testing.assert_array_equal(call(), expected)


if __name__ == "__main__":
    unittest.main()
