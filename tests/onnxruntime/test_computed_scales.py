"""DynamicQuantizeLinear of the domain dynquant: what a session computes and infers equals the formulas, step by step in float32."""
import itertools
import unittest

import numpy as np
from models import OLDEST, TensorProto, helper, model, normal, run, session

FLOAT = TensorProto.FLOAT
INTEGERS = {"uint8": (0, 255), "int8": (-128, 127), "uint4": (0, 15), "int4": (-8, 7)}
F32 = np.float32
NAMES = ["y", "scale", "zero"]
FLOATS = {"float8e4m3fn": 448, "float8e5m2": 57344, "float4e2m1": 6}  # and their largest values
# The oldest ONNX Runtime shows no attributes while it infers types.
TYPES = ["uint8"] if OLDEST else [*INTEGERS, *FLOATS]
SCALES = ["float"] if OLDEST else ["float", "float16", "bfloat16", "float8e4m3fn", "float8e8m0"]


def number(name):
    return TensorProto.DataType.Value(name.upper())


def to_float_type(x, name):
    """The nearest values, beyond the largest the largest."""
    narrow = np.clip(x, -FLOATS[name], FLOATS[name]).astype(helper.tensor_dtype_to_np_dtype(number(name)))
    return narrow.astype(F32)


def to_bfloat16(x):
    bits = np.asarray(x, F32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(F32)


def to_scale_type(scale, name):
    if name == "float16":
        return F32(np.float16(scale))
    if name == "bfloat16":
        return F32(to_bfloat16(scale))
    return F32(to_float_type(scale, name)) if name in FLOATS else scale


def parameters_of(block, to, scale_type, symmetric):
    """Scale and zero point."""
    low, high = min(block.min(), F32(0)), max(block.max(), F32(0))
    if symmetric:
        largest, top = max(-low, high), FLOATS[to] if to in FLOATS else INTEGERS[to][1]
        if scale_type == "float8e8m0":
            power = np.frexp(largest)[1] - np.frexp(top)[1] if largest > 0 else -127
            return F32(np.ldexp(1.0, max(power, -127))), 0
        least, of_zero = (F32(2**-6), F32(2**-6)) if scale_type == "float8e4m3fn" else (F32(0), F32(1))
        return to_scale_type(max(largest / F32(top), least) if largest > 0 else of_zero, scale_type), 0
    lowest, highest = INTEGERS[to]
    scale = to_scale_type((high - low) / F32(highest - lowest) if high > low else F32(1), scale_type)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = low / scale
    return scale, int(highest if np.isnan(steps) else np.clip(lowest - np.rint(steps), lowest, highest))


def expected(x, to, scale_type, symmetric, axis, size):
    """y, scales, zero points, and the scale of each element, as float32. Scales of float8e4m3fn are those of nvfp4, whose
    reciprocals multiply."""
    at, shape = np.zeros(x.shape, int), ()
    if axis is not None and size == 0:
        at, shape = np.indices(x.shape)[axis], (x.shape[axis],)
    elif axis is not None:
        indices = np.indices(x.shape)
        indices[axis] //= size
        shape = tuple(int(index.max()) + 1 for index in indices)
        at = np.ravel_multi_index(indices, shape)
    scales, zeros = np.empty(shape, F32), np.empty(shape, F32)
    y, of_each = np.empty(x.shape, F32), np.empty(x.shape, F32)
    for i in range(int(np.prod(shape))):
        block = x[at == i]
        scale, zero = parameters_of(block, to, scale_type, symmetric)
        scales.reshape(-1)[i], zeros.reshape(-1)[i], of_each[at == i] = scale, zero, scale
        with np.errstate(invalid="ignore"):
            quotients = block * (1 / scale) if scale_type == "float8e4m3fn" else block / scale
        if to in FLOATS:
            y[at == i] = to_float_type(quotients, to)
            continue
        lowest, highest = INTEGERS[to]
        codes = np.clip(np.rint(quotients) + zero, -highest if symmetric else lowest, highest)
        y[at == i] = np.where(np.isnan(quotients), lowest, codes)
    return y, scales, zeros, of_each


def own(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, outputs[0], domain="dynquant", **attributes)


def is_symmetric(to, attributes):
    return bool(attributes.get("symmetric", not to.startswith("uint")))


def computing_model(shape, to="uint8", scale_type="float", x_type="float", **attributes):
    """x is cast to its type; y, scales and zero points are cast to float."""
    attributes |= {"to": number(to)} if to != "uint8" else {}
    attributes |= {"scale_type": number(scale_type)} if scale_type != "float" else {}
    granularity = {name: attributes[name] for name in ("axis", "block_size") if name in attributes}
    nodes = [helper.make_node("Cast", ["x"], ["narrow"], to=number(x_type)),
             own("DynamicQuantizeLinear", ["narrow"], NAMES, **attributes),
             *(own("DequantizeLinear", [name, "one"], [name + "_float"]) for name in ("y", "zero"))]
    if scale_type == "float8e8m0":  # ONNX Runtime cannot cast it
        nodes.append(own("DequantizeLinear", ["y", "scale"], ["back"], output_dtype=FLOAT, **granularity))
        outputs = ["y_float", "back", "zero_float"]
    else:
        nodes.append(helper.make_node("Cast", ["scale"], ["scale_float"], to=FLOAT))
        outputs = ["y_float", "scale_float", "zero_float"]
    return model(nodes, {"x": (FLOAT, shape)}, {name: (FLOAT, None) for name in outputs}, 19, {"one": np.array(1, F32)})


GRANULARITIES = [{}, {"axis": 0}, {"axis": -2}, {"axis": 2}, {"axis": 1, "block_size": 3}, {"axis": 2, "block_size": 32},
                 {"axis": 0, "block_size": 2}, {"axis": -1, "block_size": 70}, {"axis": -1, "block_size": 2**40}]
X = normal(3, 5, 70)
X[1, 2] = 0  # a token of zeros
X[2, 1] *= 1000


class Sessions(unittest.TestCase):
    def same(self, x, m, to, scale_type="float", **attributes):
        symmetric = is_symmetric(to, attributes)
        parameters = attributes.get("axis"), attributes.get("block_size", 0)
        y, scales, zeros, of_each = expected(x, to, scale_type, symmetric, *parameters)
        second = y * of_each if scale_type == "float8e8m0" else scales
        for given, wanted in zip(run(m, {"x": x}, library=True), (y, second, zeros), strict=True):
            np.testing.assert_array_equal(given, wanted)
            self.assertEqual(given.shape, wanted.shape)

    def test_every_granularity_and_type(self):
        for attributes, to in itertools.product(GRANULARITIES, TYPES):
            with self.subTest(to=to, **attributes):
                self.same(X, computing_model(["a", "b", "c"], to, **attributes), to, **attributes)

    def test_types_of_scales(self):
        for scale_type, to in itertools.product(SCALES, TYPES):
            if to.startswith("uint") and scale_type.startswith("float8"):
                continue  # which cannot be asymmetric
            for attributes in ({}, {"axis": 1}, {"axis": -1, "block_size": 32}):
                with self.subTest(to=to, scale_type=scale_type, **attributes):
                    m = computing_model(list(X.shape), to, scale_type, **attributes)
                    self.same(X, m, to, scale_type, **attributes)

    def test_asymmetric_signed_integers(self):
        for to in ("int8", "int4"):
            if to in TYPES:
                m = computing_model(X.shape, to, axis=-1, block_size=32, symmetric=0)
                self.same(X, m, to, axis=-1, block_size=32, symmetric=0)

    def test_16_bit_x(self):
        for x_type, x in (("float16", X.astype(np.float16).astype(F32)), ("bfloat16", to_bfloat16(X))):
            for to in TYPES[:2]:
                with self.subTest(x_type=x_type, to=to):
                    self.same(x, computing_model(X.shape, to, x_type=x_type, axis=1), to, axis=1)

    def test_rules(self):
        """D is 255, or 127 without -128; the greatest of each row makes the scale."""
        m = computing_model([2, 2], axis=0, rule="torchao_asymmetric")
        y, scales, _ = run(m, {"x": F32([[0, 510], [0, 0]])}, library=True)
        np.testing.assert_array_equal(y, [[0, 255], [0, 0]])
        np.testing.assert_array_equal(scales, F32([2, 2**-23]))
        if OLDEST:
            return
        x = F32([[254, 1, np.inf], [0, 0, np.nan]])
        m = computing_model([2, 3], "int8", axis=0, rule="onednn_dynamic_quantize")
        y, scales, _ = run(m, {"x": x}, library=True)
        np.testing.assert_array_equal(y, [[127, 0, 0], [0, 0, 0]])
        np.testing.assert_array_equal(scales, F32([2, 1e-30]))
        for rule, scale in (("mx_floor", 1), ("mx_ceil", 2), ("mx_even", 2), ("mx_rceil", 2)):
            m = computing_model([1, 4], "float4e2m1", "float8e8m0", axis=1, block_size=4, rule=rule)
            y, back, _ = run(m, {"x": F32([[7, 0, 1, -2]])}, library=True)
            np.testing.assert_array_equal(back, [[6 if scale == 1 else 8, 0, 1, -2]])
            np.testing.assert_array_equal(y * F32(scale), back)

    def test_no_elements_and_zeros(self):
        one_scale = [(shape, {}, None) for shape in ((3, 0), (0,), (), (1,))]
        for shape, attributes, count in (((0, 3), {"axis": 1}, 3), ((0, 3), {"axis": 0}, 0), *one_scale):
            y, scales, zeros = run(computing_model(shape, **attributes), {"x": np.zeros(shape, F32)}, library=True)
            self.assertEqual((y.shape, scales.shape), (shape, () if count is None else (count,)))
            for given, e in ((y, 0), (scales, 1), (zeros, 0)):
                np.testing.assert_array_equal(given, e)
            self.assertEqual(zeros.shape, scales.shape)

    def test_shapes_that_change(self):
        s = session(computing_model(["a", "b"], axis=-1, block_size=4), library=True)
        for shape in ((1, 1), (3, 4), (2, 9), (1, 1)):
            x = normal(*shape)
            for given, e in zip(s.run(None, {"x": x}), expected(x, "uint8", "float", False, 1, 4)[:3]):
                np.testing.assert_array_equal(given, e)


class Inference(unittest.TestCase):
    """Types and shapes before the run."""

    def inferred(self, shape, types=("uint8", "float", "uint8"), **attributes):
        node = own("DynamicQuantizeLinear", ["x"], NAMES, **attributes)
        m = model([node], {"x": (FLOAT, shape)}, {name: (number(kind), None) for name, kind in zip(NAMES, types)}, 19)
        return [(output.type, output.shape) for output in session(m, library=True).get_outputs()]

    def test_shapes(self):
        for attributes, scale in (({}, []), ({"axis": 1}, [70]), ({"axis": -2}, ["n"]), ({"axis": 1, "block_size": 32}, ["n", 3]),
                                  ({"axis": -1, "block_size": 2**40}, ["n", 1])):
            with self.subTest(**attributes):
                shapes = [shape for _, shape in self.inferred(["n", 70], **attributes)]
                self.assertEqual(shapes, [["n", 70], scale, scale])

    def test_blocks_of_an_unknown_extent(self):
        (_, y), (_, scale), (_, zero) = self.inferred(["n", 70], axis=0, block_size=2)
        self.assertEqual(y, ["n", 70])
        self.assertEqual((scale[1], zero), (70, scale))
        self.assertIsInstance(scale[0], str)
        self.assertNotEqual(scale[0], "n")

    @unittest.skipIf(OLDEST, "it shows no attributes while it infers types")
    def test_types(self):
        for to, scale in (("int8", "float16"), ("float8e4m3fn", "float"), ("float8e5m2", "bfloat16")):
            given = self.inferred([3], (to, scale, to), to=number(to), scale_type=number(scale))
            self.assertEqual(given, [(f"tensor({to})", [3]), (f"tensor({scale})", []), (f"tensor({to})", [])])

if __name__ == "__main__":
    unittest.main(verbosity=2)
