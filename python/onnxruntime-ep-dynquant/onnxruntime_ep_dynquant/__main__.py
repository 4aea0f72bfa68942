"""What the execution provider does to a model, and whether it pays."""

import argparse
import contextlib
import errno
import importlib.metadata
import io
import os
import sys
from collections import Counter

from .refusal import Refusal, printable

PACKAGE = "onnxruntime-ep-dynquant"
PROGRAM = "python -m onnxruntime_ep_dynquant"
DESCRIPTION = """Says how much of a model the execution provider claims, and why it leaves the rest. Then times the model
with the provider and without it, on one thread and on all, by turns, and says whether it pays."""
USAGE = """%(prog)s MODEL.onnx [options]
       %(prog)s --per-row IN.onnx OUT.onnx
       %(prog)s --scale-channels FLOAT.onnx OUT.onnx"""
INPUTS = """Inputs are drawn: floats are normally distributed, integers are 0 and 1, masks are ones. Their shapes are the
model's; an unknown first extent is 1, and extents of one name are equal. A model with a cache, inputs named past...,
takes one new token after 128, and position_ids are those behind the cache."""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, USAGE, description=DESCRIPTION, epilog=INPUTS)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("model", metavar="MODEL.onnx", nargs="?", help="such as quantize_dynamic makes")
    what.add_argument(
        "--per-row",
        nargs=2,
        metavar=("IN.onnx", "OUT.onnx"),
        help="writes IN as OUT, in which each row of a product's activations (each token) has its own scale and zero "
        "point; needs the package onnx",
    )
    what.add_argument(
        "--scale-channels",
        nargs=2,
        metavar=("FLOAT.onnx", "OUT.onnx"),
        help="writes FLOAT as OUT, in which a Mul behind each Conv scales the channels of its weights, so that the one scale "
        "that quantize_dynamic gives them suits all; needs the package onnx",
    )
    parser.add_argument(
        "--shape", metavar="NAME=1x3x640x640", action="append", default=[], help="the shape of an input; repeatable"
    )
    parser.add_argument(
        "--input",
        metavar="[NAME=]X.npy",
        action="append",
        default=[],
        help="an input, in place of one that is drawn; repeatable",
    )
    parser.add_argument(
        "--float",
        metavar="FLOAT.onnx",
        help="the model before it was quantized: is timed too, and its outputs compared",
    )
    parser.add_argument(
        "--accuracy",
        metavar="FOLDER",
        help="real inputs, each a file .npz of arrays by name, or .npy of one input: outputs are compared with those of "
        "--float over all, and the first is timed",
    )
    parser.add_argument(
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=_option,
        help="of the provider, such as activation_scales=per_row; repeatable",
    )
    parser.add_argument("--verbose", action="store_true", help="lists operators, and why they are left")
    parser.add_argument("--rounds", metavar="N", type=_one_or_more, default=5, help="turns of each (5)")
    parser.add_argument(
        "--milliseconds", metavar="MS", type=_one_or_more, default=300, help="the least duration of a turn (300)"
    )
    parser.add_argument("--version", nargs=0, action=_Version, help="shows the version and exits")
    return parser


class _Version(argparse.Action):
    """Prints the version, which nothing else needs: a copy of the package without metadata has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            print(parser.prog, importlib.metadata.version(PACKAGE))
        except importlib.metadata.PackageNotFoundError:
            raise Refusal(f"the version is unknown: {PACKAGE} has no metadata here, which pip installs") from None
        parser.exit()


def _one_or_more(text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 999999999, given '{text}'")
    return int(text)


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, given '{text}'")
    return key, value


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):  # argparse ignores errors of stdout
            given = parser.parse_args()
    except SystemExit:
        print(said.getvalue(), end="")
        raise
    for name in ("shape", "input", "float", "accuracy", "option", "verbose", "rounds", "milliseconds"):
        is_given = getattr(given, name) != parser.get_default(name)
        for rewriting in ("per-row", "scale-channels"):
            if getattr(given, rewriting.replace("-", "_")) and is_given:
                parser.error(f"argument --{name}: not allowed with argument --{rewriting}")
        if given.accuracy is not None and is_given and name in ("shape", "input"):
            parser.error(f"argument --{name}: not allowed with argument --accuracy")
    if given.accuracy is not None and given.float is None:
        parser.error("argument --accuracy: expected --float FLOAT.onnx, with which outputs are compared")
    for key, count in Counter(key for key, _ in given.option).items():
        if count > 1:
            parser.error(f"argument --option: '{key}' is given twice")
    return given


def run(given: argparse.Namespace) -> None:
    if given.per_row:
        return rewrite("per-row", *given.per_row)
    if given.scale_channels:
        return rewrite("scale-channels", *given.scale_channels)
    try:
        import onnxruntime  # noqa: F401 -- first: inputs needs its NumPy

        from . import inputs, measure, report, sessions
    except ImportError as error:
        raise Refusal(f"this command needs onnxruntime and rich, 'pip install onnxruntime rich': {error}") from None
    sessions.register()
    for path in (given.model, given.float):
        try:
            if path is not None:
                open(path, "rb").close()
        except OSError as error:
            raise Refusal(f"{path or 'a file without a name'} cannot be read: {error.strerror}") from None
    options = dict(given.option)
    claims = sessions.claims(given.model, options)
    chosen = inputs.read(given.model, claims.inputs, given.shape, given.input)
    samples = inputs.samples(given.accuracy, claims.inputs) if given.accuracy is not None else []
    if claims.is_qdq() and not given.verbose:
        return report.say(
            "It does not pay: this is a model in QDQ format, as quantize_static makes them, whose layers ONNX Runtime fuses "
            "itself; onnxruntime.quantization.quantize_dynamic makes models that gain."
        )
    report.show_claims(claims, given.verbose)
    if not claims.layers_and_nodes:
        return report.say("It does not pay: nothing is claimed, and the model runs as it does without the provider.")
    samples = samples or [inputs.make(claims.inputs, chosen)]
    with report.progress() as step:
        timed = measure.compare(given.model, given.float, samples, given.rounds, given.milliseconds / 1000, step, options)
    is_drawn = not given.accuracy and any(isinstance(chosen.get(one.name, ()), tuple) for one in claims.inputs)
    report.show_times(timed, is_drawn)
    for threads in timed.seconds:
        report.say(report.verdict(timed, threads))
    if said := report.advice(given.model, claims, options):
        report.say(said)


def rewrite(option: str, source: str, target: str) -> None:
    try:
        from . import per_row, scaled_channels
    except ImportError as error:
        raise Refusal(f"--{option} needs onnx, 'pip install onnx': {error}") from None
    converter = per_row if option == "per-row" else scaled_channels
    print(printable(converter.convert(source, target)))


def main() -> int:
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: not every path is text in its encoding
        status = _main()
        sys.stdout.flush()
        return status
    except OSError as error:
        _complain(f"cannot write all output to stdout: {error.strerror}")
        if sys.stdout is not None:  # Python would try the rest of the output again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main() -> int:
    try:
        run(parse(arguments()))
    except SystemExit as end:  # argparse's, for --help, --version and wrong usage
        return int(end.code or 0)
    except Refusal as refusal:
        _complain(str(refusal))
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _complain(text: str) -> None:
    if sys.stderr is not None:
        print(f"onnxruntime_ep_dynquant: {printable(text)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
