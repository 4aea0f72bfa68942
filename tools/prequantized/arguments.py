"""The arguments of scripts/prequantized. Needs no packages, so that mistakes are answered before a build."""

import argparse
import pathlib

from reporting.arguments import add_timing, file

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "build/release/tools"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="scripts/prequantized",
        description="Makes and measures on this machine what the pages of models/docs show.",
        allow_abbrev=False,  # the script looks for --help
    )
    commands = result.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, allow_abbrev=False)

    train = command("train", "write the float models of digits, and their calibration and test images")
    train.add_argument("folder", type=pathlib.Path)
    digits = command("accuracy", "codify the networks of digits and compare them with ONNX Runtime")
    times = command("speed", "time models and rescalings against ONNX Runtime")
    times.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains TEXT")
    add_timing(times, milliseconds=200)
    times.add_argument("--dqbench", type=file, metavar="PROGRAM", default=TOOLS / "dqbench/dqbench", help="(the one that is built here)")
    for each in (digits, times):
        each.add_argument("--dqmodel", type=file, metavar="PROGRAM", default=TOOLS.parent / "models/dqmodel/dqmodel", help="(the one that is built here)")
        each.add_argument("--chart", type=pathlib.Path, metavar="FILE.svg", help="also draw a chart")
    return result


if __name__ == "__main__":
    parser().parse_args()
