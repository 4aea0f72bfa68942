"""exactquant beside PyTorch and torchao 0.18: their tensors, and the functions with torchao's signatures. `.ci/full oracles` runs it,
as PyTorch takes gigabytes."""

import doctest
import itertools
import unittest

import numpy
import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_mx
from torchao.quantization.quant_primitives import dequantize_affine, quantize_affine

import exactquant
from exactquant import torchao as own

REALS = torch.float32, torch.bfloat16, torch.float16
GRANULARITIES = (((7, 64), (7, 64)), ((7, 64), (1, 64)), ((7, 64), (7, 1)), ((8, 64), (1, 16)), ((8, 64), (4, 16)), ((3, 4, 6), (3, 1, 2)), ((5,), (5,)))


class SameBits(unittest.TestCase):
    def equal(self, a: torch.Tensor, b: torch.Tensor) -> None:
        self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
        self.assertTrue(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))

    def test_affine(self):
        draw = torch.Generator().manual_seed(63)
        kinds = {"zero": (0, 1), "near": (0, 4), "of no code": (-700, 700)}
        for real, (shape, block), output, (kind, (low, high)), limits in itertools.product(
                REALS, GRANULARITIES, (torch.int8, torch.uint8, torch.uint4), kinds.items(), ((None, None), (0, 3))):
            count = [extent // each for extent, each in zip(shape, block)]
            x = (torch.randn(shape, generator=draw) * 40).to(real)
            zero_point = torch.randint(low, high, count, generator=draw, dtype=torch.int32)
            for scale_type in {torch.float32, real}:
                with self.subTest(real=real, scale=scale_type, shape=shape, block=block, output=output, zero_point=kind, limits=limits):
                    scale = (torch.rand(count, generator=draw) + 0.1).to(scale_type)
                    codes = own.quantize_affine(x, block, scale, zero_point, output, *limits)
                    self.equal(codes, quantize_affine(x, block, scale, zero_point, output, *limits))
                    for back in REALS:
                        given = codes, block, scale, zero_point, output, *limits
                        self.equal(own.dequantize_affine(*given, output_dtype=back), dequantize_affine(*given, output_dtype=back))

    def test_ties(self):
        """Quotients by 1 / scale that are ties, next to those by scale."""
        scale, zero_point = torch.tensor([0.1, 0.3, 1 / 3, 7.0]), torch.zeros(4, dtype=torch.int32)
        x = torch.arange(-257, 258).reshape(-1, 1) * 0.5 * scale
        for output in (torch.int8, torch.uint8):
            given = x, (x.shape[0], 1), scale, zero_point, output
            self.equal(own.quantize_affine(*given), quantize_affine(*given))

    def test_parameters_of_any_strides(self):
        x, zero_point = torch.randn(6, 8, generator=torch.Generator().manual_seed(65)), torch.arange(12, dtype=torch.int32).reshape(2, 6).t()
        for scale in (torch.rand(2, 6).t() + 0.1, (torch.rand(12, 2) + 0.1)[:, ::2], torch.ones(1).expand(12)):
            given = (1, 4), scale, zero_point, torch.int8
            codes = own.quantize_affine(x, *given)
            self.equal(codes, quantize_affine(x, *given))
            self.equal(own.dequantize_affine(codes, *given), dequantize_affine(codes, *given))

    def test_fp6_that_fills_no_bytes(self):
        x = torch.randn(3, 10, generator=torch.Generator().manual_seed(66))
        for block in (1, 2, 5, 10):
            for a, b in zip(own.to_mx(x, "fp6_e2m3", block), to_mx(x, "fp6_e2m3", block)):
                self.equal(a, b)

    def test_to_mx(self):
        draw = torch.Generator().manual_seed(64)
        elements = torch.float8_e4m3fn, torch.float8_e5m2, "fp6_e2m3", "fp6_e3m2", torch.float4_e2m1fn_x2
        for real, element, mode, shape, power, swizzled in itertools.product(
                REALS[:2], elements, ScaleCalculationMode, ((4, 64), (2, 128, 96), (200, 256)), (1, 1e-30, 1e30, 0), (False, True)):
            with self.subTest(real=real, element=element, mode=mode, shape=shape, power=power, swizzled=swizzled):
                x = (torch.randn(shape, generator=draw) * power).to(real)
                for a, b in zip(own.to_mx(x, element, 32, mode, swizzled), to_mx(x, element, 32, mode, swizzled)):
                    self.equal(a, b)


class ByHand(unittest.TestCase):
    def test_affine(self):
        x = torch.tensor([[-1.0, 0.25, 1.0, 100.0]])
        codes = own.quantize_affine(x, (1, 4), torch.tensor([0.5]), torch.tensor([3]), torch.int8)
        self.assertEqual(codes.tolist(), [[1, 3, 5, 127]])  # 0.25 / 0.5 is a tie, and becomes 0
        self.assertEqual(own.dequantize_affine(codes, (1, 4), torch.tensor([0.5]), torch.tensor([3]), torch.int8).tolist(), [[-1, 0, 1, 62]])
        self.assertEqual(own.quantize_affine(x, (1, 4), torch.tensor([0.5]), None, torch.uint8).tolist(), [[0, 0, 2, 200]])

    def test_to_mx(self):
        scale, codes = own.to_mx(torch.full((1, 32), 3.0), torch.float8_e4m3fn, 32)
        self.assertEqual((scale.view(torch.uint8).tolist(), codes[0, 0].item()), ([[120]], 384.0))


class Tensors(unittest.TestCase):
    """What the other functions take and give."""

    def test_types_and_places(self):
        x = torch.tensor([[1.0, -2.0], [3.0, 500.0]])
        for real in REALS:
            codes = exactquant.quantize(x.to(real), 1.0, dtype=torch.int8)
            self.assertEqual((codes.dtype, codes.tolist()), (torch.int8, [[1, -2], [3, 127]]))
            back = exactquant.dequantize(codes, 2.0, dtype=real)
            self.assertEqual((back.dtype, back.tolist()), (real, [[2, -4], [6, 254]]))
        narrow = exactquant.quantize(x, 1.0, dtype=torch.float8_e4m3fn)
        self.assertEqual(narrow.dtype, torch.float8_e4m3fn)
        self.assertEqual(exactquant.dequantize(narrow, 1.0)[0].tolist(), [1, -2])

    def test_nothing_is_copied(self):
        x, out = torch.arange(12, dtype=torch.float32).reshape(3, 4), torch.zeros((4, 3), dtype=torch.int8)
        result = exactquant.quantize(x.t(), 1.0, dtype=torch.int8, out=out)
        self.assertIs(result, out)
        self.assertEqual(out.tolist(), x.t().tolist())
        with self.assertRaisesRegex(ValueError, "out"):
            exactquant.quantize(x, 1.0, dtype=torch.int8, out=out)

    def test_a_tensor_of_another_device(self):
        with self.assertRaisesRegex((TypeError, ValueError), "x: expected an array"):
            exactquant.quantize(torch.empty(4, device="meta"), 1.0, dtype="int8")
        with self.assertRaisesRegex(ValueError, "input: expected a tensor in the memory of the CPU, given one on meta"):
            own.quantize_affine(torch.empty(4, device="meta"), (4,), torch.ones(1), None, torch.int8)

    def test_a_tensor_with_a_gradient(self):
        x = torch.ones(4, requires_grad=True)
        self.assertEqual(own.quantize_affine(x, (4,), torch.ones(1), None, torch.int8).tolist(), [1] * 4)


class Refusals(unittest.TestCase):
    def test_affine(self):
        x, one = torch.ones(2, 4), torch.ones(1)
        for message, call in {
            "input: expected a torch.Tensor, given ndarray": lambda: own.quantize_affine(numpy.ones((2, 4)), (2, 4), one, None, torch.int8),
            "input: expected elements of torch.float32, torch.float16, torch.bfloat16, given torch.float64": lambda: own.quantize_affine(x.double(), (2, 4), one, None, torch.int8),
            "output_dtype: expected torch.int8, uint8 or uint1 to uint7, given torch.int32": lambda: own.quantize_affine(x, (2, 4), one, None, torch.int32),
            "quant_min, quant_max: expected integers from 0 to 15, given -1 and 15": lambda: own.quantize_affine(x, (2, 4), one, None, torch.uint4, -1),
            "block_size: expected 2 extents, one for each dim of the tensor, given (4,)": lambda: own.quantize_affine(x, (4,), one, None, torch.int8),
            "block_size[1]: expected a divisor of 4, given 3": lambda: own.quantize_affine(x, (2, 3), one, None, torch.int8),
            "scale: expected elements of torch.float32, torch.float16, torch.bfloat16, given torch.float64": lambda: own.quantize_affine(x, (2, 4), one.double(), None, torch.int8),
            "scale: expected 2 elements, one for each block, given shape (1,)": lambda: own.quantize_affine(x, (1, 4), one, None, torch.int8),
            "zero_point: expected a torch.Tensor, given int": lambda: own.dequantize_affine(x.to(torch.int8), (2, 4), one, 3, torch.int8),
            "input: expected elements of torch.uint8, given torch.int8": lambda: own.dequantize_affine(x.to(torch.int8), (2, 4), one, None, torch.uint8),
            "output_dtype: expected torch.float32, torch.float16, torch.bfloat16, given torch.int8": lambda: own.dequantize_affine(x.to(torch.int8), (2, 4), one, None, torch.int8, output_dtype=torch.int8),
        }.items():  # fmt: skip
            with self.subTest(message), self.assertRaises((TypeError, ValueError)) as caught:
                call()
            self.assertEqual(str(caught.exception), message)

    def test_to_mx(self):
        x = torch.ones(2, 64)
        for message, call in {
            "data_hp: expected elements of torch.float32, torch.bfloat16, given torch.float16": lambda: own.to_mx(x.half(), torch.float8_e5m2, 32),
            "scaling_mode: expected floor, ceil, even or rceil, given round": lambda: own.to_mx(x, torch.float8_e5m2, 32, "round"),
            "block_size: expected a divisor of the last dim, given 48 for shape (2, 64)": lambda: own.to_mx(x, torch.float8_e5m2, 48),
            "data_hp: expected at least two dims, whose scales are swizzled, given shape (64,)": lambda: own.to_mx(x[0], torch.float8_e5m2, 32, "floor", True),
        }.items():  # fmt: skip
            with self.subTest(message), self.assertRaises((TypeError, ValueError)) as caught:
                call()
            self.assertEqual(str(caught.exception), message)
        with self.assertRaisesRegex(ValueError, "elem_dtype: expected one of torch.float8_e4m3fn, .*, given torch.int8"):
            own.to_mx(x, torch.int8, 32)


def load_tests(_: unittest.TestLoader, tests: unittest.TestSuite, __: str | None) -> unittest.TestSuite:
    tests.addTests(doctest.DocTestSuite(own))
    return tests


if __name__ == "__main__":
    unittest.main()
