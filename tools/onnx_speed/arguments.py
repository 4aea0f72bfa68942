"""The arguments of scripts/compare-onnxruntime. Needs no packages, so that mistakes are answered before a build."""

import argparse
import pathlib

from reporting.arguments import add_timing, file

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        allow_abbrev=False,  # the script looks for --help
        prog="scripts/compare-onnxruntime",
        description="Times dynquant's operators in ONNX Runtime against its own and against Quark's library, in one run.",
    )
    option = result.add_argument
    what = result.add_mutually_exclusive_group()
    what.add_argument("--networks", action="store_true", help="whole networks instead of single operators, by the execution provider, and what their time is spent on")
    what.add_argument("--layers", action="store_true", help="models of one layer instead, by the execution provider; by default with one thread")
    what.add_argument("--embeddings", action="store_true",
                      help="a sentence encoder with real weights instead: int8 embeddings with one scale for activations and with one for each row, "
                           "beside float, and a text alone against the text in a batch")  # fmt: skip
    what.add_argument("--weight-only", action="store_true",
                      help="chains of layers whose weights alone are quantized instead, by the execution provider, beside float: time and memory; "
                           "by default with one thread")  # fmt: skip
    option("--only", default="", metavar="TEXT",
           help="only nodes or networks whose name in the tables contains TEXT; with --networks also 'cost of a node', 'convolutions'; "
                "layers are named like 'stems: 1x3x224x224 by 32x3x3x3, stride 2, float x, int8 weights', chains like "
                "'Gemm, 2048 x 2048, int8 per column'")  # fmt: skip
    add_timing(result, milliseconds=60)
    option("--library", type=file, metavar="FILE", default=BUILD / "src/libdynquant_onnxruntime.so",
           help="dynquant's library for ONNX Runtime (this tree's)")  # fmt: skip
    option("--quark", type=file, metavar="FILE", default=BUILD / "tests/differential/libquark_operators.so",
           help="Quark's library (this tree's; without one its operators are left out)")  # fmt: skip
    option("--results", type=pathlib.Path, metavar="FILE", help="merge the figures into this file, and print the tables of all its figures")
    option("--chart", type=pathlib.Path, metavar="FILE.svg", help="also draw a chart; not of layers and of --weight-only")
    option("--tables", type=pathlib.Path, metavar="FILE.md", help="write the tables to this file, and do not print them")
    return result


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """arguments: without them, those of the program."""
    options = parser()
    given = options.parse_args(arguments)
    if given.chart and (given.layers or given.weight_only):
        options.error(f"argument --chart: not allowed with argument {'--layers' if given.layers else '--weight-only'}")
    if given.embeddings and given.only:
        options.error("argument --only: not allowed with argument --embeddings")
    if given.layers or given.weight_only:
        options.set_defaults(threads=[1])
        given = options.parse_args(arguments)
    return given


if __name__ == "__main__":
    parse()
