"""Decoders as they are exported: they take keys and values of earlier tokens, and give them with those of new ones."""

import numpy
import onnx
from onnx import TensorProto

from .encoder import integers
from .exported import (F32, LOWEST, POSITIONS, Cache, Exported, Size, attended, causal_mask, conv1d, counted,
                       eager_scores, embedding, encoder_cache, erf_gelu, extent, layer_norm, linear, padding_mask, part,
                       places, rms_norm, sdpa_scores, shape, silu, split_heads, tanh_gelu, transposed)  # fmt: skip

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def whisper_decoder(of: Size) -> onnx.ModelProto:
    """Takes the encoder's keys and values from a cache too, as it does from the second token on."""
    g, w = Exported(), of.width
    ids, cache = g.input("input_ids", INT64, "batch", "tokens"), Cache(g, of.heads, of.head, of.layers, ".decoder")
    past, total = cache.past_and_total(ids)
    x = g.op("Add", embedding(g, ids, w), embedding(g, counted(g, past, total), w, POSITIONS))
    mask = causal_mask(g, past, total)

    def heads(y: str, has_bias: bool = True) -> str:
        return split_heads(g, linear(g, y, w, w, has_bias), of.heads, of.head)

    for i in range(of.layers):
        y = layer_norm(g, x, w)
        q, (k, v) = heads(y), cache.joined(i, heads(y, has_bias=False), heads(y))
        y = attended(g, sdpa_scores(g, q, transposed(g, k), of.head), v, w, mask)
        x = g.op("Add", linear(g, y, w, w), x)
        q, (k, v) = heads(layer_norm(g, x, w)), encoder_cache(g, i, of.heads, of.head)
        y = attended(g, sdpa_scores(g, q, transposed(g, k), of.head), v, w)
        x = g.op("Add", linear(g, y, w, w), x)
        y = erf_gelu(g, linear(g, layer_norm(g, x, w), w, of.inner))
        x = g.op("Add", linear(g, y, of.inner, w), x)
    return g.of_outputs(linear(g, layer_norm(g, x, w), w, of.outputs, has_bias=False), *cache.outputs)


def _seen(g: Exported, scores: str, triangle: numpy.ndarray, queries: str, keys: str) -> str:
    """As GPT-2 masks scores in each layer, by a part of a constant triangle."""
    tokens, total = extent(g, queries, 2), extent(g, keys, 2)
    rows = g.op("Slice", triangle, shape(g, g.op("Sub", total, tokens)), shape(g, total), integers(2), integers(1))
    seen = g.op("Slice", rows, integers(0), shape(g, total), integers(3), integers(1))
    return g.op("Where", seen, scores, LOWEST)


def gpt2(of: Size) -> onnx.ModelProto:
    g, w = Exported(), of.width
    ids, positions = (g.input(name, INT64, "batch", "tokens") for name in ("input_ids", "position_ids"))
    added = padding_mask(g, g.input("attention_mask", INT64, "batch", "total"))
    cache = Cache(g, of.heads, of.head, of.layers)
    x = g.op("Add", embedding(g, ids, w), embedding(g, positions, w, POSITIONS))
    triangle = numpy.tril(numpy.ones((1, 1, POSITIONS, POSITIONS), bool))
    for i in range(of.layers):
        y = conv1d(g, layer_norm(g, x, w), w, 3 * w)
        three = g.op("Split", y, integers(w, w, w), outputs=3, axis=2)
        q, *new = (split_heads(g, one, of.heads, of.head) for one in three)
        k, v = cache.joined(i, *new)
        scores = _seen(g, eager_scores(g, q, transposed(g, k), of.head), triangle, q, k)
        x = g.op("Add", conv1d(g, attended(g, scores, v, w, added), w, w), x)
        y = tanh_gelu(g, conv1d(g, layer_norm(g, x, w), w, of.inner))
        x = g.op("Add", x, conv1d(g, y, of.inner, w))
    return g.of_outputs(linear(g, layer_norm(g, x, w), w, of.outputs, has_bias=False), *cache.outputs)


def _rotations(g: Exported, positions: str, size: int) -> tuple[str, str]:
    """Cosines and sines."""
    frequencies = (10000.0 ** -(numpy.arange(0, size, 2) / size)).astype(F32).reshape(1, -1, 1)
    wide = g.op("Cast", g.op("Unsqueeze", positions, integers(1)), to=FLOAT)
    spread = g.op("Expand", frequencies, shape(g, extent(g, positions, 0), size // 2, 1))
    angles = g.op("Transpose", g.op("MatMul", spread, wide), perm=[0, 2, 1])
    angles = g.op("Concat", angles, angles, axis=-1)
    return tuple(g.op("Unsqueeze", g.op(function, angles), integers(1)) for function in ("Cos", "Sin"))


def _rotated(g: Exported, x: str, rotations: tuple[str, str], size: int) -> str:
    turned = g.op("Concat", g.op("Neg", part(g, x, 3, size // 2, size)), part(g, x, 3, 0, size // 2), axis=-1)
    return g.op("Add", *(g.op("Mul", y, by) for y, by in zip((x, turned), rotations)))


def _repeated(g: Exported, x: str, times: int, heads: int, size: int) -> str:
    """Each head of keys or values for `times` heads of queries."""
    batch, tokens = extent(g, x, 0), extent(g, x, 2)
    spread = g.op("Expand", g.op("Unsqueeze", x, integers(2)), shape(g, batch, heads, times, tokens, size))
    return g.op("Reshape", spread, shape(g, batch, heads * times, tokens, size))


def llama(of: Size, kv_heads: int) -> onnx.ModelProto:
    g, w = Exported(), of.width
    ids, positions = (g.input(name, INT64, "batch", "tokens") for name in ("input_ids", "position_ids"))
    padding = padding_mask(g, g.input("attention_mask", INT64, "batch", "total"))
    cache = Cache(g, kv_heads, of.head, of.layers)
    added = g.op("Add", causal_mask(g, *cache.past_and_total(ids)), padding)
    x, rotations = embedding(g, ids, w), _rotations(g, positions, of.head)

    def heads(y: str, count: int) -> str:
        return split_heads(g, linear(g, y, w, count * of.head, has_bias=False), count, of.head)

    for i in range(of.layers):
        y = rms_norm(g, x, w)
        q, k, v = (heads(y, count) for count in (of.heads, kv_heads, kv_heads))
        q, k = (_rotated(g, y, rotations, of.head) for y in (q, k))
        k, v = (_repeated(g, y, of.heads // kv_heads, kv_heads, of.head) for y in cache.joined(i, k, v))
        y = attended(g, sdpa_scores(g, q, transposed(g, k), of.head), v, w, added)
        x = g.op("Add", x, linear(g, y, w, w, has_bias=False))
        y = rms_norm(g, x, w)
        gate, up = (linear(g, y, w, of.inner, has_bias=False) for _ in range(2))
        x = g.op("Add", x, linear(g, g.op("Mul", silu(g, gate), up), of.inner, w, has_bias=False))
    return g.of_outputs(linear(g, rms_norm(g, x, w), w, of.outputs, has_bias=False), *cache.outputs)


def _distance_bias(g: Exported, past: str, total: str, heads: int, buckets: int = 32, most: int = 128) -> str:
    """What T5 adds to scores by how far back a token is: exactly for half of the buckets, then by its logarithm."""
    half = buckets // 2
    rows, columns = places(g, past, total)
    back = g.op("Neg", g.op("Min", g.op("Sub", columns, rows), integers(0)))
    share = g.op("Log", g.op("Div", g.op("Cast", back, to=FLOAT), F32(half)))
    steps = g.op("Mul", g.op("Div", share, F32(numpy.log(most / half))), F32(half))
    far = g.op("Min", g.op("Add", g.op("Cast", steps, to=INT64), integers(half)), integers(buckets - 1))
    bias = g.op("Gather", g.normal(buckets, heads), g.op("Where", g.op("Less", back, integers(half)), back, far))
    return g.op("Unsqueeze", g.op("Transpose", bias, perm=[2, 0, 1]), integers(0))


def t5_decoder(of: Size) -> onnx.ModelProto:
    """Takes the encoder's keys and values from a cache too. Queries have small weights: nothing scales their scores."""
    g, w = Exported(), of.width
    ids = g.input("input_ids", INT64, "batch", "tokens")
    of_source = padding_mask(g, g.input("encoder_attention_mask", INT64, "batch", "source"))
    cache = Cache(g, of.heads, of.head, of.layers, ".decoder")
    past, total = cache.past_and_total(ids)
    bias = g.op("Add", _distance_bias(g, past, total, of.heads), causal_mask(g, past, total))
    x = embedding(g, ids, w)

    def dense(y: str, inputs: int = w, outputs: int = w, factor: float = 1) -> str:
        return linear(g, y, inputs, outputs, has_bias=False, factor=factor)

    def heads(y: str, factor: float = 1) -> str:
        return split_heads(g, dense(y, factor=factor), of.heads, of.head)

    for i in range(of.layers):
        y = rms_norm(g, x, w)
        q, (k, v) = heads(y, of.head**-0.5), cache.joined(i, heads(y), heads(y))
        x = g.op("Add", x, dense(attended(g, g.op("MatMul", q, transposed(g, k)), v, w, bias)))
        q, (k, v) = heads(rms_norm(g, x, w), of.head**-0.5), encoder_cache(g, i, of.heads, of.head)
        x = g.op("Add", x, dense(attended(g, g.op("MatMul", q, transposed(g, k)), v, w, of_source)))
        y = g.op("Relu", dense(rms_norm(g, x, w), w, of.inner))
        x = g.op("Add", x, dense(y, of.inner, w))
    return g.of_outputs(dense(g.op("Mul", rms_norm(g, x, w), F32(w**-0.5)), w, of.outputs), *cache.outputs)
