"""Sessions whose creation runs out of memory in the provider: each of its allocations fails in turn. Either the session is refused, or it is right, or ONNX
Runtime, which only logs an error where a provider fails to claim nodes, computes all of them; and what the provider has made is freed.

DYNQUANT_TEST_SAMPLE=N lets every Nth fail."""
import ctypes
import os
import unittest

import numpy as np
from layers import model
from onnx import TensorProto as T
from onnx import helper
from provider import session
from test_provider import CONVOLUTION, X
from test_rows import products

NEW = ctypes.CDLL(os.environ["LD_PRELOAD"])
SAMPLE = int(os.environ.get("DYNQUANT_TEST_SAMPLE", "7"))
NEW.fail_after.argtypes, NEW.alive.restype = [ctypes.c_long], ctypes.c_long


def nbits():
    random = np.random.default_rng(3)
    weights, scales = random.integers(0, 256, (48, 2, 16), np.uint8), random.uniform(0.1, 1, (48, 2)).astype(np.float32)
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=64, N=48, bits=4, block_size=32)
    return model([node], {"x": (T.FLOAT, ["n", 64])}, {"y": (T.FLOAT, None)}, 16, {"w": weights, "s": scales})


class FailingAllocations(unittest.TestCase):
    def check(self, m, inputs, **options):
        self.assertTrue(NEW.watch(b"libdynquant_onnxruntime.so"))
        alone = session(m, provider=False).run(None, inputs)
        expected = session(m, options=options).run(None, inputs)
        alive = NEW.alive()
        refused = 0
        for after in range(0, 100_000, SAMPLE):
            NEW.fail_after(after)
            try:
                s = session(m, options=options)
            except Exception as e:  # of ONNX Runtime, which tells the provider's status
                self.assertRegex(str(e), r"bad_alloc|out of memory|memory", after)
                refused += 1
            else:
                has_failed = NEW.failed()
                NEW.fail_after(-1)
                for given, *either in zip(s.run(None, inputs), expected, alone, strict=True):
                    self.assertIn(given.tobytes(), [of.tobytes() for of in either])
                del s
                if not has_failed:
                    break
            NEW.fail_after(-1)
            self.assertEqual(NEW.alive(), alive, f"after allocation {after} failed")
        self.assertGreater(refused, 20 // SAMPLE)

    def test_products(self):
        m, _ = products(["b", "t", 96], 64, 33)
        x = np.random.default_rng(1).standard_normal((2, 3, 96), np.float32)
        for options in ({}, {"activation_scales": "per_row"}):
            with self.subTest(options=options):
                self.check(m, {"x": x}, claim="all", **options)

    def test_a_convolution(self):
        self.check(CONVOLUTION, {"x": X}, claim="all")

    def test_weights_of_four_bits(self):
        self.check(nbits(), {"x": np.random.default_rng(2).standard_normal((3, 64), np.float32)}, claim="all")


if __name__ == "__main__":
    unittest.main()
