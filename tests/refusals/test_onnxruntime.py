"""Wrong models and inputs give the specified result, INVALID_ARGUMENT with a message of dynquant, or an error of ONNX
Runtime. A crash would end this program."""
import itertools
import pathlib
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnxruntime"))
from models import OPSETS, TensorProto, helper, model, onnxruntime, quantize, run, session, types_of
from refusals import Case
from test_computed_scales import F32, NAMES, number, own

FLOAT, UINT8, INT8, INT64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT64
state = onnxruntime.capi.onnxruntime_pybind11_state
RUNTIME_REFUSALS = (state.Fail, state.InvalidGraph, state.NotImplemented, state.InvalidArgument, state.RuntimeException)

# A domain, and the names of its two operators.
OPERATORS = [("dynquant", "QuantizeLinear", "DequantizeLinear"),
             ("com.amd.quark", "ExtendedQuantizeLinear", "ExtendedDequantizeLinear"),
             ("com.vai.quantize", "VitisQuantizeLinear", "VitisDequantizeLinear")]
BLOCKS = OPERATORS[:1]  # that have a block_size
MOST = 2**63 - 1


def quantizing_model(opset=13, scale=(), **attributes):
    constants = {"scale": np.full(scale, 0.1, np.float32), "zero": np.zeros(scale, np.uint8)}
    return model([quantize(**attributes)], {"x": (FLOAT, [2, 4])}, {"y": (UINT8, None)}, opset, constants)


class Runs(Case):
    def feeds(self, domain, op, x, scale, zero, attributes):
        """A model with all inputs given at run, so only the run can find the error; and the inputs."""
        quantizes = op.endswith("QuantizeLinear") and "Dequantize" not in op
        x = np.zeros(x, np.float32 if quantizes else np.uint8)
        arrays = {"x": x, "scale": np.ones(scale, np.float32)}
        if zero is not None:
            arrays["zero"] = np.zeros(zero, np.uint8)
        node = helper.make_node(op, list(arrays), ["y"], "q", domain=domain, **attributes)
        inputs = {name: (kind, None) for name, (kind, _) in types_of(arrays).items()}
        return model([node], inputs, {"y": (UINT8 if quantizes else FLOAT, None)}, OPSETS[-1]), arrays

    def each(self, operators, x, scale, zero, attributes, expectation):
        for domain, *ops in operators:
            for op in ops:
                with self.subTest(domain=domain, op=op, x=x, scale=scale, zero=zero, **attributes):
                    expectation(*self.feeds(domain, op, x, scale, zero, attributes))

    def refused(self, x, scale, zero, *parts, operators=OPERATORS, **attributes):
        def expectation(m, feed):
            self.names(state.InvalidArgument, lambda: run(m, feed, library=True), "node 'q' (", *parts)
        self.each(operators, x, scale, zero, attributes, expectation)

    def taken(self, x, scale, zero, operators=OPERATORS, **attributes):
        def expectation(m, feed):
            np.testing.assert_array_equal(run(m, feed, library=True)[0], np.zeros(x))
        self.each(operators, x, scale, zero, attributes, expectation)


class Shapes(Runs):
    def test_ranks(self):
        self.refused((2, 4), (2, 4), (2, 4), "scale: expected", "given shape [2, 4]", axis=1)
        self.refused((2, 4), (1, 4), (4,), "zero_point: expected", "[1, 4]", "given [4]", axis=1)
        self.refused((2, 4), (4,), (1, 4), "zero_point: expected", "[4]", "given [1, 4]", axis=1)
        self.refused((2, 4), (4,) + 6 * (1,), (4,) + 6 * (1,), "scale: expected", "[4, 1, 1, 1, 1, 1, 1]", axis=1)

    def test_scalar_x(self):
        self.taken((), (), ())
        self.taken((), (1,), ())
        self.taken((), (), (), axis=MOST)  # per tensor: axis has no effect
        for axis in (-1, 0, 1):
            self.refused((), (4,), (4,), "'axis': expected", f"given {axis}", axis=axis)

    def test_lengths(self):
        for scale, zero in (((3,), (3,)), ((5,), (5,)), ((4,), (3,)), ((4,), ()), ((0,), (0,)), ((4,), (0,))):
            self.refused((2, 4), scale, zero, ": expected", "given", axis=1)
        self.refused((2, 4), (), (4,), "zero_point: expected", "given [4]", axis=1)

    def test_dims_of_0(self):
        for x, axis in (((0, 4), 1), ((2, 0, 4), -1), ((4, 0), 0)):
            self.taken(x, (4,), (4,), axis=axis)
            self.taken(x, (), ())
            self.refused(x, (3,), (3,), "scale: expected", "given shape [3]", axis=axis)
        self.taken((2, 0), (0,), (0,), axis=1)
        self.taken((0, 0, 0), (), None)

    def test_dims_whose_product_is_no_int64(self):
        for domain, op, _ in OPERATORS:
            nodes = [helper.make_node("ConstantOfShape", ["shape"], ["x"]),
                     helper.make_node(op, ["x", "scale"], ["y"], "q", domain=domain),
                     helper.make_node("Shape", ["y"], ["dims"])]
            for shape in ([2**40, 0, 2**40], [0, MOST, MOST]):  # ConstantOfShape refuses shapes with the 0 last
                with self.subTest(domain=domain, shape=shape):
                    m = model(nodes, {"shape": (INT64, [3])}, {"dims": (INT64, [3])}, 13, {"scale": np.float32(1).reshape(())})
                    (dims,) = run(m, {"shape": np.array(shape)}, library=True)
                    np.testing.assert_array_equal(dims, shape)

    def test_blocks(self):
        for block_size in (-1, 5, MOST, -MOST - 1):
            self.refused((2, 7), (2, 3), (2, 3), "expected", "given", operators=BLOCKS, axis=1, block_size=block_size)
        self.taken((2, 7), (2, 3), (2, 3), operators=BLOCKS, axis=1, block_size=3)
        self.taken((2, 7), (2, 1), (2, 1), operators=BLOCKS, axis=-1, block_size=MOST)
        self.taken((2, 0), (2, 0), (2, 0), operators=BLOCKS, axis=1, block_size=3)
        for scale in ((2, 2), (2, 4), (3, 3), (3,), (2, 3, 1), (0, 3), (2, 0)):
            self.refused((2, 7), scale, scale, "scale: expected", f"given shape {list(scale)}", operators=BLOCKS,
                         axis=1, block_size=3)


class Attributes(Runs):
    def test_axis_out_of_range(self):
        for axis in (2, -3, 2**31, -2**31, 2**32, MOST, -MOST - 1):
            self.refused((4, 4), (4,), (4,), "'axis': expected", "[-2, 1]", f"given {axis}", axis=axis)

    def test_values_that_mean_nothing(self):
        for attribute, value in itertools.product(("saturate", "output_dtype", "precision"), (-1, 99, 2**32 + 1, MOST)):
            self.refused((2, 4), (), (), f"attribute '{attribute}': expected", "given", operators=[BLOCKS[0][:2]],
                         **{attribute: value})

    def test_types(self):
        for value, given in (("1", "STRING"), (1.0, "FLOAT"), ([1], "INTS"), ([1.0], "FLOATS")):
            self.refused((2, 4), (4,), (4,), "attribute 'axis': expected", "INT", f"given {given}", axis=value)


class Types(Runs):
    def test_y_of_another_type_than_the_attributes_say(self):
        """ONNX Runtime chooses uint8 without zero point where x's rank is not known; results of 2 bytes would not fit."""
        for wide in (TensorProto.UINT16, TensorProto.INT16):
            node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], "q", domain="dynquant", output_dtype=wide)
            m = model([node, helper.make_node("Identity", ["y"], ["z"])], {"x": (FLOAT, None)}, {"z": (UINT8, None)}, OPSETS[-1],
                      {"scale": np.float32(1).reshape(())})
            with self.subTest(wide=wide):
                call = lambda: run(m, {"x": np.zeros(1 << 20, np.float32)}, library=True)
                self.names(state.InvalidArgument, call, "y: expected type", "given")


class Ports(Runs):
    """ONNX Runtime checks ports before it calls the operators; but it may ask them for the types of outputs first."""

    def refused_by_runtime(self, node, inputs, outputs, feed):
        m = model([node], inputs, outputs, OPSETS[-1])
        with self.assertRaises(RUNTIME_REFUSALS):
            run(m, feed, library=True)

    def test_missing_and_superfluous_inputs(self):
        values = {"x": (FLOAT, [4]), "scale": (FLOAT, []), "zero": (UINT8, []), "more": (UINT8, [])}
        arrays = {"x": np.zeros(4, np.float32), "scale": np.float32(1).reshape(()), "zero": np.array(0, "u1"),
                  "more": np.array(0, "u1")}
        for (domain, op, _), names in itertools.product(
                OPERATORS, ([], ["x"], ["", "scale"], ["x", ""], ["x", "", "zero"], ["x", "scale", "zero", "more"])):
            with self.subTest(domain=domain, names=names):
                used = [name for name in names if name]
                self.refused_by_runtime(helper.make_node(op, names, ["y"], "q", domain=domain),
                                        {name: values[name] for name in used}, {"y": (UINT8, None)},
                                        {name: arrays[name] for name in used})

    def test_types_of_inputs(self):
        others = {TensorProto.STRING: np.array(["a"] * 4), TensorProto.BOOL: np.zeros(4, bool),
                  TensorProto.DOUBLE: np.zeros(4), INT64: np.zeros(4, "i8"), TensorProto.COMPLEX64: np.zeros(4, "c8")}
        arrays = {"x": np.zeros(4, np.float32), "scale": np.ones(4, np.float32), "zero": np.zeros(4, "u1")}
        for (domain, op, _), (kind, other), port in itertools.product(OPERATORS, others.items(), arrays):
            with self.subTest(domain=domain, kind=kind, port=port):
                types = {"x": (FLOAT, [4]), "scale": (FLOAT, [4]), "zero": (UINT8, [4]), port: (kind, [4])}
                self.refused_by_runtime(helper.make_node(op, list(arrays), ["y"], "q", domain=domain, axis=0), types,
                                        {"y": (UINT8, None)}, {**arrays, port: other})

    def test_outputs_that_nobody_wants(self):
        kinds = {"y": (UINT8, None), "scale": (FLOAT, None), "zero": (UINT8, None)}
        for names in (["y"], ["y", "scale"], ["y", "", ""], ["", "scale", ""], ["", "", "zero"], ["y", "", "zero"], ["y", "scale", "zero"]):
            node = helper.make_node("DynamicQuantizeLinear", ["x"], names, "q", domain="dynquant")
            x, wanted = np.float32([-1, 0, 4]), {name: kinds[name] for name in names if name}
            with self.subTest(names=names):
                if len(wanted) < 3:
                    self.refused_by_runtime(node, {"x": (FLOAT, [3])}, wanted, {"x": x})
                    continue
                y, scale, zero = run(model([node], {"x": (FLOAT, [3])}, wanted, 13), {"x": x}, library=True)
                np.testing.assert_array_equal(y, [0, 51, 255])
                self.assertEqual((scale, zero), (np.float32(5) / np.float32(255), 51))


class Sessions(Runs):
    def test_a_session_goes_on_after_errors(self):
        m, feed = self.feeds("dynquant", "QuantizeLinear", (2, 4), (4,), (4,), {"axis": 1})
        s = session(m, library=True)
        for _ in range(3):
            np.testing.assert_array_equal(s.run(None, feed)[0], np.zeros((2, 4)))
            with self.assertRaises(state.InvalidArgument):
                s.run(None, {**feed, "scale": np.ones(3, np.float32)})


class Models(Case):
    def test_errors_that_show_before_a_run(self):
        newest = {"opset": OPSETS[-1]}
        for parts, how in (
                (("attribute 'axis': expected", "[-2, 1]", "given 2"), {"scale": 4, "axis": 2}),
                (("y_scale: expected", "4", "given shape [3]"), {"scale": 3, "axis": 1}),
                (("'block_size': expected", "0 or more", "given -1"), {**newest, "scale": (2, 4), "block_size": -1}),
                (("y_scale: expected", "[2, 2]", "given shape [2, 3]"), {**newest, "scale": (2, 3), "block_size": 2}),
                (("attribute 'axis': expected", "INT", "given STRING"), {"scale": 4, "axis": "1"}),
                (("attribute 'axis': expected", "INT", "given INTS"), {"scale": 4, "axis": [1]}),
                (("attribute 'output_dtype': expected", "uint8", "given int8"), {**newest, "output_dtype": INT8})):
            with self.subTest(**how):
                m = quantizing_model(**how)
                self.names(state.InvalidArgument, lambda: run(m, {"x": np.ones((2, 4), np.float32)}, library=True),
                           "node 'q' (QuantizeLinear", *parts)

    def test_shapes_that_come_with_the_tensors(self):
        constants = {"scale": np.full(4, 0.1, np.float32), "zero": np.zeros(4, np.uint8)}
        s = session(model([quantize()], {"x": (FLOAT, ["a", "b"])}, {"y": (UINT8, None)}, 13, constants), library=True)
        s.run(None, {"x": np.ones((2, 4), np.float32)})
        call = lambda: s.run(None, {"x": np.ones((4, 5), np.float32)})
        self.names(state.InvalidArgument, call, "y_scale: expected", "5", "given shape [4]")
        s.run(None, {"x": np.ones((1, 4), np.float32)})


class ComputedScales(Case):
    def refused(self, *parts, shape=(2, 3), **attributes):
        node = own("DynamicQuantizeLinear", ["x"], NAMES, **attributes)
        outputs = {name: (number(kind), None) for name, kind in zip(NAMES, ("uint8", "float", "uint8"))}
        s = session(model([node], {"x": (FLOAT, shape)}, outputs, 19), library=True)
        self.names(state.InvalidArgument, lambda: s.run(None, {"x": np.ones((2, 3), F32)}),
                   "node 'y' (dynquant.DynamicQuantizeLinear, opset 1): ", *parts)

    def test_an_output_of_another_type_is_refused_when_the_session_is_made(self):
        node = own("DynamicQuantizeLinear", ["x"], NAMES)
        outputs = {name: (number(kind), None) for name, kind in zip(NAMES, ("int8", "float", "int8"))}
        with self.assertRaises(state.Fail):
            session(model([node], {"x": (FLOAT, [3])}, outputs, 19), library=True)

    def test_attributes(self):
        rules = "minmax, onnx or torchao_asymmetric for y of type uint8 and y_scale of type float"
        self.refused("attribute 'axis': expected a value in [-2, 1] for x of shape [2, 3], given 2", axis=2)
        self.refused("attribute 'axis': expected", "beside block_size 3", "given none", block_size=3)
        self.refused("attribute 'symmetric': expected", "0 for y of type uint8", "given 1", symmetric=1)
        for rule in ("mx", "x" * 1000):
            self.refused("attribute 'rule': expected", rules, f"given '{rule}'", rule=rule)
        self.refused("attribute 'rule': expected", "STRING", "given INT", rule=1)
        self.refused("attribute 'to': expected", "INT", "given STRING", to="int8")

    def test_types_that_onnx_runtime_cannot_infer(self):
        """It does not say whether x is a scalar or of unknown rank."""
        self.refused("y: expected", "int8", "given uint8", shape=None, to=number("int8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
