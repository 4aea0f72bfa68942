"""Networks trained on handwritten digits and codified by dqmodel are standard ONNX, keep their accuracy, give ONNX
Runtime's bits in dynquant, and differ by at most one step when computed by integers alone."""

import os
import pathlib
import unittest

from measure.models.digits import split
from measure.models.dqmodel import DqModel
from measure.suites.digits import outcome, trained, variants

DQMODEL = DqModel(pathlib.Path(os.environ["DQMODEL"]))
LARGEST_DROP = 0.5  # percentage points of accuracy


class Digits(unittest.TestCase):
    def test_each_network_and_variant(self):
        parts = split()
        for of in trained(parts):
            for variant in variants(of.activation):
                with self.subTest(network=of.network, activation=of.activation, variant=variant):
                    facts = outcome(of, variant, parts, DQMODEL).facts  # onnx.checker and ONNX Runtime take it
                    before, after = facts["accuracies"]
                    self.assertGreater(before, 0.95)
                    self.assertLessEqual(100 * (before - after), LARGEST_DROP)
                    fused, unfused, session = facts["differing"]
                    self.assertEqual((fused, unfused), (0, 0))
                    if variant[1] == "int8":  # in float16 ONNX Runtime omits roundings
                        self.assertEqual(session, 0)
                    self.assertLessEqual(facts["integers"][2], 1)


if __name__ == "__main__":
    unittest.main()
