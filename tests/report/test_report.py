"""Parsing, judging and writing, on made-up figures."""

import pathlib
import tempfile
import unittest

from report import dqbench, goals, page
from report.measurements import Measurements, Pass


def line(name, time, gelems, limit="", onednn="", reorder="", xnnpack="", threads=1, fpmath="strict", isa="avx512"):
    cells = ["row", f'"{name}"', "DynamicQuantize", "f32:f32:u8:u8", fpmath, isa, threads, "graph", time, gelems, 1.5, 0.004]
    return "\t".join(map(str, cells + [limit, onednn, reorder, xnnpack]))


def rows(*lines):
    return dqbench.parse(lines)


def measurements(*passes):
    return Measurements({"Processor": "made up"}, 4, "avx512", [Pass(p) for p in passes])


def verdict(m, section, start):
    found = [v for v in goals.judge(m) if v.goal.section == section and v.goal.what.startswith(start)]
    assert len(found) == 1, found
    return found[0]


class Parsing(unittest.TestCase):
    def test_reads_a_row_and_leaves_out_the_peers_that_did_not_run(self):
        (row,) = rows(line("64Ki", 0.005, 13.1, limit=0.003, onednn="refused", xnnpack="absent"))
        self.assertEqual(row.name, "64Ki")
        self.assertEqual(row.threads, 1)
        self.assertEqual(row.peers, {"limit": 0.003})
        self.assertAlmostEqual(row.ratio("limit"), 0.6)
        self.assertIsNone(row.ratio("xnnpack"))

    def test_passes_over_the_header_and_other_lines(self):
        header = "\t".join(["row", "name", "op"] + ["x"] * 13)
        self.assertEqual(rows("tests:3 passed:3", header, "row\ttoo\tshort"), [])

    def test_asks_for_as_many_fields_as_it_reads(self):
        self.assertEqual(len(dqbench.template().split("\t")), len(line("a", 1, 1).split("\t")))


class Judging(unittest.TestCase):
    def test_takes_the_median_of_the_passes(self):
        passes = [{"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, limit=limit))} for limit in (0.001, 0.004, 0.0035)]
        v = verdict(measurements(*passes), 1, "64 Ki elements (second")
        self.assertAlmostEqual(v.measured, 0.7)
        self.assertIs(v.met, False)
        self.assertAlmostEqual(v.short_by, 2 / 72 * 100)

    def test_names_the_slowest_shape(self):
        batch = rows(line("1Mi:per_tensor", 1, 10), line("1Mi:middle_64", 1, 9.5), line("1Mi:first_1024", 1, 9.2))
        v = verdict(measurements({"perf_2_per_channel": batch}), 2, "1 Mi elements, runs of 64")
        self.assertAlmostEqual(v.measured, 0.92)
        self.assertEqual(v.measured.name, "1Mi:first_1024")
        self.assertIs(v.met, True)

    def test_judges_at_most_the_other_way(self):
        batch = rows(line("1Mi", 2, 1, threads=1), line("1Mi", 2.2, 1, threads=4))
        v = verdict(measurements({"perf_6_threads": batch}), 6, "quantize: time")
        self.assertAlmostEqual(v.measured, 1.1)
        self.assertIs(v.met, False)

    def test_says_nothing_of_what_was_not_measured(self):
        for v in goals.judge(measurements({})):
            self.assertIsNone(v.measured)
            self.assertIsNone(v.met)


class Writing(unittest.TestCase):
    def test_a_page_tells_goal_figure_and_note(self):
        m = measurements({"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, limit=0.003))})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "performance.md"
            page.write(path, m, goals.judge(m), {1: "Because of the ports."}, ["No XNNPACK."])
            text = path.read_text()
        self.assertIn("| Processor | made up |", text)
        self.assertIn("at least 0.72 of the limit | 0.60 of the limit | **17 % short** |", text)
        self.assertIn("Because of the ports.", text)
        self.assertIn("No XNNPACK.", text)

    def test_notes_are_found_by_number(self):
        self.assertEqual(page.notes_of("# Notes\n\n## 1. A\none\n\n## 3. B\nthree\n"), {1: "one", 3: "three"})

    def test_measurements_come_back_from_a_file(self):
        m = measurements({"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, limit=0.003))})
        m.passes[0].onnxruntime["64Ki", "QuantizeLinear", 1] = 0.01
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "figures.json"
            m.save(path)
            self.assertEqual(Measurements.load(path), m)


if __name__ == "__main__":
    unittest.main()
