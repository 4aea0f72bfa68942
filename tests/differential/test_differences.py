"""In the smallest case of each known difference dynquant gives the right value and the peer the wrong one."""
import unittest
from pathlib import Path

import numpy as np
import peers
from elements import Elements, as_double, unequal
from known import KNOWN


def as_list(array):
    return as_double(array).reshape(-1)


class KnownDifferences(unittest.TestCase):
    def check(self, values, expected, who):
        self.assertFalse(unequal(as_list(values), as_list(expected)).any(), f"{who}: {values}, expected {expected}")

    def test_cases(self):
        for peer, differences in KNOWN.items():
            for difference in differences:
                for case in difference.cases:
                    with self.subTest(difference.name, node=str(case.node)):
                        self.check(peers.dynquant([case.node])[0][case.output], case.right, "dynquant")
                        self.check(peers.PEERS[peer](case.node)[case.output], case.wrong, peer)

    def test_predicates_are_true_where_the_cases_differ(self):
        for differences in KNOWN.values():
            for difference in differences:
                for case in difference.cases:
                    with self.subTest(difference.name, node=str(case.node)), np.errstate(all="ignore"):
                        where = difference.where(Elements(case.node))
                        if case.node.dynamic:
                            self.assertTrue(np.all(where))
                        else:
                            self.assertEqual(list(where.reshape(-1)),
                                             list(unequal(as_list(case.right), as_list(case.wrong))))

    def test_the_documentation_names_each(self):
        page = (Path(__file__).parents[2] / "docs/onnx_operators.md").read_text()
        names = [d.name for differences in KNOWN.values() for d in differences]
        for name in names:
            self.assertEqual(page.count(f"`{name}`"), 1, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
