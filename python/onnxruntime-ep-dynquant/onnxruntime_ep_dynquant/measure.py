"""Times sessions by turns, and compares their outputs."""

import dataclasses
import os
import statistics
import time
from collections.abc import Callable

import numpy
import onnxruntime

from .refusal import Refusal
from .sessions import reason_of, session

ALONE, PROVIDER, FLOAT = "ONNX Runtime", "with the provider", "float model"


@dataclasses.dataclass
class Timed:
    """seconds: by number of threads and peer, one for each round. agreement: of a peer's outputs with the float
    model's, or why there is none. difference: of the outputs with the provider from those without, likewise. failure:
    why ONNX Runtime alone cannot run the model, in place of its figures. nans: of the outputs with the provider, how
    many of how many numbers are NaN."""

    seconds: dict[int, dict[str, list[float]]] = dataclasses.field(default_factory=dict)
    agreement: dict[str, "Agreement | str"] = dataclasses.field(default_factory=dict)
    difference: "Agreement | str | None" = None
    failure: str = ""
    nans: tuple[int, int] = 0, 0

    def ratio(self, threads: int, slower: str) -> float:
        """Of the medians, which the table shows."""
        times = self.seconds[threads]
        return statistics.median(times[slower]) / statistics.median(times[PROVIDER])


@dataclasses.dataclass
class Agreement:
    """Of several outputs of numbers the worst, without numbers that are NaN, or the same infinity, on both sides.
    largest: the largest absolute value of the output with the largest difference."""

    cosine: float
    difference: float
    largest: float


def numbers_of_threads() -> list[int]:
    return sorted({1, len(os.sched_getaffinity(0))})


def compare(
    model: str,
    float_model: str | None,
    inputs: dict[str, numpy.ndarray],
    rounds: int,
    seconds: float,
    step: Callable[[str, float], None],
) -> Timed:
    """step: is called before each turn, with what is done and the share of all that is done."""
    result = Timed()
    threads_of = numbers_of_threads()
    peers = {ALONE: model, PROVIDER: model} | ({FLOAT: float_model} if float_model else {})
    outputs = {}
    for done, threads in enumerate(threads_of):
        sessions = {}
        for peer, path in peers.items():
            step(f"{peer}: makes a session", done / len(threads_of))
            try:
                one = session(path, provider=peer == PROVIDER, threads=threads)
                _check_ports(one, path, inputs, sessions.get(PROVIDER))
                outputs[peer] = one.run(None, inputs)  # also the first run, which prepares
            except Refusal:
                raise
            except Exception as error:
                if peer != ALONE:
                    given = _described(inputs)
                    raise Refusal(f"{path} cannot run on {given}; --input gives others: {reason_of(error)}") from None
                result.failure = reason_of(error)  # ONNX Runtime 1.23 has no ConvInteger with int8 weights
                continue
            sessions[peer] = one
        result.seconds[threads] = {peer: [] for peer in sessions}
        for turn in range(rounds):
            for place, (peer, one) in enumerate(sessions.items()):
                label = f"{peer}, {threads_label(threads)}"
                step(label, (done + (turn + place / len(sessions)) / rounds) / len(threads_of))
                result.seconds[threads][peer].append(_turn(lambda one=one: one.run(None, inputs), seconds))
    result.nans = nans(outputs[PROVIDER])
    if ALONE in outputs:
        result.difference = agreement(outputs[ALONE], outputs[PROVIDER])
    if float_model:
        for peer in outputs.keys() - {FLOAT}:
            result.agreement[peer] = agreement(outputs[FLOAT], outputs[peer])
    return result


def threads_label(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def _described(inputs: dict[str, numpy.ndarray]) -> str:
    return ", ".join(f"'{name}' of shape {list(value.shape)}" for name, value in inputs.items())


def _check_ports(
    one: onnxruntime.InferenceSession,
    path: str,
    inputs: dict[str, numpy.ndarray],
    quantized: onnxruntime.InferenceSession | None,
) -> None:
    """That the float model takes and gives what the quantized model does, by names and by number."""
    names = sorted(i.name for i in one.get_inputs())
    if names != sorted(inputs):
        raise Refusal(
            f"{path}: expected the inputs of the quantized model, {', '.join(sorted(inputs))}, given {', '.join(names)}"
        )
    if quantized and len(one.get_outputs()) != len(quantized.get_outputs()):
        raise Refusal(
            f"{path}: expected as many outputs as the quantized model has, {len(quantized.get_outputs())}, "
            f"given {len(one.get_outputs())}"
        )


def _turn(run: Callable[[], object], seconds: float) -> float:
    """The median time of runs, over at least `seconds`. The first one warms caches and counts only if it is as long."""
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    if first >= seconds:
        return first
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while not samples or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def agreement(expected: list, given: list) -> Agreement | str:
    """Of a model's outputs that are arrays of numbers. A string says why there is none."""
    cosine, differences, missing = 1.0, [], "no numbers"
    for e, g in zip(expected, given, strict=True):
        if not _has_numbers(e):
            continue
        if e.shape != g.shape:
            return "other shapes"
        if e.size == 0:
            continue
        e, g = e.astype(numpy.float64).ravel(), g.astype(numpy.float64).ravel()
        same = (e == g) | (numpy.isnan(e) & numpy.isnan(g))
        compared = numpy.isfinite(e) | ~same
        e, g = e[compared], g[compared]
        if e.size == 0:
            missing = "no finite numbers"
            continue
        with numpy.errstate(invalid="ignore", over="ignore"):
            lengths = numpy.linalg.norm(e) * numpy.linalg.norm(g)
            cosine = float(numpy.minimum(cosine, e @ g / lengths if lengths else not e.any() and not g.any()))
            difference = float(numpy.max(numpy.abs(e - g)))
        differences.append((difference, float(numpy.max(numpy.abs(e), where=~numpy.isnan(e), initial=0))))
    if not differences:
        return missing
    return Agreement(cosine, *max(differences, key=lambda d: (numpy.isnan(d[0]), d[0], d[1])))


def nans(outputs: list) -> tuple[int, int]:
    """How many of how many numbers are NaN."""
    arrays = list(filter(_has_numbers, outputs))
    return sum(int((a != a).sum()) for a in arrays), sum(a.size for a in arrays)


def _has_numbers(output: object) -> bool:
    return isinstance(output, numpy.ndarray) and output.dtype.kind in "fiub"
