"""Products whose y is split into heads, and whose x joins them: numpy's matmul in int64, then each operator by itself."""
import os
import unittest

import numpy as np
from layers import F, dynamic_quantize, integer_product, model, product, quantize, quantize_rows
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, run, run_at_the_same_time, session

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261129"))
FLOAT, ALL = TensorProto.FLOAT, {"claim": "all"}
SIZES = (1, 8, 20, 32, 64, 80)
ORDERS = ([0, 2, 1, 3], [0, 2, 3, 1])
node = helper.make_node


def matmul(x, w, by_row=False):
    """x: quantized with one scale or one for each row. The sums, less x's zero point, as floats, and the scale."""
    q, scale, zero_point = quantize_rows(x, False) if by_row else dynamic_quantize(x)
    return ((q.astype(np.int64) - np.int64(zero_point)) @ w.astype(np.int64)).astype(np.int32).astype(F), scale


class Heads:
    """Heads that are joined, a product, and its y split again, each if it is wanted."""

    def __init__(self, random, heads, size, *, joins=(3, 16), order=None, steps=(), to=None, joined=None):
        """joins: heads and their size in x, or None. to, joined: the shapes that Reshape has."""
        self.heads, self.size, self.order, self.joins, self.steps = heads, size, order, joins, steps
        self.inner, self.columns = joins[0] * joins[1] if joins else 48, heads * size
        self.constants = {"w": random.integers(-128, 128, (self.inner, self.columns)).astype(np.int8),
                          "scale": random.standard_normal(self.columns).astype(F),
                          "a": random.standard_normal(self.columns).astype(F),
                          "to": np.array(to or [0, 0, heads, size]), "joined": np.array(joined or [0, 0, self.inner])}
        self.nodes, x = [], "x"
        if joins:
            self.nodes = [node("Transpose", ["x"], ["moved"], perm=[0, 2, 1, 3]), node("Reshape", ["moved", "joined"], ["j"])]
            x = "j"
        self.nodes += [quantize(x), *product("t", x)]
        y = "t_y"
        for i, step in enumerate(steps):
            self.nodes.append(node(step, [y, *(["a"] if step in ("Add", "PRelu") else [])], [f"s{i}"]))
            y = f"s{i}"
        self.before = y
        if order:
            self.nodes += [node("Reshape", [y, "to"], ["r"]), node("Transpose", ["r"], ["y"], perm=order)]
            y = "y"
        self.y = y

    def model(self, batch="b", rows="s", *others, **inputs):
        used = {i for n in self.nodes for i in n.input}
        shape = [batch, self.joins[0], rows, self.joins[1]] if self.joins else [batch, rows, self.inner]
        return model(self.nodes, {"x": (FLOAT, shape), **inputs}, {name: (FLOAT, None) for name in (self.y, *others)}, 17,
                     {n: v for n, v in self.constants.items() if n in used})

    def draw_x(self, random, batch, rows):
        return random.standard_normal((batch, self.joins[0], rows, self.joins[1]) if self.joins else (batch, rows, self.inner)).astype(F)

    def product(self, x, by_row=False):
        if self.joins:
            x = x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], self.inner)
        sums, scale = matmul(x, self.constants["w"], by_row)
        y = sums * (scale * self.constants["scale"])
        for step in self.steps:
            a = self.constants["a"]
            y = {"Add": lambda: y + a, "Relu": lambda: np.maximum(y, F(0)), "PRelu": lambda: np.where(y < 0, y * a, y)}[step]()
        return y

    def expected(self, x, by_row=False):
        y = self.product(x, by_row)
        return y.reshape(*y.shape[:2], self.heads, self.size).transpose(self.order) if self.order else y


class HeadsOfProducts(unittest.TestCase):
    def test_random_heads(self):
        for i in range(160):
            random = np.random.default_rng([SEED, i])
            choose = lambda of: of[random.integers(len(of))]
            heads, size = int(random.integers(1, 6)), choose(SIZES)
            of = Heads(random, heads, size, order=choose([*ORDERS, *ORDERS, None]),
                       joins=choose([None, (1, 40), (5, 8), (3, 32), (2, 64), (2, 80), (7, 3)]),
                       steps=choose([(), ("Add",), ("Add", "Relu"), ("PRelu", "Add")]))
            m = of.model()
            by_row = random.random() < 0.4
            options = {**ALL, "activation_scales": "per_row" if by_row else "per_tensor"}
            s = session(m, options=options, threads=1 + i % 4, spins=False)
            with self.subTest(i=i, heads=heads, size=size, joins=of.joins, order=of.order, by_row=by_row):
                x = of.draw_x(random, 2, 3)
                self.assertEqual(operators(m, {"x": x}, options=options), {NAME: 1})
                for batch, rows in ((1, 1), (int(random.integers(1, 5)), int(random.integers(1, 70))), (2, 130)):
                    x = of.draw_x(random, batch, rows)
                    assert_same(s.run(None, {"x": x})[0], of.expected(x, by_row))

    def test_layers_of_one_x(self):
        """Query, key, whose heads are transposed, and value: one node has all."""
        random = np.random.default_rng(1)
        parts = [Heads(random, 4, 32, joins=None, order=order, steps=("Add",)) for order in (ORDERS[0], ORDERS[1], ORDERS[0])]
        nodes, constants = [quantize()], {}
        for i, part in enumerate(parts):
            rename = lambda name, i=i: name if name in ("x_q", "x_s", "x_z") or not name else f"{name}_{i}"
            nodes += [node(n.op_type, [*map(rename, n.input)], [*map(rename, n.output)],
                           **{a.name: helper.get_attribute_value(a) for a in n.attribute}) for n in part.nodes[1:]]
            constants |= {f"{name}_{i}": value for name, value in part.constants.items() if name != "joined"}
        m = model(nodes, {"x": (FLOAT, ["b", "s", 48])}, {f"y_{i}": (FLOAT, None) for i in range(3)}, 17, constants)
        for threads in (1, 3):
            for by_row in (False, True):
                options = {"activation_scales": "per_row"} if by_row else {}
                x = parts[0].draw_x(random, 2, 77)
                self.assertEqual(operators(m, {"x": x}, options=options), {NAME: 1})
                for given, part in zip(run(m, {"x": x}, threads=threads, options=options), parts, strict=True):
                    assert_same(given, part.expected(x, by_row))

    def test_residuals_behind_joined_heads(self):
        """Also of a batch of 1 that the sum repeats, and of rows that it repeats."""
        random = np.random.default_rng(2)
        of = Heads(random, 1, 24)
        of.nodes.append(node("Add", ["t_y", "other"], ["sum"]))
        of.y = "sum"
        m = of.model(other=(FLOAT, ["n", "t", 24]))
        x = of.draw_x(random, 1, 5)
        self.assertEqual(operators(m, {"x": x, "other": np.ones((1, 5, 24), F)}), {NAME: 1})
        for batch, rows, shape in ((2, 5, (2, 5, 24)), (1, 5, (3, 5, 24)), (2, 1, (2, 9, 24)), (2, 7, (1, 1, 24)), (1, 1, (3, 4, 24))):
            x, other = of.draw_x(random, batch, rows), random.standard_normal(shape).astype(F)
            with self.subTest(batch=batch, rows=rows, shape=shape):
                assert_same(run(m, {"x": x, "other": other})[0], of.product(x) + other)

    def test_shapes_that_say_the_same(self):
        """0, -1 and numbers where they are known, in any order that leaves the rows as they are."""
        random = np.random.default_rng(3)
        for batch, rows, to in (("b", "s", [0, 0, -1, 8]), ("b", "s", [0, 0, 6, -1]), ("b", "s", [0, -1, 6, 8]), ("b", "s", [-1, 0, 6, 8]),
                                (2, "s", [2, -1, 6, 8]), (2, 5, [2, 5, 6, 8]), ("b", 5, [-1, 5, 6, 8])):
            of = Heads(random, 6, 8, order=ORDERS[0], to=to)
            x = of.draw_x(random, 2, 5)
            with self.subTest(to=to, batch=batch, rows=rows):
                self.assertEqual(operators(of.model(batch, rows), {"x": x}), {NAME: 1})
                assert_same(run(of.model(batch, rows), {"x": x})[0], of.expected(x))
        for batch, rows, joined in (("b", "s", [0, 0, -1]), ("b", "s", [0, -1, 48]), ("b", 5, [-1, 5, 48]), (2, 5, [2, 5, 48])):
            of = Heads(random, 6, 8, order=ORDERS[0], joined=joined)
            x = of.draw_x(random, 2, 5)
            with self.subTest(joined=joined, batch=batch, rows=rows):
                self.assertEqual(operators(of.model(batch, rows), {"x": x}), {NAME: 1})
                assert_same(run(of.model(batch, rows), {"x": x})[0], of.expected(x))

    def left(self, of, x, expected, nodes, *model_of):
        m = of.model(*model_of)
        self.assertEqual(operators(m, {"x": x}), {NAME: 1, **nodes})
        for given, y in zip(run(m, {"x": x}), expected, strict=True):
            assert_same(given, y)

    def test_what_is_left(self):
        random = np.random.default_rng(4)
        both = {"Reshape": 1, "Transpose": 1}
        of = Heads(random, 6, 8, joins=None, order=ORDERS[0])
        x = of.draw_x(random, 2, 6)
        y = of.product(x)
        with self.subTest("y is an output of the graph"):
            self.left(of, x, (of.expected(x), y), both, "b", "s", "t_y")
        with self.subTest("so are its heads"):
            self.left(of, x, (of.expected(x), y.reshape(2, 6, 6, 8)), both, "b", "s", "r")
        with self.subTest("another node takes y"):
            of.nodes.append(node("Sin", ["t_y"], ["sin"]))
            of.y, of.order = "y", ORDERS[0]
            m = of.model("b", "s", "sin")
            self.assertEqual(operators(m, {"x": x}), {NAME: 1, **both, "Sin": 1})
            assert_same(run(m, {"x": x})[0], of.expected(x))
        for name, to, order in (("other heads first", [0, 0, 6, 8], [2, 0, 1, 3]), ("rows that merge", [1, -1, 6, 8], ORDERS[0]),
                                ("rows that are split", [0, -1, 3, 8], ORDERS[1]), ("columns of rows that are split", [-1, 2, 6, 24], ORDERS[0])):
            of = Heads(random, 6, 8, joins=None, order=order, to=to)
            shape = [e or given for e, given in zip(to, (2, 6, 0, 0))]
            with self.subTest(name):
                self.left(of, x, [of.product(x).reshape(shape).transpose(order)], both)
        with self.subTest("a shape of the run"):
            of = Heads(random, 6, 8, joins=None, order=ORDERS[0])
            del of.constants["to"]
            m = of.model(to=(TensorProto.INT64, [4]))
            inputs = {"x": x, "to": np.array([0, 0, 6, 8])}
            self.assertEqual(operators(m, inputs), {NAME: 1, **both})
            assert_same(run(m, inputs)[0], of.expected(x))

    def test_joined_heads_that_are_left(self):
        random = np.random.default_rng(5)
        both = {"Reshape": 1, "Transpose": 1}
        of = Heads(random, 1, 24)
        x = of.draw_x(random, 2, 6)
        joined = x.transpose(0, 2, 1, 3).reshape(2, 6, 48)
        with self.subTest("an output of the graph"):
            self.left(of, x, (of.product(x), joined), both, "b", "s", "j")
        with self.subTest("bytes that another node takes"):
            of.nodes.append(node("Cast", ["j_q"], ["bytes"], to=FLOAT))
            m = of.model("b", "s", "bytes")
            self.assertEqual(operators(m, {"x": x}), {NAME: 2, **both, "Cast": 1})
            for given, expected in zip(run(m, {"x": x}), (of.product(x), dynamic_quantize(joined)[0].astype(F)), strict=True):
                assert_same(given, expected)
        with self.subTest("rows that merge"):
            of = Heads(random, 1, 24, joined=[1, -1, 48])
            y = of.product(x).reshape(1, 12, 24)
            self.left(of, x, [y], both)

    def test_heads_that_do_not_fit(self):
        """Where their number is known when it runs alone."""
        of = Heads(np.random.default_rng(6), 1, 24)
        used = {i for n in of.nodes for i in n.input}
        m = model(of.nodes, {"x": (FLOAT, ["b", "h", "s", "d"])}, {"t_y": (FLOAT, None)}, 17,
                  {n: v for n, v in of.constants.items() if n in used})
        x = of.draw_x(np.random.default_rng(7), 2, 5)
        self.assertEqual(operators(m, {"x": x}), {NAME: 1})
        assert_same(run(m, {"x": x})[0], of.product(x))
        with self.assertRaisesRegex(Exception, "A: expected 48 columns, as many as B has rows, given heads of shape 2x3x5x15"):
            run(m, {"x": np.ones((2, 3, 5, 15), F)})

    def test_shapes_without_elements(self):
        of = Heads(np.random.default_rng(8), 4, 8, order=ORDERS[1], to=[0, 0, 4, 8])
        s = session(of.model())
        for batch, rows in ((0, 3), (2, 0)):
            self.assertEqual(s.run(None, {"x": np.ones((batch, 3, rows, 16), F)})[0].shape, (batch, 4, 8, rows))

    def test_bytes(self):
        random = np.random.default_rng(9)
        of = Heads(random, 3, 20)
        of.constants |= {"y_s": F(0.5), "y_z": np.int8(3)}
        of.nodes += [node("QuantizeLinear", ["t_y", "y_s", "y_z"], ["codes"]), node("Reshape", ["codes", "to"], ["r"]),
                     node("Transpose", ["r"], ["h"], perm=ORDERS[1]), node("Cast", ["h"], ["y"], to=FLOAT)]
        of.y = "y"
        x = of.draw_x(random, 2, 33)
        codes = np.clip(np.rint(of.product(x) / F(0.5)) + 3, -128, 127).astype(F)
        self.assertEqual(operators(of.model(), {"x": x}), {NAME: 1, "Cast": 1})
        assert_same(run(of.model(), {"x": x})[0], codes.reshape(2, 33, 3, 20).transpose(ORDERS[1]))

    def test_a_zero_point_of_bytes(self):
        """x comes as bytes; its product is split alike."""
        random = np.random.default_rng(10)
        of = Heads(random, 3, 20, joins=None)
        x = random.integers(0, 256, (2, 33, 48)).astype(np.uint8)
        nodes = [*integer_product(["x", "w", "z"]), node("Mul", ["f", "scale"], ["m"]), node("Reshape", ["m", "to"], ["r"]),
                 node("Transpose", ["r"], ["y"], perm=ORDERS[0])]
        m = model(nodes, {"x": (TensorProto.UINT8, ["b", "s", 48])}, {"y": (FLOAT, None)}, 17,
                  {**{n: of.constants[n] for n in ("w", "scale", "to")}, "z": np.uint8(77)})
        sums = ((x.astype(np.int64) - 77) @ of.constants["w"].astype(np.int64)).astype(F)
        self.assertEqual(operators(m, {"x": x}), {NAME: 1})
        assert_same(run(m, {"x": x})[0], (sums * of.constants["scale"]).reshape(2, 33, 3, 20).transpose(ORDERS[0]))

    def test_many_threads(self):
        random = np.random.default_rng(11)
        of = Heads(random, 4, 32, order=ORDERS[0])
        cases = []
        for batch, rows in ((1, 1), (2, 40), (3, 7), (1, 128)):
            x = of.draw_x(random, batch, rows)
            cases.append((x, of.expected(x)))
        run_at_the_same_time(session(of.model(), threads=2), cases)


if __name__ == "__main__":
    unittest.main()
