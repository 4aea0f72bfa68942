"""The tree keeps its rules: a layer includes only layers below it, and every file is compiled once."""
import collections
import json
import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A layer and the layers that its files may include besides itself: folders or files. The layer of a file is the longest
# name that matches.
CORE = {"dynquant", "elements", "parallel", "quantization", "targets"}
STATEMENT = CORE - {"dynquant"} | {"dynquant/quantization.hpp"}  # not dynquant/onnx.hpp: no front-end
MAY_INCLUDE = {
    "parallel": set(),
    "elements": {"dynquant"},
    "targets": {"dynquant", "elements"},
    "quantization": {"dynquant", "elements", "targets"},
    "kernels": CORE,
    "kernels/native": CORE | {"kernels/kernel.hpp"},
    "kernels/onednn": CORE | {"kernels/kernel.hpp", "oneapi"},
    "kernels/reference": CORE | {"kernels/kernel.hpp"},
    "layers/epilogue": STATEMENT,
    "layers/gemm": STATEMENT,
    "layers/conv": STATEMENT | {"layers/gemm"},
    "layers/narrow_floats": STATEMENT,
    "layers/layer": STATEMENT | {"layers/conv", "layers/epilogue", "layers/gemm"},
    "layers/match": STATEMENT | {"layers/layer"},
    "graph": CORE | {"kernels/kernels.hpp", "oneapi"},
    "graph/layer": CORE | {"graph", "kernels/kernels.hpp", "layers", "oneapi"},
    "onnx": CORE | {"kernels/kernels.hpp"},
    "onednn_graph": {"dynquant", "graph", "kernels/kernels.hpp", "oneapi", "quantization"},
    "onnxruntime/common": CORE | {"kernels/kernels.hpp", "layers/conv", "onnx"},
    "onnxruntime/domains": CORE | {"onnx", "onnxruntime/common"},
    "onnxruntime/provider": CORE | {"kernels/kernels.hpp", "layers", "onnx", "onnxruntime/common"},
    "model": CORE | {"layers", "model_file.pb.h", "oneapi", "onnx"},
}
ONEAPI_TYPES = {"oneapi/dnnl/dnnl_types.h"}  # types only, without functions: any layer


def forbidden_includes(source, folders=(".",)):
    """The pairs (file, included file) that no layer allows."""
    found = []
    for path in sorted(p for folder in folders for p in (source / folder).rglob("*.[ch]pp")):
        file = path.relative_to(source).as_posix()
        layer = max((name for name in MAY_INCLUDE if file.startswith(name + "/")), key=len, default=None)
        if layer is None:
            found.append((file, "a layer of the table in " + pathlib.Path(__file__).name))
            continue
        allowed = MAY_INCLUDE[layer] | {layer}
        for included in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE):
            if included in ONEAPI_TYPES:
                continue
            if not any(included == name or included.startswith(name + "/") for name in allowed):
                found.append((file, included))
    return found


def floors_of_headers(source, folder):
    """The depth of the longest chain of includes among a folder's headers."""
    def floors(path):
        included = re.findall(r'^\s*#\s*include "(' + re.escape(folder) + r'/[^"]+)"', path.read_text(), re.MULTILINE)
        return max((1 + floors(source / header) for header in included), default=0)

    return max(floors(path) for path in (source / folder).rglob("*.cpp"))


def compiled_more_than_once(commands):
    """{file: number of commands}."""
    files = collections.Counter(os.path.realpath(os.path.join(c["directory"], c["file"])) for c in commands)
    return {file: count for file, count in files.items() if count > 1}


# Only src/targets asks the processor and has its intrinsics; others pick by features, which have no order.
ASKS_THE_PROCESSOR = re.compile(r"__builtin_cpu_\w+|\bcpuid\b|__get_cpuid\w*|getauxval|xgetbv")
INCLUDES_INTRINSICS = re.compile(r"#\s*include\s*<\w+(intrin|_neon|_sve)\.h>")
ORDERS_INSTRUCTION_SETS = re.compile(r"[<>]=?\s*(dynquant::)?isa::|isa::\w+\s*[<>]|(min|max)\([^;]*isa|best_isa\(\)\s*[<>]"
                                     r"|[<>]=?\s*(dynquant::)?best_isa")


def lines_with(pattern, root, folders, but=()):
    """(file, line number) of the lines of C++ where the pattern is found, outside the folders `but`."""
    found = []
    for path in sorted(p for folder in folders for p in (root / folder).rglob("*.[ch]pp")):
        if any(path.is_relative_to(root / folder) for folder in but):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(line.split("//")[0]):
                found.append((path.relative_to(root).as_posix(), number))
    return found


class Sources(unittest.TestCase):
    FOLDERS = ("src", "include", "models", "tools", "tests", "examples")

    def tree(self, files):
        """A temporary folder with these files."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = pathlib.Path(folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return pathlib.Path(folder.name)

    def test_only_targets_asks_the_processor(self):
        self.assertEqual(lines_with(ASKS_THE_PROCESSOR, ROOT, self.FOLDERS, ["src/targets"]), [])
        self.assertNotEqual(lines_with(ASKS_THE_PROCESSOR, ROOT, ["src/targets"]), [])

    def test_only_targets_has_intrinsics(self):
        control_word = ("src/parallel/float_control.hpp", 5)  # MXCSR, no vector
        self.assertEqual(lines_with(INCLUDES_INTRINSICS, ROOT, ["src", "models"], ["src/targets"]), [control_word])
        self.assertNotEqual(lines_with(INCLUDES_INTRINSICS, ROOT, ["src/targets"]), [])

    def test_instruction_sets_have_no_order(self):
        self.assertEqual(lines_with(ORDERS_INSTRUCTION_SETS, ROOT, self.FOLDERS), [])

    def test_an_order_is_found(self):
        lines = ["if (value >= isa::avx2) return 1;", "if (isa::avx2 < value) return 1;", "return value == isa::avx2;",
                 "const auto most = std::min(isa::avx2, cap);", "if (best_isa() > cap) return;", "// >= isa::avx2",
                 "if (__builtin_cpu_supports(name)) return;"]
        root = self.tree({"src/x.cpp": "\n".join(lines)})
        self.assertEqual([number for _, number in lines_with(ORDERS_INSTRUCTION_SETS, root, ["src"])], [1, 2, 4, 5])
        self.assertEqual(lines_with(ASKS_THE_PROCESSOR, root, ["src"]), [("src/x.cpp", 7)])

    def test_layers_hold(self):
        self.assertEqual(forbidden_includes(ROOT / "src"), [])
        self.assertEqual(forbidden_includes(ROOT / "models", ["model"]), [])

    def test_a_forbidden_include_is_found(self):
        source = self.tree({
            "quantization/check.cpp": '#include "quantization/shape.hpp"\n#include "kernels/kernels.hpp"\n',
            "kernels/native/plan.cpp": '#include "kernels/onednn/lowering.hpp"\n',
            "kernels/kernels.cpp": '#include "kernels/native/plan.hpp"\n',
            "elsewhere/new.cpp": "",
        })
        self.assertEqual(forbidden_includes(source), [
            ("elsewhere/new.cpp", "a layer of the table in test_sources.py"),
            ("kernels/native/plan.cpp", "kernels/onednn/lowering.hpp"),
            ("quantization/check.cpp", "kernels/kernels.hpp"),
        ])

    def test_the_provider_matches_only_what_it_claims(self):
        """What it compiles it has claimed, so that it cannot refuse it then."""
        calls = lines_with(re.compile(r"\bfind_(layer|row_scales)\("), ROOT, ["src/onnxruntime"])
        self.assertEqual({file for file, _ in calls}, {"src/onnxruntime/provider/claims.cpp"})

    def test_headers_of_the_native_kernel_are_at_most_six_deep(self):
        self.assertLessEqual(floors_of_headers(ROOT / "src", "kernels/native"), 6)

    def test_headers_below_each_other_are_counted(self):
        source = self.tree({"a/x.cpp": '#include "a/one.hpp"\n', "a/one.hpp": '#include "a/two.hpp"\n',
                            "a/two.hpp": '#include "b/three.hpp"\n', "a/y.cpp": '#include "a/two.hpp"\n'})
        self.assertEqual(floors_of_headers(source, "a"), 2)

    def test_every_file_of_the_libraries_and_tools_is_compiled_once(self):
        with open(os.environ["COMPILE_COMMANDS"]) as file:
            commands = json.load(file)
        repeated = compiled_more_than_once(commands)
        ours = {file: count for file, count in repeated.items()
                if any(pathlib.Path(file).is_relative_to(ROOT / folder)
                       for folder in ("src", "tools", "models/model", "models/dqmodel"))}
        self.assertEqual(ours, {})
        compiled = {os.path.realpath(os.path.join(c["directory"], c["file"])) for c in commands}
        self.assertTrue(str(ROOT / "src/parallel/parallel.cpp") in compiled, "expected the commands of this tree")

    def test_a_file_that_is_compiled_twice_is_found(self):
        commands = [{"directory": "/b", "file": "/s/a.cpp"}, {"directory": "/b", "file": "../s/a.cpp"},
                    {"directory": "/b", "file": "/s/b.cpp"}]
        self.assertEqual(compiled_more_than_once(commands), {"/s/a.cpp": 2})

    def test_every_page_names_the_version_of_the_header(self):
        numbers = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/dynquant/version.hpp").read_text())
        version = ".".join(numbers)
        self.assertEqual(re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0], version)
        self.assertEqual(re.match(r"dynquant \((.+)-\d+\)", (ROOT / "debian/changelog").read_text())[1], version)
        minor = ".".join(numbers[:2])
        named = re.findall(r"libdynquant([\d.]+)", "".join((ROOT / "debian" / f).read_text() for f in ("control", "rules")))
        self.assertEqual(set(named), {minor})


if __name__ == "__main__":
    unittest.main()
