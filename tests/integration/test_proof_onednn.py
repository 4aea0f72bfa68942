"""scripts/proof-onednn, run on a fake build of oneDNN, runs, compares, writes and refuses as documented."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/proof-onednn"

# The name of a file gives its results, plain and with the drop-in: PLAIN_DROPIN.json.
BENCHDNN = """#!/bin/sh
for argument; do case $argument in --case=*) file=${argument#--case=};; --mode=*) mode=${argument#--mode=};; esac; done
name=$(basename "$file" .json)
if [ -n "$LD_PRELOAD" ]; then state=${name#*_}; ms=0.25; else state=${name%_*}; ms=0.5; fi
[ "$mode" = P ] && echo "total perf: min(ms):$ms avg(ms):9" && exit
[ "$state" = crash ] && kill -SEGV $$
[ -n "$LD_PRELOAD" ] && [ -n "$DYNQUANT_VERBOSE" ] && cat "${0%/*}/verbose"
echo "tests:1 passed:0 skipped:0 mistrusted:0 failed:0" | sed "s/$state:0/$state:1/"
"""
SINGLE = "dynquant_verbose,graph,claim,cpu,op 1 'q' (DynamicQuantize)\n"
LAYER = """\
dynquant_verbose,graph,claim,cpu,op 1 'dx' (Dequantize): in the layer of op 3 'fc1' (MatMul)
dynquant_verbose,graph,claim,cpu,op 2 'dw' (Dequantize): in the layer of op 3 'fc1' (MatMul)
dynquant_verbose,graph,claim,cpu,op 3 'fc1' (MatMul) with op 1 'dx' (Dequantize), op 2 'dw' (Dequantize)
"""
LEFT = """\
dynquant_verbose,graph,leave,cpu,op 4 'q1' (Quantize): oneDNN fuses it
dynquant_verbose,graph,leave,cpu,op 5 'q2' (Quantize): oneDNN fuses it
"""
EXAMPLE = '#!/bin/sh\n[ "$1" = cpu ] && [ -z "$LD_PRELOAD$FAIL" ]\n'


def graph(kind):
    return json.dumps({"graph": [{"kind": "MatMul"}, {"kind": kind}]})


class ProofOnednn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build = self.folder / "build"
        self.inputs = self.folder / "source/tests/benchdnn/inputs/graph/op"
        self.write(self.build / "CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:INTERNAL={self.folder}/source\n")
        version = "#define DNNL_VERSION_MAJOR 3\n#define DNNL_VERSION_MINOR 13\n#define DNNL_VERSION_PATCH 1\n"
        self.write(self.build / "include/oneapi/dnnl/dnnl_version.h", version)
        self.program("tests/benchdnn/benchdnn", BENCHDNN)
        self.verbose = self.build / "tests/benchdnn/verbose"
        self.verbose.write_text(SINGLE)
        self.write(self.inputs / "passed_failed.json", graph("ReLU"))  # has no quantization op
        # A library that can be preloaded without effect on these scripts.
        self.library = self.folder / "dropin.so"
        self.library.touch()

    def write(self, file, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def program(self, name, text):
        self.write(self.build / name, text)
        (self.build / name).chmod(0o755)

    def files(self, *names):
        for name in names:
            self.write(self.inputs / f"{name}.json", graph("DynamicQuantize"))

    def run_script(self, *arguments, **environment):
        command = [SCRIPT, self.build, f"--library={self.library}", "--rounds=1", *arguments]
        return subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
        )

    def test_compares_counts_and_times(self):
        self.files("passed_passed", "skipped_passed", "failed_failed")
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("oneDNN 3.13.1: 3 of the 4 graphs", done.stdout)
        self.assertIn("| plain | 1 | 0 | 1 | 0 | 0 | 1 | 0 |", done.stdout)
        self.assertIn("| drop-in | 2 | 0 | 0 | 0 | 0 | 1 | 0 |", done.stdout)
        self.assertIn("| op/skipped_passed.json | skipped | passed | 1 | 0 | 0.5 | 0.25 | 2.00 |", done.stdout)

    def test_counts_layers_and_the_reasons_for_leaving(self):
        self.verbose.write_text(SINGLE + LAYER + LEFT)
        self.files("passed_passed", "passed_mistrusted", "skipped_skipped")  # benchdnn skips after get_partitions
        done = self.run_script()
        self.assertIn("computes layers of several ops in 2 files, and single ops in 2:", done.stdout)
        self.assertIn("computes nothing in the other 1 files", done.stdout)
        self.assertIn("| op/passed_passed.json | passed | passed | 1 | 1 | 0.5 | 0.25 | 2.00 |", done.stdout)
        self.assertIn("| Quantize: oneDNN fuses it | 2 |", done.stdout)

    def test_layers_that_end_before_a_partition_of_onednn_are_no_failure(self):
        self.files("passed_passed")
        wanted = 'case "$*" in *" --expected-n-partitions=0 "*) ;; *) exit 1;; esac\n'
        self.program("tests/benchdnn/benchdnn", BENCHDNN.replace("for", f"{wanted}for", 1))
        self.assertIn("| drop-in | 1 | 0 | 0 | 0 | 0 | 0 | 0 |", self.run_script().stdout)

    def test_several_builds(self):
        self.files("passed_passed")
        done = self.run_script(self.build)
        self.assertEqual(done.stdout.count("oneDNN 3.13.1: 1 of the 2 graphs"), 2)

    def test_tells_what_dynquant_does_not_claim(self):
        self.verbose.write_text(LEFT)
        self.files("passed_passed", "skipped_skipped")
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("passed_passed", done.stdout)
        self.assertIn("computes nothing in the other 2 files: plain / drop-in", done.stdout)
        self.assertIn("plain / drop-in 2.00 in the median, 2.00 to 2.00.", done.stdout)

    def test_what_passes_plain_alone_is_named(self):
        self.files("passed_passed", "passed_failed1", "passed_mistrusted", "passed_crash", "failed_crash")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        named = [line for line in done.stderr.splitlines() if "worse with the drop-in library" in line]
        self.assertEqual(len(named), 4, done.stderr)
        self.assertNotIn("passed_passed", "".join(named))

    def test_examples(self):
        self.files("passed_passed")
        self.program("examples/cpu-graph-a-cpp", "#!/bin/sh\n")
        self.program("examples/graph-b-cpp", EXAMPLE)
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("worse with the drop-in library, oneDNN 3.13.1: graph-b-cpp", done.stderr)
        self.assertIn("| plain | 2 | 0 | 0 | 0 | 0 | 0 | 0 |", done.stdout)

    def test_writes_between_the_marks(self):
        self.files("passed_passed")
        page = self.folder / "page.md"
        page.write_text("before\n<!-- proof-onednn begins -->\noutdated\n<!-- proof-onednn ends -->\nafter\n")
        done = self.run_script(f"--into={page}")
        self.assertEqual(done.returncode, 0)
        self.assertIn("not in the page before: op/passed_passed.json", done.stderr)
        self.assertNotIn("not in the page before", self.run_script(f"--into={page}").stderr)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)
        self.assertIn("op/passed_passed.json", text)
        self.assertNotIn("outdated", text)

    def test_what_is_missing_is_one_line(self):
        self.files("passed_passed")
        page = self.folder / "page.md"
        page.write_text("no marks")
        self.assertIn("expected the lines '<!-- proof-onednn begins -->'", self.run_script(f"--into={page}").stderr)
        self.assertIn("--match=x: expected a regular expression", self.run_script("--match=x").stderr)
        self.library.unlink()
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("dropin.so: expected the drop-in library; build it, or name it with --library", done.stderr)
        (self.build / "tests/benchdnn/benchdnn").unlink()
        self.assertIn("expected benchdnn there; build oneDNN with its tests", self.run_script().stderr)


if __name__ == "__main__":
    unittest.main()
