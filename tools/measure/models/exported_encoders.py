"""Encoders as they are exported, and one that ONNX Runtime has optimized."""

import pathlib
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto

from .encoder import integers
from .exported import (F32, POSITIONS, Exported, Size, attended, eager_scores, embedding, erf_gelu, extent, layer_norm,
                       linear, padding_mask, sdpa_scores, shape, silu, split_heads)  # fmt: skip

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def _heads(g: Exported, x: str, of: Size, *, key_has_bias: bool = True) -> list[str]:
    """Queries, keys, which are transposed, and values."""
    biased = True, key_has_bias, True
    products = [linear(g, x, of.width, of.width, has_bias) for has_bias in biased]
    return [split_heads(g, y, of.heads, of.head, is_transposed=i == 1) for i, y in enumerate(products)]


def bert(of: Size, opset: int = 17) -> onnx.ModelProto:
    g, w = Exported(opset), of.width
    names = "input_ids", "attention_mask", "token_type_ids"
    ids, mask, types = (g.input(name, INT64, "batch", "tokens") for name in names)
    end = shape(g, extent(g, ids, 1))
    places = g.op("Slice", numpy.arange(POSITIONS)[None], integers(0), end, integers(1), integers(1))
    x = g.op("Add", embedding(g, ids, w), embedding(g, types, w, 2))
    x = layer_norm(g, g.op("Add", x, embedding(g, places, w, POSITIONS)), w, 1e-12)
    added = padding_mask(g, mask)
    for _ in range(of.layers):
        q, k, v = _heads(g, x, of)
        y = linear(g, attended(g, eager_scores(g, q, k, of.head), v, w, added), w, w)
        x = layer_norm(g, g.op("Add", y, x), w, 1e-12)
        y = linear(g, erf_gelu(g, linear(g, x, w, of.inner)), of.inner, w)
        x = layer_norm(g, g.op("Add", y, x), w, 1e-12)
    return g.of_outputs(x)


def optimized_bert(of: Size) -> onnx.ModelProto:
    """By ONNX Runtime's optimizer of transformers, in two steps, so that it imports neither PyTorch nor SymPy: a
    session that saves what it has optimized, and fusions without inferred shapes."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    fusions, options = FusionOptions("bert"), onnxruntime.SessionOptions()
    fusions.enable_shape_inference = False
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory() as folder:
        path = options.optimized_model_filepath = str(pathlib.Path(folder, "basic.onnx"))
        onnxruntime.InferenceSession(bert(of).SerializeToString(), options, providers=["CPUExecutionProvider"])
        return optimize_model(path, "bert", of.heads, of.width, fusions, opt_level=0).model


def _layer(g: Exported, x: str, of: Size, *, key_has_bias: bool = True) -> str:
    """Of a model that normalizes before attention and before the two products."""
    q, k, v = _heads(g, layer_norm(g, x, of.width), of, key_has_bias=key_has_bias)
    y = attended(g, sdpa_scores(g, q, k, of.head), v, of.width)
    x = g.op("Add", linear(g, y, of.width, of.width), x)
    y = linear(g, layer_norm(g, x, of.width), of.width, of.inner)
    return g.op("Add", linear(g, erf_gelu(g, y), of.inner, of.width), x)


def _conv(g: Exported, x: str, filters: int, channels: int, *kernel: int, **window: object) -> str:
    """channels: of a group."""
    w, bias = g.weights(filters, channels, *kernel), g.normal(filters)
    return g.op("Conv", x, w, bias, kernel_shape=kernel, **window)


def vit(of: Size, side: int = 224, patch: int = 16) -> onnx.ModelProto:
    """of.outputs: classes."""
    g, w, patches = Exported(), of.width, (side // patch) ** 2
    pixels = g.input("pixel_values", FLOAT, "batch", 3, side, side)
    batch = extent(g, pixels, 0)
    x = g.op("Reshape", _conv(g, pixels, w, 3, patch, patch, strides=[patch, patch]), shape(g, batch, w, patches))
    first = g.op("Expand", g.normal(1, 1, w), shape(g, batch, 1, w))
    x = g.op("Concat", first, g.op("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = g.op("Add", x, g.normal(1, patches + 1, w))
    for _ in range(of.layers):
        x = _layer(g, x, of)
    x = g.op("Gather", layer_norm(g, x, w), numpy.array(0, numpy.int64), axis=1)
    return g.of_outputs(g.op("Gemm", x, g.weights(w, of.outputs).T, g.normal(of.outputs), transB=1))


def whisper_encoder(of: Size, tokens: int = 1500) -> onnx.ModelProto:
    """Without the two convolutions before it. frames: what they give."""
    g = Exported()
    x = g.op("Add", g.input("frames", FLOAT, "batch", tokens, of.width), g.normal(tokens, of.width))
    for _ in range(of.layers):
        x = _layer(g, x, of, key_has_bias=False)
    return g.of_outputs(layer_norm(g, x, of.width))


def conformer(of: Size, taps: int = 31) -> onnx.ModelProto:
    """Without relative positions. frames: what the subsampling before it gives."""
    g, w = Exported(), of.width
    x = g.input("frames", FLOAT, "batch", "tokens", w)

    def feed_forward(x: str) -> str:
        y = linear(g, silu(g, linear(g, layer_norm(g, x, w), w, of.inner)), of.inner, w)
        return g.op("Add", x, g.op("Mul", y, F32(0.5)))

    for _ in range(of.layers):
        x = feed_forward(x)
        q, k, v = _heads(g, layer_norm(g, x, w), of)
        x = g.op("Add", x, linear(g, attended(g, eager_scores(g, q, k, of.head), v, w), w, w))
        y = _conv(g, g.op("Transpose", layer_norm(g, x, w), perm=[0, 2, 1]), 2 * w, w, 1)
        value, gate = g.op("Split", y, integers(w, w), outputs=2, axis=1)
        y = g.op("Mul", value, g.op("Sigmoid", gate))
        y = _conv(g, y, w, 1, taps, group=w, pads=[taps // 2] * 2)  # with the batch normalization behind it
        x = g.op("Add", x, g.op("Transpose", _conv(g, silu(g, y), w, w, 1), perm=[0, 2, 1]))
        x = layer_norm(g, feed_forward(x), w)
    return g.of_outputs(x)
