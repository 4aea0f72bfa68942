"""What scripts/measure accuracy computes: edit distance, neighbours, texts of probabilities, descriptions. Values are worked out by
hand."""

import hashlib
import unittest

import numpy
import onnx
import onnxruntime
from measure import scores
from measure.models import networks, pictures
from measure.models.texts import descriptions
from measure.results import Measured
from measure.suites import accuracy
from onnx import TensorProto, helper, numpy_helper


class Scores(unittest.TestCase):
    def test_edit_distance(self):
        for expected, given, distance in (("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "ab", 2), ("abc", "abd", 1), ("abc", "ac", 1),
                                          ("abc", "xabc", 1), ("ab", "ba", 2), ("kitten", "sitting", 3), ("abcdef", "bcdefg", 2)):  # fmt: skip
            self.assertEqual(scores.edit_distance(expected, given), distance, (expected, given))
            self.assertEqual(scores.edit_distance(given, expected), distance, (given, expected))

    def test_nearest_and_recall(self):
        near = scores.nearest(numpy.array([[0.1, 0.9, 0.5, 0.5], [1.0, 0.0, 0.2, 0.3]]), 3)
        self.assertEqual(near.tolist(), [[1, 2, 3], [0, 3, 2]])  # of equals the first
        self.assertEqual(scores.recall(near, numpy.array([[3, 2, 1], [0, 1, 2]])), (1 + 2 / 3) / 2)
        self.assertEqual(scores.recall(near[:, :1], numpy.array([[1], [3]])), 0.5)


class Lines(unittest.TestCase):
    def test_a_text_is_the_likeliest_classes_without_repetitions(self):
        classes = pictures.alphabet("a\nb")
        self.assertEqual(classes, ["", "a", "b", " "])

        def probabilities(*best):
            return numpy.eye(4)[list(best)] * 0.6 + 0.1

        given = numpy.stack([probabilities(1, 1, 0, 1, 2, 2), probabilities(0, 0, 2, 3, 3, 1), probabilities(0, 0, 0, 0, 0, 0)])
        self.assertEqual(pictures.texts_of(given, classes), ["aab", "b a", ""])

    def test_a_batch_is_padded_with_zeros_and_blue_comes_first(self):
        one, two = numpy.zeros((48, 2, 3), numpy.uint8), numpy.full((48, 400, 3), 255, numpy.uint8)
        one[:, :, 0] = 255  # red
        x = pictures.batch([one, two])
        self.assertEqual((x.shape, x.dtype), ((2, 3, 48, 400), numpy.float32))
        self.assertEqual([x[0, channel, 7, :3].tolist() for channel in range(3)], [[-1, -1, 0], [-1, -1, 0], [1, 1, 0]])
        self.assertTrue((x[1] == 1).all())
        self.assertEqual(pictures.batch([one]).shape, (1, 3, 48, 320))

    def test_facts(self):
        # "a b" is read right but for its space, "cd" lacks one character, "ef" is all wrong.
        facts = accuracy.line_facts(["a b", "cd", "ef"], ["ab", "c", "xyz"], ["ab", "cd", "xyz"])
        self.assertEqual(facts, {"lines": 3, "right": 1, "errors": 4, "characters": 6, "unlike": 1})


class Neighbours(unittest.TestCase):
    def test_facts(self):
        """One query at 0 degrees; eleven indexed at 10, 20, ..., 110 degrees. The other embeddings have the first and the last in
        each other's place, so that the last is nearest, and the first not among ten."""

        def at(*degrees):
            return numpy.stack([numpy.cos(numpy.radians(degrees)), numpy.sin(numpy.radians(degrees))], axis=1)

        indexed = list(range(10, 120, 10))
        reference, given = at(*indexed, 0), at(indexed[-1], *indexed[1:-1], indexed[0], 0)
        sections = ["games", *["libs"] * 10, "games"]
        queries, accuracy.QUERIES = accuracy.QUERIES, 1
        try:
            facts = accuracy.neighbour_facts(sections, given, reference, reference)
            same = accuracy.neighbour_facts(sections, reference, reference, reference)
        finally:
            accuracy.QUERIES = queries
        least, mean = facts.pop("cosine")
        # Two of the twelve are 100 degrees away.
        self.assertAlmostEqual(least, numpy.cos(numpy.radians(100)))
        self.assertAlmostEqual(mean, (10 + 2 * numpy.cos(numpy.radians(100))) / 12)
        self.assertEqual(facts, {"queries": 1, "indexed": 11, "first": 0, "ten": 0.9, "section": 0, "unlike": 1})
        self.assertEqual(same, {"queries": 1, "indexed": 11, "cosine": [1, 1], "first": 1, "ten": 1, "section": 1, "unlike": 0})


class Texts(unittest.TestCase):
    def test_descriptions_by_their_hashes(self):
        dump = ("Package: a\nDescription: First one\nSection: games\n\nPackage: b\nSection: libs\nDescription-en: Second one\n of them\n\n"
                "Package: c\nSection: math\nDescription: First one\n\nPackage: d\nSection: math\nDescription: é\n\nPackage: e\nDescription: none\n")
        found = descriptions(dump)
        self.assertEqual(found, {"First one": "games", "Second one": "libs"})
        self.assertEqual(list(found), sorted(found, key=lambda text: hashlib.sha256(text.encode()).hexdigest()))


class Tables(unittest.TestCase):
    def test_cells(self):
        of, claimed = {"lines": 200, "right": 150, "errors": 5, "characters": 400, "unlike": 3}, {"claimed": 46, "eligible": 47}
        some = [Measured("accuracy", f"ocr, int8, {peer}", 1, facts=of | {"differs": differs, "other runs": other, "runs": 34} | more)
                for peer, differs, other, more in (("ONNX Runtime", 0.0, 0, {}), (accuracy.PER_TENSOR, 0.0338186, 2, claimed),
                                                   (accuracy.PER_ROW, 0.996, 34, claimed))]  # fmt: skip
        self.assertEqual(accuracy.tables(some)["accuracy ocr"][2:5], [
            "| int8, ONNX Runtime |  | 150 of 200 | 1.25 % | 3 | none |", "| int8, provider, per_tensor | 46 of 47 | 150 of 200 | 1.25 % | 3 | 3.4 %, in 2 of 34 runs |",
            "| int8, provider, per_row | 46 of 47 | 150 of 200 | 1.25 % | 3 | 99.6 %, in 34 of 34 runs |"])  # fmt: skip
        of = {"queries": 500, "indexed": 9, "cosine": [0.999999, 1.0], "first": 0.5, "ten": 0.91, "section": 250, "unlike": 7}
        some = [Measured("accuracy", "embeddings, float", 1, facts=of | {"differs": 0.0, "other runs": 0, "runs": 2})]
        self.assertEqual(list(accuracy.tables(some)), ["accuracy embeddings"])
        self.assertEqual(accuracy.tables(some)["accuracy embeddings"][2], "| float |  | 0.99999 | 1.00000 | 50.0 % | 91.0 % | 50.0 % | 7 | none |")


if __name__ == "__main__":
    unittest.main()
