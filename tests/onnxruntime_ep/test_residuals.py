"""Residuals and normalizations that belong to layers have the bits of their nodes computed one by one: an Add as ONNX defines
it, a normalization as src/layers/epilogue/isa/normalize.hpp does, whose bound the unit tests hold."""
import itertools
import math
import os
import unittest

import numpy as np
from layers import F, dynamic_quantize, model, product, quantize
from models import types_of
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, run, session
from test_provider import REFUSALS, TELLS_SCALARS, log

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261128"))
GRAPHS = 150
FLOAT = TensorProto.FLOAT
OPSET = 17
node = helper.make_node


def row_sums(x):
    """In f64: 16 partial sums, then halves."""
    parts = np.zeros((*x.shape[:-1], 16))
    for begin in range(0, x.shape[-1], 16):
        part = x[..., begin:begin + 16]
        parts[..., :part.shape[-1]] += part
    while parts.shape[-1] > 1:
        parts = parts[..., :parts.shape[-1] // 2] + parts[..., parts.shape[-1] // 2:]
    return parts


def normalize(x, scale, bias=None, *, epsilon=1e-5, has_mean=True):
    mean = row_sums(x.astype(np.float64)) / x.shape[-1] if has_mean else np.zeros((*x.shape[:-1], 1))
    high = mean.astype(F)
    differences = (x - high) - (mean - high).astype(F)
    variance = row_sums(differences.astype(np.float64) ** 2) / x.shape[-1]
    y = differences * (1 / np.sqrt(variance + np.float64(F(epsilon)))).astype(F)
    return y * scale if bias is None else (y.astype(np.longdouble) * scale + bias).astype(F)  # rounded once


def exactly(x, scale, bias, epsilon):
    """LayerNormalization in the widest floats."""
    x = x.astype(np.longdouble)
    differences = x - x.mean(-1, keepdims=True)
    return differences / np.sqrt((differences ** 2).mean(-1, keepdims=True) + np.longdouble(F(epsilon))) * scale + bias


def skip(x, skipped, scale, *parameters, has_mean, epsilon=1e-12):
    """parameters: of SkipLayerNormalization the bias, then what is added to the sum."""
    bias, offset = (*parameters, None, None)[:2] if has_mean else (None, (*parameters, None)[0])
    total = x + skipped if offset is None else x + skipped + offset
    return normalize(total, scale, bias, epsilon=epsilon, has_mean=has_mean), None, None, total


def matmul_integer(a, b, a_zero, b_zero=0):
    return ((a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - np.int64(b_zero))).astype(np.int32)


def in_f64(f):
    """A function of reals, rounded once."""
    return lambda x: np.vectorize(f, [np.float64])(x.astype(np.float64)).astype(F)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def gelu_by_tanh(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


# What an operator makes of its inputs, by ONNX's documents and those of ONNX Runtime's operators.
RULES = {
    "Add": lambda a, b: a + b,
    "Cast": lambda x, to: x.astype(F),
    "Div": lambda a, b: a / b,
    "DynamicQuantizeLinear": dynamic_quantize,
    "Erf": in_f64(math.erf),
    "FastGelu": in_f64(gelu_by_tanh),
    "Gelu": in_f64(lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2)))),
    "LayerNormalization": lambda *x, axis=-1, **of: normalize(*x, **of),
    "MatMulInteger": matmul_integer,
    "Mul": lambda a, b: a * b,
    "QuickGelu": in_f64(lambda x: x * sigmoid(1.702 * x)),
    "Relu": lambda x: np.maximum(x, F(0)),
    "Sigmoid": in_f64(sigmoid),
    "SimplifiedLayerNormalization": lambda *x, axis=-1, **of: normalize(*x, **of, has_mean=False),
    "SkipLayerNormalization": lambda *x, **of: skip(*x, **of, has_mean=True),
    "SkipSimplifiedLayerNormalization": lambda *x, **of: skip(*x, **of, has_mean=False),
    "Tanh": in_f64(math.tanh),
}
MICROSOFT = ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Gelu", "FastGelu", "QuickGelu")


def skipping(kind, inputs, outputs):
    return node(kind, inputs, outputs, domain="com.microsoft")


def evaluate(nodes, values):
    """All values, node by node."""
    values = dict(values)
    for n in nodes:
        of = {a.name: helper.get_attribute_value(a) for a in n.attribute}
        results = RULES[n.op_type](*(values[i] if i else None for i in n.input), **of)
        for name, value in zip(n.output, results if isinstance(results, tuple) else (results,)):
            values[name] = value
    return values


class Blocks:
    """A graph of layers, each of which may add what came before, or an input, and be normalized, or end in an activation, whose
    result is an output: it is a few units in the last place off.

    is_open: whether the shapes but the columns are known when it runs only; then a sum may have more rows than each of its
    summands."""
    LEADING = ((2, 3), (3,), (1, 3), (2, 1), (4, 2, 3), (1,), (), (2, 3))
    COLUMNS = (1, 5, 16, 40, 65)
    ACTIVATIONS = ("Erf", "Tanh", "Sigmoid", "Gelu", "FastGelu", "QuickGelu", "SiLU", "exported Gelu")

    def __init__(self, random, is_open):
        self.random, self.is_open = random, is_open
        self.nodes, self.constants, self.inputs = [], {}, {}
        self.pool = []  # (name, leading dimensions, columns)
        self.activations = {}  # of what they give: what they take
        self.adds = {}  # of each value that a layer has quantized: whether one of these adds a residual; such a one shares no x
        self._input("x", self._choose(self.LEADING[:5]), self._choose((4, 30)))
        for _ in range(random.integers(2, 6)):
            self._add_layer()
        taken = {i for n in self.nodes for i in n.input}
        self.outputs = [name for name, *_ in self.pool if name not in self.inputs and (name not in taken or self._coin(0.1))]
        self.outputs += self.activations

    def _coin(self, chance=0.5):
        return self.random.random() < chance

    def _choose(self, of):
        return of[self.random.integers(len(of))]

    def _input(self, name, leading, columns):
        self.inputs[name] = (*leading, columns)
        self.pool.append((name, leading, columns))

    def _floats(self, name, columns, low=-1):
        self.constants[name] = self.random.uniform(low, 1, columns).astype(F)
        return name

    def _node(self, kind, inputs, outputs, **attributes):
        domain = "com.microsoft" if kind in MICROSOFT else ""
        self.nodes.append(helper.make_node(kind, inputs, outputs, f"{outputs[0]}_{kind}", domain=domain, **attributes))
        return outputs[0]

    def _more(self):
        self._input(f"x{len(self.pool)}", self._choose(self.LEADING[:5]), self._choose((4, 30)))
        return self.pool[-1:]

    def _add_layer(self):
        p = f"n{len(self.nodes)}"
        x, leading, inner = self._choose([v for v in self.pool if len(v[1]) > 0 and not self.adds.get(v[0])] or self._more())
        columns = self._choose([v[2] for v in self.pool]) if self._coin() else self._choose(self.COLUMNS)
        is_shared = x in self.adds
        if not is_shared:
            self.nodes.append(quantize(x))
        self.constants[f"{p}_w"] = self.random.integers(-128, 128, (inner, columns)).astype(np.int8)
        self._floats(f"{p}_scale", columns)
        self.nodes += product(p, x, w=f"{p}_w", scale=f"{p}_scale")
        y = f"{p}_y"
        if self._coin(0.7):
            bias = self._floats(f"{p}_b", columns)
            y = self._node("Add", [y, bias] if self._coin() else [bias, y], [f"{p}_biased"])
        residual = self._residual(p, leading, columns) if self._coin(0.7) and not is_shared else None
        self.adds[x] = residual is not None
        is_activated = self._coin(0.25)
        if is_activated:
            self.constants[f"{p}_scale"] *= F(0.02)
        form = None if is_activated else self._choose((None, "Layer", "Simplified"))
        skips = form and residual and self._coin()
        if residual and not skips:
            y = self._node("Add", [y, residual] if self._coin() else [residual, y], [f"{p}_sum"])
        if residual:
            leading = np.broadcast_shapes(leading, next(v[1] for v in self.pool if v[0] == residual))
        if not skips and self._coin(0.2):
            y = self._node("Relu", [y], [f"{p}_relu"])
        if form:
            y = self._add_normalization(p, y, residual if skips else None, form, leading, columns)
        if is_activated:
            self.activations[self._activate(p, y, self._choose(self.ACTIVATIONS))] = y
        else:
            self.pool.append((y, tuple(leading), columns))

    def _activate(self, p, x, kind):
        y = f"{p}_activated"
        if kind == "SiLU":
            self._node("Sigmoid", [x], [f"{p}_sigmoid"])
            return self._node("Mul", [x, f"{p}_sigmoid"] if self._coin() else [f"{p}_sigmoid", x], [y])
        if kind != "exported Gelu":
            return self._node(kind, [x], [y])
        self.constants |= {"root": F(math.sqrt(2)), "one": F(1), "half": F(0.5)}
        self._node("Div", [x, "root"], [f"{p}_scaled"])
        self._node("Erf", [f"{p}_scaled"], [f"{p}_erf"])
        self._node("Add", [f"{p}_erf", "one"], [f"{p}_more"])
        self._node("Mul", [x, f"{p}_more"], [f"{p}_twice"])
        return self._node("Mul", [f"{p}_twice", "half"], [y])

    def _residual(self, p, leading, columns):
        """None where no value has a fitting shape."""
        def fits(v):
            try:
                return v[2] == columns and ((self.is_open and len(v[1]) <= len(leading)) or np.broadcast_shapes(v[1], leading) == tuple(leading))
            except ValueError:
                return False

        def broadcasts(v):
            try:
                return np.broadcast_shapes(v[1], leading) is not None
            except ValueError:
                return False

        if self._coin(0.4):
            self._input(f"{p}_r", self._choose(self.LEADING), columns)
        found = [v for v in self.pool if broadcasts(v) and fits(v)]
        return self._choose(found)[0] if found else None

    def _add_normalization(self, p, y, residual, form, leading, columns):
        scale = self._floats(f"{p}_gamma", columns)
        has_bias = form == "Layer" and self._coin()
        bias = [self._floats(f"{p}_beta", columns)] if has_bias else []
        epsilon = {"epsilon": float(self._choose((1e-12, 1e-5, 0.25)))} if self._coin() else {}
        result = f"{p}_normal"
        if residual is None:
            if self._coin():
                self.pool.append((y, tuple(leading), columns))
            return self._node(f"{form}LayerNormalization".removeprefix("Layer"), [y, scale, *bias], [result], axis=-1, **epsilon)
        offset = [self._floats(f"{p}_offset", columns)] if self._coin() else []
        if form == "Layer" and offset and not bias:
            bias = [""]
        total = [f"{p}_total"] if self._coin() else []
        if total:
            self.pool.append((total[0], tuple(leading), columns))
        name = "SkipLayerNormalization" if form == "Layer" else "SkipSimplifiedLayerNormalization"
        has_rows_of_y = any(v[:2] == (residual, tuple(leading)) for v in self.pool)  # ONNX Runtime takes the shape of the first
        return self._node(name, [*((residual, y) if has_rows_of_y and self._coin() else (y, residual)), scale, *bias, *offset],
                          [result, *(["", "", *total] if total else [])], **epsilon)

    def model(self):
        shapes = {name: (FLOAT, [None] * (len(shape) - 1) + [shape[-1]] if self.is_open else shape) for name, shape in self.inputs.items()}
        return model(self.nodes, shapes, {name: (FLOAT, None) for name in self.outputs}, OPSET, self.constants)

    def draw(self):
        return {name: self.random.standard_normal(shape).astype(F) for name, shape in self.inputs.items()}


class Residuals(unittest.TestCase):
    def test_random_graphs(self):
        for i in range(GRAPHS):
            blocks = Blocks(np.random.default_rng([SEED, i]), is_open=i % 2 == 0)
            with self.subTest(i=i):
                inputs = blocks.draw()
                expected = evaluate(blocks.nodes, inputs | blocks.constants)
                s = session(blocks.model(), options={"claim": "all"}, threads=1 + i % 3, spins=False)
                for name, given in zip(blocks.outputs, s.run(None, inputs), strict=True):
                    if name in blocks.activations:
                        x, y = np.abs(expected[blocks.activations[name]]), expected[name]
                        self.assertTrue((np.abs(given.astype(np.float64) - y) <= 2.0 ** -21 * np.maximum(x, np.abs(y))).all(), name)
                    else:
                        assert_same(given, expected[name])

    def one(self, *behind, shape=(2, 3, 8), residual=(2, 3, 5), outputs=("y",), opset=OPSET, is_open=False):
        """x by w, its y t_y, with nodes behind it that may take the residual r and the parameters a, b and c of its columns."""
        random = np.random.default_rng(3)
        self.constants = {"w": random.integers(-128, 128, (shape[-1], 5)).astype(np.int8), "scale": F(0.01),
                          **{name: random.uniform(-1, 1, 5).astype(F) for name in "abc"}}
        self.values = {"x": random.standard_normal(shape).astype(F), "r": random.standard_normal(residual).astype(F)}
        self.nodes = [quantize(), *product("t"), *behind]
        used = {i for n in self.nodes for i in n.input}
        self.values = {name: value for name, value in self.values.items() if name in used}
        inputs = {name: (kind, [None] * (len(shape) - 1) + [shape[-1]] if is_open else shape)
                  for name, (kind, shape) in types_of(self.values).items()}
        return model(self.nodes, inputs, {name: (FLOAT, None) for name in outputs}, opset,
                     {name: value for name, value in self.constants.items() if name in used})

    def check(self, m, *outputs):
        """It is one node, and its results are those of its nodes."""
        self.assertEqual(operators(m, self.values), {NAME: 1})
        expected = evaluate(self.nodes, self.values | self.constants)
        for name, given in zip(outputs, run(m, self.values), strict=True):
            assert_same(given, expected[name])

    def test_each_form_is_one_node(self):
        add, layer = node("Add", ["r", "t_y"], ["s"]), node("LayerNormalization", ["s", "a", "b"], ["y"], axis=-1)
        self.check(self.one(add, layer), "y")
        self.check(self.one(add, layer, is_open=True), "y")
        self.check(self.one(add, layer, outputs=("s", "y")), "s", "y")
        self.check(self.one(add, node("LayerNormalization", ["s", "a"], ["y"], axis=2, epsilon=0.5)), "y")
        self.check(self.one(add, node("Relu", ["s"], ["y"])), "y")
        self.check(self.one(add, node("SimplifiedLayerNormalization", ["s", "a"], ["y"], axis=-1)), "y")
        self.check(self.one(node("LayerNormalization", ["t_y", "a", "b"], ["y"], axis=-1)), "y")
        for inputs in (["t_y", "r", "a", "b", "c"], ["r", "t_y", "a", "b"], ["t_y", "r", "a"], ["r", "t_y", "a", "", "c"]):
            self.check(self.one(skipping("SkipLayerNormalization", inputs, ["y", "", "", "s"]), outputs=("y", "s")), "y", "s")
        for inputs in (["t_y", "r", "a", "c"], ["r", "t_y", "a"]):
            self.check(self.one(skipping("SkipSimplifiedLayerNormalization", inputs, ["y", "", "", "s"]), outputs=("y", "s")), "y", "s")
        # Without ORT_DISABLE_ALL, which needs a kernel, ONNX Runtime may make others of it first.
        m = self.one(node("RMSNormalization", ["t_y", "a"], ["y"]), opset=23)
        self.assertEqual(operators(m, self.values), {NAME: 1})
        t = evaluate(self.nodes[:-1], self.values | self.constants)["t_y"]
        assert_same(run(m, self.values)[0], normalize(t, self.constants["a"], has_mean=False))

    def test_what_older_exporters_write_is_one_node(self):
        """ReduceMean, Sub, Pow ... of a residual, which both opsets write, and of Llama's norm."""
        constants = {"two": F(2), "one": F(1), "epsilon": F(1e-6), "axes": np.int64([-1])}
        for opset, has_mean in itertools.product((13, 18), (True, False)):
            axes = ([], {"axes": [-1]}) if opset == 13 else (["axes"], {})
            mean = lambda x, y: node("ReduceMean", [x, *axes[0]], [y], **axes[1])
            d = "d" if has_mean else "s"
            nodes = [node("Add", ["r", "t_y"], ["s"]), *([mean("s", "m"), node("Sub", ["s", "m"], ["d"])] if has_mean else []),
                     node("Pow", [d, "two"], ["p"]), mean("p", "v"), node("Add", ["v", "epsilon"], ["e"]), node("Sqrt", ["e"], ["root"]),
                     *([node("Div", [d, "root"], ["n"]), node("Mul", ["n", "a"], ["scaled"]), node("Add", ["scaled", "b"], ["y"])] if has_mean else
                       [node("Div", ["one", "root"], ["i"]), node("Mul", [d, "i"], ["n"]), node("Mul", ["a", "n"], ["y"])])]
            for outputs in (("y",), ("s", "y")):
                self.one(*nodes, outputs=outputs, opset=opset)  # sets the values and parameters
                used = {i for n in self.nodes for i in n.input}
                m = model(self.nodes, types_of(self.values), {name: (FLOAT, None) for name in outputs}, opset,
                          {name: value for name, value in (self.constants | constants).items() if name in used})
                with self.subTest(opset=opset, has_mean=has_mean, outputs=outputs):
                    self.assertEqual(operators(m, self.values), {NAME: 1})
                    behind = len(nodes) - 1
                    total = evaluate(self.nodes[:-behind], self.values | self.constants)["s"]
                    bias = self.constants["b"] if has_mean else None
                    expected = {"s": total, "y": normalize(total, self.constants["a"], bias, epsilon=1e-6, has_mean=has_mean)}
                    for name, given in zip(outputs, run(m, self.values), strict=True):
                        assert_same(given, expected[name])

    def test_summands_of_all_shapes(self):
        """What is unknown before it runs broadcasts either way, with as many dimensions as the product has; what is known, where
        the sum has the product's shape."""
        add = [node("Add", ["t_y", "r"], ["s"]), node("LayerNormalization", ["s", "a", "b"], ["y"], axis=-1)]
        shapes = [(8,), (3, 8), (1, 8), (2, 3, 8), (2, 1, 8), (1, 3, 8), (1, 1, 8), (2, 0, 8), (4, 1, 3, 8)]
        for x, r in itertools.product(shapes, [(*shape[:-1], 5) for shape in shapes]):
            if len(r) > len(x):
                continue
            with self.subTest(x=x, r=r):
                m = self.one(*add, shape=x, residual=r, is_open=True)
                try:
                    np.broadcast_shapes((*x[:-1], 5), r)
                except ValueError:
                    with self.assertRaisesRegex(REFUSALS, "node 't_product' .MatMulInteger.: expected what is added to its y of shape "
                                                          f"{'x'.join(map(str, (*x[:-1], 5)))} to broadcast with it, given shape {'x'.join(map(str, r))}"):
                        run(m, self.values)
                else:
                    self.check(m, "y")
        for r in ((5,), (3, 1), (2, 1, 5), (1,), *([()] if TELLS_SCALARS else [])):
            self.check(self.one(*add, residual=r), "y")

    def test_the_later_of_two_layers_takes_the_sum(self):
        """In both orders. Of one x they are one node, which adds nothing."""
        random = np.random.default_rng(4)
        for u, swap, form in itertools.product(("x", "u"), (False, True), ("sums", "scales")):
            x, u_values = random.standard_normal((2, 4, 8)).astype(F), random.standard_normal((2, 4, 8)).astype(F)
            values = {"x": x} if u == "x" else {"x": x, "u": u_values}
            w, w2 = random.integers(-128, 128, (2, 8, 5)).astype(np.int8)
            constants = {"w": w, "w2": w2, "scale": F(0.01), "scale2": F(0.02), "a": np.ones(5, F)}
            nodes = [quantize(), *([] if u == "x" else [quantize("u")]), *product("t", form=form), *product("v", u, w="w2", scale="scale2", form=form),
                     node("Add", ["v_y", "t_y"] if swap else ["t_y", "v_y"], ["s"]),
                     node("Relu", ["s"], ["y"])]
            m = model(nodes, types_of(values), {"y": (FLOAT, None)}, OPSET, constants)
            with self.subTest(u=u, swap=swap, form=form):
                self.assertEqual(operators(m, values), {NAME: 1, "Add": 1, "Relu": 1} if u == "x" else {NAME: 2})
                assert_same(run(m, values)[0], evaluate(nodes, values | constants)["y"])

    def test_a_layer_of_the_result_of_its_neighbour(self):
        """A residual that another layer of the same x gives, by way of other nodes: they are one node, which does not wait for itself."""
        random = np.random.default_rng(5)
        w = random.integers(-127, 128, (8, 5)).astype(np.int8)
        constants = {"w": w, "w2": -w, "scale": F(0.01), "scale2": F([0.01])}
        nodes = [quantize(), *product("t"), *product("v", w="w2", scale="scale2"), node("Abs", ["t_y"], ["magnitude"]), node("Add", ["v_y", "magnitude"], ["y"])]
        x = {"x": random.standard_normal((4, 8)).astype(F)}
        for scales in ("per_tensor", "per_row"):
            m = model(nodes, types_of(x), {"y": (FLOAT, None)}, OPSET, constants)
            y = run(m, x, options={"activation_scales": scales})[0]
            self.assertTrue((y[y != 0] > 0).all() and (y == 0).any() and (y > 0).any())  # |t| - t
            self.assertEqual(operators(m, x, options={"activation_scales": scales}), {NAME: 1, "Abs": 1, "Add": 1})

    def test_what_a_layer_does_not_add(self):
        """More dimensions than its own, or more rows than it is known to have; another node adds these."""
        for shape, r in (((None, 8), (None, None, 5)), ((None, 1, 8), (None, None, 5))):
            values = {"x": np.ones([n or 3 for n in shape], F), "r": np.ones([n or 3 for n in r], F)}
            self.one(node("Add", ["t_y", "r"], ["y"]))
            m = model(self.nodes, {"x": (FLOAT, shape), "r": (FLOAT, r)}, {"y": (FLOAT, None)}, OPSET,
                      {name: self.constants[name] for name in ("w", "scale")})
            self.assertEqual(operators(m, values), {NAME: 1, "Add": 1})
            assert_same(run(m, values)[0], evaluate(self.nodes, values | self.constants)["y"])

    def test_a_zero_point_that_is_known(self):
        """So that what quantizes x stays apart; the residual comes all the same."""
        for op, x, w in (("MatMulInteger", (2, 3, 8), "w"), ("ConvInteger", (2, 8, 5), "w3")):
            random = np.random.default_rng(11)
            nodes = [quantize(), *product("t", w=w, op=op), node("Add", ["t_y", "r"], ["y"])]
            nodes[1].input[2] = "zero_point"
            y = (*x[:-1], 5) if op == "MatMulInteger" else (2, 5, 5)
            values = {"x": random.standard_normal(x).astype(F), "r": random.standard_normal(y).astype(F)}
            constants = {w: random.integers(0, 256, (8, 5) if w == "w" else (5, 8, 1)).astype(np.uint8), "scale": F(0.01), "zero_point": np.uint8(3)}
            m = model(nodes, types_of(values), {"y": (FLOAT, None)}, OPSET, constants)
            for scales in ("per_tensor", "per_row"):
                for given, expected in zip(run(m, values, options={"activation_scales": scales}), run(m, values, provider=False, optimized=False), strict=True):
                    assert_same(given, expected)

    def test_the_scale_of_x_as_residual(self):
        self.check(self.one(node("Relu", ["t_y"], ["y"])), "y")
        m = self.one(node("Add", ["t_y", "x_s"], ["y"]))
        assert_same(run(m, self.values)[0], evaluate(self.nodes, self.values | self.constants)["y"])

    def test_weights_of_one_matrix_in_more_dimensions(self):
        """y has the dimensions that numpy.matmul gives it. Zero points may have these dimensions, too."""
        random = np.random.default_rng(13)
        matrix, zeros = random.integers(0, 256, (8, 5)).astype(np.uint8), random.integers(0, 256, 5).astype(np.uint8)
        shapes = itertools.product([(8,), (3, 8), (2, 3, 8), (4, 2, 3, 8), (1, 0, 8)], [(1, 8, 5), (1, 1, 8, 5)])
        for (x, w), kind in itertools.product(shapes, range(5)):
            zero = (np.uint8(3), np.uint8([[3]]), np.uint8([[[3]]]), zeros, zeros.reshape(*[1] * (len(w) - 1), 5))[kind]
            constants = {"w": matrix.reshape(w), "wz": zero, "scale": F(0.01), "b": F([1, 2, 3, 4, 5])}
            nodes = [quantize(), *product("t", zero_point="wz"), node("Add", ["t_y", "b"], ["u"]), node("Add", ["u", "r"], ["y"])]
            y = np.matmul(np.zeros(x), np.zeros(w)).shape
            values = {"x": random.standard_normal(x).astype(F), "r": random.standard_normal(y).astype(F)}
            for residual in (True, False):
                given = nodes if residual else nodes[:-1]
                feed = values if residual else {"x": values["x"]}
                m = model(given, types_of(feed), {"y" if residual else "u": (FLOAT, None)}, OPSET, constants)
                with self.subTest(x=x, w=w, zero=zero.shape, residual=residual):
                    self.assertEqual(operators(m, feed), {NAME: 1})
                    assert_same(run(m, feed)[0], evaluate(given, feed | constants)["y" if residual else "u"])

    def test_a_vector_by_weights_in_more_dimensions(self):
        """The dimension of 1 that the weights give y is the residual's first one, where that has more elements."""
        random = np.random.default_rng(14)
        constants = {"w": random.integers(-9, 9, (1, 8, 5)).astype(np.int8), "scale": F(0.01)}
        nodes = [quantize(), *product("t"), node("Add", ["t_y", "r"], ["y"])]
        for residual in ((3, 5), (1, 5), (5,), (2, 3, 5)):
            feed = {"x": random.standard_normal(8).astype(F), "r": random.standard_normal(residual).astype(F)}
            m = model(nodes, {"x": (FLOAT, None), "r": (FLOAT, residual)}, {"y": (FLOAT, None)}, OPSET, constants)
            with self.subTest(residual=residual):
                self.assertEqual(operators(m, feed), {NAME: 1})
                assert_same(run(m, feed)[0], evaluate(nodes, feed | constants)["y"])

    def test_a_convolution_adds_what_has_its_shape(self):
        random = np.random.default_rng(6)
        nodes = [quantize(), *product("t", op="ConvInteger"), node("Add", ["t_y", "r"], ["s"]), node("Relu", ["s"], ["y"])]
        constants = {"w": random.integers(0, 256, (5, 8, 1, 1)).astype(np.uint8), "scale": F(0.01)}
        for shape, is_taken in (((2, 5, 3, 4), True), ((3, 4), True), ((5, 1, 1), True), ((2, 5, 3, None), False), ((6, 2, 5, 3, 4), False)):
            r = random.standard_normal([4 if n is None else n for n in shape]).astype(F)
            values = {"x": random.standard_normal((2, 8, 3, 4)).astype(F), "r": r}
            m = model(nodes, types_of(values) | {"r": (FLOAT, shape)}, {"y": (FLOAT, None)}, OPSET, constants)
            q, s, z = dynamic_quantize(values["x"])
            sums = np.einsum("fc,nchw->nfhw", constants["w"][:, :, 0, 0].astype(np.int64), q.astype(np.int64) - z).astype(np.int32)
            with self.subTest(shape=shape):
                self.assertEqual(operators(m, values), {NAME: 1} if is_taken else {NAME: 1, "Add": 1, "Relu": 1})
                assert_same(run(m, values)[0], np.maximum(sums.astype(F) * (s * constants["scale"]) + r, F(0)))

    def test_weight_only_layers(self):
        """Whose products are those of the same layer without what is behind it."""
        random = np.random.default_rng(7)
        constants = {"w": random.integers(-128, 128, (33, 64)).astype(np.int8), "scale": random.uniform(0.01, 0.02, 33).astype(F),
                     **{name: random.uniform(-1, 1, 33).astype(F) for name in "ab"}}
        first = [node("DequantizeLinear", ["w", "scale"], ["wf"], axis=0), node("Gemm", ["x", "wf"], ["t_y"], transB=1)]
        behind = [node("Add", ["r", "t_y"], ["s"]), node("LayerNormalization", ["s", "a", "b"], ["y"], axis=-1)]
        options = {"claim": "all"}
        for x, r in itertools.product([(3, 64), (1, 64), (0, 64)], [(33,), (3, 33), (1, 33)]):
            if 0 in x and 3 in r:
                continue
            values = {"x": random.standard_normal(x).astype(F), "r": random.standard_normal(r).astype(F)}
            shapes = {name: (FLOAT, [None] * (v.ndim - 1) + [v.shape[-1]]) for name, v in values.items()}
            parameters = {name: constants[name] for name in ("w", "scale")}
            alone = model(first, {"x": shapes["x"]}, {"t_y": (FLOAT, None)}, OPSET, parameters)
            m = model([*first, *behind], shapes, {"s": (FLOAT, None), "y": (FLOAT, None)}, OPSET, constants)
            with self.subTest(x=x, r=r):
                self.assertEqual(operators(m, values, options=options), {NAME: 1})
                t = run(alone, {"x": values["x"]}, options=options)[0]
                total, y = run(m, values, options=options)
                assert_same(total, values["r"] + t)
                assert_same(y, normalize(total, constants["a"], constants["b"]))

    def test_shapes_that_alternate(self):
        m = self.one(node("Add", ["t_y", "r"], ["s"]), node("LayerNormalization", ["s", "a"], ["y"], axis=-1), outputs=("s", "y"), is_open=True)
        random, s = np.random.default_rng(8), session(m, threads=2)
        for x, r in [((2, 3), (2, 3)), ((1, 70), (2, 1)), ((2, 3), (1, 1)), ((1, 1), (5, 40))] * 3:
            values = {"x": random.standard_normal((*x, 8)).astype(F), "r": random.standard_normal((*r, 5)).astype(F)}
            expected = evaluate(self.nodes, values | self.constants)
            for name, given in zip(("s", "y"), s.run(None, values), strict=True):
                assert_same(given, expected[name])

    def test_no_worse_than_onnx_runtime(self):
        """Rows with an outlier, and far from 0. The errors are beside f64."""
        random = np.random.default_rng(9)
        add = [node("Add", ["t_y", "r"], ["s"]), node("LayerNormalization", ["s", "a", "b"], ["y"], axis=-1)]
        forms = {"two nodes": add, "one": [skipping("SkipLayerNormalization", ["t_y", "r", "a", "b"], ["y", "", "", "s"])]}
        for name, behind in forms.items():
            m = self.one(*behind, shape=(1, 64, 8), residual=(1, 64, 5), outputs=("s", "y"))
            errors, epsilon = {}, 1e-12 if name == "one" else 1e-5
            for kind in ("outlier", "offset", "plain"):
                r = random.standard_normal((1, 64, 5)).astype(F)
                if kind == "outlier":
                    r[..., 2] = 1000
                values = {"x": self.values["x"], "r": r + F(300 if kind == "offset" else 0)}
                for provider in (True, False):
                    total, y = run(m, values, provider=provider)
                    errors[kind, provider] = np.abs(y - exactly(total, self.constants["a"], self.constants["b"], epsilon)).max()
            for kind in ("outlier", "offset", "plain"):
                with self.subTest(form=name, kind=kind):
                    self.assertLessEqual(errors[kind, True], errors[kind, False])


if __name__ == "__main__":
    unittest.main()
