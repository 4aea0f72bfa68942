"""Layers whose weights alone are quantized: DequantizeLinear of constants, MatMul or Gemm of floats and what follows. Their results
are within the bound of src/layers/narrow/narrow_product.hpp of the exact ones, and a row's are the same bits whatever the other rows are.

DYNQUANT_TEST_SAMPLE=N computes every Nth of the random layers."""
import collections
import itertools
import os
import tempfile
import unittest

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
import provider
from provider import NAME
from test_provider import log

F = np.float32
LAYERS, SAMPLE = 700, int(os.environ.get("DYNQUANT_TEST_SAMPLE", "7"))
UNIT = 2.0**-24  # the relative error of an operation in float
CODES = {T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT4: (-8, 7), T.UINT4: (0, 15)}
FLOATS = {T.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, T.FLOAT8E5M2: ml_dtypes.float8_e5m2}
STEPS = {"Relu": lambda y: np.maximum(y, 0), "LeakyRelu": lambda y: np.where(y < 0, y * 0.25, y)}
OPSET = 21  # 4 bits and blocks came with it
NEWEST = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)


def session(m, options=None, **of):
    return provider.session(m, options={"claim": "all", **(options or {})}, **of)


def operators(m, inputs, options=None, **of):
    return provider.operators(m, inputs, options={"claim": "all", **(options or {})}, **of)


class Layer:
    """y = step(x w + bias), of which w is [inner, columns], or transposed. granularity: of the scales. half: the scales are float16;
    "cast": so are the weights, which a Cast makes floats; "output_dtype": that makes floats of them."""

    def __init__(self, random, op, kind, granularity, *, transposed=False, zero_points=True, bias=True, step="", goes_on=False, shape=None, inner=None,
                 columns=None, half="", block=None):
        self.goes_on, self.half = goes_on, half
        self.random, self.op, self.kind, self.granularity = random, op, kind, granularity
        self.inner, self.columns = inner if inner is not None else int(random.integers(1, 200)), columns if columns is not None else int(random.integers(1, 150))
        self.transposed, self.step, self.shape = transposed, step, shape or [None] * (1 if op == "Gemm" else int(random.integers(1, 4)))
        self.block = block or int(random.choice([16, 32, 64])) if granularity == "block" else self.inner
        blocks = max(1, -(-self.inner // max(1, self.block)))
        if kind in CODES:
            low, high = CODES[kind]
            self.codes = random.integers(low, high + 1, (self.inner, self.columns)).astype(F)
        else:
            finite = np.arange(256, dtype=np.uint8).view(FLOATS[kind]).astype(F)
            self.codes = random.choice(finite[np.isfinite(finite)], (self.inner, self.columns))
        parameters = {"tensor": (1, 1), "columns": (1, self.columns), "rows": (self.inner, 1), "block": (blocks, self.columns)}[granularity]
        self.scales = random.uniform(0.001, 0.1, parameters).astype(np.float16 if half else F).astype(F)
        self.zero_points = None
        if zero_points and kind in CODES:
            self.zero_points = random.integers(low, high + 1, parameters).astype(F)
        self.bias = random.standard_normal(self.columns).astype(F) if bias else None

    def _spread(self, parameters):
        """Of each weight."""
        repeated = np.repeat(parameters, min(self.block, self.inner), 0)[:self.inner] if self.granularity == "block" else parameters
        return np.broadcast_to(repeated, self.codes.shape).astype(np.float64)

    def weights(self):
        """As DequantizeLinear defines them, in float. A product by a scale of float16 is exact before it is rounded to float16."""
        difference = self.codes.astype(np.float64) - (0 if self.zero_points is None else self._spread(self.zero_points))
        products = difference.astype(F) * self._spread(self.scales).astype(F)
        return products.astype(np.float16).astype(F) if self.half == "cast" else products

    def model(self):
        turn = (lambda a: a.T) if self.transposed else (lambda a: a)

        def tensor(name, kind, values, shape):
            if kind in FLOATS:
                return helper.make_tensor(name, kind, shape, np.asarray(values, F).astype(FLOATS[kind]).tobytes(), raw=True)
            return helper.make_tensor(name, kind, shape, np.asarray(values).ravel().astype(F if kind in (T.FLOAT, T.FLOAT16) else int).tolist())

        def parameters(values):
            if self.granularity == "tensor":
                return values.ravel(), []
            if self.granularity == "block":
                return turn(values), turn(values).shape
            return values.ravel(), [values.size]

        inner_axis = 1 if self.transposed else 0
        attributes = {"tensor": {}, "columns": {"axis": 1 - inner_axis}, "rows": {"axis": inner_axis},
                      "block": {"axis": inner_axis, "block_size": self.block}}[self.granularity]
        constants = [tensor("w", self.kind, turn(self.codes), turn(self.codes).shape), tensor("s", T.FLOAT16 if self.half else T.FLOAT, *parameters(self.scales))]
        if self.zero_points is not None:
            constants.append(tensor("z", self.kind, *parameters(self.zero_points)))
        if self.half == "output_dtype":
            attributes["output_dtype"] = T.FLOAT
        nodes = [helper.make_node("DequantizeLinear", [c.name for c in constants], ["wh" if self.half == "cast" else "wf"], "dq", **attributes)]
        if self.half == "cast":
            nodes.append(helper.make_node("Cast", ["wh"], ["wf"], "cast", to=T.FLOAT))
        inputs = ["x", "wf"]
        if self.bias is not None:
            constants.append(tensor("b", T.FLOAT, self.bias, [self.columns]))
        if self.op == "Gemm":
            inputs += ["b"] if self.bias is not None else []
            nodes.append(helper.make_node("Gemm", inputs, ["y0"], "product", transB=int(self.transposed)))
        else:
            nodes.append(helper.make_node("MatMul", inputs, ["y0"], "product"))
            if self.bias is not None:
                nodes.append(helper.make_node("Add", ["y0", "b"], ["y1"], "add"))
        if self.step:
            nodes.append(helper.make_node(self.step, [nodes[-1].output[0]], ["y2"], "step", **({"alpha": 0.25} if self.step == "LeakyRelu" else {})))
        if self.goes_on:
            nodes.append(helper.make_node("Neg", [nodes[-1].output[0]], ["y3"], "neg"))
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [*self.shape, self.inner])],
                                  [helper.make_tensor_value_info(nodes[-1].output[0], T.FLOAT, None)], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23 if self.half == "output_dtype" else OPSET)], ir_version=10).SerializeToString()

    def draw_x(self, rows=None):
        extents = [int(self.random.integers(1, 9)) for _ in self.shape]
        if rows is not None:
            extents = [1] * (len(self.shape) - 1) + [rows]
        return self.random.standard_normal((*extents, self.inner)).astype(F)

    def expected(self, x):
        """The exact results, and how far a float one may be from them."""
        w, x = self.weights().astype(np.float64), x.astype(np.float64)  # products of floats are exact in double, sums nearly
        y, size = x @ w, np.abs(x) @ np.abs(w)
        if (self.granularity == "rows" and self.inner > 1) or self.half == "cast":
            operations = self.inner
        else:
            block = max(1, min(self.block, self.inner))
            operations = block + -(-self.inner // block) + 1
        bound = operations * UNIT / (1 - operations * UNIT) * size
        if self.bias is not None:
            y = y + self.bias
            bound = bound + UNIT * (np.abs(y) + bound)
        y = STEPS[self.step](y) if self.step else y
        return -y if self.goes_on else y, bound * (1 + 1e-6) + 1e-38


def claimed(random, **of):
    """A layer of which ONNX Runtime makes no MatMulNBits."""
    choice = int(random.integers(4))
    kind = [*CODES, *FLOATS][random.integers(6)]
    granularity = str(random.choice(["tensor", "columns", "block"]))
    if choice == 0:
        return Layer(random, "Gemm", kind, granularity, transposed=True, zero_points=random.random() < 0.5, bias=random.random() < 0.7,
                     step=str(random.choice(["", "Relu", "LeakyRelu"])), **of)
    if choice == 1:  # Relu keeps ONNX Runtime from it, unless it gives an output of the graph
        return Layer(random, "Gemm", kind, granularity, zero_points=random.random() < 0.5, step="Relu", goes_on=True, **of)
    if choice == 2:
        op = str(random.choice(["MatMul", "Gemm"]))
        return Layer(random, op, kind, "rows", transposed=op == "Gemm" and random.random() < 0.5, zero_points=random.random() < 0.5,
                     bias=random.random() < 0.5, **of)
    return Layer(random, "MatMul", [*FLOATS][random.integers(2)], granularity, bias=random.random() < 0.5, **of)


def optimized(m, options=None):
    """The operators that ONNX Runtime runs."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ort.SessionOptions()
        settings.optimized_model_filepath = folder + "/m.onnx"
        settings.log_severity_level = 4
        ort.InferenceSession(m, settings, providers=["CPUExecutionProvider"])
        return collections.Counter(n.op_type for n in onnx.load(settings.optimized_model_filepath).graph.node)


class Narrow(unittest.TestCase):
    def assert_near(self, layer, given, x):
        expected, bound = layer.expected(x)
        self.assertEqual((given.dtype, given.shape), (np.dtype(F), expected.shape))
        self.assertTrue((np.abs(given - expected) <= bound).all(), (np.abs(given - expected) / bound).max(initial=0))

    def test_random_layers(self):
        for i in range(0, LAYERS, SAMPLE):
            layer = claimed(np.random.default_rng([3, i]))
            m = layer.model()
            with self.subTest(i=i, op=layer.op, kind=layer.kind, granularity=layer.granularity):
                x = layer.draw_x()
                self.assertEqual(operators(m, {"x": x}), {NAME: 1} | ({"Neg": 1} if layer.goes_on else {}))
                s = session(m, threads=1 + i % 4, spins=False)
                for x in (x, layer.draw_x(), layer.draw_x(37)):
                    self.assert_near(layer, s.run(None, {"x": x})[0], x)

    def test_a_row_has_the_same_bits_whatever_the_others_are(self):
        for i in range(12):
            random = np.random.default_rng([4, i])
            layer = claimed(random, inner=[64, 300, 1000][i % 3], columns=[33, 200][i % 2])
            x = layer.draw_x(40)
            results = []
            for threads in (1, 2, 5):
                s = session(layer.model(), threads=threads, spins=False)
                run = lambda x: s.run(None, {"x": x})[0]
                results += [run(x), np.concatenate([run(part) for part in np.split(x, [1, 3, 4, 9, 26], -2)], -2),
                            np.concatenate([run(x[..., i:i + 1, :]) for i in range(40)], -2)]
            for other in results[1:]:
                np.testing.assert_array_equal(other, results[0])

    def test_as_many_matmulnbits_as_without_the_provider(self):
        for op, transposed in (("MatMul", False), ("Gemm", False), ("Gemm", True)):
            for kind in (*CODES, *FLOATS):
                for granularity in ("tensor", "columns", "rows", "block"):
                    for bias, step, goes_on in ((False, "", False), (True, "", False), (True, "Relu", False), (True, "Relu", True), (False, "LeakyRelu", True)):
                        layer = Layer(np.random.default_rng(5), op, kind, granularity, transposed=transposed, bias=bias, step=step, goes_on=goes_on,
                                      inner=64, columns=32, shape=[None])
                        with self.subTest(op=op, transposed=transposed, kind=kind, granularity=granularity, bias=bias, step=step, goes_on=goes_on):
                            self.check_count(layer.model(), layer.draw_x())

    def check_count(self, m, x):
        """As many MatMulNBits, and all that does not become one is claimed: as far as the newest ONNX Runtime is concerned, which
        makes the most of them."""
        without, given = optimized(m), operators(m, {"x": x})
        self.assertEqual(given["MatMulNBits"], without["MatMulNBits"])
        if NEWEST:
            self.assertEqual(given[NAME], 1 - without["MatMulNBits"], without)

    def test_as_many_matmulnbits_before_limits_of_several_nodes(self):
        for op, step in itertools.product(("MatMul", "Gemm"), ("Relu", "LeakyRelu")):
            layer = Layer(np.random.default_rng(5), op, T.INT8, "columns", bias=False, step=step, inner=64, columns=32, shape=[None])
            for readers in (["Neg", "Tanh"], ["Neg"], ["Tanh", "Neg", "Abs"]):
                m = onnx.load_from_string(layer.model())
                limit = m.graph.node[-1].output[0]
                del m.graph.output[:]
                for reader in readers:
                    m.graph.node.append(helper.make_node(reader, [limit], [f"{reader}_y"]))
                    m.graph.output.append(helper.make_tensor_value_info(f"{reader}_y", T.FLOAT, None))
                with self.subTest(op=op, step=step, readers=readers):
                    self.check_count(m.SerializeToString(), layer.draw_x())

    def test_as_many_matmulnbits_of_other_scales_and_biases(self):
        for name, change in (
                ("one", lambda m: m.graph.initializer[1].dims.append(1)), ("axis", lambda m: self.set_attribute(m, 0, "axis", -1)),
                *((f"block {n}", lambda m, n=n: self.set_block(m, n)) for n in (8, 16, 32, 48, 64, 100, 1024)),
                *((f"bias {shape}", lambda m, shape=shape: self.set_bias(m, shape)) for shape in ([32], [1, 32], [1], []))):
            granularity = "tensor" if name == "one" else "columns" if name == "axis" or name.startswith("bias") else "block"
            layer = Layer(np.random.default_rng(5), "Gemm", T.INT8, granularity, bias=False, zero_points=False, inner=64, columns=32, shape=[None])
            m = onnx.load_from_string(layer.model())
            change(m)
            with self.subTest(name=name):
                self.check_count(m.SerializeToString(), layer.draw_x())

    def test_as_many_matmulnbits_of_layers_that_share_constants(self):
        """ONNX Runtime fuses neither of two layers with one tensor of weights or of scales; else, once one is claimed, it would fuse the other."""
        for shared, axis, relu in itertools.product(("", "w", "s", "z", "wsz"), (0, 1), (False, True)):
            nodes, constants, x = [], {}, "x"
            for i in range(2):
                w, s, z = (name if name in shared else f"{name}{i}" for name in "wsz")
                constants[w] = np.full((64, 64), i + 3, np.int8)
                constants[s] = np.full([64] * axis, 0.5 + i, F)
                constants[z] = np.full([64] * axis, i, np.int8)
                nodes += [helper.make_node("DequantizeLinear", [w, s, z], [f"w_{i}"], axis=1), helper.make_node("MatMul", [x, f"w_{i}"], [f"y_{i}"])]
                x = f"y_{i}"
                if relu and i == 0:
                    nodes.append(helper.make_node("Relu", [x], ["r"]))
                    x = "r"
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [None, 64])],
                                      [helper.make_tensor_value_info(x, T.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in constants.items()])
            m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10).SerializeToString()
            with self.subTest(shared=shared, axis=axis, relu=relu):
                without, given = optimized(m), operators(m, {"x": np.ones((3, 64), F)})
                self.assertEqual(given["MatMulNBits"], without["MatMulNBits"])
                if NEWEST:
                    self.assertEqual(given[NAME], 2 - without["MatMulNBits"], without)

    def set_attribute(self, m, node, name, value):
        attributes = m.graph.node[node].attribute
        for a in [a for a in attributes if a.name == name]:
            attributes.remove(a)
        attributes.append(helper.make_attribute(name, value))

    def set_block(self, m, block):
        self.set_attribute(m, 0, "block_size", block)
        blocks = -(-64 // block)
        m.graph.initializer[1].CopyFrom(helper.make_tensor("s", T.FLOAT, [blocks, 32], [0.5] * (32 * blocks)))

    def set_bias(self, m, shape):
        m.graph.initializer.append(helper.make_tensor("b", T.FLOAT, shape, [0.5] * int(np.prod(shape))))
        m.graph.node[1].input.append("b")

    def test_scales_of_float16(self):
        for half, (op, transposed), kind, granularity in itertools.product(
                ("cast", "output_dtype"), (("MatMul", False), ("Gemm", False), ("Gemm", True)), (*CODES, *FLOATS), ("tensor", "columns", "rows", "block")):
            layer = Layer(np.random.default_rng(14), op, kind, granularity, transposed=transposed, step="Relu", inner=70, columns=33, shape=[None], half=half)
            m = layer.model()
            with self.subTest(half=half, op=op, transposed=transposed, kind=kind, granularity=granularity):
                if half == "cast":  # ONNX Runtime 1.32 fails to make MatMulNBits of the other
                    self.check_count(m, layer.draw_x())
                self.assertEqual(operators(m, {"x": layer.draw_x()}), {NAME: 1})
                s = session(m)
                for x in (layer.draw_x(1), layer.draw_x(50)):
                    self.assert_near(layer, s.run(None, {"x": x})[0], x)

    def test_products_beyond_float16_are_infinite(self):
        layer = Layer(np.random.default_rng(15), "MatMul", T.INT8, "tensor", bias=False, zero_points=False, inner=1, columns=3, shape=[None], half="cast")
        layer.scales[:], layer.codes[:] = 1000, [[65, 66, -127]]
        given = session(layer.model()).run(None, {"x": np.ones((1, 1), F)})[0]
        np.testing.assert_array_equal(given, [[64992, np.inf, -np.inf]])  # 65000 is between 64992 and 65024

    def test_zero_points_of_float8(self):
        for kind in FLOATS:
            layer = Layer(np.random.default_rng(16), "Gemm", kind, "tensor", transposed=True, inner=20, columns=30, shape=[None])
            x = layer.draw_x()
            for zero, said in ((0.0, "claims 'dq' (DequantizeLinear), 'product' (Gemm)"), (-0.0, "claims 'dq' (DequantizeLinear), 'product' (Gemm)"),
                               (1.5, "leaves 'product' (Gemm): its weights are float8 with a zero point that is not 0")):
                m = onnx.load_from_string(layer.model())
                m.graph.initializer.append(helper.make_tensor("z", kind, [], np.asarray(zero, F).astype(FLOATS[kind]).tobytes(), raw=True))
                m.graph.node[0].input.append("z")
                with self.subTest(kind=kind, zero=zero):
                    self.assertIn(said, log(m.SerializeToString(), claim="all"))
                    layer.zero_points = np.full((1, 1), zero, F)
                    self.assert_near(layer, session(m.SerializeToString()).run(None, {"x": x})[0], x)
                    layer.zero_points = None

    def test_what_nobody_takes(self):
        layer = Layer(np.random.default_rng(12), "Gemm", T.INT8, "columns", transposed=True, inner=70, columns=80, shape=[None])
        m = onnx.load_from_string(layer.model())
        m.graph.node.append(helper.make_node("Neg", ["x"], ["n"]))
        m.graph.output[0].name = "n"
        x = layer.draw_x()
        np.testing.assert_array_equal(session(m.SerializeToString()).run(None, {"x": x})[0], -x)

    def test_what_is_as_fast_there_is_left(self):
        without_vectors = os.environ.get("DYNQUANT_MAX_ISA") == "scalar"
        for (inner, columns, rows), claimed in {(64, 64, None): 1, (64, 63, None): 0, (1000, 31, None): 0, (128, 32, None): 1, (64, 64, 64): 1, (64, 64, 65): 0,
                                                (191, 193, 65): 0, (192, 192, 65): 1}.items():
            layer = Layer(np.random.default_rng(13), "Gemm", T.INT8, "columns", transposed=True, inner=inner, columns=columns, shape=[rows])
            x = layer.draw_x(rows)
            self.assertEqual(operators(layer.model(), {"x": x}, {"claim": "auto"})[NAME], 0 if without_vectors else claimed)
            self.assertEqual(operators(layer.model(), {"x": x})[NAME], 1)

    def test_convolutions_that_are_as_fast_there_are_left(self):
        without_vectors = os.environ.get("DYNQUANT_MAX_ISA") == "scalar"
        for (channels, filters, extents), claimed in {(64, 64, (7, 7)): 1, (64, 64, (5, 10)): 0, (256, 256, (20, 20)): 1, (256, 256, (401,)): 0,
                                                      (255, 256, (14, 14)): 0, (64, 64, (None, 7)): 0}.items():
            nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]), helper.make_node("Conv", ["x", "wf"], ["y"])]
            w = np.ones((filters, channels, *[1] * len(extents)), np.int8)
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [1, channels, *extents])],
                                      [helper.make_tensor_value_info("y", T.FLOAT, None)], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.asarray(F(2)), "s")])
            m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10).SerializeToString()
            x = np.ones((1, channels, *[e or 3 for e in extents]), F)
            with self.subTest(channels=channels, filters=filters, extents=extents):
                self.assertEqual(operators(m, {"x": x}, {"claim": "auto"})[NAME], 0 if without_vectors else claimed)
                np.testing.assert_array_equal(session(m).run(None, {"x": x})[0], np.full((1, filters, *x.shape[2:]), 2.0 * channels, F))

    def test_without_elements(self):
        for inner, columns, rows in ((0, 5, 3), (7, 0, 3), (7, 5, 0)):
            layer = Layer(np.random.default_rng(6), "Gemm", T.INT8, "columns", transposed=True, inner=inner, columns=columns, step="Relu")
            x = np.ones((rows, inner), F)
            given = session(layer.model()).run(None, {"x": x})[0]
            self.assertEqual(given.shape, (rows, columns))
            if inner == 0:
                np.testing.assert_array_equal(given, np.broadcast_to(np.maximum(layer.bias, 0), given.shape))

    def test_blocks_longer_than_all_rows(self):
        for block in (71, 2**31, 2**63 - 71, 2**63 - 70, 2**63 - 1):
            for op, transposed, kind in itertools.product(("MatMul", "Gemm"), (False, True), (T.INT8, T.UINT4, T.FLOAT8E4M3FN)):
                if op == "MatMul" and transposed:
                    continue
                layer = Layer(np.random.default_rng(17), op, kind, "block", transposed=transposed, step="Relu", goes_on=True, inner=70, columns=40, block=block)
                x = layer.draw_x()
                with self.subTest(block=block, op=op, transposed=transposed, kind=kind):
                    self.assertEqual(operators(layer.model(), {"x": x}), {NAME: 1, "Neg": 1})
                    self.assert_near(layer, session(layer.model()).run(None, {"x": x})[0], x)

    def test_convolutions_of_one_tap(self):
        for i in range(24):
            random = np.random.default_rng([11, i])
            channels, filters, images = int(random.integers(1, 70)), int(random.integers(1, 70)), int(random.integers(1, 4))
            spatial = [int(e) for e in random.integers(1, 12, random.integers(1, 4))]
            layer = Layer(random, "MatMul", [*CODES, *FLOATS][i % 6], ["tensor", "columns"][i // 6 % 2], transposed=True, inner=channels, columns=filters,
                          step=["", "Relu"][i % 2])
            m = onnx.load_from_string(layer.model())
            m.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", T.FLOAT, [None, channels, *[None] * len(spatial)]))
            m.graph.initializer[0].dims.extend([1] * len(spatial))
            bias = [n for n in m.graph.node if n.op_type == "Add"]
            m.graph.node[1].CopyFrom(helper.make_node("Conv", ["x", "wf", "b"], ["y1"], "product"))
            for node in bias:
                m.graph.node.remove(node)
            x = random.standard_normal((images, channels, *spatial)).astype(F)
            with self.subTest(i=i):
                self.assertEqual(operators(m.SerializeToString(), {"x": x}), {NAME: 1})
                given = session(m.SerializeToString(), threads=1 + i % 3).run(None, {"x": x})[0]
                self.assert_near(layer, np.moveaxis(given, 1, -1), np.moveaxis(x, 1, -1))

    def test_weights_of_two_layers(self):
        layer = Layer(np.random.default_rng(7), "Gemm", T.INT8, "columns", transposed=True, bias=False, inner=20, columns=20, shape=[None])
        m = onnx.load_from_string(layer.model())
        m.graph.node.append(helper.make_node("Gemm", ["y0", "wf"], ["y"], "second", transB=1))
        m.graph.output[0].name = "y"
        x = layer.draw_x()
        given = session(m.SerializeToString()).run(None, {"x": x})[0]
        w = layer.weights().astype(np.float64)
        np.testing.assert_allclose(given, x.astype(np.float64) @ w @ w, rtol=1e-4, atol=1e-4)

    def test_what_is_left(self):
        base = lambda: onnx.load_from_string(
            Layer(np.random.default_rng(8), "Gemm", T.INT8, "columns", transposed=True, inner=6, columns=4, shape=[3]).model())

        def said(change, **options):
            m = base()
            change(m.graph)
            return log(m.SerializeToString(), claim="all", **options)

        def set_attribute(name, value):
            return lambda g: g.node[1].attribute.append(helper.make_attribute(name, value))

        def given_scale(g):
            g.input.append(helper.make_tensor_value_info("s", T.FLOAT, [4]))
            del g.initializer[1]

        claims, leaves = "dynquant: claims 'dq' (DequantizeLinear), 'product' (Gemm)", "dynquant: leaves 'product' (Gemm): "
        self.assertIn(claims, said(lambda g: None))
        self.assertNotIn("claims", said(lambda g: None, weight_only="off"))
        self.assertIn(leaves + "attributes 'alpha' and 'beta': expected 1", said(set_attribute("alpha", 0.5)))
        self.assertIn(leaves + "'s', of its weights, is no constant", said(given_scale))
        many = Layer(np.random.default_rng(8), "MatMul", T.INT4, "block", bias=False, inner=64, columns=32, shape=[None])
        self.assertIn("leaves 'product' (MatMul): ONNX Runtime makes MatMulNBits of it", log(many.model()))

    def test_a_scale_that_the_session_replaces(self):
        layer = Layer(np.random.default_rng(9), "Gemm", T.INT8, "tensor", transposed=True, bias=False, zero_points=False, inner=8, columns=8, shape=[None])
        x, other = layer.draw_x(), ort.OrtValue.ortvalue_from_numpy(np.asarray(F(0.5)))
        given = session(layer.model(), prepare=lambda s: s.add_initializer("s", other)).run(None, {"x": x})[0]
        layer.scales = np.full((1, 1), 0.5, F)
        self.assert_near(layer, given, x)

    def test_a_shape_that_does_not_fit(self):
        layer = Layer(np.random.default_rng(10), "Gemm", T.INT8, "columns", transposed=True, inner=8, columns=5, shape=[None])
        m = onnx.load_from_string(layer.model())
        m.graph.input[0].type.tensor_type.ClearField("shape")
        with self.assertRaises(InvalidArgument) as caught:
            session(m.SerializeToString()).run(None, {"x": np.zeros((2, 7), F)})
        self.assertIn("node 'product' (Gemm): A: expected 8 columns, as many as B has rows, given shape 2x7", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
