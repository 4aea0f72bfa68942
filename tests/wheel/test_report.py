"""The parts of the command without a model: reading the provider's log, the turns, comparing outputs, the sentences."""

import types
import unittest
import warnings
from collections import Counter
from unittest import mock

import numpy as np
from onnxruntime_ep_dynquant import inputs, measure, report
from onnxruntime_ep_dynquant.measure import ALONE, FLOAT, PROVIDER, Agreement, Timed, agreement, worst
from onnxruntime_ep_dynquant.refusal import Refusal
from onnxruntime_ep_dynquant.report import count_layers, described_claims, described_left, verdict
from onnxruntime_ep_dynquant.sessions import Claims, read_claims


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
                ("leaves", "'c1' (Conv): its bias 'b1' is no constant float for each filter"),
                ("leaves", "'c2' (Conv): its bias 'b2' is no constant float for each filter"),
                ("leaves", "'n' (MatMulNBits): it has an input 'g_idx'"),
                ("keeps one scale of", "'d1' (DynamicQuantizeLinear): 's1' is read outside of the graph"),
                ("keeps one scale of", "'d2' (DynamicQuantizeLinear): 's2' is read outside of the graph"),
            ]
        )
        self.assertEqual(found.layers_and_nodes, [["DynamicQuantizeLinear", "ConvInteger", "Mul"], ["QuantizeLinear"]])
        self.assertEqual(
            found.left,
            Counter(
                {
                    ("MatMulInteger", "the weights are no constant"): 2,
                    ("QuantizeLinear", "ONNX Runtime may fuse it with Conv"): 2,
                    ("Conv", "its bias '...' is no constant float for each filter"): 2,
                    ("MatMulNBits", "it has an input 'g_idx'"): 1,
                }
            ),
        )
        self.assertEqual(found.one_scale, Counter({"'...' is read outside of the graph": 2}))

    def test_claims_as_a_sentence(self):
        convolution, product = ["DynamicQuantizeLinear", "ConvInteger", "Mul"], ["DequantizeLinear", "MatMul"]
        queries = ["DynamicQuantizeLinear", *["MatMulInteger", "Cast", "Mul"] * 3]
        for claimed, left, expected in (
            ([], {}, "nothing"),
            ([["QuantizeLinear"]], {}, "1 single node"),
            ([convolution], {}, "1 of 1 quantized layer (1 convolution)"),
            ([convolution, queries, product], {("Conv", "a"): 2, ("QuantizeLinear", "b"): 5},
             "5 of 7 quantized layers (1 convolution, 4 products)"),
            ([convolution, ["QuantizeLinear"], ["DequantizeLinear"]], {},
             "1 of 1 quantized layer (1 convolution) and 2 single nodes"),
            ([], {("MatMulInteger", "a"): 2}, "0 of 2 quantized layers"),
        ):  # fmt: skip
            with self.subTest(expected=expected):
                self.assertEqual(described_claims(Claims(claimed, Counter(left))), expected)

    def test_what_is_left_by_reason(self):
        fuse, constant = "ONNX Runtime may fuse it with ", "its weights '...' are no constant"
        left = {("DequantizeLinear", fuse + "Add"): 3, ("MatMulInteger", constant): 2, ("QuantizeLinear", fuse + "Add"): 1,
                ("DequantizeLinear", fuse + "Conv"): 4}  # fmt: skip
        self.assertEqual(
            described_left(Claims(left=Counter(left))),
            "7 DequantizeLinear and 1 QuantizeLinear, as ONNX Runtime may fuse it; 2 MatMulInteger, as " + constant,
        )

    def test_models_in_qdq_format(self):
        of = lambda *operators, claimed=(): Claims(list(claimed), Counter({(o, "a reason"): 1 for o in operators})).is_qdq()
        self.assertTrue(of("QuantizeLinear", "DequantizeLinear", "Conv"))
        self.assertFalse(of("QuantizeLinear", "DequantizeLinear", "ConvInteger"))
        self.assertFalse(of("DequantizeLinear", "MatMul"))
        self.assertFalse(of("QuantizeLinear", "DequantizeLinear", claimed=[["QuantizeLinear"]]))


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

    def test_rows_whose_largest_number_is_at_the_same_place(self):
        """Of the first output that has rows."""
        for expected, given, top in (
            ([[[1, 2], [3, 0], [5, 6]]], [[[0, 9], [0, 1], [5, 6]]], (2, 3)),
            ([[[1], [2]], [4, 5]], [[[1], [2]], [5, 4]], (0, 1)),
            ([[[1, 2]], [4, 5]], [[[1, 2]], [5, 4]], (1, 1)),
            ([[[1]]], [[[2]]], (0, 0)),
        ):
            with self.subTest(top=top):
                self.assertEqual(agreement(*([np.float32(o) for o in outputs] for outputs in (expected, given))).top, top)

    def test_several_inputs(self):
        """The least cosine and the largest difference, of one input each; rows of both."""
        a, b = Agreement(0.5, 1, 10, 0.5, (1, 2)), Agreement(1, 2, 3, 1, (3, 3))
        self.assertEqual(worst([a, b]), Agreement(0.5, 2, 3, 0.75, (4, 5)))
        self.assertEqual(worst([a, "other shapes", b]), "other shapes")
        self.assertIsNone(worst([]))
        nan = worst([a, Agreement(np.nan, np.nan, 1, np.nan), b])
        self.assertTrue(np.isnan([nan.cosine, nan.difference, nan.mean]).all())

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
    """Gives the outputs times x."""
    ports = {"get_inputs": lambda: [types.SimpleNamespace(name="x")], "get_outputs": lambda: outputs}
    return types.SimpleNamespace(**ports, run=lambda names, inputs: [output * inputs["x"] for output in outputs])


class Turns(unittest.TestCase):
    def compare(self, samples=(1,), **outputs):
        """Compares fake sessions on one thread and on three. outputs: by "alone", "provider" and, perhaps, "floats"; an
        exception is raised where a session is made. Returns what was timed, and path, provider and threads of each."""
        made = []

        def session(path, *, provider, threads, options):
            self.assertEqual(options, {"claim": "all"})
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
                "m", "f" if "floats" in outputs else None, [{"x": np.full(1, x)} for x in samples], 2, 1e-6,
                lambda *step: steps.append(step), {"claim": "all"},
            )  # fmt: skip
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

    def test_all_inputs_are_compared(self):
        """By the second, 2 and 6, outputs of 4 and 2 times x, (4, 2), are (8, 4) and (24, 12)."""
        timed, _ = self.compare([2, 6], alone=[np.array([1, 2])], provider=[np.array([4, 2])], floats=[np.array([4, 3])])
        self.assertEqual((timed.samples, timed.nans), (2, (0, 4)))
        self.assertEqual((timed.difference.difference, timed.difference.largest), (18, 12))
        provider = timed.agreement[PROVIDER]
        self.assertEqual((provider.difference, provider.largest, provider.top), (6, 24, (2, 2)))
        self.assertAlmostEqual(provider.cosine, 22 / 5 / 20**0.5)
        self.assertEqual(timed.agreement[ALONE].top, (0, 2))

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

    def test_extents_that_are_missing_are_asked_for_at_once(self):
        """Each name once."""
        asked = lambda declared, said: self.assertRaisesRegex(Refusal, f"^the model leaves extents open, of the inputs {said}$")
        with asked(self.cached()[:2], "'input_ids' .batch, tokens., 'attention_mask' .batch, total.. Give yours, such as "
                   "--shape input_ids=1x128 --shape attention_mask=1x128"):  # fmt: skip
            inputs.make(self.cached()[:2], {})
        same = self.cached("tokens", "tokens")[:2]
        with asked(same, "'input_ids' .batch, tokens.. Give yours, such as --shape input_ids=1x128"):
            inputs.make(same, {})
        image = types.SimpleNamespace(name="an image", shape=["n", 3, None, "w"], type="tensor(float)")
        with asked([image], "'an image' .n, 3, ., w.. Give yours, such as --shape 'an image=1x3x224x224'"):
            inputs.make([image], {})
        given = inputs.read("m", same, ["input_ids=1x5"], [])
        self.assertEqual(inputs.make(same, given)["attention_mask"].tolist(), [[1] * 5])


class Sentences(unittest.TestCase):
    def test_whether_it_pays(self):
        """It is of the medians that the table shows: where they are 12 and 2, the ratios of the rounds are 10, 4 and 7."""
        alone, floats = "ONNX Runtime alone", "the float model"
        busy = "the machine is busy, and beside {} times spread more than they differ"
        for said, seconds in (
            (f"It pays on 4 threads: 9.0 times as fast as {alone}", {ALONE: [8, 9, 10], PROVIDER: [1, 1, 2]}),
            (f"It pays on 4 threads: 6.0 times as fast as {alone}", {ALONE: [10, 12, 14], PROVIDER: [1, 3, 2]}),
            (f"It pays on 4 threads: 200 times as fast as {alone}", {ALONE: [200], PROVIDER: [1]}),
            (f"It pays on 4 threads: 1.05 times as fast as {alone}", {ALONE: [1.0499], PROVIDER: [1]}),
            (f"It does not pay on 4 threads: 1.03 times as fast as {alone}", {ALONE: [1.03], PROVIDER: [1]}),
            (f"It does not pay on 4 threads: 8.0 times as fast as {alone} and 0.50 times as fast as {floats}",
             {ALONE: [8], PROVIDER: [1], FLOAT: [0.5]}),
            (f"It does not pay on 4 threads: 1.00 times as fast as {alone}", {ALONE: [1, 1.02, 1], PROVIDER: [1, 1.02, 1]}),
            (f"Cannot tell on 4 threads: {busy.format(alone)}", {ALONE: [43.6, 3.7, 83.6], PROVIDER: [46, 12, 80.1]}),
            (f"Cannot tell on 4 threads: {busy.format(alone)}", {ALONE: [1.2, 1.1, 1.35], PROVIDER: [1, 1, 1.04]}),
            (f"Cannot tell on 4 threads: {busy.format(alone)}", {ALONE: [522, 80, 854], PROVIDER: [1, 1, 1]}),
            (f"Cannot tell on 4 threads: {busy.format(alone)}", {ALONE: [15, 20, 21], PROVIDER: [10, 11, 16]}),
            (f"Cannot tell on 4 threads: {busy.format(f'{alone} and {floats}')}",
             {ALONE: [2, 1, 3], PROVIDER: [2, 1, 3], FLOAT: [2, 1, 3]}),
            (f"Cannot tell on 4 threads: 9.0 times as fast as {alone}; {busy.format(floats)}",
             {ALONE: [9, 9, 9], PROVIDER: [1, 1, 2], FLOAT: [1, 1, 1]}),
            (f"It does not pay on 4 threads: 0.50 times as fast as {alone}; {busy.format(floats)}",
             {ALONE: [1, 1, 1], PROVIDER: [2, 2, 2], FLOAT: [3, 1, 2]}),
            ("It pays on 4 threads: 2000 (1000 to 3000) ms", {PROVIDER: [2, 1, 3]}),
        ):  # fmt: skip
            with self.subTest(said):
                self.assertEqual(verdict(Timed({4: seconds}), 4), said + ".")

    def test_milliseconds_have_three_digits_and_no_exponent(self):
        for number, text in ((1234.5, "1234"), (999.6, "1000"), (89.72, "89.7"), (1, "1.00"), (0.0407, "0.0407"), (1e-6, "0.00000100")):
            self.assertEqual(report._three_digits(number), text)


if __name__ == "__main__":
    unittest.main()
