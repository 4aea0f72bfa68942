"""Arguments of scripts. Needs no packages, so that mistakes are answered before anything is built."""

import argparse
import math
import os
import pathlib


def one_or_more(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, given '{text}'")
    return number


def above_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"expected a number above 0, given '{text}'")
    return number


def file(text: str) -> pathlib.Path:
    path = pathlib.Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"expected a file, given '{text}'")
    return path.absolute()  # exec and dlopen search a bare name elsewhere


def add_timing(parser: argparse.ArgumentParser, milliseconds: int) -> None:
    """Adds --threads, --rounds and --milliseconds."""
    parser.add_argument("--threads", type=one_or_more, nargs="+", metavar="N", default=sorted({1, len(os.sched_getaffinity(0))}),
                        help="a table for each number (1 and the number of cores)")  # fmt: skip
    parser.add_argument("--rounds", type=one_or_more, default=5, metavar="N", help="turns of each library (5)")
    parser.add_argument("--milliseconds", type=above_zero, default=milliseconds, metavar="MS",
                        help=f"the least duration of a turn ({milliseconds})")  # fmt: skip
