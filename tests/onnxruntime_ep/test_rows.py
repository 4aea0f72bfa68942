"""activation_scales=per_row: a row of x, of a convolution an image, has a scale and a zero point of its own, so that its
results do not depend on the others. Random graphs of such layers are in test_layers.py."""
import itertools
import unittest

import numpy as np
from layers import F, Layer, quantize_rows
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, session
from test_provider import CONVOLUTION, X, log, model

ROWS = {"activation_scales": "per_row"}


def product(name, columns, inner, x="x", w_type=np.int8):
    """Nodes behind a DynamicQuantizeLinear of x, and constants."""
    p = lambda text: f"{name}_{text}"
    random, info = np.random.default_rng(columns), np.iinfo(w_type)
    constants = [(p("w"), random.integers(info.min, info.max + 1, (inner, columns)).astype(w_type)),
                 (p("scale"), random.uniform(0.5, 2, columns).astype(F)), (p("bias"), random.standard_normal(columns).astype(F))]
    nodes = [helper.make_node("MatMulInteger", [f"{x}_q", p("w"), f"{x}_z"], [p("sums")], p("product")),
             helper.make_node("Cast", [p("sums")], [p("f")], p("cast"), to=TensorProto.FLOAT),
             helper.make_node("Mul", [f"{x}_s", p("scale")], [p("scales")], p("scales")),
             helper.make_node("Mul", [p("f"), p("scales")], [p("scaled")], p("mul")),
             helper.make_node("Add", [p("scaled"), p("bias")], [p("y")], p("add"))]
    return nodes, constants


def expected_of(x, constants):
    """By the definition, in integers of 64 bits and one float operator after another."""
    (_, w), (_, scale), (_, bias) = constants
    q, s, z = quantize_rows(x, False)
    sums = ((q.astype(np.int64) - z) @ w.astype(np.int64)).astype(np.int32)
    return sums.astype(F) * (s * scale) + bias


def quantize(x="x"):
    return helper.make_node("DynamicQuantizeLinear", [x], [f"{x}_q", f"{x}_s", f"{x}_z"], f"{x}_dql")


def products(shape, *columns, **of):
    """A model of products of one x, and the constants of each."""
    parts = [product(f"p{i}", n, shape[-1], **of) for i, n in enumerate(columns)]
    m = model([quantize(), *itertools.chain.from_iterable(nodes for nodes, _ in parts)], [("x", TensorProto.FLOAT, shape)],
              [(f"p{i}_y", TensorProto.FLOAT, None) for i in range(len(columns))],
              list(itertools.chain.from_iterable(constants for _, constants in parts)))
    return m.SerializeToString(), [constants for _, constants in parts]


class Rows(unittest.TestCase):
    def test_products_that_share_what_quantizes_are_one_node(self):
        for w_type in (np.int8, np.uint8):
            m, constants = products(["b", "t", 96], 64, 65, 33, w_type=w_type)
            x = np.random.default_rng(1).standard_normal((3, 7, 96), F) * F([[[0.1]], [[1]], [[50]]])
            self.assertEqual(operators(m, {"x": x}, options=ROWS), {NAME: 1})
            s = session(m, options=ROWS)
            for x in (x, x[:1], x[:0], x[:, :1], x.repeat(3, 1)):
                for given, of in zip(s.run(None, {"x": x}), constants, strict=True):
                    assert_same(given, expected_of(x, of))

    def test_a_row_does_not_depend_on_the_others(self):
        """Permuted, padded, split, alone, and on several threads."""
        random = np.random.default_rng(2)
        m, constants = products([None, None, 200], 40, 300)
        x = (random.standard_normal((16, 30, 200)) * random.uniform(0.01, 100, (16, 30, 1))).astype(F)
        expected = [expected_of(x, of) for of in constants]
        order = random.permutation(16)
        padded = np.concatenate([x, random.standard_normal((16, 5, 200)).astype(F) * F(1000)], 1)
        for threads in (1, 2, 5):
            s = session(m, options=ROWS, threads=threads)
            run = lambda x: s.run(None, {"x": x})
            for i, y in enumerate(expected):
                assert_same(run(x)[i], y)
                assert_same(run(x[order])[i], y[order])
                assert_same(run(padded)[i][:, :30], y)
                assert_same(np.concatenate([run(part)[i] for part in np.split(x, [1, 4, 5])]), y)
                assert_same(run(x[3:4, 7:8])[i], y[3:4, 7:8])

    def test_an_image_does_not_depend_on_the_others(self):
        random = np.random.default_rng(3)
        for group, inputs, filters, kernel in ((1, 3, 16, 3), (1, 32, 40, 3), (40, 40, 40, 3), (1, 64, 32, 1), (4, 32, 32, 5)):
            layer = Layer(random, 2, steps=("Add", "Relu"), is_open=True)
            layer.__dict__.update(group=group, auto_pad="NOTSET", pads=[kernel // 2] * 4, strides=[1, 1], dilations=[1, 1])
            layer.w_shape, layer.x_shape = (filters, inputs // group, kernel, kernel), (5, inputs, 17, 19)
            layer.w = random.integers(-128, 128, layer.w_shape).astype(np.int8)
            layer.w_zero_point, layer.channels = random.integers(-9, 9, ()).astype(np.int8), filters
            layer.nodes, layer.constants = [], []
            layer._make_nodes()
            x = (random.standard_normal(layer.x_shape) * random.uniform(0.01, 100, (5, 1, 1, 1)) + random.uniform(-1, 1, (5, 1, 1, 1))).astype(F)
            expected, order = layer.expected(x, by_row=True), random.permutation(5)
            for threads in (1, 2, 3):
                with self.subTest(group=group, inputs=inputs, kernel=kernel, threads=threads):
                    s = session(layer.model(), options=ROWS, threads=threads)
                    run = lambda x: s.run(None, {"x": x})[0]
                    assert_same(run(x), expected)
                    assert_same(run(x[order]), expected[order])
                    assert_same(np.concatenate([run(x[i:i + 1]) for i in range(5)]), expected)

    def test_not_a_number_and_infinity_stay_in_their_row(self):
        random = np.random.default_rng(4)
        m, constants = products([None, None, 50], 20, 70)
        x = random.standard_normal((2, 9, 50)).astype(F)
        expected = [expected_of(x, of) for of in constants]
        x[0, 3, 7], x[1, 0, 49], x[1, 8] = np.nan, np.inf, -np.inf
        clean = np.ones((2, 9), bool)
        clean[0, 3] = clean[1, 0] = clean[1, 8] = False
        for given, y in zip(session(m, options=ROWS).run(None, {"x": x}), expected):
            assert_same(given[clean], y[clean])
            self.assertFalse(np.isfinite(given[~clean]).any())
        m = CONVOLUTION
        images = np.concatenate([X, X * F(np.nan), X * F(3)])
        given = session(m, options=ROWS).run(None, {"x": images})[0]
        for i in (0, 2):
            assert_same(given[i:i + 1], session(m).run(None, {"x": images[i:i + 1]})[0])
        self.assertTrue(np.isnan(given[1]).all())

    def test_of_every_rank_without_elements_and_of_zeros(self):
        for shape in ([8], [5, 8], [2, 3, 8], [2, 1, 3, 8], [2, 1, 1, 3, 8], [0, 8], [2, 0, 8], [3, 0], [2, 3, 0], [4, 1]):
            for columns in (1, 17):
                m, (constants,) = products(shape, columns)
                x = np.random.default_rng(5).standard_normal(shape).astype(F)
                with self.subTest(shape=shape, columns=columns):
                    self.assertEqual(operators(m, {"x": x}, options=ROWS), {NAME: 1})
                    assert_same(session(m, options=ROWS).run(None, {"x": x})[0], expected_of(x, constants))
                    if x.ndim > 1 and x.size:
                        x[1] = 0
                        assert_same(session(m, options=ROWS).run(None, {"x": x})[0], expected_of(x, constants))

    def test_per_tensor_is_the_default(self):
        m, _ = products([4, 32], 16)
        x = np.random.default_rng(6).standard_normal((4, 32)).astype(F) * F([[1], [2], [3], [4]])
        by_tensor = [session(m, options=options).run(None, {"x": x})[0] for options in ({}, {"activation_scales": "per_tensor"})]
        assert_same(*by_tensor)
        self.assertFalse(np.array_equal(by_tensor[0], session(m, options=ROWS).run(None, {"x": x})[0]))

    def test_what_others_read_keeps_one_scale(self):
        """And the results are those without the option."""
        nodes, constants = product("p", 9, 12)
        second, more = product("q", 5, 12)
        shape = [("x", TensorProto.FLOAT, [4, 12])]
        conv = [helper.make_node("ConvInteger", ["x_q", "cw", "x_z"], ["csums"], "conv"),
                helper.make_node("Cast", ["csums"], ["cf"], "ccast", to=TensorProto.FLOAT), helper.make_node("Mul", ["cf", "x_s"], ["cy"], "cmul")]
        y = [("p_y", TensorProto.FLOAT, None)]
        cases = (
            ("'x_q' is read outside of the graph", shape, nodes, [*y, ("x_q", TensorProto.UINT8, None)], constants),
            ("node 'reshape' (Reshape) reads it, which belongs to no claimed layer", shape,
             [*nodes, helper.make_node("Reshape", ["x_q", "flat"], ["r"], "reshape")], [*y, ("r", TensorProto.UINT8, None)], [*constants, ("flat", np.int64([-1]))]),
            ("its scale does not multiply the sums of node 'q_product' (MatMulInteger)", shape, [*nodes, second[0]],
             [*y, ("q_sums", TensorProto.INT32, None)], constants + more[:1]),
            ("node 'conv' (ConvInteger) and node 'p_product' (MatMulInteger) differ in what a row is", [("x", TensorProto.FLOAT, [2, 3, 4, 12])],
             [*nodes, *conv], [*y, ("cy", TensorProto.FLOAT, None)], [*constants, ("cw", np.ones((2, 3, 1, 1), np.uint8))]),
        )
        for reason, inputs, others, outputs, values in cases:
            with self.subTest(reason=reason):
                m = model([quantize(), *others], inputs, outputs, values).SerializeToString()
                self.assertIn(f"keeps one scale of 'x_dql' (DynamicQuantizeLinear): {reason}", log(m, claim="all", **ROWS))
                x = np.random.default_rng(7).standard_normal(inputs[0][2]).astype(F)
                for given, expected in zip(*(session(m, options={"claim": "all", **options}).run(None, {"x": x}) for options in ({}, ROWS))):
                    assert_same(given, expected)

    def test_what_a_layer_has_from_elsewhere_keeps_one_scale(self):
        """x, or its zero point. The zero point of `cycle` is made of another layer's result."""
        random = np.random.default_rng(9)
        floats = [random.standard_normal((4, 12)).astype(F) for _ in range(2)]
        given = {"x": floats[0], "u": floats[1], "bytes": random.integers(0, 256, (4, 12)).astype(np.uint8), "zero": np.uint8(7)}
        types = {"x": TensorProto.FLOAT, "u": TensorProto.FLOAT, "bytes": TensorProto.UINT8, "zero": TensorProto.UINT8}
        second, more = product("r", 5, 12)
        zero = [helper.make_node("ReduceMax", ["r_y"], ["r_max"], "max", keepdims=0), helper.make_node("Cast", ["r_max"], ["cycle"], "zero", to=TensorProto.UINT8)]
        for x, zero_point, inputs, before, after in (
                ("x_q", "zero", ["x", "zero"], [], []), ("bytes", "zero", ["x", "bytes", "zero"], [], []),
                ("bytes", "zero", ["x", "bytes", "zero"], [], second), ("u_q", "u_z", ["x", "u"], [quantize("u")], []),
                ("x_q", "cycle", ["x"], [*second, *zero], [])):
            nodes, constants = product("p", 9, 12)
            nodes[0].input[0], nodes[0].input[2] = x, zero_point
            outputs = [("p_y", TensorProto.FLOAT, None)] + [("r_y", TensorProto.FLOAT, None)] * bool(after)
            m = model([quantize(), *before, *nodes, *after], [(n, types[n], list(np.shape(given[n]))) for n in inputs], outputs,
                      constants + more * bool(before and zero_point == "cycle" or after)).SerializeToString()
            with self.subTest(x=x, zero_point=zero_point, inputs=inputs):
                feeds = {n: np.asarray(given[n]) for n in inputs}
                for by_row, by_tensor in zip(*(session(m, options=options).run(None, feeds) for options in (ROWS, {})), strict=True):
                    assert_same(by_row, by_tensor)

    def test_a_zero_point_that_is_left_out_or_constant(self):
        x = np.random.default_rng(10).standard_normal((3, 2, 12)).astype(F) * F([[[1], [9]]])
        q, scale, _ = quantize_rows(x, False)
        for zero_point in (None, 3):
            nodes, constants = product("p", 9, 12)
            (_, w), (_, w_scale), (_, bias) = constants
            del nodes[0].input[2]
            if zero_point is not None:
                nodes[0].input.append("zero_point")
                constants.append(("zero_point", np.uint8(zero_point)))
            m = model([quantize(), *nodes], [("x", TensorProto.FLOAT, [3, None, 12])], [("p_y", TensorProto.FLOAT, None)], constants).SerializeToString()
            sums = (q.astype(np.int64) - (zero_point or 0)) @ w.astype(np.int64)
            assert_same(session(m, options=ROWS).run(None, {"x": x})[0], sums.astype(np.int32).astype(F) * (scale * w_scale) + bias)

    def test_shapes_that_alternate(self):
        m, constants = products([None, None, 24], 8, 9)
        s, random = session(m, options=ROWS), np.random.default_rng(8)
        for shape in [(1, 4, 24), (3, 2, 24), (1, 40, 24)] * 3:
            x = random.standard_normal(shape).astype(F)
            for given, of in zip(s.run(None, {"x": x}), constants):
                assert_same(given, expected_of(x, of))


if __name__ == "__main__":
    unittest.main()
