"""The chains that scripts/measure weights times: results in float64, weights by hand, and their claims."""
import os
import unittest

import ml_dtypes
import numpy as np
from measure.sessions import PROVIDER, Peer, session
from measure.suites.weights import (FLOAT, FLOAT8, INT4, INT8, NODES, PEERS, WEIGHTS, Chain, all_chains, constants_of, count_claimed, input_of, measure_chain,
                                    model_of, quantized)  # fmt: skip
from processor import IN_HALVES

PEER = Peer(PROVIDER, provider=os.environ["DYNQUANT_ONNXRUNTIME"])
INT8_PER_TENSOR, UINT8 = WEIGHTS[1:3]


def expected(chain, x):
    """Of four layers with narrow weights, in float64."""
    for i in range(4):
        narrow, bias = constants_of(chain, i)
        w, scale, zero_point = (value.astype(np.float64) for value in narrow)
        outputs = len(w)
        spread = [np.broadcast_to(p, (outputs, 1, 1)) if p.ndim == 0 else p.reshape(outputs, -1, 1) for p in (scale, zero_point)]
        groups = w.reshape(outputs, spread[0].shape[1], -1)
        floats = ((groups - spread[1]) * spread[0]).reshape(outputs, -1)
        x = np.einsum("ok,nk...->no...", floats, x) + bias.reshape(-1, *[1] * (x.ndim - 2))
        x = np.maximum(x, 0) if i < 3 else x
    return x


class Chains(unittest.TestCase):
    def test_each_layer_is_claimed(self):
        for chain in all_chains():
            with self.subTest(chain=chain.name):
                is_left = IN_HALVES and chain.name == "1x1 Conv, 256 to 256 channels, 7 x 7, int8 per column"
                self.assertEqual(count_claimed(session(model_of(chain, is_narrow=True), PEER, 1)), 0 if is_left else 4)

    def test_results(self):
        for chain in (*(Chain(128, weights) for weights in WEIGHTS), Chain(64, INT8, is_convolution=True)):
            narrow, x = model_of(chain, is_narrow=True), input_of(chain, 5)
            y = expected(chain, x.astype(np.float64))
            for peer, model in ((PEER, narrow), (Peer(NODES), narrow), (Peer(FLOAT), model_of(chain, is_narrow=False))):
                with self.subTest(chain=chain.name, peer=peer.name):
                    np.testing.assert_allclose(session(model, peer, 1).run(None, {"x": x})[0], y, rtol=0, atol=1e-5 * np.abs(y).max())

    def test_values_keep_their_size(self):
        """Else a long chain would have no digits, or infinities."""
        chain = Chain(128, INT8)
        y = session(model_of(chain, is_narrow=False), Peer(FLOAT), 1).run(None, {"x": input_of(chain, 16)})[0]
        self.assertTrue(0.5 < y.std() < 10, y.std())


class Quantized(unittest.TestCase):
    def check(self, weights, values, codes, scales, zero_points=None):
        given = quantized(np.array(values, np.float32), weights)
        zero_points = np.zeros_like(scales) if zero_points is None else zero_points
        self.assertEqual([of.dtype for of in given], [weights.dtype, np.float32, weights.dtype])
        for of, by_hand in zip(given, (codes, scales, zero_points), strict=True):
            np.testing.assert_array_equal(of.astype(np.float32), by_hand)

    def test_by_hand(self):
        values = [[-127, 63.4, 2.6], [1, 254, 3]]
        self.check(INT8, values, [[-127, 63, 3], [0, 127, 2]], [1, 2])
        self.check(INT8_PER_TENSOR, values, [[-64, 32, 1], [0, 127, 2]], 2)  # -63.5 and 1.5 are ties
        self.check(UINT8, [[-100, 155, 3.4], [-1, 1.55, 0]], [[0, 255, 103], [0, 255, 100]], np.float32([1, 0.01]), [100, 100])
        self.check(FLOAT8, [[448, 17, 19, -0.3]], [[448, 16, 20, -0.3125]], [1])
        self.assertIs(FLOAT8.dtype, ml_dtypes.float8_e4m3fn)

    def test_blocks(self):
        values = np.zeros((1, 64), np.float32)
        values[0, [0, 1, 32, 63]] = 7, -3.2, -14, 5.2
        codes = np.zeros((1, 64))
        codes[0, [0, 1, 32, 63]] = 7, -3, -7, 3
        self.check(INT4, values, codes, [[1, 2]])


class Measuring(unittest.TestCase):
    def test_turns_and_memory(self):
        chain = Chain(64, INT8)
        *timed, memory = measure_chain(chain, 1, PEER, 2, 0)
        self.assertEqual([(m.case, m.facts["claimed"]) for m in timed], [(f"Gemm, 64 x 64, int8 per column, {rows} rows", 0 if IN_HALVES else 4) for rows in (1, 4, 8, 16, 128)])
        for m in timed:
            for peer in PEERS:
                self.assertEqual(len(m.times[peer]), 2)
                self.assertLessEqual(m.least[peer], min(m.times[peer]))
        self.assertEqual((memory.case, list(memory.facts["mib"])), ("Gemm, 64 x 64, int8 per column, memory", list(PEERS)))


if __name__ == "__main__":
    unittest.main()
