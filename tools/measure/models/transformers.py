"""Transformers with random weights, and what they run. Wide ones have some of their layers."""

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy
import onnx
from onnx import TensorProto

from .exported import F32, ROWS, Size
from .exported_decoders import gpt2, llama, t5_decoder, whisper_decoder
from .exported_encoders import bert, conformer, optimized_bert, vit, whisper_encoder


@dataclasses.dataclass(frozen=True)
class Run:
    """past: tokens in the cache, if the model has one. source: tokens of its encoder."""

    batch: int
    tokens: int
    past: int | None = None
    source: int = 0

    @property
    def name(self) -> str:
        if self.past is None:
            return f"{self.batch}x{self.tokens}"
        return f"step after {self.past}" if self.past else f"{self.tokens} at once"

    def inputs(self, model: onnx.ModelProto) -> dict[str, numpy.ndarray]:
        """Random ones. Masks hide nothing, and positions are those behind the cache."""
        past, random, result = self.past or 0, numpy.random.default_rng(9), {}
        extents = dict(batch=self.batch, tokens=self.tokens, past=past, total=past + self.tokens, source=self.source)
        for given in model.graph.input:
            of, name = given.type.tensor_type, given.name
            dims = [extents[dim.dim_param] if dim.dim_param else dim.dim_value for dim in of.shape.dim]
            if of.elem_type == TensorProto.FLOAT:
                result[name] = random.standard_normal(dims, F32)
            elif name == "position_ids":
                result[name] = numpy.tile(numpy.arange(past, past + self.tokens), (self.batch, 1))
            else:
                low, end = (1, 2) if "mask" in name else (0, 2 if "type" in name else ROWS)
                kind = numpy.int32 if of.elem_type == TensorProto.INT32 else numpy.int64
                result[name] = random.integers(low, end, dims, kind)
        return result


@dataclasses.dataclass(frozen=True)
class Transformer:
    """build: makes a model of a size. runs: the first one's nodes are profiled."""

    name: str
    build: Callable[[Size], onnx.ModelProto]
    size: Size
    runs: tuple[Run, ...]


TEXTS = Run(1, 128), Run(1, 16), Run(1, 384), Run(8, 128)
MINILM, BERT = Size(6, 384, 12, 1536), Size(4, 768, 12, 3072)
TRANSFORMERS = (
    Transformer("MiniLM-L6", bert, MINILM, TEXTS),
    Transformer("MiniLM-L6, opset 14", partial(bert, opset=14), MINILM, TEXTS[:1]),
    Transformer("BERT-base, 4 layers", bert, BERT, TEXTS),
    Transformer("BERT-base, 4 layers, optimized", optimized_bert, BERT, TEXTS),
    Transformer("ViT-tiny", vit, Size(12, 192, 3, 768, 1000), (Run(1, 197),)),
    Transformer("Whisper-tiny encoder, 2 layers", whisper_encoder, Size(2, 384, 6, 1536), (Run(1, 1500),)),
    Transformer("Conformer, 4 layers", conformer, Size(4, 256, 4, 1024), (Run(1, 400), Run(1, 32))),
    Transformer("Whisper-tiny decoder", whisper_decoder, Size(4, 384, 6, 1536, 51865), (Run(1, 1, 64, 1500),)),
    Transformer("T5-small decoder", t5_decoder, Size(6, 512, 8, 2048, 32128), (Run(1, 1, 64, 64),)),
    Transformer("GPT-2, 4 layers", gpt2, Size(4, 768, 12, 3072, 50257),
                (Run(1, 1, 64), Run(1, 1, 512), Run(1, 128, 0))),
    Transformer("Llama-like, 4 layers", partial(llama, kv_heads=4), Size(4, 1024, 16, 2816, 32000),
                (Run(1, 1, 128), Run(1, 128, 0))),
)  # fmt: skip
