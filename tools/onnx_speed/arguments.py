"""The arguments of scripts/compare-onnxruntime. Needs no packages: --help and mistakes are answered before anything is built."""

import argparse
import pathlib

from reporting.arguments import add_timing, file

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        allow_abbrev=False,  # the script looks for --help
        prog="scripts/compare-onnxruntime",
        description="dynquant's operators in ONNX Runtime beside its own and beside Quark's library, in one run.",
    )
    option = result.add_argument
    option("--networks", action="store_true", help="whole networks in place of single operators, quantized by ONNX Runtime's tools")
    option("--only", default="", metavar="TEXT", help="nodes or networks whose name has this in it, as the tables name them")
    add_timing(result, milliseconds=60)
    option("--library", type=file, metavar="FILE", default=BUILD / "src/libdynquant_ort.so",
           help="dynquant's library for ONNX Runtime (the one that is built here)")  # fmt: skip
    option("--quark", type=file, metavar="FILE", default=BUILD / "tests/differential/libquark_operators.so",
           help="Quark's own library (the one that is built here; its operators are left out where there is none)")  # fmt: skip
    option("--results", type=pathlib.Path, metavar="FILE", help="add the figures to those of this file, and write the tables of all")
    option("--chart", type=pathlib.Path, metavar="FILE.svg", help="draw them too")
    return result


if __name__ == "__main__":
    parser().parse_args()
