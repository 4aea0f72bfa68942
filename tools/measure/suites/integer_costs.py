"""What MatMulInteger and ConvInteger without steps take here and in ONNX Runtime, and the constants of
src/onnxruntime/common/integer_cost.cpp that fit best."""

import argparse
import dataclasses
import random
from collections.abc import Callable, Iterator

import numpy

from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, provider_peer
from ..tables import table
from ..turns import chosen
from .costs import fitted
from .layers import INT8, UINT8, Layer, Shape, measure_layer
from .random_layers import _log, _near
from .weight_only_costs import LEFT, counts_of, left_row

COUNT, SEED = 300, 58  # of each kind
KINDS = {"int8 products": INT8, "uint8 products": UINT8, "uint8 convolutions": UINT8}
MOST_PRODUCTS, MOST_ELEMENTS = 5e7, 1e6


def _drawn(of: random.Random, kind: str) -> Shape:
    if kind != "uint8 convolutions":
        rows, inner, columns = of.choice((1, _log(of, 1, 64), _log(of, 1, 4096))), _log(of, 4, 2048), _log(of, 4, 4096)
        inner = of.choice((inner, _near(of, 16, 32, 64)))
        return Shape((rows, inner), (inner, columns))
    rank = of.choice((1, 2, 2, 2, 3))
    extents = [_log(of, 2, {1: 30_000, 2: 200, 3: 30}[rank]) for _ in range(rank)]
    kernel, channels, filters = [of.choice((1, 1, 3, 5))] * rank, _log(of, 1, 256), _log(of, 1, 128)
    groups = of.choice((1, 1, 1, 1, channels, 4))
    if channels % groups == 0 and groups > 1:
        return Shape((1, channels, *extents), (filters // groups * groups or groups, channels // groups, *kernel), of.choice((1, 1, 2)))
    return Shape((1, channels, *extents), (filters, channels, *kernel), of.choice((1, 1, 1, 2)), of.choice((1, 1, 1, 2, 8)))


def cases() -> list[Layer]:
    of, result = random.Random(SEED), {}
    for kind, weights in KINDS.items():
        some: dict[str, Layer] = {}
        while len(some) < COUNT:
            shape = _drawn(of, kind)
            elements = shape.products() / min(shape.w[0], shape.w[-1])
            if shape.products() <= MOST_PRODUCTS and elements <= MOST_ELEMENTS:
                one = Layer(kind, shape, UINT8, weights)
                some[one.name] = one
        result |= some
    return list(result.values())


def extents(one: Layer) -> dict:
    return {**dataclasses.asdict(one.shape), "groups": one.shape.groups, "weights": one.weights}


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    provider = dataclasses.replace(provider_peer(given.build), options={"claim": "all"})
    some = cases()
    counts = counts_of(some, extents, given.build, "--integer")
    for one, threads in chosen(some, given, say):
        measured = measure_layer(one, threads, provider, given.rounds, given.seconds)
        measured.suite = "integer_costs"
        measured.facts |= counts[one.name]
        yield measured


def tables(results: list[Measured]) -> dict[str, list[str]]:
    rows, left = [], []
    for kind in KINDS:
        some = [m for m in results if m.facts["kind"] == kind]
        if not some:
            continue
        here, in_ort = (numpy.array([m.facts[side] for m in some]) for side in ("here", "in_ort"))
        # Of a run here, what cost.hpp has no part of. What is fitted then is how many times as long it takes there.
        run, scale = fitted(numpy.stack([numpy.ones(len(some)), here], 1), 1e9 * numpy.array([m.median(PROVIDER) for m in some]))
        cost = run / scale + here
        ratios = numpy.array([m.ratio(RUNTIME, PROVIDER) for m in some])
        constants = fitted(in_ort, cost * ratios)
        estimated = in_ort @ constants / cost
        quantiles = ", ".join(f"{q:.2f}" for q in numpy.quantile(estimated / ratios, (0.05, 0.5, 0.95)))
        rows.append([kind, "{" + f"{run / scale:.3g}, {{" + ", ".join(f"{c:.3g}" for c in constants) + "}}", quantiles])
        left.append(left_row("by integer_cost.cpp", some, numpy.array([m.facts["left"] for m in some])))
        left.append(left_row("by these constants", some, estimated < 1))
    return {
        "integer costs": table(["without steps", "constants", "times by costs / measured: 5 %, median, 95 %"], rows),
        "left": table(["without steps", *LEFT], left),
    }
