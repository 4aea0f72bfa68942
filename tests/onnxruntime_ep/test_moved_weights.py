"""Weight-only layers whose weights pass Transpose and Reshape: one node, with the bits of the layer without these."""
import unittest

import numpy as np
import onnx
import provider
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from provider import NAME
from test_narrow import CODES, FLOATS, Layer, operators, run
from test_provider import log


def moved(layer, by, split=1):
    """layer.model() with other weights in the file and nodes that make those of them: "transpose", "reshape" or both. split: the last
    dimension becomes two, of which this is the second, or the first where it is 1."""
    m = onnx.load_from_string(layer.model())
    nodes = {n.name: n for n in m.graph.node}
    dequantize, product = nodes["dq"], nodes["product"]
    last = nodes.get("cast", dequantize).output[0]
    weights, scales = m.graph.initializer[:2]
    between = []
    if "reshape" in by:
        shape = list(weights.dims)
        axis = next((a for a in dequantize.attribute if a.name == "axis"), None)
        for parameters in (scales, *(i for i in m.graph.initializer if i.name == "z")):
            if len(parameters.dims) == 2:
                parameters.dims[:] = [parameters.dims[0], 1, parameters.dims[1]]
        if axis is not None:
            axis.i *= 2
        weights.dims[:] = [shape[0], shape[1] // split if split > 1 else 1, split if split > 1 else shape[1]]
        m.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), "shape"))
        between.append(helper.make_node("Reshape", [last, "shape"], ["reshaped"], "reshape"))
        last = "reshaped"
    if "transpose" in by:
        between.append(helper.make_node("Transpose", [last], ["turned"], "transpose", perm=[1, 0]))
        last = "turned"
        if product.op_type == "Gemm":
            transposes = next(a for a in product.attribute if a.name == "transB")
            transposes.i = 1 - transposes.i
    product.input[1] = last
    at = list(m.graph.node).index(product)
    kept = [*m.graph.node[:at], *between, *m.graph.node[at:]]
    del m.graph.node[:]
    m.graph.node.extend(kept)
    return m.SerializeToString()


class Moved(unittest.TestCase):
    def check(self, layer, m):
        x = layer.draw_x()
        self.assertEqual(operators(m, {"x": x}), {NAME: 1, "Neg": 1})
        given = run(m, {"x": x})[0]
        provider.assert_same(given, run(layer.model(), {"x": x})[0])
        expected, bound = layer.expected(x)
        self.assertTrue((np.abs(given - expected) <= bound).all())

    def test_gemm(self):
        """A Relu whose result one node takes keeps ONNX Runtime from MatMulNBits."""
        for i in range(48):
            random = np.random.default_rng([21, i])
            kind, granularity = [*CODES, *FLOATS][i % 6], ["tensor", "columns", "rows", "block"][i // 6 % 4]
            layer = Layer(random, "Gemm", kind, granularity, transposed=i % 5 < 3, step="Relu", goes_on=True, half="cast" if i % 7 == 0 else "")
            for by in (["transpose"], ["reshape"], ["reshape", "transpose"]):
                with self.subTest(i=i, kind=kind, granularity=granularity, transposed=layer.transposed, by=by):
                    self.check(layer, moved(layer, by))

    def test_dimensions_that_become_one(self):
        for i in range(12):
            random = np.random.default_rng([22, i])
            kind = [*CODES, *FLOATS][i % 6]
            layer = Layer(random, "Gemm", kind, ["tensor", "columns"][i // 6], transposed=True, step="Relu", goes_on=True, inner=24, columns=10)
            for by, split in ((["reshape"], 4), (["reshape", "transpose"], 8)):
                with self.subTest(i=i, by=by):
                    self.check(layer, moved(layer, by, split))

    def test_blocks_that_are_dimensions(self):
        for kind in CODES:
            layer = Layer(np.random.default_rng(25), "Gemm", kind, "block", transposed=True, step="Relu", goes_on=True, block=16, inner=64, columns=32)
            for by in (["reshape"], ["reshape", "transpose"]):
                m = onnx.load_from_string(moved(layer, by, split=16))
                for parameters in (i for i in m.graph.initializer if i.name in ("s", "z")):
                    parameters.dims[:] = [32, 4, 1]
                with self.subTest(kind=kind, by=by):
                    self.check(layer, m.SerializeToString())

    def test_matmul_with_transposed_weights(self):
        """The nodes of Gemm with transB, but MatMul: ONNX Runtime makes Gemm of none of these."""
        for kind in (*CODES, *FLOATS):
            layer = Layer(np.random.default_rng(23), "Gemm", kind, "block", transposed=True, bias=False, block=32, inner=96)
            m = onnx.load_from_string(moved(layer, ["transpose"]))
            product = m.graph.node[-1]
            product.CopyFrom(helper.make_node("MatMul", product.input, product.output, "product"))
            x = layer.draw_x()
            with self.subTest(kind=kind):
                self.assertEqual(operators(m.SerializeToString(), {"x": x}), {NAME: 1})
                provider.assert_same(run(m.SerializeToString(), {"x": x})[0], run(layer.model(), {"x": x})[0])

    def test_what_is_left(self):
        layer = Layer(np.random.default_rng(24), "Gemm", T.INT8, "rows", transposed=True, zero_points=False, inner=8, columns=6)
        m = onnx.load_from_string(moved(layer, ["reshape"], split=4))
        m.graph.node[0].attribute[0].i = 1
        m.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "s"))
        self.assertIn("dynquant: leaves 'product' (Gemm): its weights have scales along axis 1 of 6x2x4, neither their rows nor their columns",
                      log(m.SerializeToString(), claim="all"))


if __name__ == "__main__":
    unittest.main()
