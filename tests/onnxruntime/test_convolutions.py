"""ConvInteger in place of ONNX Runtime's own has the sums of ONNX's definition in int64."""
import os
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from models import OPSETS, TensorProto, convolution, helper, model, run, session

sys.path.append(str(Path(__file__).parents[1] / "onnxruntime_ep"))
from layers import convolve, same_pads  # noqa: E402

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261123"))
STANDARD = {"library": True, "standard": True}
NAMES = ("x", "w", "x_zero_point", "w_zero_point")


def random_bytes(random, kind, shape):
    info = np.iinfo(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


def definition(x, w, x_zero_point=0, w_zero_point=0, *, group=1, strides=None, dilations=None, pads=None, auto_pad="NOTSET"):
    """Sums in int64. A zero point: one value, or for w one for each filter."""
    rank = w.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = list(zip(pads[:rank], pads[rank:])) if pads else [(0, 0)] * rank
    if auto_pad.startswith("SAME"):
        pads = [same_pads(x.shape[2 + d], w.shape[2 + d], strides[d], dilations[d], auto_pad == "SAME_UPPER") for d in range(rank)]
    a = x.astype(np.int64) - np.int64(x_zero_point)
    b = w.astype(np.int64) - np.reshape(w_zero_point, (-1, *[1] * (w.ndim - 1))).astype(np.int64)
    return convolve(a, b, group, strides, dilations, pads)


class Draw:
    """A node of random types, shapes and attributes."""

    def __init__(self, random):
        rank = int(random.choice([1, 2, 2, 3, 4]))
        group, inputs, filters = {"dense": (1, 20, 40), "grouped": (int(random.integers(2, 4)), 12, 12),
                                  "depthwise": (int(random.integers(2, 40)), 1, 1)}[random.choice(["dense", "grouped", "depthwise"])]
        inputs, filters = (int(random.integers(1, most + 1)) for most in (inputs, filters))
        kernel = random.integers(1, 4, rank).tolist()
        self.x_kind, self.w_kind = (str(random.choice(["u1", "i1"])) for _ in "xw")
        self.attributes = {name: value for name, value in {
            "group": group, "strides": random.integers(1, 3, rank).tolist(), "dilations": random.integers(1, 3, rank).tolist(),
            "kernel_shape": kernel}.items() if (name == "group" and group > 1) or random.random() < 0.6}
        auto_pad = str(random.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
        if auto_pad != "NOTSET" or random.random() < 0.5:
            self.attributes["auto_pad"] = auto_pad
        if auto_pad == "NOTSET" and random.random() < 0.6:
            self.attributes["pads"] = random.integers(0, 3, 2 * rank).tolist()
        self.arrays = {"w": random_bytes(random, self.w_kind, (group * filters, inputs, *kernel))}
        for name, kind, shapes in (("x_zero_point", self.x_kind, [(), (1,)]), ("w_zero_point", self.w_kind, [(), (1,), (group * filters,)])):
            if random.random() < 0.7:
                self.arrays[name] = random_bytes(random, kind, shapes[random.integers(len(shapes))])
        self.constants = tuple(name for name in NAMES[1:] if random.random() < 0.7)
        dilations = self.attributes.get("dilations", [1] * rank)
        self.least = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        self.channels = group * inputs

    def draw_x(self, random):
        most = 12 if len(self.least) < 3 else 5
        return random_bytes(random, self.x_kind, (int(random.integers(1, 4)), self.channels,
                                                  *[extent + int(random.integers(0, most)) for extent in self.least]))

    def expected(self, arrays):
        given = {name: value for name, value in self.attributes.items() if name != "kernel_shape"}
        return definition(**{name: value if name in ("x", "w") else value.reshape(-1) for name, value in arrays.items()}, **given)


class Sums(unittest.TestCase):
    def same(self, given, expected):
        self.assertEqual((given.dtype, given.shape), (np.int32, expected.shape))
        np.testing.assert_array_equal(given, expected)

    def test_random_nodes(self):
        for i in range(300):
            random = np.random.default_rng([SEED, i])
            d = Draw(random)
            with self.subTest(i=i, constants=d.constants, **d.attributes):
                arrays = {"x": d.draw_x(random), **d.arrays}
                dynamic = bool(random.random() < 0.7)
                m = convolution(arrays, d.constants, int(random.choice(OPSETS)), dynamic, **d.attributes)
                s = session(m, threads=1 + i % 3, **STANDARD)
                for _ in range(3):  # what is no constant changes from run to run
                    feed = {name: value for name, value in arrays.items() if name not in d.constants}
                    self.same(s.run(None, feed)[0], d.expected(arrays))
                    arrays |= {name: random_bytes(random, value.dtype, value.shape) for name, value in feed.items()}
                    if dynamic:
                        arrays["x"] = d.draw_x(random)

    def test_extreme_values(self):
        """Products of the largest bytes. Two of them exceed 16 bits, where instructions of some processors saturate."""
        for x_kind, x, w_kind, w in (("u1", 255, "i1", 127), ("u1", 255, "i1", -128), ("u1", 255, "u1", 255), ("i1", -128, "i1", -128),
                                     ("i1", -128, "u1", 255)):
            for zeros in ((0, 0), (np.iinfo(x_kind).min, np.iinfo(w_kind).max), (np.iinfo(x_kind).max, np.iinfo(w_kind).min)):
                for group in (1, 16):
                    with self.subTest(x_kind=x_kind, x=x, w_kind=w_kind, w=w, zeros=zeros, group=group):
                        arrays = {"x": np.full((1, 64, 9, 9), x, x_kind), "w": np.full((32, 64 // group, 3, 3), w, w_kind),
                                  "x_zero_point": np.array(zeros[0], x_kind), "w_zero_point": np.array(zeros[1], w_kind)}
                        (y,) = run(convolution(arrays, group=group), {"x": arrays["x"]}, **STANDARD)
                        self.same(y, np.full((1, 32, 7, 7), (x - zeros[0]) * (w - zeros[1]) * 9 * 64 // group))

    def test_by_hand(self):
        """The padding counts as the zero point of x: it adds nothing."""
        arrays = {"x": np.array([[[1, 2, 3, 4]]], "u1"), "w": np.array([[[1, 10, 100]]], "i1"), "x_zero_point": np.array(1, "u1")}
        (y,) = run(convolution(arrays, pads=[1, 0], strides=[2]), {"x": arrays["x"]}, **STANDARD)
        self.same(y, np.array([[[0 * 10 + 1 * 100, 1 * 1 + 2 * 10 + 3 * 100]]]))

    def test_without_elements(self):
        w = np.ones((6, 4, 3, 3), "i1")
        for x, w, attributes, shape in (((0, 4, 5, 5), w, {}, (0, 6, 3, 3)), ((2, 4, 5, 5), w[:0], {}, (2, 0, 3, 3)),
                                        ((2, 0, 5, 5), w[:, :0], {}, (2, 6, 3, 3)), ((1, 4, 0, 5), w, {"pads": [3, 0, 3, 0]}, (1, 6, 4, 3))):
            with self.subTest(x=x, w=w.shape):
                arrays = {"x": np.ones(x, "u1"), "w": w}
                self.same(run(convolution(arrays, **attributes), {"x": arrays["x"]}, **STANDARD)[0], np.zeros(shape))


class Replacement(unittest.TestCase):
    def test_only_when_asked_for(self):
        """ONNX Runtime's own has no zero point for each channel."""
        random = np.random.default_rng(SEED)
        arrays = {"x": random_bytes(random, "u1", (1, 4, 5, 5)), "w": random_bytes(random, "u1", (3, 4, 3, 3)),
                  "x_zero_point": np.array(3, "u1"), "w_zero_point": np.array([1, 2, 3], "u1")}
        m, feed = convolution(arrays), {"x": arrays["x"]}
        np.testing.assert_array_equal(run(m, feed, **STANDARD)[0], definition(**arrays))
        with self.assertRaisesRegex(Exception, "per-tensor"):
            run(m, feed, library=True)

    def test_among_other_operators_it_has_the_bits_of_onnx_runtime(self):
        """The shape of its result is not known before the run."""
        random = np.random.default_rng(SEED)
        node = helper.make_node
        nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("ConvInteger", ["q", "w", "z"], ["sums"], pads=[1] * 4),
                 node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT), node("Mul", ["f", "s"], ["m"]), node("Relu", ["m"], ["r"]),
                 node("Transpose", ["r"], ["t"], perm=[0, 2, 3, 1]), node("Shape", ["t"], ["n"]), node("Reshape", ["t", "flat"], ["y"])]
        m = model(nodes, {"x": (TensorProto.FLOAT, ["n", 8, None, None])}, {"y": (TensorProto.FLOAT, None), "n": (TensorProto.INT64, None)}, 13,
                  {"w": random_bytes(random, "u1", (5, 8, 3, 3)), "flat": np.array([0, -1])})
        theirs, ours = session(m), session(m, **STANDARD)
        for shape in ((1, 8, 6, 6), (2, 8, 5, 9)):
            x = random.standard_normal(shape, np.float32)
            for expected, given in zip(theirs.run(None, {"x": x}), ours.run(None, {"x": x})):
                np.testing.assert_array_equal(expected, given)


class Threads(unittest.TestCase):
    ARRAYS = {"x": np.zeros((0, 16, 0, 0), "u1"), "w": random_bytes(np.random.default_rng(SEED), "i1", (24, 16, 3, 3)),
              "x_zero_point": np.array(9, "u1"), "w_zero_point": np.arange(24).astype("i1")}

    def inputs(self, shapes):
        random = np.random.default_rng(SEED)
        arrays = [{**self.ARRAYS, "x": random_bytes(random, "u1", shape)} for shape in shapes]
        return [a["x"] for a in arrays], [definition(**a) for a in arrays]

    def test_one_session_runs_on_many_threads_with_changing_shapes(self):
        """More shapes than stay prepared."""
        tensors, expected = self.inputs([(n, 16, 3 + n, 40 - n) for n in range(1, 7)])
        for constants in (NAMES[1:], NAMES[2:]):
            s = session(convolution(self.ARRAYS, constants), **STANDARD)
            weights = {} if "w" in constants else {"w": self.ARRAYS["w"]}

            def repeat(start, s=s, weights=weights):
                for i in range(start, start + 40):
                    np.testing.assert_array_equal(s.run(None, {"x": tensors[i % 6], **weights})[0], expected[i % 6])

            with ThreadPoolExecutor(6) as pool:
                list(pool.map(repeat, range(6)))

    def test_no_threads_but_the_session_s(self):
        (x,), (expected,) = self.inputs([(2, 16, 60, 60)])
        for constants in (NAMES[1:], NAMES[2:]):
            s = session(convolution(self.ARRAYS, constants), threads=3, **STANDARD)
            weights = {} if "w" in constants else {"w": self.ARRAYS["w"]}
            before = len(os.listdir("/proc/self/task"))
            np.testing.assert_array_equal(s.run(None, {"x": x, **weights})[0], expected)
            self.assertEqual(len(os.listdir("/proc/self/task")), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
