"""Sessions with the operators of the domain dynquant compute the same bits as sessions with ONNX Runtime's own."""
import os
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from models import (LIBRARY, OLDEST, OPSETS, TensorProto, helper, in_domain, model, normal, onnxruntime, quantize, run,
                    session)

FLOAT, UINT8, INT8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8

X = normal(6, 5, 64)  # channels last: 64 of them
# Granularity: the shape of the scales, and attributes. Blocked: 64 channels in blocks of 24, with a short last block.
PER_TENSOR = ((), {})
PER_AXIS = ((5,), {"axis": 1})
CHANNELS_LAST = ((64,), {"axis": -1})
BLOCKED = ((6, 5, 3), {"axis": 2, "block_size": 24})
BLOCKED_ELSEWHERE = ((2, 5, 64), {"axis": 0, "block_size": 3})


def type_of(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def quantize_and_back(shape, attributes, dtype):
    """Nodes, outputs and constants: x quantized, and dequantized again."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], "q", **attributes),
             helper.make_node("DequantizeLinear", ["y", "scale", "zero"], ["back"], "d", **attributes)]
    scales = (0.01 + 0.03 * np.random.default_rng(3).random(shape)).astype(np.float32)
    constants = {"scale": scales, "zero": np.random.default_rng(4).integers(0, 20, shape).astype(dtype)}
    return nodes, {"y": (type_of(dtype), None), "back": (FLOAT, None)}, constants


def both(nodes, inputs, outputs, opset, constants=None):
    """Models for ONNX Runtime's operators and for those of dynquant."""
    return (model(of, inputs, outputs, opset, constants) for of in (nodes, in_domain(nodes, "dynquant")))


def assert_same_bits(given, expected):
    for g, e in zip(given, expected, strict=True):
        assert (g.dtype, g.shape) == (e.dtype, e.shape)
        np.testing.assert_array_equal(g.reshape(-1).view(np.uint8), e.reshape(-1).view(np.uint8))


class Bits(unittest.TestCase):
    def compare(self, opset, granularity, dtype, x=X):
        nodes, outputs, constants = quantize_and_back(*granularity, dtype)
        theirs, ours = both(nodes, {"x": (FLOAT, ["n", *x.shape[1:]])}, outputs, opset, constants)
        assert_same_bits(run(ours, {"x": x}, library=True), run(theirs, {"x": x}))

    def test_the_same_bits_as_onnx_runtime(self):
        axes, blocks = [o for o in OPSETS if o >= 13], [o for o in OPSETS if o >= 21]  # per-axis, blocked
        cases = [(opset, PER_TENSOR, dtype) for opset in OPSETS for dtype in ("u1", "i1")]
        cases += [(opset, granularity, dtype) for opset in axes
                  for granularity in (PER_AXIS, CHANNELS_LAST) for dtype in ("u1", "i1")]
        cases += [(opset, granularity, dtype) for opset in blocks
                  for granularity in (PER_TENSOR, CHANNELS_LAST, BLOCKED, BLOCKED_ELSEWHERE) for dtype in ("u2", "i2")]
        cases += [(opset, granularity, "u1") for opset in blocks for granularity in (BLOCKED, BLOCKED_ELSEWHERE)]
        for opset, granularity, dtype in cases:
            with self.subTest(opset=opset, granularity=granularity, dtype=dtype):
                self.compare(opset, granularity, dtype)

    def test_any_rank(self):
        """A statement of dynquant has 12 dims at most."""
        shape = (2, 1, 3, 1, 1, 2, 1, 5, 1, 1, 1, 1, 1, 4)
        blocks = shape[:2] + (2,) + shape[3:]
        for opset in [opset for opset in OPSETS if opset >= 13]:
            self.compare(opset, PER_TENSOR, "u1", normal(*shape))
            for axis in (0, 2, 7, -1):
                self.compare(opset, ((shape[axis],), {"axis": axis}), "i1", normal(*shape))
            if opset >= 21:
                self.compare(opset, (blocks, {"axis": 2, "block_size": 2}), "u1", normal(*shape))

    def test_dynamic_quantize_linear(self):
        node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"], "q")
        outputs = {"y": (UINT8, None), "scale": (FLOAT, []), "zero": (UINT8, [])}
        theirs, ours = both([node], {"x": (FLOAT, ["n", 5, 64])}, outputs, 11)
        # Of a range of 100 times the least float, the 255th part rounds to 0.
        for x in (X, X * 0, np.sign(X) * np.float32(2) ** -149 * 50, X * np.where(X > 3, np.inf, 1).astype(np.float32)):
            assert_same_bits(run(ours, {"x": x}, library=True), run(theirs, {"x": x}))

    def test_y_follows_zero_point_and_output_dtype(self):
        x = np.array([-1000, -1.5, 0, 2.5, 1000], np.float32)
        cases = [({}, np.array([0, 0, 0, 2, 255], "u1"))]
        if not OLDEST:  # the oldest ignores the attribute
            cases.append(({"output_dtype": INT8}, np.array([-128, -2, 0, 2, 127], "i1")))
        for attributes, expected in cases:
            node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], "q", domain="dynquant", **attributes)
            with self.subTest(**attributes):
                m = model([node], {"x": (FLOAT, [5])}, {"y": (type_of(expected.dtype), [5])}, OPSETS[-1],
                          {"scale": np.float32([1]).reshape(())})
                (y,) = run(m, {"x": x}, library=True)
                np.testing.assert_array_equal(y, expected)
                self.assertEqual(y.dtype, expected.dtype)

    def test_the_division_is_in_the_type_of_the_scale(self):
        nodes = [helper.make_node("Cast", ["float"], ["x"], to=TensorProto.FLOAT16), quantize()]
        m = model(nodes, {"float": (FLOAT, [1])}, {"y": (UINT8, [1])}, 19,
                  {"scale": np.float16(1.6279296875).reshape(()), "zero": np.array(0, "u1")})
        (y,) = run(m, {"float": np.float32([150.625])}, library=True)
        self.assertEqual(y[0], 92)  # 93 in float

    def test_four_bits_and_float8(self):
        x = np.array([-9, -1.5, 0.5, 2.5, 6.75, 100, 3], np.float32)
        cases = {TensorProto.FLOAT8E4M3FN: [-9, -1.5, 0.5, 2.5, 7, 96, 3]}  # 6.75, 100: ties
        if not OLDEST:  # the oldest lacks these types
            cases |= {TensorProto.INT4: [-8, -2, 0, 2, 7, 7, 3], TensorProto.UINT4: [0, 0, 0, 2, 7, 15, 3]}
        for kind, expected in cases.items():
            zero = helper.make_tensor("zero", kind, [], b"\0", raw=True)
            back = helper.make_node("DequantizeLinear", ["y", "scale", "zero"], ["back"], "d", domain="dynquant")
            with self.subTest(kind=kind):
                m = model([quantize(), back], {"x": (FLOAT, [7])}, {"back": (FLOAT, [7])}, OPSETS[-1],
                          {"scale": np.array(1, np.float32), "zero": zero})
                (y,) = run(m, {"x": x}, library=True)
                np.testing.assert_array_equal(y, np.array(expected, np.float32))

    def test_empty_and_scalar_tensors(self):
        for x in (np.zeros((0, 3), np.float32), np.array(2.0, np.float32)):
            m = model([quantize()], {"x": (FLOAT, None)}, {"y": (UINT8, None)}, 13,
                      {"scale": np.array(1, np.float32), "zero": np.array(5, "u1")})
            (y,) = run(m, {"x": x}, library=True)
            np.testing.assert_array_equal(y, np.full(x.shape, 7, "u1"))


class Inference(unittest.TestCase):
    """The session infers types and shapes before it runs."""

    CONSTANTS = {"scale": np.array(1, np.float32), "zero": np.array(0, np.uint8)}

    def followed_by(self, node, x, shape):
        """`node` reads y. ONNX Runtime computes it before the first run if it considers the shape of y known."""
        m = model([quantize(), node], {"x": (FLOAT, shape)},
                  {"z": (TensorProto.INT64 if node.op_type == "Shape" else UINT8, None)}, 13, self.CONSTANTS)
        return run(m, {"x": x}, library=True)[0]

    def test_dims_and_ranks_that_are_not_known(self):
        x = np.zeros((2, 4), np.float32)
        for shape in (None, [None, None], [None, 4], ["n", None], ["n", "m"], [2, 4]):
            with self.subTest(shape=shape):
                np.testing.assert_array_equal(self.followed_by(helper.make_node("Shape", ["y"], ["z"]), x, shape), x.shape)
                z = self.followed_by(helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0]), x, shape)
                self.assertEqual(z.shape, x.shape[::-1])

    def test_dims_that_are_not_known_are_not_taken_for_equal(self):
        node = helper.make_node("Reshape", ["y", "shape"], ["z"])
        m = model([quantize(), node], {"x": (FLOAT, [None, None])}, {"z": (UINT8, [2, "a", "b"])},
                  13, {**self.CONSTANTS, "shape": np.array([2, 3, -1])})
        for x in (np.zeros((6, 4), np.float32), np.zeros((4, 6), np.float32)):
            self.assertEqual(run(m, {"x": x}, library=True)[0].shape, (2, 3, 4))

    def test_dims_of_0(self):
        m = model([quantize()], {"x": (FLOAT, [0, 3])}, {"y": (UINT8, None)}, 13, self.CONSTANTS)
        self.assertEqual(session(m, library=True).get_outputs()[0].shape, [0, 3])

    def test_scalars(self):
        z = self.followed_by(helper.make_node("Shape", ["y"], ["z"]), np.array(3, np.float32), [])
        self.assertEqual(z.shape, (0,))


class Quark(unittest.TestCase):
    def test_integers(self):
        x = np.array([-3e9, -1.5, 0.5, 2.5, 3e9], np.float32)  # by 0.5 in pairs: exact quotients, and ties
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4"):
            limits = np.iinfo(dtype)
            quotients = np.array([-6e9, -3, 1, 5, 6e9]) + 3
            expected = np.clip(quotients, limits.min, limits.max).astype(dtype)
            for domain, prefix in (("com.amd.quark", "Extended"), ("com.vai.quantize", "Extended"),
                                   ("com.vai.quantize", "Vitis")):
                m = model([quantize(prefix + "QuantizeLinear", domain)], {"x": (FLOAT, [5])}, {"y": (type_of(dtype), [5])}, 17,
                          {"scale": np.array(0.5, np.float32), "zero": np.array(3, dtype)})
                with self.subTest(dtype=dtype, domain=domain, prefix=prefix):
                    (y,) = run(m, {"x": x}, library=True)
                    np.testing.assert_array_equal(y, expected)

    def through(self, op, x, x_type, scale, zero, zero_type):
        """y as float. Types that Python lacks stay within the model."""
        nodes = [quantize(f"Extended{op}Linear", "com.amd.quark"),
                 helper.make_node("Cast", ["y"], ["float"], to=FLOAT)]
        m = model(nodes, {}, {"float": (FLOAT, [len(x)])}, 17,
                  {"x": helper.make_tensor("x", x_type, [len(x)], x), "scale": np.array(scale, np.float32),
                   "zero": helper.make_tensor("zero", zero_type, [], [zero])})
        return run(m, {}, library=True)[0]

    def test_floats(self):
        """The zero point is added before the result is rounded to even and saturated; NaN stays."""
        x = [-3e38, -np.inf, np.inf, np.nan, 0.5, 513.5, 1024.25]  # by 0.5, and 1: the last two are 1028 and 2049.5
        half, largest = 65504, 255 * 2.0**120
        for kind, expected in ((TensorProto.FLOAT16, [-half, -half, half, np.nan, 2, 1028, 2050]),
                               (TensorProto.BFLOAT16, [-largest, -largest, largest, np.nan, 2, 1024, 2048])):
            with self.subTest(kind=kind):
                y = self.through("Quantize", x, FLOAT, 0.5, 1, kind)
                np.testing.assert_array_equal(y, np.float32(expected))

    def test_dequantize(self):
        """(x - 2) / 4, rounded to float, from limit to limit."""
        numbers = {INT8: [-128, 127], UINT8: [0, 255], TensorProto.INT16: [-32768, 32767],
                   TensorProto.UINT16: [0, 65535], TensorProto.INT32: [-2**31, 2**31 - 1], TensorProto.UINT32: [0, 2**32 - 1],
                   TensorProto.FLOAT16: [-65504, 65504], TensorProto.BFLOAT16: [-2.0**100, 1.5]}
        for kind, x in numbers.items():
            with self.subTest(kind=kind):
                y = self.through("Dequantize", x, kind, 0.25, 2, kind)
                np.testing.assert_array_equal(y, np.float32((np.float64(x) - 2) / 4))


class Names(unittest.TestCase):
    def test_the_names_of_0_3_are_links(self):
        for name in ("libdynquant_ort.so", "libdynquant_ort_ep.so"):
            link = Path(LIBRARY).with_name(name)
            self.assertEqual(os.readlink(link), Path(LIBRARY).name)
            onnxruntime.SessionOptions().register_custom_ops_library(str(link))


class Threads(unittest.TestCase):
    def setUp(self):
        nodes, outputs, constants = quantize_and_back(*PER_AXIS, "u1")
        self.theirs, self.ours = both(nodes, {"x": (FLOAT, ["n", 5, "m"])}, outputs, 13, constants)

    def test_any_number_of_threads_gives_the_same_bits(self):
        x = normal(300, 5, 640)
        expected = run(self.theirs, {"x": x})
        for threads in (1, 2, 4):
            assert_same_bits(run(self.ours, {"x": x}, library=True, threads=threads), expected)

    def test_no_threads_but_the_session_s(self):
        s = session(self.ours, library=True, threads=3)
        before = len(os.listdir("/proc/self/task"))
        s.run(None, {"x": normal(300, 5, 640)})
        self.assertEqual(len(os.listdir("/proc/self/task")), before)

    def test_one_session_runs_on_many_threads_with_changing_shapes(self):
        theirs, ours = session(self.theirs), session(self.ours, library=True)
        tensors = [normal(n, 5, length) for n, length in ((1, 1), (3, 7), (2, 700), (40, 900))]
        expected = [theirs.run(None, {"x": x}) for x in tensors]

        def repeat(start):
            for i in range(start, start + 200):
                assert_same_bits(ours.run(None, {"x": tensors[i % 4]}), expected[i % 4])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(repeat, range(8)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
