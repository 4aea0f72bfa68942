"""scripts/compare-onnxruntime --layers: its list of layers, and its tables from fictitious figures."""

import unittest

from onnx_speed.layers.page import tables
from onnx_speed.layers.result import Timed
from onnx_speed.layers.shapes import SHAPES, Shape


def timed(runtime=(2e-6,), provider=(1e-6,), kind="stems", shape="x by w", x="float", weights="int8", threads=1, claimed=True):
    return Timed(kind, shape, x, weights, threads, list(runtime), list(provider), 0.5e-6, 0.25e-6, claimed)


def rows(start, *some):
    """The cells of the rows below the header that begins with `start`."""
    text = tables(list(some)).split("| " + start, 1)[1]
    lines = text.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


class Shapes(unittest.TestCase):
    def test_of_a_convolution(self):
        one = Shape.of("1x32x55x57 by 64x8x3x3, stride 2")
        self.assertEqual(one, Shape((1, 32, 55, 57), (64, 8, 3, 3), 2))
        self.assertEqual((one.is_product, one.groups, one.kernel, one.channels), (False, 4, 3, 64))
        self.assertEqual(one.name, "1x32x55x57 by 64x8x3x3, stride 2, 4 groups")
        self.assertEqual(one.products(), 64 * 8 * 9 * 28 * 29)

    def test_of_a_product(self):
        one = Shape.of("5x64 by 64x10")
        self.assertEqual((one.is_product, one.groups, one.channels, one.name, one.products()), (True, 1, 10, "5x64 by 64x10", 5 * 64 * 10))

    def test_of_the_list(self):
        shapes = [shape for some in SHAPES.values() for shape in some]
        self.assertEqual(len(set(shapes)), len(shapes))
        for shape in shapes:
            with self.subTest(shape=shape.name):
                if shape.is_product:
                    self.assertEqual(shape.x[1], shape.w[0])
                else:
                    self.assertEqual((shape.x[1] % shape.w[1], shape.w[0] % shape.groups, shape.w[2]), (0, 0, shape.w[3]))


class Tables(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_of_the_turns(self):
        # 8, 2 and 3 times as fast.
        one = timed(runtime=(8e-6, 2e-6, 6e-6), provider=(1e-6, 1e-6, 2e-6))
        self.assertEqual(rows("stems, one thread", one), [["x by w", "float", "int8", "6.00 (0.50)", "1.00 (0.25)", "3.00"]])

    def test_slower_ones_are_bold(self):
        for runtime, text in ((0.966e-6, "0.97"), (0.964e-6, "**0.96**")):
            self.assertEqual(rows("stems, one thread", timed((runtime,)))[0][5], text)

    def test_what_is_left_to_onnx_runtime(self):
        self.assertEqual(rows("stems, one thread", timed(claimed=False))[0][5], "2.00, left")

    def test_a_table_for_each_kind_and_number_of_threads(self):
        text = tables([timed(), timed(kind="others"), timed(x="uint8"), timed(threads=2)])
        heads = [line.split("|")[1].strip() for line in text.splitlines() if "weights" in line]
        self.assertEqual(heads, ["stems, one thread, us (least)", "others, one thread, us (least)", "stems, 2 threads, us (least)"])

    def test_the_summary_counts_and_averages(self):
        some = (timed((4e-6,)), timed((1e-6,)), timed((0.98e-6,), weights="uint8"), timed((0.5e-6,), kind="others", claimed=False),
                timed((3e-6,), kind="others", x="uint8"))  # fmt: skip
        expected = [["stems", "float", "3", "0", "1", "0", "1.00", "2.00", "0.98", "0.98"],
                    ["others", "float", "1", "1", "1", "1", "**0.50**", "**0.50**", "", ""],
                    ["others", "uint8", "1", "0", "0", "0", "3.00", "3.00", "", ""],
                    ["all", "float", "4", "1", "2", "1", "**0.50**", "1.26", "0.98", "0.98"],
                    ["all", "uint8", "1", "0", "0", "0", "3.00", "3.00", "", ""]]  # fmt: skip
        self.assertEqual(rows("one thread", *some), expected)


if __name__ == "__main__":
    unittest.main()
