"""scripts/prequantized runs its programs, which are fakes here, as documented."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
        shutil.copy(ROOT / "scripts/prequantized", self.root / "scripts")
        for package in ("prequantized", "report", "reporting"):
            shutil.copytree(ROOT / "tools" / package, self.root / "tools" / package)

    def ran(self, *arguments):
        command = [self.root / "scripts/prequantized", *arguments]
        return subprocess.run(command, cwd=self.elsewhere, capture_output=True, text=True, check=False)

    def test_paths_are_relative_to_the_callers_directory(self):
        ran = self.ran("train", "digits")
        python = f"in {self.elsewhere}, modules of {self.root}/tools: -m prequantized train digits"
        self.assertEqual(ran.stdout.splitlines(), ["setup --report", python])
        self.assertEqual(ran.stderr.splitlines(), ["build release dqmodel dqbench"])

    def test_help_needs_nothing(self):
        shutil.rmtree(self.root / ".deps")
        for arguments, usage in ((["--help"], ""), (["speed", "-h"], " speed")):
            ran = self.ran(*arguments)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn(f"usage: scripts/prequantized{usage} [-h]", ran.stdout)
            self.assertNotIn("setup", ran.stdout)

    def test_mistakes_are_said_before_anything_is_built(self):
        said = {
            ("speed", "--threads", "0"): "argument --threads: expected a number of 1 or more, given '0'",
            ("speed", "--milliseconds", "nan"): "argument --milliseconds: expected a number above 0, given 'nan'",
            ("accuracy", "--dqmodel", "none"): "argument --dqmodel: expected a file, given 'none'",
            ("train",): "the following arguments are required: folder",
        }
        for arguments, message in said.items():
            ran = self.ran(*arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertEqual(ran.stderr.splitlines()[-1], f"scripts/prequantized {arguments[0]}: error: {message}")


if __name__ == "__main__":
    unittest.main()
