"""exactquant.gguf beside blocks worked out by hand, and the formulas of ggml in NumPy."""

import unittest

import numpy
from exactquant import gguf

F32, F16 = numpy.float32, numpy.float16
RANDOM = numpy.random.default_rng(64)
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def halves(*values: float) -> list[int]:
    return list(numpy.array(values, "<f2").tobytes())


def shared_bytes(codes: numpy.ndarray) -> list[int]:
    """Codes i and i + 16 in a byte."""
    low, high = (codes % 16).astype(int).reshape(2, 16)
    return (low + 16 * high).tolist()


def fifth_bits(codes: numpy.ndarray) -> list[int]:
    return list(sum(int(code) // 16 << i for i, code in enumerate(codes)).to_bytes(4, "little"))


def away_from_zero(v: numpy.ndarray) -> numpy.ndarray:
    return (numpy.sign(v) * numpy.floor(abs(v.astype(float)) + 0.5)).astype(int)


def symmetric(x: numpy.ndarray, offset: int) -> tuple[F32, numpy.ndarray]:
    d = x[abs(x).argmax()] / F32(-offset)
    v = x * (F32(1) / d if d else F32(0)) + F32(offset + 0.5)
    return d, numpy.trunc(v).clip(0, 2 * offset - 1).astype(int)


def from_least(x: numpy.ndarray, most: int) -> tuple[F32, F32, numpy.ndarray]:
    d = (x.max() - x.min()) / F32(most)
    v = (x - x.min()) * (F32(1) / d if d else F32(0)) + F32(0.5)
    return d, x.min(), numpy.trunc(v).clip(0, most).astype(int)


def expected_block(x: numpy.ndarray, name: str) -> list[int]:
    if name in ("Q4_0", "Q5_0"):
        d, codes = symmetric(x, 8 if name == "Q4_0" else 16)
        return halves(d) + (fifth_bits(codes) if name == "Q5_0" else []) + shared_bytes(codes)
    if name in ("Q4_1", "Q5_1"):
        d, least, codes = from_least(x, 15 if name == "Q4_1" else 31)
        return halves(d, least) + (fifth_bits(codes) if name == "Q5_1" else []) + shared_bytes(codes)
    if name in ("Q8_0", "Q8_1"):
        d = abs(x).max() / F32(127)
        codes = away_from_zero(x * (F32(1) / d if d else F32(0)))
        return halves(d) + (halves(F32(codes.sum()) * d) if name == "Q8_1" else []) + (codes % 256).tolist()
    most = abs(x).max()
    e = max(int(numpy.floor(numpy.log2(most.astype(float)))) + 125, 0) if most else 0
    codes = abs(abs(x.astype(float))[:, None] / 2.0 ** (e - 127) - E2M1).argmin(1)  # of two the first, which is the smaller
    return [e, *shared_bytes(codes + 8 * ((x < 0) & (codes > 0)))]


QUANTIZED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "MXFP4")


class ByHand(unittest.TestCase):
    def check(self, x: list, name: str, expected: list[int], back: list | None = None):
        x = numpy.array(x, F32)
        self.assertEqual(gguf.quantize(x, name).tolist(), expected)
        self.assertEqual(gguf.dequantize(numpy.array(expected, numpy.uint8), name).tolist(), [float(v) for v in (x if back is None else back)])

    def test_q4_0(self):
        self.check([-8, *range(-7, 8), *range(-8, 8)], "Q4_0", halves(1) + [17 * i for i in range(16)])

    def test_q5_0(self):
        self.check(range(-16, 16), "Q5_0", halves(1) + [0, 0, 255, 255] + [17 * i for i in range(16)])

    def test_q4_1(self):
        self.check([*range(16), *range(16)], "Q4_1", halves(1, 0) + [17 * i for i in range(16)])

    def test_q5_1(self):
        self.check(range(3, 35), "Q5_1", halves(1, 3) + [0, 0, 255, 255] + [17 * i for i in range(16)])

    def test_q8_halves_away_from_zero(self):
        x = [127, -127, 0.5, -0.5, 2.5, -2.5, 0.25, -3.75] + [0] * 24
        codes = [127, 129, 1, 255, 3, 253, 0, 252] + [0] * 24
        back = [127, -127, 1, -1, 3, -3, 0, -4] + [0] * 24
        self.check(x, "Q8_0", halves(1) + codes, back)
        self.check(x, "Q8_1", halves(1, -4) + codes, back)

    def test_mxfp4(self):
        # Half-way points take the smaller code; 5 is between 4 and 6.
        x = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, -0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 7, -5, -0.25] + [0] * 6
        codes = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 0, 0, 1, 2, 3, 4, 5, 6, 7, 14, 0] + [0] * 6
        back = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 0, 0, 0.5, 1, 1.5, 2, 3, 4, 6, -4, 0] + [0] * 6
        self.check(x, "MXFP4", [127, *shared_bytes(numpy.array(codes))], back)

    def test_nvfp4(self):
        # Scales 1, 2 ** -6 * 1.5, 2 ** -9 and the byte that is 0.
        codes = numpy.arange(16)
        data = [0x38, 0x0C, 0x01, 0x7F] + 4 * (codes[:8] + 16 * codes[8:]).tolist()
        values = numpy.concatenate([E2M1, -E2M1])
        expected = numpy.concatenate([values * scale for scale in (1, 1.5 / 64, 1 / 512, 0)])
        numpy.testing.assert_array_equal(gguf.dequantize(numpy.array(data, numpy.uint8), "NVFP4"), expected)

    def test_scales_that_overflow(self):
        """Their codes are 0, as gguf's are."""
        def blocks(*values: float, name: str) -> list[int]:
            return gguf.quantize(numpy.resize(numpy.array(values, F32), 32), name).tolist()

        self.assertEqual(blocks(1.8e-37, name="Q8_0"), halves(0) + [0] * 32)  # 1 / d
        self.assertEqual(blocks(2e-38, name="Q5_0"), halves(-0.0) + [0] * 20)
        self.assertEqual(blocks(2e-38, name="Q4_0"), halves(-0.0) + [0] * 16)
        self.assertEqual(blocks(3e38, -3e38, name="Q5_1"), halves(numpy.inf, -numpy.inf) + [0] * 20)  # d
        self.assertEqual(blocks(0, name="Q4_0"), halves(-0.0) + [0x88] * 16)

    def test_bf16(self):
        x = numpy.array([1, 1 + 2**-8, 1 + 3 * 2**-8, -2.5, numpy.inf], F32)
        blocks = gguf.quantize(x, "BF16")
        self.assertEqual(blocks.view("<u2").tolist(), [0x3F80, 0x3F80, 0x3F82, 0xC020, 0x7F80])
        self.assertEqual(gguf.dequantize(blocks, "BF16").tolist(), [1, 1, 1 + 2**-6, -2.5, numpy.inf])
        self.assertEqual(gguf.quantize(numpy.array([numpy.nan], F32), "BF16").view("<u2")[0] & 0x7FC0, 0x7FC0)


class ByFormula(unittest.TestCase):
    def test_random_blocks(self):
        for scale in (1, 1e-6, 300):
            x = (RANDOM.standard_normal((40, 5, 96)) * scale).astype(F32)
            x[0] = 0
            x[1, :, :32] = scale
            x[2, :, 32:] = -scale / 3
            x[3] = numpy.round(x[3] / scale * 8) / 8
            for name in QUANTIZED:
                with self.subTest(name=name, scale=scale):
                    blocks = gguf.quantize(x, name)
                    expected = [expected_block(b, name) for b in x.reshape(-1, 32)]
                    numpy.testing.assert_array_equal(blocks.reshape(len(expected), -1), expected)
                    for threads in (1, 3):
                        numpy.testing.assert_array_equal(gguf.quantize(x, name, threads=threads), blocks)

    def test_dequantized_blocks(self):
        for name in QUANTIZED:
            with self.subTest(name=name):
                x = RANDOM.standard_normal((64, 32)).astype(F32)
                blocks = gguf.quantize(x, name)
                back = gguf.dequantize(blocks, name)
                # Of a code one is wrong by half a step at most, and float16 scales add a rounding each.
                step = {"Q4_0": 1 / 8, "Q4_1": 2 / 15, "Q5_0": 1 / 16, "Q5_1": 2 / 31, "Q8_0": 1 / 127, "Q8_1": 1 / 127, "MXFP4": 1 / 2}[name]
                self.assertLessEqual((abs(back - x) / abs(x).max(1, keepdims=True)).max(), step * 1.01)
                numpy.testing.assert_array_equal(gguf.dequantize(blocks.view(numpy.int8), name, threads=2), back)

    def test_float16_and_float32(self):
        x = RANDOM.standard_normal((2, 7)).astype(F32)
        numpy.testing.assert_array_equal(gguf.quantize(x, "F16"), x.astype(F16))
        numpy.testing.assert_array_equal(gguf.dequantize(x.astype(F16).view(numpy.uint8), "F16"), x.astype(F16).astype(F32))
        self.assertIs(gguf.quantize(x, "F32"), x)


class Refusals(unittest.TestCase):
    def check(self, kind: type, message: str, f, *args: object, **named: object):
        with self.assertRaisesRegex(kind, message):
            f(*args, **named)

    def test_all(self):
        x = numpy.zeros((2, 64), F32)
        blocks = gguf.quantize(x, "Q8_0")
        self.check(NotImplementedError, "qtype: expected one of Q4_0, .*F16, given Q4_K", gguf.quantize, x, "Q4_K")
        self.check(NotImplementedError, "qtype: expected one of .*, given NVFP4", gguf.quantize, x, "NVFP4")
        self.check(TypeError, "qtype: expected a name such as 'Q8_0', .* given int", gguf.quantize, x, 8)
        self.check(TypeError, "data: expected floats, given int64", gguf.quantize, numpy.zeros(32, numpy.int64), "Q8_0")
        self.check(ValueError, r"data: expected a last dimension of 32 elements times any number, given shape \(2, 33\)", gguf.quantize, x[:, :33], "Q8_0")
        self.check(ValueError, r"given shape \(\)", gguf.quantize, F32(1), "Q8_0")
        self.check(ValueError, r"data: expected a last dimension of 34 bytes times any number, given shape \(2, 64\)", gguf.dequantize, x.astype(numpy.uint8), "Q8_0")
        self.check(ValueError, r"data: expected a last dimension of 2 bytes times any number, given shape \(7,\)", gguf.dequantize, numpy.zeros(7, numpy.uint8), "F16")
        self.check(TypeError, "data: expected bytes, given object", gguf.dequantize, numpy.array([None]), "F32")
        self.check(TypeError, "data: expected floats, given object", gguf.quantize, numpy.array([None] * 32), "Q8_0")
        for f in (gguf.quantize, gguf.dequantize):
            self.check(ValueError, "threads: expected 0 or more, given -3", f, x, "F32", threads=-3)
            self.check(TypeError, "threads: expected an integer, given float", f, x, "F32", threads=1.5)
        self.check(ValueError, "given a scalar", gguf.dequantize, numpy.uint8(1), "Q8_0")
        self.check(TypeError, "out: expected an array of uint8, given int8", gguf.quantize, x, "Q8_0", out=blocks.view(numpy.int8))
        self.check(ValueError, r"out: expected a dense, writable array of shape \(2, 68\), given shape \(2, 34\)", gguf.quantize, x, "Q8_0", out=blocks[:, :34].copy())
        self.check(ValueError, "not dense", gguf.quantize, x, "Q8_0", out=numpy.zeros((2, 136), numpy.uint8)[:, ::2])
        blocks.flags.writeable = False
        self.check(ValueError, "read-only", gguf.quantize, x, "Q8_0", out=blocks)
        memory = numpy.zeros(128, F32)
        self.check(ValueError, "out: expected memory apart from data", gguf.quantize, memory[:32], "Q8_0", out=memory.view(numpy.uint8)[64:98])

    def test_empty(self):
        self.assertEqual(gguf.quantize(numpy.zeros((0, 64), F32), "Q4_0").shape, (0, 36))
        self.assertEqual(gguf.dequantize(numpy.zeros((3, 0), numpy.uint8), "Q4_0").shape, (3, 0))


def half(b: numpy.ndarray, at: int) -> F32:
    return F32(b[at : at + 2].view("<f2")[0])


def scale_and_minimum(b: numpy.ndarray, g: int) -> tuple[int, int]:
    """Of group g of Q4_K and Q5_K: six bits each."""
    p = b[4:16].astype(int)
    if g < 4:
        return p[g] & 63, p[4 + g] & 63
    return p[4 + g] & 15 | p[g - 4] >> 6 << 4, p[4 + g] >> 4 | p[g] >> 6 << 4


def ternary_place(e: int) -> tuple[int, int]:
    """Byte and digit of element e of TQ1_0: five of 32 elements each, five of 16, four of 4."""
    if e < 160:
        return e % 32, e // 32
    return (32 + (e - 160) % 16, (e - 160) // 16) if e < 240 else (48 + e % 4, (e - 240) // 4)


def element_of(name: str, b: numpy.ndarray, e: int) -> F32:
    """Element e of a block, by where ggml keeps its parts."""
    c, g16, g32 = b.astype(int), e // 16, e // 32
    byte = e // 128 * 32 + e % 32  # of codes of two bits, four groups of 32 in 32 bytes
    if name == "Q2_K":
        return half(b, 80) * F32(c[g16] & 15) * F32(c[16 + byte] >> 2 * (g32 % 4) & 3) - half(b, 82) * F32(c[g16] >> 4)
    if name == "Q3_K":
        low = c[96 + g16] & 15 if g16 < 8 else c[88 + g16] >> 4
        scale = (low | (c[104 + g16 % 4] >> 2 * (g16 // 4) & 3) << 4) - 32
        code = (c[32 + byte] >> 2 * (g32 % 4) & 3) - (0 if c[e % 32] >> g32 & 1 else 4)
        return half(b, 108) * F32(scale) * F32(code)
    if name in ("Q4_K", "Q5_K"):
        scale, minimum = scale_and_minimum(b, g32)
        code = c[(16 if name == "Q4_K" else 48) + e // 64 * 32 + e % 32] >> 4 * (g32 % 2) & 15
        code |= (c[16 + e % 32] >> g32 & 1) << 4 if name == "Q5_K" else 0
        return half(b, 0) * F32(scale) * F32(code) - half(b, 2) * F32(minimum)
    if name == "Q6_K":
        low = c[e // 128 * 64 + e % 64] >> 4 * (e % 128 // 64) & 15
        high = c[128 + byte] >> 2 * (g32 % 4) & 3
        return half(b, 208) * F32(b.view(numpy.int8)[192 + g16]) * F32((low | high << 4) - 32)
    if name == "TQ2_0":
        return half(b, 64) * F32((c[byte] >> 2 * (g32 % 4) & 3) - 1)
    if name == "TQ1_0":
        at, digit = ternary_place(e)
        return half(b, 52) * F32((c[at] * 3**digit % 256 * 3 >> 8) - 1)
    table = -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
    first = 2 if name == "IQ4_NL" else 8 + g32 * 16
    value = F32(table[c[first + e % 16] >> 4 * (e % 32 // 16) & 15])
    if name == "IQ4_NL":
        return half(b, 0) * value
    scale = (c[4 + g32 // 2] >> 4 * (g32 % 2) & 15) | ((c[2] | c[3] << 8) >> 2 * g32 & 3) << 4
    return half(b, 0) * F32(scale - 32) * value


CODED = {"Q2_K": (256, 84, (80, 82)), "Q3_K": (256, 110, (108,)), "Q4_K": (256, 144, (0, 2)), "Q5_K": (256, 176, (0, 2)), "Q6_K": (256, 210, (208,)),
         "TQ1_0": (256, 54, (52,)), "TQ2_0": (256, 66, (64,)), "IQ4_NL": (32, 18, (0,)), "IQ4_XS": (256, 136, (0,))}  # fmt: skip


class CodedScales(unittest.TestCase):
    """elements and bytes of a block, and where its scales of float16 lie."""

    def test_each_element(self):
        for name, (elements, size, halves_at) in CODED.items():
            blocks = RANDOM.integers(0, 256, (5, 3 * size), numpy.uint8)
            each = blocks.reshape(-1, size)
            for at in halves_at:  # finite numbers
                each[:, at : at + 2] = RANDOM.standard_normal((len(each), 1)).astype(F16).view(numpy.uint8)
            y = gguf.dequantize(blocks, name)
            self.assertEqual((y.shape, y.dtype), ((5, 3 * elements), F32))
            expected = [element_of(name, b, e) for b in each for e in range(elements)]
            numpy.testing.assert_array_equal(y.ravel().view(numpy.uint32), numpy.array(expected, F32).view(numpy.uint32), name)

    def test_by_hand(self):
        q4 = numpy.zeros(144, numpy.uint8)
        q4[:16] = halves(2, 0.5) + [3, 0, 0, 0xC1, 5, 0, 0, 0, 0, 0, 0, 0x21]  # group 0: 3 and 5; 7: 1 + 48 and 2
        q4[16], q4[16 + 127] = 0x0F, 0x70
        y = gguf.dequantize(q4, "Q4_K")
        self.assertEqual((y[0], y[1], y[255]), (2 * 3 * 15 - 0.5 * 5, -2.5, 2 * 49 * 7 - 0.5 * 2))
        q6 = numpy.zeros(210, numpy.uint8)
        q6[0], q6[128], q6[192], q6[208:] = 0x05, 0x03, 0xFE, halves(0.25)
        self.assertEqual(gguf.dequantize(q6, "Q6_K")[0], 0.25 * -2 * (5 + 48 - 32))
        iq4 = numpy.zeros(18, numpy.uint8)
        iq4[:3] = [*halves(0.5), 0xF8]
        self.assertEqual(gguf.dequantize(iq4, "IQ4_NL")[[0, 16, 1]].tolist(), [0.5, 56.5, -63.5])

    def test_none_is_made(self):
        with self.assertRaisesRegex(NotImplementedError, "qtype: expected one of Q4_0, .*, given Q4_K"):
            gguf.quantize(numpy.zeros(256, F32), "Q4_K")
        with self.assertRaisesRegex(ValueError, r"data: expected a last dimension of 144 bytes times any number, given shape \(143,\)"):
            gguf.dequantize(numpy.zeros(143, numpy.uint8), "Q4_K")


class Ternary(unittest.TestCase):
    """Codes of -1, 0 and 1."""

    def expected(self, x: numpy.ndarray, name: str) -> list[int]:
        d = abs(x).max()
        by = F32(1) / d if d else F32(0)
        codes = away_from_zero(x * by) + 1 if numpy.isfinite(by) else numpy.ones(256, int)
        if name == "TQ2_0":
            return [sum(int(codes[part * 128 + i * 32 + j]) << 2 * i for i in range(4)) for part in range(2) for j in range(32)] + halves(d)
        numbers = [0] * 52
        for e, code in enumerate(codes):
            at, digit = ternary_place(e)
            numbers[at] += int(code) * 3 ** (4 - digit)
        return [-(-n * 256 // 243) for n in numbers] + halves(d)

    def test_by_hand(self):
        x = numpy.zeros(256, F32)
        x[[0, 32, 64, 96, 128]] = 4, -4, 2, -2, 1.9  # codes 2, 0, 2, 0, 1; a half goes away from 0
        x[[160, 240, 255]] = 4, -4, 4
        tq1, tq2 = gguf.quantize(x, "TQ1_0"), gguf.quantize(x, "TQ2_0")
        one = 121  # 81 + 27 + 9 + 3 + 1: five codes 1
        numbers = [2 * 81 + 2 * 9 + 1] + [one] * 31 + [one + 81] + [one] * 15 + [120 - 81, 120, 120, 120 + 3]
        self.assertEqual(tq1.tolist(), [-(-n * 256 // 243) for n in numbers] + halves(4))
        self.assertEqual((tq2[0], tq2[1], tq2[32], tq2[64:].tolist()), (2 + (2 << 4), 0x55, 0x59, halves(4)))
        back = numpy.zeros(256, F32)
        back[[0, 32, 64, 96, 160, 240, 255]] = 4, -4, 4, -4, 4, -4, 4
        for name, blocks in (("TQ1_0", tq1), ("TQ2_0", tq2)):
            numpy.testing.assert_array_equal(gguf.dequantize(blocks, name), back)

    def test_by_formula(self):
        for scale in (1, 1e-6, 3e4, 2.0**-127, 1e-39, 1e-40):
            x = (RANDOM.standard_normal((12, 512)) * scale).astype(F32)
            x[0], x[1], x[2] = 0, -scale, numpy.where(x[2] < 0, scale / 2, -scale)
            x[3, ::7] = 0
            for name in ("TQ1_0", "TQ2_0"):
                with self.subTest(name=name, scale=scale), numpy.errstate(over="ignore"):
                    expected = [self.expected(b, name) for b in x.reshape(-1, 256)]
                    for threads in (1, 3):
                        numpy.testing.assert_array_equal(gguf.quantize(x, name, threads=threads).reshape(24, -1), expected)


if __name__ == "__main__":
    unittest.main()
