"""scripts/compare-onnxruntime --weight-only: its tables from fictitious figures."""

import unittest

from onnx_speed.weight_only.page import tables
from onnx_speed.weight_only.result import FLOAT, PROVIDER, RUNTIME, Measured


def measured(weights="int8 per column", rows=1, times=((3e-3, 8e-3, 4e-3), (6e-3,) * 3, (1e-3, 1e-3, 2e-3)), mib=(100, 142, 39), threads=1, claimed=4):
    """By default the provider is 3, 8 and 2 times as fast as float, and 6, 6 and 3 times as fast as the nodes."""
    of = dict(zip((FLOAT, RUNTIME, PROVIDER), map(list, times), strict=True))
    turns = [{"rows": rows, "times": of, "least": {name: min(some) for name, some in of.items()}}]
    return Measured("Gemm, 8 x 8", weights, threads, claimed, turns, dict(zip(of, mib, strict=True)))


def cells(*some):
    """Of the first row of times, and of memory."""
    lines = tables(list(some)).splitlines()
    memory = next(i for i, line in enumerate(lines) if line.startswith("| resident"))
    return [[cell.strip() for cell in lines[i].split("|")[1:-1]] for i in (2, memory + 2)]


def times_float(ratio, weights, rows):
    return cells(measured(weights, rows, ([ratio * 1e-3], [1e-3], [1e-3])))[0][7]


class Tables(unittest.TestCase):
    def test_cells(self):
        times, memory = cells(measured())
        self.assertEqual(times, ["Gemm, 8 x 8", "int8 per column", "1", "4.00 (3.00)", "6.00 (6.00)", "1.00 (1.00)", "3.00", "3, met", "6.00"])
        self.assertEqual(memory, ["Gemm, 8 x 8", "int8 per column", "100", "142", "39.0", "0.39", "0.4, met"])

    def test_slower_than_the_nodes_is_bold(self):
        self.assertEqual(cells(measured(times=([1], [0.994], [1])))[0][8], "**0.99**")
        self.assertEqual(cells(measured(times=([1], [0.996], [1])))[0][8], "1.00")

    def test_what_is_left(self):
        self.assertEqual(cells(measured(claimed=0))[0][8], "6.00, left")

    def test_goals(self):
        for weights in ("int8 per tensor", "uint8 per column, zero points"):
            for rows, wanted in ((1, 3), (4, 1.5), (8, 1.1), (16, 0.5), (128, 0.5)):
                self.assertEqual(times_float(wanted * 1.01, weights, rows), f"{wanted:g}, met")
                self.assertEqual(times_float(wanted * 0.99, weights, rows), f"{wanted:g}, **missed**")
        int4, float8 = "int4 in blocks of 32", "float8e4m3fn per column"
        for weights, rows, said in ((int4, 1, "3, **missed**"), (int4, 4, ""), (int4, 16, "0.5, met"), (float8, 1, ""), (float8, 128, "0.5, met")):
            self.assertEqual(times_float(1, weights, rows), said)

    def test_goals_of_memory(self):
        self.assertEqual(cells(measured(mib=(100, 100, 41)))[1][5:], ["0.41", "0.4, **missed**"])
        self.assertEqual(cells(measured("int4 in blocks of 32", mib=(100, 100, 31)))[1][5:], ["0.31", "0.3, **missed**"])
        self.assertEqual(cells(measured("int4 in blocks of 32", mib=(100, 100, 30)))[1][5:], ["0.30", "0.3, met"])
        self.assertEqual(cells(measured("float8e4m3fn per column"))[1][6], "")

    def test_a_table_for_each_number_of_threads_and_one_of_memory(self):
        lines = tables([measured(), measured(threads=2)]).splitlines()
        self.assertEqual([line.split("|")[1].strip() for line in lines if "of float" in line or "times float" in line],
                         ["one thread, ms (least)", "2 threads, ms (least)", "resident, MiB"])  # fmt: skip
        self.assertEqual(sum("| 142 |" in line for line in lines), 1)


if __name__ == "__main__":
    unittest.main()
