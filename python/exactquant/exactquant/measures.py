"""How far two tensors are apart."""

import numpy

from .arguments import array_of


def _numbers(given: object, what: str) -> numpy.ndarray:
    array = array_of(given, what)
    if array.dtype.kind not in "biuf" and array.dtype.kind != "V":  # ml_dtypes' kinds are V
        raise TypeError(f"{what}: expected real numbers, given {array.dtype}")
    try:
        return array.astype(numpy.float64).ravel()
    except (TypeError, ValueError):  # of bytes without a meaning
        raise TypeError(f"{what}: expected real numbers, given {array.dtype}") from None


def error(a: object, b: object) -> dict[str, float]:
    """The largest and mean magnitude of b - a, the ratio of a's power to that of the difference (SQNR) in decibels, and the cosine
    of the angle between both, in float64. A ratio that is no number is nan, one without a difference inf.

    >>> import exactquant
    >>> exactquant.error([3.0, 4.0], [3.0, 3.0])["largest"]
    1.0
    """
    of_a, of_b = _numbers(a, "a"), _numbers(b, "b")
    if of_a.shape != of_b.shape:
        raise ValueError(f"b: expected as many elements as a has, {of_a.size}, given {of_b.size}")
    with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
        apart = of_b - of_a
        power, of_difference = of_a @ of_a, apart @ apart
        return {
            "largest": float(numpy.abs(apart).max(initial=0)), "mean": float(numpy.abs(apart).mean()) if apart.size else 0.0,
            "sqnr": float(10 * numpy.log10(power / of_difference)), "cosine": float(of_a @ of_b / numpy.sqrt(power * (of_b @ of_b))),
        }  # fmt: skip
