"""scripts/measure on drawn options, and on files of figures of which bytes are others."""

import contextlib
import io
import json
import math
import pathlib
import tempfile
import unittest
from collections.abc import Callable

from drawn import changed, drawn
from hypothesis import strategies as st
from measure.arguments import SUITES, parse
from measure.results import MACHINE, Measured, Processor

VALUES = st.one_of(st.sampled_from((*SUITES, ".", "0", "1", "2", "1e-5", "nan", "9" * 400, "9" * 5000, "²", "٣", "\udcff", "\0")), st.text(max_size=4))
NUMBERS = st.sampled_from(("0", "1", "2", "-1", "1e-5", "nan", "9" * 400, "9" * 5000, "²", "٣", ""))
FLAGS = "--per-channel", "--few-bits", "--save", "--draw", "--version", "--help", "--", "--thread"
WORDS = st.one_of(
    st.tuples(st.sampled_from(("--threads", "--rounds", "--milliseconds")), NUMBERS), st.tuples(st.sampled_from(("--only", "--build", "--models", "--figures")), VALUES),
    st.tuples(st.sampled_from(FLAGS)), st.tuples(VALUES))  # fmt: skip
JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just(10**400)),
                    lambda parts: st.one_of(st.lists(parts, max_size=3), st.dictionaries(st.text(max_size=3), parts, max_size=3)), max_leaves=4)  # fmt: skip


def figures() -> bytes:
    result = Processor("Zen 4")
    result.add(Measured("core", MACHINE, 0, facts={"date": "2026-11-30", "Cores": "2"}))
    result.add(Measured("core", "a case", 1, {"dynquant": [1e-6, 2e-6], "flat": [3e-6]}, {"dynquant": 5e-7}, {"layers": 3}))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f.jsonl"
        result.save(path)
        return path.read_bytes()


@st.composite
def lines(draw: Callable) -> bytes:
    """Figures, and a line of which one or two values are others."""
    right: list[object] = ["core", "case", 1, {"dynquant": [1, 2]}, {"dynquant": 1}, {}]
    for at in draw(st.lists(st.integers(0, 5), min_size=1, max_size=2)):
        right[at] = draw(st.one_of(JSON, st.dictionaries(st.just("x"), JSON, min_size=1)))
    return figures() + json.dumps(right).encode()


class Drawn(unittest.TestCase):
    @drawn(2800, words=st.lists(WORDS, max_size=3).map(lambda some: [word for each in some for word in each]), suite=st.sampled_from(sorted(SUITES)))
    def test_options(self, words, suite):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                given = parse([suite, *words])
        except SystemExit as end:
            self.assertIn(end.code, (0, 2))
            self.assertRegex(said.getvalue(), r"error: |^usage: |^dynquant ")
            return
        self.assertTrue(given.rounds >= 1 and 0 <= given.seconds < math.inf and all(n >= 1 for n in given.threads), given)

    @drawn(2800, data=st.one_of(changed(figures()), lines()))
    def test_figures(self, data):
        with tempfile.TemporaryDirectory() as folder:
            path, again = pathlib.Path(folder) / "f.jsonl", pathlib.Path(folder) / "g.jsonl"
            path.write_bytes(data)
            try:
                read = Processor.load(path)
            except RuntimeError as error:
                self.assertRegex(str(error), rf"(?s)\A{path}(, line \d+)?: expected .+, given .+\Z")
                return
            read.save(path)
            Processor.load(path).save(again)
            self.assertEqual(again.read_bytes(), path.read_bytes())


if __name__ == "__main__":
    unittest.main()
