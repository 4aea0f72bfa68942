"""Times contestants by turns, so that what disturbs the machine meets all of them."""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

# Takes the least duration of a turn in seconds, and gives the median and the least time of a run.
Turn = Callable[[float], tuple[float, float]]


def samples(run: Callable[[], object], seconds: float) -> list[float]:
    """The times of runs over at least `seconds`, three or more. The first run warms caches; it is the only one if it alone
    takes as long."""
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    if first >= seconds:
        return [first]
    result: list[float] = []
    end = time.perf_counter() + seconds
    while len(result) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        result.append(time.perf_counter() - start)
    return result


def turn(run: Callable[[], object], seconds: float) -> tuple[float, float]:
    some = samples(run, seconds)
    return statistics.median(some), min(some)


def take_turns(contestants: dict[str, Turn], rounds: int, seconds: float) -> tuple[dict[str, list[float]], dict[str, float]]:
    """By contestant the median time of each turn, and the least time of a run."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, take in contestants.items():
            median, shortest = take(seconds)
            times[name].append(median)
            least[name] = min(shortest, least.get(name, shortest))
    return times, least


def runs(contestants: dict[str, Callable[[], object]]) -> dict[str, Turn]:
    """Contestants that stay prepared from turn to turn."""
    return {name: lambda seconds, run=run: turn(run, seconds) for name, run in contestants.items()}


def chosen(cases: list, given: argparse.Namespace, say: Callable) -> Iterator[tuple]:
    """Those of --only, by their names, with each number of threads. Tells of each before it is measured."""
    some = [case for case in cases if given.only in case.name]
    for threads in given.threads:
        for case in some:
            say(f"{case.name}, threads {threads}", len(some) * len(given.threads))
            yield case, threads
