"""activation_scales=per_row: a row of x, of a convolution an image, has a scale and a zero point of its own, so that its
results do not depend on the others. Random graphs of such layers are in test_layers.py."""
import itertools
import unittest

import numpy as np
from layers import F, Layer, dynamic_quantize, integer_product, model, product, quantize, quantize_rows
from models import types_of
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, run, session
from test_provider import CONVOLUTION, X, log

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
ROWS = {"activation_scales": "per_row"}


def layer_of(name, columns, inner, w_type=np.int8):
    """Nodes behind quantize() to {name}_b, constants, and what they are to compute: in integers of 64 bits and one float
    operator after another."""
    random, info = np.random.default_rng(columns), np.iinfo(w_type)
    w = random.integers(info.min, info.max + 1, (inner, columns)).astype(w_type)
    scale, bias = random.uniform(0.5, 2, columns).astype(F), random.standard_normal(columns).astype(F)
    nodes = [*product(name, w=f"{name}_w", scale=f"{name}_scale"),
             helper.make_node("Add", [f"{name}_y", f"{name}_bias"], [f"{name}_b"])]

    def expected(x, zero_point=None, by_row=True):
        q, s, z = quantize_rows(x, False) if by_row else dynamic_quantize(x)
        sums = ((q.astype(np.int64) - (z if zero_point is None else zero_point)) @ w.astype(np.int64)).astype(np.int32)
        return sums.astype(F) * (s * scale) + bias

    return nodes, {f"{name}_w": w, f"{name}_scale": scale, f"{name}_bias": bias}, expected


def products(shape, *columns, **of):
    """A model of layers of one x, and what each is to compute."""
    parts = [layer_of(f"p{i}", n, shape[-1], **of) for i, n in enumerate(columns)]
    m = model([quantize(), *itertools.chain.from_iterable(nodes for nodes, _, _ in parts)], {"x": (FLOAT, shape)},
              {f"p{i}_b": (FLOAT, None) for i in range(len(columns))}, 16,
              {name: value for _, constants, _ in parts for name, value in constants.items()})
    return m, [expected for _, _, expected in parts]


class Rows(unittest.TestCase):
    def test_products_that_share_what_quantizes_are_one_node(self):
        """Also those whose x has one scale."""
        for w_type, options in itertools.product((np.int8, np.uint8), (ROWS, {})):
            m, layers = products(["b", "t", 96], 64, 65, 33, w_type=w_type)
            x = np.random.default_rng(1).standard_normal((3, 7, 96), F) * F([[[0.1]], [[1]], [[50]]])
            self.assertEqual(operators(m, {"x": x}, options=options), {NAME: 1})
            s = session(m, options=options)
            for x in (x, x[:1], x[:0], x[:, :1], x.repeat(3, 1)):
                for given, expected in zip(s.run(None, {"x": x}), layers, strict=True):
                    assert_same(given, expected(x, by_row=options is ROWS))

    def test_a_row_does_not_depend_on_the_others(self):
        """Permuted, padded, split, alone, and on several threads."""
        random = np.random.default_rng(2)
        m, layers = products([None, None, 200], 40, 300)
        x = (random.standard_normal((16, 30, 200)) * random.uniform(0.01, 100, (16, 30, 1))).astype(F)
        expected = [of(x) for of in layers]
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
            layer = Layer.convolution_of(random, group, inputs, filters, kernel, 5, (17, 19), is_open=True)
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
        m, layers = products([None, None, 50], 20, 70)
        x = random.standard_normal((2, 9, 50)).astype(F)
        expected = [of(x) for of in layers]
        x[0, 3, 7], x[1, 0, 49], x[1, 8] = np.nan, np.inf, -np.inf
        clean = np.ones((2, 9), bool)
        clean[0, 3] = clean[1, 0] = clean[1, 8] = False
        for given, y in zip(run(m, {"x": x}, options=ROWS), expected):
            assert_same(given[clean], y[clean])
            self.assertFalse(np.isfinite(given[~clean]).any())
        images = np.concatenate([X, X * F(np.nan), X * F(3)])
        given = run(CONVOLUTION, {"x": images}, options=ROWS)[0]
        for i in (0, 2):
            assert_same(given[i:i + 1], run(CONVOLUTION, {"x": images[i:i + 1]})[0])
        self.assertTrue(np.isnan(given[1]).all())

    def test_of_every_rank_without_elements_and_of_zeros(self):
        for shape in ([8], [5, 8], [2, 3, 8], [2, 1, 3, 8], [2, 1, 1, 3, 8], [0, 8], [2, 0, 8], [3, 0], [2, 3, 0], [4, 1]):
            for columns in (1, 17):
                m, (expected,) = products(shape, columns)
                x = np.random.default_rng(5).standard_normal(shape).astype(F)
                with self.subTest(shape=shape, columns=columns):
                    self.assertEqual(operators(m, {"x": x}, options=ROWS), {NAME: 1})
                    assert_same(run(m, {"x": x}, options=ROWS)[0], expected(x))
                    if x.ndim > 1 and x.size:
                        x[1] = 0
                        assert_same(run(m, {"x": x}, options=ROWS)[0], expected(x))

    def test_per_tensor_is_the_default(self):
        m, _ = products([4, 32], 16)
        x = np.random.default_rng(6).standard_normal((4, 32)).astype(F) * F([[1], [2], [3], [4]])
        by_tensor = [run(m, {"x": x}, options=options)[0] for options in ({}, {"activation_scales": "per_tensor"})]
        assert_same(*by_tensor)
        self.assertFalse(np.array_equal(by_tensor[0], run(m, {"x": x}, options=ROWS)[0]))

    def test_what_others_read_keeps_one_scale(self):
        """And the results are those without the option."""
        (nodes, constants, _), (second, more, _) = layer_of("p", 9, 12), layer_of("q", 5, 12)
        conv = [*integer_product(["x_q", "cw", "x_z"], "c_", "ConvInteger"), helper.make_node("Mul", ["c_f", "x_s"], ["c_y"])]
        reshape = helper.make_node("Reshape", ["x_q", "flat"], ["r"], "reshape")
        for reason, shape, others, outputs, values in (
                ("'x_q' is read outside of the graph", [4, 12], [], {"x_q": (UINT8, None)}, {}),
                ("node 'reshape' (Reshape) reads it, which takes no scales of rows", [4, 12], [reshape], {"r": (UINT8, None)},
                 {"flat": np.int64([-1])}),
                ("its scale does not multiply the sums of node 'q_product' (MatMulInteger)", [4, 12], second[:1],
                 {"q_sums": (TensorProto.INT32, None)}, {"q_w": more["q_w"]}),
                ("node 'c_product' (ConvInteger) and node 'p_product' (MatMulInteger) differ in what a row is", [2, 3, 4, 12], conv,
                 {"c_y": (FLOAT, None)}, {"cw": np.ones((2, 3, 1, 1), np.uint8)})):
            with self.subTest(reason=reason):
                m = model([quantize(), *nodes, *others], {"x": (FLOAT, shape)}, {"p_b": (FLOAT, None)} | outputs, 16,
                          constants | values)
                self.assertIn(f"keeps one scale of 'x_dql' (DynamicQuantizeLinear): {reason}", log(m, claim="all", **ROWS))
                x = np.random.default_rng(7).standard_normal(shape).astype(F)
                by_tensor, by_row = (run(m, {"x": x}, options={"claim": "all", **options}) for options in ({}, ROWS))
                for given, expected in zip(by_row, by_tensor, strict=True):
                    assert_same(given, expected)

    def test_what_a_layer_has_from_elsewhere_keeps_one_scale(self):
        """x, or its zero point. The zero point of `cycle` is made of another layer's result."""
        random = np.random.default_rng(9)
        values = {"x": random.standard_normal((4, 12)).astype(F), "u": random.standard_normal((4, 12)).astype(F),
                  "bytes": random.integers(0, 256, (4, 12)).astype(np.uint8), "zero": np.array(7, np.uint8)}
        second, more, _ = layer_of("r", 5, 12)
        zero = [helper.make_node("ReduceMax", ["r_b"], ["r_max"], "max", keepdims=0),
                helper.make_node("Cast", ["r_max"], ["cycle"], "zero", to=UINT8)]
        for x, zero_point, inputs, before, after in (
                ("x_q", "zero", ["x", "zero"], [], []), ("bytes", "zero", ["x", "bytes", "zero"], [], []),
                ("bytes", "zero", ["x", "bytes", "zero"], [], second), ("u_q", "u_z", ["x", "u"], [quantize("u")], []),
                ("x_q", "cycle", ["x"], [*second, *zero], [])):
            nodes, constants, _ = layer_of("p", 9, 12)
            nodes[0].input[0], nodes[0].input[2] = x, zero_point
            given = {name: values[name] for name in inputs}
            m = model([quantize(), *before, *nodes, *after], types_of(given),
                      {"p_b": (FLOAT, None)} | ({"r_b": (FLOAT, None)} if after else {}), 16, constants | more)
            with self.subTest(x=x, zero_point=zero_point, inputs=inputs):
                by_row, by_tensor = (run(m, given, options=options) for options in (ROWS, {}))
                for y, expected in zip(by_row, by_tensor, strict=True):
                    assert_same(y, expected)

    def test_a_zero_point_that_is_left_out_or_constant(self):
        x = np.random.default_rng(10).standard_normal((3, 2, 12)).astype(F) * F([[[1], [9]]])
        for zero_point, inputs in ((0, []), (3, ["zero_point"])):
            nodes, constants, expected = layer_of("p", 9, 12)
            nodes[0].input[2:] = inputs
            m = model([quantize(), *nodes], {"x": (FLOAT, [3, None, 12])}, {"p_b": (FLOAT, None)}, 16,
                      constants | {"zero_point": np.uint8(zero_point)})
            for options in (ROWS, {}):
                self.assertEqual(operators(m, {"x": x}, options=options), {NAME: 1})
                assert_same(run(m, {"x": x}, options=options)[0], expected(x, zero_point, options is ROWS))

    def test_shapes_that_alternate(self):
        m, layers = products([None, None, 24], 8, 9)
        s, random = session(m, options=ROWS), np.random.default_rng(8)
        for shape in [(1, 4, 24), (3, 2, 24), (1, 40, 24)] * 3:
            x = random.standard_normal(shape).astype(F)
            for given, expected in zip(s.run(None, {"x": x}), layers, strict=True):
                assert_same(given, expected(x))


if __name__ == "__main__":
    unittest.main()
