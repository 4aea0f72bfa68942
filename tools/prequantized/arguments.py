"""The arguments of scripts/prequantized. Needs no packages: --help and mistakes are answered before anything is built."""

import argparse
import pathlib

from reporting.arguments import add_timing, file

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "build/release/tools"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="scripts/prequantized",
        description="What models/docs/prequantized.md shows, made and measured on this machine.",
        allow_abbrev=False,  # the script looks for --help
    )
    commands = result.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, allow_abbrev=False)

    train = command("train", "write the float models of digits, and images to calibrate and to test by")
    train.add_argument("folder", type=pathlib.Path)
    digits = command("accuracy", "the same networks, codified and run beside ONNX Runtime")
    times = command("speed", "models and rescalings, timed beside ONNX Runtime")
    times.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this in it")
    add_timing(times, milliseconds=200)
    times.add_argument("--dqbench", type=file, metavar="PROGRAM", default=TOOLS / "dqbench/dqbench", help="(the one that is built here)")
    tables = command("lookup", "tables of bytes, timed beside the limit of loads and stores")
    tables.add_argument("--program", type=file, default=TOOLS / "lookup_speed/lookup_speed", help="(the one that is built here)")
    for each in (digits, times):
        each.add_argument("--dqmodel", type=file, metavar="PROGRAM", default=TOOLS.parent / "models/dqmodel/dqmodel", help="(the one that is built here)")
        each.add_argument("--chart", type=pathlib.Path, metavar="FILE.svg", help="draw it too")
    return result


if __name__ == "__main__":
    parser().parse_args()
