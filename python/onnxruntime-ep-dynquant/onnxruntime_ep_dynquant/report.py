"""What the command prints: tables, a progress bar, sentences."""

import contextlib
import math
import pathlib
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator

import onnxruntime
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .measure import ALONE, FASTER, FLOAT, PROVIDER, Agreement, Timed, threads_label
from .refusal import printable
from .sessions import Claims

LOW = 0.99  # a cosine that is worth a warning
CONVOLUTIONS, PRODUCTS = {"Conv", "ConvInteger"}, {"Gemm", "MatMul", "MatMulInteger", "MatMulNBits"}
# Operators of whose nodes the provider says one by one whether it claims them; it claims others within layers.
DECIDED = {"ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "MatMulNBits", "QuantizeLinear"}
_console = Console(highlight=False, width=None if Console().is_terminal else 120)


def say(text: str) -> None:
    _console.print(Text(printable(text)), soft_wrap=not _console.is_terminal)  # which would break words


def show_claims(claims: Claims, is_verbose: bool) -> None:
    """is_verbose: each operator, and each reason as it is."""
    say(f"ONNX Runtime {onnxruntime.__version__}: the provider claims {described_claims(claims)}.")
    for reason, count in claims.one_scale.most_common():
        say(f"{count} DynamicQuantizeLinear: one scale for all rows, as {reason}.")
    if is_verbose:
        _show_operators(claims)
    elif claims.left:
        say(f"Left to ONNX Runtime: {described_left(claims)}.")


def described_claims(claims: Claims) -> str:
    layers = [operators for operators in claims.layers_and_nodes if count_layers(operators)]
    count = sum(map(count_layers, layers))
    single = len(claims.layers_and_nodes) - len(layers)
    convolutions = sum(operator in CONVOLUTIONS for operators in layers for operator in operators)
    kinds = (convolutions, "convolution"), (count - convolutions, "product")
    total = count + sum(number for (of, _), number in claims.left.items() if of in CONVOLUTIONS | PRODUCTS)
    parts = []
    if total:
        said = ", ".join(_count(number, noun) for number, noun in kinds if number)
        parts.append(f"{count} of {_count(total, 'quantized layer')}" + (f" ({said})" if said else ""))
    if single:
        parts.append(_count(single, "single node"))
    return " and ".join(parts) or "nothing"


def described_left(claims: Claims) -> str:
    """By reason."""
    merged: dict[str, Counter[str]] = {}
    for (operator, reason), number in claims.left.items():
        merged.setdefault(re.sub("(may fuse it) with .+", r"\1", reason), Counter())[operator] += number
    by_number = sorted(merged.items(), key=lambda one: -one[1].total())
    return "; ".join(
        " and ".join(f"{number} {of}" for of, number in operators.most_common()) + f", as {reason}"
        for reason, operators in by_number
    )


def _show_operators(claims: Claims) -> None:
    claimed = Counter(operator for operators in claims.layers_and_nodes for operator in operators)
    table = Table("operator", "claimed", "left", "why", box=SIMPLE)
    for operator in sorted(claimed.keys() | {operator for operator, _ in claims.left}):
        reasons = [(printable(reason), count) for (of, reason), count in claims.left.most_common() if of == operator]
        why = "\n".join(f"{count}: {reason}" if len(reasons) > 1 else reason for reason, count in reasons)
        left = str(sum(count for _, count in reasons)) if operator in DECIDED else "-"
        table.add_row(*map(Text, (operator, str(claimed[operator]), left, why)))
    _console.print(table)
    say("All nodes outside of the claimed layers stay ONNX Runtime's: the provider does not count those marked -.")


def count_layers(operators: list[str]) -> int:
    """Of a claim. Several layers may be one node: of integers each has one product, and others are nodes of their own."""
    products = sum(operator in ("ConvInteger", "MatMulInteger") for operator in operators)
    return 0 if len(operators) == 1 and operators != ["MatMulNBits"] else max(products, 1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr, which goes when all is done. The function takes what is done and the share that is done. It alone
    draws: a thread that did would run beside what is timed."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    shown = {"transient": True, "auto_refresh": False, "disable": not console.is_terminal}
    with Progress(*columns, console=console, **shown) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda text, share: bar.update(task, description=text, completed=share, refresh=True)


def show_times(timed: Timed, is_drawn: bool) -> None:
    """And how near outputs are. is_drawn: whether inputs are."""
    table = Table("ms", *map(threads_label, timed.seconds), box=SIMPLE)
    for peer in (ALONE, PROVIDER, FLOAT):
        if any(peer in times for times in timed.seconds.values()):
            table.add_row(peer, *(_milliseconds(times[peer]) for times in timed.seconds.values()))
    _console.print(table)
    if timed.agreement:
        _show_agreement(timed, is_drawn)
    if timed.failure:
        say(f"ONNX Runtime {onnxruntime.__version__} alone cannot run the model: {timed.failure}")
    if isinstance(timed.difference, Agreement):
        say(f"The outputs with and without the provider {_described(timed.difference)}.")
    elif timed.difference:
        say(f"The outputs with and without the provider are not compared: {timed.difference}.")
    count, numbers = timed.nans
    if count:
        where = "of the outputs with the provider"
        say(f"{count} of {numbers} numbers {where} are NaN: --input gives inputs that are not drawn.")


def _show_agreement(timed: Timed, is_drawn: bool) -> None:
    several = timed.samples > 1
    heads = ["mean cosine", "least cosine"] if several else ["cosine"]
    of = "of drawn inputs" if is_drawn else f"of {_count(timed.samples, 'input')}"
    table = Table(f"beside the float model, {of}", *heads, "top-1", "largest difference", box=SIMPLE)
    for peer, one in timed.agreement.items():
        if isinstance(one, Agreement):
            cosines = [one.mean, one.cosine] if several else [one.cosine]
            table.add_row(peer, *(f"{cosine:.6f}" for cosine in cosines), _share(*one.top), _difference(one))
        else:
            table.add_row(peer, *[one] * (len(table.columns) - 1))
    _console.print(table)
    if several:
        say(f"The first of the {timed.samples} inputs is timed.")
    of_provider, alone = (timed.agreement.get(peer) for peer in (PROVIDER, ALONE))
    if isinstance(of_provider, Agreement) and of_provider.cosine < LOW:
        both = f" ({alone.cosine:.3g} in ONNX Runtime alone)" if isinstance(alone, Agreement) else ""
        cure = ": these are drawn inputs, which say little; --input and --accuracy take real ones" if is_drawn else ""
        say(f"Warning: the cosine to the float model is {of_provider.cosine:.3g}{both}{cure}.")


def _share(same: int, rows: int) -> str:
    return f"{100 * same / rows:.4g} %" if rows else "-"


def _described(of: Agreement) -> str:
    if math.isnan(of.difference):
        return "differ: some numbers are NaN on one side only"
    return f"differ by {_difference(of)} at most" if of.difference else "are equal"


def _difference(of: Agreement) -> str:
    return f"{of.difference:.3g} of {of.largest:.3g}"


def _milliseconds(seconds: list[float]) -> str:
    middle, least, most = (_three_digits(1e3 * s) for s in (statistics.median(seconds), min(seconds), max(seconds)))
    return f"{middle} ({least} to {most})"


def _three_digits(number: float) -> str:
    """And all before the point."""
    return f"{number:.{max(0, 2 - math.floor(math.log10(number)))}f}"


def verdict(timed: Timed, threads: int) -> str:
    """Whether it pays on so many threads, in a sentence: it does if nothing else is as fast there."""
    times = timed.seconds[threads]
    peers = [peer for peer in (ALONE, FLOAT) if peer in times]
    unclear = [OTHERS[peer] for peer in peers if timed.is_unclear(threads, peer)]
    ratios = {peer: round(timed.ratio(threads, peer), 2) for peer in peers if OTHERS[peer] not in unclear}
    said = [f"{_times(ratio)} times as fast as {OTHERS[peer]}" for peer, ratio in ratios.items()]
    said = [" and ".join(said)] if said else []
    if unclear:
        said.append(f"the machine is busy, and beside {' and '.join(unclear)} times spread more than they differ")
    if any(ratio < FASTER for ratio in ratios.values()):
        start = "It does not pay"
    else:
        start = "Cannot tell" if unclear else "It pays"
    return f"{start} on {threads_label(threads)}: {'; '.join(said) or f'{_milliseconds(times[PROVIDER])} ms'}."


OTHERS = {ALONE: "ONNX Runtime alone", FLOAT: "the float model"}


def _times(ratio: float) -> str:
    return f"{ratio:.{2 if ratio < 2 else 1 if ratio < 100 else 0}f}"


def advice(model: str, claims: Claims, options: dict[str, str]) -> str:
    """What else to try, or ""."""
    counts = Counter(operator for operators in claims.layers_and_nodes for operator in operators)
    if counts["MatMulInteger"] <= counts["ConvInteger"] or "activation_scales" in options:
        return ""
    if b"\n\x08dynquant" in pathlib.Path(model).read_bytes():  # the domain that --per-row writes into a file
        return ""
    return (
        "For embeddings try --option activation_scales=per_row: each token has a scale of its own, which is nearer to "
        "the float model, and its result does not depend on the batch. --per-row writes such a model."
    )
