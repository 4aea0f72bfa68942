"""Arguments of the functions that are written in Python, as arrays and integers."""

import operator
import typing

import numpy


def array_of(given: typing.Any, what: str) -> numpy.ndarray:
    """In the order of C. A scalar stays one, which ascontiguousarray() would not leave."""
    try:
        return numpy.asarray(given, order="C")
    except (OverflowError, TypeError, ValueError) as error:  # of lists, and of what states its memory itself
        raise TypeError(f"{what}: expected an array, given {type(given).__name__}: {error}") from None


def one_of(known: tuple[str, ...], given: typing.Any, what: str) -> str:
    if not isinstance(given, str) or given not in known:
        raise ValueError(f"{what}: expected one of {', '.join(map(repr, known))}, given {given!r}")
    return given


def whole_number(given: typing.Any, what: str, most: int, least: int = 0) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{what}: expected an integer, given {type(given).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{what}: expected {least} or more{'' if number < least else f', up to {most}'}, given {number}")
    return number
