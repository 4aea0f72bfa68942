"""Wrong models and inputs give the specified result, INVALID_ARGUMENT with a message of dynquant, or an error of ONNX
Runtime. A crash would end this program."""
import itertools
import unittest

import numpy as np
from models import OPSETS, TensorProto, helper, model, onnxruntime, run, session

FLOAT, UINT8, INT64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64
state = onnxruntime.capi.onnxruntime_pybind11_state
RUNTIME_REFUSALS = (state.Fail, state.InvalidGraph, state.NotImplemented, state.InvalidArgument, state.RuntimeException)

# A domain, and the names of its two operators.
OPERATORS = [("", "QuantizeLinear", "DequantizeLinear"), ("dynquant", "QuantizeLinear", "DequantizeLinear"),
             ("com.amd.quark", "ExtendedQuantizeLinear", "ExtendedDequantizeLinear"),
             ("com.vai.quantize", "VitisQuantizeLinear", "VitisDequantizeLinear")]
BLOCKS = OPERATORS[:2]  # that have a block_size
MOST = 2**63 - 1


def how_in(domain):
    return {"library": True, "standard": domain == ""}


class Case(unittest.TestCase):
    def feeds(self, domain, op, x, scale, zero, attributes):
        """A model with all inputs given at run, so only the run can find the error; the inputs; the options."""
        quantizes = op.endswith("QuantizeLinear") and "Dequantize" not in op
        x = np.zeros(x, np.float32 if quantizes else np.uint8)
        arrays = {"x": x, "scale": np.ones(scale, np.float32)}
        if zero is not None:
            arrays["zero"] = np.zeros(zero, np.uint8)
        types = {"float32": FLOAT, "uint8": UINT8}
        node = helper.make_node(op, list(arrays), ["y"], "q", domain=domain, **attributes)
        inputs = {name: (types[array.dtype.name], None) for name, array in arrays.items()}
        return model([node], inputs, {"y": (UINT8 if quantizes else FLOAT, None)}, OPSETS[-1]), arrays, how_in(domain)

    def each(self, operators, x, scale, zero, attributes, expectation):
        for domain, *ops in operators:
            for op in ops:
                with self.subTest(domain=domain, op=op, x=x, scale=scale, zero=zero, **attributes):
                    expectation(*self.feeds(domain, op, x, scale, zero, attributes))

    def refused(self, x, scale, zero, *parts, operators=OPERATORS, **attributes):
        def expectation(m, feed, how):
            with self.assertRaises(state.InvalidArgument) as caught:
                run(m, feed, **how)
            for part in ("node 'q' (", "expected", "given") + parts:
                self.assertIn(part, str(caught.exception))
        self.each(operators, x, scale, zero, attributes, expectation)

    def taken(self, x, scale, zero, operators=OPERATORS, **attributes):
        def expectation(m, feed, how):
            np.testing.assert_array_equal(run(m, feed, **how)[0], np.zeros(x))
        self.each(operators, x, scale, zero, attributes, expectation)


class Shapes(Case):
    def test_ranks(self):
        self.refused((2, 4), (2, 4), (2, 4), "scale", axis=1)
        self.refused((2, 4), (1, 4), (4,), "scale", axis=1)
        self.refused((2, 4), (4,), (1, 4), "zero_point", axis=1)
        self.refused((2, 4), (4, 1, 1, 1, 1, 1, 1), (4, 1, 1, 1, 1, 1, 1), "scale", axis=1)

    def test_scalar_x(self):
        self.taken((), (), ())
        self.taken((), (1,), ())
        self.taken((), (), (), axis=MOST)  # per tensor: axis has no effect
        for axis in (-1, 0, 1):
            self.refused((), (4,), (4,), axis=axis)

    def test_lengths(self):
        for scale, zero in (((3,), (3,)), ((5,), (5,)), ((4,), (3,)), ((4,), ()), ((0,), (0,)), ((4,), (0,))):
            self.refused((2, 4), scale, zero, axis=1)
        self.refused((2, 4), (), (4,), "zero_point", axis=1)

    def test_dims_of_0(self):
        for x, axis in (((0, 4), 1), ((2, 0, 4), -1), ((4, 0), 0)):
            self.taken(x, (4,), (4,), axis=axis)
            self.taken(x, (), ())
            self.refused(x, (3,), (3,), axis=axis)
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
                    (dims,) = run(m, {"shape": np.array(shape)}, **how_in(domain))
                    np.testing.assert_array_equal(dims, shape)

    def test_blocks(self):
        for block_size in (-1, 5, MOST, -MOST - 1):
            self.refused((2, 7), (2, 3), (2, 3), operators=BLOCKS, axis=1, block_size=block_size)
        self.taken((2, 7), (2, 3), (2, 3), operators=BLOCKS, axis=1, block_size=3)
        self.taken((2, 7), (2, 1), (2, 1), operators=BLOCKS, axis=-1, block_size=MOST)
        self.taken((2, 0), (2, 0), (2, 0), operators=BLOCKS, axis=1, block_size=3)
        for scale in ((2, 2), (2, 4), (3, 3), (3,), (2, 3, 1), (0, 3), (2, 0)):
            self.refused((2, 7), scale, scale, operators=BLOCKS, axis=1, block_size=3)


class Attributes(Case):
    def test_axis_out_of_range(self):
        for axis in (2, -3, 2**31, -2**31, 2**32, MOST, -MOST - 1):
            self.refused((4, 4), (4,), (4,), "axis", str(axis), axis=axis)

    def test_values_that_mean_nothing(self):
        for attribute, value in itertools.product(("saturate", "output_dtype", "precision"), (-1, 99, 2**32 + 1, MOST)):
            for domain, op, _ in BLOCKS:
                m, feed, how = self.feeds(domain, op, (2, 4), (), (), {attribute: value})
                with self.subTest(domain=domain, **{attribute: value}):
                    with self.assertRaises(state.InvalidArgument) as caught:
                        run(m, feed, **how)
                    for part in ("node 'q' (QuantizeLinear", f"attribute '{attribute}': expected ", ", given "):
                        self.assertIn(part, str(caught.exception))

    def test_types(self):
        for value in ("1", 1.0, [1], [1.0]):
            self.refused((2, 4), (4,), (4,), "'axis'", "INT", axis=value)


class Types(Case):
    def test_y_of_another_type_than_the_attributes_say(self):
        """ONNX Runtime chooses uint8 without zero point where x's rank is not known; results of 2 bytes would not fit."""
        for wide in (TensorProto.UINT16, TensorProto.INT16):
            for domain in ("", "dynquant"):
                node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], "q", domain=domain, output_dtype=wide)
                m = model([node, helper.make_node("Identity", ["y"], ["z"])], {"x": (FLOAT, None)}, {"z": (UINT8, None)}, OPSETS[-1],
                          {"scale": np.float32(1).reshape(())})
                with self.subTest(domain=domain, wide=wide), self.assertRaises(state.InvalidArgument) as caught:
                    run(m, {"x": np.zeros(1 << 20, np.float32)}, **how_in(domain))
                self.assertIn("y: expected type", str(caught.exception))


class Ports(Case):
    """ONNX Runtime checks ports before it calls the operators; but it may ask them for the types of outputs first."""

    def refused_by_runtime(self, node, inputs, outputs, feed):
        m, how = model([node], inputs, outputs, OPSETS[-1]), how_in(node.domain)
        with self.assertRaises(RUNTIME_REFUSALS):
            run(m, feed, **how)

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
        for domain, names in itertools.product(("", "dynquant"), (
                ["y"], ["y", "scale"], ["y", "", ""], ["", "scale", ""], ["", "", "zero"], ["y", "", "zero"], ["y", "scale", "zero"])):
            node = helper.make_node("DynamicQuantizeLinear", ["x"], names, "q", domain=domain)
            x, wanted = np.float32([-1, 0, 4]), {name: kinds[name] for name in names if name}
            with self.subTest(domain=domain, names=names):
                if len(wanted) < 3:
                    self.refused_by_runtime(node, {"x": (FLOAT, [3])}, wanted, {"x": x})
                    continue
                y, scale, zero = run(model([node], {"x": (FLOAT, [3])}, wanted, 13), {"x": x}, **how_in(domain))
                np.testing.assert_array_equal(y, [0, 51, 255])
                self.assertEqual((scale, zero), (np.float32(5) / np.float32(255), 51))


class Sessions(Case):
    def test_a_session_goes_on_after_errors(self):
        m, feed, how = self.feeds("dynquant", "QuantizeLinear", (2, 4), (4,), (4,), {"axis": 1})
        s = session(m, **how)
        for _ in range(3):
            np.testing.assert_array_equal(s.run(None, feed)[0], np.zeros((2, 4)))
            with self.assertRaises(state.InvalidArgument):
                s.run(None, {**feed, "scale": np.ones(3, np.float32)})

    def test_dynamic_quantize_linear(self):
        for shape in ((), (0,), (3, 0), (1,)):
            m = model([helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"], "q", domain="dynquant")],
                      {"x": (FLOAT, None)}, {"y": (UINT8, None), "scale": (FLOAT, None), "zero": (UINT8, None)}, 13)
            y, scale, zero = run(m, {"x": np.zeros(shape, np.float32)}, library=True)
            np.testing.assert_array_equal(y, np.zeros(shape))
            self.assertEqual((scale, zero, scale.shape, zero.shape), (0, 0, (), ()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
