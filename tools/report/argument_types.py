"""Types of what scripts are asked for. Needs Python alone, so that mistakes are answered before anything is built."""

import argparse
import math
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
    return path.absolute()  # programs and libraries of a name alone are looked for elsewhere
