"""scripts/prequantized: what docs/prequantized.md shows, made and measured on this machine."""

import argparse
import os
import pathlib
import subprocess
import sys

from . import accuracy, page, speed
from .dqmodel import PROGRAM, DqModel


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/prequantized", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="write the float models of digits, and images to calibrate and to test by")
    train.add_argument("folder", type=pathlib.Path)
    train.set_defaults(run=write_digits)
    digits = commands.add_parser("accuracy", help="the same networks, codified and run beside ONNX Runtime")
    digits.set_defaults(run=accuracies)
    times = commands.add_parser("speed", help="models and rescalings, timed beside ONNX Runtime")
    times.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this in it")
    times.add_argument("--threads", type=int, nargs="+", default=sorted({1, len(os.sched_getaffinity(0))}))
    times.add_argument("--rounds", type=int, default=5, help="how often each takes its turn (5)")
    times.add_argument("--milliseconds", type=float, default=200, help="how long a turn takes at least (200)")
    times.add_argument("--dqbench", type=pathlib.Path, metavar="PROGRAM", default=speed.DQBENCH)
    times.set_defaults(run=speeds)
    tables = commands.add_parser("lookup", help="tables of bytes, timed beside the limit of loads and stores")
    tables.add_argument("--program", type=pathlib.Path, default=PROGRAM.parents[1] / "lookup_speed/lookup_speed")
    tables.set_defaults(run=lambda given: subprocess.run([given.program], check=True))
    for command in (digits, times):
        command.add_argument("--dqmodel", type=pathlib.Path, metavar="PROGRAM", default=PROGRAM)
        command.add_argument("--chart", type=pathlib.Path, metavar="FILE.svg", help="draw it too")
    return parser.parse_args()


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
        from . import chart  # wants matplotlib

        chart.accuracies(outcomes, given.chart)


def speeds(given: argparse.Namespace) -> None:
    timings = []
    programs = speed.Programs(DqModel(given.dqmodel), given.dqbench)
    for threads in given.threads:
        for case in speed.cases():
            if given.only not in case.name:
                continue
            progress(f"{case.name}, threads {threads}")
            timings.append(speed.measure(case, threads, programs, given.rounds, given.milliseconds / 1e3))
    print(page.speeds(timings))
    if given.chart:
        from . import chart  # wants matplotlib

        chart.speeds(timings, given.chart)


def main() -> int:
    given = arguments()
    given.run(given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
