"""scikit-learn's handwritten digits, split in the same way for all networks."""

import collections

import numpy
from sklearn.datasets import load_digits

CLASSES = 10
SIZE = 8  # an image has SIZE x SIZE pixels
Samples = collections.namedtuple("Samples", "images labels")  # images [n, 1, 8, 8] with values from 0 to 1, and their digits
Split = collections.namedtuple("Split", "train calibration test")


def split() -> Split:
    """All 1797 images: 997 for training, 200 for calibration, 600 for tests."""
    digits = load_digits()
    images = (digits.images / 16).astype(numpy.float32).reshape(-1, 1, SIZE, SIZE)
    order = numpy.random.default_rng(0).permutation(len(images))

    def samples(begin: int, end: int | None) -> Samples:
        return Samples(images[order[begin:end]], digits.target[order[begin:end]])

    return Split(samples(0, 997), samples(997, 1197), samples(1197, None))
