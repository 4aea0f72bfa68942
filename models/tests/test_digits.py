"""Networks trained on handwritten digits and codified by dqmodel are standard ONNX, keep their accuracy, give ONNX
Runtime's bits in dynquant, and differ by at most one step when computed by integers alone."""

import os
import pathlib
import unittest

from prequantized.accuracy import outcome, trained, variants
from prequantized.digits import split
from prequantized.dqmodel import DqModel

DQMODEL = DqModel(pathlib.Path(os.environ["DQMODEL"]))
LARGEST_DROP = 0.5  # percentage points of accuracy


class Digits(unittest.TestCase):
    def test_each_network_and_variant(self):
        parts = split()
        for of in trained(parts):
            for variant in variants(of.activation):
                with self.subTest(network=of.network, activation=of.activation, variant=variant):
                    o = outcome(of, variant, parts, DQMODEL)  # onnx.checker and ONNX Runtime take it
                    self.assertGreater(o.float_accuracy, 0.95)
                    self.assertLessEqual(o.drop, LARGEST_DROP)
                    self.assertEqual((o.differing, o.differing_unfused), (0, 0))
                    if variant.activation == "int8":  # in float16 ONNX Runtime omits roundings
                        self.assertEqual(o.differing_session, 0)
                    self.assertLessEqual(o.integer.largest, 1)


if __name__ == "__main__":
    unittest.main()
