"""Makes the ONNX model of all-MiniLM-L6-v2 from its weights."""

import json
import struct

import numpy
import onnx
from onnx import TensorProto

from .encoder import HIDDEN, LAYERS, Builder, integers


def read_weights(file: bytes) -> dict[str, numpy.ndarray]:
    """The float tensors of a safetensors file: a length, a JSON header of that length, and data."""
    (length,) = struct.unpack("<Q", file[:8])
    result = {}
    for name, tensor in json.loads(file[8 : 8 + length]).items():
        if tensor.get("dtype") == "F32":
            first, last = tensor["data_offsets"]
            result[name] = numpy.frombuffer(file[8 + length + first : 8 + length + last], "<f4").reshape(tensor["shape"])
    return result


def _embeddings(builder: Builder, weights: dict[str, numpy.ndarray], ids: str) -> str:
    tables = {name: weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
    tokens = builder.op("Slice", builder.op("Shape", ids), integers(1), integers(2))
    places = tables["position"] + tables["token_type"][0]
    places = builder.op("Slice", places, integers(0), tokens, integers(0))
    return builder.norm(builder.op("Add", builder.op("Gather", tables["word"], ids), places), "embeddings")


def _added_mask(builder: Builder, mask: str) -> str:
    """0 for a token, the lowest float for padding, whose share of attention is then exactly 0."""
    missing = builder.op("Sub", numpy.float32(1), builder.op("Cast", mask, to=TensorProto.FLOAT))
    return builder.op("Unsqueeze", builder.op("Mul", missing, numpy.float32(numpy.finfo(numpy.float32).min)), integers(1, 2))


def model(weights: dict[str, numpy.ndarray], layers: int = LAYERS) -> onnx.ModelProto:
    """ids, mask (1: token, 0: padding): [batch, tokens]. states: a vector for each token."""
    builder = Builder(lambda name, _: weights[name].T)
    value, mask = _embeddings(builder, weights, "ids"), _added_mask(builder, "mask")
    for index in range(layers):
        value = builder.layer(value, index, mask)
    inputs = dict.fromkeys(("ids", "mask"), (TensorProto.INT64, ["batch", "tokens"]))
    return onnx.load_from_string(builder.model(inputs, {value: (TensorProto.FLOAT, ["batch", "tokens", HIDDEN])}, 17))
