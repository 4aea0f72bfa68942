"""Of transformers as they are exported and quantized dynamically, the execution provider claims all layers."""
import logging
import os
import pathlib
import tempfile
import unittest

from measure.models.exported import Size
from measure.models.networks import DYNAMIC, eligible_layers, quantized
from measure.models.transformers import TRANSFORMERS
from measure.sessions import PROVIDER, RUNTIME, Peer, claimed_products, session
from measure.suites.transformers import FLOAT_MODEL, checked_differences

PEER = Peer(PROVIDER, provider=os.environ["DYNQUANT_ONNXRUNTIME"])
SMALL = Size(2, 64, 8, 96, 50)
logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's tools


class Transformers(unittest.TestCase):
    def test_layers_are_claimed_and_compute_what_their_nodes_do(self):
        for one in TRANSFORMERS:
            model = one.build(SMALL)
            inputs = one.runs[0].inputs(model)
            expected = {FLOAT_MODEL: session(model.SerializeToString(), Peer(RUNTIME), 1).run(None, inputs)}
            for name in DYNAMIC:
                with self.subTest(transformer=one.name, weights=name), tempfile.TemporaryDirectory() as folder:
                    narrow = quantized(model, name, pathlib.Path(folder), is_optimized_before=False)
                    some = {peer.name: session(narrow.SerializeToString(), peer, 1) for peer in (PEER, Peer(RUNTIME))}
                    self.assertGreater(eligible_layers(narrow), 0)
                    self.assertEqual(claimed_products(some[PROVIDER]), eligible_layers(narrow))
                    checked_differences(one.name, expected | {peer: s.run(None, inputs) for peer, s in some.items()})


if __name__ == "__main__":
    unittest.main()
