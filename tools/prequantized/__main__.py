"""scripts/prequantized: makes and measures on this machine what the pages of models/docs show.

Start at main(), which has a function for each command. accuracy.py trains networks on handwritten digits (digits.py,
network.py), codifies them by dqmodel and compares them with ONNX Runtime (runtime.py). speed.py times models and
rescalings. page.py and chart.py write the results, which result.py defines.
"""

import argparse
import sys

from . import accuracy, page, speed
from .arguments import parser
from .dqmodel import DqModel


def progress(text: str) -> None:
    print(f"prequantized: {text}", file=sys.stderr, flush=True)


def write_digits(given: argparse.Namespace) -> None:
    for path in accuracy.write(given.folder):
        progress(f"written {path}")


def accuracies(given: argparse.Namespace) -> None:
    outcomes = []
    for o in accuracy.outcomes(DqModel(given.dqmodel)):
        progress(f"{o.network}, {o.activation}, {o.variant.rescale}, {o.variant.activation}")
        outcomes.append(o)
    print(page.accuracies(outcomes))
    if given.chart:
        from . import chart  # needs matplotlib

        chart.accuracies(outcomes, given.chart)


def speeds(given: argparse.Namespace) -> None:
    timings = []
    programs = speed.Programs(DqModel(given.dqmodel), given.dqbench)
    cases = [case for case in speed.cases() if given.only in case.name]
    if not cases:
        parser().error(f"argument --only: expected a part of the name of a case, given '{given.only}'")
    for threads in given.threads:
        for case in cases:
            progress(f"{case.name}, threads {threads}")
            timings.append(speed.measure(case, threads, programs, given.rounds, given.milliseconds / 1e3))
    print(page.speeds(timings))
    if given.chart:
        from . import chart  # needs matplotlib

        chart.speeds(timings, given.chart)


def main() -> int:
    given = parser().parse_args()
    {"train": write_digits, "accuracy": accuracies, "speed": speeds}[given.command](given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
