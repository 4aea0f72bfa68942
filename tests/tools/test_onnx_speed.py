"""scripts/compare-onnxruntime parses its options, and prints its tables from fictitious figures."""

import contextlib
import io
import unittest

from onnx_speed.arguments import parse
from onnx_speed.page import tables
from onnx_speed.result import Result


def result(peer_seconds, dynquant_seconds, key="QuantizeLinear: uint8", threads=1, peer="ONNX Runtime", goal=None):
    return Result(key, threads, 1000, 5000.0, peer, goal, dynquant_seconds, peer_seconds)


def row(r):
    return [cell.strip() for cell in tables([r]).splitlines()[2].strip("|").split("|")]


def mistake(*options):
    """The last line of output."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse(options)
    except SystemExit:
        return said.getvalue().splitlines()[-1].partition("error: argument ")[2]
    return "taken"


class Options(unittest.TestCase):
    def test_numbers(self):
        for option in ("--threads", "--rounds"):
            for text in ("0", "-1", "two", "1.5"):
                self.assertEqual(mistake(option, text), f"{option}: expected a number of 1 or more, given '{text}'")
            self.assertEqual(mistake(option, "2"), "taken")
        self.assertEqual(mistake("--threads", "1", "0"), "--threads: expected a number of 1 or more, given '0'")
        for text in ("0", "-5", "nan", "inf", "long"):
            self.assertEqual(mistake("--milliseconds", text), f"--milliseconds: expected a number above 0, given '{text}'")
        self.assertEqual(mistake("--milliseconds", "0.5"), "taken")

    def test_layers(self):
        self.assertEqual(mistake("--layers", "--networks"), "--networks: not allowed with argument --layers")
        self.assertEqual(mistake("--layers", "--chart", "x.svg"), "--chart: not allowed with argument --layers")
        self.assertEqual(parse(["--layers"]).threads, [1])
        self.assertEqual(parse(["--layers", "--threads", "2"]).threads, [2])

    def test_weight_only(self):
        self.assertEqual(mistake("--weight-only", "--layers"), "--layers: not allowed with argument --weight-only")
        self.assertEqual(mistake("--weight-only", "--chart", "x.svg"), "--chart: not allowed with argument --weight-only")
        self.assertEqual(parse(["--weight-only"]).threads, [1])

    def test_embeddings(self):
        self.assertEqual(mistake("--embeddings", "--layers"), "--layers: not allowed with argument --embeddings")
        self.assertEqual(mistake("--embeddings", "--only", "x"), "--only: not allowed with argument --embeddings")
        self.assertEqual(mistake("--embeddings", "--chart", "x.svg"), "taken")

    def test_libraries(self):
        for option in ("--library", "--quark"):
            self.assertEqual(mistake(option, "/nope"), f"{option}: expected a file, given '/nope'")
            self.assertEqual(mistake(option, __file__), "taken")


class Tables(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_of_the_rounds(self):
        # Rounds: 2, 8 and 3 times as fast; the median of their times is 3 us.
        r = result(peer_seconds=[2e-6, 8e-6, 3e-6], dynquant_seconds=[1e-6, 1e-6, 1e-6])
        self.assertEqual(row(r)[1:5], ["0.33", "1.00", "5.00", "3.0 (2.0 to 8.0)"])

    def test_goals(self):
        self.assertEqual(row(result([3e-6], [1e-6], goal=1.5))[5], "1.5, met")
        self.assertEqual(row(result([1e-6], [1e-6], goal=1.5))[5], "1.5, **missed**")
        self.assertEqual(row(result([1e-6], [1e-6]))[5], "")

    def test_what_the_peer_does_not_have(self):
        self.assertEqual(row(result([], [1e-6], goal=8))[1:], ["-", "1.00", "5.00", "not offered", ""])

    def test_one_table_for_each_peer_and_number_of_threads(self):
        text = tables([result([1e-6], [1e-6]), result([1e-6], [1e-6], threads=4), result([1e-6], [1e-6], peer="Quark")])
        heads = [line for line in text.splitlines() if "Gelem/s" in line]
        self.assertEqual(["one thread" in h for h in heads], [True, False, True])
        self.assertIn("| Quark |", heads[2])

    def test_chains_have_a_table_of_their_own(self):
        chain = result([5e-6], [4e-6], key="a chain")
        chain.nodes = 200
        head = ["| one thread, ns a node of a chain | ONNX Runtime | dynquant |", "|---|---|---|"]
        self.assertEqual(tables([chain]).splitlines(), [*head, "| a chain | 25 | 20 |"])
        self.assertEqual(len(tables([result([1e-6], [1e-6]), chain]).splitlines()), 3 + 1 + 3)


if __name__ == "__main__":
    unittest.main()
