"""The suites and the arguments of scripts/measure. Needs no packages, so that mistakes are answered before a build."""

import argparse
import dataclasses
import difflib
import math
import os
import pathlib
import re
import sys
import typing

from . import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs/performance"


@dataclasses.dataclass(frozen=True)
class Suite:
    """setup: options of scripts/setup. targets: what is built. rounds, milliseconds: turns of each contestant, and the least
    duration of one. threads: None stands for 1 and the number of cores, () for a suite that sets them itself. has_only:
    whether --only selects some of its cases."""

    what: str
    setup: tuple[str, ...]
    targets: tuple[str, ...]
    milliseconds: int
    rounds: int = 5
    threads: tuple[int, ...] | None = (1,)
    environment: str = "report"
    has_only: bool = True


SUITES = {
    "core": Suite("quantize and dequantize through the Graph API, beside a flat loop, oneDNN, XNNPACK, ONNX Runtime and pi-quant; names are those of batches, "
                  "perf_1_per_tensor to perf_7_peers, and python; ten minutes",
                  ("--report",), ("dqbench",), 60, rounds=3, threads=()),
    "front": Suite("the models of README's first picture, of networks and transformers; downloads 52 MB; a minute",
                   ("--report", "--networks"), ("dynquant_onnxruntime",), 60),
    "exactness": Suite("the share of results that differ from the documented formula, by oneDNN and XNNPACK; a minute", ("--report",), ("dqbench",), 0,
                       threads=()),
    "shares": Suite("computed scales beside the flat loop on each instruction set; a minute", ("--report",), ("dqbench",), 60, rounds=3),
    "dynamic": Suite("computed scales beside ONNX Runtime, pi-quant, torchao, FBGEMM and ggml; downloads 3 GB, most of it PyTorch, and keeps 6 GB; "
                     "ten minutes", ("--dynamic",), ("dqbench",), 100, threads=None, environment="dynamic"),
    "nodes": Suite("dynquant's operators for ONNX Runtime beside its own and AMD Quark's; four minutes",
                   ("--report", "--checks"), ("dynquant_onnxruntime", "quark_operators"), 60, threads=None),
    "layers": Suite("models of one layer in ONNX Runtime alone and with the execution provider; names are like 'stems: 1x3x224x224 by "
                    "32x3x3x3, stride 2, float x, int8 weights'; four minutes", ("--report",), ("dynquant_onnxruntime",), 60),
    "random_layers": Suite("500 random models of one layer, few channels, odd extents, three dimensions, dilations and weights alone among them, and "
                           "the ten slowest beside ONNX Runtime; four minutes", ("--report",), ("dynquant_onnxruntime",), 20),
    "costs": Suite("random convolutions by each algorithm, and the constants of src/layers/conv/cost.cpp that fit them; --rounds is the number of "
                   "seeds; a minute", ("--report",), ("layer_costs",), 0, rounds=2, has_only=False),
    "weight_only_costs": Suite("random layers whose weights alone are quantized, claimed all, beside ONNX Runtime, the constants of "
                               "src/onnxruntime/common/weight_only_cost.cpp that fit them, and what leaving layers by them loses; names of windows "
                               "contain 'taps'; four minutes",
                               ("--report",), ("dynquant_onnxruntime", "layer_costs"), 5),
    "integer_costs": Suite("random products and convolutions without steps, claimed all, beside ONNX Runtime, the constants of "
                           "src/onnxruntime/common/integer_cost.cpp that fit them, and what leaving layers by them loses; names begin with 'int8 "
                           "products', 'uint8 products', 'uint8 convolutions'; four minutes",
                           ("--report",), ("dynquant_onnxruntime", "layer_costs"), 5),
    "weights": Suite("chains of layers whose weights alone are quantized, by the execution provider beside float: time and memory; names are "
                     "like 'Gemm, 2048 x 2048, int8 per column' and 'Conv of 3 x 3 taps, 64 to 64 channels, 56 x 56'; six minutes",
                    ("--report",), ("dynquant_onnxruntime",), 60),
    "nbits": Suite("MatMulNBits of 4 and 8 bits, from the caches and from memory, with the execution provider and without; names are like "
                   "'2048 x 2048, 4 bits, blocks of 32'; five minutes", ("--report",), ("dynquant_onnxruntime",), 60),
    "networks": Suite("whole networks, quantized by ONNX Runtime's tools, with the execution provider and without, what their time is spent on, and "
                      "the 'cost of a node'; downloads 52 MB; nine minutes", ("--report", "--networks"), ("dynquant_onnxruntime",), 60, threads=None),
    "transformers": Suite("transformers with random weights, as PyTorch exports them, quantized dynamically, with the execution "
                          "provider and without; names are like 'BERT-base, 4 layers, 1x128' and 'GPT-2, 4 layers, step after 64'; "
                          "six minutes",
                          ("--report",), ("dynquant_onnxruntime",), 60),
    "convolutions": Suite("layers beside oneDNN's primitives of the same sums, on one processor; a minute", ("--report",), ("dynquant_onnxruntime",), 60),
    "embeddings": Suite("a sentence encoder with real weights: int8 embeddings with one scale for activations and with one for each row, beside "
                        "float, and a text alone against the text in a batch; downloads 84 MB; two minutes",
                        ("--report", "--embeddings"), ("dynquant_onnxruntime",), 60, threads=None, has_only=False),
    "accuracy": Suite("what int8 loses, in ONNX Runtime alone and with the execution provider, by one scale for activations and by one for each row: "
                      "lines that text recognition reads right, and nearest neighbours of embeddings; names are like 'ocr, int8' and 'embeddings, "
                      "uint8'; texts are those of apt-cache; downloads 136 MB; four minutes",
                      ("--report", "--networks", "--embeddings"), ("dynquant_onnxruntime",), 0, threads=()),
    "models": Suite("pre-quantized models by dqmodel beside ONNX Runtime; two minutes",
                    ("--report",), ("dqmodel",), 200, threads=None),
    "digits": Suite("networks of handwritten digits, codified by dqmodel and compared with ONNX Runtime; two minutes", ("--report",), ("dqmodel",), 0,
                    threads=(), has_only=False),
    "surroundings": Suite("what layers cost besides their products: scales by row of tiny weights, many shapes by turns, creation of many layers, "
                          "DynamicQuantizeLinear of few elements; names begin with 'by row', 'shapes', 'creation', 'DynamicQuantizeLinear'; five minutes",
                          ("--report",), ("dynquant_onnxruntime",), 30),
    "exactquant": Suite("the Python package exactquant beside NumPy, ml_dtypes, gguf, ONNX Runtime, torchao, ggml and pi-quant, and the error of its "
                        "formats; downloads 3 GB, most of it PyTorch, and keeps 6 GB; six minutes",
                        ("--dynamic", "--checks"), ("_core",), 30, environment="dynamic"),
    "large": Suite("creation and memory of sessions of 64 MiB of int8 weights; two minutes", ("--report",), ("dynquant_onnxruntime",), 60),
}  # fmt: skip


def near(given: str, names: typing.Iterable[str]) -> str:
    close = difflib.get_close_matches(given, list(names), 1, 0.5)
    return f"; did you mean '{close[0]}'?" if close else ""


def suite(text: str) -> str:
    if text not in SUITES:
        raise argparse.ArgumentTypeError(f"expected {', '.join(SUITES)}, given '{text}'{near(text, SUITES)}")
    return text


def one_or_more(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, given '{text}'")
    return int(text)


def above_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"expected a number above 0, given '{text}'")
    return number


def folder(text: str) -> pathlib.Path:
    if not os.path.isdir(text):  # not Path's, which raises an error for a name that is too long
        raise argparse.ArgumentTypeError(f"expected a folder, given '{text}'")
    return pathlib.Path(text).absolute()


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> typing.NoReturn:
        if unknown := re.search(r"unrecognized arguments: (--?[\w-]+)", message):
            message += near(unknown[1], self._option_string_actions)
        super().error(message)

    def _print_message(self, message: str, file: typing.TextIO | None = None) -> None:
        """Some versions of argparse ignore that stdout does not take the help, as on a full disk."""
        file = file or sys.stderr
        try:
            file.write(message)
            file.flush()
        except OSError as error:
            os._exit(fail(f"stdout: {error.strerror}"))  # not sys.exit(), which flushes again


def fail(message: str) -> int:
    """Prints why the command failed. Returns its exit status."""
    print(f"measure: {message}", file=sys.stderr, flush=True)
    return 1


def parser() -> Parser:
    version = machine.version(ROOT / "include/dynquant/version.hpp", "DYNQUANT_VERSION")
    listed = "".join(f"  {name:<13} {one.what}\n" for name, one in SUITES.items())
    result = Parser(
        allow_abbrev=False,
        prog="scripts/measure",
        description="Times dynquant beside other libraries, which take turns, and prints the tables of docs in Markdown.",
        epilog="suites:\n" + listed,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = result.add_argument
    option("suite", type=suite, metavar="SUITE", help="one of those below")
    option("--version", action="version", version=f"dynquant {version}")
    option("--only", default="", metavar="TEXT", help="only cases whose names in the tables contain TEXT")
    option("--threads", type=one_or_more, nargs="+", metavar="N", help="a table for each number")
    option("--rounds", type=one_or_more, metavar="N", help="turns of each contestant")
    option("--milliseconds", type=above_zero, metavar="MS", help="the least duration of a turn")
    option("--build", type=folder, metavar="FOLDER", help="where dynquant is built; without it build/release, which is brought up to date")
    option("--per-channel", action="store_true", help="transformers: also int8 weights per channel")
    option("--few-bits", action="store_true",
           help="transformers: instead MatMulNBits of 4 bits, and the error of its outputs")
    option("--onednn", type=folder, metavar="FOLDER", help="exactness: of another oneDNN than the one that was built with")
    option("--models", type=pathlib.Path, metavar="FOLDER", help="digits: only write its float models, and images to calibrate and to test by, to FOLDER")
    option("--save", action="store_true", help="put the figures in place of this processor's, and draw the suite's charts and the tables of its page again")
    option("--draw", action="store_true", help="measure nothing: print and draw from the figures of all processors that were saved")
    option("--figures", type=pathlib.Path, metavar="FOLDER", default=FIGURES, help="where figures and charts are (docs/performance)")
    return result


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """arguments: without them, those of the program."""
    options = parser()
    given = options.parse_args(arguments)
    one = SUITES[given.suite]
    if given.draw and given.save:
        options.error("argument --save: not allowed with argument --draw")
    if given.few_bits and given.per_channel:
        options.error("argument --few-bits: not allowed with argument --per-channel")
    taken = {"threads": one.threads != (), "only": one.has_only, "models": given.suite == "digits", "onednn": given.suite == "exactness",
             "per_channel": given.suite == "transformers", "few_bits": given.suite == "transformers"}  # fmt: skip
    for option, is_taken in taken.items():
        if getattr(given, option) and not is_taken:
            options.error(f"argument --{option.replace('_', '-')}: not allowed with suite {given.suite}")
    given.threads = given.threads or (sorted({1, machine.threads()}) if one.threads is None else list(one.threads))
    given.rounds = given.rounds or one.rounds
    given.seconds = (given.milliseconds or one.milliseconds) / 1e3
    return given
