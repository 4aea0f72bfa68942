"""The installed package, with NumPy alone: its files, its size where that is the wheel's that ships, bits, what it loads."""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import unittest

import exactquant
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


class Installed(unittest.TestCase):
    def test_files(self):
        folder = pathlib.Path(exactquant.__file__).parent
        self.assertTrue((folder / "py.typed").exists() and (folder / "_core.pyi").exists())
        files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        # The wheel has libc++ in it; g++ 14's code is a tenth larger than g++ 12's.
        limit = 2_400_000 if os.environ.get("EXACTQUANT_IS_WHEEL") else 2_200_000
        self.assertLessEqual(sum(file.stat().st_size for file in files), limit)

    def test_the_licences_of_all_that_it_holds(self):
        licences = [f for f in importlib.metadata.files("exactquant") if f.parent.name == "licenses"]
        self.assertEqual({f.name: f.read_text() for f in licences}, {name: (ROOT / name).read_text() for name in ("LICENSE", "NOTICE")})

    def test_loads_nothing_but_numpy(self):
        code = """if True:
            import numpy, sys, json
            before, maps = set(sys.modules), open("/proc/self/maps").read()
            import exactquant
            libraries = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line and line.split()[-1] not in maps}
            print(json.dumps([sorted({m.split(".")[0] for m in set(sys.modules) - before}), sorted(libraries)]))
            """
        modules, libraries = json.loads(printed(code))
        self.assertEqual([m for m in modules if m not in sys.stdlib_module_names and m not in ("exactquant", "nanobind")], [])
        ours = [library for library in libraries if "/exactquant/" in library]
        self.assertEqual(len(ours), 1)
        self.assertEqual([library for library in libraries if any(name in library for name in ("tbb", "dnnl", "gomp"))], [])

    def test_bits(self):
        result = exactquant.verify()
        self.assertEqual((result["checked"] >= 100, result["differ"]), (True, []))
        self.assertEqual(exactquant.quantize(numpy.float32([0.5, 1.5, 2.5]), 1.0, dtype="int8").tolist(), [0, 2, 2])
        self.assertRegex(exactquant.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
