"""How far two tensors are apart."""

import numpy


def error(a: object, b: object) -> dict[str, float]:
    """The largest and mean magnitude of b - a, the ratio of a's power to that of the difference (SQNR) in decibels, and the cosine
    of the angle between both, in float64. A ratio that is no number is nan, one without a difference inf.

    >>> import exactquant
    >>> exactquant.error([3.0, 4.0], [3.0, 3.0])["largest"]
    1.0
    """
    of_a, of_b = (numpy.asarray(x).astype(numpy.float64).ravel() for x in (a, b))
    if of_a.shape != of_b.shape:
        raise ValueError(f"b: expected as many elements as a has, {of_a.size}, given {of_b.size}")
    apart = of_b - of_a
    power, of_difference = of_a @ of_a, apart @ apart
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return {
            "largest": float(numpy.abs(apart).max(initial=0)), "mean": float(numpy.abs(apart).mean()) if apart.size else 0.0,
            "sqnr": float(10 * numpy.log10(power / of_difference)), "cosine": float(of_a @ of_b / numpy.sqrt(power * (of_b @ of_b))),
        }  # fmt: skip
