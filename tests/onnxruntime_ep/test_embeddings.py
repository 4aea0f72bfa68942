"""The sentence encoder that scripts/measure embeddings makes, by its formulas, and what compares embeddings."""
import json
import math
import unittest

import numpy as np
import provider
from measure.models.minilm import model, read_weights
from measure.scores import cosines
from measure.suites.embeddings import count_differing, embed, neighbours_kept

HIDDEN, INNER, HEADS = 384, 1536, 12


def random_weights():
    random = np.random.default_rng(3)
    at = "encoder.layer.0."
    dense = {f"{at}attention.self.{name}": (HIDDEN, HIDDEN) for name in ("query", "key", "value")}
    dense |= {at + "attention.output.dense": (HIDDEN, HIDDEN), at + "intermediate.dense": (INNER, HIDDEN), at + "output.dense": (HIDDEN, INNER)}
    shapes = {name + ".weight": shape for name, shape in dense.items()} | {name + ".bias": shape[:1] for name, shape in dense.items()}
    for name in ("embeddings", at + "attention.output", at + "output"):
        shapes |= {f"{name}.LayerNorm.weight": (HIDDEN,), f"{name}.LayerNorm.bias": (HIDDEN,)}
    shapes |= {f"embeddings.{name}_embeddings.weight": (rows, HIDDEN) for name, rows in (("word", 50), ("position", 20), ("token_type", 2))}
    return {name: (random.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32) for name, shape in shapes.items()}


def states_by_formulas(weights, ids):
    """Of one text without padding, in float64."""
    w = {name: value.astype(float) for name, value in weights.items()}
    at = "encoder.layer.0."

    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True)) * w[name + ".LayerNorm.weight"] + w[name + ".LayerNorm.bias"]

    words, places, types = (w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = norm(words[ids] + places[: len(ids)] + types[0], "embeddings")
    query, key, value = (dense(x, f"{at}attention.self.{name}") for name in ("query", "key", "value"))
    joined = np.empty_like(x)
    size = HIDDEN // HEADS
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        shares = np.exp(query[:, part] @ key[:, part].T / size**0.5)
        joined[:, part] = shares / shares.sum(axis=1, keepdims=True) @ value[:, part]
    x = norm(dense(joined, at + "attention.output.dense") + x, at + "attention.output")
    inner = dense(x, at + "intermediate.dense")
    gelu = inner * (1 + np.vectorize(math.erf)(inner / 2**0.5)) / 2
    return norm(dense(gelu, at + "output.dense") + x, at + "output")


class Encoder(unittest.TestCase):
    def test_formulas_alone_and_padded(self):
        weights = random_weights()
        session = provider.session(model(weights, 1).SerializeToString(), provider=False)
        texts = [[7, 3, 49, 0, 3], [1, 2], list(range(20))]
        expected = []
        for text in texts:
            mean = states_by_formulas(weights, text).mean(axis=0)
            expected.append(mean / np.linalg.norm(mean))
        np.testing.assert_allclose(embed(session, texts), expected, atol=1e-6)
        np.testing.assert_allclose(embed(session, texts[:1]), expected[:1], atol=1e-6)

    def test_weights_of_a_file(self):
        data = np.arange(6, dtype="<f4").tobytes() + np.arange(2, dtype="<i8").tobytes()
        header = json.dumps({"__metadata__": {"format": "pt"}, "ids": {"dtype": "I64", "shape": [2], "data_offsets": [24, 40]},
                             "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()  # fmt: skip
        (name, w), = read_weights(len(header).to_bytes(8, "little") + header + data).items()
        self.assertEqual((name, w.tolist()), ("w", [[0, 1, 2], [3, 4, 5]]))


class Comparing(unittest.TestCase):
    def test_cosines_and_bits(self):
        a = np.array([[1.0, 0], [0, 1], [0.6, 0.8]])
        b = np.array([[1.0, 0], [1, 0], [0.8, 0.6]])
        np.testing.assert_allclose(cosines(a, b), [1, 0, 0.96], atol=1e-15)
        self.assertEqual(cosines(a, b)[0], 1)
        self.assertEqual(count_differing(a, b), 2)

    def test_neighbours(self):
        """Of 21 texts on a circle, by steps of a degree, each has ten nearest ones. Two of them change places."""
        angles = np.radians(np.arange(21))
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.assertEqual(neighbours_kept(points, points), 1)
        swapped = points.copy()
        swapped[[0, 20]] = swapped[[20, 0]]
        kept = []
        for text in range(21):
            near = [set(sorted((i for i in range(21) if i != text), key=lambda i: abs(place[i] - place[text]))[:10])
                    for place in (list(range(21)), [20, *range(1, 20), 0])]  # fmt: skip
            kept.append(len(near[0] & near[1]) / 10)
        self.assertAlmostEqual(neighbours_kept(points, swapped), sum(kept) / 21)


if __name__ == "__main__":
    unittest.main()
