"""What the algorithms of convolutions take, and the constants of src/layers/conv/cost.cpp that fit best."""

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator

import numpy

from ..results import Measured
from ..tables import table

ALGORITHMS = "im2col", "depthwise", "channels_first"
COUNT = 1500


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    program = given.build / "tools/layer_costs/layer_costs"
    for seed in range(1, given.rounds + 1):
        say(f"{COUNT} random convolutions, seed {seed}", given.rounds)
        lines = subprocess.run([program, "--count", str(COUNT), "--seed", str(seed)], check=True, capture_output=True, text=True).stdout
        for i, line in enumerate(lines.splitlines()):
            facts = json.loads(line)
            seconds = facts.pop("nanoseconds") / 1e9
            yield Measured("costs", f"{seed}, {i}", 1, {"run": [seconds]}, {"run": seconds}, facts)


def fitted(counts: numpy.ndarray, nanoseconds: numpy.ndarray) -> numpy.ndarray:
    """The constants of 0 or more with the least sum of squares of log(cost / time): weighted least squares again and again, by
    coordinate descent."""
    largest = counts.max(0)
    scale = numpy.where(largest > 0, largest, 1)
    relative = counts / scale / nanoseconds[:, None]
    weights, result = numpy.ones(len(counts)), numpy.zeros(counts.shape[1])
    for _ in range(30):
        a = relative * weights[:, None]
        squares, products = a.T @ a, a.T @ weights
        for _ in range(2000):
            for i in numpy.flatnonzero(largest):
                result[i] = max(0.0, result[i] - (squares[i] @ result - products[i]) / squares[i, i])
        ratio = numpy.maximum(relative @ result, 1e-3)
        weights = numpy.sqrt(numpy.where(numpy.abs(ratio - 1) < 1e-6, 1, numpy.log(ratio) / (ratio - 1)))
    return result / scale


def _key(m: Measured) -> str:
    return json.dumps({name: value for name, value in m.facts.items() if name not in ("algorithm", "counts", "cost")})


def _losses(results: list[Measured], constants: dict[str, numpy.ndarray]) -> list[float]:
    """Of each convolution, how many times the time of the fastest algorithm that of the cheapest one is."""
    cases: dict[str, list[tuple[float, float]]] = {}
    for m in results:
        cases.setdefault(_key(m), []).append((float(m.facts["counts"] @ constants[m.facts["algorithm"]]), m.median("run")))
    return [min(some)[1] / min(time for _, time in some) for some in cases.values() if len(some) > 1]


def tables(results: list[Measured]) -> dict[str, list[str]]:
    constants, rows = {}, []
    for name in ALGORITHMS:
        some = [m for m in results if m.facts["algorithm"] == name]
        if not some:
            continue
        counts = numpy.array([m.facts["counts"] for m in some])
        times = 1e9 * numpy.array([m.median("run") for m in some])
        constants[name] = fitted(counts, times)
        of_now = numpy.array([m.facts["cost"] for m in some]) / times
        quantiles = [", ".join(f"{q:.2f}" for q in numpy.quantile(ratio, (0.05, 0.5, 0.95))) for ratio in (counts @ constants[name] / times, of_now)]
        rows.append([name, len(some), "{" + ", ".join(f"{c:.3g}" for c in constants[name]) + "}", *quantiles])
    header = ["algorithm", "measured", "constants", "cost / time: 5 %, median, 95 %", "the same by cost.cpp"]
    losses = numpy.array(_losses(results, constants))
    quality = [[len(losses), f"{losses.mean():.3f}", int((losses > 1.05).sum()), f"{losses.max():.2f}"]]
    return {
        "costs": table(header, [[str(cell) for cell in row] for row in rows]),
        "chosen": table(["chosen", "time of the cheapest / of the fastest, mean", "above 1.05", "most"], [[str(cell) for cell in row] for row in quality]),
    }
