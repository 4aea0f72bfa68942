"""exactquant beside the formulas, with NumPy and ml_dtypes alone."""

import doctest
import importlib
import itertools
import json
import os
import subprocess
import sys
import threading
import unittest
import unittest.mock
import warnings

import exactquant
import ml_dtypes
import numpy
from foreign import Exported, Stated

F32 = numpy.float32
RANDOM = numpy.random.default_rng(63)


def ordinary(*shape: int, dtype: object = F32) -> numpy.ndarray:
    return RANDOM.standard_normal(shape, F32).astype(dtype)


def codes_of(x: numpy.ndarray, scale: numpy.ndarray, zero_point: numpy.ndarray, dtype: object) -> numpy.ndarray:
    """ONNX QuantizeLinear: the quotient rounded to float32, then to nearest even; the sum exact."""
    info = numpy.iinfo(dtype)
    whole = numpy.rint(x.astype(F32) / scale.astype(F32)).astype(numpy.int64) + zero_point
    return whole.clip(info.min, info.max).astype(dtype)


class Layouts(unittest.TestCase):
    def test_swizzled_scales(self):
        # Of each place the formula of cuBLAS's documentation.
        for rows, columns in ((1, 1), (128, 4), (129, 5), (300, 9)):
            scale = RANDOM.integers(1, 256, (rows, columns)).astype(numpy.uint8)
            swizzled = exactquant.swizzle_scales(scale)
            across = -(-columns // 4)
            expected = numpy.zeros(-(-rows // 128) * across * 512, numpy.uint8)
            for r in range(rows):
                for c in range(columns):
                    expected[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scale[r, c]
            numpy.testing.assert_array_equal(swizzled, expected)
            numpy.testing.assert_array_equal(exactquant.unswizzle_scales(swizzled, rows, columns), scale)
        scale = numpy.zeros((2, 2), ml_dtypes.float8_e8m0fnu)
        self.assertEqual(exactquant.swizzle_scales(scale).dtype, scale.dtype)

    def test_refused_scales(self):
        for message, f, arguments in (
            (r"scale: expected 2 dimensions, given shape \(3,\)", exactquant.swizzle_scales, [numpy.zeros(3, numpy.uint8)]),
            (r"swizzled: expected 1 dimension, given shape \(1, 1\)", exactquant.unswizzle_scales, [numpy.zeros((1, 1), numpy.uint8), 1, 1]),
            ("swizzled: expected 512 of .2, 3., in tiles of 128 by 4, given 6", exactquant.unswizzle_scales, [numpy.zeros(6, numpy.uint8), 2, 3]),
            ("rows: expected 0 or more, given -1", exactquant.unswizzle_scales, [numpy.zeros(6, numpy.uint8), -1, 3]),
        ):
            with self.assertRaisesRegex(ValueError, message):
                f(*arguments)
        with self.assertRaisesRegex(TypeError, "scale: expected scales of a byte, E8M0 or E4M3, given float32"):
            exactquant.swizzle_scales(numpy.zeros((2, 2), F32))

    def test_extents_of_numpy_and_none(self):
        scale = numpy.arange(60 * 5, dtype=numpy.uint8).reshape(60, 5)
        numpy.testing.assert_array_equal(exactquant.unswizzle_scales(exactquant.swizzle_scales(scale), numpy.uint8(60), numpy.int8(5)), scale)
        self.assertEqual(exactquant.pack(numpy.zeros((0, 4), numpy.int8), "int4").shape, (0, 2))
        self.assertEqual(exactquant.unpack(numpy.zeros((0, 2), numpy.uint8), "int4").shape, (0, 4))
        self.assertEqual(exactquant.unpack(numpy.uint8([0xF1]), ml_dtypes.int4).tolist(), [1, -1])

    def test_the_first_code_in_the_high_bits(self):
        self.assertEqual(exactquant.pack(numpy.uint8([[1, 2, 3, 15]]), "uint4", first="high").tolist(), [[0x12, 0x3F]])
        self.assertEqual(exactquant.unpack(numpy.uint8([[0x12, 0x3F]]), "int4", first="high").tolist(), [[1, 2, 3, -1]])
        with self.assertRaisesRegex(ValueError, "first: expected 'low' or 'high', given 'big'"):
            exactquant.pack(numpy.uint8([1, 2]), "uint4", first="big")
        with self.assertRaisesRegex(ValueError, "first: expected 'low', as codes have 2 bits, given 'high'"):
            exactquant.pack(numpy.uint8([1, 2, 3, 0]), "uint2", first="high")


class Memory(unittest.TestCase):
    def test_refused_arrays_are_given_back(self):
        out = numpy.zeros(3, numpy.int8)
        out.flags.writeable = False
        for refused, named in ((numpy.ones(3, numpy.int64), {}), (numpy.ones(3, F32), {"out": out})):
            count = sys.getrefcount(refused), sys.getrefcount(out)
            for _ in range(100):
                with self.assertRaises((TypeError, ValueError)):
                    exactquant.quantize(refused, 1.0, dtype="int8", **named)
            self.assertEqual((sys.getrefcount(refused), sys.getrefcount(out)), count)


class Verification(unittest.TestCase):
    def test_every_set_of_instructions(self):
        for isa in ("scalar", "avx2", "avx512"):  # one that the processor lacks means less
            code = "import exactquant, json; print(json.dumps(exactquant.verify()))"
            done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "DYNQUANT_MAX_ISA": isa}, check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            self.assertEqual((result["checked"] >= 100, result["differ"]), (True, []))

    def test_by_one_thread_and_by_three(self):
        from exactquant import verification

        seen = []
        exactquant.set_threads(2)
        with unittest.mock.patch.object(verification, "digests", side_effect=lambda: seen.append(exactquant.get_threads()) or {}):
            result = exactquant.verify()
        self.assertEqual((seen, exactquant.get_threads(), len(result["differ"])), ([1, 3], 2, result["checked"]))
        exactquant.set_threads(0)

    def test_another_bit_is_named(self):
        from exactquant import verification

        digests = verification.digests()
        digests["mxfp4 even, ties"] = "0" * 16
        del digests["nvfp4, ordinary"]
        with unittest.mock.patch.object(verification, "digests", return_value=digests):
            self.assertEqual(exactquant.verify()["differ"], ["mxfp4 even, ties", "nvfp4, ordinary"])


class Quantize(unittest.TestCase):
    def test_one_scale(self):
        x = ordinary(7, 129)
        for dtype in (numpy.int8, numpy.uint8, numpy.int16, numpy.uint16):
            for zero_point in (0, 3):
                got = exactquant.quantize(x, 0.01, zero_point, dtype=dtype)
                self.assertEqual(got.dtype, dtype)
                numpy.testing.assert_array_equal(got, codes_of(x, F32(0.01), zero_point, dtype))

    def test_axes_blocks_and_broadcast(self):
        x = ordinary(6, 40, 5)
        along = numpy.exp2(RANDOM.integers(-8, 0, 40)).astype(F32)
        points = RANDOM.integers(-9, 9, 40).astype(numpy.int8)
        expected = codes_of(x, along[:, None], points[:, None].astype(numpy.int64), numpy.int8)
        for axis in (1, -2):
            numpy.testing.assert_array_equal(exactquant.quantize(x, along, points, dtype="int8", axis=axis), expected)
        rows = numpy.exp2(RANDOM.integers(-8, 0, (6, 1, 5))).astype(F32)
        numpy.testing.assert_array_equal(exactquant.quantize(x, rows, dtype="int8"), codes_of(x, rows, 0, numpy.int8))
        blocks = numpy.exp2(RANDOM.integers(-8, 0, (6, 3, 5))).astype(F32)
        repeated = blocks.repeat(16, 1)[:, :40]
        numpy.testing.assert_array_equal(exactquant.quantize(x, blocks, dtype="int8", axis=1, block_size=16), codes_of(x, repeated, 0, numpy.int8))

    def test_strides_and_types_of_x(self):
        for dtype in (F32, numpy.float16, ml_dtypes.bfloat16):
            x = ordinary(12, 34, dtype=dtype)
            for view in (x.T, x[::2], x[:, ::3], x[1:, 1:]):
                scale = numpy.array(0.125, dtype)
                numpy.testing.assert_array_equal(exactquant.quantize(view, scale, dtype="int8", rule="strict"), codes_of(view, scale, 0, numpy.int8))

    def test_floats_of_8_bits(self):
        x = ordinary(300).clip(-400, 400)
        got = exactquant.quantize(x, 0.5, dtype=ml_dtypes.float8_e4m3fn)
        self.assertEqual(got.dtype, ml_dtypes.float8_e4m3fn)
        numpy.testing.assert_array_equal(got.view(numpy.uint8), (x / F32(0.5)).astype(ml_dtypes.float8_e4m3fn).view(numpy.uint8))
        numpy.testing.assert_array_equal(exactquant.quantize(x, 0.5, dtype="float8_e4m3fn"), got.view(numpy.uint8))

    def test_packed(self):
        x = ordinary(3, 16) * 4
        got = exactquant.quantize(x, 1.0, dtype="int4")
        self.assertEqual(got.shape, (3, 8))
        numpy.testing.assert_array_equal(exactquant.unpack(got, "int4"), numpy.rint(x).clip(-8, 7))
        numpy.testing.assert_array_equal(exactquant.pack(exactquant.unpack(got, "int4"), "int4"), got)
        numpy.testing.assert_array_equal(exactquant.dequantize(got, 0.5, q_dtype="int4"), numpy.rint(x).clip(-8, 7).astype(F32) / 2)

    def test_a_number_as_zero_point_of_packed_codes(self):
        x = numpy.float32([[-1, 0, 0.5, 3]])
        for dtype, zero_point, codes in (("int4", -3, [-5, -3, -2, 3]), ("uint4", 9, [7, 9, 10, 15]), ("int2", 1, [-1, 1, 1, 1]), ("uint2", 2, [0, 2, 3, 3])):
            q = exactquant.quantize(x, 0.5, zero_point, dtype=dtype)
            self.assertEqual(exactquant.unpack(q, dtype).tolist(), [codes])
            back = [[(code - zero_point) / 2 for code in codes]]
            self.assertEqual(exactquant.dequantize(q, 0.5, zero_point, q_dtype=dtype).tolist(), back)
            for number in (numpy.int64(zero_point), numpy.array(zero_point, numpy.int8)):
                numpy.testing.assert_array_equal(exactquant.quantize(x, 0.5, number, dtype=dtype), q)
        self.assertEqual(exactquant.quantize(x, 0.5, numpy.int64(7), dtype="int8").tolist(), [[5, 7, 8, 13]])
        for dtype in ("int8", "int4"):
            with self.assertRaisesRegex(TypeError, "^zero_point: expected an integer, given 1.5$"):
                exactquant.quantize(x, 0.5, 1.5, dtype=dtype)
            with self.assertRaisesRegex(ValueError, "given one of many digits"):
                exactquant.quantize(x, 0.5, 10**5000, dtype=dtype)
        for zero_point in (8, -9, 2**40):
            with self.assertRaises(ValueError) as caught:
                exactquant.quantize(x, 0.5, zero_point, dtype="int4")
            self.assertEqual(str(caught.exception), f"zero_point: expected a number of int4, from -8 to 7, given {zero_point}")

    def test_out(self):
        x, out = ordinary(64, 64), numpy.empty((64, 64), numpy.int8)
        self.assertIs(exactquant.quantize(x, 0.1, dtype="int8", out=out), out)
        numpy.testing.assert_array_equal(out, codes_of(x, F32(0.1), 0, numpy.int8))

    def test_dequantize(self):
        q = RANDOM.integers(-128, 128, (5, 50)).astype(numpy.int8)
        scale = ordinary(5)
        got = exactquant.dequantize(q, scale, axis=0)
        numpy.testing.assert_array_equal(got, q.astype(F32) * scale[:, None])
        got = exactquant.dequantize(q, numpy.float16(0.5), dtype="float16", rule="strict")
        numpy.testing.assert_array_equal(got, (q.astype(F32) / 2).astype(numpy.float16))


class Dynamic(unittest.TestCase):
    def test_onnx(self):
        x = ordinary(1000)
        q, scale, zero_point = exactquant.quantize_dynamic(x, "uint8")
        lo, hi = min(x.min(), F32(0)), max(x.max(), F32(0))
        expected = F32(F32(hi - lo) / F32(255))
        self.assertEqual(scale.item(), expected)
        point = int(numpy.rint(F32(-lo / expected)))
        self.assertEqual(zero_point.item(), point)
        numpy.testing.assert_array_equal(q, codes_of(x, expected, point, numpy.uint8))

    def test_mxfp8(self):
        x = ordinary(4, 96) * numpy.exp2(RANDOM.integers(-20, 20, (4, 1))).astype(F32)
        codes, scale = exactquant.mxfp8(x)
        exponents = numpy.floor(numpy.log2(numpy.abs(x).reshape(4, 3, 32).max(-1).astype(numpy.float64))).astype(int) - 8
        numpy.testing.assert_array_equal(scale, exponents + 127)
        quotients = (x.reshape(4, 3, 32) / numpy.exp2(exponents)[..., None]).astype(F32).clip(-448, 448)
        numpy.testing.assert_array_equal(codes.reshape(4, 3, 32), quotients.astype(ml_dtypes.float8_e4m3fn).view(numpy.uint8))
        back = exactquant.from_mxfp8(codes, scale)
        numpy.testing.assert_array_equal(back, (codes.view(ml_dtypes.float8_e4m3fn).astype(F32).reshape(4, 3, 32) * numpy.exp2(exponents)[..., None].astype(F32)).reshape(4, 96))

    def test_types_of_scales_by_preset(self):
        """Those that whoever wrote the formula stores, of reals and of codes that the preset takes."""
        wanted = {"nvfp4": "uint8", "onednn_dynamic_fp": "uint8", "ggml_q8_0": "float16", **{f"mx_{rule}": "uint8" for rule in ("floor", "ceil", "even", "rceil")}}
        for x in (ordinary(2, 32), ordinary(2, 32, dtype=numpy.float16), ordinary(2, 32, dtype=ml_dtypes.bfloat16)):
            for preset in exactquant.presets():
                _, scale, _ = exactquant.quantize_dynamic(x, "int8", preset=preset, axis=-1, block_size=16)
                self.assertEqual(scale.dtype, x.dtype if preset == "torchao_symmetric" else wanted.get(preset, "float32"), preset)

    def test_nvfp4(self):
        """torchao's formula, of a global scale and of none: scales of E4M3 also where the caller names the preset alone."""
        x = ordinary(4, 64) * numpy.exp2(RANDOM.integers(-4, 4, (4, 1))).astype(F32)
        for g in (F32(1), F32(numpy.abs(x).max() / (448 * 6))):
            blocks = x.reshape(4, 4, 16)
            expected = numpy.maximum(F32(F32(numpy.abs(blocks).max(-1) / F32(6)) / g), F32(2**-6)).astype(ml_dtypes.float8_e4m3fn)
            quotients = blocks * (F32(1) / g / expected.astype(F32))[..., None]
            codes = exactquant.pack(quotients.clip(-6, 6).astype(ml_dtypes.float4_e2m1fn).view(numpy.uint8).reshape(4, 64), "float4_e2m1fn")
            _, dynamic_scale, _ = dynamic = exactquant.quantize_dynamic(x, "float4_e2m1fn", axis=-1, block_size=16, preset="nvfp4", global_scale=g if g != 1 else None)
            self.assertEqual(dynamic_scale.dtype, numpy.uint8)
            for got, scale in (dynamic[:2], exactquant.nvfp4(x, float(g))):
                numpy.testing.assert_array_equal(scale, expected.view(numpy.uint8))
                numpy.testing.assert_array_equal(got, codes)

    def test_int8_per_token(self):
        """Scales of torchao's formula have x's type, and codes are of the scales as stored; vLLM's are float32."""
        for dtype in (F32, numpy.float16, ml_dtypes.bfloat16):
            x = ordinary(8, 96, dtype=dtype)
            most, reals = numpy.abs(x.astype(F32)).max(-1, keepdims=True), x.astype(F32)
            for preset, expected, low in (("vllm", most / F32(127), -127), ("torchao_symmetric", (most / F32(127.5)).astype(dtype), -128)):
                codes, scale = exactquant.int8_per_token(x, preset=preset)
                self.assertEqual(scale.dtype, expected.dtype)
                numpy.testing.assert_array_equal(scale, expected)
                product = reals * (F32(1) / expected.astype(F32))
                numpy.testing.assert_array_equal(codes, numpy.rint(product).clip(low, 127).astype(numpy.int8))
                numpy.testing.assert_array_equal(exactquant.from_int8_per_token(codes, scale), codes * expected.astype(F32))

    def test_nvfp4_inverse(self):
        x = numpy.float32([[0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 0]])
        for global_scale in (None, 0.5):
            numpy.testing.assert_array_equal(exactquant.from_nvfp4(*exactquant.nvfp4(x, global_scale), global_scale), x)

    def test_mxfp4_and_mxfp6_inverse(self):
        x = numpy.float32([[0, 0.5, 1, 1.5, 2, 3, 4, 6] * 4])
        numpy.testing.assert_array_equal(exactquant.from_mxfp4(*exactquant.mxfp4(x)), x)
        for element in ("e2m3", "e3m2"):
            numpy.testing.assert_array_equal(exactquant.from_mxfp6(*exactquant.mxfp6(x, element=element), element=element), x)


class Rules(unittest.TestCase):
    def test_strict_divides(self):
        """45.5 / 7 is 6.5, and its product with the rounded 1 / 7 above it; the sum with a zero point is rounded to float32."""
        self.assertEqual(exactquant.quantize(F32([45.5]), 7.0, dtype="int8", rule="strict").tolist(), [6])
        self.assertGreater(F32(45.5) * (F32(1) / F32(7)), 6.5)
        x = F32([0.5 + 2**-24])
        self.assertEqual([exactquant.quantize(x, 1.0, 2, dtype="int8", rule=rule).item() for rule in ("strict", "onnx")], [2, 3])

    def test_even_rounds_the_range(self):
        """Of E2M1, whose M is 6 = 1.5 * 2^2: 3.4 becomes 3.5, 6.5 becomes 7, 7.5 becomes 8, and 7.5 and 6.5 exceed M."""
        for most, exponents in ((3.4, (-1, 0, -1, 0)), (6.5, (0, 1, 0, 1)), (7.5, (0, 1, 1, 1))):
            x = numpy.full((1, 32), most, F32)
            got = tuple(exactquant.mxfp4(x, rule=rule)[1].item() - 127 for rule in ("floor", "ceil", "even", "rceil"))
            self.assertEqual(got, exponents, most)

    def test_a_number_as_scale_is_float32(self):
        x = ordinary(64, 64, dtype=numpy.float16)
        got = exactquant.quantize(x, 0.037, dtype="int8")
        numpy.testing.assert_array_equal(got, codes_of(x, F32(0.037), 0, numpy.int8))


class Documented(unittest.TestCase):
    def test_every_function_has_an_example(self):
        for module in (exactquant, exactquant.gguf):
            for name in getattr(module, "__all__", ("quantize", "dequantize")):
                if callable(function := getattr(module, name)):
                    self.assertIn(">>> ", function.__doc__ or "", name)


class Refusals(unittest.TestCase):
    def refused(self, kind: type, message: str, function, *args, **options) -> None:
        with self.assertRaises(kind) as caught:
            function(*args, **options)
        self.assertEqual(str(caught.exception), message)

    def test_quantize(self):
        x = numpy.ones((2, 6), F32)
        refused = self.refused
        q = exactquant.quantize
        refused(ValueError, 'dtype: expected a type such as "int8" or "float8_e4m3fn", given "itn8"; did you mean "int8"?', q, x, 1.0, dtype="itn8")
        refused(ValueError, "scale: expected shape (6,), given (2,)", q, x, numpy.ones(2, F32), dtype="int8", axis=1)
        refused(ValueError, "axis: expected one of a tensor of shape (2, 6), from -2 to 1, given 2", q, x, numpy.ones(2, F32), dtype="int8", axis=2)
        refused(ValueError, "block_size: expected an axis with it", q, x, numpy.ones(2, F32), dtype="int8", block_size=2)
        refused(ValueError, "out: expected shape (2, 6), given (6, 2)", q, x, 1.0, dtype="int8", out=numpy.empty((6, 2), numpy.int8))
        refused(ValueError, "out: expected memory apart from that of x", q, x, 1.0, dtype="int8", out=x.view(numpy.int8)[:, :6])
        refused(TypeError, "out: expected int8 or their codes as int8, given uint8", q, x, 1.0, dtype="int8", out=numpy.empty((2, 6), numpy.uint8))
        read_only = numpy.empty((2, 6), numpy.int8)
        read_only.flags.writeable = False
        refused(ValueError, "out: expected an array that can be written, given one that is read-only", q, x, 1.0, dtype="int8", out=read_only)
        elements = "x: expected elements of float32, float16, bfloat16, or of a type of codes, in this machine's byte order, given "
        refused(TypeError, elements + "ndarray of >f4", q, x.astype(">f4"), 1.0, dtype="int8")
        refused(TypeError, elements + "ndarray of object", q, x.astype(object), 1.0, dtype="int8")
        refused(TypeError, elements + "ndarray of float64", q, x.astype(float), 1.0, dtype="int8")
        refused(TypeError, "x: expected an array: NumPy's, torch's, or what has __dlpack__, given list", q, [1.0], 1.0, dtype="int8")
        refused(ValueError, 'rule: expected "onnx", "strict" or "any", given "fast"', q, x, 1.0, dtype="int8", rule="fast")
        points = numpy.zeros((1, 6), numpy.int8)
        refused(ValueError, "zero_point: expected the scale's shape (6,), given (1, 6)", q, x, numpy.ones(6, F32), points, dtype="int8", axis=1)
        for number in (300, 128, -129, 2**70):
            refused(ValueError, f"zero_point: expected a number of int8, given {number}", q, x, 1.0, number, dtype="int8")
        out = numpy.ones((2, 6), F32)  # its first element is the global scale, too
        apart = "out: expected memory apart from that of global_scale"
        codes = numpy.ones((2, 6), numpy.int8)
        refused(ValueError, apart, exactquant.dequantize, codes, 1.0, dtype="float32", global_scale=out[0, :1], out=out)
        codes = numpy.zeros((1, 32), numpy.uint8)
        codes[0, 2:4] = 0x80, 0x3f  # 1
        refused(ValueError, apart, exactquant.quantize_dynamic, numpy.ones((1, 64), F32), "float4_e2m1fn", axis=-1, block_size=16,
                preset="nvfp4", global_scale=codes[0, :4].view(F32), out=codes)
        refused(ValueError, "x: expected a last dimension whose codes of 4 bits fill bytes, given shape (2, 3)", q, x[:, :3], 1.0, dtype="int4")
        numpy.testing.assert_array_equal(x, 1)

    def test_scales_of_blocks_without_elements_are_those_of_zeros(self):
        """ONNX's rule gives zeros the scale 1 and the code of 0, -128 in int8; oneDNN's the scale 1e-30; OCP's the least, 2^-127."""
        known = {"onnx": ("int8", F32(1), -128), "onednn_dynamic_quantize": ("int8", F32(1e-30), None),
                 "mx_floor": ("float8_e4m3fn", numpy.uint8(0), None)}
        for (preset, (dtype, scale, zero_point)), axis in itertools.product(known.items(), (None, 1)):
            x = numpy.zeros((0, 3), F32)
            codes, scales, zero_points = exactquant.quantize_dynamic(x, dtype, preset=preset, axis=axis)
            shape = () if axis is None else (3,)
            with self.subTest(preset=preset, axis=axis):
                self.assertEqual(codes.shape, (0, 3))
                numpy.testing.assert_array_equal(scales.view(type(scale)), numpy.full(shape, scale), strict=True)
                if zero_point is None:
                    self.assertIsNone(zero_points)
                else:
                    numpy.testing.assert_array_equal(zero_points, numpy.full(shape, zero_point, numpy.int8), strict=True)

    def test_what_cannot_be_right(self):
        x, refused = ordinary(2, 32), self.refused
        for preset in sorted({*exactquant.presets(), "vlm"} - {"vllm", "torchao_symmetric"}):  # have zero points, or other scales
            message = f"preset: expected one of 'vllm', 'torchao_symmetric', given '{preset}'"
            refused(ValueError, message, exactquant.int8_per_token, x, preset=preset)
        codes, scale = exactquant.mxfp4(x)
        for size in (0, -32):
            message = f"block_size: expected 1 or more, given {size}"
            for function in (exactquant.mxfp4, exactquant.mxfp6, exactquant.mxfp8):
                refused(ValueError, message, function, x, block_size=size)
            refused(ValueError, message, exactquant.from_mxfp4, codes, scale, block_size=size)
        codes, scale = exactquant.nvfp4(x)
        for given in (-1, 0, -0.0, 1e-50, float("nan"), float("inf"), numpy.float32(-2), numpy.zeros(1, F32)):
            message = f"global_scale: expected a number above 0 and finite in float32, given {given}"
            refused(ValueError, message, exactquant.nvfp4, x, given)
            refused(ValueError, message, exactquant.from_nvfp4, codes, scale, given)

    def test_names_as_python_has_them(self):
        x, refused = ordinary(2, 32), self.refused
        types = "int8, uint8, int4, uint4, float8_e4m3fn or float8_e5m2"
        for rule in ("strict", "any"):
            refused(TypeError, f"dtype: expected data type {types}, given int16", exactquant.quantize, x, 1.0, dtype="int16", rule=rule)
        reals = "expected data type float32, float16 or bfloat16, given"
        refused(TypeError, f"dtype: {reals} int8", exactquant.dequantize, numpy.int8([1]), 1.0, dtype="int8")
        refused(TypeError, f"x: {reals} uint8", exactquant.quantize, numpy.uint8([1]), 1.0, dtype="int8", rule="strict")
        refused(TypeError, "scale: " + reals + " int8", exactquant.quantize, x, numpy.int8([1]), dtype="int8", rule="strict")
        dynamic = exactquant.quantize_dynamic
        refused(TypeError, 'dtype: expected one of int8, int4 for preset "vllm", given uint8', dynamic, x, "uint8", preset="vllm")
        refused(TypeError, 'dtype: expected one of int8, uint8, int4, uint4 for preset "onnx", given float4_e2m1fn', dynamic, x, "float4_e2m1fn")
        message = 'scale_dtype: expected float8_e8m0fnu for preset "mx_even", given float32'
        refused(TypeError, message, dynamic, x, "int8", preset="mx_even", scale_dtype="float32")
        message = "global_scale: expected none for computed scales of float32, given some of float32"
        refused(ValueError, message, dynamic, x, "int8", preset="vllm", global_scale=2.0)

    def test_a_block_larger_than_any_tensor(self):
        """The sum of its size and an extent overflowed: there was no room for the scales that were written."""
        x = ordinary(64, 4)
        for size in (2**62, 2**63 - 1):
            for got, expected in zip(exactquant.quantize_dynamic(x, "uint8", axis=1, block_size=size), exactquant.quantize_dynamic(x, "uint8", axis=1, block_size=4)):
                numpy.testing.assert_array_equal(got, expected)
            numpy.testing.assert_array_equal(exactquant.quantize(x, numpy.full((64, 1), 0.5, F32), dtype="int8", axis=1, block_size=size),
                                             exactquant.quantize(x, 0.5, dtype="int8"))  # fmt: skip

    def test_arrays_that_state_their_memory_themselves(self):
        x = ordinary(4, 6)
        interface, expected = x.T.__array_interface__, exactquant.quantize(x.T, 0.5, dtype="int8")
        numpy.testing.assert_array_equal(exactquant.quantize(Stated(interface), 0.5, dtype="int8"), expected)
        numpy.testing.assert_array_equal(exactquant.quantize(Exported(x.T), 0.5, dtype="int8"), expected)
        for changed, wanted in (
            ({"shape": ("a", 2)}, "integers as shape"), ({"shape": [6, 4]}, "a tuple as shape"), ({"shape": (-6, 4)}, "extents of 0 or more"),
            ({"strides": (4,)}, "as many strides as extents"), ({"data": None}, "a tuple as data"), ({"data": (1, 2, 3)}, "an address and whether it is read-only as data"),
            ({"typestr": 4}, "a typestr such as '<f4'"), ({"typestr": "<f"}, "a typestr such as '<f4'"),
        ):  # fmt: skip
            self.refused(TypeError, f"x: expected {wanted} in its __array_interface__", exactquant.quantize, Stated(interface | changed), 0.5, dtype="int8")
        self.refused(TypeError, "x: expected a dict in its __array_interface__", exactquant.quantize, Stated(3), 0.5, dtype="int8")
        elements = "x: expected elements of float32, float16, bfloat16, or of a type of codes, in this machine's byte order, given Stated"
        self.refused(TypeError, elements, exactquant.quantize, Stated(interface | {"typestr": ">f4"}), 0.5, dtype="int8")
        lies = Stated(interface | {"typestr": "<f2"})
        lies.dtype = numpy.dtype(F32)
        self.refused(TypeError, elements + " of float32", exactquant.quantize, lies, 0.5, dtype="int8")
        out = numpy.zeros((6, 4), numpy.int8)
        out.flags.writeable = False
        refusal = "out: expected an array that can be written, given one that is read-only"
        self.refused(ValueError, refusal, exactquant.quantize, x.T, 0.5, dtype="int8", out=Exported(out))

    def test_what_was_no_message(self):
        x = ordinary(2, 8)
        refused, text = self.refused, 'dtype: expected a type such as "int8" or "float8_e4m3fn", given a name that is no text'
        named = type("named", (), {"__name__": 3})()
        for dtype in ("\ud800", named):
            refused(ValueError, text, exactquant.quantize, x, 1.0, dtype=dtype)
        refused(ValueError, "x: expected strides of 0 or more, given -4 bytes", exactquant.quantize, x[:, ::-1], 1.0, dtype="int8")
        refused(ValueError, "count: expected 0 or more, given -1", exactquant.set_threads, count=-1)
        refused(TypeError, "x: expected an array: NumPy's, torch's, or what has __dlpack__, given list", exactquant.int8_per_token, [1.0])
        refused(TypeError, "zero_point: expected an array: NumPy's, torch's, or what has __dlpack__, given module of <class 'numpy.dtype'>", exactquant.quantize, x, 1.0, numpy, dtype="int8")
        refused(ValueError, "packed: expected bytes that codes of 4 bits fill, given shape ()", exactquant.unpack, numpy.uint8(1), "int4")
        swizzled = numpy.zeros(0, numpy.uint8)
        refused(TypeError, "rows: expected an integer, given float", exactquant.unswizzle_scales, swizzled, 1.5, 0)
        refused(ValueError, f"rows: expected 0 or more, up to {2**48}, given {2**70}", exactquant.unswizzle_scales, swizzled, 2**70, 0)
        refused(TypeError, "b: expected real numbers, given <U1", exactquant.error, [1], ["a"])
        refused(ValueError, "first: expected 'low' or 'high', given array([1, 2])", exactquant.pack, numpy.zeros(2, numpy.uint8), "int4", first=numpy.array([1, 2]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(exactquant.error([1e300], [-1e300])["largest"], 2e300)

    def test_a_type_of_ml_dtypes_that_is_packed(self):
        """Its arrays have a byte for each code, so that a view of packed bytes as one has other codes."""
        q = exactquant.quantize(numpy.ones((2, 8), F32), 1.0, dtype=ml_dtypes.int4)
        self.assertEqual((q.dtype, q.tolist()), (numpy.uint8, [[0x11] * 4] * 2))


class Threads(unittest.TestCase):
    def test_any_number_has_the_same_bits(self):
        x = ordinary(1 << 20)
        expected = codes_of(x, F32(0.02), 0, numpy.int8)
        for threads in (1, 2, 3, 8):
            exactquant.set_threads(threads)
            numpy.testing.assert_array_equal(exactquant.quantize(x, 0.02, dtype="int8"), expected)
        exactquant.set_threads(0)

    def test_calls_at_once(self):
        x, results = ordinary(1 << 18), [None] * 8
        expected = codes_of(x, F32(0.02), 0, numpy.int8)

        def compute(i: int) -> None:
            for _ in range(20):
                results[i] = exactquant.quantize(x, 0.02, dtype="int8")

        threads = [threading.Thread(target=compute, args=(i,)) for i in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for each in results:
            numpy.testing.assert_array_equal(each, expected)

    def test_a_child_of_fork_has_threads_of_its_own(self):
        exactquant.set_threads(4)
        x = ordinary(1 << 20)
        expected = exactquant.quantize(x, 0.02, dtype="int8")
        child = os.fork()
        if child == 0:
            os._exit(0 if (exactquant.quantize(x, 0.02, dtype="int8") == expected).all() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        exactquant.set_threads(0)


def load_tests(loader, tests, pattern):
    for name in ("exactquant", *(f"exactquant.{part}" for part in ("formats", "gguf", "layouts", "measures", "packing", "verification"))):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    for function in (exactquant.quantize, exactquant.dequantize, exactquant.quantize_dynamic, exactquant.presets, exactquant.set_threads, exactquant.get_threads):  # of the module, where doctest looks not
        examples = doctest.DocTestParser().get_doctest(function.__doc__, {}, function.__name__, None, None)
        assert examples.examples, function
        tests.addTest(doctest.DocTestCase(examples))
    return tests


if __name__ == "__main__":
    unittest.main()
