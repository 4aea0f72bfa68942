"""The parts of the command that run no session: reading the provider's log, comparing outputs, the sentence."""

import unittest
from collections import Counter

import numpy as np
from onnxruntime_ep_dynquant.measure import ALONE, FLOAT, PROVIDER, Timed, agreement
from onnxruntime_ep_dynquant.refusal import Refusal
from onnxruntime_ep_dynquant.report import verdict
from onnxruntime_ep_dynquant.sessions import read_claims


class Log(unittest.TestCase):
    def test_nodes_are_counted_by_operator(self):
        found = read_claims(
            [
                ("claims", "'a' (DynamicQuantizeLinear), 'b' (ConvInteger), 'it's (odd), c' (Mul)"),
                ("claims", "'' (QuantizeLinear)"),
                ("leaves", "'m1' (MatMulInteger): the weights are no constant"),
                ("leaves", "'m2' (MatMulInteger): the weights are no constant"),
                ("leaves", "'q' (QuantizeLinear): ONNX Runtime may fuse it with 'conv1' (Conv)"),
                ("leaves", "'r' (QuantizeLinear): ONNX Runtime may fuse it with 'conv2' (Conv)"),
            ]
        )
        self.assertEqual(found.layers_and_nodes, [["DynamicQuantizeLinear", "ConvInteger", "Mul"], ["QuantizeLinear"]])
        self.assertEqual(
            found.left,
            Counter(
                {
                    ("MatMulInteger", "the weights are no constant"): 2,
                    ("QuantizeLinear", "ONNX Runtime may fuse it with Conv"): 2,
                }
            ),
        )


class Agreements(unittest.TestCase):
    def test_the_worst_output_counts(self):
        a = agreement([np.float32([3, 4]), np.float32([1, 0])], [np.float32([3, 4]), np.float32([0.8, 0.6])])
        self.assertAlmostEqual(a.cosine, 0.8, places=6)
        self.assertAlmostEqual(a.difference, 0.6, places=6)
        self.assertEqual(a.largest, 1)

    def test_zeros(self):
        zeros, ones = np.zeros(3, np.float32), np.ones(3, np.float32)
        self.assertEqual(agreement([zeros], [zeros]).cosine, 1)
        self.assertEqual(agreement([zeros], [ones]).cosine, 0)

    def test_unsigned_numbers_do_not_wrap(self):
        self.assertEqual(agreement([np.uint8([3])], [np.uint8([4])]).difference, 1)

    def test_a_nan_of_one_side_is_a_difference(self):
        nan = np.float32([1, np.nan])
        self.assertEqual(agreement([nan], [nan]).difference, 0)
        for given in ([nan, np.float32([1, 2])], [np.float32([1, 2]), nan]):
            self.assertTrue(np.isnan(agreement([nan, nan], given).difference))
            self.assertTrue(np.isnan(agreement([nan, nan], given).cosine))

    def test_other_shapes_are_refused(self):
        with self.assertRaisesRegex(
            Refusal, r"the outputs have the shapes \[\(3,\)\], and those of the float model \[\(2,\)\]"
        ):
            agreement([np.zeros(2)], [np.zeros(3)])


class Sentence(unittest.TestCase):
    def check(self, expected, **seconds):
        timed = Timed({int(threads.removeprefix("t")): times for threads, times in seconds.items()})
        self.assertEqual(verdict(timed), expected)

    def test_it_pays(self):
        self.check(
            "It pays: with the provider the model runs 8.0 times as fast as without it on one thread; "
            "1.25 times as fast as without it on 4 threads.",
            t1={ALONE: [8, 16, 9], PROVIDER: [1, 2, 1]},
            t4={ALONE: [5], PROVIDER: [4]},
        )

    def test_it_does_not_pay(self):
        self.check(
            "It does not pay: with the provider the model runs 1.03 times as fast as without it on one thread.",
            t1={ALONE: [1.03], PROVIDER: [1]},
        )

    def test_the_float_model_may_be_faster(self):
        self.check(
            "It does not pay: with the provider the model runs 8.0 times as fast as without it and 0.50 times as fast as "
            "the float model on one thread.",
            t1={ALONE: [8], PROVIDER: [1], FLOAT: [0.5]},
        )

    def test_it_pays_on_some(self):
        self.check(
            "It pays on one thread only: with the provider the model runs 2.0 times as fast as without it on one thread; "
            "0.80 times as fast as without it on 2 threads.",
            t1={ALONE: [2], PROVIDER: [1]},
            t2={ALONE: [0.8], PROVIDER: [1]},
        )

    def test_onnxruntime_alone_cannot_run_it(self):
        self.check(
            "It pays: with the provider the model runs in 2 (1 to 3) ms on one thread.",
            t1={PROVIDER: [0.002, 0.001, 0.003]},
        )


if __name__ == "__main__":
    unittest.main()
