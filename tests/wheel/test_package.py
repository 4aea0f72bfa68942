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
import warnings
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
        self.assertEqual(found, {name: (ROOT / name).read_bytes() for name in ("LICENSE", "NOTICE")})

    def test_notice_names_what_is_linked_in(self):
        library = ARCHIVE.read("onnxruntime_ep_dynquant/libdynquant_onnxruntime.so")
        notice = (ROOT / "NOTICE").read_bytes()
        linked = [name for name in (b"libc++abi", b"libunwind") if name in library]
        self.assertEqual(linked, [b"libc++abi", b"libunwind"] if "manylinux_2_28" in WHEEL.name else [])
        self.assertEqual([name for name in linked if name not in notice], [])

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

    def test_a_session_has_the_provider_and_its_options(self):
        """With a scale for each row of x a row has the same result alone."""
        rows = np.random.default_rng(1).standard_normal((5, 24)).astype(np.float32)
        rows *= np.geomspace(0.1, 10, 5, dtype=np.float32)[:, None]

        def is_by_row(session):
            alone = [session.run(None, {"x": rows[i : i + 1]})[0] for i in range(5)]
            return np.array_equal(session.run(None, {"x": rows})[0], np.concatenate(alone))

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 3
        with tempfile.TemporaryDirectory() as folder:
            path = models.product(pathlib.Path(folder, "m.onnx"))
            for model in (path, pathlib.Path(path), pathlib.Path(path).read_bytes()):
                session = package.session(model)
                self.assertIn(package.get_ep_name(), session.get_providers())
                self.assertFalse(is_by_row(session))
            session = package.session(model=path, session_options=settings, activation_scales="per_row", threads=1, verbose=False)
            self.assertEqual(session.get_session_options().intra_op_num_threads, 3)
            self.assertTrue(is_by_row(session))
            for options, expected in (
                ({"activation_scales": "row"}, "option 'activation_scales': expected per_tensor or per_row, given 'row'"),
                ({"threads": -1}, "option 'threads': expected a number of threads, or 0 for all of the session, given '-1'"),
                ({"modell": 1}, "option 'modell': expected activation_scales, claim, threads, verbose or weight_only"),
                ({"session_options": settings}, "session_options: expected ones without the provider, given those of an earlier session()"),
            ):
                with self.subTest(options=options), self.assertRaises(ValueError) as raised:
                    package.session(path, **options)
                self.assertTrue(str(raised.exception).startswith(expected), raised.exception)
            with self.assertRaisesRegex(Exception, "none.onnx"):
                package.session(str(pathlib.Path(folder, "none.onnx")))

    def test_registering_twice(self):
        """And after somebody else, under another name. In a process of its own, as others here register."""
        code = (
            "import onnxruntime, onnxruntime_ep_dynquant as p\n"
            "count = lambda: sum(d.ep_name == p.get_ep_name() for d in onnxruntime.get_ep_devices())\n"
            "onnxruntime.register_execution_provider_library('another', p.get_library_path())\n"
            "before = count()\n"
            "p.register(); p.register()\n"
            "assert count() == before > 0\n"
            "onnxruntime.unregister_execution_provider_library('another')\n"
            "assert count() == 0\n"
            "p.register()\n"
            "assert count() == before\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        of_qemu = "onnxruntime cpuid_info warning: Unknown CPU vendor. cpuinfo_vendor value: 0\n"  # its processor has no name
        self.assertEqual((done.returncode, done.stderr.removeprefix(of_qemu)), (0, ""))

    def test_a_list_of_providers(self):
        """ONNX Runtime before 1.25 takes none of a library, and makes a session without it."""
        package.register()
        version = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ONNX Runtime's
            path = models.product(pathlib.Path(folder, "m.onnx"))
            session = onnxruntime.InferenceSession(path, providers=[package.get_ep_name(), "CPUExecutionProvider"])
        self.assertEqual(package.get_ep_name() in session.get_providers(), version >= (1, 25))

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
