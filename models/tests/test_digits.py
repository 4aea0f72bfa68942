"""Networks trained on handwritten digits, codified by dqmodel: standard ONNX, as accurate as before, in dynquant the bits
of ONNX Runtime, and by integers alone at most one step away."""

import os
import pathlib
import unittest

from prequantized.accuracy import outcome, trained, variants
from prequantized.digits import split
from prequantized.dqmodel import DqModel

DQMODEL = DqModel(pathlib.Path(os.environ["DQMODEL"]))
LARGEST_DROP = 0.5  # points


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
                    if variant.activation == "int8":  # in float16 ONNX Runtime leaves roundings out
                        self.assertEqual(o.differing_session, 0)
                    self.assertLessEqual(o.integer.largest, 1)


if __name__ == "__main__":
    unittest.main()
