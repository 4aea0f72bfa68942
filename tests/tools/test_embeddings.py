"""scripts/compare-onnxruntime --embeddings: its sentences and tokens, and its tables from fictitious figures."""

import unittest

from onnx_speed.embeddings.page import tables
from onnx_speed.embeddings.result import PER_ROW, PER_TENSOR, Embedded
from onnx_speed.embeddings.texts import Tokenizer, items, sentences

YAML = """categories:
- conversations
conversations:
- - What is a quantized layer?
  - 'It''s a layer
    of "bytes".'
- - "How do you do it?"
  - One two three four
"""


def embedded(name=PER_ROW, threads=1, to_float=(0.5, 1.0), kept=0.9651, to_alone=(1.0, 1.0), differing=0, alone=(1e-3,), batched=(2e-3,)):
    return Embedded(name, threads, list(to_float), kept, list(to_alone), differing, list(alone), list(batched))


def row(*some):
    return [cell.strip() for cell in tables(list(some)).splitlines()[2].split("|")[1:-1]]


class Texts(unittest.TestCase):
    def test_items(self):
        expected = ["What is a quantized layer?", 'It\'s a layer of "bytes".', "How do you do it?", "One two three four"]
        self.assertEqual(items(YAML), expected)

    def test_sentences_are_distinct_and_of_five_words_of_ascii(self):
        other = "conversations:\n- - How do you do it?\n  - Où est-ce que tu vas\n"
        expected = {"What is a quantized layer?", 'It\'s a layer of "bytes".', "How do you do it?"}
        found = sentences([YAML, other], 9)
        self.assertEqual((len(found), set(found)), (3, expected))
        self.assertEqual(sentences([YAML, other], 2), found[:2])

    def test_tokens_are_the_longest_pieces(self):
        tokens = Tokenizer("\n".join(["[UNK]", "[CLS]", "[SEP]", "qu", "quant", "##ize", "##i", "##z", "?", "the", "##x"]))
        self.assertEqual(tokens("The quantize?"), [1, 9, 4, 5, 8, 2])
        self.assertEqual(tokens("quiz thex qua the"), [1, 3, 6, 7, 9, 10, 0, 9, 2])


class Tables(unittest.TestCase):
    def test_cosines_are_rounded_down(self):
        one = embedded(to_float=(0.999999, 1.0), to_alone=(0.5, 0.75), differing=2)
        self.assertEqual(row(one)[1:], ["0.99999", "0.99999", "96.5 %", "0.50000", "0.62500", "2 of 2", "1.00 (1.00)", "2.00 (2.00)"])

    def test_only_equal_ones_are_1(self):
        self.assertEqual(row(embedded())[4:7], ["1", "1", "0 of 2"])
        self.assertEqual(row(embedded(to_alone=(1.0, 1 - 2**-52)))[4:6], ["0.99999", "0.99999"])

    def test_times_are_medians_and_ratios_those_of_neighbouring_turns(self):
        # By row 1, 2 and 4 times the time alone, and half of it in batches.
        some = embedded(PER_TENSOR, alone=(1e-3, 4e-3, 2e-3)), embedded(alone=(4e-3, 4e-3, 4e-3), batched=(1e-3,))
        self.assertEqual(row(some[0])[7:], ["2.00 (1.00)", "2.00 (2.00)"])
        self.assertIn("takes 2.00 of the time of per_tensor alone and 0.50 in batches", tables(list(some)))

    def test_a_table_for_each_number_of_threads(self):
        heads = [line.split("|")[1].strip() for line in tables([embedded(), embedded(threads=2)]).splitlines() if "neighbours" in line]
        self.assertEqual(heads, ["one thread", "2 threads"])


if __name__ == "__main__":
    unittest.main()
