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
    many of how many numbers are NaN. samples: how many inputs the outputs are of."""

    seconds: dict[int, dict[str, list[float]]] = dataclasses.field(default_factory=dict)
    agreement: dict[str, "Agreement | str"] = dataclasses.field(default_factory=dict)
    difference: "Agreement | str | None" = None
    failure: str = ""
    nans: tuple[int, int] = 0, 0
    samples: int = 1

    def ratio(self, threads: int, slower: str) -> float:
        """Of the medians, which the table shows."""
        times = self.seconds[threads]
        return statistics.median(times[slower]) / statistics.median(times[PROVIDER])

    def is_unclear(self, threads: int, peer: str) -> bool:
        """Whether rounds spread by more than the medians of the peer and of the provider differ, or meet."""
        one, other = (self.seconds[threads][name] for name in (peer, PROVIDER))
        difference = abs(statistics.median(one) - statistics.median(other))
        meet = min(one) <= max(other) and min(other) <= max(one)
        return any(
            max(times) > FASTER * min(times) and (meet or max(times) - min(times) > difference) for times in (one, other)
        )


FASTER = 1.05  # times as fast, from which the provider pays: above the differences between rounds of a quiet machine


@dataclasses.dataclass
class Agreement:
    """Of several outputs of numbers the worst, without numbers that are NaN, or the same infinity, on both sides.
    largest: the largest absolute value of the output with the largest difference. mean: of the cosines of several
    inputs, of which the others are the worst. top: in how many of how many rows of an output the largest number is at
    the same place."""

    cosine: float
    difference: float
    largest: float
    mean: float = 1
    top: tuple[int, int] = 0, 0


def numbers_of_threads() -> list[int]:
    return sorted({1, len(os.sched_getaffinity(0))})


def compare(
    model: str,
    float_model: str | None,
    samples: list[dict[str, numpy.ndarray]],
    rounds: int,
    seconds: float,
    step: Callable[[str, float], None],
    options: dict[str, str] | None = None,
) -> Timed:
    """samples: inputs, of which the first are timed. step: is called before each turn, with what is done and the share of
    all that is done. options: the provider's."""
    inputs = samples[0]
    result = Timed(samples=len(samples))
    threads_of = numbers_of_threads()
    peers = {ALONE: model, PROVIDER: model} | ({FLOAT: float_model} if float_model else {})
    outputs = {}
    for done, threads in enumerate(threads_of):
        sessions = {}
        for peer, path in peers.items():
            step(f"{peer}: makes a session", done / len(threads_of))
            try:
                one = session(path, provider=peer == PROVIDER, threads=threads, options=options)
                _check_ports(one, path, inputs, sessions.get(PROVIDER))
                outputs[peer] = one.run(None, inputs)  # also the first run, which prepares
            except Refusal:
                raise
            except Exception as error:
                if peer != ALONE:
                    raise _cannot_run(path, inputs, error) from None
                result.failure = reason_of(error)  # ONNX Runtime 1.23 has no ConvInteger with int8 weights
                continue
            sessions[peer] = one
        result.seconds[threads] = {peer: [] for peer in sessions}
        for turn in range(rounds):
            for place, (peer, one) in enumerate(sessions.items()):
                label = f"{peer}, {threads_label(threads)}"
                step(label, (done + (turn + place / len(sessions)) / rounds) / len(threads_of))
                result.seconds[threads][peer].append(_turn(lambda one=one: one.run(None, inputs), seconds))
    differences: list[Agreement | str] = []
    agreements: dict[str, list[Agreement | str]] = {peer: [] for peer in sessions if peer != FLOAT}
    for index, values in enumerate(samples):
        if index:
            step(f"input {index + 1} of {len(samples)}", 1)
            outputs = {peer: _run(peers[peer], one, values) for peer, one in sessions.items()}
        result.nans = tuple(map(sum, zip(result.nans, nans(outputs[PROVIDER]), strict=True)))
        if ALONE in sessions:
            differences.append(agreement(outputs[ALONE], outputs[PROVIDER]))
        for peer in agreements if float_model else ():
            agreements[peer].append(agreement(outputs[FLOAT], outputs[peer]))
    result.difference = worst(differences)
    result.agreement = {peer: found for peer, several in agreements.items() if (found := worst(several))}
    return result


def _run(path: str, one: onnxruntime.InferenceSession, values: dict[str, numpy.ndarray]) -> list:
    try:
        return one.run(None, values)
    except Exception as error:
        raise _cannot_run(path, values, error) from None


def _cannot_run(path: str, inputs: dict[str, numpy.ndarray], error: Exception) -> Refusal:
    return Refusal(f"{path} cannot run on {_described(inputs)}; --input gives others: {reason_of(error)}")


def worst(of: list[Agreement | str]) -> Agreement | str | None:
    """Of several inputs; the first reason if some have none."""
    numbers = [one for one in of if isinstance(one, Agreement)]
    if not numbers or len(numbers) < len(of):
        return next((one for one in of if isinstance(one, str)), None)
    largest = max(numbers, key=lambda one: (numpy.isnan(one.difference), one.difference))
    cosines = numpy.array([one.cosine for one in numbers])
    top = tuple(map(sum, zip(*(one.top for one in numbers), strict=True)))
    return dataclasses.replace(largest, cosine=float(cosines.min()), mean=float(cosines.mean()), top=top)


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
    top = 0, 0
    for e, g in zip(expected, given, strict=True):
        if not _has_numbers(e):
            continue
        if e.shape != g.shape:
            return "other shapes"
        if e.size == 0:
            continue
        if not top[1] and e.ndim and e.shape[-1] > 1:
            equal = e.argmax(-1) == g.argmax(-1)
            top = int(equal.sum()), equal.size
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
    largest = max(differences, key=lambda d: (numpy.isnan(d[0]), d[0], d[1]))
    return Agreement(cosine, *largest, cosine, top)


def nans(outputs: list) -> tuple[int, int]:
    """How many of how many numbers are NaN."""
    arrays = list(filter(_has_numbers, outputs))
    return sum(int((a != a).sum()) for a in arrays), sum(a.size for a in arrays)


def _has_numbers(output: object) -> bool:
    return isinstance(output, numpy.ndarray) and output.dtype.kind in "fiub"
