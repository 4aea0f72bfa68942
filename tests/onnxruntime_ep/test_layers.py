"""Layers that the execution provider claims have the bits of their nodes computed one by one, as ONNX defines them.

DYNQUANT_TEST_SAMPLE=N computes every Nth of the random graphs. Unset it is 7, and 21 under DYNQUANT_MAX_ISA, whose loops
dqbench verify and the unit tests compute, too."""
import itertools
import os
import unittest

import numpy as np
from graphs import Graph
from layers import STEPS, WITH_PARAMETER, Layer, integer_product, model, quantize
from onnx import TensorProto, helper
from processor import IS_ARM
from provider import NAME, assert_same, operators, run, session

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261123"))
GRAPHS, SAMPLE = 5600, int(os.environ.get("DYNQUANT_TEST_SAMPLE", "21" if "DYNQUANT_MAX_ISA" in os.environ else "7"))


class Layers(unittest.TestCase):
    def check(self, layer, threads=1):
        x = layer.draw_x()
        assert_same(run(layer.model(), {"x": x}, threads=threads)[0], layer.expected(x))

    def test_random_graphs(self):
        for i in range(0, GRAPHS, SAMPLE):
            graph = Graph(np.random.default_rng([SEED, i]))
            with self.subTest(i=i):
                for scales in ("per_tensor", "per_row"):
                    options = {"claim": "all", "activation_scales": scales}
                    s = session(graph.model(), options=options, threads=1 + i % 4, spins=False)
                    for _ in range(3 if graph.is_open else 1):
                        inputs = graph.inputs()
                        results = graph.expected(inputs, scales == "per_row")
                        for given, expected in zip(s.run(None, inputs), results, strict=True):
                            assert_same(given, expected)

    def test_a_layer_is_one_node(self):
        """Also with a bias of integers, and of four spatial dimensions."""
        cases = [(rank, {"steps": steps, "y_type": y_type}) for rank, steps, y_type in itertools.product(
            range(4), ((), ("Add",), ("Add", "Relu"), tuple(STEPS)), (None, np.uint8, np.int8))]
        cases += [(rank, {"quantized": np.uint8, "to_float": to_float, "bias": bias}) for rank, bias, to_float in itertools.product(
            range(4), ("one", "channel"), (False, True))]
        for rank, of in [*cases, (4, {"steps": ("Add", "Relu"), "y_type": np.int8})]:
            layer = Layer(np.random.default_rng(rank), rank, **of)
            with self.subTest(rank=rank, **of):
                self.assertEqual(operators(layer.model(), {"x": layer.draw_x()}), {NAME: 1})
                self.check(layer)

    def test_dilations_beyond_all_of_x(self):
        """Of three taps with SAME only the middle one is not in the padding."""
        random = np.random.default_rng(5)
        w, x = random.integers(-128, 128, (14, 8, 1, 3)).astype(np.int8), random.integers(0, 256, (2, 8, 1, 24)).astype(np.uint8)
        expected = np.einsum("fc,nct->nft", w[:, :, 0, 1].astype(np.int32), x[:, :, 0].astype(np.int32) - 100)
        for spatial, dilation in itertools.product(((24,), (1, 24), (1, 1, 24)), (24, 1000, 2**20, 2**30)):
            rank = len(spatial)
            nodes = integer_product(["x", "w", "z"], op="ConvInteger", dilations=[1] * (rank - 1) + [dilation], auto_pad="SAME_LOWER")
            m = model(nodes, {"x": (TensorProto.UINT8, [2, 8, *spatial])}, {"f": (TensorProto.FLOAT, None)}, 16,
                      {"w": w.reshape(14, 8, *[1] * (rank - 1), 3), "z": np.uint8(100)})
            with self.subTest(spatial=spatial, dilation=dilation):
                inputs = {"x": x.reshape(2, 8, *spatial)}
                self.assertEqual(operators(m, inputs), {NAME: 1})
                assert_same(run(m, inputs)[0], expected.reshape(2, 14, *spatial).astype(np.float32))

    def test_large_layers_on_several_threads(self):
        random = np.random.default_rng(SEED)
        for group, inputs, filters, extent, kernel in ((1, 32, 64, 56, 3), (1, 3, 16, 160, 3), (64, 64, 64, 80, 5), (1, 96, 96, 40, 1)):
            layer = Layer.convolution_of(random, group, inputs, filters, kernel, 2, (extent, extent + 3))
            for threads in (1, 2, 5):
                with self.subTest(group=group, extent=extent, threads=threads):
                    self.check(layer, threads=threads)

    def test_of_not_a_number_and_infinity(self):
        """A range with NaN has the scale NaN, and 0 times NaN in every element."""
        layer = Layer(np.random.default_rng(1), 2, steps=("Relu",))
        s = session(layer.model())
        x = layer.draw_x()
        x.flat[0] = np.nan
        self.assertTrue(np.isnan(s.run(None, {"x": x})[0]).all())

    def test_onnx_runtime_computes_steps_alike(self):
        """Of all numbers: whether a layer ends before a step changes no bits. On 64-bit ARM ONNX Runtime 1.32 rounds a product
        and a sum of these two once, which changes 0.3 % of the results by a unit of the last place; layers round twice."""
        fused_there = {"HardSigmoid", "HardSwish"} if IS_ARM else set()
        x = np.random.default_rng(SEED).integers(0, 2**32, 1 << 20, np.uint32).view(np.float32)
        x = x[~np.isnan(x)]
        parameters = {op: [np.float32(0.3)] for op in WITH_PARAMETER} | {"Clip": [np.float32(-1), np.float32(1.5)]}
        for op in STEPS.keys() - {"Gate"} - fused_there:
            constants = {f"c{i}": value for i, value in enumerate(parameters.get(op, []))}
            node = helper.make_node(op, ["x", *constants], ["y"], **({"alpha": 0.25} if op == "LeakyRelu" else {}))
            m = model([node], {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, x.shape)}, 16, constants)
            with self.subTest(op=op), np.errstate(all="ignore"):
                assert_same(run(m, {"x": x}, provider=False)[0], STEPS[op](x, *constants.values()))

    def test_zeros(self):
        """Also beside a constant bias of integers, by which the scale of x is multiplied."""
        for bias, scales in itertools.product((None, "channel"), ("per_tensor", "per_row")):
            layer = Layer(np.random.default_rng(2), 1, steps=("Add",), bias=bias)
            x = np.zeros_like(layer.draw_x())
            y = run(layer.model(), {"x": x}, options={"activation_scales": scales})[0]
            np.testing.assert_array_equal(y, layer.expected(x, scales == "per_row"))

    def test_zeros_keep_a_bias_that_the_graph_quantizes(self):
        """By x's scale, which is 1, so that the result is the bias but for its rounding: floor(0.75 / (1 * 0.5)) * 0.5 and so on."""
        nodes = [quantize(), helper.make_node("ConvInteger", ["x_q", "w", "x_z"], ["i"]), helper.make_node("Mul", ["x_s", "ws"], ["m"]),
                 helper.make_node("Div", ["b", "m"], ["d"]), helper.make_node("Floor", ["d"], ["f"]),
                 helper.make_node("Cast", ["f"], ["c"], to=TensorProto.INT32), helper.make_node("Add", ["i", "c"], ["a"]),
                 helper.make_node("Cast", ["a"], ["t"], to=TensorProto.FLOAT), helper.make_node("Mul", ["t", "m"], ["y"])]
        constants = {"w": np.ones((3, 2, 1), np.int8), "ws": np.array(0.5, np.float32), "b": np.array([0.75, -0.75, 2], np.float32).reshape(3, 1)}
        m = model(nodes, {"x": (TensorProto.FLOAT, ["n", 2, "l"])}, {"y": (TensorProto.FLOAT, None)}, 16, constants)
        expected = np.repeat(np.array([[[0.5], [-1], [2]]], np.float32), 4, axis=2)
        for scales, claim in itertools.product(("per_tensor", "per_row"), ("auto", "all")):
            y = run(m, {"x": np.zeros((1, 2, 4), np.float32)}, options={"claim": claim, "activation_scales": scales})[0]
            np.testing.assert_array_equal(y, expected)


if __name__ == "__main__":
    unittest.main()
