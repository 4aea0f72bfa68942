"""scripts/pages-in-debian takes from a page what a reader types, and runs it in turn until something fails."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/pages-in-debian"
loader = importlib.machinery.SourceFileLoader("pages_in_debian", str(SCRIPT))
pages = importlib.util.module_from_spec(importlib.util.spec_from_loader("pages_in_debian", loader))
loader.exec_module(pages)

PAGE = """\
# A page
```console
$ ./one
its output
$ ./two
```
1. in a list
   scripts/no

    scripts/three --a \\
        --b    # why
    pip install four

```sh
scripts/five && cd six
```
    1.5 ms    output, no command

    pip install seven

    import seven
    seven.eight()
"""


class Pages(unittest.TestCase):
    def test_commands_of_blocks_in_the_page_s_order(self):
        self.assertEqual(pages.commands(PAGE), ["./one", "./two", "scripts/three --a     --b    # why", "pip install four",
                                                "scripts/five && cd six", "pip install seven"])

    def test_rows_of_the_debian_and_of_its_python(self):
        table = ("| you have | line |\n|---|---|\n| Python | `pip install a-cp312-abi3.whl`; 3.11 has `cp311-cp311` |\n"
                 "| Debian 13 | `apt install ./b.deb` |\n| Debian 12 | `apt install ./c.deb` |\n| vcpkg | a port |\n")
        self.assertEqual(pages.rows(table, "bookworm"), ["pip install a-cp311-cp311.whl", "apt install ./c.deb"])
        self.assertEqual(pages.rows(table, "trixie"), ["pip install a-cp312-abi3.whl", "apt install ./b.deb"])

    def test_a_page_ends_where_a_command_fails(self):
        for lines, printed, status in ((["echo 1", "cd /", "pwd"], ["1", "/"], 0), (["echo 1", "false && true", "echo 2"], ["1"], 1),
                                       (["(exit 3)", "echo 2"], [], 3)):
            with self.subTest(lines=lines):
                text = pages.SHELL + pages.script("p.md", lines) + "page"
                done = subprocess.run(["bash", "-c", text], capture_output=True, text=True)
                said = [line for line in done.stdout.splitlines() if line and not line.startswith("pages: ")]
                self.assertEqual((said, done.returncode), (printed, status))
                self.assertEqual(f"pages: status {status}" in done.stdout, status != 0)

    def test_how_each_page_ended(self):
        name = """p.md: true -o "&:it's=`no`" $HOME"""
        text = pages.all_of([(name, ["true"]), ("q.md", ["(exit 3)"]), ("r.md", ["cat"])])
        done = subprocess.run(["bash", "-c", "cd() { :; }\n" + text], capture_output=True, text=True)
        ended = re.findall(r"^pages: ended (\d+) \d+ (.*)$", done.stdout, re.MULTILINE)
        self.assertEqual(ended, [("0", name), ("3", "q.md"), ("0", "r.md")])

    def test_wheels_are_installed_from_their_folder_without_a_compiler(self):
        for line, compiles in (("pip install onnxruntime a.whl", False), ("pip install a.whl", False), ("pip install a.tar.gz", True)):
            with self.subTest(line=line):
                text = pages.script("docs/install.md", [line])
                self.assertIn('cd "/src/$RELEASED"\n', text)
                self.assertEqual("g++" in text, compiles)

    def test_readme_s_first_line_has_the_packages_that_readme_names_and_is_tried(self):
        line, *_ = pages.commands((pages.ROOT / "README.md").read_text())
        self.assertIn("pip install onnxruntime .", line)
        steps = pages.script("README.md", [line])
        packages = re.search(r"Debian: `apt install ([^`]*)`", (pages.ROOT / "README.md").read_text())[1]
        self.assertRegex(steps, rf"apt-get install [-\w ]*{re.escape(packages)}\n")
        self.assertLess(steps.index(packages), steps.index(line))
        self.assertLess(steps.index(line), steps.index("test_per_row.py"))

    def test_what_it_refuses(self):
        for arguments, message in (([], "expected bookworm, trixie, --list or --help, given nothing"), (["sid"], "given sid"),
                                   (["trixie", "none.md"], "expected pages of this tree, given none.md")):
            with self.subTest(arguments=arguments):
                done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("pages-in-debian: ", done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
