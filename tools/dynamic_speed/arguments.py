"""The arguments of scripts/compare-dynamic. Needs no packages, so that mistakes are answered before a build."""

import argparse
import pathlib

from reporting.arguments import add_timing, file

DQBENCH = pathlib.Path(__file__).resolve().parents[2] / "build/release/tools/dqbench/dqbench"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        allow_abbrev=False,  # the script looks for --help
        prog="scripts/compare-dynamic",
        description="Times dynquant's computed scales beside ONNX Runtime, pi-quant, torchao, FBGEMM and ggml, in turns.",
    )
    option = result.add_argument
    option("--setup", action="store_true", help="only install the libraries into .deps/dynamic: PyTorch with its libraries takes 6 GB there")
    option("--flat", action="store_true", help="beside a loop that only reads src and writes dst instead, on each instruction set, by dqbench alone")
    option("--only", default="", metavar="TEXT", help="only cases whose name in the tables contains TEXT")
    add_timing(result, milliseconds=100)
    option("--dqbench", type=file, metavar="FILE", default=DQBENCH, help="dynquant's driver (this tree's)")
    option("--eager", action="store_true", help="leave out what torch.compile compiles, which takes half a minute for each case")
    option("--tables", type=pathlib.Path, metavar="FILE.md", help="write the tables to this file, and do not print them")
    return result


if __name__ == "__main__":
    parser().parse_args()
