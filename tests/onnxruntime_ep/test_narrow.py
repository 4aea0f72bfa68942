"""Layers whose weights alone are quantized: DequantizeLinear of constants, MatMul or Gemm of floats and what follows. Their results
are within the bound of src/layers/gemm/weight_only/weight_only_product.hpp of the exact ones, and a row's are the same bits whatever the other rows are.

DYNQUANT_TEST_SAMPLE=N computes every Nth of the random layers."""
import collections
import itertools
import math
import os
import tempfile
import unittest

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from layers import convolve, model, same_pads
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
import provider
from processor import HAS_AVX512, IN_HALVES, WITHOUT_AVX2
from provider import NAME
from test_provider import REFUSALS, log

WHOLE = int(not IN_HALVES)  # what `auto` claims where vectors of 256 bits are computed at once
OF_EIGHT_COLUMNS = int(not (IN_HALVES or HAS_AVX512))  # which fill a whole vector of 256 bits, and half of one of 512

F = np.float32
LAYERS, SAMPLE = 700, int(os.environ.get("DYNQUANT_TEST_SAMPLE", "7"))
UNIT = 2.0**-24  # the relative error of an operation in float
CODES = {T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT4: (-8, 7), T.UINT4: (0, 15)}
FLOATS = {T.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, T.FLOAT8E5M2: ml_dtypes.float8_e5m2}
STEPS = {"Relu": lambda y: np.maximum(y, 0), "LeakyRelu": lambda y: np.where(y < 0, y * 0.25, y)}
PRODUCTS = ("MatMul", False), ("Gemm", False), ("Gemm", True)  # and whether they transpose the weights
OPSET = 21  # 4 bits and blocks came with it


def session(m, options=None, **of):
    return provider.session(m, options={"claim": "all", **(options or {})}, **of)


def run(m, inputs, **of):
    return session(m, **of).run(None, inputs)


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

    def model(self, others=(), outputs=None):
        """others: nodes behind those of the layer. outputs: names, by default that of the layer's."""
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
        constants = {"w": tensor("w", self.kind, turn(self.codes), turn(self.codes).shape),
                     "s": tensor("s", T.FLOAT16 if self.half else T.FLOAT, *parameters(self.scales))}
        if self.zero_points is not None:
            constants["z"] = tensor("z", self.kind, *parameters(self.zero_points))
        if self.half == "output_dtype":
            attributes["output_dtype"] = T.FLOAT
        nodes = [helper.make_node("DequantizeLinear", [*constants], ["wh" if self.half == "cast" else "wf"], "dq", **attributes)]
        if self.half == "cast":
            nodes.append(helper.make_node("Cast", ["wh"], ["wf"], "cast", to=T.FLOAT))
        inputs = ["x", "wf"]
        if self.bias is not None:
            constants["b"] = self.bias
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
        outputs = {name: (T.FLOAT, None) for name in outputs or nodes[-1].output}
        return model([*nodes, *others], {"x": (T.FLOAT, [*self.shape, self.inner])}, outputs,
                     23 if self.half == "output_dtype" else OPSET, constants)

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
    """A layer of which ONNX Runtime makes no MatMulNBits: x stays float."""
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


def optimized(m):
    """The operators that ONNX Runtime runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/m.onnx"
        provider.session(m, provider=False, prepare=lambda s: setattr(s, "optimized_model_filepath", path))
        return collections.Counter(n.op_type for n in onnx.load(path).graph.node)


def layer_of(inner, columns, op="Gemm", kind=T.INT8, granularity="columns", *, transposed=None, shape=(None,), **of):
    """A layer of one shape. By default ONNX Runtime makes no MatMulNBits of it, and x stays float."""
    transposed = op == "Gemm" if transposed is None else transposed
    return Layer(np.random.default_rng(5), op, kind, granularity, transposed=transposed, shape=list(shape), inner=inner, columns=columns, **of)


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

    def test_x_is_quantized_where_onnx_runtime_makes_matmulnbits(self):
        for (op, transposed), kind, granularity, (bias, step, goes_on) in itertools.product(
                PRODUCTS, (*CODES, *FLOATS), ("tensor", "columns", "rows", "block"),
                ((False, "", False), (True, "", False), (True, "Relu", False), (True, "Relu", True), (False, "LeakyRelu", True))):
            of = {"transposed": transposed, "bias": bias, "step": step, "goes_on": goes_on}
            layer = layer_of(64, 32, op, kind, granularity, **of)
            with self.subTest(op=op, kind=kind, granularity=granularity, **of):
                self.check_count(layer.model(), layer.draw_x())

    def test_x_is_quantized_by_every_block(self):
        for kind, block in itertools.product(CODES, (8, 16, 48, 256)):
            layer = layer_of(4096, 32, "MatMul", kind, "block", block=block)
            with self.subTest(kind=kind, block=block):
                self.check_count(layer.model(), layer.draw_x())

    def test_blocks_that_older_versions_compute_wrongly_are_claimed(self):
        is_right = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)
        for kind, block in itertools.product(CODES, (512, 2048)):
            layer = layer_of(4096, 32, "MatMul", kind, "block", bias=False, block=block)
            with self.subTest(kind=kind, block=block):
                x = layer.draw_x()
                self.assertEqual(operators(layer.model(), {"x": x}), {"MatMulNBits" if is_right else NAME: 1})
                if is_right:
                    self.assertIn(f"ONNX Runtime quantizes its input by blocks of {block}, more than 256", provider.said(layer.model(), {"claim": "all"}))
                else:
                    self.assert_near(layer, run(layer.model(), {"x": x})[0], x)

    def check_count(self, m, x, layers=1):
        """All is claimed, and x quantized in as many layers as become MatMulNBits, whose accuracy level is 4."""
        without, given = optimized(m), operators(m, {"x": x})
        self.assertEqual((given["MatMulNBits"], given[NAME]), (0, layers), without)
        self.assertEqual(provider.said(m, {"claim": "all"}).count("quantizes the input of"), without["MatMulNBits"])

    def test_x_is_quantized_before_limits_of_several_nodes(self):
        for op, step in itertools.product(("MatMul", "Gemm"), ("Relu", "LeakyRelu")):
            layer = layer_of(64, 32, op, transposed=False, bias=False, step=step)
            for readers in (["Neg", "Tanh"], ["Neg"], ["Tanh", "Neg", "Abs"]):
                m = layer.model([helper.make_node(reader, ["y2"], [reader]) for reader in readers], readers)
                with self.subTest(op=op, step=step, readers=readers):
                    self.check_count(m, layer.draw_x())

    def test_x_is_quantized_by_other_scales_and_biases(self):
        layer = lambda **of: layer_of(64, 32, transposed=False, bias=False, zero_points=False, **of)
        one, axis = (onnx.load_from_string(layer(granularity=of).model()) for of in ("tensor", "columns"))
        one.graph.initializer[1].dims.append(1)
        axis.graph.node[0].attribute[0].i = -1
        models = {"one": one.SerializeToString(), "axis": axis.SerializeToString()}
        models |= {f"block {n}": layer(granularity="block", block=n).model() for n in (8, 16, 32, 48, 64, 100, 256)}
        for shape in ([32], [1, 32], [1], []):
            biased = layer()
            biased.bias = np.full(shape, 0.5, F)
            models[f"bias {shape}"] = biased.model()
        for name, m in models.items():
            with self.subTest(name=name):
                self.check_count(m, np.ones((3, 64), F))

    def test_x_is_quantized_in_layers_that_share_constants(self):
        """Since 1.27 ONNX Runtime fuses neither of two layers with one tensor of weights or of scales."""
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
            m = model(nodes, {"x": (T.FLOAT, [None, 64])}, {x: (T.FLOAT, None)}, OPSET, constants)
            with self.subTest(shared=shared, axis=axis, relu=relu):
                self.check_count(m, np.ones((3, 64), F), layers=2)

    def test_scales_of_float16(self):
        for half, (op, transposed), kind, granularity in itertools.product(
                ("cast", "output_dtype"), PRODUCTS, (*CODES, *FLOATS), ("tensor", "columns", "rows", "block")):
            layer = layer_of(70, 33, op, kind, granularity, transposed=transposed, step="Relu", half=half)
            m = layer.model()
            with self.subTest(half=half, op=op, transposed=transposed, kind=kind, granularity=granularity):
                if half == "cast":  # ONNX Runtime 1.32 fails to make MatMulNBits of the other
                    self.check_count(m, layer.draw_x())
                self.assertEqual(operators(m, {"x": layer.draw_x()}), {NAME: 1})
                s = session(m)
                for x in (layer.draw_x(1), layer.draw_x(50)):
                    self.assert_near(layer, s.run(None, {"x": x})[0], x)

    def test_products_beyond_float16_are_infinite(self):
        layer = layer_of(1, 3, "MatMul", granularity="tensor", bias=False, zero_points=False, half="cast")
        layer.scales[:], layer.codes[:] = 1000, [[65, 66, -127]]
        given = run(layer.model(), {"x": np.ones((1, 1), F)})[0]
        np.testing.assert_array_equal(given, [[64992, np.inf, -np.inf]])  # 65000 is between 64992 and 65024

    def test_zero_points_of_float8(self):
        for kind in FLOATS:
            layer = layer_of(20, 30, kind=kind, granularity="tensor")
            x = layer.draw_x()
            claims = "claims 'dq' (DequantizeLinear), 'product' (Gemm)"
            for zero, said in ((0.0, claims), (-0.0, claims),
                               (1.5, "leaves 'product' (Gemm): its weights are float8 with a zero point that is not 0")):
                layer.zero_points = np.full((1, 1), zero, F)
                with self.subTest(kind=kind, zero=zero):
                    self.assertIn(said, log(layer.model(), claim="all"))
                    self.assert_near(layer, run(layer.model(), {"x": x})[0], x)

    def test_what_nobody_takes(self):
        layer = layer_of(70, 80)
        m, x = layer.model([helper.make_node("Neg", ["x"], ["n"])], ["n"]), layer.draw_x()
        np.testing.assert_array_equal(run(m, {"x": x})[0], -x)

    def test_what_is_as_fast_there_is_left(self):
        for (inner, columns, rows, kind), claimed in {
                (64, 64, None, T.INT8): WHOLE, (64, 63, None, T.INT8): WHOLE, (1000, 31, None, T.INT8): WHOLE, (512, 512, 1, T.INT8): 1, (512, 512, 64, T.INT8): WHOLE,
                (64, 64, 1024, T.INT8): 0, (64, 8, 256, T.INT8): OF_EIGHT_COLUMNS, (64, 17, 256, T.INT8): 0, (512, 16, 512, T.INT8): 0, (300, 40, 100, T.FLOAT8E4M3FN): 1}.items():
            layer = layer_of(inner, columns, kind=kind, shape=[rows])
            x = layer.draw_x(rows)
            with self.subTest(inner=inner, columns=columns, rows=rows, kind=kind):
                is_left = WITHOUT_AVX2 and kind == T.INT8  # of float8 DequantizeLinear alone is claimed then
                self.assertEqual(operators(layer.model(), {"x": x}, {"claim": "auto"})[NAME], 0 if is_left else claimed)
                self.assertEqual(operators(layer.model(), {"x": x})[NAME], 1)

    def test_convolutions_that_are_as_fast_there_are_left(self):
        for (channels, filters, extents), claimed in {(64, 64, (7, 7)): 0, (64, 64, (28, 28)): 0, (256, 256, (7, 7)): WHOLE, (512, 512, (49,)): 1,
                                                      (64, 64, (None, 7)): 0, (512, 512, (None, 7)): WHOLE}.items():
            nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]), helper.make_node("Conv", ["x", "wf"], ["y"])]
            w = np.ones((filters, channels, *[1] * len(extents)), np.int8)
            m = model(nodes, {"x": (T.FLOAT, [1, channels, *extents])}, {"y": (T.FLOAT, None)}, OPSET, {"w": w, "s": F(2)})
            x = np.ones((1, channels, *[e or 3 for e in extents]), F)
            with self.subTest(channels=channels, filters=filters, extents=extents):
                self.assertEqual(operators(m, {"x": x}, {"claim": "auto"})[NAME], 0 if WITHOUT_AVX2 else claimed)
                np.testing.assert_array_equal(run(m, {"x": x})[0], np.full((1, filters, *x.shape[2:]), 2.0 * channels, F))

    def test_without_elements(self):
        for inner, columns, rows in ((0, 5, 3), (7, 0, 3), (7, 5, 0)):
            layer = layer_of(inner, columns, step="Relu")
            x = np.ones((rows, inner), F)
            given = run(layer.model(), {"x": x})[0]
            self.assertEqual(given.shape, (rows, columns))
            if inner == 0:
                np.testing.assert_array_equal(given, np.broadcast_to(np.maximum(layer.bias, 0), given.shape))

    def test_blocks_longer_than_all_rows(self):
        for block in (71, 2**31, 2**63 - 71, 2**63 - 70, 2**63 - 1):
            for (op, transposed), kind in itertools.product(PRODUCTS, (T.INT8, T.UINT4, T.FLOAT8E4M3FN)):
                layer = layer_of(70, 40, op, kind, "block", transposed=transposed, step="Relu", goes_on=True, block=block)
                x = layer.draw_x()
                with self.subTest(block=block, op=op, transposed=transposed, kind=kind):
                    self.assertEqual(operators(layer.model(), {"x": x}), {NAME: 1, "Neg": 1})
                    self.assert_near(layer, run(layer.model(), {"x": x})[0], x)

    def test_convolutions_of_one_tap(self):
        for i in range(24):
            random = np.random.default_rng([11, i])
            channels, filters, images = int(random.integers(1, 70)), int(random.integers(1, 70)), int(random.integers(1, 4))
            spatial = [int(e) for e in random.integers(1, 12, random.integers(1, 4))]
            layer = Layer(random, "MatMul", [*CODES, *FLOATS][i % 6], ["tensor", "columns"][i // 6 % 2], transposed=True,
                          inner=channels, columns=filters, step=["", "Relu"][i % 2])
            m = onnx.load_from_string(layer.model())
            m.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", T.FLOAT, [None, channels, *[None] * len(spatial)]))
            m.graph.initializer[0].dims.extend([1] * len(spatial))
            m.graph.node[1].CopyFrom(helper.make_node("Conv", ["x", "wf", "b"], ["y1"], "product"))
            del m.graph.node[2]  # Add, of the bias
            x = random.standard_normal((images, channels, *spatial)).astype(F)
            with self.subTest(i=i):
                self.assertEqual(operators(m.SerializeToString(), {"x": x}), {NAME: 1})
                given = run(m.SerializeToString(), {"x": x}, threads=1 + i % 3)[0]
                self.assert_near(layer, np.moveaxis(given, 1, -1), np.moveaxis(x, 1, -1))

    def test_padding_that_leaves_out_elements(self):
        """Of 1 to 8 and every fourth one SAME_UPPER takes the second and the sixth in ONNX Runtime, which computes such layers itself."""
        x = np.arange(1, 9, dtype=F).reshape(1, 1, 8)
        attributes = {"strides": [4], "auto_pad": "SAME_UPPER"}
        narrow = [helper.make_node("DequantizeLinear", ["w", "s"], ["f"]), helper.make_node("Conv", ["x", "f"], ["y"], "c", **attributes)]
        integers = [helper.make_node("ConvInteger", ["x", "w"], ["y"], "c", **attributes)]
        for nodes, kind, w in ((narrow, T.FLOAT, np.int8(1)), (integers, T.UINT8, np.uint8(1))):
            constants = {"w": np.full((1, 1, 1), w)} | ({"s": F(1)} if nodes is narrow else {})
            m = model(nodes, {"x": (kind, [1, 1, 8])}, {"y": (T.FLOAT if nodes is narrow else T.INT32, None)}, 21, constants)
            with self.subTest(nodes[-1].op_type):
                self.assertEqual(run(m, {"x": x.astype(helper.tensor_dtype_to_np_dtype(kind))})[0].ravel().tolist(), [2, 6])
                lines = log(m, claim="all")
                self.assertIn(f"leaves 'c' ({nodes[-1].op_type}): its auto_pad may leave out elements of its input", lines)

    def test_one_tap_with_attributes_that_onnx_does_not_have(self):
        constants = {"w": np.ones((64, 64, 1, 1), np.int8), "s": F(0.5)}
        for attributes, said in (({"kernel_shape": [3, 3]}, "kernel_shape"), ({"auto_pad": "SAME_LEFT"}, "auto_pad")):
            nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["f"]), helper.make_node("Conv", ["x", "f"], ["y"], "c", **attributes)]
            m = model(nodes, {"x": (T.FLOAT, [1, 64, 8, 8])}, {"y": (T.FLOAT, None)}, 21, constants)
            with self.subTest(said), self.assertRaisesRegex(Exception, f"'c' \\(Conv\\): attribute '{said}'"):
                run(m, {"x": np.ones((1, 64, 8, 8), F)}, options={"claim": "all"})

    def test_convolutions_of_several_taps(self):
        """Beside exact sums of what windows meet, by the bound of a product of as many rows."""
        for i in range(24):
            random = np.random.default_rng([13, i])
            rank, group = 1 + i % 3, int(random.choice([1, 1, 2, 3]))
            channels, filters, images = int(random.integers(1, 20)), int(random.integers(1, 30)), int(random.integers(1, 3))
            kernel, strides, dilations = (random.integers(1, most, rank).tolist() for most in (4, 3, 3))
            extents = [(k - 1) * d + int(random.integers(1, 12)) for k, d in zip(kernel, dilations, strict=True)]
            layer = Layer(random, "MatMul", [*CODES, *FLOATS][i % 6], ["tensor", "columns"][i // 6 % 2], transposed=True,
                          inner=channels * math.prod(kernel), columns=filters * group, step=["", "Relu"][i % 2])
            if i % 4 == 3:
                strides = [min(s, (k - 1) * d + 1) for s, k, d in zip(strides, kernel, dilations, strict=True)]
                pads = [same_pads(*of, upper=True) for of in zip(extents, kernel, strides, dilations, strict=True)]
                padding = {"auto_pad": "SAME_UPPER"}
            else:
                pads = random.integers(0, 3, (rank, 2)).tolist()
                padding = {"pads": [p[0] for p in pads] + [p[1] for p in pads]}
            m = onnx.load_from_string(layer.model())
            m.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", T.FLOAT, [None] * (rank + 2)))
            m.graph.initializer[0].dims[:] = [filters * group, channels, *kernel]
            m.graph.node[1].CopyFrom(helper.make_node("Conv", ["x", "wf", "b"], ["y1"], "product", group=group, strides=strides, dilations=dilations, **padding))
            del m.graph.node[2]  # Add, of the bias
            x = random.standard_normal((images, channels * group, *extents)).astype(F)
            weights = np.ascontiguousarray(layer.weights().T).reshape(filters * group, channels, *kernel)
            sums, sizes = (convolve(*of, group, strides, dilations, pads, np.float64) for of in ((x, weights), (np.abs(x), np.abs(weights))))
            bias = layer.bias.astype(np.float64).reshape(-1, *[1] * rank)
            expected = STEPS[layer.step](sums + bias) if layer.step else sums + bias
            bound = UNIT * (layer.inner + 4) * 1.001 * (sizes + np.abs(bias))
            with self.subTest(i=i):
                self.assertEqual(operators(m.SerializeToString(), {"x": x}), {NAME: 1})
                given = run(m.SerializeToString(), {"x": x}, threads=1 + i % 3)[0]
                self.assertEqual(given.shape, expected.shape)
                self.assertTrue((np.abs(given - expected) <= bound).all())

    def test_which_convolutions_of_several_taps_are_left(self):
        for (channels, filters, extents, group), claimed in {
                (512, 512, (7, 7), 1): WHOLE, (256, 256, (7, 7), 1): WHOLE, (64, 64, (56, 56), 1): WHOLE, (96, 96, (28, 28), 96): 1, (256, 256, (500,), 256): 1,
                (4, 111, (76,), 1): 0, (64, 64, (1500,), 64): 0}.items():
            nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]), helper.make_node("Conv", ["x", "wf"], ["y"], "c", group=group)]
            w = np.ones((filters, channels // group, *[3] * len(extents)), np.int8)
            m = model(nodes, {"x": (T.FLOAT, [1, channels, *extents])}, {"y": (T.FLOAT, None)}, OPSET, {"w": w, "s": F(2)})
            x = np.ones((1, channels, *extents), F)
            with self.subTest(channels=channels, filters=filters, extents=extents):
                self.assertEqual(operators(m, {"x": x}, {"claim": "auto"})[NAME], 0 if WITHOUT_AVX2 else claimed)
                np.testing.assert_array_equal(run(m, {"x": x})[0], np.full((1, filters, *(e - 2 for e in extents)), 2.0 * 3 ** len(extents) * channels / group, F))

    def test_the_x_of_a_convolution_stays_float(self):
        """By the option int8_x, too: its weights have no blocks. 1/3 as a code of 127 levels would not be 1/3."""
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"], axis=0), helper.make_node("Conv", ["x", "wf"], ["y"], group=2)]
        w, s = np.ones((32, 32, 3, 3), np.int8), np.ones(32, F)
        m = model(nodes, {"x": (T.FLOAT, [1, 64, 9, 9])}, {"y": (T.FLOAT, None)}, OPSET, {"w": w, "s": s})
        x = np.zeros((1, 64, 9, 9), F)
        x[:, :, 1::3, 1::3] = np.where(np.arange(64) % 32 == 0, 1, np.where(np.arange(64) % 32 == 1, F(1 / 3), 0)).reshape(1, 64, 1, 1)
        options = {"claim": "all", "weight_only": "int8_x"}
        self.assertEqual(operators(m, {"x": x}, options)[NAME], 1)
        np.testing.assert_array_equal(run(m, {"x": x}, options=options)[0], np.full((1, 32, 7, 7), F(1) + F(1 / 3)))

    def test_windows_that_do_not_fit(self):
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]), helper.make_node("Conv", ["x", "wf"], ["y"], "c")]
        m = model(nodes, {"x": (T.FLOAT, [None] * 3)}, {"y": (T.FLOAT, None)}, OPSET, {"w": np.ones((4, 2, 3), np.int8), "s": F(2)})
        of = session(m)
        for shape, said in (((1, 2, 2), r"expected a window no larger than the padded tensor, given one of 3 over 2"),
                            ((1, 3, 9), r"X: expected 2 channels, given shape 1x3x9")):
            with self.assertRaisesRegex(Exception, said):
                of.run(None, {"x": np.ones(shape, F)})
        self.assertEqual(of.run(None, {"x": np.ones((0, 2, 5), F)})[0].shape, (0, 4, 3))

    def test_weights_of_two_layers(self):
        layer = layer_of(20, 20, bias=False)
        m, x = layer.model([helper.make_node("Gemm", ["y0", "wf"], ["y"], "second", transB=1)], ["y"]), layer.draw_x()
        given = run(m, {"x": x})[0]
        w = layer.weights().astype(np.float64)
        np.testing.assert_allclose(given, x.astype(np.float64) @ w @ w, rtol=1e-4, atol=1e-4)

    def test_factors_and_a_bias_of_integers(self):
        """Gemm's alpha and beta, and a bias that DequantizeLinear makes of int32: one node each, whose product is that without them."""
        random = np.random.default_rng(12)
        constants = {"w": random.integers(-128, 128, (48, 64)).astype(np.int8), "s": random.uniform(0.01, 0.02, 48).astype(F),
                     "bq": random.integers(-2**30, 2**30, 48).astype(np.int32), "c": random.standard_normal(48).astype(F)}
        first = helper.make_node("DequantizeLinear", ["w", "s"], ["wf"], axis=0)
        x = random.standard_normal((3, 64)).astype(F)

        def make(bias, nodes=(), **attributes):
            product = helper.make_node("Gemm", ["x", "wf", *bias], ["y"], transB=1, **attributes)
            used = {i for n in (first, *nodes, product) for i in n.input}
            return model([first, *nodes, product], {"x": (T.FLOAT, x.shape)}, {"y": (T.FLOAT, None)}, 17, {k: v for k, v in constants.items() if k in used})

        integers = [helper.make_node("DequantizeLinear", ["bq", "s"], ["b"], axis=0)]
        product = run(make([]), {"x": x})[0]
        bias = constants["bq"].astype(F) * constants["s"]
        for m, expected in ((make([], alpha=0.375), product * F(0.375)), (make(["c"], alpha=0.5, beta=0.3), product * F(0.5) + constants["c"] * F(0.3)),
                            (make(["b"], integers), product + bias), (make(["b"], integers, beta=0.7), product + bias * F(0.7))):
            self.assertEqual(operators(m, {"x": x}), {NAME: 1})
            provider.assert_same(run(m, {"x": x})[0], expected)

    def test_a_c_of_gemm_that_comes_with_the_run(self):
        """It broadcasts to the product, and does not repeat it."""
        x, w = (np.arange(n, dtype=F) % 7 - 3 for n in (48, 64 * 16))
        x, w = x.reshape(3, 16), w.reshape(16, 64)
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"], "dq"), helper.make_node("Gemm", ["x", "wf", "c"], ["y"], "product", alpha=0.5)]
        m = model(nodes, {"x": (T.FLOAT, (None, 16)), "c": (T.FLOAT, None)}, {"y": (T.FLOAT, None)}, 17, {"w": w.astype(np.int8), "s": F(0.25)})
        of_columns = model(nodes, {"x": (T.FLOAT, (None, 16)), "c": (T.FLOAT, (None, 64))}, {"y": (T.FLOAT, None)}, 17, {"w": w.astype(np.int8), "s": F(0.25)})
        for shape in ((3, 64), (1, 64)):
            c = np.random.default_rng(1).integers(-9, 9, shape).astype(F)
            self.assertEqual(operators(of_columns, {"x": x, "c": c}), {NAME: 1})
            provider.assert_same(run(of_columns, {"x": x, "c": c})[0], x @ (w * F(0.25)) * F(0.5) + c)  # exact
        with self.assertRaisesRegex(REFUSALS, "node 'product' .Gemm.: expected what is added to its y of shape 1x64 to broadcast with it, given shape 3x64"):
            run(of_columns, {"x": x[:1], "c": np.ones((3, 64), F)})
        self.assertIn("leaves 'product' (Gemm): expected a constant beside 'y', given 'c'", log(m))

    def test_weights_of_an_outer_graph(self):
        """Of an If and of a Loop. ONNX Runtime fails to make MatMulNBits of them, or leaves the zero points out."""
        w = np.arange(64 * 32).reshape(64, 32) % 201 - 100
        parameters = {"w": w.astype(np.int8), "s": F(2.0) ** -(np.arange(32) % 4).astype(F), "z": (np.arange(32) % 17 - 8).astype(np.int8)}
        x = (np.arange(64, dtype=F) % 5 - 2).reshape(1, 64)
        product = np.maximum(x @ ((w - parameters["z"]) * parameters["s"]).astype(F), F(0))  # exact
        body = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], "dq", axis=1), helper.make_node("MatMul", ["x", "d"], ["p"], "product"),
                helper.make_node("Relu", ["p"], ["r"], "relu")]
        info, tensor = helper.make_tensor_value_info, lambda name, value: numpy_helper.from_array(np.asarray(value), name)
        for outer in (("w", "s", "z"), ("z",), ("w",), ("s", "z"), ("w", "s")):
            inner = [tensor(name, value) for name, value in parameters.items() if name not in outer]
            constants = [tensor(name, parameters[name]) for name in outer]
            branch = helper.make_graph(body, "branch", [], [info("r", T.FLOAT, None)], inner)
            other = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "other", [], [info("o", T.FLOAT, None)])
            of_if = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=other)], "g",
                                      [info("c", T.BOOL, []), info("x", T.FLOAT, [1, 64])], [info("y", T.FLOAT, None)], constants)
            steps = [helper.make_node("Add", ["sum", "r"], ["more"]), helper.make_node("Identity", ["goes"], ["goes_on"])]
            loop = helper.make_graph([*body, *steps], "body", [info("i", T.INT64, []), info("goes", T.BOOL, []), info("sum", T.FLOAT, [1, 32])],
                                     [info("goes_on", T.BOOL, []), info("more", T.FLOAT, [1, 32])], inner)
            of_loop = helper.make_graph([helper.make_node("Loop", ["n", "", "zero"], ["y"], body=loop)], "g", [info("x", T.FLOAT, [1, 64])],
                                        [info("y", T.FLOAT, None)], [*constants, tensor("n", np.int64(3)), tensor("zero", np.zeros((1, 32), F))])
            for graph, inputs, times in ((of_if, {"x": x, "c": np.array(True)}, 1), (of_loop, {"x": x}, 3)):
                m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
                with self.subTest(outer=outer, op=graph.node[0].op_type):
                    provider.assert_same(provider.run(m, inputs)[0], F(times) * product)
                    self.assertIn("claims 'dq' (DequantizeLinear), 'product' (MatMul), 'relu' (Relu)", log(m))

    def test_what_is_left(self):
        def said(change, **options):
            m = onnx.load_from_string(layer_of(6, 4, shape=[6]).model())  # also for transA
            change(m.graph)
            return log(m.SerializeToString(), claim="all", **options)

        def given_scale(g):
            g.input.append(helper.make_tensor_value_info("s", T.FLOAT, [4]))
            del g.initializer[1]

        claims, leaves = "dynquant: claims 'dq' (DequantizeLinear), 'product' (Gemm)", "dynquant: leaves 'product' (Gemm): "
        self.assertIn(claims, said(lambda g: None))
        self.assertNotIn("claims", said(lambda g: None, weight_only="off"))
        self.assertIn(leaves + "attribute 'transA': expected 0", said(lambda g: g.node[1].attribute.append(helper.make_attribute("transA", 1))))
        self.assertIn(leaves + "'s', of its weights, is no constant", said(given_scale))

    def test_a_scale_that_the_session_replaces(self):
        layer = layer_of(8, 8, granularity="tensor", bias=False, zero_points=False)
        x, other = layer.draw_x(), ort.OrtValue.ortvalue_from_numpy(np.asarray(F(0.5)))
        given = run(layer.model(), {"x": x}, prepare=lambda s: s.add_initializer("s", other))[0]
        layer.scales = np.full((1, 1), 0.5, F)
        self.assert_near(layer, given, x)

    def test_a_shape_that_does_not_fit(self):
        layer = layer_of(8, 5)
        m = onnx.load_from_string(layer.model())
        m.graph.input[0].type.tensor_type.ClearField("shape")
        with self.assertRaises(InvalidArgument) as caught:
            run(m.SerializeToString(), {"x": np.zeros((2, 7), F)})
        self.assertIn("node 'product' (Gemm): A: expected 8 columns, as many as B has rows, given shape 2x7", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
