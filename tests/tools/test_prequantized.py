"""scripts/prequantized prints its tables from fictitious figures."""

import unittest

from prequantized import page
from prequantized.result import Differences, Outcome, Timing, Variant

NONE = Differences(0, 57600, 0)


def cells(text, row=2):
    return [cell.strip() for cell in text.splitlines()[row].strip("|").split("|")]


class Accuracies(unittest.TestCase):
    def test_a_drop_is_in_points(self):
        o = Outcome("MLP", "Tanh", Variant("2mul", "fp16"), 0.985, 0.98, 0, 0, 0, NONE)
        self.assertEqual(cells(page.accuracies([o])), ["MLP", "Tanh", "2mul, fp16", "98.50%", "98.00%", "0.50", "equal", "all 57600 alike"])

    def test_relu_has_no_activation_to_name(self):
        o = Outcome("CNN", "Relu", Variant("1mul", "int8"), 0.97, 0.98, 0, 0, 0, NONE)
        self.assertEqual(cells(page.accuracies([o]))[2:6], ["1mul", "97.00%", "98.00%", "-1.00"])

    def test_scores_that_differ_are_counted(self):
        o = Outcome("MLP", "Relu", Variant("1mul", "int8"), 0.97, 0.97, 3, 0, 3, NONE)
        self.assertEqual(cells(page.accuracies([o]))[6], "**3** differ fused, **0** node by node")

    def test_what_one_session_rounds_otherwise_is_said(self):
        o = Outcome("MLP", "Tanh", Variant("1mul", "fp16"), 0.97, 0.97, 0, 0, 12, NONE)
        self.assertEqual(cells(page.accuracies([o]))[6], "equal node by node; 12 differ in one session")


    def test_rescalings_by_integers(self):
        o = Outcome("MLP", "Relu", Variant("1mul", "int8"), 0.97, 0.97, 0, 0, 0, Differences(1, 100, 1) + Differences(2, 200, 2))
        self.assertEqual(cells(page.accuracies([o]))[7], "3 of 300 differ, by at most 2")


class Speeds(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_of_the_rounds(self):
        # Rounds: 2, 8 and 3 times as fast; the median of their times is 300 us.
        t = Timing("MLP", 1, 1.5, dynquant_seconds=[1e-4, 1e-4, 1e-4], peer_seconds=[2e-4, 8e-4, 3e-4])
        self.assertEqual(cells(page.speeds([t])), ["MLP", "300", "100", "", "3.0 (2.0 to 8.0)", "1.5, met", ""])

    def test_goals_and_the_limit(self):
        t = Timing("requantize", 1, 3, dynquant_seconds=[1e-5], peer_seconds=[2e-5], limit=[9e-6])
        self.assertEqual(cells(page.speeds([t]))[1:], ["20.0", "10.0", "9.0", "2.0 (2.0 to 2.0)", "3, **missed**", "0.90"])

    def test_one_table_for_each_number_of_threads(self):
        timings = [Timing("MLP", threads, 1.5, [1e-6], [1e-6]) for threads in (1, 4)]
        heads = [line for line in page.speeds(timings).splitlines() if "us |" in line]
        self.assertEqual([head.split(",")[0] for head in heads], ["| one thread", "| 4 threads"])


if __name__ == "__main__":
    unittest.main()
