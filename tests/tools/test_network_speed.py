"""scripts/compare-onnxruntime --networks writes its tables from fictitious figures, and keeps them in a file."""

import pathlib
import tempfile
import unittest

from onnx_speed.networks.duration import expected_minutes
from onnx_speed.networks.page import tables
from onnx_speed.networks.result import (CLAIMED, CNN, FLOAT, FLOAT_MODEL, FUSED, INT8, ONEDNN, PLAIN, PROVIDER, RUNTIME, STATIC,
                                        TRANSFORMER, UINT8, Convolution, NodeCost, Opened, Results, Spent, Timed)  # fmt: skip


def timed(variant=INT8, threads=1, runtime=(4e-3,), provider=(1e-3,), network="net", kind=CNN, float_model=(2e-3,)):
    times = {} if variant == FLOAT else {FLOAT_MODEL: list(float_model)}
    times |= {RUNTIME: list(runtime), PROVIDER: list(provider)}
    return Timed(network, kind, variant, threads, times, 0.00123)


def results(*some):
    result = Results()
    for one in some:
        result.add(one)
    return result


def rows(start, *some):
    """The cells of the rows below the header that begins with `start`."""
    text = tables(results(*some)).split("| " + start, 1)[1]
    lines = text.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def goal(text, *some):
    """What is asked for, what was measured, and the outcome."""
    return next(row for row in rows("one thread | goal", *some) if row[0] == text)[1:]


class Latency(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_of_the_rounds(self):
        # 8, 2 and 3 times as fast as ONNX Runtime, and 2, 1 and 4 times as fast as the float model.
        one = timed(runtime=(8e-3, 2e-3, 6e-3), provider=(1e-3, 1e-3, 2e-3), float_model=(2e-3, 1e-3, 8e-3))
        expected = ["net", "int8", "2.00", "6.00", "1.00", "3.0 (2.0 to 8.0)", "2.0 (1.0 to 4.0)", "0.1 %"]
        self.assertEqual(rows("one thread, ms", one), [expected])

    def test_the_float_model_has_none_beside_it(self):
        self.assertEqual(rows("one thread, ms", timed(FLOAT))[0][2:7], ["", "4.00", "1.00", "4.0 (4.0 to 4.0)", ""])

    def test_a_missed_goal_is_bold_on_one_thread(self):
        some = timed(provider=(2.5e-3,)), timed(threads=2, provider=(2.5e-3,))
        self.assertEqual(rows("one thread, ms", *some)[0][5:7], ["**1.6 (1.6 to 1.6)**", "**0.8 (0.8 to 0.8)**"])
        self.assertEqual(rows("2 threads, ms", *some)[0][5:7], ["1.6 (1.6 to 1.6)", "0.8 (0.8 to 0.8)"])

    def test_a_static_model_may_be_slower_than_its_float_model(self):
        self.assertEqual(rows("one thread, ms", timed(STATIC, provider=(4e-3,)))[0][5:7], ["1.0 (1.0 to 1.0)", "0.5 (0.5 to 0.5)"])


class Goals(unittest.TestCase):
    def test_of_dynamic_cnns(self):
        text, some = "dynamic CNNs, times ONNX Runtime", (timed(), timed(network="other"))
        self.assertEqual(goal(text, *some), ["3", "4.00 (4.00 to 4.00)", "met"])
        slow = timed(UINT8, provider=(2e-3,)), timed(provider=(2.5e-3,), network="slow"), timed(UINT8, provider=(4e-3,), network="slow")
        self.assertEqual(goal(text, *some, *slow), ["3", "2.00 (1.00 to 4.00)", "**missed** by net: uint8 2.00; slow: int8 1.60, uint8 1.00"])
        self.assertEqual(goal("dynamic CNNs, times their float model", slow[1]), ["1", "0.80 (0.80 to 0.80)", "**missed** by slow: int8 0.80"])

    def test_of_the_other_models(self):
        for text, least, variant, kind in (("dynamic transformers", "1.1", INT8, TRANSFORMER), ("static models", "0.98", STATIC, CNN),
                                           ("float models", "0.98", FLOAT, TRANSFORMER)):  # fmt: skip
            for provider, outcome in ((4e-3 / 1.11, "met"), (4e-3 / 0.97, f"**missed** by net: {variant} 0.97")):
                found = goal(text + ", times ONNX Runtime", timed(variant, kind=kind, provider=(provider,)))
                self.assertEqual((found[0], found[2]), (least, outcome))

    def test_only_of_one_thread(self):
        self.assertNotIn("goal", tables(results(timed(threads=2))))

    def test_of_claimed_layers(self):
        some = Spent("a", INT8, 3, 4, {PROVIDER: 1.0}, 6.0, 1.0), Spent("b", UINT8, 3, 4, {PROVIDER: 1.0}, 4.0, 1.0)
        self.assertEqual(goal("claimed layers, times the nodes they replace", *some), ["5", "5.00 (4.00 to 6.00)", "**missed** by b: uint8 4.00"])

    def test_of_a_node(self):
        text = "the smallest claimed layer over its nodes in ONNX Runtime, ns"
        for claimed, outcome in (([1.298e-6, 9e-6, 1e-6], ["at most 300", "298", "met"]), ([1.302e-6], ["at most 300", "302", "**missed**"])):
            some = NodeCost(CLAIMED, claimed), NodeCost(FUSED, [1e-6]), NodeCost(PLAIN, [2e-7])
            self.assertEqual(goal(text, *some), outcome)


class Tables(unittest.TestCase):
    def test_what_time_is_left(self):
        one = Spent("net", INT8, 61, 62, {"Add": 0.02, PROVIDER: 0.5, "Mul": 0.3, "Relu": 0.01, "Resize": 0.17}, 3.0, 0.5)
        expected = ["net", "int8", "61 of 62", "50 %", "Mul 30 %, Resize 17 %, Add 2 %", "6.0"]
        self.assertEqual(rows("one thread | weights", one), [expected])
        nothing = Spent("net", INT8, 0, 2, {"Add": 1.0}, 0.0, 0.0)
        self.assertEqual(rows("one thread | weights", nothing), [["net", "int8", "0 of 2", "0 %", "Add 100 %", ""]])

    def test_memory_and_creation(self):
        some = Opened("net", INT8, RUNTIME, 0.01, 2**20), Opened("net", INT8, PROVIDER, 0.0234, 3 * 2**19)
        self.assertEqual(rows("a session", *some), [["net", "int8", "10.0", "23.4", "1.00", "1.50"]])

    def test_nodes(self):
        some = NodeCost(CLAIMED, [1e-6, 3e-6, 2e-6]), NodeCost(PLAIN, [2e-7])
        found = rows("one thread | ns", *some, NodeCost(FUSED, [1e-6]))
        self.assertEqual([row[1] for row in found], ["2000 (1000 to 3000)", "200 (200 to 200)", "1000 (1000 to 1000)"])

    def test_convolutions(self):
        some = Convolution("3 x 3", 10**7, {RUNTIME: [9e-3], PROVIDER: [3e-4], ONEDNN: [2e-4]}), Convolution("product", 10**8, {ONEDNN: [1e-3]})
        expected = [["3 x 3", "9000", "300", "200", "50.0", "50 %"], ["product", "", "", "1000", "100", "100 %"]]
        self.assertEqual(rows("one processor", *some), expected)

    def test_no_table_of_what_was_not_measured(self):
        self.assertEqual(tables(results()), "")


class Kept(unittest.TestCase):
    def test_a_file_has_all_figures(self):
        some = (timed(), timed(FLOAT, 2, kind=TRANSFORMER), Opened("net", INT8, RUNTIME, 0.5, 7), Spent("net", INT8, 1, 2, {"Add": 0.5}, 3.0, 4.0),
                NodeCost(CLAIMED, [1.0]), Convolution("3 x 3", 9, {ONEDNN: [1.0]}))  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "results.json")
            self.assertEqual(tables(Results.load(path)), "")  # there is none yet
            results(*some).save(path)
            loaded = Results.load(path)
        for one in some:
            self.assertEqual([other for other in loaded.all(type(one)) if other.key == one.key], [one])

    def test_a_later_figure_replaces_an_earlier_one(self):
        self.assertEqual(results(timed(), timed(provider=(9.0,))).all(Timed), [timed(provider=(9.0,))])


class Duration(unittest.TestCase):
    def test_expected_minutes(self):
        # 30 s for all and 15 s for a network. 14 sessions have 6 turns of 0.1 s on each of two numbers of threads.
        self.assertAlmostEqual(expected_minutes([0.0], [1, 2], 5, 0.1), (30 + 15 + 14 * 6 * 0.1 * 2) / 60)
        # A run of 3 s: 20 of them, and on one thread 2 turns of 3 s in 3 sessions and of 0.6 s in 11.
        self.assertAlmostEqual(expected_minutes([3.0], [1], 1, 0.1), (30 + 15 + 60 + 2 * (3 * 3 + 11 * 0.6)) / 60)


if __name__ == "__main__":
    unittest.main()
