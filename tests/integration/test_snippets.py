"""The C++ and Python blocks of the pages compile, and name what is there. Links lead to what is there.

What the blocks of a page assume, such as a variable, stands in snippets/PAGE.hpp and snippets/PAGE.py, PAGE being its
path with _ for /. A block of C++ is a file by itself if it has a main, else a function's body. Blocks of Python run in
turn, in a stand-in of ONNX Runtime that has the names of the real one and does nothing.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSUMED = pathlib.Path(__file__).with_name("snippets")
LEFT_OUT = {"cmake", "console", "json", "sh", "text"}


def pages(root):
    folders = (".", ".ci", ".github", "docs", "examples", "models", "python", "tools")
    return sorted(page for folder in folders for page in (root / folder).glob("**/*.md" if folder != "." else "*.md"))


def blocks(text):
    """(language, number of the first line, lines) of each fenced block."""
    found = []
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        if fence := re.match(r"\s*```\s*(.*)", line):
            if opened is None:
                opened = (fence[1], number + 1, [])
                found.append(opened)
            else:
                opened = None
        elif opened is not None:
            opened[2].append(line)
    return found


def anchors(text):
    """The ends of addresses by which a page's headings are reached, as GitHub makes them."""
    shown = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", shown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def dead_links(page, text):
    """Relative links of a page to a file or a heading that is not there."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or heading and (file.suffix != ".md" or heading not in anchors(file.read_text())):
            dead.append(target)
    return dead


def assumed_by(page, ending):
    return ASSUMED / (page.relative_to(ROOT).as_posix().replace("/", "_").removesuffix(".md") + ending)


def cpp_file(page, text, assumed):
    """A file of all blocks of C++; messages about it name the page and its lines. None without such blocks."""
    includes, bodies = [], []
    for language, number, lines in blocks(text):
        if language != "cpp":
            continue
        for place, line in enumerate(lines):
            if line.startswith("#include"):
                includes += [f'#line {number + place} "{page}"', line]
        code = "\n".join("" if line.startswith("#include") else line for line in lines)
        a_file = re.search(r"\bmain\(", code)
        around = f"namespace line_{number}" if a_file else f"[[maybe_unused]] static void line_{number}()"
        bodies += [around + " {", f'#line {number} "{page}"', code, "}"]
    if not bodies:
        return None
    if assumed.exists():
        includes.append(f'#include "{assumed}"')
    return "\n".join(includes + bodies) + "\n"


def errors_of_cpp(page, text, assumed):
    source = cpp_file(page, text, assumed)
    if source is None:
        return ""
    # Not -isystem, which would hide C's headers if a folder is /usr/include.
    folders = [f"-I{folder}" for folder in (ROOT / "include", *os.environ["INCLUDE_FOLDERS"].split(":"))]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write(source)
        file.flush()
        command = [os.environ["CXX"], "-std=c++17", "-fsyntax-only", *folders, file.name]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if run.returncode == 0 else run.stdout


class Pages(unittest.TestCase):
    def test_every_block_names_its_language(self):
        known = LEFT_OUT | {"cpp", "python"}
        wrong = [(page.relative_to(ROOT).as_posix(), number, language) for page in pages(ROOT)
                 for language, number, _ in blocks(page.read_text()) if language not in known]
        self.assertEqual(wrong, [], f"expected one of {sorted(known)}")

    def test_links_lead_somewhere(self):
        self.assertEqual([(page.relative_to(ROOT).as_posix(), target) for page in pages(ROOT)
                          for target in dead_links(page, page.read_text())], [])

    def test_dead_links_are_found(self):
        page = ROOT / "README.md"
        text = "# A `b`, c\n[a](README.md) [b](#a-b-c) [c](docs/onnx.md#onnx) [d](https://a.b) [e](nothing.md) [f](#a-b) [g](docs/onnx.md#none)"
        with unittest.mock.patch.object(pathlib.Path, "read_text", lambda self: text if self == page else "# ONNX\n"):
            self.assertEqual(dead_links(page, text), ["nothing.md", "#a-b", "docs/onnx.md#none"])

    def test_blocks(self):
        text = "a\n```cpp\nint x;\n\nint y;\n```\n\n```\nb\n```\n  ```python\n  c\n  ```\n"
        self.assertEqual(blocks(text), [("cpp", 3, ["int x;", "", "int y;"]), ("", 9, ["b"]), ("python", 12, ["  c"])])

    def test_what_is_assumed_belongs_to_a_page(self):
        used = {assumed_by(page, ending) for page in pages(ROOT) for ending in (".hpp", ".py")}
        self.assertEqual({path for path in ASSUMED.iterdir() if path.suffix in (".hpp", ".py")} - used, set())


class Cpp(unittest.TestCase):
    def test_blocks_compile(self):
        texts = {page: page.read_text() for page in pages(ROOT)}
        self.assertTrue(any(language == "cpp" for language, *_ in blocks(texts[ROOT / "README.md"])))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = pool.map(lambda page: errors_of_cpp(page, texts[page], assumed_by(page, ".hpp")), texts)
            if errors := "".join(errors):
                self.fail(errors)

    def test_a_misspelt_name_is_found(self):
        page = "```cpp\n#include <dynquant/quantization.hpp>\n\ndynquant::quantization q;\nq.%s = {};\n```\n"
        nothing = pathlib.Path("/nothing")
        self.assertEqual(errors_of_cpp("a.md", page % "src", nothing), "")
        self.assertIn("a.md:5:", errors_of_cpp("a.md", page % "scr", nothing))

    def test_a_program_is_a_file(self):
        page = "```cpp\n#include <cstdio>\nnamespace n = std;\nint main() { n::%s(\"\"); }\n```\n"
        nothing = pathlib.Path("/nothing")
        self.assertEqual(errors_of_cpp("a.md", page % "puts", nothing), "")
        self.assertIn("a.md:4:", errors_of_cpp("a.md", page % "putz", nothing))


def stand_ins():
    """Modules that have the names of ONNX Runtime's and of the Python package, and do nothing."""
    import onnxruntime
    import onnxruntime.quantization
    import onnxruntime_ep_dynquant as package

    runtime = unittest.mock.create_autospec(onnxruntime)
    device = unittest.mock.create_autospec(onnxruntime.OrtEpDevice, instance=True)
    device.ep_name = package.get_ep_name()
    runtime.get_ep_devices.return_value = [device]
    stand_in = unittest.mock.create_autospec(package)
    stand_in.get_ep_name.return_value = package.get_ep_name()
    return {"onnxruntime": runtime, "onnxruntime.quantization": unittest.mock.create_autospec(onnxruntime.quantization),
            "onnxruntime_ep_dynquant": stand_in}


def run_python(page, text, assumed):
    """Runs the blocks of Python in turn; returns how many."""
    names = {}
    count = 0
    with unittest.mock.patch.dict(sys.modules, stand_ins()):
        if assumed.exists():
            exec(compile(assumed.read_text(), assumed, "exec"), names)
        for language, number, lines in blocks(text):
            if language == "python":
                code = "\n" * (number - 1) + "\n".join(lines) + "\n"
                exec(compile(code, page, "exec"), names)
                count += 1
    return count


class Python(unittest.TestCase):
    def test_blocks_run(self):
        counts = {}
        for page in pages(ROOT):
            with self.subTest(page=page.relative_to(ROOT).as_posix()):
                counts[page] = run_python(page, page.read_text(), assumed_by(page, ".py"))
        self.assertGreater(sum(counts.values()), 0)

    def test_misspelt_names_are_found(self):
        nothing = pathlib.Path("/nothing")
        right = ["import onnxruntime, onnxruntime_ep_dynquant as d", "options = onnxruntime.SessionOptions()",
                 "devices = [e for e in onnxruntime.get_ep_devices() if e.ep_name == d.get_ep_name()]",
                 "options.add_provider_for_devices(devices[:1], {})"]
        self.assertEqual(run_python("a.md", "\n".join(["```python", *right, "```"]), nothing), 1)
        for wrong in ("onnxruntime.SessionOption()", "options.add_provider_for_device([], {})", "option.ep",
                      "d.get_ep()", "[e.name_of_ep for e in onnxruntime.get_ep_devices()]"):
            with self.subTest(wrong=wrong), self.assertRaises((AttributeError, NameError)):
                run_python("a.md", "\n".join(["```python", *right, wrong, "```"]), nothing)


if __name__ == "__main__":
    unittest.main()
