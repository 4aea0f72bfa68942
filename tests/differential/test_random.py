"""On random nodes dynquant and its peers differ only by known differences.

DYNQUANT_DIFFERENTIAL_SEED and _COUNT, in the environment, draw other nodes and more of them."""
import faulthandler
import os
import re
import unittest

import numpy as np
import peers
from elements import Elements
from known import KNOWN
from nodes import differing
from random_nodes import Generator

SEED = int(os.environ.get("DYNQUANT_DIFFERENTIAL_SEED", "1"))
COUNT = int(os.environ.get("DYNQUANT_DIFFERENTIAL_COUNT", "4000"))
KERNELS = [{"DYNQUANT_KERNEL": "reference"}, {"DYNQUANT_MAX_ISA": "scalar"}, {"DYNQUANT_MAX_ISA": "avx2"}]
# Models that ONNX Runtime refuses in all kernels: those with float6, and those for whose y it infers another type.
REFUSED_BY_ONNXRUNTIME = re.compile(r"tensor\(float6e|of output arg \(y\) .* does not match expected type")
faulthandler.enable()  # a peer may end the process


def drawn():
    generator = Generator(SEED)
    return [generator.node() for _ in range(COUNT)]


def unexplained(node, ours, theirs, differences):
    """Describes elements that differ against expectation, and elements that agree against expectation."""
    elements = Elements(node)
    predicates = {d: of_node(d.where(elements), node) for d in differences}
    found = []
    for number, (expected, given) in enumerate(zip(ours, theirs)):
        if (expected.dtype, expected.shape) != (given.dtype, given.shape):
            return f"output {number}: {expected.dtype}{expected.shape}, peer {given.dtype}{given.shape}"
        where = differing(expected, given)
        for index in np.argwhere(where & ~union(predicates, where.shape))[:3]:
            at = tuple(index)
            found.append(f"output {number}{list(index)}: x {node.inputs[0][at] if number == 0 else node.inputs[0]}, "
                         f"dynquant {expected[at]}, peer {given[at]}")
        if not node.dynamic:
            found += [f"{d.name}, and y is the same" for d in idle(predicates, where)]
    return "; ".join(found)


def of_node(known, node):
    """For DynamicQuantizeLinear one value, otherwise one for each element of y."""
    return np.any(known) if node.dynamic else np.broadcast_to(known, node.inputs[0].shape)


def union(predicates, shape):
    return np.any([np.broadcast_to(known, shape) for known in predicates.values()] + [np.zeros(shape, bool)], axis=0)


def idle(predicates, where):
    """Predicates that alone are true where y does not differ. Two differences may cancel out."""
    times = np.sum([known.astype(int) for known in predicates.values()] + [np.zeros(where.shape, int)], axis=0)
    return [d for d, known in predicates.items() if d.exact and np.any(known & (times == 1) & ~where)]


class RandomNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nodes = drawn()
        cls.ours, *cls.by_other_kernels = peers.dynquant_by([{}] + KERNELS, cls.nodes)

    def test_kernels_agree(self):
        for environment, others in zip(KERNELS, self.by_other_kernels):
            for node, expected, given in zip(self.nodes, self.ours, others):
                for e, g in zip(expected, given):
                    self.assertFalse(differing(e, g).any(), f"{environment}: {node}")

    def check(self, peer, least, every=1):
        """Of every `every`th node at least the share `least` is computed. Returns why the others are not offered."""
        computed, not_offered = 0, set()
        for node, ours in list(zip(self.nodes, self.ours))[::every]:
            try:
                theirs = peers.PEERS[peer](node)
            except peers.NotOffered as why:
                not_offered.add(str(why))
                continue
            with np.errstate(all="ignore"):
                wrong = unexplained(node, ours, theirs, KNOWN[peer])
            self.assertFalse(wrong, f"{peer}, seed {SEED}: {node}: {wrong}")
            computed += 1
        self.assertGreater(computed, least * COUNT / every)
        return not_offered

    def test_reference(self):
        self.check("onnx.reference", 0.7)

    def test_onnxruntime(self):
        self.check("ONNX Runtime", 0.35)

    def test_quark(self):
        self.check("Quark", 0.12)

    def test_dynquant_in_onnxruntime(self):
        not_offered = self.check("dynquant in ONNX Runtime", 0.97, every=10)
        self.assertEqual([why for why in not_offered if not REFUSED_BY_ONNXRUNTIME.search(why)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
