"""Embeds texts, alone and in padded batches, and compares embeddings."""

import numpy
import onnxruntime

BATCH, NEIGHBOURS = 16, 10

Texts = list[list[int]]  # the tokens of each


def embed(session: onnxruntime.InferenceSession, texts: Texts) -> numpy.ndarray:
    """Of one run, padded to the longest text. An embedding is the mean of the states of a text's own tokens, of length 1."""
    ids = numpy.zeros((len(texts), max(map(len, texts))), numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    (states,) = session.run(None, {"ids": ids, "mask": mask})
    means = numpy.stack([states[row, : len(text)].mean(axis=0, dtype=numpy.float64) for row, text in enumerate(texts)])
    return means / numpy.linalg.norm(means, axis=1, keepdims=True)


def batches(texts: Texts, size: int = BATCH) -> list[Texts]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def embed_all(session: onnxruntime.InferenceSession, texts: Texts, size: int) -> numpy.ndarray:
    """In batches of `size`."""
    return numpy.concatenate([embed(session, batch) for batch in batches(texts, size)])


def cosines(a: numpy.ndarray, b: numpy.ndarray) -> list[float]:
    """Of vectors of length 1; exactly 1 of equal ones."""
    return (1 - ((a - b) ** 2).sum(axis=1) / 2).tolist()


def count_differing(a: numpy.ndarray, b: numpy.ndarray) -> int:
    return int((a != b).any(axis=1).sum())


def _nearest(embeddings: numpy.ndarray) -> numpy.ndarray:
    near = embeddings @ embeddings.T
    numpy.fill_diagonal(near, -2)  # a text is no neighbour of itself
    return numpy.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]


def neighbours_kept(expected: numpy.ndarray, given: numpy.ndarray) -> float:
    """The share of each text's nearest ones that stay among its nearest."""
    pairs = zip(_nearest(expected), _nearest(given), strict=True)
    return float(numpy.mean([len(set(e) & set(g)) / NEIGHBOURS for e, g in pairs]))
