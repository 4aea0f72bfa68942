"""What layers whose weights alone are quantized take here and in ONNX Runtime, and the constants of
src/onnxruntime/common/weight_only_cost.cpp that fit best."""

import argparse
import dataclasses
import json
import math
import pathlib
import random
import subprocess
from collections.abc import Callable, Iterator

import numpy

from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, provider_peer
from ..tables import table
from ..turns import chosen
from .costs import fitted
from .random_layers import MOST_PRODUCTS, WeightOnly, _log, _near

COUNT, SEED = 500, 57  # of each kind
KINDS = "products", "convolutions", "windows", "windows of few positions"  # of the last two several taps
MOST_FEW, LEAST_COLUMNS = 64, 16  # positions of a group, and its filters, as weight_only_layer.cpp has them with AVX2
SIDES = {"here": PROVIDER, "in_ort": RUNTIME}


def _drawn(of: random.Random, kind: str) -> WeightOnly:
    weights = of.choice(("int8", "int8", "uint8", "int4", "float8"))
    if kind == "products":
        rows = of.choice((_log(of, 1, 512), _near(of, 1, 1, 4, 16, 48, 64)))
        return WeightOnly(rows, _log(of, 16, 2048), _log(of, 4, 2048), weights, of.choice((0, 1, 1, 8, 16, 32, 64, 128)), of.random() < 0.5, relu=True)
    if kind != "convolutions":
        rank, few = of.choice((1, 2, 2, 2, 3)), kind != "windows"
        stride, dilation = of.choice((1, 1, 1, 2)), of.choice((1, 1, 1, 2))
        image = tuple(_log(of, 4, {1: 60, 2: 9, 3: 5}[rank] if few else {1: 2000, 2: 100, 3: 20}[rank]) for _ in range(rank))
        taps = tuple([of.choice((3, 3, 3, 5, 7))] * rank)
        positions = math.prod((extent - 1) // stride + 1 for extent in image)
        is_depthwise = not few and of.random() < 0.3
        groups = _log(of, 16, 1000) if is_depthwise else of.choice((1, 1, 1, 4)) if not few else 1
        channels, filters = (1, 1) if is_depthwise else (_log(of, 3, 512), _log(of, 16 if few else 8, 512))
        return WeightOnly(positions, channels, filters, weights, of.choice((0, 1, 1)), True, False, image, taps, groups, stride, dilation)
    image = _log(of, 1, 60), _log(of, 1, 60)
    return WeightOnly(math.prod(image), _log(of, 16, 1024), _log(of, 4, 1024), weights, of.choice((0, 1, 1, 1, 32, 64)), True, True, image)


def kind_of(one: WeightOnly) -> str:
    if not one.taps:
        return KINDS[bool(one.image)]
    return KINDS[3 if one.groups == 1 and one.rows <= MOST_FEW and one.columns >= LEAST_COLUMNS else 2]


def cases() -> list[WeightOnly]:
    of, result = random.Random(SEED), []
    for kind in KINDS:
        some: dict[str, WeightOnly] = {}
        while len(some) < COUNT:
            one = _drawn(of, kind)
            products = one.rows * one.inner * one.columns * math.prod(one.taps) * one.groups
            if products <= 2 * MOST_PRODUCTS and (one.taps or one.block <= one.inner) and kind == kind_of(one):
                some[one.name] = one
        result += some.values()
    return result


def extents(one: WeightOnly) -> dict:
    along_rows = one.block > 1 if one.is_transposed else one.block == 1
    taps = math.prod(one.taps)
    window = {"groups": one.groups, "taps": taps, "taps_of_line": one.taps[-1]} if one.taps else {}
    return {"is_convolution": bool(one.image), "rows": one.rows, "inner": one.inner * taps, "columns": one.columns, "weights": one.weights,
            "block": one.block if one.block > 1 else 0, "scales_are_along_rows": along_rows, **window}  # fmt: skip


def counts_of(some: list, extents: Callable, build: pathlib.Path, option: str) -> dict[str, dict]:
    """What layer_costs counts of each case, by its name."""
    lines = "".join(json.dumps(extents(one)) + "\n" for one in some)
    counted = subprocess.run([build / "tools/layer_costs/layer_costs", option], input=lines, check=True, capture_output=True, text=True)
    return {one.name: json.loads(line) for one, line in zip(some, counted.stdout.splitlines(), strict=True)}


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    provider = dataclasses.replace(provider_peer(given.build), options={"claim": "all"})
    some = cases()
    counts = counts_of(some, extents, given.build, "--weight-only")
    for one, threads in chosen(some, given, say):
        measured = one.measure(threads, provider, given.rounds, given.seconds)
        if measured.facts["claimed"]:  # else ONNX Runtime makes a node of its own of it
            measured.suite = "weight_only_costs"
            measured.facts = {"kind": kind_of(one), **counts[one.name]}
            yield measured


LEFT = ["left", "measured", "left", "decided wrong by 3 %", "claimed, below 0.95", "time / that of the faster side, mean", "most"]


def left_row(name: str, some: list[Measured], is_left: numpy.ndarray) -> list[str]:
    """What leaving these costs, of the time of the faster side."""
    ratios = numpy.array([m.ratio(RUNTIME, PROVIDER) for m in some])
    times_best = numpy.maximum(ratios, 1) / numpy.where(is_left, 1, ratios)
    slower = (ratios < 0.95) & ~is_left
    return [some[0].facts["kind"], name, *map(str, (len(some), is_left.sum(), (times_best > 1.03).sum(), slower.sum())), f"{times_best.mean():.3f}",
            f"{times_best.max():.2f}"]  # fmt: skip


def tables(results: list[Measured]) -> dict[str, list[str]]:
    rows, left = [], []
    for kind in KINDS:
        some = [m for m in results if m.facts["kind"] == kind]
        if not some:
            continue
        costs = {}
        for side, peer in SIDES.items():
            counts = numpy.array([m.facts[side] for m in some])
            times = 1e9 * numpy.array([m.median(peer) for m in some])
            constants = fitted(counts, times)
            costs[side] = counts @ constants
            quantiles = ", ".join(f"{q:.2f}" for q in numpy.quantile(costs[side] / times, (0.05, 0.5, 0.95)))
            rows.append([kind, side, "{" + ", ".join(f"{c:.3g}" for c in constants) + "}", quantiles])
        left.append(left_row("by weight_only_cost.cpp", some, numpy.array([m.facts["left"] for m in some])))
        left.append(left_row("by these constants", some, costs["in_ort"] < costs["here"]))
    return {
        "weight-only costs": table(["weights alone", "side", "constants", "cost / time: 5 %, median, 95 %"], rows),
        "left": table(["weights alone", *LEFT], left),
    }  # fmt: skip
