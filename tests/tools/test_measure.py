"""scripts/measure parses its options, keeps figures, prints tables and reads dqbench's output. Needs Python without packages."""

import contextlib
import io
import os
import pathlib
import re
import resource
import shutil
import stat
import subprocess
import tempfile
import unittest

from measure import dqbench, tables, turns
from measure.arguments import ROOT, SUITES, parse
from measure.results import MACHINE, Measured, Processor
from measure.svg import compact


def mistake(*options):
    """The last line of output."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse(options)
    except SystemExit:
        return said.getvalue().splitlines()[-1].partition("error: ")[2]
    return "taken"


class FilesOfFigures(unittest.TestCase):
    def test_what_cannot_be_written_whole_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.jsonl"
            Processor("Zen 4").save(path)
            before = path.read_text()
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, limits[1]))
            try:
                with self.assertRaises(OSError):
                    Processor("a processor of a longer name").save(path)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            self.assertEqual(path.read_text(), before)
            self.assertEqual(os.listdir(folder), ["f.jsonl"])

    def test_a_file_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.jsonl"
            first = '["","Zen 4",0,{},{},{}]\n'
            for text in ("<<<<<<< HEAD", "[1]", '["a","b",1,{"x":"y"},{},{}]', '["a","b",1,[],{},{}]', "[" * 100000, '["a","b",1,{"x":1' + "0" * 400 + "},{},{}]"):
                path.write_text(first + text + "\n")
                with self.assertRaises(RuntimeError) as caught:
                    Processor.load(path)
                expected = f"{path}, line 2: expected [suite, case, threads, times, least, facts] in JSON, given {text.encode()[:60]!r}"
                self.assertEqual(str(caught.exception), expected)
            path.write_text("")
            with self.assertRaisesRegex(RuntimeError, "expected the figures of a processor, given an empty file"):
                Processor.load(path)


class Options(unittest.TestCase):
    def test_numbers(self):
        for option in ("--threads", "--rounds"):
            for text in ("0", "-1", "two", "1.5"):
                self.assertIn(f"{option}: expected a number of 1 or more, given '{text}'", mistake("nodes", option, text))
            self.assertEqual(mistake("nodes", option, "2"), "taken")
        for text in ("0", "-5", "nan", "inf", "long"):
            self.assertIn(f"--milliseconds: expected a number above 0, given '{text}'", mistake("nodes", "--milliseconds", text))

    def test_folders(self):
        for text in ("nowhere", "x" * 5000, "\0"):
            self.assertIn(f"--build: expected a folder, given '{text}'", mistake("nodes", "--build", text))

    def test_near_spellings(self):
        self.assertIn("given 'layer'; did you mean 'layers'?", mistake("layer"))
        self.assertIn("--millisecond; did you mean '--milliseconds'?", mistake("nodes", "--millisecond"))
        self.assertEqual(mistake("nodes", "--build", "/nope"), "argument --build: expected a folder, given '/nope'")

    def test_what_excludes_each_other(self):
        self.assertEqual(mistake("nodes", "--draw", "--save"), "argument --save: not allowed with argument --draw")
        self.assertEqual(mistake("layers", "--per-channel"), "argument --per-channel: not allowed with suite layers")
        self.assertEqual(mistake("transformers", "--per-channel"), "taken")
        for option, suite in (("--threads", "core"), ("--only", "digits"), ("--only", "embeddings"), ("--models", "models")):
            self.assertEqual(mistake(suite, option, "2"), f"argument {option}: not allowed with suite {suite}")

    def test_each_suite_is_a_file(self):
        for name in SUITES:
            self.assertTrue((ROOT / f"tools/measure/suites/{name}.py").is_file(), name)
            self.assertEqual(mistake(name), "taken")

    def test_the_command_answers_before_anything_is_installed(self):
        def ran(*arguments):
            return subprocess.run([ROOT / "scripts/measure", *arguments], capture_output=True, text=True, check=False)

        for name, one in SUITES.items():
            self.assertRegex(ran("--help").stdout, rf"\n  {name} +{re.escape(one.what[:20])}")
        self.assertRegex(ran("--version").stdout, r"^dynquant \d+\.\d+\.\d+\n$")
        self.assertEqual((ran("cor").returncode, ran("cor").stdout), (2, ""))


    def test_help_that_stdout_does_not_take_is_a_failure(self):
        for environment in ({}, {"PYTHONUNBUFFERED": "1"}):
            for option in ("--help", "--version"):
                with open("/dev/full", "w") as full, self.subTest(environment=environment, option=option):
                    ran = subprocess.run([ROOT / "scripts/measure", option], stdout=full, stderr=subprocess.PIPE, text=True,
                                         check=False, env=os.environ | environment)  # fmt: skip
                    self.assertEqual((ran.returncode, ran.stderr), (1, "measure: stdout: No space left on device\n"))


class Script(unittest.TestCase):
    def test_it_installs_and_builds_what_a_suite_needs_and_keeps_the_directory(self):
        stub, python = '#!/bin/sh\necho "$(basename "$0") $*"\n', '#!/bin/sh\necho "in $(pwd): $*"\n'
        with tempfile.TemporaryDirectory() as folder:
            root, elsewhere = pathlib.Path(folder).resolve() / "root of it", pathlib.Path(folder).resolve() / "elsewhere"
            elsewhere.mkdir()
            shutil.copytree(ROOT / "tools/measure", root / "tools/measure")
            for name, text in {"scripts/setup": stub, "scripts/build": stub, ".deps/report/bin/python": python, "include/dynquant/version.hpp": "",
                               "scripts/measure": (ROOT / "scripts/measure").read_text()}.items():  # fmt: skip
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            ran = subprocess.run([root / "scripts/measure", "models", "--only", "a b"], cwd=elsewhere, capture_output=True, text=True, check=True)
            self.assertEqual(ran.stdout, f"in {elsewhere}: -m measure.run models --only a b\n")
            self.assertEqual(ran.stderr, "setup --report\nbuild release dqmodel\n")


class Turns(unittest.TestCase):
    def test_contestants_alternate(self):
        order = []

        def contestant(name, times):
            def turn(seconds):
                order.append((name, seconds))
                return times.pop(0)

            return turn

        times, least = turns.take_turns({"a": contestant("a", [(3, 2), (4, 1)]), "b": contestant("b", [(5, 4), (6, 5)])}, 2, 0.5)
        self.assertEqual(order, [("a", 0.5), ("b", 0.5)] * 2)
        self.assertEqual((times, least), ({"a": [3, 4], "b": [5, 6]}, {"a": 1, "b": 4}))

    def test_a_long_first_run_is_the_only_one(self):
        runs = []
        self.assertEqual(len(turns.samples(lambda: runs.append(0), 0)), 1)
        self.assertEqual(len(runs), 1)
        self.assertGreaterEqual(len(turns.samples(lambda: runs.append(0), 1e-3)), 3)


class Figures(unittest.TestCase):
    def test_a_line_for_each_case(self):
        p = Processor("Made Up")
        p.add(Measured("nodes", MACHINE, 0, facts={"date": "2026-01-01"}))
        p.add(Measured("nodes", "one", 2, {"dynquant": [1.5e-6, 2e-6]}, {"dynquant": 1.25e-6}, {"elements": 3}))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, p.file_name)
            p.save(path)
            before = path.read_text().splitlines()
            self.assertEqual((path.name, before[2]), ("made_up.jsonl", '["nodes","one",2,{"dynquant":[1.5,2.0]},{"dynquant":1.25},{"elements":3}]'))
            again = Processor.load(path)
            self.assertEqual((again.name, again.of("nodes"), again.facts("nodes")), ("Made Up", p.of("nodes"), {"date": "2026-01-01"}))
            again.add(Measured("layers", "two", 1))
            again.add(Measured("nodes", "one", 2, {"dynquant": [3e-6]}))
            again.save(path)
            after = path.read_text().splitlines()
        self.assertEqual(after, [before[0], '["layers","two",1,{},{},{}]', before[1], '["nodes","one",2,{"dynquant":[3.0]},{},{}]'])

    def test_a_ratio_is_the_median_of_those_of_the_turns(self):
        m = Measured("s", "c", 1, {"slow": [2, 8, 3], "fast": [1, 1, 1]})
        self.assertEqual((m.median("slow"), m.ratio("slow", "fast"), m.ratio("none", "fast")), (3, 3, None))
        self.assertEqual((tables.times(m, "slow", "fast"), tables.times(m, "none", "fast")), ("3.0 (2.0 to 8.0)", ""))

    def test_cells(self):
        self.assertEqual([tables.number(v) for v in (None, 0.125, 9.994, 12.34, 123.4)], ["-", "0.12", "9.99", "12.3", "123"])
        self.assertEqual([tables.goal(3, v) for v in (None, 3, 2.99)], ["", "3, met", "3, **missed**"])
        self.assertEqual(tables.table(["a", "b"], [["1", "2"]]), ["| a | b |", "|---|---|", "| 1 | 2 |", ""])


class Drawings(unittest.TestCase):
    def test_coordinates_are_short_and_texts_stay(self):
        given = """<?xml version="1.0"?>
            <svg width="8pt"><!-- a --><metadata>b</metadata><defs><clipPath id="p0"><rect x="1"/></clipPath></defs>
             <g id="axes_1"><path id="line" d="M 1.234567 2.04
            L -3.96 5.5 z" clip-path="url(#p0)" style="fill: none; stroke: #000000"/><defs><path id="m0123abcd" d="M 0 0 L 1 1"/></defs>
             <text style="font-size: 7px; font-family: 'A', 'B'" x="1.66" transform="rotate(-0 1.6 2)">0.125 of  2.345</text></g></svg>"""
        expected = ('<svg font-family="DejaVu Sans, sans-serif" width="8pt"><path d="M1.2 2L-4 5.5z" style="fill:none;stroke:#000000"/>'
                    '<defs><path id="m0123abcd" d="M0 0L1 1"/></defs><text style="font-size:7px;" x="1.7">0.125 of  2.345</text></svg>\n')
        self.assertEqual(compact(given), expected)


def program(folder, output, status=0):
    """A program that prints `output`, and writes its arguments to a file beside it."""
    path = pathlib.Path(folder, "dqbench")
    pathlib.Path(folder, "output").write_text(output)
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{path}.arguments"\ncat "{folder}/output"\nexit {status}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Dqbench(unittest.TestCase):
    def run_with(self, output, status=0):
        with tempfile.TemporaryDirectory() as folder:
            rows = dqbench.run(program(folder, output, status), ["name", "~time"], ["--batch=b"], [1, 3], 0.1)
            return rows, pathlib.Path(folder, "dqbench.arguments").read_text().splitlines()

    def test_rows_are_those_of_the_template(self):
        rows, arguments = self.run_with('Output template: row\nrow\tname\tmedian_time\nrow\t"64Ki"\t2.5\nrow\ta\trefused\ntests:2\n')
        self.assertEqual(rows, [{"name": "64Ki", "~time": "2.5"}, {"name": "a", "~time": "refused"}])
        self.assertEqual([dqbench.seconds(row["~time"]) for row in rows], [0.0025, None])
        self.assertEqual(arguments, ["--mode=P", "--max-ms-per-prb=100", "--threads=1,3", "--perf-template=row\t%name%\t%~time%", "--batch=b"])

    def test_failures_are_told(self):
        for output, status in (("tests:1 failed:1\n", 0), ("row\tname\tmedian_time\nrow\ta\t1\n", 1)):
            with self.assertRaisesRegex(RuntimeError, "dqbench --mode=P"):
                self.run_with(output, status)


if __name__ == "__main__":
    unittest.main()
