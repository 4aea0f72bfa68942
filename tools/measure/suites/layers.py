"""Models of one layer, in ONNX Runtime alone and with dynquant's execution provider: docs/onnx_speed.md, Layers."""

import argparse
import dataclasses
import itertools
import math
import statistics
from collections.abc import Callable, Iterator

import numpy
import onnxruntime
from onnx import TensorProto

from ..results import Measured
from ..sessions import PROVIDER, RUNTIME, Graph, Peer, bound, claimed_products, provider_peer, session
from ..tables import by_threads, median_and_least, number, table, threads_label
from ..turns import chosen, take_turns


@dataclasses.dataclass(frozen=True)
class Shape:
    """x and w of a convolution of any spatial dimensions, or of a product of two matrices. Pads keep the extents, but for the
    stride and even kernels."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1
    dilation: int = 1

    @staticmethod
    def of(text: str) -> "Shape":
        """text: the name, which has no groups: "1x32x56x56 by 64x8x3x3, stride 2" has 4."""
        shapes, *attributes = text.split(", ")
        x, w = (tuple(map(int, shape.split("x"))) for shape in shapes.split(" by "))
        return Shape(x, w, **{name: int(value) for name, value in map(str.split, attributes)})

    @property
    def is_product(self) -> bool:
        return len(self.w) == 2

    @property
    def groups(self) -> int:
        return 1 if self.is_product else self.x[1] // self.w[1]

    def window(self) -> dict[str, object]:
        """The attributes of a convolution."""
        pads = [self.dilation * (extent // 2) for extent in self.w[2:]]
        return {"pads": pads * 2, "strides": [self.stride] * len(pads), "dilations": [self.dilation] * len(pads), "group": self.groups}

    @property
    def channels(self) -> int:
        """Those of y, which a bias has too."""
        return self.w[1] if self.is_product else self.w[0]

    @property
    def name(self) -> str:
        shapes = " by ".join("x".join(map(str, shape)) for shape in (self.x, self.w))
        attributes = {"stride": self.stride, "dilation": self.dilation}
        return shapes + "".join(f", {name} {value}" for name, value in attributes.items() if value > 1) + (f", {self.groups} groups" if self.groups > 1 else "")

    def products(self) -> int:
        """The multiplications."""
        positions = self.x[:-1] if self.is_product else [-(-extent // self.stride) for extent in self.x[2:]]
        return math.prod(self.w) * math.prod(positions)


SHAPES = {
    kind: [Shape.of(text.strip()) for text in texts.split(";")]
    for kind, texts in {
        "few channels": """
            1x1x240x320 by 1x1x3x3; 1x3x240x320 by 10x3x3x3; 1x1x240x320 by 8x1x5x5; 1x4x160x160 by 8x4x3x3;
            1x1x128x128 by 4x1x3x3; 1x2x160x160 by 2x2x3x3; 1x2x96x96 by 16x2x3x3; 1x4x64x64 by 4x4x3x3; 1x4x80x80 by 2x4x5x5;
            1x6x120x160 by 12x6x3x3; 1x8x80x80 by 1x8x3x3; 1x8x32x32 by 8x8x3x3, stride 2; 1x8x6x6 by 4x8x3x3;
            1x10x119x159 by 16x10x3x3; 1x16x64x64 by 2x16x3x3
            """,
        "groups of channels": """
            1x32x56x56 by 32x4x3x3; 1x64x28x28 by 64x2x3x3; 1x128x56x56 by 128x4x3x3; 1x16x56x56 by 16x8x3x3;
            1x24x28x28 by 24x8x3x3; 1x48x28x28 by 48x6x3x3; 1x64x28x28 by 64x32x3x3; 1x64x56x56 by 64x16x3x3;
            1x64x14x14 by 128x4x1x1; 1x96x27x27 by 256x48x5x5; 1x128x28x28 by 128x4x3x3, stride 2; 1x240x28x28 by 60x80x1x1;
            1x256x14x14 by 256x8x3x3
            """,
        "depthwise of 1 to 4 channels": """
            1x3x224x224 by 3x1x5x5; 1x1x112x112 by 1x1x5x5; 1x2x64x64 by 2x1x7x7; 1x2x160x160 by 2x1x3x3; 1x3x112x112 by 12x1x3x3;
            1x3x128x128 by 3x1x3x3, stride 2; 1x3x224x224 by 3x1x3x3; 1x3x256x256 by 3x1x7x7; 1x4x56x56 by 4x1x3x3;
            1x4x112x112 by 4x1x5x5
            """,
        "1x1 of 1 to 8 filters": """
            1x32x115x155 by 2x32x1x1; 1x8x112x112 by 8x8x1x1; 1x3x224x224 by 1x3x1x1; 1x3x224x224 by 3x3x1x1;
            1x4x160x160 by 8x4x1x1; 1x64x80x80 by 1x64x1x1; 1x16x112x112 by 1x16x1x1; 1x24x56x56 by 4x24x1x1; 1x32x64x64 by 6x32x1x1;
            1x64x56x56 by 1x64x1x1; 1x128x28x28 by 2x128x1x1; 1x256x14x14 by 4x256x1x1; 1x512x7x7 by 8x512x1x1
            """,
        "stems": """
            1x3x224x224 by 32x3x3x3; 1x1x28x28 by 6x1x5x5; 1x1x160x160 by 16x1x7x7; 1x3x48x320 by 32x3x3x3, stride 2;
            1x3x96x96 by 24x3x5x5; 1x3x112x112 by 64x3x3x3; 1x3x112x112 by 16x3x7x7; 1x3x160x160 by 16x3x5x5, stride 2;
            1x3x224x224 by 32x3x3x3, stride 2; 1x3x224x224 by 64x3x7x7, stride 2
            """,
        "products of 2 to 16 rows": """
            16x512 by 512x512; 2x256 by 256x256; 2x768 by 768x3072; 3x1024 by 1024x1024; 4x384 by 384x1536; 4x1024 by 1024x64;
            6x512 by 512x512; 8x256 by 256x256; 8x768 by 768x768; 12x384 by 384x384; 16x128 by 128x128; 16x768 by 768x3072
            """,
        "products of one row": """
            1x1024 by 1024x4096; 1x192 by 192x500; 1x64 by 64x64; 1x64 by 64x1024; 1x64 by 64x16384; 1x128 by 128x512;
            1x256 by 256x256; 1x512 by 512x2048; 1x768 by 768x768; 1x768 by 768x3072; 1x1000 by 1000x500; 1x1024 by 1024x1024;
            1x3072 by 3072x768; 1x4096 by 4096x1024; 1x4096 by 4096x4096; 1x4096 by 4096x16384; 1x16384 by 16384x64;
            1x16384 by 16384x1024
            """,
        "few columns of y": """
            1x1x400x13 by 4x1x3x3; 1x1x1000x5 by 4x1x3x3; 1x3x200x9 by 8x3x3x3; 1x4x300x11 by 4x4x5x5; 1x2x256x2 by 8x2x3x1
            """,
        "three dimensions": """
            1x1x8x28x28 by 8x1x3x3x3; 1x3x16x56x56 by 16x3x3x3x3; 1x8x8x16x16 by 32x8x3x3x3; 1x2x12x40x40 by 8x2x3x3x3, stride 2
            """,
        "dilated": """
            1x1x64x64 by 8x1x5x5, dilation 8; 1x3x96x96 by 8x3x3x3, dilation 16; 1x4x80x80 by 4x4x7x7, dilation 6;
            1x1x48x48 by 16x1x3x3, dilation 20
            """,
        "long lines": """
            1x1x160000 by 4x1x3; 1x2x100000 by 4x2x5; 1x1x300000 by 2x1x9; 1x1x160000 by 8x1x16, stride 4
            """,
        "products of 5 rows modulo 6": """
            5x768 by 768x3072; 5x1024 by 1024x1024; 11x768 by 768x768
            """,
        "columns that do not fill 64": """
            128x64 by 64x400; 64x128 by 128x200; 40x120 by 120x6625; 32x512 by 512x72
            """,
        "few inner, many rows": """
            128x32 by 32x256; 197x192 by 192x768; 512x48 by 48x192
            """,
        "tiny weights, many rows": """
            4096x16 by 16x24; 2048x8 by 8x32; 8192x24 by 24x8
            """,
        "others": """
            1x64x56x56 by 64x64x3x3; 1x96x40x40 by 96x1x3x3; 1x256x14x14 by 256x256x1x1; 128x384 by 384x384; 512x1024 by 1024x1024
            """,
    }.items()
}  # fmt: skip

FLOAT, INT8, UINT8 = "float", "int8", "uint8"


@dataclasses.dataclass(frozen=True)
class Layer:
    """x: its type. A layer of floats reaches from DynamicQuantizeLinear to Relu, as quantize_dynamic makes it; with uint8
    it is the product alone. weights: their type."""

    kind: str
    shape: Shape
    x: str
    weights: str

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.shape.name}, {self.x} x, {self.weights} weights"


def all_layers() -> list[Layer]:
    types = list(itertools.product((FLOAT, UINT8), (INT8, UINT8)))
    return [Layer(kind, shape, *of) for kind, shapes in SHAPES.items() for shape in shapes for of in types]


def float_weights(layer: Layer) -> numpy.ndarray:
    return numpy.random.default_rng(0).standard_normal(layer.shape.w, numpy.float32)


def quantized_weights(layer: Layer) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """And their zero point and scale, by quantize_dynamic's formulas. Random bytes would be larger than trained weights are, and saturate more often."""
    values = float_weights(layer)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    least, most = 0, 255
    if layer.weights == INT8:
        low, high = min(low, -high), max(high, -low)
        least, most = -127, 127
    zero_point = numpy.rint(least - low * (most - least) / (high - low))
    scale = numpy.float32((high - low) / (most - least))
    w = numpy.clip(numpy.rint(values / scale) + zero_point, least, most)
    return w.astype(layer.weights), zero_point.astype(layer.weights), scale


def input_of(layer: Layer) -> numpy.ndarray:
    if layer.x == FLOAT:
        return numpy.random.default_rng(1).standard_normal(layer.shape.x, numpy.float32)
    return numpy.random.default_rng(1).integers(0, 255, layer.shape.x, UINT8, endpoint=True)


X_ZERO_POINT = 121  # of uint8 x


def model_of(layer: Layer) -> bytes:
    shape, graph, (w, zero_point, scale) = layer.shape, Graph(), quantized_weights(layer)
    window = {} if shape.is_product else shape.window()
    if layer.x == UINT8:
        kind = "MatMulInteger" if shape.is_product else "ConvInteger"
        sums = graph.op(kind, "x", w, numpy.uint8(X_ZERO_POINT), zero_point, **window)
        return graph.model({"x": (TensorProto.UINT8, shape.x)}, {sums: (TensorProto.INT32, None)}, 17)
    bias = numpy.random.default_rng(2).standard_normal(shape.channels, numpy.float32)
    scaled = graph.dynamic_layer("x", w, zero_point, scale, **window)
    y = graph.op("Relu", graph.op("Add", scaled, bias if shape.is_product else bias.reshape(1, -1, *[1] * len(shape.w[2:]))))
    return graph.model({"x": (TensorProto.FLOAT, shape.x)}, {y: (TensorProto.FLOAT, None)}, 17)


def measure_layer(layer: Layer, threads: int, provider: Peer, rounds: int, seconds: float) -> Measured:
    sessions = {peer.name: session(model_of(layer), peer, threads) for peer in (Peer(RUNTIME), provider)}
    turns = take_turns({peer: bound(one, {"x": input_of(layer)}) for peer, one in sessions.items()}, rounds, seconds)
    sums = [one.run(None, {"x": input_of(layer)})[0] for one in sessions.values()] if layer.x == UINT8 else []
    of = {"kind": layer.kind, "shape": layer.shape.name, "x": layer.x, "weights": layer.weights, "claimed": claimed_products(sessions[PROVIDER]) > 0,
          "saturated": bool(sums) and not numpy.array_equal(*sums)}  # fmt: skip
    return Measured("layers", layer.name, threads, *turns, of)


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    for layer, threads in chosen(all_layers(), given, say):
        yield measure_layer(layer, threads, provider_peer(given.build), given.rounds, given.seconds)


NOISE = 0.97  # from here on a layer counts as fast as ONNX Runtime's


def _ratio(m: Measured) -> float:
    return m.ratio(RUNTIME, PROVIDER)


def _is_below(ratio: float, limit: float) -> bool:
    """Of the ratio as it is printed."""
    return round(ratio, 2) < limit


def _times(ratio: float) -> str:
    return f"**{number(ratio)}**" if _is_below(ratio, NOISE) else number(ratio)


def _least_and_mean(some: list[Measured], weights: str) -> list[str]:
    ratios = [_ratio(m) for m in some if m.facts["weights"] == weights]
    return [_times(min(ratios)), _times(statistics.geometric_mean(ratios))] if ratios else ["", ""]


def _summary(threads: int, some: list[Measured]) -> list[str]:
    groups: dict[tuple[str, str], list[Measured]] = {}
    for kind in [*dict.fromkeys(m.facts["kind"] for m in some), "all"]:
        for m in some:
            if kind in (m.facts["kind"], "all"):
                groups.setdefault((kind, m.facts["x"]), []).append(m)
    rows = []
    for names, group in groups.items():
        below = [sum(_is_below(_ratio(m), limit) for m in group) for limit in (1, NOISE)]
        counts = [len(group), sum(not m.facts["claimed"] for m in group), *below]
        rows.append([*names, *map(str, counts), *_least_and_mean(group, INT8), *_least_and_mean(group, UINT8)])
    header = [threads_label(threads), "x", "measured", "left to ONNX Runtime", "below 1", f"below {NOISE}", "int8, times: least", "geometric mean",
              "uint8, times: least", "geometric mean"]  # fmt: skip
    return table(header, rows)


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """For each number of threads a table of each kind, and a summary."""
    result = {}
    for threads, some in by_threads(results).items():
        for kind in dict.fromkeys(m.facts["kind"] for m in some):
            header = [f"{kind}, {threads_label(threads)}, us (least)", "x", "weights", RUNTIME, PROVIDER, "times"]
            rows = [[m.facts["shape"], m.facts["x"], m.facts["weights"], median_and_least(m, RUNTIME, 1e-6), median_and_least(m, PROVIDER, 1e-6),
                     _times(_ratio(m)) + ("" if m.facts["claimed"] else ", left")] for m in some if m.facts["kind"] == kind]  # fmt: skip
            result[f"layers {kind} {threads}"] = table(header, rows)
        result[f"layers {threads}"] = _summary(threads, some)
    return result
