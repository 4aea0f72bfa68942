"""Runs the GoogleTest cases, and ctest's other tests, whose names contain one of those given.

usage: run_cases.py BUILD_FOLDER NAME...
"""
import difflib
import fnmatch
import json
import os
import pathlib
import subprocess
import sys


def cases_in(listing):
    """The full names in the output of --gtest_list_tests."""
    suite, names = "", []
    for line in listing.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.strip() or name.startswith("Running main()"):
            continue
        if name.startswith(" "):
            names.append(suite + name.strip())
        else:
            suite = name
    return names


def matching(names, wanted):
    """`wanted` is a part of a name, or a pattern with * and ?."""
    if any(c in wanted for c in "*?"):
        return [n for n in names if fnmatch.fnmatchcase(n, wanted)]
    return [n for n in names if wanted in n]


def near(names, wanted):
    """Names, suites and cases with a similar spelling, the nearest first."""
    candidates = set()
    for name in names:
        candidates.add(name)
        candidates.update(part for part in name.replace("/", ".").split(".") if not part.isdigit())
    return difflib.get_close_matches(wanted, sorted(candidates), n=5, cutoff=0.6)


def programs_of(build):
    """[(path, environment, names)] of the test programs without the label `long`."""
    result = []
    for line in (build / "tests/programs.txt").read_text().splitlines():
        label, path, *variables = line.rstrip("\t").split("\t")
        if label != "long":
            environment = {**os.environ, **dict(v.split("=", 1) for v in variables)}
            listing = subprocess.run([path, "--gtest_list_tests"], env=environment, check=True, text=True, stdout=subprocess.PIPE)
            result.append((path, environment, cases_in(listing.stdout)))
    return result


def other_tests(build, programs):
    """ctest's tests that are none of those programs, without the label `long`."""
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, text=True, stdout=subprocess.PIPE)
    paths = {path for path, _, _ in programs}

    def is_long(test):
        return any(p["name"] == "LABELS" and "long" in p["value"] for p in test.get("properties", []))

    return [t["name"] for t in json.loads(listing.stdout)["tests"] if t.get("command", [""])[0] not in paths and not is_long(t)]


def main(build, wanted):
    programs = programs_of(build)
    others = other_tests(build, programs)
    names = [n for _, _, cases in programs for n in cases] + others
    for name in wanted:
        if not matching(names, name):
            alike = near(names, name)
            hint = f" Near names: {', '.join(alike)}." if alike else ""
            sys.exit(f"test: expected a part of a case's name, or a pattern such as '*axis*', given '{name}'.{hint}")
    failed = False
    for path, environment, cases in programs:
        chosen = [c for c in cases if any(matching([c], w) for w in wanted)]
        if chosen:
            print(f"test: {path}", flush=True)
            # Patterns, because all names may exceed the length of a command line.
            patterns = ":".join(w if any(c in w for c in "*?") else f"*{w}*" for w in wanted)
            failed |= subprocess.run([path, f"--gtest_filter={patterns}"], env=environment).returncode != 0
    chosen = [n for n in others if any(matching([n], w) for w in wanted)]
    if chosen:
        expression = "^(" + "|".join(n.replace(".", "[.]") for n in chosen) + ")$"
        failed |= subprocess.run(["ctest", "--test-dir", str(build), "--output-on-failure", "-R", expression]).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
