"""How near answers are: of texts that are read, and of embeddings."""

import numpy


def edit_distance(expected: str, given: str) -> int:
    """The fewest characters to insert, remove or replace."""
    before = list(range(len(given) + 1))
    for row, wanted in enumerate(expected, 1):
        now = [row]
        for column, found in enumerate(given, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (wanted != found)))
        before = now
    return before[-1]


def cosines(a: numpy.ndarray, b: numpy.ndarray) -> list[float]:
    """Of vectors of length 1; exactly 1 of equal ones."""
    return (1 - ((a - b) ** 2).sum(axis=1) / 2).tolist()


def nearest(similar: numpy.ndarray, count: int) -> numpy.ndarray:
    """The columns of each row's largest numbers, the largest first."""
    return numpy.argsort(-similar, axis=1, kind="stable")[:, :count]


def recall(expected: numpy.ndarray, given: numpy.ndarray) -> float:
    """The share of a row's columns that are also in the other's same row, in any order."""
    return float(numpy.mean([len(set(e) & set(g)) / len(e) for e, g in zip(expected.tolist(), given.tolist(), strict=True)]))
