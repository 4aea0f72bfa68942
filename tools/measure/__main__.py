"""scripts/measure: reads the arguments, installs and builds what the suite needs, and starts run.py. Needs no packages."""

import os
import subprocess
import sys

from .arguments import ROOT, SUITES, parse


def main() -> None:
    given = parse()
    one = SUITES[given.suite]
    for option in one.setup:
        subprocess.run([ROOT / "scripts/setup", option], check=True, stdout=sys.stderr)
    if not (given.build or given.draw):
        subprocess.run([ROOT / "scripts/build", "release", *one.targets], check=True, stdout=sys.stderr)
    python = str(ROOT / ".deps" / one.environment / "bin/python")
    os.execv(python, [python, "-m", "measure.run", *sys.argv[1:]])


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
