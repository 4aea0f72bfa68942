"""Rescaling by integers in scripts/measure digits gives values worked out by hand."""

import unittest

import numpy
from measure.models.integer import quant_scale_and_shift, rescaled, shifted


class Integers(unittest.TestCase):
    def test_a_multiplier_is_an_integer_and_a_shift(self):
        self.assertEqual(quant_scale_and_shift(0.25), (1, 2))
        self.assertEqual(quant_scale_and_shift(11184810 * 2.0**-25), (5592405, 24))
        self.assertEqual(quant_scale_and_shift(3.0), (3, 0))

    def test_a_shift_rounds_half_to_even(self):
        eighths = numpy.array([-20, -13, -12, -11, -4, 3, 4, 5, 12, 20, 21], numpy.int64)  # 12 eighths: 1.5
        self.assertEqual(shifted(eighths, 3).tolist(), [-2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 3])
        self.assertEqual(shifted(eighths, 0).tolist(), eighths.tolist())
        self.assertEqual(shifted(numpy.array([2**54, -(2**54)]), 62).tolist(), [0, 0])

    def test_results_saturate(self):
        sums = numpy.array([-1000, -6, 6, 10, 1000], numpy.int32)
        self.assertEqual(rescaled(sums, [3, 0.25], False, numpy.int8).tolist(), [-128, -4, 4, 8, 127])
        self.assertEqual(rescaled(sums, [3, 0.25], True, numpy.uint8).tolist(), [0, 0, 4, 8, 255])

    def test_beyond_what_floats_hold(self):
        # 2^24 + 1 is no float: ONNX's operators round it to 2^24, and 0.5 to 0; the integers see more than a half.
        self.assertEqual(rescaled(numpy.array([2**24 + 1], numpy.int32), [2.0**-25], False, numpy.int8).tolist(), [1])


if __name__ == "__main__":
    unittest.main()
