"""Random models of one layer in ONNX Runtime alone and with the execution provider: the slowest beside it."""

import argparse
import random
from collections.abc import Callable, Iterator

from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, provider_peer
from ..tables import median_and_least, table
from ..turns import chosen
from .layers import FLOAT, INT8, UINT8, Layer, Shape, measure_layer

SHAPES = 75  # by two types of x, and two of weights
SEED = 56
LIMIT = 0.97  # what is below is measured again
MOST_PRODUCTS, MOST_ELEMENTS = 2e7, 2e6


def _near(of: random.Random, *values: int) -> int:
    return max(1, of.choice(values) + of.randint(-1, 1))


def _log(of: random.Random, least: float, most: float) -> int:
    return round(least * (most / least) ** of.random())


def _product(of: random.Random) -> Shape:
    rows = of.choice((_log(of, 1, 4096), _near(of, 5, 6, 11, 12, 17, 48)))
    inner = of.choice((_log(of, 4, 2048), _near(of, 16, 32, 64, 512)))
    columns = of.choice((_log(of, 4, 4096), _near(of, 16, 64, 128, 200, 256)))
    return Shape((rows, inner), (inner, columns))


def _convolution(of: random.Random) -> Shape:
    rank = of.choice((1, 2, 2, 2, 3))
    most = {1: 100_000, 2: 300, 3: 40}[rank]
    extents = [_log(of, 2, most) for _ in range(rank)]
    channels, filters = (_log(of, 1, 64) for _ in range(2))
    kernel = [of.choice((1, 3, 3, 5))] * rank
    if of.random() < 0.2:
        return Shape((1, channels, *extents), (channels, 1, *kernel), of.choice((1, 1, 2)))
    return Shape((1, channels, *extents), (filters, channels, *kernel), of.choice((1, 1, 2)), of.choice((1, 1, 1, 2, 8)))


def shapes() -> list[Shape]:
    of, result = random.Random(SEED), []
    while len(result) < SHAPES:
        shape = of.choice((_product, _convolution))(of)
        elements = max(shape.products() / min(shape.w[0], shape.w[-1]), 1)
        if shape.products() <= MOST_PRODUCTS and elements <= MOST_ELEMENTS:
            result.append(shape)
    return result


def layers() -> list[Layer]:
    return [Layer("random", shape, x, weights) for shape in shapes() for x in (FLOAT, UINT8) for weights in (INT8, UINT8)]


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    provider = provider_peer(given.build)
    for layer, threads in chosen(layers(), given, say):
        measured = measure_layer(layer, threads, provider, given.rounds, given.seconds)
        if measured.ratio(RUNTIME, PROVIDER) < LIMIT:
            say(f"{layer.name}, again")
            measured = measure_layer(layer, threads, provider, 3 * given.rounds, given.seconds)
        measured.suite = "random_layers"
        yield measured


def tables(results: list[Measured]) -> dict[str, list[str]]:
    def ratio(m: Measured) -> float:
        return m.ratio(RUNTIME, PROVIDER)

    slowest = sorted(results, key=ratio)[:10]
    rows = [[m.case, median_and_least(m, RUNTIME, 1e-6), median_and_least(m, PROVIDER, 1e-6),
             f"{ratio(m):.2f}" + ("" if m.facts["claimed"] else ", left")] for m in slowest]  # fmt: skip
    counts = [[str(len(results)), *(str(sum(ratio(m) < limit for m in results)) for limit in (0.95, LIMIT, 1)),
               str(sum(not m.facts["claimed"] for m in results))]]  # fmt: skip
    return {
        "random layers": table(["the slowest of random layers, us (least)", RUNTIME, PROVIDER, "times"], rows),
        "random counts": table(["random layers", "below 0.95", f"below {LIMIT}", "below 1", "left to ONNX Runtime"], counts),
    }
