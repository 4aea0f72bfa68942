"""scripts/prequantized, among programs that are made up."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/prequantized"
STUB = '#!/bin/sh\necho "$(basename "$0") $*"\n'
PYTHON = '#!/bin/sh\necho "in $(pwd), modules of $PYTHONPATH: $*"\n'


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "root of it"
        self.elsewhere = self.root.parent / "elsewhere"
        self.elsewhere.mkdir()
        for name, text in {"scripts/setup": STUB, "scripts/build": STUB, ".deps/report/bin/python": PYTHON}.items():
            program = self.root / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)
        shutil.copy(SCRIPT, self.root / "scripts")

    def lines(self, *arguments):
        command = [self.root / "scripts/prequantized", *arguments]
        ran = subprocess.run(command, cwd=self.elsewhere, capture_output=True, text=True, check=True)
        return ran.stdout.splitlines() + ran.stderr.splitlines()

    def test_paths_are_relative_to_the_callers_directory(self):
        python = f"in {self.elsewhere}, modules of {self.root}/tools: -m prequantized train digits"
        self.assertEqual(self.lines("train", "digits"), ["setup --report", python, "build release dqmodel dqbench lookup_speed"])

    def test_help_builds_nothing(self):
        self.assertEqual(self.lines("--help"), [f"in {self.elsewhere}, modules of {self.root}/tools: -m prequantized --help"])


if __name__ == "__main__":
    unittest.main()
