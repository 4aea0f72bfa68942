"""The transformers that scripts/measure transformers makes: their parts by formulas, and that all of them run."""

import argparse
import collections
import logging
import math
import pathlib
import tempfile
import unittest

import numpy as np
from measure.models.exported import Exported, Size, erf_gelu, layer_norm, rms_norm, silu, tanh_gelu
from measure.models.networks import DYNAMIC, INT8, UINT8, eligible_layers, quantized
from measure.models.transformers import TRANSFORMERS, Run
from measure.results import Measured
from measure.sessions import PROVIDER, RUNTIME, Peer, session
from measure.suites import transformers
from onnx import TensorProto

TINY = Size(2, 64, 8, 96, 50)
X = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32) * 3
logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's tools


def named(name):
    return next(one for one in TRANSFORMERS if one.name == name)


def ran(model, inputs):
    return session(model.SerializeToString(), Peer(RUNTIME), 1).run(None, inputs)


def part(build, opset=17):
    """What the part gives for X."""
    g = Exported(opset)
    return ran(g.of_outputs(build(g, g.input("x", TensorProto.FLOAT, *X.shape))), {"x": X})[0]


class Parts(unittest.TestCase):
    """Their gains and biases are drawn in the order of the formulas: the generator starts the same in each graph."""

    def assert_near(self, given, expected):
        np.testing.assert_allclose(given, expected, rtol=2e-5, atol=2e-6)

    def test_functions(self):
        x = X.astype(float)
        self.assert_near(part(erf_gelu), x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2)
        self.assert_near(part(tanh_gelu), x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2)
        self.assert_near(part(silu), x / (1 + np.exp(-x)))

    def test_norms(self):
        x, random = X.astype(float), np.random.default_rng(0)
        gain, bias = (random.standard_normal(8, np.float32) * np.float32(0.1) for _ in range(2))
        centered = x - x.mean(axis=-1, keepdims=True)
        expected = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5) * (1 + gain) + bias
        for opset in (14, 17):
            self.assert_near(part(lambda g, x: layer_norm(g, x, 8), opset), expected)
        expected = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * (1 + gain)
        self.assert_near(part(lambda g, x: rms_norm(g, x, 8)), expected)


class Models(unittest.TestCase):
    def assert_near(self, given, expected):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4)

    def test_all_run_also_quantized(self):
        for one in TRANSFORMERS:
            with self.subTest(one.name), tempfile.TemporaryDirectory() as folder:
                model = one.build(TINY)
                run = one.runs[0]
                inputs = run.inputs(model)
                expected = ran(model, inputs)
                self.assertTrue(all(np.isfinite(y).all() for y in expected))
                for name in DYNAMIC:
                    narrow = quantized(model, name, pathlib.Path(folder), is_optimized_before=False)
                    self.assertGreater(eligible_layers(narrow), 0)
                    for y, x in zip(ran(narrow, inputs), expected, strict=True):
                        self.assertEqual(y.shape, x.shape)

    def test_sequences_of_a_batch_do_not_meet(self):
        for one in TRANSFORMERS:
            with self.subTest(one.name):
                model = one.build(TINY)
                run = Run(2, one.runs[0].tokens, one.runs[0].past, one.runs[0].source)
                inputs = run.inputs(model)
                both = ran(model, inputs)
                for i in range(2):
                    alone = ran(model, {name: x[i : i + 1] for name, x in inputs.items()})
                    for y, expected in zip(alone, both, strict=True):
                        self.assert_near(y, expected[i : i + 1])

    def test_padding_is_not_seen(self):
        model = named("MiniLM-L6").build(TINY)
        inputs = Run(1, 7).inputs(model)
        (alone,) = ran(model, inputs)
        padded = {name: np.pad(x, ((0, 0), (0, 3))) for name, x in inputs.items()}
        self.assert_near(ran(model, padded)[0][:, :7], alone)

    def test_tokens_at_once_and_by_steps(self):
        """A decoder's results of a token do not depend on those behind it."""
        for one in TRANSFORMERS:
            if one.runs[0].past is None:
                continue
            with self.subTest(one.name):
                model = one.build(TINY)
                inputs = Run(1, 5, 0, one.runs[0].source).inputs(model)
                expected, *caches = ran(model, inputs)
                pasts = [given.name for given in model.graph.input if inputs[given.name].size == 0]
                step, of_tokens = dict(inputs), inputs.keys() & {"input_ids", "position_ids"}
                for i in range(5):
                    step |= {name: inputs[name][:, i : i + 1] for name in of_tokens}
                    if "attention_mask" in inputs:
                        step["attention_mask"] = inputs["attention_mask"][:, : i + 1]
                    y, *new = ran(model, step)
                    self.assert_near(y, expected[:, i : i + 1])
                    step |= dict(zip(pasts, new, strict=True))
                for cache, whole in zip(new, caches, strict=True):
                    self.assert_near(cache, whole)

    def test_the_optimizer_keeps_the_values_and_leaves_its_operators(self):
        exported, optimized = (named("BERT-base, 4 layers" + end).build(TINY) for end in ("", ", optimized"))
        inputs = Run(2, 6).inputs(exported)
        self.assert_near(ran(optimized, inputs)[0], ran(exported, inputs)[0])
        counts = collections.Counter(node.op_type for node in optimized.graph.node)
        expected = {"Attention": 2, "SkipLayerNormalization": 4, "BiasGelu": 2, "Softmax": 0, "Erf": 0}
        self.assertEqual({name: counts[name] for name in expected}, expected)

    def test_an_older_opset_has_the_parts_of_a_norm(self):
        counts = collections.Counter(node.op_type for node in named("MiniLM-L6, opset 14").build(TINY).graph.node)
        self.assertEqual((counts["LayerNormalization"], counts["ReduceMean"]), (0, 2 * (1 + 2 * TINY.layers)))

    def test_names(self):
        names = [transformers.name_of(one, run) for one in TRANSFORMERS for run in one.runs]
        self.assertEqual(len(names), len(set(names)))
        for name in ("MiniLM-L6, 8x128", "GPT-2, 4 layers, step after 512", "Llama-like, 4 layers, 128 at once"):
            self.assertIn(name, names)


class Suite(unittest.TestCase):
    def test_outputs_must_be_near(self):
        def checked(of_float, runtime, provider):
            values = {transformers.FLOAT_MODEL: of_float, RUNTIME: runtime, PROVIDER: provider}
            outputs = {name: [np.array([2.0, value])] for name, value in values.items()}
            return transformers.checked_differences("a case", outputs)

        expected = {"differs": 0.0625, "runtime from float": 0.5, "provider from float": 0.53125}
        self.assertEqual(checked(-8, -4, -3.75), expected)
        self.assertEqual(checked(-4, -8, -3.75)["provider from float"], 0.0625)  # where ONNX Runtime saturates
        said = ("a case: expected the provider's outputs within 20 % of the largest value of ONNX Runtime's or of the "
                "float model's, given ")  # fmt: skip
        for value, given in ((-3, "25 % and 62.5 %"), (np.nan, "nan % and nan %")):
            with self.assertRaises(RuntimeError) as raised:
                checked(-8, -4, value)
            self.assertEqual(str(raised.exception), said + given)

    def test_variants(self):
        for per_channel, count in ((False, 2), (True, 3)):
            self.assertEqual(len(transformers.variants(argparse.Namespace(per_channel=per_channel, few_bits=False))), count)

    def test_the_tables(self):
        # 8, 2 and 3 times as fast as ONNX Runtime, 4, 1 and 2 as without the fusion, and 2, 1 and 4 as the float model.
        times = {transformers.FLOAT_MODEL: [2e-3, 1e-3, 8e-3], RUNTIME: [8e-3, 2e-3, 6e-3],
                 transformers.UNFUSED.name: [4e-3, 1e-3, 4e-3], PROVIDER: [1e-3, 1e-3, 2e-3]}  # fmt: skip
        facts = {"network": "net", "kind": "transformer", "differs": 0.00123, "runtime from float": 0.05,
                 "provider from float": 0.02}  # fmt: skip
        some = []
        for variant, values in ((INT8, times), (UINT8, {name: [1e-3] for name in times})):
            least = {name: min(of_turns) for name, of_turns in values.items()}
            some.append(Measured("transformers", f"net, {variant}", 1, values, least, {**facts, "variant": variant}))
        left = {"network": "net", "variant": INT8, "claimed": 3, "eligible": 4, "times the nodes": 1.25,
                "operators": {PROVIDER: 0.5, "Add": 0.5}}  # fmt: skip
        tables = transformers.tables([*some, Measured("transformers", "net, time left", 1, facts=left)])
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for name in (INT8, UINT8) for line in tables[f"transformers {name} 1"][2:] if line]
        fast = ["2.00 (1.00)", "6.00 (2.00)", "4.00 (1.00)", "1.00 (1.00)"]
        ratios = ["3.0 (2.0 to 8.0)", "2.0 (1.0 to 4.0)", "2.0 (1.0 to 4.0)"]
        same, differ = "1.0 (1.0 to 1.0)", ["0.12 %", "5 %", "2 %"]
        slow = ["1.00 (1.00)"] * 4 + [same] * 3
        self.assertEqual(cells, [["net", "int8", *fast, *ratios, *differ], ["net", "uint8", *slow, *differ]])
        goal = "transformers, times ONNX Runtime | 1.1 | 2.00 (1.00 to 3.00) | **missed** by net: uint8 1.00 |"
        self.assertTrue(any(line.endswith(goal) for line in tables["transformers goals"]))
        self.assertIn("| net | int8 | 3 of 4 | 50 % | Add 50 % | 1.2 |", tables["transformers time"])


if __name__ == "__main__":
    unittest.main()
