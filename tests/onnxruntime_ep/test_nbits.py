"""MatMulNBits, and the layers of DequantizeLinear that ONNX Runtime would make such nodes of: the bits of the definition in docs/onnx_operators.md, beside ONNX
Runtime's own results, and what is left to it.

DYNQUANT_TEST_SAMPLE=N computes every Nth of the random nodes."""
import itertools
import os
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from layers import model
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
import provider
from processor import WITHOUT_AVX2
from provider import NAME, assert_same, said

F = np.float32
NODES, SAMPLE = 10000, int(os.environ.get("DYNQUANT_TEST_SAMPLE", "20"))
VERSION = tuple(map(int, ort.__version__.split(".")[:2]))
ALL = {"claim": "all"}
QUANTIZES = "quantizes the input of 'n' (MatMulNBits) in blocks of {}"


def run(m, inputs, options=ALL, **of):
    return provider.run(m, inputs, options=options, **of)


def fma(a, b, c):
    """a * b + c in float, rounded once. The product of floats is exact in double. Its sum with c is rounded to odd: where it is inexact, of the two doubles
    around it the one with an odd last bit. From there rounding to float, which has more than two bits fewer, is as from the exact sum (Boldo and Melquiond,
    Emulation of a FMA and correctly rounded sums, theorem 1)."""
    a, b, c = (np.asarray(v, np.float64) for v in (a, b, c))
    product = a * b
    with np.errstate(invalid="ignore"):
        total = product + c
        part = total - product
        error = (product - (total - part)) + (c - part)  # exact: Knuth's TwoSum
    is_even = (total.view(np.int64) & 1) == 0
    fix = np.isfinite(total) & (error != 0) & is_even
    with np.errstate(over="ignore"):
        return np.where(fix, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total).astype(F)


def quantized(x, block):
    """x as codes, and the scale of each block of each row."""
    codes, scales = np.zeros(x.shape), np.zeros((x.shape[0], -(-x.shape[1] // block)), F)
    for b in range(scales.shape[1]):
        part = x[:, b * block:(b + 1) * block]
        most = np.abs(part).max(1, keepdims=True)
        scales[:, b:b + 1] = most / F(127)
        with np.errstate(divide="ignore"):
            inverse = np.where(most == 0, F(0), np.minimum(F(127) / most, np.finfo(F).max))
        codes[:, b * block:(b + 1) * block] = np.rint(part * inverse)
    return codes, scales


def by_integers(x, differences, scales, block):
    """x as codes: the exact sum of a block, in float, times a product of scales in float, is added by fma, in the order of the blocks. scales: [blocks, columns],
    those of weights; differences: [inner, columns], weights less their zero points."""
    codes, of_x = quantized(x, block)
    y = np.zeros((x.shape[0], differences.shape[1]), F)
    for b in range(scales.shape[0]):
        of_block = slice(b * block, (b + 1) * block)
        d = codes[:, of_block] @ differences[of_block].astype(np.float64)  # integers below 2^24, exact in double and in float
        y = fma(d, of_x[:, b:b + 1] * scales[b], y)
    return y


def by_floats(x, differences, scales, block):
    """x as floats, as src/layers/gemm/weight_only/weight_only_product.hpp says."""
    y = None
    for b in range(scales.shape[0]):
        acc = np.zeros((x.shape[0], differences.shape[1]), F)
        for k in range(b * block, min((b + 1) * block, x.shape[1])):
            acc = fma(x[:, k:k + 1], differences[k], acc)
        y = acc * scales[b] if y is None else fma(acc, scales[b], y)
    return y


def pack(codes, bits):
    """The first code in the low bits; the last byte is padded."""
    in_byte = 8 // bits
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], -codes.shape[-1] % in_byte), codes.dtype)], -1).astype(np.uint8)
    return sum((codes[..., i::in_byte] << (bits * i) for i in range(1, in_byte)), codes[..., 0::in_byte])


class Node:
    """zero_points: "", "packed" or "float". flat: scales and zero points are vectors. bits of what pads the last block are drawn, too."""

    def __init__(self, random, inner, columns, bits=4, block=32, level=None, *, zero_points="", bias=False, flat=False, rank=2, step="", half=False):
        self.random, self.inner, self.columns, self.bits, self.block, self.level, self.rank, self.step = random, inner, columns, bits, block, level, rank, step
        self.kind = np.float16 if half else F
        blocks = -(-inner // block)
        self.codes = random.integers(0, 1 << bits, (columns, blocks * block))
        self.scales = (random.uniform(0.001, 0.1, (columns, blocks)) * random.choice([-1, 1], (columns, blocks))).astype(self.kind)
        self.zero_points = np.full((columns, blocks), 1 << (bits - 1))
        self.constants = {"B": pack(self.codes, bits).reshape(columns, blocks, block * bits // 8), "scales": self.scales}
        if zero_points:
            self.zero_points = random.integers(0, 1 << bits, (columns, blocks))
            self.constants["zero_points"] = pack(self.zero_points, bits) if zero_points == "packed" else self.zero_points.astype(self.kind)
        for name in ("scales", "zero_points"):
            if flat and name in self.constants:
                self.constants[name] = self.constants[name].ravel()
        self.bias = random.standard_normal(columns).astype(self.kind) if bias else None
        if bias:
            self.constants["bias"] = self.bias
        has_kernel = zero_points != "float" and (bits != 2 or (VERSION >= (1, 29) and block in (32, 64, 128)))
        self.x_block = block if level == 4 and has_kernel else 0

    def model(self, **attributes):
        names = [name if name in self.constants else "" for name in ("B", "scales", "zero_points", "g_idx", "bias")]
        while not names[-1]:
            names.pop()
        attributes = {"K": self.inner, "N": self.columns, "bits": self.bits, "block_size": self.block} | attributes
        if self.level is not None:
            attributes.setdefault("accuracy_level", self.level)
        nodes = [helper.make_node("MatMulNBits", ["x", *names], ["y"], "n", domain="com.microsoft", **attributes)]
        if self.step:
            nodes.append(helper.make_node(self.step, ["y"], ["z"], "step"))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        m = onnx.load_from_string(model(nodes, {"x": (kind, [*[None] * (self.rank - 1), self.inner])}, {nodes[-1].output[0]: (kind, None)}, 21, self.constants))
        m.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return m.SerializeToString()

    def draw_x(self, rows=None):
        extents = [int(self.random.integers(1, 6)) for _ in range(self.rank - 1)]
        if rows is not None and self.rank > 1:
            extents = [1] * (self.rank - 2) + [rows]
        x = self.random.standard_normal((*extents, self.inner)) * self.random.choice([1e-3, 1, 1e3])
        return x.astype(self.kind)

    def differences(self):
        return (self.codes - np.repeat(self.zero_points, self.block, 1)).T[:self.inner]

    def expected(self, x, x_block=None):
        rows = x.reshape(-1, self.inner).astype(F)
        compute = by_integers if (self.x_block if x_block is None else x_block) else by_floats
        y = compute(rows, self.differences(), self.scales.astype(F).T, self.block)
        if self.bias is not None:
            y = y + self.bias.astype(F)
        y = y.astype(self.kind)
        y = {"": lambda y: y, "Relu": lambda y: np.maximum(y, self.kind(0)), "Neg": lambda y: -y}[self.step](y)
        return y.reshape(*x.shape[:-1], self.columns)

    def factors(self, x):
        """x as the node quantizes it, and the weights, in double."""
        x = x.reshape(-1, self.inner).astype(F)
        if self.x_block:
            codes, scales = quantized(x, self.block)
            x = codes * np.repeat(scales.astype(np.float64), self.block, 1)[:, :self.inner]
        return x.astype(np.float64), self.differences() * np.repeat(self.scales.astype(np.float64), self.block, 1).T[:self.inner]

    def exact(self, x):
        x, w = self.factors(x)
        return x @ w + (0 if self.bias is None else self.bias.astype(np.float64))


def drawn(i, **of):
    random = np.random.default_rng([61, i])
    choose = lambda *of: of[random.integers(len(of))]
    return Node(random, int(random.integers(1, 300)), int(random.integers(1, 90)), choose(2, 4, 4, 4, 8, 8), choose(16, 32, 64, 128, 256), choose(None, 0, 1, 4, 4, 4),
                zero_points=choose("", "packed", "float"), bias=random.random() < 0.5, flat=random.random() < 0.5, rank=int(random.integers(1, 5)),
                step=choose("", "", "Relu", "Neg"), **of)


class Definition(unittest.TestCase):
    def check(self, node, rows=(None,), threads=1, options=ALL, x_block=None):
        s = provider.session(node.model(), options=options, threads=threads, spins=False)
        for r in rows:
            x = node.draw_x(r)
            assert_same(s.run(None, {"x": x})[0], node.expected(x, x_block))

    def test_random_nodes(self):
        for i in range(0, NODES, SAMPLE):
            node = drawn(i)
            with self.subTest(i=i, bits=node.bits, block=node.block, level=node.level):
                self.check(node, threads=1 + i % 2)

    def test_float16(self):
        """x, scales and the bias become floats, and y is rounded; what follows is a node of its own."""
        for i in range(60):
            node = drawn(i, half=True)
            m = node.model()
            with self.subTest(i=i, bits=node.bits, block=node.block, level=node.level):
                self.assertIn("claims 'n' (MatMulNBits)\x1b", said(m, ALL))
                self.check(node, threads=1 + i % 2)

    def test_rows_and_threads(self):
        for bits, block, level, threads in itertools.product((4, 8), (16, 32, 64, 128, 256), (0, 4), (1, 2)):
            node = Node(np.random.default_rng([bits, block]), 320, 130, bits, block, level, zero_points="packed")
            with self.subTest(bits=bits, block=block, level=level, threads=threads):
                self.check(node, (0, 1, 2, 5, 17, 128), threads)

    def test_what_the_node_is_becomes_one(self):
        for level, bits, zero_points, block in itertools.product((None, 0, 1, 2, 3, 4), (2, 4, 8), ("", "packed", "float"), (32, 512)):
            node = Node(np.random.default_rng(1), 70, 9, bits, block, level, zero_points=zero_points, bias=True, step="Neg")
            with self.subTest(level=level, bits=bits, zero_points=zero_points, block=block):
                lines = said(node.model(), ALL)
                if node.x_block > 256 and VERSION >= (1, 32):  # older versions refuse such blocks, or leave y unwritten
                    self.assertIn("leaves 'n' (MatMulNBits): ONNX Runtime quantizes its input by blocks of 512, more than 256", lines)
                    continue
                self.assertIn("claims 'n' (MatMulNBits)", lines)
                self.assertEqual(QUANTIZES.format(32) in lines, node.x_block == 32)

    def test_an_unset_level(self):
        for level, option, quantizes in ((None, "auto", False), (0, "auto", False), (None, "int8_x", True), (0, "int8_x", True), (1, "int8_x", False),
                                         (4, "auto", True)):
            node = Node(np.random.default_rng(2), 100, 20, level=level, zero_points="packed")
            with self.subTest(level=level, option=option):
                options = {"claim": "all", "weight_only": option}
                self.assertEqual(QUANTIZES.format(32) in said(node.model(), options), quantizes)
                self.check(node, (1, 9), options=options, x_block=32 if quantizes else 0)

    def test_values_at_the_edges(self):
        """Zeros, ties of codes, the largest and the least floats that a scale divides, and what is infinite or NaN."""
        node = Node(np.random.default_rng(3), 64, 40, level=4, zero_points="packed")
        x = np.zeros((8, 64), F)
        x[1, :] = -0.0
        x[2, :32] = np.arange(32) - 15.5
        x[2, 31] = 127
        x[3, :] = node.random.standard_normal(64).astype(F) * F(1e-30)
        x[4, :] = node.random.standard_normal(64).astype(F) * F(1e30)
        x[5, ::7] = node.random.standard_normal(10).astype(F) * F(1e-38)  # 127 / 1e-38 overflows
        x[6, 3], x[7, 40] = np.nan, np.inf
        y = run(node.model(), {"x": x})[0]
        assert_same(y[:6], node.expected(x[:6]))
        self.assertTrue(np.isnan(y[6:]).all())

    def test_scales_that_are_not_finite(self):
        node = Node(np.random.default_rng(4), 64, 6, level=4)
        node.scales[:, 0] = [np.nan, np.inf, -np.inf, 1, 0, 1]
        y = run(node.model(), {"x": np.ones((2, 64), F)})[0]
        self.assertTrue(np.isnan(y[:, 0]).all())
        self.assertTrue(np.isinf(y[:, 1:3]).all())
        self.assertTrue(np.isfinite(y[:, 3:]).all())


    def test_what_follows_belongs_to_the_layer(self):
        node = Node(np.random.default_rng(11), 96, 40, level=4, bias=True, rank=3)
        m = onnx.load_from_string(node.model())
        m.graph.node.extend([helper.make_node("Add", ["y", "c"], ["a"]), helper.make_node("Add", ["r", "a"], ["b"]),
                             helper.make_node("LeakyRelu", ["b"], ["z"], alpha=0.25)])
        c = node.random.standard_normal(40).astype(F)
        m.graph.initializer.append(numpy_helper.from_array(c, "c"))
        m.graph.input.append(helper.make_tensor_value_info("r", T.FLOAT, [None, None, 40]))
        m.graph.output[0].name = "z"
        x = node.draw_x(7)
        r = node.random.standard_normal((*x.shape[:-1], 40)).astype(F)
        self.assertEqual(provider.operators(m.SerializeToString(), {"x": x, "r": r}, options=ALL), {NAME: 1})
        sums = node.expected(x) + c + r
        assert_same(run(m.SerializeToString(), {"x": x, "r": r})[0], np.where(sums < 0, sums * F(0.25), sums))

    def test_weights_of_an_outer_graph(self):
        node = Node(np.random.default_rng(12), 64, 40, level=4, zero_points="packed")
        m = onnx.load_from_string(node.model())
        info = helper.make_tensor_value_info
        branch = helper.make_graph(m.graph.node[:], "branch", [], [info("y", T.FLOAT, None)])
        other = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "other", [], [info("o", T.FLOAT, None)])
        del m.graph.node[:]
        m.graph.node.append(helper.make_node("If", ["c"], ["u"], then_branch=branch, else_branch=other))
        m.graph.input.append(info("c", T.BOOL, []))
        m.graph.output[0].name = "u"
        x = node.draw_x(3)
        inputs = {"x": x, "c": np.array(True)}
        self.assertEqual(provider.operators(m.SerializeToString(), inputs, options=ALL), {NAME: 1, "If": 1})
        assert_same(run(m.SerializeToString(), inputs)[0], node.expected(x))

    def test_what_is_as_fast_there_is_left(self):
        for columns, rows, bits, level, reason in (
                (31, None, 4, 4, "few columns"), (32, None, 4, 4, ""), (56, None, 4, 4, "few columns"), (57, None, 4, 4, ""), (31, None, 8, 0, ""), (64, 64, 4, 0, "many rows"), (64, 63, 4, 0, ""),
                (64, 64, 8, 0, ""), (64, 4096, 4, 4, ""), (64, None, 4, 0, "")):
            node = Node(np.random.default_rng(13), 64, columns, bits, 32, level)
            m = onnx.load_from_string(node.model())
            m.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", T.FLOAT, [rows, 64]))
            with self.subTest(columns=columns, rows=rows, bits=bits, level=level):
                lines = said(m.SerializeToString())
                expected = "without AVX2" if WITHOUT_AVX2 else f"ONNX Runtime's MatMulNBits is as fast for so {reason}"
                self.assertIn(f"leaves 'n' (MatMulNBits): {expected}" if reason or WITHOUT_AVX2 else "claims 'n' (MatMulNBits)", lines)


class BesideOnnxRuntime(unittest.TestCase):
    """Its kernels add in an order of their own, and subtract zero points at the end."""

    def test_errors_are_no_larger(self):
        """In the mean of all. Of one case the larger error is chance: ONNX Runtime's order of sums depends on the processor."""
        ratios = {0: [], 4: []}
        for bits, block, level, (inner, columns), half in itertools.product((4, 8), (16, 32, 128, 256), ratios, ((256, 96), (500, 33)), (False,)):
            node = Node(np.random.default_rng([bits, block, level]), inner, columns, bits, block, level, zero_points="packed", half=half)
            for rows in (1, 16):
                x = node.draw_x(rows)
                exact, magnitudes = node.exact(x), np.matmul(*map(np.abs, node.factors(x)))
                ours, theirs = (np.abs(run(node.model(), {"x": x}, provider=p)[0] - exact) for p in (True, False))
                with self.subTest(bits=bits, block=block, level=level, inner=inner, rows=rows):
                    self.assertLess(theirs.max(), 1e-4 * np.abs(exact).max())  # it quantizes x as the definition does
                    # Sums in any order, of products and scales that are each rounded (Higham, Accuracy and Stability, 3.1).
                    self.assertTrue((ours <= (inner + 3) * 2.0**-24 / (1 - (inner + 3) * 2.0**-24) * magnitudes).all())
                    # What such sums lose in fact, on every processor, as the bits are the same: rounding errors cancel.
                    self.assertLessEqual(ours.max(), 12 * 2.0**-24 * np.abs(exact).max())
                    ratios[level].append(ours.mean() / theirs.mean())
        for level, some in ratios.items():
            with self.subTest(level=level):
                self.assertLess(np.exp(np.log(some).mean()), 1)


class OfDequantizeLinear(unittest.TestCase):
    """Layers that ONNX Runtime makes MatMulNBits of."""

    def make(self, kind, block, op="MatMul", inner=96, columns=40, zero_points=True):
        """block: rows of a scale; 0: one scale; 1: one for each column."""
        random = np.random.default_rng([kind, block])
        low, high = {T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT4: (-8, 7), T.UINT4: (0, 15)}[kind]
        w = random.integers(low, high + 1, (inner, columns))
        shape, attributes = {0: ((), {}), 1: ((columns,), {"axis": 1})}.get(block) or ((-(-inner // block), columns), {"axis": 0, "block_size": block})
        s, z = random.uniform(0.001, 0.1, shape).astype(F), random.integers(low, high + 1, shape)
        tensor = lambda name, values: helper.make_tensor(name, kind, np.shape(values), np.ravel(values).tolist())
        constants = {"w": tensor("w", w), "s": s} | ({"z": tensor("z", z)} if zero_points else {})
        nodes = [helper.make_node("DequantizeLinear", [*constants], ["f"], "dq", **attributes), helper.make_node(op, ["x", "f"], ["y"], "n")]
        m = model(nodes, {"x": (T.FLOAT, [None, inner])}, {"y": (T.FLOAT, None)}, 21, constants)
        spread = lambda p: np.repeat(p, block, 0)[:inner] if block > 1 else np.broadcast_to(p, w.shape)
        of_blocks = lambda rows: spread(s)[::rows] if block < 2 else s
        return m, w - (spread(z) if zero_points else 0), of_blocks

    def test_the_bits(self):
        kinds = (T.INT4, T.UINT4) if VERSION < (1, 25) else (T.INT4, T.UINT4, T.INT8, T.UINT8)
        blocks = (32, 64) if VERSION < (1, 25) else (0, 1, 16, 32, 64, 256)
        x = np.random.default_rng(5).standard_normal((5, 96)).astype(F)
        for kind, block, zero_points in itertools.product(kinds, blocks, (False, True)):
            m, differences, scales = self.make(kind, block, zero_points=zero_points)
            rows = block if block > 1 else 32
            with self.subTest(kind=kind, block=block, zero_points=zero_points):
                assert_same(run(m, {"x": x})[0], by_integers(x, differences, scales(rows), rows))

    def test_entries_of_the_session(self):
        general = VERSION >= (1, 25)
        x = np.random.default_rng(6).standard_normal((3, 96)).astype(F)
        for entries, block, rows in (
                ({"session.qdq_matmulnbits_accuracy_level": "0"}, 32, 0), ({"session.qdq_matmulnbits_accuracy_level": "1"}, 32, 0),
                ({"session.qdq_matmulnbits_accuracy_level": "4"}, 32, 32), ({"session.qdq_matmulnbits_block_size": "16"}, 32, 32),
                ({"session.disable_quant_qdq": "0"}, 32, 32),
                # With 1 constants are folded, DequantizeLinear's result too, unless that is disabled.
                ({"session.disable_quant_qdq": "1", "optimization.disable_specified_optimizers": "ConstantFolding"}, 32, 0),
                ({"session.disable_quant_qdq": "0", "optimization.disable_specified_optimizers": "QDQSelectorActionTransformer"}, 32, 0),
                ({"session.disable_quant_qdq": "1", "optimization.disable_specified_optimizers": "ConstantFolding;QDQSelectorActionTransformer"}, 32, 0),
                ({"session.enable_dq_matmulnbits_fusion": "1"}, 32, 32), ({"optimization.disable_specified_optimizers": "QDQSelectorActionTransformer"}, 32, 0),
                *(({"session.qdq_matmulnbits_block_size": given}, block, rows) for given, rows in (("0", 32), ("-1", 32), ("16", 16), ("128", 128))
                  for block in (0, 1) if general)):
            m, differences, scales = self.make(T.INT8 if block < 2 else T.INT4, block)
            with self.subTest(entries=entries, block=block):
                prepare = lambda settings: [settings.add_session_config_entry(key, value) for key, value in entries.items()]
                given = run(m, {"x": x}, prepare=prepare)[0]
                of = rows or max(block, 96 if block < 2 else 0)
                compute = by_integers if rows else by_floats
                assert_same(given, compute(x, differences, scales(of), of))

    def test_the_rows_of_a_repeated_scale(self):
        """Where the session leaves them open, as many as leave the fewest rows of the last block empty, 256 at most."""
        if VERSION < (1, 25):
            self.skipTest("ONNX Runtime repeats no scales")
        prepare = lambda settings: settings.add_session_config_entry("session.qdq_matmulnbits_block_size", "-1")
        for inner, rows in ((16, 16), (24, 16), (40, 16), (96, 32), (512, 256)):
            m, differences, scales = self.make(T.INT8, 0, inner=inner)
            x = np.random.default_rng(inner).standard_normal((3, inner)).astype(F)
            with self.subTest(inner=inner):
                assert_same(run(m, {"x": x}, prepare=prepare)[0], by_integers(x, differences, scales(rows), rows))

    def test_the_option_for_layers_of_blocks(self):
        """Also where ONNX Runtime makes no MatMulNBits: of transposed weights, or before a Relu."""
        x = np.random.default_rng(7).standard_normal((3, 96)).astype(F)
        for kind, block, quantizes in ((T.INT8, 32, True), (T.UINT4, 16, True), (T.INT4, 48, False), (T.INT8, 8, False), (T.INT4, 256, True)):
            m, differences, scales = self.make(kind, block)
            m = onnx.load_from_string(m)
            m.graph.node[1].output[0] = "p"
            m.graph.node.extend([helper.make_node("Relu", ["p"], ["r"], "relu"), helper.make_node("Neg", ["r"], ["y"], "neg")])
            m = m.SerializeToString()
            for option in ("auto", "int8_x"):
                compute = by_integers if quantizes and option == "int8_x" else by_floats
                with self.subTest(kind=kind, block=block, option=option):
                    given = run(m, {"x": x}, {"claim": "all", "weight_only": option})[0]
                    np.testing.assert_array_equal(given, -np.maximum(compute(x, differences, scales(block), block), F(0)))

    def test_weights_that_a_subgraph_takes_as_well(self):
        """Since 1.27 ONNX Runtime makes no MatMulNBits of the outer layer then, whether the provider takes the inner one or not."""
        m, _, _ = self.make(T.INT8, 0, inner=64, columns=64)
        info, node = helper.make_tensor_value_info, helper.make_node
        other = helper.make_graph([node("Identity", ["x"], ["o"])], "other", [], [info("o", T.FLOAT, None)])
        for claimed, layer in ((True, node("Gemm", ["x", "i"], ["p"], "inner", transB=1)), (False, node("Neg", ["i"], ["p"], "inner"))):
            inner = [node("DequantizeLinear", ["w", "s", "z"], ["i"]), layer]
            branch = helper.make_graph(inner, "branch", [], [info("p", T.FLOAT, None)])
            g = onnx.load_from_string(m)
            g.graph.node.append(node("If", ["c"], ["u"], then_branch=branch, else_branch=other))
            g.graph.input.append(info("c", T.BOOL, []))
            g.graph.output.append(info("u", T.FLOAT, None))
            g, options = g.SerializeToString(), {"claim": "all" if claimed else "auto"}
            with self.subTest(claimed=claimed):
                if claimed and VERSION < (1, 25):  # it refuses claimed nodes of two graphs
                    with self.assertRaisesRegex(Fail, "Conflicting with a registered kernel"):
                        provider.session(g, options=options)
                    continue
                lines = said(g, options)
                self.assertEqual("'inner' (Gemm)" in lines, claimed)
                self.assertEqual("quantizes the input of 'n' (MatMul)" in lines, (1, 25) <= VERSION < (1, 27))
                inputs = {"x": np.random.default_rng(8).standard_normal((3, 64)).astype(F), "c": np.array(True)}
                ours, theirs = (run(g, inputs, options, provider=p) for p in (True, False))
                for given, expected in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


    def test_outputs_of_the_graph_are_no_consumers(self):
        """x is int8 here where it is there: an output of the graph counts nowhere, and a subgraph as a node does."""
        m, _, _ = self.make(T.INT4, 32)
        info, node = helper.make_tensor_value_info, helper.make_node
        relu, negate = node("Relu", ["y"], ["r"]), node("Neg", ["r"], ["u"])
        branches = {name: helper.make_graph([node("Neg", [of], [name])], name, [], [info(name, T.FLOAT, None)]) for name, of in (("then", "r"), ("other", "x"))}
        choose = node("If", ["c"], ["u"], then_branch=branches["then"], else_branch=branches["other"])
        inputs = {"x": np.random.default_rng(9).standard_normal((3, 96)).astype(F), "c": np.array(True)}
        since = VERSION >= (1, 25)
        for name, nodes, outputs, quantizes in (
                ("the scale is an output", [], {"y": None, "s": (3, 40)}, True), ("y is one, beside a Relu", [relu, negate], {"y": None, "u": None}, False),
                ("a subgraph takes what Relu gives", [relu, choose], {"u": None}, False), ("Relu gives an output", [relu], {"r": None}, True)):
            g = onnx.load_from_string(m)
            del g.graph.output[:]
            g.graph.node.extend(nodes)
            g.graph.input.append(info("c", T.BOOL, []))
            g.graph.output.extend(info(output, T.FLOAT, shape) for output, shape in outputs.items())
            self.compare(name, g, inputs, quantizes)
        for alpha, quantizes in ((1.0, since), (1.0000005, (1, 25) <= VERSION < (1, 32)), (1.001, False)):
            g = onnx.load_from_string(m)
            g.graph.node[1].CopyFrom(node("Gemm", ["x", "f"], ["y"], "n", alpha=alpha))
            self.compare(f"alpha {alpha}", g, {"x": inputs["x"]}, quantizes)

    def compare(self, name, g, inputs, quantizes):
        g = g.SerializeToString()
        with self.subTest(name):
            self.assertEqual("quantizes the input of 'n'" in said(g, ALL), quantizes)
            given = dict(list(inputs.items())[:len(onnx.load_from_string(g).graph.input)])
            for ours, theirs in zip(*(run(g, given, provider=p) for p in (True, False)), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


class Left(unittest.TestCase):
    def reason(self, change, **of):
        node = Node(np.random.default_rng(9), 64, 8, zero_points="packed", **of)
        return said(node.model(**(change(node) or {})), ALL, refused=True)

    def test_what_does_not_fit(self):
        constant = lambda name, value: lambda node: node.constants.update({name: value})
        for change, reason in (
                (constant("B", np.zeros((8, 2, 15), np.uint8)), "input 'B': expected shape 8x2x16, given 8x2x15"),
                (constant("scales", np.ones((8, 3), F)), "input 'scales': expected shape 8x2, given 8x3"),
                (constant("zero_points", np.zeros((8, 2), np.uint8)), "input 'zero_points': expected shape 8x1, given 8x2"),
                (constant("zero_points", np.full((8, 2), 1.5, F)), "input 'zero_points': expected whole numbers of 4 bits"),
                (constant("zero_points", np.full((8, 2), 16, F)), "input 'zero_points': expected whole numbers of 4 bits"),
                (constant("g_idx", np.arange(64, dtype=np.int32) // 32), "it has an input 'g_idx'"),
                (lambda node: {"bits": 3}, "attribute 'bits': expected 2, 4 or 8, given 3"),
                (lambda node: {"block_size": 24}, "attribute 'block_size': expected a power of two from 16 on, given 24"),
                (lambda node: {"N": -1}, "attribute 'N': expected a positive number, given -1")):
            with self.subTest(reason=reason):
                self.assertIn(f"leaves 'n' (MatMulNBits): {reason}", self.reason(change))

    def test_constants_that_are_none(self):
        for name in ("B", "scales", "zero_points", "bias"):
            node = Node(np.random.default_rng(9), 64, 8, zero_points="packed", bias=True)
            m = onnx.load_from_string(node.model())
            value = node.constants[name]
            kept = [i for i in m.graph.initializer if i.name != name]
            del m.graph.initializer[:]
            m.graph.initializer.extend(kept)
            m.graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
            with self.subTest(name=name):
                expected = "expected a constant beside 'y', given 'bias'" if name == "bias" else f"'{name}', of its weights, is no constant"
                self.assertIn(f"leaves 'n' (MatMulNBits): {expected}", said(m.SerializeToString(), ALL))

    def test_the_option_off(self):
        node = Node(np.random.default_rng(9), 64, 8)
        self.assertNotIn("claims", said(node.model(), {"claim": "all", "weight_only": "off"}))


if __name__ == "__main__":
    unittest.main()
