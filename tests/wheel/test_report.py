"""The parts of the command without a model: reading the provider's log, the turns, comparing outputs, the sentence."""

import types
import unittest
import warnings
from collections import Counter
from unittest import mock

import numpy as np
from onnxruntime_ep_dynquant import inputs, measure
from onnxruntime_ep_dynquant.measure import ALONE, FLOAT, PROVIDER, Timed, agreement
from onnxruntime_ep_dynquant.refusal import Refusal
from onnxruntime_ep_dynquant.report import verdict
from onnxruntime_ep_dynquant.sessions import read_claims


class Log(unittest.TestCase):
    def test_nodes_are_counted_by_operator(self):
        found = read_claims(
            [
                ("claims", r"'a' (DynamicQuantizeLinear), 'b' (ConvInteger), 'it\'s (odd), \'c\\' (Mul)"),
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

    def test_numbers_that_are_not_finite_on_both_sides_are_left_out(self):
        inf, nan = np.inf, np.nan
        a = agreement([np.float32([3, nan, inf, -inf, 4])], [np.float32([4, nan, inf, -inf, 3])])
        self.assertAlmostEqual(a.cosine, 24 / 25)
        self.assertEqual((a.difference, a.largest), (1, 4))
        a = agreement([np.float32([3, nan])], [np.float32([3, 5])])
        self.assertTrue(np.isnan(a.difference))
        self.assertEqual(a.largest, 3)
        self.assertEqual(agreement([np.float32([1, inf])], [np.float32([1, -inf])]).difference, inf)
        for values in ([nan, nan], [inf], [-inf, nan]):
            self.assertEqual(agreement([np.float32(values)], [np.float32(values)]), "no finite numbers")

    def test_nans_are_counted(self):
        outputs = [np.float32([1, np.nan, np.inf]), np.int8([1, 2]), ["text"], np.float16([[np.nan], [np.nan]])]
        self.assertEqual(measure.nans(outputs), (3, 7))

    def test_infinities_warn_of_nothing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            agreement([np.float32([np.inf, np.nan])], [np.float32([1, 2])])

    def test_what_cannot_be_compared_is_said(self):
        self.assertEqual(agreement([np.zeros(2)], [np.zeros(3)]), "other shapes")
        for outputs in ([], [["a", "b"]], [np.array(["text"])], [np.zeros((0, 3))]):
            self.assertEqual(agreement(outputs, outputs), "no numbers")


class FakeSession:
    def __init__(self, outputs):
        self.outputs = outputs

    def get_inputs(self):
        return [types.SimpleNamespace(name="x")]

    def get_outputs(self):
        return [types.SimpleNamespace(name=f"y{i}") for i in range(len(self.outputs))]

    def run(self, names, inputs):
        return self.outputs


class Turns(unittest.TestCase):
    def compare(self, **outputs):
        """Compares fake sessions on one thread and on three. outputs: by "alone", "provider" and, perhaps, "floats"; an
        exception is raised where a session is made. Returns what was timed, and path, provider and threads of each."""
        made = []

        def session(path, *, provider, threads):
            made.append((path, provider, threads))
            result = outputs["floats" if path == "f" else "provider" if provider else "alone"]
            if isinstance(result, Exception):
                raise result
            return FakeSession(result)

        with (
            mock.patch.object(measure, "session", session),
            mock.patch.object(measure, "numbers_of_threads", lambda: [1, 3]),
        ):
            steps = []
            timed = measure.compare(
                "m", "f" if "floats" in outputs else None, {"x": np.zeros(1)}, 2, 1e-6, lambda *step: steps.append(step)
            )
        shares = [share for _, share in steps]
        self.assertEqual(shares, sorted(shares))
        return timed, made

    def test_each_peer_has_its_sessions_and_turns(self):
        timed, made = self.compare(alone=[np.ones(2)], provider=[np.ones(2)], floats=[np.ones(2)])
        self.assertEqual(
            made, [(path, by, threads) for threads in (1, 3) for path, by in (("m", False), ("m", True), ("f", False))]
        )
        for threads in (1, 3):
            self.assertEqual({peer: len(s) for peer, s in timed.seconds[threads].items()}, {ALONE: 2, PROVIDER: 2, FLOAT: 2})
        self.assertEqual(timed.difference.difference, 0)
        self.assertEqual(timed.nans, (0, 2))
        self.assertEqual(timed.agreement.keys(), {ALONE, PROVIDER})

    def test_onnxruntime_alone_may_fail(self):
        timed, _ = self.compare(alone=RuntimeError("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : no\nkernel"), provider=[np.ones(2)])
        self.assertEqual(timed.failure, "no kernel")
        self.assertEqual(list(timed.seconds[3]), [PROVIDER])
        self.assertIsNone(timed.difference)

    def test_others_may_not(self):
        with self.assertRaisesRegex(Refusal, r"^m cannot run on 'x' of shape \[1\]; --input gives others: no$"):
            self.compare(alone=[np.ones(2)], provider=RuntimeError("no"))
        with self.assertRaisesRegex(Refusal, r"^f: expected as many outputs as the quantized model has, 1, given 2$"):
            self.compare(alone=[np.ones(2)], provider=[np.ones(2)], floats=[np.ones(2), np.ones(2)])

    def test_outputs_may_have_other_shapes(self):
        timed, _ = self.compare(alone=[np.ones(2)], provider=[np.ones(3)], floats=[np.ones(2)])
        self.assertEqual(timed.difference, "other shapes")
        self.assertEqual(timed.agreement[PROVIDER], "other shapes")
        self.assertEqual(timed.agreement[ALONE].difference, 0)


class Drawn(unittest.TestCase):
    def test_the_same_each_time(self):
        one = types.SimpleNamespace(name="x", shape=[4], type="tensor(float)")
        first, second = (inputs.make([one], {})["x"] for _ in range(2))
        self.assertEqual(first.tolist(), second.tolist())
        self.assertEqual(len(set(first.tolist())), 4)

    def test_an_unknown_rank_takes_any_shape(self):
        one = types.SimpleNamespace(name="x", shape=[], type="tensor(float)")
        given = inputs.read("m", [one], ["x=2x3"], [])
        self.assertEqual(inputs.make([one], given)["x"].shape, (2, 3))


class Sentence(unittest.TestCase):
    def check(self, expected, **seconds):
        timed = Timed({int(threads.removeprefix("t")): times for threads, times in seconds.items()})
        self.assertEqual(verdict(timed), expected)

    def test_it_pays(self):
        self.check(
            "It pays: with the provider the model runs 9.0 times as fast as without it on one thread; "
            "1.25 times as fast as without it on 4 threads.",
            t1={ALONE: [8, 16, 9], PROVIDER: [1, 2, 1]},
            t4={ALONE: [5], PROVIDER: [4]},
        )

    def test_it_is_of_the_medians_that_the_table_shows(self):
        """The table has 7.36 and 6.55 ms. The ratios of the rounds are 1.12, 0.94 and 0.94."""
        self.check(
            "It pays: with the provider the model runs 1.12 times as fast as without it on one thread.",
            t1={ALONE: [7.36, 6.0, 9.0], PROVIDER: [6.55, 6.4, 9.6]},
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
