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
from onnxruntime_ep_dynquant.report import count_layers, verdict
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


    def test_layers_of_one_node_count_each(self):
        for operators, count in (
            (["QuantizeLinear"], 0),
            (["MatMulInteger"], 0),  # a single node
            (["DynamicQuantizeLinear", "ConvInteger", "Mul"], 1),
            (["DynamicQuantizeLinear", *["MatMulInteger", "Cast", "Mul"] * 3], 3),
            (["DequantizeLinear", "MatMul"], 1),
            (["MatMulNBits"], 1),
        ):
            with self.subTest(operators=operators):
                self.assertEqual(count_layers(operators), count)


class Agreements(unittest.TestCase):
    def test_cosine_difference_and_the_largest_number(self):
        inf, nan = np.inf, np.nan
        zeros, number = [0, 0, 0], [1, nan]
        for what, expected, given, wanted in (
            ("the worst output counts", [[3, 4], [1, 0]], [[3, 4], [0.8, 0.6]], (0.8, 0.6, 1)),
            ("zeros", [zeros], [zeros], (1, 0, 0)),
            ("zeros beside others", [zeros], [[1, 1, 1]], (0, 1, 0)),
            ("NaN on both sides", [number], [number], (1, 0, 1)),
            ("NaN on one side", [number, number], [number, [1, 2]], (nan, nan, 1)),
            ("NaN on the other side", [number, number], [[1, 2], number], (nan, nan, 1)),
            ("what is not finite on both sides", [[3, nan, inf, -inf, 4]], [[4, nan, inf, -inf, 3]], (24 / 25, 1, 4)),
            ("NaN beside a number", [[3, nan]], [[3, 5]], (nan, nan, 3)),
            ("infinities of two signs", [[1, inf]], [[1, -inf]], (nan, inf, inf)),
        ):
            with self.subTest(what):
                a = agreement(*([np.float32(output) for output in outputs] for outputs in (expected, given)))
                np.testing.assert_allclose((a.cosine, a.difference, a.largest), wanted, rtol=1e-6)

    def test_unsigned_numbers_do_not_wrap(self):
        self.assertEqual(agreement([np.uint8([3])], [np.uint8([4])]).difference, 1)

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
        for values in ([np.nan, np.nan], [np.inf], [-np.inf, np.nan]):
            self.assertEqual(agreement([np.float32(values)], [np.float32(values)]), "no finite numbers")


def fake_session(outputs):
    ports = {"get_inputs": lambda: [types.SimpleNamespace(name="x")], "get_outputs": lambda: outputs}
    return types.SimpleNamespace(**ports, run=lambda names, inputs: outputs)


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
            return fake_session(result)

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


    def cached(self, tokens="tokens", total="total"):
        """Inputs of a decoder, as they are declared."""
        shapes = {"input_ids": ["batch", tokens], "attention_mask": ["batch", total], "position_ids": ["batch", tokens]}
        declared = [types.SimpleNamespace(name=name, shape=s, type="tensor(int64)") for name, s in shapes.items()]
        cache = "past_key_values.0.key", "past_key_values.0.value"
        shape = ["batch", 2, "past", 8]
        return declared + [types.SimpleNamespace(name=n, shape=shape, type="tensor(float)") for n in cache]

    def test_a_cache_is_followed_by_one_token(self):
        for total in ("total", "past + 1", None):
            made = inputs.make(self.cached(total=total), {})
            self.assertEqual(made["input_ids"].shape, (1, 1))
            self.assertEqual(made["attention_mask"].tolist(), [[1] * 129])
            self.assertEqual(made["position_ids"].tolist(), [[128]])
            self.assertEqual(made["past_key_values.0.value"].shape, (1, 2, 128, 8))

    def test_extents_of_one_name_are_equal(self):
        declared = self.cached()
        given = inputs.read("m", declared, ["input_ids=2x3", "past_key_values.0.value=2x2x4x8"], [])
        made = inputs.make(declared, given)
        self.assertEqual(made["past_key_values.0.key"].shape, (2, 2, 4, 8))
        self.assertEqual(made["attention_mask"].tolist(), [[1] * 7] * 2)
        self.assertEqual(made["position_ids"].tolist(), [[4, 5, 6]] * 2)

    def test_a_mask_without_cache_needs_its_extent(self):
        declared = self.cached()[:2]
        with self.assertRaisesRegex(Refusal, "input 'input_ids' has the shape .batch, tokens.: give its extents"):
            inputs.make(declared, {})
        given = inputs.read("m", self.cached("tokens", "tokens")[:2], ["input_ids=1x5"], [])
        self.assertEqual(inputs.make(self.cached("tokens", "tokens")[:2], given)["attention_mask"].shape, (1, 5))


class Sentence(unittest.TestCase):
    def test_whether_it_pays(self):
        """It is of the medians that the table shows: where they are 7.36 and 6.55, the ratios of the rounds are 1.12, 0.94
        and 0.94."""
        one, four = " on one thread", " on 4 threads"
        for starts, ends, *seconds in (
            ("It pays", f"9.0 times as fast as without it{one}; 1.25 times as fast as without it{four}",
             {ALONE: [8, 16, 9], PROVIDER: [1, 2, 1]}, {ALONE: [5], PROVIDER: [4]}),
            ("It pays", f"1.12 times as fast as without it{one}", {ALONE: [7.36, 6.0, 9.0], PROVIDER: [6.55, 6.4, 9.6]}),
            ("It does not pay", f"1.03 times as fast as without it{one}", {ALONE: [1.03], PROVIDER: [1]}),
            ("It does not pay", f"8.0 times as fast as without it and 0.50 times as fast as the float model{one}",
             {ALONE: [8], PROVIDER: [1], FLOAT: [0.5]}),
            ("It pays on one thread only", f"2.0 times as fast as without it{one}; 0.80 times as fast as without it{four}",
             {ALONE: [2], PROVIDER: [1]}, {ALONE: [0.8], PROVIDER: [1]}),
            ("It pays", f"in 2 (1 to 3) ms{one}", {PROVIDER: [0.002, 0.001, 0.003]}),
        ):
            with self.subTest(ends):
                said = f"{starts}: with the provider the model runs {ends}."
                self.assertEqual(verdict(Timed(dict(zip((1, 4), seconds)))), said)


if __name__ == "__main__":
    unittest.main()
