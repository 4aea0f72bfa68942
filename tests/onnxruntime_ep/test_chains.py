"""Layers that follow one another as one node of the provider, in graphs of more than 128 layers."""
import itertools
import unittest

import numpy as np
from layers import dynamic_quantize, integer_product, model, product, quantize, quantize_rows
from models import types_of
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, run, run_at_the_same_time, session
from test_provider import REFUSALS, claims_and_names, log, random_bytes

FLOAT = TensorProto.FLOAT
Y = {"y": (FLOAT, None)}
node = helper.make_node


class Chains(unittest.TestCase):
    """Where there are more than 128 layers, up to 16 of them that follow one another are one node."""

    CHANNELS, TO_BYTES = 12, (0.05, 128)

    def setUp(self):
        self.random = np.random.default_rng(11)
        self.nodes, self.constants = [], {"to_bytes": np.float32(self.TO_BYTES[0]), "middle": np.uint8(self.TO_BYTES[1])}

    def layer(self, name, x, x_is_bytes=False, y_is_bytes=False):
        """Adds what gives `name` of x, and returns what it is to compute."""
        w = self.random.integers(-128, 128, (self.CHANNELS, self.CHANNELS)).astype(np.int8)
        scale, bias = np.float32(1 / 250), self.random.standard_normal(self.CHANNELS).astype(np.float32)
        p = lambda text: f"{name}_{text}"
        self.constants |= {p("w"): w, p("scale"): scale, p("bias"): bias}
        if x_is_bytes:
            self.nodes += [*integer_product([x, p("w"), "middle"], p("")), node("Mul", [p("f"), p("scale")], [p("y")])]
        else:
            self.nodes += [quantize(x), *product(name, x, w=p("w"), scale=p("scale"))]
        self.nodes.append(node("Add", [p("y"), p("bias")], [p("floats") if y_is_bytes else name], p("add")))
        if y_is_bytes:
            self.nodes.append(node("QuantizeLinear", [p("floats"), "to_bytes", "middle"], [name], p("quantize")))

        def expected(x, by_row):
            if x_is_bytes:
                q, s, z = x, np.float32(1), np.uint8(self.TO_BYTES[1])
            else:
                q, s, z = quantize_rows(x, False) if by_row else dynamic_quantize(x)
            sums = (q.astype(np.int64) - np.int64(z)) @ w.astype(np.int64)
            y = sums.astype(np.float32) * (s * scale) + bias
            return np.clip(np.rint(y / np.float32(self.TO_BYTES[0])) + self.TO_BYTES[1], 0, 255).astype(np.uint8) if y_is_bytes else y

        return expected

    def layers(self, count, are_bytes=lambda i: False):
        """One behind the other, from x to y."""
        names = ["x", *(f"v{i}" for i in range(1, count)), "y"]
        parts = [self.layer(names[i + 1], names[i], are_bytes(i), are_bytes(i + 1)) for i in range(count)]

        def expected(x, by_row=False, begin=0, end=count):
            for part in parts[begin:end]:
                x = part(x, by_row)
            return x

        return expected

    def model(self, shape, **others):
        return model(self.nodes, {"x": (FLOAT, shape)}, Y | others, 16, self.constants)

    def test_their_results(self):
        """With bytes between some layers, of one scale and of one for each row."""
        expected = self.layers(133, lambda i: 0 < i < 133 and i % 5 > 2)
        xs = [self.random.standard_normal((*rows, self.CHANNELS)).astype(np.float32) for rows in ((2, 3), (1, 1), (40, 5), (0, 3))]
        for shape in ([None, None, self.CHANNELS], xs[0].shape):
            m = self.model(shape)
            for options, threads in itertools.product(({}, {"activation_scales": "per_row"}), (1, 3)):
                self.assertEqual(operators(m, {"x": xs[0]}, options=options), {NAME: 9})
                s = session(m, options=options, threads=threads)
                for x in xs * 2 if shape[0] is None else xs[:1]:
                    with self.subTest(x=x.shape, options=options, threads=threads):
                        assert_same(s.run(None, {"x": x})[0], expected(x, bool(options)))

    def test_at_the_same_time(self):
        expected = self.layers(130)
        xs = [self.random.standard_normal((n, self.CHANNELS)).astype(np.float32) for n in (1, 4, 9)]
        run_at_the_same_time(session(self.model([None, self.CHANNELS]), threads=2), [(x, expected(x)) for x in xs])

    def test_fewer_layers_are_nodes_of_their_own(self):
        self.layers(128)
        x = np.ones((2, self.CHANNELS), np.float32)
        self.assertEqual(operators(self.model(x.shape), {"x": x}), {NAME: 128})

    def test_what_ends_them(self):
        """Values that two nodes or the caller take, and a zero point that is an input."""
        x = self.random.standard_normal((2, self.CHANNELS)).astype(np.float32)
        for name, others, nodes, claimed in (("all", {}, [], 9), ("caller", {"v33": (FLOAT, None)}, [], 10),
                                             ("node", {"t": (FLOAT, None)}, [node("Tanh", ["v33"], ["t"])], 10)):
            with self.subTest(name=name):
                self.setUp()
                self.layers(130)
                at = next(i for i, n in enumerate(self.nodes) if n.name == "v34_add")
                self.nodes[at:at] = nodes
                m = self.model(x.shape, **others)
                self.assertEqual(operators(m, {"x": x})[NAME], claimed)
        self.setUp()
        self.layers(130)
        next(n for n in self.nodes if n.output[0] == "v50_sums").input[2] = "zero"
        given = {"x": x, "zero": np.uint8([9])}
        m = model(self.nodes, types_of(given), Y, 16, self.constants)
        self.assertEqual(operators(m, given, options={"claim": "all"}), {NAME: 11})  # of 49 layers, DynamicQuantizeLinear, one, and 80

    def test_layers_of_another_kind_within(self):
        """One that adds an input of the run, and one of a matrix of three dimensions, stand alone; a convolution does not. They lie
        between 49 layers and 80."""
        x, r = (self.random.standard_normal((2, self.CHANNELS, self.CHANNELS)).astype(np.float32) for _ in range(2))
        for name, claimed in (("sum", 10), ("stack", 10), ("convolution", 9)):
            self.setUp()
            expected = self.layers(130)
            constants, nodes = self.constants, {n.name: n for n in self.nodes}
            product, add = nodes["v50_product"], nodes["v50_add"]
            if name == "sum":
                add.input[1] = "r"
            elif name == "stack":
                constants["v50_w"] = constants["v50_w"][None]
            else:
                product.op_type = "ConvInteger"
                constants["v50_w"] = random_bytes(self.CHANNELS, self.CHANNELS, 1)
                constants["v50_bias"] = constants["v50_bias"][:, None]
            given = {"x": x} | ({"r": r} if name == "sum" else {})
            m = model(self.nodes, types_of(given), Y, 16, constants)
            with self.subTest(name=name):
                self.assertEqual(operators(m, given), {NAME: claimed})
                q, scale, zero = dynamic_quantize(expected(x, end=49))
                q = q.astype(np.int64) - np.int64(zero)
                w = constants["v50_w"].astype(np.int64)
                sums = np.einsum("ock,nck->nok", w * np.ones(self.CHANNELS, np.int64), q) if name == "convolution" else q @ w
                y = sums.astype(np.float32) * (scale * constants["v50_scale"]) + (r if name == "sum" else constants["v50_bias"])
                assert_same(run(m, given)[0], expected(y, begin=50))

    def test_an_error_names_its_layer(self):
        self.layers(130)
        self.constants["v70_w"] = self.constants["v70_w"][1:]
        x = np.ones((2, self.CHANNELS), np.float32)
        for optimized in (True, False):
            with self.assertRaisesRegex(REFUSALS, "v70_product"):
                run(self.model([None, None]), {"x": x}, optimized=optimized)

    def test_their_names(self):
        self.layers(130)
        _, names = claims_and_names(log(self.model([2, self.CHANNELS])))
        self.assertIn("dynquant_" + "_".join(f"v{i}_product_add" for i in range(113, 129)), names.values())


if __name__ == "__main__":
    unittest.main()
