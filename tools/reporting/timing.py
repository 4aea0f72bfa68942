"""Measures time."""

import statistics
import time
from collections.abc import Callable


def times(run: Callable[[], object], seconds: float) -> list[float]:
    """The times of runs, in seconds, over at least `seconds` and five runs, after three warm-up runs."""
    for _ in range(3):
        run()
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while len(samples) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return samples


def median_time(run: Callable[[], object], seconds: float) -> float:
    """The median time of a run, in seconds."""
    return statistics.median(times(run, seconds))
