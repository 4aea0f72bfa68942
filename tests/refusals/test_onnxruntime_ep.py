"""The execution provider refuses wrong options, nodes and shapes, by a message that names them."""
import pathlib
import sys
import unittest

import numpy as np
import onnx
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnxruntime_ep"))
import test_nodes
import test_rows
from layers import integer_product, model
from provider import NAME, operators, run, session
from refusals import Case
from test_provider import CONVOLUTION, FLOAT, INT32, REFUSALS, UINT8, X, convolution, random_bytes

INVALID = Fail, InvalidArgument


class Options(Case):
    ERRORS = RuntimeError, InvalidArgument  # up to ONNX Runtime 1.31, and since 1.32

    def test_wrong_ones_are_refused_by_name(self):
        threads = "option 'threads': expected", "a number of threads", "0"
        for options, *parts in (
                ({"claim": "al"}, "option 'claim': expected", "auto, all or none", "given 'al'", "'all'?"),
                ({"verbose": "yes"}, "option 'verbose': expected", "0 or 1", "given 'yes'"),
                ({"threads": "-1"}, *threads, "given '-1'"),
                ({"threads": "2x"}, *threads, "given '2x'"),
                ({"threads": "9" * 20}, *threads, f"given '{'9' * 20}'"),
                ({"clam": "all"}, "option 'clam': expected", "activation_scales, claim, threads, verbose or weight_only",
                 "'claim'?"),
                ({"weight_only": "on"}, "option 'weight_only': expected", "off, auto or int8_x", "given 'on'"),
                ({"activation_scales": "per_rwo"}, "option 'activation_scales': expected", "per_tensor or per_row",
                 "given 'per_rwo'", "'per_row'?")):
            self.names(self.ERRORS, lambda: session(CONVOLUTION, options=options), *parts)

    def test_entries_of_the_session_that_miss_the_prefix_are_refused(self):
        """Other providers' entries, and those of ONNX Runtime itself, are not this one's to judge."""
        for key in ("ep.DynquantExecutionProvider.claim", "ep.dynquantexecutionprovidr.claim", "ep.dynquant.claim",
                    "EP.dynquantexecutionprovider.claim"):
            with self.subTest(key=key):
                prepare = lambda s: s.add_session_config_entry(key, "none")
                self.names(self.ERRORS, lambda: session(CONVOLUTION, prepare=prepare),
                           f"session option '{key}': expected 'ep.dynquantexecutionprovider.claim'")
        others = {"ep.qnnexecutionprovider.claim": "none", "ep.dnnlexecutionprovider.claim": "CPU",
                  "ep.context_enable": "0", "session.disable_prepacking": "0", "dynquant": "1"}
        session(CONVOLUTION, prepare=lambda s: [s.add_session_config_entry(*entry) for entry in others.items()])
        prepare = lambda s: s.add_session_config_entry("ep.dynquantexecutionprovider.claim", "none")
        self.assertEqual(operators(CONVOLUTION, {"x": X}, prepare=prepare)[NAME], 0)


class Layers(Case):
    def test_an_invalid_node_is_refused_when_the_session_is_made(self):
        """Three groups cannot divide eight filters. ONNX Runtime's own shape inference is asked first; it takes this one."""
        nodes, constants = convolution()
        nodes[1].attribute.append(helper.make_attribute("group", 3))
        m = model(nodes, {"x": (FLOAT, [1, 24, 9, 9])}, {"conv_y": (FLOAT, None)}, 16, constants)
        self.names(INVALID, lambda: session(m), "'conv_product' (ConvInteger): group: expected", "8 filters", "given 3")

    def test_groups_without_filters_are_refused(self):
        nodes = [helper.make_node("ConvInteger", ["x", "w"], ["y"], "c", group=2**40)]
        m = model(nodes, {"x": (UINT8, [1, "channels", 9, 9])}, {"y": (INT32, None)}, 16,
                  {"w": random_bytes(0, 4, 3, 3)})
        self.names(INVALID, lambda: session(m), "'c' (ConvInteger): group: expected", "0 filters", f"given {2**40}")

    def test_a_shape_that_does_not_fit_is_refused_by_the_run(self):
        nodes, constants = convolution()
        m = model(nodes, {"x": (FLOAT, ["n", "c", "h", "w"])}, {"conv_y": (FLOAT, None)}, 16, constants)
        s = session(m)
        self.names(INVALID, lambda: s.run(None, {"x": X[:, :5]}), "x: expected", "8 channels", "given")
        self.assertEqual(s.run(None, {"x": X})[0].shape, (1, 8, 9, 9))

    def test_a_shape_of_rows_that_does_not_fit_is_refused_by_the_run(self):
        m = onnx.load_from_string(test_rows.products([None, 8], 4, 5)[0])
        m.graph.input[0].type.tensor_type.ClearField("shape")
        s = session(m.SerializeToString(), options=test_rows.ROWS)
        self.names(InvalidArgument, lambda: s.run(None, {"x": np.zeros((2, 7), np.float32)}),
                   "node '", "_product' (MatMulInteger): A: expected", "8 columns", "given shape 2x7")

    def test_sizes_beyond_any_memory(self):
        """x has no elements. tests/layers/layer.cpp has more of such sizes, not all of which numpy takes."""
        for op_type, w, shape, y, given in (
                ("MatMulInteger", (0, 5), (1 << 43, 0), "Y", "8796093022208x5"),
                ("ConvInteger", (5, 0, 1, 1), (1, 0, 1 << 30, 1 << 30), "y", "1x5x1073741824x1073741824")):
            node = helper.make_node(op_type, ["a", "w"], ["y"], "c")
            m = model([node], {"a": (UINT8, [None] * len(shape))}, {"y": (INT32, None)}, 16,
                      {"w": np.zeros(w, np.uint8)})
            with self.subTest(op_type=op_type):
                s = session(m, options={"claim": "all"})
                self.names(INVALID, lambda: s.run(None, {"a": np.zeros(shape, np.uint8)}),
                           f"node 'c' ({op_type}): {y}: expected", "2^44 elements", f"given shape {given}")

    def test_scale_and_zero_point_of_two_shapes_are_refused_as_without_the_provider(self):
        nodes = [*integer_product(["a", "w"]), helper.make_node("QuantizeLinear", ["f", "scale", "zero_point"], ["y"], axis=1)]
        m = model(nodes, {"a": (UINT8, [3, 5])}, {"y": (UINT8, None)}, 16,
                  {"w": random_bytes(5, 4), "scale": np.float32([1, 2, 3, 4]), "zero_point": np.uint8(3)})
        for provider in (False, True):
            self.assertRaises(REFUSALS, run, m, {"a": random_bytes(3, 5)}, provider)


class Nodes(Case):
    """A scale of two values along an axis of three. ONNX Runtime's own shape inference takes it."""

    TEXT = "node 'n' (QuantizeLinear, opset 21): y_scale: expected one value, or 3 for axis 1 of x of shape [4, 3], given shape [2]"

    def model(self, shape, **attributes):
        node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], "n", **attributes)
        return model([node], {"x": (FLOAT, shape)}, {"y": (UINT8, None)}, 21, {"s": np.float32([1, 2])})

    def test_at_the_creation_of_the_session_where_shapes_are_known(self):
        self.names(INVALID, lambda: session(self.model([4, 3], axis=1), options=test_nodes.ALL), self.TEXT)

    def test_at_the_run_where_they_are_not(self):
        s = session(self.model(["n", "c"], axis=1), options=test_nodes.ALL)
        self.names(INVALID, lambda: s.run(None, {"x": test_nodes.normal(4, 3)}), self.TEXT)
        np.testing.assert_array_equal(s.run(None, {"x": np.float32([[3, 5]])})[0], np.uint8([[3, 2]]))

    def test_of_attributes_without_shapes(self):
        self.names(INVALID, lambda: session(self.model(None, block_size=-1), options=test_nodes.ALL),
                   "attribute 'block_size': expected", "0 or more", "given -1")


if __name__ == "__main__":
    unittest.main()
