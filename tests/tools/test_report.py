"""scripts/report parses, prints, judges and writes fictitious figures."""

import pathlib
import tempfile
import unittest

from report import dqbench, floors, page
from report.lines import lines
from report.measurements import Measurements, Pass


def line(name, time, gelems, flat="", onednn="", reorder="", xnnpack="", threads=1, fpmath="strict", isa="avx512"):
    cells = ["row", f'"{name}"', "DynamicQuantize", "f32:f32:u8:u8", fpmath, isa, threads, "graph", time, gelems, 1.5, 0.004]
    return "\t".join(map(str, cells + [flat, onednn, reorder, xnnpack]))


def rows(*lines):
    return dqbench.parse(lines)


def measurements(*passes, processor="Made Up"):
    return Measurements(processor, "2026-01-01", {"Processor": "made up"}, 4, "avx512", [Pass(p) for p in passes])


def figure(m, section, start):
    """A line and what it shows."""
    found = [found for found in lines(m.isa) if found.section == section and found.what.startswith(start)]
    assert len(found) == 1, found
    return found[0], m.median(found[0].value)


class Parsing(unittest.TestCase):
    def test_reads_a_row_and_leaves_out_the_peers_that_did_not_run(self):
        (row,) = rows(line("64Ki", 0.005, 13.1, flat=0.002, onednn="refused", xnnpack="absent"))
        self.assertEqual(row.name, "64Ki")
        self.assertEqual(row.threads, 1)
        self.assertEqual(row.peers, {"flat": 0.002})
        self.assertAlmostEqual(row.ratio("flat"), 0.4)
        self.assertIsNone(row.ratio("xnnpack"))

    def test_passes_over_the_header_and_other_lines(self):
        header = "\t".join(["row", "name", "op"] + ["x"] * 13)
        self.assertEqual(rows("tests:3 passed:3", header, "row\ttoo\tshort"), [])

    def test_asks_for_as_many_fields_as_it_reads(self):
        self.assertEqual(len(dqbench.template().split("\t")), len(line("a", 1, 1).split("\t")))


class Lines(unittest.TestCase):
    def test_take_the_median_of_the_passes(self):
        passes = [{"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, flat=flat))} for flat in (0.001, 0.004, 0.0035)]
        self.assertAlmostEqual(figure(measurements(*passes), 1, "AVX-512, 64 Ki elements")[1], 0.7)

    def test_name_the_slowest_shape(self):
        batch = rows(line("1Mi:per_tensor", 1, 10), line("1Mi:middle_64", 1, 9.5), line("1Mi:first_1024", 1, 9.2))
        _, value = figure(measurements({"perf_2_per_channel": batch}), 2, "1 Mi elements, runs of 64 and more: the slowest")
        self.assertAlmostEqual(value, 0.92)
        self.assertEqual(value.name, "1Mi:first_1024")

    def test_name_the_shape_with_the_least_share(self):
        batch = rows(line("1Mi:middle_64", 1, 9, flat=0.8), line("1Mi:first_1024", 1, 9.2, flat=0.7), line("1Mi:first_64", 1, 9))
        _, value = figure(measurements({"perf_2_per_channel": batch}), 2, "1 Mi elements, runs of 64 and more: the least share")
        self.assertAlmostEqual(value, 0.7)
        self.assertEqual(value.name, "1Mi:first_1024")

    def test_compare_all_threads_with_one(self):
        batch = rows(line("1Mi", 2, 1, threads=1), line("1Mi", 3, 1, threads=2), line("1Mi", 2.2, 1, threads=4))
        self.assertAlmostEqual(figure(measurements({"perf_6_threads": batch}), 6, "quantize: time")[1], 1.1)

    def test_say_nothing_of_what_was_not_measured(self):
        m = measurements({})
        self.assertEqual({m.median(one.value) for one in lines(m.isa)}, {None})

    def test_have_keys_of_their_own(self):
        keys = [one.key for one in lines("avx512")]
        self.assertEqual(len(keys), len(set(keys)))


class Floors(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        before, floors.FILE = floors.FILE, pathlib.Path(self.folder.name) / "floors.json"
        self.addCleanup(setattr, floors, "FILE", before)

    def test_hold_from_the_bound_on(self):
        more, _ = figure(measurements({}), 1, "AVX-512, 64 Ki elements")
        less, _ = figure(measurements({}), 6, "quantize: time")
        self.assertIs(floors.holds(more, 0.72, 0.72), True)
        self.assertIs(floors.holds(more, 0.71, 0.72), False)
        self.assertIs(floors.holds(less, 1.1, 1.1), True)
        self.assertIs(floors.holds(less, 1.2, 1.1), False)
        self.assertIsNone(floors.holds(more, None, 0.72))
        self.assertIsNone(floors.holds(more, 0.72, None))

    def test_are_the_figures_less_a_tenth_and_others_stay(self):
        floors.FILE.write_text('{"Other": {"from": "elsewhere", "floors": {"a": 1}}}')
        batch = rows(line("1Mi", 2, 1, threads=1), line("1Mi", 2, 1, threads=4))
        speed = rows(line("64Ki", 0.005, 13, flat=0.003))
        m = measurements({"perf_1_per_tensor": speed, "perf_6_threads": batch})
        m.machine["Cores"] = "4"
        floors.update(m)
        known = floors.load()
        self.assertEqual(known["Other"], {"from": "elsewhere", "floors": {"a": 1}})
        self.assertEqual(known["Made Up"]["from"], "made up, 4, 2026-01-01")
        of_this = known["Made Up"]["floors"]
        self.assertEqual(of_this["1. AVX-512, 64 Ki elements (second-level cache), one thread"], 0.54)  # 0.6 * 0.9
        self.assertEqual(of_this["6. quantize: time by all threads, the worst size"], 1.1)  # 1 * 1.1


class Writing(unittest.TestCase):
    def test_a_page_tells_figure_floor_and_note(self):
        before, floors.load = floors.load, lambda: {
            "Made Up": {"from": "here", "floors": {"1. AVX-512, 64 Ki elements (second-level cache), one thread": 0.72}},
            "Else": {"from": "there", "floors": {}},
        }  # fmt: skip
        self.addCleanup(setattr, floors, "load", before)
        m = measurements({"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, flat=0.003))})
        other = measurements({"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, flat=0.004))}, processor="Another")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "performance.md"
            page.write(path, [m, other], {1: "Because of the ports."})
            text = path.read_text()
        self.assertIn("| Processor | made up | made up |", text)
        self.assertIn("| of flat, AVX-512 | **0.60, floor 0.72** | 0.80 |", text)
        self.assertIn("| floors that hold | 0 of 1 | 0 of 0 |", text)
        self.assertIn("Else (there)", text)
        self.assertIn("Because of the ports.", text)

    def test_a_line_is_of_each_machines_best_instruction_set(self):
        m = measurements({"perf_1_per_tensor": rows(line("64Mi", 0.010, 13, flat=0.009))})
        row = line("64Mi", 0.010, 13, flat=0.008).replace("avx512", "avx2")
        other = measurements({"perf_1_per_tensor": rows(row)}, processor="Another")
        other.isa = "avx2"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "performance.md"
            page.write(path, [m, other], {})
            self.assertIn("| 64 Mi elements (memory), one thread | of flat | 0.90 | 0.80 |", path.read_text())

    def test_notes_are_found_by_number(self):
        self.assertEqual(page.notes_of("# Notes\n\n## 1. A\none\n\n## 3. B\nthree\n"), {1: "one", 3: "three"})

    def test_measurements_come_back_from_a_file(self):
        m = measurements({"perf_1_per_tensor": rows(line("64Ki", 0.005, 13, flat=0.003))})
        m.passes[0].python["onnxruntime", "64Ki", "DynamicQuantize", 1] = 0.01
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "figures.json"
            m.save(path)
            self.assertEqual(Measurements.load(path), m)


if __name__ == "__main__":
    unittest.main()
