"""scripts/compare-dynamic parses its options, reads what dqbench prints, and prints its tables from fictitious figures."""

import pathlib
import stat
import tempfile
import unittest

from dynamic_speed import dynquant
from dynamic_speed.arguments import parser
from dynamic_speed.cases import CASES
from dynamic_speed.page import Share, Turns, flat_table, rows


class Dynquant(unittest.TestCase):
    def program(self, output, status=0):
        """A program that prints `output`, and its arguments to a file beside it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "dqbench")
        pathlib.Path(folder.name, "output").write_text(output)
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{path}.arguments"\ncat "{path.parent}/output"\nexit {status}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_times_are_seconds(self):
        program = self.program("Output template: row\nrow\tmedian_time\tmin_time\nrow\t2.5\t2\ntests:1 passed:1\n")
        case = CASES[0]
        self.assertEqual(dynquant.times(program, case, 3, 0.1), (0.0025, 0.002))
        arguments = pathlib.Path(f"{program}.arguments").read_text().splitlines()
        for argument in ("--mode=P", "--threads=3", "--max-ms-per-prb=100", "--api=direct", "--scales=onnx", "65536"):
            self.assertIn(argument, arguments)

    def test_failures_are_told(self):
        for program in (self.program("tests:1 failed:1\n"), self.program("row\ta\tb\nrow\t1\t1\n", status=1)):
            with self.assertRaisesRegex(RuntimeError, "dqbench --mode=P"):
                dynquant.times(program, CASES[0], 1, 0.1)

    def test_the_flat_loop(self):
        line = 'row\t"8:tokens"\tonednn\tbf16:f32:undef:s8\t0.002\t0.0005\t2e9\n'
        program = self.program("row\tname\tscales\tdt\tmin_time\tmin_peertime:flat\tmin_elems\n" + line)
        share, = dynquant.beside_flat(program, "avx2", 1, 0.1).items()
        self.assertEqual(share, (("8:tokens", "onednn", "bf16:f32:undef:s8"), Share(2e-6, 5e-7, 4000.0)))


class Tables(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_of_the_rounds(self):
        case = CASES[0]  # 65536 elements
        results = {"dynquant": Turns([2e-6, 1e-6, 1e-6], [1e-6, 1e-6, 5e-7]), "onnxruntime": Turns([4e-6, 8e-6, 3e-6], [3e-6, 6e-6, 3e-6])}
        own, peer = rows(case, results)
        self.assertEqual(own, [case.name, "dynquant", "1.00", "0.50", "65.5", ""])
        self.assertEqual(peer, ["", "ONNX Runtime", "4.00", "3.00", "16.4", "3.0 (2.0 to 8.0)"])

    def test_shares_by_the_least_times(self):
        share = Share(2e-6, 4e-7, 4000).better(Share(1.6e-6, 6e-7, 4000))
        self.assertEqual(share, Share(1.6e-6, 4e-7, 4000))
        lines = flat_table(1, {("a", "absmax", "f32:f32:undef:s8"): {"avx512": share, "avx2": Share(4e-6, 4e-7, 4000)}})
        columns = "us | Gelem/s | of flat |"
        self.assertEqual(lines[0], f"| one thread | rule | types | avx512, {columns} avx2, {columns}")
        self.assertEqual(lines[2], "| a | absmax | f32:f32:undef:s8 | 1.60 | 2.50 | 25 % | 4.00 | 1.00 | 10 % |")


class Options(unittest.TestCase):
    def test_defaults(self):
        given = parser().parse_args([])
        self.assertEqual((given.rounds, given.milliseconds, given.flat, given.setup, given.eager), (5, 100, False, False, False))


if __name__ == "__main__":
    unittest.main()
