"""exactquant with drawn arguments: right ones give what plain loops give, wrong ones an error that says which it is, and nothing is
written then."""

import itertools
import math
import unittest
import warnings
from collections.abc import Callable

import exactquant
import ml_dtypes
import numpy
from drawn import drawn
from exactquant import gguf
from foreign import Exported, Stated
from hypothesis import strategies as st
from test_gguf import CODED, QUANTIZED, element_of, expected_block

F32 = numpy.float32
BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
SEEDS, LARGE = st.integers(0, 2**32 - 1), (2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30)


def setUpModule():
    warnings.simplefilter("error")  # what a caller would see on stderr
    warnings.filterwarnings("ignore", "overflow encountered in cast")  # NumPy's of float64 beyond float32, as in the package gguf


def limits(dtype: str) -> tuple[int, int]:
    bits = BITS[dtype]
    return (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@st.composite
def views(draw: Callable, dtype: type = F32) -> numpy.ndarray:
    """An array of ordinary numbers, ties and zeros, whose strides any slices and transpositions made."""
    steps = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 4)))]
    extents = [draw(st.integers(0, 9)) * step for step in steps]
    random = numpy.random.default_rng(draw(SEEDS))
    x = random.standard_normal(extents).astype(dtype) * dtype(draw(st.sampled_from((0.01, 1, 50))))
    x = numpy.where(random.random(extents) < 0.3, numpy.round(x * 2) / dtype(2), x).astype(dtype)
    return x[tuple(slice(None, None, step) for step in steps)].transpose(draw(st.permutations(range(len(extents)))))


@st.composite
def statements(draw: Callable) -> dict[str, object]:
    """Right arguments, with scales and zero points of each element."""
    x, dtype = draw(views()), draw(st.sampled_from(sorted(BITS)))
    low, high = limits(dtype)
    random = numpy.random.default_rng(draw(SEEDS))
    ways = ["one", "broadcast"] + (["axis", "blocks"] if x.ndim else [])
    way, axis, size = draw(st.sampled_from(ways)), None, 0
    shape, fill = (), lambda of: numpy.broadcast_to(of, x.shape)
    if way == "broadcast":
        shape = tuple(draw(st.sampled_from((1, extent))) for extent in x.shape)
    elif way != "one":
        axis = draw(st.integers(-x.ndim, x.ndim - 1))
        extent = x.shape[axis]
        if way == "axis":
            shape, aligned = (extent,), [1] * x.ndim
            aligned[axis] = extent
            fill = lambda of: numpy.broadcast_to(of.reshape(aligned), x.shape)
        else:
            size = draw(st.one_of(st.integers(1, 12), st.sampled_from((2**31, 2**62, 2**63 - 1))))
            shape = list(x.shape)
            shape[axis] = -(-extent // size)
            fill = lambda of: of.repeat(min(size, max(extent, 1)), axis).take(range(extent), axis)
    scale = random.choice([0.01, 0.125, 0.37, 1, 3], shape).astype(F32)
    zero_point = random.integers(low, high, shape, endpoint=True)
    return {"x": x, "dtype": dtype, "axis": axis, "block_size": size, "scale": scale, "zero_point": zero_point,
            "scales": fill(scale), "zero_points": fill(zero_point), "threads": draw(st.integers(0, 3))}  # fmt: skip


def packed(codes: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """By a loop over the codes of a row: the first in the lowest bits."""
    bits = BITS[dtype]
    if bits >= 8:
        return codes.astype(dtype)
    each = 8 // bits
    rows = codes.reshape(math.prod(codes.shape[:-1]), codes.shape[-1])
    result = [[sum((int(row[at + i]) % 2**bits) << bits * i for i in range(each)) for at in range(0, len(row), each)] for row in rows]
    return numpy.array(result, numpy.uint8).reshape(*codes.shape[:-1], codes.shape[-1] // each)


class RightArguments(unittest.TestCase):
    @drawn(4000, given=statements())
    def test_codes_and_reals(self, given):
        x, dtype = given["x"], given["dtype"]
        shared = {"axis": given["axis"], "block_size": given["block_size"], "threads": given["threads"]}
        if BITS[dtype] < 8 and (x.ndim == 0 or x.shape[-1] * BITS[dtype] % 8):
            with self.assertRaisesRegex(ValueError, "^x: expected a last dimension whose codes of [24] bits fill bytes, given shape "):
                exactquant.quantize(x, given["scale"], dtype=dtype, **shared)
            return
        zero_point = given["zero_point"]
        if BITS[dtype] >= 8 or zero_point.ndim:
            fills = BITS[dtype] >= 8 or zero_point.shape[-1] * BITS[dtype] % 8 == 0
            zero_point = packed(zero_point, dtype) if fills else None
        else:
            zero_point = int(zero_point)
        points = 0 if zero_point is None else given["zero_points"]
        whole = numpy.rint(x / given["scales"]).astype(numpy.int64) + points
        codes = whole.clip(*limits(dtype))
        got = exactquant.quantize(x, given["scale"], zero_point, dtype=dtype, **shared)
        numpy.testing.assert_array_equal(got, packed(codes, dtype))
        self.assertEqual(got.dtype, numpy.dtype(dtype if BITS[dtype] >= 8 else "uint8"))
        back = exactquant.dequantize(got, given["scale"], zero_point, q_dtype=dtype, **shared)
        numpy.testing.assert_array_equal(back, (codes - points).astype(F32) * given["scales"])

    @drawn(2000, x=views(), axis=st.integers(0, 3), size=st.one_of(st.integers(1, 12), st.sampled_from((2**31, 2**62, 2**63 - 1))))
    def test_computed_scales(self, x, axis, size):
        """ONNX DynamicQuantizeLinear of each block."""
        if axis >= x.ndim:
            return
        q, scale, zero_point = exactquant.quantize_dynamic(x, "uint8", axis=axis, block_size=size)
        x, size = numpy.moveaxis(x, axis, -1), min(size, max(x.shape[axis], 1))
        q, scale, zero_point = (numpy.moveaxis(a, axis, -1) for a in (q, scale, zero_point))
        self.assertEqual((q.shape, scale.shape, zero_point.shape), (x.shape, *[(*x.shape[:-1], -(-x.shape[-1] // size))] * 2))
        for at in numpy.ndindex(scale.shape):
            values = x[*at[:-1], at[-1] * size : (at[-1] + 1) * size]
            least, most = min(values.min(), F32(0)), max(values.max(), F32(0))
            step = F32(most - least) / F32(255) or F32(1)
            point = int(numpy.rint(numpy.clip(-least / step, 0, 255)))
            self.assertEqual((scale[at], zero_point[at]), (step, point))
            codes = (numpy.rint(values / step).astype(int) + point).clip(0, 255)
            numpy.testing.assert_array_equal(q[*at[:-1], at[-1] * size : (at[-1] + 1) * size], codes)

    @drawn(2000, name=st.sampled_from(QUANTIZED), shape=st.lists(st.integers(0, 3), max_size=2), blocks=st.integers(0, 3), seed=SEEDS,
           dtype=st.sampled_from((F32, numpy.float64, numpy.float16, ml_dtypes.bfloat16)), order=st.sampled_from("CF"))  # fmt: skip
    def test_blocks_of_gguf(self, name, shape, blocks, seed, dtype, order):
        random = numpy.random.default_rng(seed)
        x = (random.standard_normal((*shape, 32 * blocks)) * 2.0 ** random.integers(-8, 8)).astype(dtype, order)
        got = gguf.quantize(x, name)
        expected = numpy.array([expected_block(b, name) for b in x.astype(F32).reshape(-1, 32)], numpy.uint8)
        numpy.testing.assert_array_equal(got, expected.reshape(*shape, blocks * gguf._BLOCKS[name][1]))

    @drawn(500, name=st.sampled_from(sorted(CODED)), count=st.integers(0, 3), seed=SEEDS)
    def test_bytes_as_blocks(self, name, count, seed):
        """Any bytes are blocks. Scales may be infinite or NaN."""
        elements, size, _ = CODED[name]
        random = numpy.random.default_rng(seed)
        blocks = random.integers(0, 256, (count, size), numpy.uint8)
        with numpy.errstate(all="ignore"):
            expected = numpy.array([[element_of(name, b, e) for e in range(elements)] for b in blocks], F32).reshape(count, elements)
        numpy.testing.assert_array_equal(gguf.dequantize(blocks, name), expected)

    @drawn(2000, shape=st.lists(st.integers(0, 9), min_size=1, max_size=3), dtype=st.sampled_from(["float6_e2m3fn", *(d for d in BITS if BITS[d] < 8)]),
           first=st.sampled_from(("low", "high")), seed=SEEDS)  # fmt: skip
    def test_packed_codes(self, shape, dtype, first, seed):
        bits = BITS.get(dtype, 6)
        codes = numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)
        if shape[-1] * bits % 8 or (first == "high" and bits != 4):
            with self.assertRaisesRegex(ValueError, "^(codes: expected a last dimension|first: expected 'low', as codes have )"):
                exactquant.pack(codes, dtype, first=first)
            return
        numbers = [sum((int(code) % 2**bits) << bits * i for i, code in enumerate(row)) for row in codes.reshape(math.prod(shape[:-1]), shape[-1])]
        expected = numpy.array([list(n.to_bytes(shape[-1] * bits // 8, "little")) for n in numbers], numpy.uint8).reshape(*shape[:-1], shape[-1] * bits // 8)
        if first == "high":
            expected = expected << 4 | expected >> 4
        numpy.testing.assert_array_equal(exactquant.pack(codes, dtype, first=first), expected)
        back = exactquant.unpack(expected, dtype, first=first)
        self.assertEqual((back.shape, back.dtype), (codes.shape, numpy.int8 if dtype.startswith("int") else numpy.uint8))
        numpy.testing.assert_array_equal(back.view(numpy.uint8) % 2**bits, codes % 2**bits)

    @drawn(500, rows=st.integers(0, 300), columns=st.integers(0, 9), seed=SEEDS)
    def test_swizzled_scales(self, rows, columns, seed):
        scale = numpy.random.default_rng(seed).integers(0, 256, (rows, columns), numpy.uint8)
        across = -(-columns // 4)
        expected = numpy.zeros(-(-rows // 128) * across * 512, numpy.uint8)
        for r, c in itertools.product(range(rows), range(columns)):
            expected[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scale[r, c]
        swizzled = exactquant.swizzle_scales(scale)
        numpy.testing.assert_array_equal(swizzled, expected)
        numpy.testing.assert_array_equal(exactquant.unswizzle_scales(swizzled, rows, columns), scale)

    @drawn(2000, pairs=st.lists(st.tuples(st.floats(), st.floats()), max_size=6))
    def test_error(self, pairs):
        got = exactquant.error([a for a, _ in pairs], [b for _, b in pairs])
        apart = [abs(b - a) for a, b in pairs]
        if any(map(math.isnan, apart)):
            self.assertTrue(math.isnan(got["largest"]) and math.isnan(got["mean"]))
            return
        self.assertEqual(got["largest"], max(apart, default=0))
        if all(x < 1e150 for pair in pairs for x in map(abs, pair)) and pairs:
            self.assertTrue(math.isclose(got["mean"], math.fsum(apart) / len(apart), rel_tol=1e-12), got)


NAMES = st.one_of(st.sampled_from(("", "int8", "INT8", "int8\0", "float8_e4m3fn", "itn8", "float64", "torch.int8", "Q8_0", "\ud800", "x" * 10000)), st.text(max_size=8))
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(LARGE), st.floats(), NAMES, st.binary(max_size=8), st.complex_numbers(),
    st.lists(st.floats(width=32), max_size=4), st.just({}), st.just(object()), st.just(object), st.just(numpy), st.just(...))  # fmt: skip


class Named:
    """Something whose name is no text."""

    __name__ = 3
    name = 4


@st.composite
def arrays(draw: Callable) -> numpy.ndarray:
    dtypes = ("f4", "f2", ">f4", "f8", "g", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "c8", "?", "O", "S1", "S0", "U1", "V1", "V3", "V0", "M8[s]",
              "f4,u1", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.int4, ml_dtypes.float4_e2m1fn)  # fmt: skip
    shapes = ((), (0,), (1,), (2, 8), (2, 8), (2, 8), (2, 32), (3, 0), (0, 32), (2**40, 0), (2**56, 0), (1,) * 13, (2, 34))
    result = numpy.zeros(draw(st.sampled_from(shapes)), draw(st.sampled_from(dtypes)))
    if result.ndim and draw(st.booleans()):
        result = result[:: draw(st.sampled_from((-1, 2)))]
    if draw(st.integers(0, 9)) == 0:
        result.flags.writeable = False
    return result


@st.composite
def foreign(draw: Callable) -> object:
    """An array, or something that is nearly one."""
    array = draw(arrays())
    interface = dict(array.__array_interface__)
    match draw(st.sampled_from(("array", "array", "memory", "dlpack", "interface", "interface"))):
        case "memory":
            return memoryview(numpy.ascontiguousarray(array).tobytes()).cast(draw(st.sampled_from("bBhHiIqQfd"))) if array.nbytes % 8 == 0 else bytearray(b"12345678")
        case "dlpack":
            return Exported(array)
        case "interface":
            if draw(st.booleans()):
                key = draw(st.sampled_from(sorted(interface)))
                if draw(st.booleans()):
                    del interface[key]
                else:  # but no other address, strides nor extents, which only the one who states them can know
                    interface[key] = draw(st.sampled_from((None, 3, "x", ("a",), (None, None), (-1,), (2.5,), [], {}, 10**30)))
            return Stated(draw(st.sampled_from((interface, interface, interface, None, 3, []))), draw(st.sampled_from((array.dtype, array.dtype, None, 7))))
    return array


X = numpy.random.default_rng(65).standard_normal((2, 32), F32)
CODES = numpy.arange(64, dtype=numpy.int8).reshape(2, 32)
BLOCKS = gguf.quantize(X, "Q8_0")
UNPACKED = numpy.arange(64, dtype=numpy.uint8).reshape(2, 32)
# Of each function right arguments, of which a test exchanges one or two.
CALLS: dict[str, tuple[Callable, dict[str, object]]] = {
    "quantize": (exactquant.quantize, {"x": X, "scale": 0.5, "zero_point": 3, "dtype": "int8", "axis": None, "block_size": 0, "rule": "onnx",
                                       "saturate": True, "scale_dtype": None, "out": None, "threads": 1}),
    "quantize by axis": (exactquant.quantize, {"x": X, "scale": numpy.full(32, 0.5, F32), "zero_point": None, "dtype": "float8_e4m3fn", "axis": 1,
                                               "block_size": 0, "rule": "onnx", "saturate": True, "scale_dtype": None, "out": None, "threads": 1}),
    "dequantize": (exactquant.dequantize, {"q": CODES, "scale": 0.5, "zero_point": 3, "dtype": "float32", "axis": None, "block_size": 0, "rule": "onnx",
                                           "q_dtype": None, "scale_dtype": None, "global_scale": None, "out": None, "threads": 1}),
    "quantize_dynamic": (exactquant.quantize_dynamic, {"x": X, "dtype": "uint8", "axis": 1, "block_size": 8, "preset": "onnx", "scale_dtype": None,
                                                       "saturate": True, "global_scale": None, "out": None, "threads": 1}),
    "mxfp8": (exactquant.mxfp8, {"x": X, "element": "e4m3", "rule": "floor", "axis": -1, "block_size": 32, "out": None, "threads": 1}),
    "mxfp6": (exactquant.mxfp6, {"x": X, "element": "e2m3", "rule": "floor", "axis": -1, "block_size": 32, "out": None, "threads": 1}),
    "mxfp4": (exactquant.mxfp4, {"x": X, "rule": "floor", "axis": -1, "block_size": 32, "out": None, "threads": 1}),
    "nvfp4": (exactquant.nvfp4, {"x": X, "global_scale": None, "out": None, "threads": 1}),
    "int8_per_token": (exactquant.int8_per_token, {"x": X, "preset": "vllm", "out": None, "threads": 1}),
    "from_mxfp4": (exactquant.from_mxfp4, dict(zip(("codes", "scale"), exactquant.mxfp4(X))) | {"dtype": "float32", "axis": -1, "block_size": 32, "out": None}),
    "from_nvfp4": (exactquant.from_nvfp4, dict(zip(("codes", "scale"), exactquant.nvfp4(X))) | {"global_scale": None, "dtype": "float32", "out": None}),
    "from_int8_per_token": (exactquant.from_int8_per_token, dict(zip(("codes", "scale"), exactquant.int8_per_token(X))) | {"dtype": "float32", "out": None}),
    "gguf.quantize": (gguf.quantize, {"data": X, "qtype": "Q8_0", "out": None, "threads": 1}),
    "gguf.dequantize": (gguf.dequantize, {"data": BLOCKS, "qtype": "Q8_0", "out": None, "threads": 1}),
    "pack": (exactquant.pack, {"codes": UNPACKED, "dtype": "uint4", "first": "low"}),
    "unpack": (exactquant.unpack, {"packed": UNPACKED, "dtype": "uint4", "first": "low"}),
    "swizzle_scales": (exactquant.swizzle_scales, {"scale": UNPACKED}),
    "unswizzle_scales": (exactquant.unswizzle_scales, {"swizzled": numpy.zeros(512, numpy.uint8), "rows": 2, "columns": 3}),
    "set_threads": (exactquant.set_threads, {"count": 0}),
    "error": (exactquant.error, {"a": [1.0], "b": [2.0]}),
}  # fmt: skip
KNOWN = {"dtype": ("int8", "uint8", "int4", "uint2", "float8_e5m2", "float4_e2m1fn", "float16", "bfloat16", numpy.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.int4),
         "rule": ("onnx", "strict", "any", "even"), "qtype": gguf.TYPES, "preset": exactquant.presets(), "first": ("low", "high")}  # fmt: skip
# How a message names the argument: codes are dequantize()'s q. nanobind lists those of all functions that it looked at.
NAMED = r"(?:{}|q): expected |[a-z_]+\(\): incompatible function arguments"


@st.composite
def calls(draw: Callable) -> tuple[str, dict[str, object]]:
    """A function, and the arguments that take the place of right ones."""
    name = draw(st.sampled_from(sorted(CALLS)))
    changed = {}
    for argument in draw(st.lists(st.sampled_from(sorted(CALLS[name][1])), min_size=1, max_size=2, unique=True)):
        known = st.sampled_from(KNOWN.get(argument.removeprefix("q_").removeprefix("scale_"), (0, 1, -1, 2**63 - 1)))
        changed[argument] = draw(st.one_of(known, known, ODD, foreign(), st.just(Named())))
    return name, changed


class WrongArguments(unittest.TestCase):
    @drawn(10000, call=calls())
    def test_an_error_says_which(self, call):
        name, changed = call
        function, right = CALLS[name]
        given = right | changed
        held = [(a, a.copy()) for a in given.values() if isinstance(a, numpy.ndarray) and a.size]
        threads = exactquant.get_threads()
        try:
            function(**given)
        except (ValueError, TypeError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) and not name.startswith("gguf."):
                raise
            self.assertRegex(str(error), "^" + NAMED.format("|".join(right)))
            for array, before in held:
                self.assertEqual(array.tobytes(), before.tobytes())
            self.assertEqual(exactquant.get_threads(), threads)
        finally:
            exactquant.set_threads(0)


if __name__ == "__main__":
    unittest.main()
