"""Nodes that quantize and dequantize, claimed by themselves: their bits, and that ONNX Runtime keeps what it fuses."""
import collections
import itertools
import logging
import os
import pathlib
import re
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from layers import dynamic_quantize, model
from models import choose, normal
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NotImplemented
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from provider import NAME, assert_same, executed, operators, run, run_at_the_same_time, session
from quantization import BFLOAT16, BYTES, FLOAT, FLOAT8, FOUR_BITS, HALF, INT32, SHORTS, Node, dequantize, quantize
from test_provider import log

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261124"))
ALL, AUTO = {"claim": "all"}, {"claim": "auto"}
QUANTIZE, DEQUANTIZE, DYNAMIC = "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"
VERSION = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
NBITS_ARE_GENERAL = VERSION >= (1, 25)  # before, other layers are claimed: test_narrow.py
HAS_TWO_BITS = VERSION >= (1, 31)  # the newest that is tested has them
GRANULARITIES = ("scalar", "tensor", "vector", "axis", "last", "blocks")
node = helper.make_node
UINT8 = TensorProto.UINT8
logging.disable(logging.WARNING)  # of the quantization tools


class Definition(unittest.TestCase):
    def check(self, n, options=ALL, threads=1):
        with tempfile.TemporaryDirectory() as folder:
            s = session(n.model(), options=options, threads=threads, profile=f"{folder}/profile")
            for _ in range(2):
                x = n.draw_x()
                (shape, data), (wanted_shape, wanted) = n.run(s, x), n.expected(x)
                self.assertEqual(shape, wanted_shape)
                self.assertTrue(data == wanted)  # assertEqual takes minutes to describe large ones
            self.assertEqual(executed(s), {NAME: 2})

    def test_random_nodes(self):
        for i in range(500):
            random = np.random.default_rng([SEED, i])
            op = str(random.choice([QUANTIZE, DEQUANTIZE]))
            real = int(random.choice([FLOAT, HALF, BFLOAT16]))
            scale, opset = real, 21
            quantized = int(random.choice([*BYTES, *SHORTS, *FOUR_BITS, *FLOAT8, *([INT32] if op == DEQUANTIZE else [])]))
            attributes = {}
            if op == QUANTIZE and random.random() < 0.3:  # x of any type, divided in any
                real, scale, opset = (int(random.choice(kinds)) for kinds in ([FLOAT, HALF, BFLOAT16, INT32], [FLOAT, HALF, BFLOAT16], [23]))
                if random.random() < 0.5:
                    attributes["precision"] = int(random.choice([FLOAT, HALF, BFLOAT16]))
            if op == QUANTIZE and quantized in FLOAT8:
                attributes["saturate"] = int(random.integers(2))
            n = Node(random, op, real, scale, quantized, str(random.choice(GRANULARITIES)), opset, random.random() < 0.5,
                     random.random() < 0.5, **attributes)
            with self.subTest(i=i, op=op, quantized=quantized, shape=n.shape, attributes=n.attributes), np.errstate(all="ignore"):
                self.check(n, threads=1 + i % 3)

    def test_large_ones_on_several_threads(self):
        random = np.random.default_rng(SEED)
        for op in (QUANTIZE, DEQUANTIZE):
            for granularity in ("tensor", "axis", "last", "blocks"):
                n = Node(random, op, FLOAT, FLOAT, UINT8, granularity, shape=(40, 90, 110))
                for threads in (1, 2, 5):
                    with self.subTest(op=op, granularity=granularity, threads=threads):
                        self.check(n, threads=threads)

    def test_versions_before_axes_and_blocks(self):
        for opset in (10, 13, 19):
            for op in (QUANTIZE, DEQUANTIZE):
                with self.subTest(op=op, opset=opset):
                    self.check(Node(np.random.default_rng(opset), op, FLOAT, FLOAT, TensorProto.INT8, "tensor", opset))

    def test_scales_of_one_element_and_of_unknown_rank(self):
        """By the last axis, of which others are claimed."""
        x = np.random.default_rng(SEED).standard_normal((6, 8)).astype(np.float32) * np.float32(20)
        for op, (shape, values) in itertools.product((QUANTIZE, DEQUANTIZE), (([1], [0.5]), (None, range(1, 9)))):
            scale = np.float32(values)
            q = np.rint(x / scale).clip(0, 255).astype(np.uint8)
            given, wanted = (x, q) if op == QUANTIZE else (q, q.astype(np.float32) * scale)
            types = {"x": (FLOAT if op == QUANTIZE else UINT8, None), "s": (FLOAT, shape)}
            m = model([node(op, ["x", "s"], ["y"], axis=1)], types, {"y": (UINT8 if op == QUANTIZE else FLOAT, None)}, 21)
            for options, claimed in ((ALL, {NAME: 1}), (AUTO, {op: 1})):
                with self.subTest(op=op, shape=shape, options=options):
                    self.assertEqual(operators(m, {"x": given, "s": scale}, options=options), claimed)
                    np.testing.assert_array_equal(run(m, {"x": given, "s": scale}, options=options)[0], wanted)

    def test_int8_that_another_operator_than_quantize_linear_gives(self):
        """ONNX Runtime has nothing to fuse it with: it is claimed."""
        x = np.int32([-128, -3, 0, 127])
        m = model([node("Cast", ["x"], ["q"], to=TensorProto.INT8), node(DEQUANTIZE, ["q", "s"], ["y"])],
                  {"x": (INT32, [4])}, {"y": (FLOAT, [4])}, 21, {"s": np.float32(0.5)})
        self.assertEqual(operators(m, {"x": x}, options=ALL), {NAME: 1, "Cast": 1})
        np.testing.assert_array_equal(run(m, {"x": x}, options=ALL)[0], np.float32([-64, -1.5, 0, 63.5]))

    def test_types_that_onnx_runtime_numbers_in_its_own_way(self):
        """2 bits, and scales of float8e8m0: 2^(code - 127)."""
        if not HAS_TWO_BITS:
            return self.assertRaises(Exception, session, self.two_bits(TensorProto.UINT2), provider=False)
        for kind, expected in ((TensorProto.UINT2, [0, 1, 2, 3]), (TensorProto.INT2, [0, 1, -2, -1])):
            with self.subTest(kind=kind):
                y = run(self.two_bits(kind), {})[0]
                np.testing.assert_array_equal(y, np.float32(expected) * np.float32(0.5))
        codes = helper.make_tensor("s", TensorProto.FLOAT8E8M0, [], b"\x82", raw=True)
        m = model([node(DEQUANTIZE, ["x", "s"], ["y"], output_dtype=FLOAT)], {"x": (UINT8, [3])},
                  {"y": (FLOAT, [3])}, 24, {"s": codes})
        np.testing.assert_array_equal(run(m, {"x": np.uint8([0, 1, 200])})[0], np.float32([0, 8, 1600]))

    @staticmethod
    def two_bits(kind):
        return model([node(DEQUANTIZE, ["x", "s"], ["y"])], {}, {"y": (FLOAT, [4])}, 25,
                     {"x": helper.make_tensor("x", kind, [4], b"\xe4", raw=True), "s": np.float32(0.5)})


class Claims(unittest.TestCase):
    def claimed(self, n, claim):
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            s = session(n.model(), options={"claim": claim}, profile=f"{folder}/profile")
            n.run(s, n.draw_x())
            return executed(s)[NAME] == 1

    def test_auto_leaves_what_onnx_runtime_has_fast_kernels_for(self):
        slow = [(FLOAT, kind, granularity) for kind in (*FOUR_BITS, *FLOAT8) for granularity in ("tensor", "axis", "last", "blocks")]
        slow += [(HALF, kind, granularity) for kind in (*BYTES, *FLOAT8) for granularity in ("tensor", "axis", "last", "blocks")]
        slow += [(FLOAT, kind, granularity) for kind in (*BYTES, *SHORTS) for granularity in ("last", "blocks")]
        fast = [(FLOAT, kind, granularity) for kind in (*BYTES, *SHORTS) for granularity in ("scalar", "tensor", "vector", "axis")]
        for op in (QUANTIZE, DEQUANTIZE):
            for cases, is_claimed in ((slow, True), (fast, False)):
                for real, quantized, granularity in cases:
                    n = Node(np.random.default_rng(3), op, real, real, quantized, granularity, shape=(2, 3, 4, 5)[:{"vector": 1}.get(granularity)])
                    if granularity == "axis":  # not the last one
                        n = Node(np.random.default_rng(3), op, real, real, quantized, "tensor", shape=(2, 3, 4, 5), axis=1)
                        n.scale, n.zero_point = np.repeat(n.scale, 3), np.repeat(n.zero_point, 3)
                    with self.subTest(op=op, real=real, quantized=quantized, granularity=granularity):
                        self.assertEqual(self.claimed(n, "auto"), is_claimed)
                        self.assertTrue(self.claimed(n, "all"))
                        self.assertFalse(self.claimed(n, "none"))

    def test_channels_last_of_a_rank_that_is_not_known(self):
        """Left: whether they are last is not known. axis -1 counts from the rank."""
        m = model([node(QUANTIZE, ["x", "s"], ["y"], axis=1)], {"x": (FLOAT, None)}, {"y": (UINT8, None)},
                  21, {"s": np.float32([1, 2])})
        self.assertEqual(operators(m, {"x": normal(3, 2)}, options=AUTO), {QUANTIZE: 1})
        self.assertEqual(operators(m, {"x": normal(3, 2)}, options=ALL), {NAME: 1})

    def test_nodes_that_onnx_runtime_cannot_compute(self):
        """bfloat16, int32 to be quantized."""
        for real, scale in ((BFLOAT16, BFLOAT16), (INT32, FLOAT)):
            with self.subTest(real=real, scale=scale):
                n = Node(np.random.default_rng(1), QUANTIZE, real, scale, UINT8, "tensor", 23)
                with self.assertRaises((Fail, InvalidArgument, NotImplemented)):
                    session(n.model(), provider=False)
                x = n.draw_x()
                np.testing.assert_array_equal(n.run(session(n.model()), x)[1], n.expected(x)[1])

    def test_verbose_says_why_nodes_are_left(self):
        nodes = [node(QUANTIZE, ["x", "s"], ["q"], "fast"), node(DEQUANTIZE, ["w", "t"], ["f"], "weights", axis=0, block_size=16),
                 node("MatMul", ["x", "f"], ["y"], "product"), node(QUANTIZE, ["x", "last"], ["r"], "slow")]
        m = model(nodes, {"x": (FLOAT, [3, 32])},
                  {"q": (UINT8, None), "y": (FLOAT, None), "r": (UINT8, None)}, 21,
                  {"s": np.float32(1), "w": helper.make_tensor("w", TensorProto.UINT4, [32, 8], bytes(128), raw=True), "t": np.ones((2, 8), np.float32), "last": np.ones(32, np.float32)})
        said = log(m, weight_only="off")
        self.assertIn("dynquant: leaves 'fast' (QuantizeLinear): ONNX Runtime has a fast kernel for it", said)
        self.assertIn("dynquant: leaves 'weights' (DequantizeLinear): ONNX Runtime may fuse it with 'product' (MatMul)", said)
        self.assertRegex(said, r"dynquant: claims 'slow' \(QuantizeLinear\)(\x1b|\n)")


class Dynamic(unittest.TestCase):
    """DynamicQuantizeLinear."""

    def model(self, outputs, rank=1, shape=None):
        types = {"y": (UINT8, None), "s": (FLOAT, []), "z": (UINT8, [])}
        return model([node(DYNAMIC, ["x"], ["y", "s", "z"])], {"x": (FLOAT, shape or [None] * rank)}, {n: types[n] for n in outputs}, 11)

    def check(self, outputs, x, threads=1):
        m = self.model(outputs, x.ndim)
        self.assertEqual(operators(m, {"x": x}), {NAME: 1})
        expected = dict(zip("ysz", dynamic_quantize(x)))
        for name, given in zip(outputs, run(m, {"x": x}, threads=threads)):
            assert_same(given, np.asarray(expected[name]))

    def test_the_bits_of_the_definition(self):
        for threads in (1, 3):
            for x in (normal(4, 5), normal(300, 1000) * np.float32(1e-3), np.abs(normal(70)) + 3, np.zeros((2, 2), np.float32), normal(0, 3)):
                with self.subTest(threads=threads, shape=x.shape):
                    self.check("ysz", x, threads)

    def test_zeros_and_tiny_ranges_as_onnx_runtime_has_them(self):
        """Of a range below 128 times the least float, the 255th part rounds to 0. Also of infinities."""
        m = self.model("ysz")
        provided, alone = session(m), session(m, provider=False)
        least = np.float32(2) ** -149
        for x in ([0, -0.0], [-0.0] * 100, [], [0, least], [0, -least], [127 * least, 0], [-63 * least, 0, 64 * least], [128 * least, 0],
                  [-128 * least, least], [np.inf, 1], [-np.inf, 1], [-np.inf, np.inf], [3e38, -3e38]):
            with self.subTest(x=x):
                given, expected = (s.run(None, {"x": np.array(x, np.float32)}) for s in (provided, alone))
                for g, e in zip(given, expected, strict=True):
                    assert_same(g, e)
        np.testing.assert_array_equal(provided.run(["s"], {"x": np.zeros(3, np.float32)})[0], 1)

    def test_outputs_that_nothing_takes(self):
        for outputs in ("y", "ys", "yz"):
            with self.subTest(outputs=outputs):
                self.check(outputs, normal(4, 5))
        self.assertEqual(operators(self.model("s"), {"x": normal(3)}, options=ALL), {DYNAMIC: 1})

    def test_auto_leaves_few_elements(self):
        """At most 2048, where their number is known."""
        for shape, left in (([2048], True), ([2, 4, 256], True), ([2049], False), ([None, 4], False)):
            x = normal(*(n or 1 for n in shape))
            for options, claimed in ((AUTO, not left), (ALL, True)):
                with self.subTest(shape=shape, options=options):
                    self.assertEqual(operators(self.model("ysz", shape=shape), {"x": x}, options=options), {NAME if claimed else DYNAMIC: 1})

    def test_it_is_left_to_a_product_that_is(self):
        """Of a matrix that is no constant."""
        nodes = [node(DYNAMIC, ["x"], ["q", "s", "z"]), node("MatMulInteger", ["q", "w", "z"], ["y"])]
        m = model(nodes, {"x": (FLOAT, [4, 8]), "w": (UINT8, [8, 3])}, {"y": (INT32, None)}, 11)
        self.assertNotIn(NAME, operators(m, {"x": normal(4, 8), "w": np.ones((8, 3), np.uint8)}, options=ALL))


def pair(name, to, kind):
    """QuantizeLinear and DequantizeLinear of a value."""
    return [node(QUANTIZE, [name, "s", f"z{kind}"], [name + "_q"]), node(DEQUANTIZE, [name + "_q", "s", f"z{kind}"], [to])]


# What is between DequantizeLinear and QuantizeLinear: {name: (its nodes, which take a, b or weights w and give t; shapes of inputs)}.
IMAGE, MATRIX, TWO = {"a": (2, 4, 6, 6)}, {"a": (6, 6)}, {"a": (6, 6), "b": (6, 6)}
FILTERS, COLUMNS = (3, 4, 3, 3), (6, 5)
CONV = node("Conv", ["a_f", "w_f"], ["c"])
BETWEEN = {
    "Conv": ([node("Conv", ["a_f", "w_f"], ["t"])], IMAGE, FILTERS),
    "Conv and Relu": ([CONV, node("Relu", ["c"], ["t"])], IMAGE, FILTERS),
    "Conv and Clip": ([CONV, node("Clip", ["c", "low", "high"], ["t"])], IMAGE, FILTERS),
    "two": ([node("MatMul", ["a_f", "b_f"], ["t"])], TWO, None),
    "Where": ([node("Where", ["condition", "a_f", "b_f"], ["t"])], TWO, None),
    "Concat": ([node("Concat", ["a_f", "b_f"], ["t"], axis=0)], TWO, None),
    "Resize": ([node("Resize", ["a_f", "", "", "sizes"], ["t"])], IMAGE, None),
    "Slice": ([node("Slice", ["a_f", "starts", "ends"], ["t"])], MATRIX, None),
    "Squeeze": ([node("Squeeze", ["a_f", "axes"], ["t"])], {"a": (1, 6)}, None),
    "Split": ([node("Split", ["a_f"], ["t", "u"], num_outputs=2), *pair("u", "v", 2)[:1]], MATRIX, None),
    **{op: ([node(op, ["a_f", "w_f"], ["t"])], MATRIX, COLUMNS) for op in ("MatMul", "Gemm")},
    **{op: ([node(op, ["a_f"], ["t"], kernel_shape=[2, 2])], IMAGE, None) for op in ("AveragePool", "MaxPool")},
    **{op: ([node(op, ["a_f", constant], ["t"])], MATRIX, None)
       for op, constant in (("Gather", "indices"), ("GatherElements", "elements"), ("Reshape", "shape"), ("Expand", "expanded"),
                            ("Tile", "repeats"), ("Unsqueeze", "axes"), ("ReduceMax", "axes"), ("ReduceMin", "axes"))},
    **{op: ([node(op, ["a_f"], ["t"])], IMAGE, None)
       for op in ("Flatten", "GlobalAveragePool", "LeakyRelu", "Relu", "Sigmoid", "Softmax", "Transpose", "Tanh")},
    **{op: ([node(op, ["a_f", "b_f"], ["t"])], TWO, None) for op in ("Add", "Mul", "Div")},
}
CONSTANTS = {"s": np.float32(0.05), "z2": np.uint8(0), "z3": np.int8(-128), "zw": np.int8(0), "low": np.float32(0), "high": np.float32(1e9),
             "condition": np.eye(6, dtype=bool), "sizes": np.int64([2, 4, 12, 12]), "indices": np.int64([1, 3]),
             "elements": np.int64([[1, 3]]), "shape": np.int64([4, 9]), "expanded": np.int64([2, 6, 6]), "repeats": np.int64([2, 1]),
             "starts": np.int64([1, 1]), "ends": np.int64([3, 5]), "axes": np.int64([0])}

# The operators of src/onnxruntime/provider/ort_fusions.cpp: {name of the list: them}.
SOURCE = pathlib.Path(__file__).parents[2] / "src/onnxruntime/provider/ort_fusions.cpp"
ROWS = {name: set(re.findall(r'"(\w+)"', rows))
        for name, rows in re.findall(r"string_view (\w+)\[\] = \{(.*?)\};", SOURCE.read_text(), re.DOTALL)}


class Fusions(unittest.TestCase):
    """The operators that ONNX Runtime runs besides QuantizeLinear and DequantizeLinear are the same with the provider."""

    def check(self, m, inputs, auto_claims=0, **options):
        """What runs without the provider, and how many nodes it claims by `all`."""
        theirs = operators(m, inputs, provider=False)
        ours = {claim: operators(m, inputs, options={"claim": claim, **options}) for claim in ("auto", "all")}
        self.assertEqual(ours["auto"][NAME], auto_claims)
        for claim, given in ours.items():
            with self.subTest(claim=claim):
                self.assertEqual(*({op: n for op, n in of.items() if op not in (QUANTIZE, DEQUANTIZE, NAME)} for of in (given, theirs)))
                self.assertEqual(*(of[QUANTIZE] + of[DEQUANTIZE] + of[NAME] for of in (given, theirs)))
        return theirs, ours["all"][NAME]

    def around(self, name, kind, opset, output):
        """What runs without the provider, of how many nodes that quantize ONNX Runtime rids itself, and how many the provider claims
        by `all`. output: whether the result is quantized."""
        between, inputs, weights = BETWEEN[name]
        nodes, constants = [n for i in inputs for n in pair(i, i + "_f", kind)], dict(CONSTANTS)
        if weights:
            constants["w"] = np.random.default_rng(1).integers(-9, 9, weights).astype(np.int8)
            nodes.append(node(DEQUANTIZE, ["w", "s", "zw"], ["w_f"]))
        nodes += between + (pair("t", "y", kind) if output else [node("Identity", ["t"], ["y"])])
        outputs = {"y": (FLOAT, None), **({"u_q": (UINT8, None)} if name == "Split" else {})}
        m = model(nodes, {i: (FLOAT, shape) for i, shape in inputs.items()}, outputs, opset, constants)
        theirs, claimed = self.check(m, {i: normal(*shape) for i, shape in inputs.items()})
        given = sum(n.op_type in (QUANTIZE, DEQUANTIZE) for n in nodes)
        return theirs, given - theirs[QUANTIZE] - theirs[DEQUANTIZE], claimed

    def test_with_an_operator_between_the_two(self):
        """Each row of the lists, and operators that are in none. A Relu alone is test_of_a_limit_and_what_quantizes()'s."""
        fused = ROWS["moving"] | ROWS["computing"]
        self.assertEqual({nodes[0].op_type for nodes, *_ in BETWEEN.values()} - fused, {"Relu", "Tanh", "Div"})
        for name, (nodes, *_) in BETWEEN.items():
            op = nodes[0].op_type
            # ONNX Runtime opens no model of opset 21 with int8 and MaxPool.
            for kind, opset in ((UINT8, 18), (TensorProto.INT8, 18), (UINT8, 21)):
                for output in (True, False):
                    with self.subTest(name=name, kind=kind, opset=opset, output=output):
                        theirs, removed, claimed = self.around(name, kind, opset, output)
                        self.assertEqual(removed > 0, op in fused | {"Relu"} if output else op in ROWS["taking"] - {"Gather"})
                        if output and op in ROWS["computing"]:
                            self.assertEqual(theirs["QGemm" if op == "Gemm" else "QLinear" + op], 1)
                        if op in ROWS["moving"]:
                            self.assertEqual(theirs[op], 1)
                        if kind == UINT8:
                            self.assertGreater(claimed, 0)  # what quantizes the inputs

    def test_of_a_limit_and_what_quantizes(self):
        for op in ("Relu", "Clip"):
            inputs = ["n", "low", "high"] if op == "Clip" else ["n"]
            for kind in BYTES:
                with self.subTest(op=op, kind=kind):
                    nodes = [node("Neg", ["x"], ["n"]), node(op, inputs, ["t"]), *pair("t", "y", kind)]
                    m = model(nodes, {"x": (FLOAT, [3, 4])}, {"y": (FLOAT, None)}, 18, CONSTANTS)
                    theirs, _ = self.check(m, {"x": normal(3, 4)})
                    self.assertEqual(theirs[op], 0)

    def test_of_what_dequantizes_before_what_needs_no_floats(self):
        """It is quantized again, or ArgMax."""
        for reader, y, opset in ((node(QUANTIZE, ["t", "s", "z2"], ["q"]), UINT8, 21), (node("ArgMax", ["t"], ["q"]), TensorProto.INT64, 13)):
            m = model([node(DEQUANTIZE, ["x", "s", "z2"], ["t"]), reader, node("Identity", ["q"], ["y"])],
                      {"x": (UINT8, [3, 4])}, {"y": (y, None)}, opset, CONSTANTS)
            with self.subTest(reader=reader.op_type):
                theirs, claimed = self.check(m, {"x": np.ones((3, 4), np.uint8)})
                self.assertEqual((theirs[QUANTIZE], theirs[DEQUANTIZE], claimed), (0, 0, 0))

    def test_of_weights_and_a_product(self):
        """MatMulNBits, where the option keeps the provider from the layer. Tables of Gather."""
        four_bits = helper.make_tensor("w", TensorProto.INT4, [64, 32], bytes(range(256)) * 4, raw=True)
        eight_bits = np.random.default_rng(1).integers(0, 256, (64, 32)).astype(np.uint8)
        ones = lambda *shape: np.ones(shape, np.float32)
        blocks = {"axis": 0, "block_size": 16}
        direct = [node("MatMul", ["x", "f"], ["y"])]
        made = collections.Counter()
        for w, scales, attributes, nodes in (
                (four_bits, ones(4, 32), blocks, direct),
                *(([(eight_bits, ones(4, 32), blocks, direct), (eight_bits, ones(32), {"axis": 1}, direct),
                    (four_bits, ones(4, 32), blocks, [node("Gemm", ["x", "f"], ["y"])])]) if NBITS_ARE_GENERAL else ()),
                (four_bits, ones(4, 32), blocks, [node("Gather", ["f", "rows"], ["y"])])):
            with self.subTest(attributes=attributes, operators=[n.op_type for n in nodes]):
                m = model([node(DEQUANTIZE, ["w", "s"], ["f"], **attributes), *nodes], {"x": (FLOAT, [3, 64])},
                          {"y": (FLOAT, None)}, 21,
                          {"w": w, "s": scales, "rows": np.int64([1, 63])})
                theirs, claimed = self.check(m, {"x": normal(3, 64)}, weight_only="off")
                self.assertEqual(claimed, 0)
                made.update(theirs)
        self.assertGreater(made["MatMulNBits"], 0)

    def test_of_models_by_quantize_static(self):
        random = np.random.default_rng(8)
        weights = {"w1": (16, 3, 3, 3), "w2": (16, 1, 3, 3), "w3": (16, 16, 1, 1), "b1": (16,), "b2": (16,), "w4": (16, 10), "w5": (5, 10), "b5": (5,)}
        nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4), node("Relu", ["c1"], ["r1"]),
                 node("Conv", ["r1", "w2", "b2"], ["c2"], group=16, pads=[1] * 4), node("Clip", ["c2", "low", "high"], ["r2"]),
                 node("Conv", ["r2", "w3"], ["c3"]), node("Add", ["c3", "r1"], ["a"]), node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2]),
                 node("Concat", ["p", "p"], ["cc"], axis=2), node("GlobalAveragePool", ["cc"], ["g"]), node("Flatten", ["g"], ["f"]),
                 node("MatMul", ["f", "w4"], ["m"]), node("Sigmoid", ["m"], ["si"]), node("Gemm", ["si", "w5", "b5"], ["y"], transB=1)]
        constants = {n: random.standard_normal(shape).astype(np.float32) for n, shape in weights.items()}
        x = normal(2, 3, 12, 12)
        m = model(nodes, {"x": (FLOAT, [2, 3, 12, 12])}, {"y": (FLOAT, None)}, 13,
                  {**constants, "low": np.float32(0), "high": np.float32(6)})

        class Reader(CalibrationDataReader):
            batches = [{"x": x}]

            def get_next(self):
                return self.batches.pop() if self.batches else None

        for activations in (QuantType.QUInt8, QuantType.QInt8):
            for per_channel in (False, True):
                with self.subTest(activations=activations, per_channel=per_channel), tempfile.TemporaryDirectory() as folder:
                    Reader.batches = [{"x": x}]
                    onnx.save_model(onnx.load_from_string(m), f"{folder}/float.onnx")
                    quantize_static(f"{folder}/float.onnx", f"{folder}/qdq.onnx", Reader(), QuantFormat.QDQ, per_channel=per_channel,
                                    activation_type=activations, weight_type=QuantType.QInt8)
                    quantized = pathlib.Path(folder, "qdq.onnx").read_bytes()
                    theirs, _ = self.check(quantized, {"x": x})
                    self.assertGreater(min(theirs[op] for op in ("QLinearConv", "QLinearMatMul", "QLinearSigmoid", "QGemm")), 0)
                    expected = run(quantized, {"x": x}, provider=False)[0]
                    for options in (AUTO, ALL):
                        np.testing.assert_array_equal(run(quantized, {"x": x}, options=options)[0], expected)

    def test_of_float8_are_taken(self):
        """Alone ONNX Runtime drops a Relu before float8. Up to 1.31 it also makes a QLinearLeakyRelu of float8, which it does
        not have, and transposes float8."""
        kind = TensorProto.FLOAT8E4M3FN
        constants = {**CONSTANTS, f"z{kind}": helper.make_tensor(f"z{kind}", kind, [], b"\0", raw=True)}
        x = normal(6, 6)
        for op in ("Relu", "LeakyRelu", "Transpose"):
            m = model([*pair("x", "f", kind), node(op, ["f"], ["t"]), *pair("t", "y", kind)], {"x": (FLOAT, [6, 6])},
                      {"y": (FLOAT, None)}, 21, constants)
            given = operators(m, {"x": x})
            with self.subTest(op=op):
                self.assertEqual(given, {NAME: 4, op: 1})
                f = self.through_float8(x)
                t = {"Relu": np.maximum(f, 0), "LeakyRelu": np.where(f < 0, f * np.float32(0.01), f), "Transpose": f.T}[op]
                np.testing.assert_array_equal(run(m, {"x": x})[0], self.through_float8(t))

    @staticmethod
    def through_float8(x):
        q = quantize(x, CONSTANTS["s"], np.zeros((), np.float32), TensorProto.FLOAT8E4M3FN, {})
        return dequantize(q, CONSTANTS["s"], np.zeros((), np.float32), {})


class Graphs(unittest.TestCase):
    X, SCALE = normal(4, 6), np.float32([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])

    def expected(self, x):
        return quantize(x, self.SCALE, np.uint8(0), UINT8, {"axis": 1})

    def test_subgraphs_with_values_of_the_outer_graph(self):
        m = model([choose([node(QUANTIZE, ["x", "s"], ["q"])], "q", "u", UINT8)],
                  {"x": (FLOAT, [4, 6]), "u": (UINT8, [4, 6]), "c": (TensorProto.BOOL, [])}, {"y": (UINT8, None)}, 21, {"s": self.SCALE})
        inputs = {"x": self.X, "u": np.zeros((4, 6), np.uint8), "c": np.array(True)}
        self.assertEqual(operators(m, inputs)[NAME], 1)
        np.testing.assert_array_equal(run(m, inputs)[0], self.expected(self.X))

    def test_a_value_that_is_two_inputs(self):
        m = model([node(DEQUANTIZE, ["x", "s", "x"], ["y"])], {"x": (UINT8, []), "s": (FLOAT, [])},
                  {"y": (FLOAT, [])}, 21)
        inputs = {"x": np.array(7, np.uint8), "s": np.array(2, np.float32)}
        self.assertEqual(operators(m, inputs, options=ALL), {NAME: 1})
        self.assertEqual(run(m, inputs, options=ALL)[0], 0)

    def test_a_result_that_nodes_and_the_graph_take(self):
        m = model([node(QUANTIZE, ["x", "s"], ["q"]), node("Identity", ["q"], ["y"])], {"x": (FLOAT, [4, 6])},
                  {"q": (UINT8, None), "y": (UINT8, None)}, 21, {"s": self.SCALE})
        for given in run(m, {"x": self.X}):
            np.testing.assert_array_equal(given, self.expected(self.X))

    def test_runs_at_the_same_time_with_shapes_that_alternate(self):
        m = model([node(QUANTIZE, ["x", "s"], ["y"])], {"x": (FLOAT, ["n", 6])}, {"y": (UINT8, None)}, 21,
                  {"s": self.SCALE})
        inputs = [normal(n, 6) for n in (*range(1, 41), 9000)]  # more shapes than are kept
        run_at_the_same_time(session(m, threads=2), [(x, self.expected(x)) for x in inputs])


if __name__ == "__main__":
    unittest.main()
