"""What the command prints: tables, a progress bar, a sentence."""

import contextlib
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator

import onnxruntime
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .measure import ALONE, FLOAT, PROVIDER, Agreement, Timed, threads_label
from .refusal import printable
from .sessions import Claims

FASTER = 1.05  # times as fast, from which the provider pays: above the differences between rounds
# Operators of whose nodes the provider says one by one whether it claims them; it claims others within layers.
DECIDED = {"ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "MatMulNBits", "QuantizeLinear"}
_console = Console(highlight=False, width=None if Console().is_terminal else 120)


def say(text: str) -> None:
    _console.print(Text(printable(text)), soft_wrap=True)


def show_claims(claims: Claims) -> None:
    layers = sum(map(count_layers, claims.layers_and_nodes))
    single = sum(count_layers(operators) == 0 for operators in claims.layers_and_nodes)
    counts = [_count(number, noun) for number, noun in ((layers, "layer"), (single, "single node")) if number]
    say(f"ONNX Runtime {onnxruntime.__version__}: the provider claims {' and '.join(counts) or 'nothing'}.")
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


def show_times(timed: Timed) -> None:
    compared = ["cosine to float", "largest difference"] if timed.agreement else []
    table = Table("ms", *map(threads_label, timed.seconds), *compared, box=SIMPLE)
    for peer in (ALONE, PROVIDER, FLOAT):
        if not any(peer in times for times in timed.seconds.values()):
            continue
        cells = [_milliseconds(times[peer]) for times in timed.seconds.values()]
        one = timed.agreement.get(peer)
        if isinstance(one, Agreement):
            cells += [f"{one.cosine:.6f}", _difference(one)]
        elif one:
            cells += [one, one]
        table.add_row(peer, *cells)
    _console.print(table)
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


def _described(of: Agreement) -> str:
    if math.isnan(of.difference):
        return "differ: some numbers are NaN on one side only"
    return f"differ by {_difference(of)} at most" if of.difference else "are equal"


def _difference(of: Agreement) -> str:
    return f"{of.difference:.3g} of {of.largest:.3g}"


def _milliseconds(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.3g} ({1e3 * min(seconds):.3g} to {1e3 * max(seconds):.3g})"


def verdict(timed: Timed) -> str:
    """Whether it pays, in a sentence: on a number of threads it does if nothing else is as fast there."""
    pays, parts = [], []
    for threads, times in timed.seconds.items():
        ratios = {peer: timed.ratio(threads, peer) for peer in (ALONE, FLOAT) if peer in times}
        if all(ratio >= FASTER for ratio in ratios.values()):
            pays.append(threads_label(threads))
        words = {ALONE: "as without it", FLOAT: "as the float model"}
        said = [f"{_times(ratio)} times as fast {words[peer]}" for peer, ratio in ratios.items()]
        parts.append(
            (" and ".join(said) or f"in {_milliseconds(times[PROVIDER])} ms") + " on " + threads_label(threads)
        )
    if len(pays) == len(timed.seconds):
        start = "It pays"
    else:
        start = f"It pays on {', '.join(pays)} only" if pays else "It does not pay"
    return f"{start}: with the provider the model runs {'; '.join(parts)}."


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"
