"""The wheel's contents and its functions. DYNQUANT_WHEEL names the wheel that is installed."""

import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np
import onnxruntime
import onnxruntime_ep_dynquant as package
from onnx import TensorProto, helper

import models

WHEEL = pathlib.Path(os.environ["DYNQUANT_WHEEL"])
ARCHIVE = zipfile.ZipFile(WHEEL)
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Wheel(unittest.TestCase):
    def test_its_name_serves_every_python_and_an_old_glibc(self):
        self.assertRegex(WHEEL.name, rf"^onnxruntime_ep_dynquant-[\d.]+-py3-none-manylinux_2_\d+_{platform.machine()}\.whl$")

    def test_the_version_is_that_of_the_header(self):
        text = (ROOT / "include/dynquant/version.hpp").read_text()
        version = ".".join(re.findall(r"DYNQUANT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
        self.assertEqual(importlib.metadata.version("onnxruntime-ep-dynquant"), version)
        self.assertEqual(WHEEL.name.split("-")[1], version)

    def test_it_neither_contains_nor_wants_onnxruntime(self):
        wanted = importlib.metadata.requires("onnxruntime-ep-dynquant")
        self.assertEqual(wanted, ["rich"])
        libraries = [name for name in ARCHIVE.namelist() if ".so" in name]
        self.assertEqual(libraries, ["onnxruntime_ep_dynquant/libdynquant_onnxruntime.so"])

    def test_the_licences(self):
        found = {n.split(".dist-info/licenses/")[1]: ARCHIVE.read(n) for n in ARCHIVE.namelist()
                 if re.search(r"\.dist-info/licenses/.*[^/]$", n)}
        wanted = ["LICENSE", "third_party/onnxruntime/LICENSE"]
        self.assertEqual(found, {name: (ROOT / name).read_bytes() for name in wanted})

    def test_nothing_tells_where_it_was_built(self):
        for name in ARCHIVE.namelist():
            self.assertNotIn(str(ROOT).encode(), ARCHIVE.read(name), name)

    def test_the_wheel_and_its_files_take_at_most_4_megabytes_by_gcc_and_5_with_libcxx(self):
        installed = sum(info.file_size for info in ARCHIVE.infolist())
        self.assertLessEqual(WHEEL.stat().st_size + installed, 5_000_000 if "manylinux_2_28" in WHEEL.name else 4_000_000)


class Functions(unittest.TestCase):
    def test_names(self):
        self.assertEqual(package.get_ep_name(), "DynquantExecutionProvider")
        self.assertEqual(package.get_ep_names(), ["DynquantExecutionProvider"])
        self.assertTrue(pathlib.Path(package.get_library_path()).is_file())

    def test_a_session_has_quark_s_operators(self):
        """x / 0.5 + 1, saturated to int8."""
        options = onnxruntime.SessionOptions()
        options.register_custom_ops_library(package.get_library_path())
        node = helper.make_node("ExtendedQuantizeLinear", ["x", "s", "z"], ["y"], domain="com.amd.quark")
        with tempfile.TemporaryDirectory() as folder:
            model = models.save(
                pathlib.Path(folder, "m.onnx"),
                [node],
                [("x", TensorProto.FLOAT, [3])],
                [("y", TensorProto.INT8, [3])],
                {"s": np.float32(0.5), "z": np.int8(1)},
            )
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        (y,) = session.run(None, {"x": np.float32([3, -1.5, 200])})
        np.testing.assert_array_equal(y, np.int8([7, -2, 127]))

    def test_a_library_path_needs_no_onnxruntime_in_python(self):
        done = self.library_path(None)
        self.assertEqual(done.stdout.strip(), package.get_library_path())

    def test_an_old_onnxruntime_is_refused_by_name(self):
        for version in ("1.22.1", "1.9.0", "0.5.0"):
            self.assertIn(
                f"RuntimeError: ONNX Runtime {version} is too old for onnxruntime-ep-dynquant: expected 1.23.2 or newer",
                self.library_path(version).stderr,
            )
        for version in ("1.23.0", "1.100.0", "2.0.0", "1.33.0.dev20261201001"):
            self.assertEqual(self.library_path(version).stdout.strip(), package.get_library_path())

    def library_path(self, version):
        with tempfile.TemporaryDirectory() as folder:
            path = os.pathsep.join(filter(None, (models.stub(folder, version), os.environ.get("PYTHONPATH"))))
            code = "import onnxruntime_ep_dynquant as p; print(p.get_library_path())"
            return subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
            )


if __name__ == "__main__":
    unittest.main()
