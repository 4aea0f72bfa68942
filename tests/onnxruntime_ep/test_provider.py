"""What the execution provider claims, what it leaves alone, its options, and runs at the same time."""
import itertools
import json
import logging
import os
import pathlib
import re
import tempfile
import time
import unittest
from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
from graphs import Graph
from layers import Layer, convolve, dynamic_quantize, integer_product, model, product, quantize
from models import choose, types_of
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from onnxruntime.quantization import QuantType, quantize_dynamic
from processor import IS_ARM
from provider import NAME, assert_as_without, assert_same, devices, in_another_process, operators, run, run_at_the_same_time, session

FLOAT, INT32, UINT8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8
node = helper.make_node
logging.disable(logging.WARNING)  # of the quantization tools


def random_bytes(*shape, dtype=np.uint8):
    """ONNX Runtime 1.23 has no ConvInteger with weights of int8."""
    info = np.iinfo(dtype)
    return np.random.default_rng(5).integers(info.min, info.max + 1, shape).astype(dtype)


def convolution():
    """Nodes from the floats x to conv_y, and constants."""
    nodes = [quantize(), *product("conv", op="ConvInteger", pads=[1, 1, 1, 1])]
    return nodes, {"w": random_bytes(8, 8, 3, 3), "scale": np.float32(0.01)}


def log(m, environment=None, entries=None, **options):
    """What the provider says of a model where the option `verbose` is 1. entries: of the session's configuration."""
    code = ("import json, sys, provider, onnxruntime as ort; options, entries = map(json.loads, sys.argv[1:]); "
            "o = ort.SessionOptions(); o.log_severity_level = 2; "
            "[o.add_session_config_entry(*entry) for entry in entries.items()]; "
            "o.add_provider_for_devices(provider.devices()[:1], {'verbose': '1'} | options); "
            "ort.InferenceSession(sys.stdin.buffer.read(), o)")
    given = {"input": m, "env": os.environ | (environment or {})}
    return in_another_process(code, json.dumps(options), json.dumps(entries or {}), check=True, **given).stderr.decode()


# Else ONNX Runtime does not tell a scalar from a tensor of unknown rank.
TELLS_SCALARS = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 24)
HAS_OPSET_24 = TELLS_SCALARS
REFUSALS = Fail, InvalidArgument, RuntimeException

X = np.random.default_rng(6).standard_normal((1, 8, 9, 9)).astype(np.float32)
INPUT = {"x": (FLOAT, ["n", 8, "h", "w"])}
Y = {"y": (FLOAT, None)}
CONV_Y = {"conv_y": (FLOAT, None)}
CONVOLUTION = model(convolution()[0], INPUT, CONV_Y, 16, convolution()[1])


class Claims(unittest.TestCase):
    def test_the_factory(self):
        (device,) = devices()
        self.assertEqual(device.ep_vendor, "dynquant")

    def test_values_that_others_take(self):
        """Another layer, with which it is one node, the caller and another node, and the caller what is within a layer: there
        DynamicQuantizeLinear is claimed by itself."""
        second = [*integer_product(["x_q", "w", "x_z"], "second_", "ConvInteger"), node("Mul", ["second_f", "x_s"], ["y"])]
        for name, nodes, outputs, ran in (
                ("x_q", second, CONV_Y | Y, {NAME: 1}),
                ("conv_y", [node("Relu", ["conv_y"], ["y"])], CONV_Y | Y, {NAME: 1, "Relu": 1}),
                ("conv_sums", [], {"conv_sums": (INT32, None)} | CONV_Y, {NAME: 2, "Cast": 1, "Mul": 2})):
            first, constants = convolution()
            m = model([*first, *nodes], INPUT, outputs, 16, constants)
            with self.subTest(name=name):
                self.assertEqual(operators(m, {"x": X}), ran)
                assert_as_without(m, {"x": X})

    def test_weights_that_are_no_constant_are_left(self):
        nodes, constants = convolution()
        w = constants.pop("w")
        m = model(nodes, INPUT | {"w": (UINT8, None)}, CONV_Y, 16, constants)
        self.assertNotIn(NAME, operators(m, {"x": X, "w": w}))

    def test_constants_that_change_the_shape_end_the_layer(self):
        """Integers added to the sums, and floats."""
        nodes, constants = convolution()
        of_floats = [*nodes, node("Add", ["conv_y", "row"], ["y"])]
        of_sums, _ = convolution()
        of_sums[2].input[0] = "added"
        of_sums.insert(2, node("Add", ["conv_sums", "row"], ["added"]))
        left = {NAME: 2, "Add": 1, "Cast": 1, "Mul": 2}
        for nodes, output, value, shape, ran in (
                (of_floats, Y, np.float32(1), (3, 1, 1, 1, 1), {NAME: 1, "Add": 1}),
                *((of_sums, CONV_Y, np.int32(70000), shape, ran) for shape, ran in (
                    ((8, 1, 1), {NAME: 1}), ((1, 1, 1, 1), {NAME: 1}), ((9, 1), left), ((1, 1, 1, 1, 1), left)))):
            m = model(nodes, INPUT, output, 16, constants | {"row": np.full(shape, value)})
            with self.subTest(output=output, shape=shape):
                self.assertEqual(operators(m, {"x": X}), ran)
                assert_as_without(m, {"x": X})

    def test_zero_points_of_shapes_that_onnx_does_not_have_are_left(self):
        nodes, constants = convolution()
        nodes[1].input.append("wz")
        for shape in ((8, 1), (1, 8), (1, 1), (8, 1, 1, 1)):
            m = model(nodes, INPUT, CONV_Y, 16, constants | {"wz": np.full(shape, 3, np.uint8)})
            with self.subTest(shape=shape):
                text = "leaves 'conv_product' (ConvInteger): the zero points of its weights have shape "
                self.assertIn(text + "x".join(map(str, shape)), log(m))
                for provider in (False, True):
                    self.assertRaises(REFUSALS, run, m, {"x": X}, provider)
        multiply = node("MatMulInteger", ["a", "w", "az", "wz"], ["y"], "product")
        a, w = random_bytes(3, 5), random_bytes(5, 4)
        for (az, wz, is_valid), provider in itertools.product((
                ((), (4,), True), ((1,), (1, 4), True), ((), (1,), True),
                ((), (4, 1), False), ((), (1, 1), False), ((1, 1), (), False)), (False, True)):
            constants = {"w": w, "az": np.full(az, 2, np.uint8), "wz": np.full(wz, 3, np.uint8)}
            m = model([multiply], {"a": (UINT8, [3, 5])}, {"y": (INT32, None)}, 16, constants)
            with self.subTest(az=az, wz=wz, provider=provider):
                if not is_valid:
                    self.assertRaises(REFUSALS, run, m, {"a": a}, provider)
                    continue
                expected = (a.astype(np.int64) - 2) @ (w.astype(np.int64) - 3)
                np.testing.assert_array_equal(run(m, {"a": a}, provider)[0], expected)
                self.assertEqual(operators(m, {"a": a}, provider, {"claim": "all"})[NAME], provider)

    def test_zero_points_of_the_input_that_come_with_the_run(self):
        multiply = node("MatMulInteger", ["a", "w", "az"], ["y"], "product")
        is_open = "whether the zero point of its input is one value is known when it runs"
        for shape, reason in (([], None if TELLS_SCALARS else is_open), (None, is_open), (["n"], is_open),
                              ([3], "the zero points of its input have shape 3"), ([1], None)):
            inputs = {"a": (UINT8, [3, 5]), "az": (UINT8, shape)}
            m = model([multiply], inputs, {"y": (INT32, None)}, 16, {"w": random_bytes(5, 4)})
            with self.subTest(shape=shape):
                name = "'product' (MatMulInteger)"
                self.assertIn(f"leaves {name}: {reason}" if reason else f"claims {name}", log(m, claim="all"))

    def test_products_alone_that_cost_less_in_onnx_runtime_are_left(self):
        """Whatever the processor: few sums, which a node costs more than, are left, and what ONNX Runtime computes in plain
        code, wrongly or not at all is claimed. Where vectors are used, few taps of many lines of few columns are claimed,
        which ONNX Runtime copies one by one. Without them, as under the cap `scalar`, uint8 products are left."""
        def conv(*w, **attributes):
            return "ConvInteger", w, attributes

        def matrix(*w):
            return "MatMulInteger", w, {}
        cpu = pathlib.Path("/proc/cpuinfo").read_text().split()
        here = "vectors" if "avx2" in cpu and "DYNQUANT_MAX_ISA" not in os.environ else "scalar"
        vnni = {"vnni"} if here == "vectors" and "avx512_vnni" in cpu else {"vnni", "avx2_vnni"} if here == "vectors" and "avx_vnni" in cpu else set()
        left, claimed = {"vectors", "scalar"}, set()
        rows = (
                (conv(4, 8, 1, 1), None, np.uint8, None, left), (conv(4, 8, 1, 1), None, np.int8, None, claimed),
                (conv(4, 8, 1, 1), None, np.uint8, (), left), (conv(4, 8, 1, 1), None, np.uint8, (4,), claimed),
                (conv(4, 8, 1, 1, auto_pad="SAME_UPPER"), None, np.uint8, None, claimed),
                (conv(4, 8, 1, 1, group=2), (1, 16, 9, 9), np.uint8, None, left),
                (conv(1, 33, 3, 3), (1, 33, 177, 4), np.uint8, None, claimed),
                (conv(1, 33, 3, 3), (1, 33, "rows", 4), np.uint8, None, claimed),
                (conv(12, 1, 3, 3, group=12), (1, 12, 64, 64), np.uint8, None, {"scalar"}),
                (matrix(64, 32), (1, 64), np.uint8, None, left), (matrix(16, 16), ("rows", 16), np.uint8, None, left),
                (matrix(16, 16), None, np.uint8, None, left), (matrix(2048, 2048), (1, 2048), np.uint8, None, {"scalar"}),
                (matrix(64, 64), (1, 64), np.int8, None, {"vnni"}), (matrix(2048, 2048), (1, 2048), np.int8, None, {"avx2_vnni"}))
        nodes, inputs, outputs, constants = [], {}, {}, {}
        for i, ((op_type, w, attributes), x, w_type, zero_points, _) in enumerate(rows):
            names = [f"a{i}", f"w{i}"] + (["", f"wz{i}"] if zero_points is not None else [])
            nodes.append(node(op_type, names, [f"y{i}"], f"product_{i}", **attributes))
            inputs[f"a{i}"], outputs[f"y{i}"] = (UINT8, x), (INT32, None)
            constants |= {f"w{i}": np.ones(w, w_type)} | ({f"wz{i}": np.ones(zero_points, w_type)} if zero_points is not None else {})
        m = model(nodes, inputs, outputs, 16, constants)
        logs = (log(m), {here} | vnni), (log(m, {"DYNQUANT_MAX_ISA": "scalar"}), {"scalar"}), (log(m, claim="all"), set())
        for i, ((op_type, w, attributes), x, w_type, zero_points, where) in enumerate(rows):
            for lines, classes in logs:
                with self.subTest(op_type=op_type, w=w, x=x, w_type=w_type, zero_points=zero_points, attributes=attributes, classes=classes):
                    name = f"'product_{i}' ({op_type})"
                    reason = "ONNX Runtime's is as fast without operators around it" if where & classes else None
                    if IS_ARM and op_type == "MatMulInteger" and lines is logs[0][0]:
                        reason = "ONNX Runtime has fast ones for 64-bit ARM"
                    self.assertIn(f"leaves {name}: {reason}" if reason else f"claims {name}", lines)

    @unittest.skipUnless(TELLS_SCALARS, "ONNX Runtime before 1.24 does not tell scalars")
    def test_a_scale_and_a_zero_point_that_come_with_the_run(self):
        """From the graph's inputs, from another node, or, in a subgraph, from the outer graph."""
        w, x = random_bytes(8, 2, 3, 3, dtype=np.int8), random_bytes(1, 2, 9, 9)
        layer = [*integer_product(["x", "w", "z"], op="ConvInteger"), node("Mul", ["s", "f"], ["m"]), node("Relu", ["m"], ["y"])]
        pick = [node("Gather", ["zs", "one"], ["z"]), node("Gather", ["ss", "one"], ["s"])]
        z, s = np.array(77, np.uint8), np.array(0.3, np.float32)
        sums = convolve(x.astype(np.int64) - 77, w, 1, [1, 1], [1, 1], [(0, 0)] * 2)
        expected = np.maximum(sums.astype(np.float32) * s, np.float32(0))
        vectors = {"zs": np.uint8([1, 77, 3]), "ss": np.float32([7, 0.3, 9])}
        for name, nodes, given in (("inputs", layer, {"z": z, "s": s}), ("nodes", pick + layer, vectors),
                                   ("outer", [*pick, choose(layer, "y", "s")], vectors | {"c": np.array(True)})):
            inputs = {"x": x, **given}
            m = model(nodes, types_of(inputs), Y, 16, {"w": w, "one": np.int64(1)})
            with self.subTest(name=name):
                ran = operators(m, inputs)
                self.assertEqual(ran[NAME], 1)
                self.assertFalse(ran.keys() & {"ConvInteger", "Cast", "Mul", "Relu"})
                np.testing.assert_array_equal(run(m, inputs)[0], expected)

    @unittest.skipUnless(TELLS_SCALARS, "ONNX Runtime before 1.24 does not tell scalars")
    def test_a_zero_point_that_is_not_the_scalar_which_the_model_states(self):
        nodes = [node("Cast", ["zs"], ["z"], to=UINT8), *integer_product(["a", "w", "z"]), node("Relu", ["f"], ["y"])]
        m = model(nodes, {"a": (UINT8, [3, 5]), "zs": (INT32, None)}, Y, 16, {"w": random_bytes(5, 4)}, infos={"z": (UINT8, [])})
        inputs = {"a": random_bytes(3, 5), "zs": np.array(7, np.int32)}
        self.assertEqual(operators(m, inputs), {NAME: 1, "Cast": 1})
        assert_as_without(m, inputs)
        with self.assertRaisesRegex(REFUSALS, "product.*: expected one scale and one zero point of x, given shape 2"):
            run(m, inputs | {"zs": np.int32([7, 8])})

    def test_a_scale_of_unknown_rank_ends_the_layer(self):
        nodes = [*integer_product(["a", "w"]), node("Mul", ["f", "s"], ["y"])]
        m = model(nodes, {"a": (UINT8, [3, 5]), "s": (FLOAT, None)}, Y, 16, {"w": random_bytes(5, 4)})
        for s in (np.float32(2), np.float32([[1], [2], [3]]), np.ones((2, 1, 1), np.float32)):
            inputs = {"a": random_bytes(3, 5), "s": np.array(s)}
            self.assertEqual(operators(m, inputs), {NAME: 1, "Mul": 1})
            assert_as_without(m, inputs)

    def test_constants_of_the_outer_graph_and_subgraphs(self):
        nodes, constants = convolution()
        m = model([choose(nodes, "conv_y", "x")], INPUT | {"c": (TensorProto.BOOL, [])}, Y, 16, constants)
        inputs = {"x": X, "c": np.array(True)}
        self.assertEqual(operators(m, inputs)[NAME], 1)
        assert_as_without(m, inputs)


def claims_and_names(said):
    """Of what log() gives: the claims, each a list of a node's name and operator, and {the name of a fused node: what it holds}."""
    claims = [re.findall(r"'(.*?)' \((\w+)\)", line) for line in re.findall("dynquant: claims (.*)", said)]
    return claims, dict(re.findall(r"dynquant: compiles (\S+) as ([^\s\x1b]+)", said))


class OthersOfTheGraph(unittest.TestCase):
    """What a graph has beside layers keeps none from being claimed, and is claimed only where it runs."""

    def test_attributes_of_types(self):
        nodes, constants = convolution()
        nodes += [node("Optional", [], ["o"], type=helper.make_tensor_type_proto(FLOAT, [1])), node("OptionalHasElement", ["o"], ["b"]),
                  node("Cast", ["b"], ["f"], to=FLOAT), node("Add", ["conv_y", "f"], ["y"])]
        m = model(nodes, INPUT, Y, 18, constants)
        self.assertEqual(operators(m, {"x": X})[NAME], 1)
        assert_as_without(m, {"x": X})

    def test_attributes_that_are_lists_of_floats(self):
        nodes, constants = convolution()
        nodes.append(node("Scaler", ["conv_y"], ["y"], domain="ai.onnx.ml", offset=[0.5], scale=[2.0]))
        m = onnx.load_from_string(model(nodes, INPUT, Y, 16, constants))
        m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
        m = m.SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 1, "Scaler": 1})
        assert_as_without(m, {"x": X})

    def test_scales_of_an_axis_before_opset_13(self):
        """ONNX has none; ONNX Runtime takes them along axis 1."""
        x = np.arange(12, dtype=np.float32).reshape(4, 3)
        m = model([node("QuantizeLinear", ["x", "s"], ["q"]), node("DequantizeLinear", ["q", "s"], ["y"])],
                  {"x": (FLOAT, x.shape)}, Y | {"q": (UINT8, None)}, 10, {"s": np.float32([0.5, 1, 2])})
        for options in ({}, {"claim": "all"}):
            given, expected = run(m, {"x": x}, options=options), run(m, {"x": x}, provider=False)
            self.assertTrue(all(map(np.array_equal, given, expected)))
        self.assertIn("before opset 13 its scale is one value", log(m, claim="all"))

    def test_many_ways_from_weights_to_what_only_changes_their_shape(self):
        """2^40 of them."""
        reshapes = [node("Reshape", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(40)]
        nodes = [node("DequantizeLinear", ["w", "s"], ["d"]), node("Cast", ["d"], ["v0"], to=TensorProto.INT64), *reshapes,
                 node("Cast", ["v40"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["y"])]
        m = model(nodes, {"x": (FLOAT, [1])}, Y, 16, {"w": np.uint8([1]), "s": np.float32(1)})
        self.assertEqual(run(m, {"x": np.ones(1, np.float32)}, optimized=False)[0], 2)


class Compiled(unittest.TestCase):
    """Layers that were claimed are those that run."""

    def test_names_of_fused_nodes(self):
        """In profiles they are ONNX Runtime's. The log says what each holds: products by name, or by operator where they have none."""
        nodes, constants = convolution()
        nodes += [node("Add", ["conv_y", "bias"], ["b"], "bias"), node("Relu", ["b"], ["r"]),
                  quantize("f"), node("MatMulInteger", ["f_q", "m", "f_z"], ["i"]), node("Cast", ["i"], ["y"], to=FLOAT),
                  node("QuantizeLinear", ["x", "last"], ["q"], "slow", axis=3)]
        m = model(nodes, {"x": (FLOAT, X.shape), "f": (FLOAT, [3, 64])}, {"r": (FLOAT, None), "y": (FLOAT, None), "q": (UINT8, None)}, 16,
                  constants | {"bias": np.float32(1), "m": random_bytes(64, 100), "last": np.ones(X.shape[3], np.float32)})
        _, names = claims_and_names(log(m))
        self.assertEqual(sorted(names.values()), ["dynquant_conv_product_add_relu", "dynquant_matmulinteger", "dynquant_slow"])
        with tempfile.TemporaryDirectory() as folder:
            s = session(m, profile=f"{folder}/profile")
            s.run(None, {"x": X, "f": np.ones((3, 64), np.float32)})
            events = json.loads(pathlib.Path(s.end_profiling()).read_text())
        suffix = "_kernel_time"
        profiled = {e["name"].removesuffix(suffix) for e in events if e["name"].startswith(NAME) and e["name"].endswith(suffix)}
        self.assertEqual(profiled, names.keys())

    def test_each_claim_is_compiled_once(self):
        """The nodes of several layers are in the log in the order of the graph: what the names have is compared without it."""
        def name_of(claim):
            products = [i for i, (_, op) in enumerate(claim) if op in ("ConvInteger", "MatMulInteger")] or [0]
            return "_".join(["dynquant", *(name if i in products else op.lower() for i, (name, op) in enumerate(claim)
                                           if i >= products[0] and op not in ("Cast", "Mul"))])

        parts = lambda names: Counter(tuple(sorted(name.split("_"))) for name in names)

        for i in range(8):
            claims, names = claims_and_names(log(Graph(np.random.default_rng([7, i])).model(), claim="all"))
            with self.subTest(i=i):
                self.assertGreater(len(claims), 0)
                self.assertEqual(parts(names.values()), parts(map(name_of, claims)))

    @unittest.skipIf(ort.__version__.startswith("1.23."), "ONNX Runtime 1.23 calls the fused nodes of two graphs by one name, and fails")
    def test_subgraphs_whose_names_are_the_same(self):
        """Of values and of constants, some of which layers keep when they are claimed: scales and biases."""
        w, x = random_bytes(8, 5), X[0, 0, :, :8]

        def branch(weights, scale, bias):
            nodes = [quantize(), *product("t"), node("Add", ["t_y", "bias"], ["b"])]
            constants = {"w": weights, "scale": np.float32(scale), "bias": np.float32(bias)}
            return helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info("b", FLOAT, None)],
                                     [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])

        cases = {True: (w, 0.01, [1, 2, 3, 4, 5]), False: (w[::-1].copy(), 0.5, [9, 8, 7, 6, 5])}
        choice = node("If", ["c"], ["y"], then_branch=branch(*cases[True]), else_branch=branch(*cases[False]))
        s = session(model([choice], {"x": (FLOAT, x.shape), "c": (TensorProto.BOOL, [])}, Y, 16))
        q, scale, zero_point = dynamic_quantize(x)
        for taken, (weights, factor, bias) in cases.items():
            sums = (q.astype(np.int64) - np.int64(zero_point)) @ weights.astype(np.int64)
            expected = sums.astype(np.float32) * (scale * np.float32(factor)) + np.float32(bias)
            with self.subTest(taken=taken):
                np.testing.assert_array_equal(s.run(None, {"x": x, "c": np.array(taken)})[0], expected)


class Matching(unittest.TestCase):
    """Cases in which a layer is easily taken for another one."""

    W, SCALE, ROWS = random_bytes(8, 5), np.float32(0.01), X[0, 0, :, :8]

    def check(self, steps, constants, expected, zero_point=True):
        """expected: of what the product gives, t_y."""
        nodes = [quantize(), *product("t"), *steps]
        if not zero_point:
            del nodes[1].input[2]
        m = model(nodes, {"x": (FLOAT, self.ROWS.shape)}, {nodes[-1].output[0]: (FLOAT, None)}, 16, self.constants(constants))
        np.testing.assert_array_equal(run(m, {"x": self.ROWS})[0], expected(self.t(zero_point)))

    def constants(self, others):
        return {"w": self.W, "scale": self.SCALE} | others

    def t(self, zero_point=True):
        q, s, z = dynamic_quantize(self.ROWS)
        a = q.astype(np.int64) - (np.int64(z) if zero_point else 0)
        return (a @ self.W.astype(np.int64)).astype(np.float32) * (s * self.SCALE)

    def test_a_product_without_the_zero_point(self):
        self.check([], {}, lambda t: t, zero_point=False)

    def test_a_function_within_a_product_with_itself_that_is_one_too(self):
        steps = [node("Add", ["t_y", "three"], ["a"]), node("HardSwish", ["a"], ["h"]), node("Mul", ["t_y", "h"], ["y"])]
        hard_swish = lambda x: x * np.minimum(np.maximum(x * np.float32(1 / 6) + np.float32(0.5), np.float32(0)), np.float32(1))
        self.check(steps, {"three": np.float32(3)}, lambda t: t * hard_swish(t + np.float32(3)))

    def test_gelu_has_the_bits_of_its_nodes(self):
        """As exporters write it, in both orders, as a node of opset 20, and as optimized files have it, with a bias and without."""
        erf = [node("Div", ["t_y", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["a"])]
        bias = [node("Add", ["t_y", "bias"], ["b"])]
        microsoft = lambda kind, inputs: onnx.helper.make_node(kind, inputs, ["y"], domain="com.microsoft")
        cases = {
            "x first": [*erf, node("Mul", ["t_y", "a"], ["m"]), node("Mul", ["m", "half"], ["y"])],
            "half first": [*erf, node("Mul", ["half", "t_y"], ["h"]), node("Mul", ["h", "a"], ["y"])],
            "Gelu": [node("Gelu", ["t_y"], ["y"])],
            "com.microsoft's": [microsoft("Gelu", ["t_y"])],
            "BiasGelu": [microsoft("BiasGelu", ["t_y", "bias"])],
        }
        constants = {"root": np.sqrt(np.float32(2)), "one": np.float32(1), "half": np.float32(0.5), "bias": np.linspace(-3, 3, 5, dtype=np.float32)}
        rows = np.concatenate([self.ROWS, 20 * self.ROWS, 0 * self.ROWS])
        results = {}
        for name, steps in cases.items():
            used = {i for n in steps for i in n.input}
            m = model([quantize(), *product("t"), *steps], {"x": (FLOAT, rows.shape)}, {"y": (FLOAT, None)}, 20,
                      self.constants({k: v for k, v in constants.items() if k in used}))
            with self.subTest(name):
                self.assertEqual(operators(m, {"x": rows}), {NAME: 1})
                results[name] = run(m, {"x": rows})[0]
        nodes = [quantize(), *product("t"), *cases["half first"]]
        m = model(nodes, {"x": (FLOAT, rows.shape)}, {"y": (FLOAT, None)}, 20, self.constants({k: constants[k] for k in ("root", "one", "half")}))
        expected = run(m, {"x": rows}, provider=False, optimized=False)[0]
        for name in ("x first", "half first", "Gelu", "com.microsoft's"):
            np.testing.assert_array_equal(results[name], expected, name)
        biased = [quantize(), *product("t"), *bias, *[onnx.helper.make_node(n.op_type, ["b" if i == "t_y" else i for i in n.input], n.output) for n in cases["half first"]]]
        m = model(biased, {"x": (FLOAT, rows.shape)}, {"y": (FLOAT, None)}, 20, self.constants({k: constants[k] for k in ("root", "one", "half", "bias")}))
        np.testing.assert_array_equal(results["BiasGelu"], run(m, {"x": rows}, provider=False, optimized=False)[0])

    CURVED = np.concatenate([np.random.default_rng(8).standard_normal(1000) * deviation
                             for deviation in (1e-3, 0.1, 1, 4, 20, 60)]).astype(np.float32)

    def of_values(self, steps, opset=20, constants=None, *, values=CURVED, **how):
        """What nodes make of v, which is `values`: they are added to sums of 0."""
        nodes = [quantize(), *product("t"), node("Add", ["t_y", "values"], ["v"]), *steps]
        constants = {"w": np.zeros((1, len(values)), np.uint8), "scale": np.float32(1), "values": values} | (constants or {})
        m, x = model(nodes, {"x": (FLOAT, [1, 1])}, Y, opset, constants), {"x": np.ones((1, 1), np.float32)}
        if not how:
            self.assertEqual(operators(m, x), {NAME: 1})
        return run(m, x, **how)[0][0]

    def curve(self, op, values):
        """The bits that Tanh or Sigmoid has in layers."""
        return self.of_values([node(op, ["v"], ["y"])], values=values)

    def test_tanh_and_sigmoid_are_nearer_than_those_of_onnx_runtime(self):
        for op, right, bound in (("Tanh", np.tanh, 1.2134), ("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), 1.9991)):
            exact = right(self.CURVED.astype(np.float64))
            ulp = np.ldexp(1.0, np.maximum(np.frexp(exact)[1] - 24, -149))
            steps = [node(op, ["v"], ["y"])]
            ours, theirs = (np.max(np.abs(y.astype(np.float64) - exact) / ulp)
                            for y in (self.of_values(steps), self.of_values(steps, provider=False)))
            with self.subTest(op):
                self.assertLess(ours, bound)
                self.assertLessEqual(ours, theirs)

    def test_functions_of_tanh_and_sigmoid_have_the_bits_of_their_nodes(self):
        """Each operator by the nodes of its function, and patterns as exporters write them."""
        f, v = np.float32, self.CURVED
        microsoft = lambda kind, inputs=("v",), **others: [node(kind, inputs, ["y"], domain="com.microsoft", **others)]
        rest = [node("Mul", ["p", "c"], ["m"]), node("Add", ["v", "m"], ["a"]), node("Mul", ["a", "root"], ["r"]),
                node("Tanh", ["r"], ["th"]), node("Add", ["th", "one"], ["o"]), node("Mul", ["v", "half"], ["h"]),
                node("Mul", ["h", "o"], ["y"])]
        constants = {"c": f(0.044715), "root": np.sqrt(f(2 / np.pi)), "one": f(1), "half": f(0.5)}
        gelu = f(0.5) * v * (f(1) + self.curve("Tanh", constants["root"] * (v + constants["c"] * (v * v * v))))
        fast = lambda x: f(0.5) * (x * (f(1) + self.curve("Tanh", x * (f(0.797885) + f(0.035677) * (x * x)))))
        swish = lambda alpha: v * self.curve("Sigmoid", f(alpha) * v)
        for name, expected, steps, opset, others in (
                ("SiLU", swish(1), [node("Sigmoid", ["v"], ["s"]), node("Mul", ["v", "s"], ["y"])], 13, {}),
                *([("Swish", swish(1.5), [node("Swish", ["v"], ["y"], alpha=1.5)], 24, {})] if HAS_OPSET_24 else []),
                ("QuickGelu", swish(1.702), microsoft("QuickGelu"), 13, {}),
                ("QuickGelu, alpha 1", swish(1), microsoft("QuickGelu", alpha=1.0), 13, {}),
                ("FastGelu", fast(v), microsoft("FastGelu"), 13, {}),
                ("FastGelu, bias", fast(v + v[::-1]), microsoft("FastGelu", ("v", "bias")), 13, {"bias": v[::-1]}),
                ("Gelu", gelu, [node("Gelu", ["v"], ["y"], approximate="tanh")], 20, {}),
                ("Pow", gelu, [node("Pow", ["v", "three"], ["p"]), *rest], 13, constants | {"three": f(3)}),
                ("Mul, Mul", gelu, [node("Mul", ["v", "v"], ["q"]), node("Mul", ["q", "v"], ["p"]), *rest], 13,
                 constants)):
            with self.subTest(name):
                assert_same(self.of_values(steps, opset, others), expected)
        for exponent in (2, 3):
            power = [node("Pow", ["v", "e"], ["y"])], 13, {"e": f(exponent)}
            assert_same(self.of_values(*power), self.of_values(*power, provider=False))

    def test_the_bounds_of_clip_that_are_left_out_are_finite(self):
        steps = [node("Mul", ["t_y", "huge"], ["large"]), node("Clip", ["large", "low"], ["y"])]
        most = np.finfo(np.float32).max
        with np.errstate(over="ignore"):
            self.check(steps, {"huge": most, "low": np.float32(-1)}, lambda t: np.clip(t * most, np.float32(-1), most))

    def test_an_input_that_is_constant_is_left(self):
        m = model([quantize(), *product("t")], {"other": (FLOAT, [1])}, {"t_y": (FLOAT, None)}, 16, self.constants({"x": self.ROWS}))
        np.testing.assert_array_equal(run(m, {"other": np.zeros(1, np.float32)}, optimized=False)[0], self.t())


class Options(unittest.TestCase):
    def test_claim(self):
        for value, expected in (("none", 0), ("auto", 1), ("all", 1)):
            self.assertEqual(operators(CONVOLUTION, {"x": X}, options={"claim": value})[NAME], expected)

    def test_threads(self):
        """The session has four. ONNX Runtime may compute a part on the calling thread before another one has woken up."""
        x = np.random.default_rng(9).uniform(0, 20, 1 << 18).astype(np.float32)
        quantizing = model([node("QuantizeLinear", ["x", "s"], ["y"])], {"x": (FLOAT, ["n"])}, {"y": (UINT8, None)}, 21,
                           {"s": np.float32(0.1)})
        expected = np.rint(x / np.float32(0.1)).astype(np.uint8)
        self.assertEqual(self.wakes(quantizing, x, expected, "1", 50), 0)
        self.assertEqual(self.wakes(CONVOLUTION, X.repeat(16, 2), None, "1", 50), 0)
        for most in ("0", "2", "1000"):
            self.assertEqual(self.wakes(quantizing, x, expected, most, 2000) > 0, os.cpu_count() > 1)

    def wakes(self, m, x, expected, most, runs):
        """How often threads of the session other than the calling one have run, at the first time that they do or after `runs`."""
        before = set(os.listdir("/proc/self/task"))
        s = session(m, options={"claim": "all", "threads": most}, threads=4, spins=False)
        workers = set(os.listdir("/proc/self/task")) - before
        self.assertEqual(len(workers), 3)
        count = lambda: sum(int(pathlib.Path(f"/proc/self/task/{w}/status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
                            for w in workers)
        start = None
        while start != (start := count()):  # until all sleep
            time.sleep(0.05)
        for _ in range(runs):
            y = s.run(None, {"x": x})[0]
            if expected is not None:
                np.testing.assert_array_equal(y, expected)
            if count() > start:
                break
        time.sleep(0.05)
        return count() - start

    def test_verbose_says_what_is_claimed(self):
        text = r"dynquant: claims 'x_dql' \(DynamicQuantizeLinear\), .*'conv_product' \(ConvInteger\)"
        self.assertRegex(log(CONVOLUTION), text)
        self.assertNotIn("dynquant: ", log(CONVOLUTION, verbose="0"))

    def test_verbose_marks_quotes_within_names(self):
        nodes, constants = convolution()
        nodes[0].name = r"x's \ node"
        self.assertIn(r"claims 'x\'s \\ node' (DynamicQuantizeLinear)", log(model(nodes, INPUT, CONV_Y, 16, constants)))


class ReplacedInitializers(unittest.TestCase):
    """Values that SessionOptions.add_initializer and add_external_initializers give in place of those of the model."""

    def adding(self, values):
        """Adds values, which have to live as long as the session."""
        self.kept = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()}
        return lambda settings: [settings.add_initializer(*value) for value in self.kept.items()]

    def run_with(self, m, inputs, values, **others):
        return run(m, inputs, prepare=self.adding(values), **others)

    def count(self, m, values):
        return operators(m, {"x": X}, prepare=self.adding(values))

    def test_of_a_layer(self):
        nodes, constants = convolution()
        nodes[1].input.append("wz")
        nodes += [node("Clip", ["conv_y", "low"], ["clipped"]), node("Add", ["clipped", "bias"], ["b"]),
                  node("QuantizeLinear", ["b", "ys", "yz"], ["y"])]
        constants |= {"wz": np.uint8(3), "bias": np.float32([0.5]), "low": np.float32(-9), "ys": np.float32(0.1), "yz": np.uint8(7)}
        make = lambda given: model(nodes, INPUT, {"y": (UINT8, None)}, 16, given)
        m = make(constants)
        self.assertEqual(operators(m, {"x": X}), {NAME: 1})
        original = run(m, {"x": X})[0]
        replaced = {"w": constants["w"][::-1].copy(), "scale": np.array(0.03, np.float32), "wz": np.array(200, np.uint8),
                    "bias": np.array([7], np.float32), "low": np.array(0.5, np.float32), "ys": np.array(0.2, np.float32),
                    "yz": np.array(90, np.uint8)}
        for name, values in [*((name, {name: value}) for name, value in replaced.items()), (None, replaced)]:
            expected = run(make(constants | values), {"x": X})[0]
            self.assertFalse(np.array_equal(expected, original))
            with self.subTest(name=name):
                np.testing.assert_array_equal(self.run_with(m, {"x": X}, values)[0], expected)
        self.assertEqual(self.count(m, {"other": np.zeros(3, np.float32)}), {NAME: 1})
        self.assertEqual(self.count(m, {"bias": replaced["bias"]}),
                         {NAME: 1, "Add": 1, "QuantizeLinear": 1})  # the layer ends before it
        self.assertNotIn(NAME, self.count(m, {"w": replaced["w"]}))

    def test_of_a_product_of_bytes(self):
        """x, its zero point and its scale, which a layer does not receive where they are constants. Without
        optimization, as ONNX Runtime alone folds constants before it replaces them."""
        nodes = [*integer_product(["x", "w", "xz"]), node("Mul", ["f", "xs"], ["scaled"]), node("Add", ["scaled", "other"], ["y"])]
        constants = {"w": random_bytes(5, 4), "xz": np.array(3, np.uint8), "xs": np.array(0.5, np.float32),
                     "x": random_bytes(2, 5)}
        changes = {"xz": np.array(77, np.uint8), "xs": np.array(0.25, np.float32), "x": constants["x"][::-1].copy()}
        for fixed in (["w", "xz", "xs"], ["w", "xz", "xs", "x"]):
            given = {"other": np.ones((2, 4), np.float32)} | ({} if "x" in fixed else {"x": constants["x"]})
            inputs = {n: (FLOAT if n == "other" else UINT8, v.shape) for n, v in given.items()}
            m = model(nodes, inputs, Y, 16, {n: constants[n] for n in fixed})
            for name in changes.keys() & fixed:
                c = constants | {name: changes[name]}
                sums = (c["x"].astype(np.int64) - np.int64(c["xz"])) @ c["w"].astype(np.int64)
                expected = sums.astype(np.float32) * c["xs"] + np.float32(1)
                with self.subTest(name=name, fixed=fixed):
                    y = self.run_with(m, given, {name: changes[name]}, optimized=False)[0]
                    np.testing.assert_array_equal(y, expected)

    def test_of_single_nodes(self):
        x = np.random.default_rng(7).uniform(-20, 20, (3, 4)).astype(np.float32)
        nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
                 node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)]
        m = model(nodes, {"x": (FLOAT, [3, 4])}, {"q": (UINT8, None), "y": (FLOAT, None)}, 16,
                  {"s": np.float32([1, 2, 3, 4]), "z": np.uint8([0, 1, 2, 3])})
        scale, zero_point = np.float32([0.5, 1, 2, 0.25]), np.uint8([100, 120, 140, 160])
        q = np.clip(np.rint(x / scale) + zero_point, 0, 255).astype(np.uint8)
        results = self.run_with(m, {"x": x}, {"s": scale, "z": zero_point}, options={"claim": "all"})
        for given, expected in zip(results, (q, (q.astype(np.float32) - zero_point) * scale)):
            np.testing.assert_array_equal(given, expected)

    def test_of_external_data(self):
        nodes, constants = convolution()
        make = lambda given: model(nodes, INPUT, CONV_Y, 16, given)
        w = constants["w"][::-1].copy()
        expected = run(make(constants | {"w": w}), {"x": X})[0]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.onnx"
            onnx.save(onnx.load_from_string(make(constants)), path, save_as_external_data=True, location="w.bin", size_threshold=0)
            value = ort.OrtValue.ortvalue_from_numpy(w)
            prepare = lambda s: s.add_external_initializers(["w"], [value])
            self.assertEqual(operators(path, {"x": X}, prepare=prepare), {NAME: 1})
            np.testing.assert_array_equal(run(path, {"x": X}, prepare=prepare)[0], expected)


class Products(unittest.TestCase):
    """Single MatMulInteger nodes and what is beside them."""
    W = random_bytes(5, 4)

    def test_without_rows(self):
        for shape, rows in (([0, 5], (0,)), (["m", 5], (0,)), ([2, 0, 5], (2, 0)), (["b", "m", 5], (2, 0))):
            m = model(integer_product(["a", "w"]), {"a": (UINT8, shape)}, {"f": (FLOAT, None)}, 16, {"w": self.W})
            (y,) = run(m, {"a": np.zeros((*rows, 5), np.uint8)})
            self.assertEqual((y.shape, y.dtype), ((*rows, 4), np.float32))

    def test_constants_without_elements(self):
        """A product or convolution has no channels; a constant has none either, also in another shape. Without optimization,
        by which ONNX Runtime 1.23 loses the output."""
        product, convolution = ("MatMulInteger", (7, 0)), ("ConvInteger", (0, 2, 1, 1))
        for (op, w), a, y, name, shape in (
                *((product, (1, 7), (1, 0), name, (2, 0)) for name in ("Add", "Mul", "Div")), (product, (1, 7), (1, 0), "Sub", (3, 2, 0)),
                *((product, (3, 7), (3, 0), "Add", shape) for shape in ((0,), (1, 0), (1,))),  # of the channels
                *((convolution, (1, 2, 3, 1), (1, 0, 3, 1), "Add", shape) for shape in ((2, 0, 1, 1), (0, 3, 1), (1, 0, 1, 4)))):
            m = model([*integer_product(["a", "w"], op=op), node(name, ["f", "c"], ["y"])], {"a": (UINT8, a)}, Y, 16,
                      {"w": np.zeros(w, np.uint8), "c": np.zeros(shape, np.float32)})
            with self.subTest(op=op, name=name, shape=shape):
                self.assertEqual(run(m, {"a": random_bytes(*a)}, optimized=False)[0].shape, np.broadcast_shapes(y, shape))
                if a[0] == 3:
                    self.assertEqual(operators(m, {"a": random_bytes(*a)}, optimized=False), {NAME: 1})

    def test_of_unknown_rank_quantized_by_rows(self):
        """Axis 0 is the rows' dimension; that the columns are as many says nothing."""
        scale, a = np.float32([50, 500, 1000, 3000]), random_bytes(4, 5)
        nodes = [*integer_product(["a", "w"]), node("QuantizeLinear", ["f", "scale", "zero_point"], ["y"], axis=0)]
        m = model(nodes, {"a": (UINT8, None)}, {"y": (UINT8, None)}, 16,
                  {"w": self.W, "scale": scale, "zero_point": np.zeros(4, np.uint8)})
        sums = a.astype(np.int64) @ self.W.astype(np.int64)
        expected = np.clip(np.rint(sums.astype(np.float32) / scale[:, None]), 0, 255)
        np.testing.assert_array_equal(run(m, {"a": a})[0], expected)

    def test_two_layers_that_meet(self):
        """Each would take the Mul, the other one's result being one element."""
        w = self.W[:, :1]
        product_of = lambda x: (x.astype(np.int64) @ w.astype(np.int64)).astype(np.float32)
        for is_between, rows in itertools.product((False, True), (1, 2)):
            between = [node("Mul", ["a_f", "three"], ["v"])] if is_between else []
            nodes = [*integer_product(["a", "w"], "a_"), *integer_product(["b", "w"], "b_"), *between,
                     node("Mul", ["b_f", "v" if is_between else "a_f"], ["y"])]
            m = model(nodes, {"a": (UINT8, [1, 5]), "b": (UINT8, [rows, 5])}, Y, 16, {"w": w, "three": np.float32(3)})
            a, b = random_bytes(1, 5), random_bytes(rows, 5)[::-1].copy()
            expected = product_of(b) * (product_of(a) * np.float32(3) if is_between else product_of(a))
            with self.subTest(is_between=is_between, rows=rows):
                np.testing.assert_array_equal(run(m, {"a": a, "b": b})[0], expected)


class Saved(unittest.TestCase):
    def test_in_ort_format_with_hard_swish(self):
        """As docs/onnx.md says: saved without the provider, opened with it. ONNX Runtime expands HardSwish."""
        nodes, constants = convolution()
        nodes.append(node("HardSwish", ["conv_y"], ["y"]))
        m = model(nodes, INPUT, Y, 16, constants)
        self.assertEqual(operators(m, {"x": X}), {NAME: 1})
        expected = run(m, {"x": X})[0]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.ort"

            def prepare(settings):
                settings.optimized_model_filepath = path
                settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC

            session(m, provider=False, prepare=prepare)
            self.assertEqual(operators(path, {"x": X}), {NAME: 1})
            for provider in (False, True):
                np.testing.assert_array_equal(run(path, {"x": X}, provider)[0], expected)

    def test_in_ort_format_without_hard_swish(self):
        m = CONVOLUTION
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.ort"
            saved = session(m, prepare=lambda s: setattr(s, "optimized_model_filepath", path))
            self.assertEqual(operators(path, {"x": X}), {NAME: 1})
            for s in (saved, session(path)):
                np.testing.assert_array_equal(s.run(None, {"x": X})[0], run(m, {"x": X})[0])


class ContextModels(unittest.TestCase):
    """Models of precompiled nodes, of which ONNX Runtime wants one for each that a provider claims. This one makes none."""

    def test_a_session_that_writes_one_leaves_all_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            entries = {"ep.context_enable": "1", "ep.context_file_path": f"{folder}/context.onnx"}
            prepare = lambda s: [s.add_session_config_entry(*entry) for entry in entries.items()]
            self.assertEqual(operators(CONVOLUTION, {"x": X}, prepare=prepare)[NAME], 0)
            given, expected = run(CONVOLUTION, {"x": X}, prepare=prepare)[0], run(CONVOLUTION, {"x": X}, provider=False)[0]
            np.testing.assert_array_equal(given, expected)
            self.assertIn("dynquant: leaves all nodes: expected a session without ep.context_enable", log(CONVOLUTION, entries=entries))

    def test_entries_under_which_onnx_runtime_fuses_nothing(self):
        for key, value in (("disable_model_compile", "1"), ("max_shape_override", "x:[1,8,9,9]"),
                           ("name_based_layer_assignment", "CPUExecutionProvider(conv)"),
                           ("layer_assignment_settings", "CPUExecutionProvider(a)")):
            prepare = lambda s: s.add_session_config_entry(f"session.{key}", value)  # noqa: B023
            with self.subTest(key=key):
                given, expected = (run(CONVOLUTION, {"x": X}, provider=p, prepare=prepare)[0] for p in (True, False))
                np.testing.assert_array_equal(given, expected)
                self.assertIn(f"dynquant: leaves all nodes: expected a session without session.{key}", log(CONVOLUTION, entries={f"session.{key}": value}))

    def test_the_compiled_model_has_the_nodes_and_they_are_claimed_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path, compiled = f"{folder}/m.onnx", f"{folder}/compiled.onnx"
            pathlib.Path(path).write_bytes(CONVOLUTION)
            settings = ort.SessionOptions()
            settings.add_provider_for_devices(devices()[:1], {})
            ort.ModelCompiler(settings, path).compile_to_file(compiled)
            count = lambda file: Counter(n.op_type for n in onnx.load(file).graph.node)
            self.assertEqual(count(compiled), count(path))
            self.assertEqual(operators(compiled, {"x": X}), {NAME: 1})
            np.testing.assert_array_equal(run(compiled, {"x": X})[0], run(CONVOLUTION, {"x": X})[0])


class Memory(unittest.TestCase):
    CODE = """
import provider, sys
def kib(name): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
small, large = sys.argv[1:]
provider.session(small)
before = kib("VmRSS")
session = provider.session(large)
print(kib("VmRSS") - before, kib("VmHWM") - before)
"""

    def test_weights_are_in_memory_once(self):
        """While the session is made, twice: ONNX Runtime's and the packed ones. It frees its own into its heap, whose
        pages the provider gives back."""
        count, shape, w = 20, (256, 512, 3, 3), random_bytes(256, 512, 3, 3)
        for name, weights in (("layers", [w.copy() for _ in range(count)]), ("layer", [np.tile(w, (count, 1, 1, 1))])):
            nodes = [node("ConvInteger", ["x", f"w{i}"], [f"y{i}"]) for i in range(len(weights))]
            outputs = {f"y{i}": (INT32, None) for i in range(len(weights))}
            constants = {f"w{i}": value ^ np.uint8(i) for i, value in enumerate(weights)}
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                files = [f"{folder}/small.onnx", f"{folder}/large.onnx"]
                # The small model has a layer, too, so that the code of layers is in memory before.
                for path, used, of in zip(files, (nodes[:1], nodes), ({"w0": w[:8]}, constants)):
                    m = model(used, {"x": (UINT8, ["n", 512, "h", "w"])}, {n.output[0]: outputs[n.output[0]] for n in used}, 16, of)
                    pathlib.Path(path).write_bytes(m)
                after, peak = map(int, in_another_process(self.CODE, *files, check=True).stdout.split())
                weights_kib = count * np.prod(shape) / 1024
                self.assertLess(after, 1.15 * weights_kib + 3072)  # a huge page, and what the session has of its own
                self.assertLess(peak, 2.15 * weights_kib + 3072)

    SESSIONS = """
import gc, json, provider, sys, numpy as np
from concurrent.futures import ThreadPoolExecutor
def mib(): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024
folder = sys.argv[1]
with np.load(folder + "/values.npz") as file: x, expected = ({n[1:]: v for n, v in file.items() if n[0] == kind} for kind in "xy")
make = lambda name: provider.session(f"{folder}/{name}.onnx", options={"claim": "all"})
def check(s):
    for name, y in zip(expected, s.run([*expected], x), strict=True): provider.assert_same(y, expected[name])
def close(*which):
    for i in which: del sessions[i]
    gc.collect()
    for s in sessions.values(): check(s)
    return round(mib() - before)
check(make("large"))  # the libraries' memory, and that of a run
before, sessions, grown = mib(), {}, []
for i in range(4):
    sessions[i] = make("large")
    grown.append(close())
closed = [close(0), close(3, 1), close(2)]
with ThreadPoolExecutor(3) as pool: sessions.update(enumerate(pool.map(make, ["large"] * 3)))  # at the same time
print(json.dumps([grown, closed, close()]))
"""

    def test_sessions_share_weights(self):
        """Of products of integers, and of floats by narrow weights: 32 MiB each. All sums are exact in float."""
        random, inner, columns = np.random.default_rng(7), 2048, 8192
        pairs = [(random.integers(68, 189, (inner, columns)).astype(np.uint8),
                  random.integers(-7, 8, (columns, inner)).astype(np.int8)) for _ in range(2)]
        x = {"x": random.integers(0, 16, (1, inner)).astype(np.uint8), "f": random.integers(-3, 4, (1, inner)).astype(np.float32)}
        nodes, constants, expected = [], {"s": np.float32(0.5)}, {}
        for i, (w, narrow) in enumerate(pairs):
            constants |= {f"w{i}": w, f"n{i}": narrow}
            nodes += [node("MatMulInteger", ["x", f"w{i}"], [f"i{i}"]), node("DequantizeLinear", [f"n{i}", "s"], [f"d{i}"]),
                      node("Gemm", ["f", f"d{i}"], [f"g{i}"], transB=1)]
            expected |= {f"i{i}": (x["x"].astype(np.float32) @ w.astype(np.float32)).astype(np.int32),
                         f"g{i}": x["f"] @ narrow.T.astype(np.float32) / 2}
        inputs = {"x": (UINT8, ["n", inner]), "f": (FLOAT, ["n", inner])}
        m = model(nodes, inputs, {n: (INT32 if n[0] == "i" else FLOAT, None) for n in expected}, 21, constants)
        self.assertEqual(operators(m, x, options={"claim": "all"}), {NAME: 4})
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "large.onnx").write_bytes(m)
            np.savez(f"{folder}/values.npz", **{"x" + n: v for n, v in x.items()}, **{"y" + n: v for n, v in expected.items()})
            grown, closed, again = json.loads(in_another_process(self.SESSIONS, folder, check=True).stdout)
        self.assertGreater(min(*grown, *closed[:2], again), 56)
        self.assertLess(max(*grown, *closed[:2], again), 80)
        self.assertLess(closed[2], 16)


class Unregistered(unittest.TestCase):
    """ONNX Runtime wants a library to be unregistered after the sessions that use it. A program that does not wait lives."""
    CODE = """
import sys, numpy as np, onnxruntime as ort, provider
folder, order = sys.argv[1:]
x = {"x": np.load(f"{folder}/x.npy")}
results = []
run = lambda s: results.append(s.run(None, x)[0])
unregister = lambda: ort.unregister_execution_provider_library("dynquant")
settings = ort.SessionOptions()
settings.add_provider_for_devices(provider.devices()[:1], {})
if order == "options":
    unregister()
    del settings
else:
    s = ort.InferenceSession(f"{folder}/m.onnx", settings)
    assert s.get_providers()[0] == provider.NAME
    if order != "first run":
        run(s)
    unregister()
    run(s)
    if order == "registered again":
        import os
        ort.register_execution_provider_library("dynquant", os.environ["DYNQUANT_ONNXRUNTIME"])
        run(provider.session(f"{folder}/m.onnx"))
        run(s)
    if order != "end of the process":
        del s
np.save(f"{folder}/y.npy", np.array(results))
"""

    def test_before_sessions_and_options_are_released(self):
        x, w = X[0, 0, :, :8], random_bytes(8, 5)
        q, scale, zero_point = dynamic_quantize(x)
        expected = ((q.astype(np.int64) - np.int64(zero_point)) @ w.astype(np.int64)).astype(np.float32) * scale
        nodes = [quantize(), *integer_product(["x_q", "w", "x_z"]), node("Mul", ["f", "x_s"], ["y"])]
        m = model(nodes, {"x": (FLOAT, ["n", 8])}, Y, 16, {"w": w})
        for order, runs in (("first run", 1), ("later run", 2), ("end of the process", 2), ("registered again", 4), ("options", 0)):
            with self.subTest(order=order), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "m.onnx").write_bytes(m)
                np.save(f"{folder}/x.npy", x)
                done = in_another_process(self.CODE, folder, order, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                given = np.load(f"{folder}/y.npy")
                self.assertEqual(len(given), runs)
                for y in given:
                    np.testing.assert_array_equal(y, expected)


class Runs(unittest.TestCase):
    def test_at_the_same_time_with_shapes_that_alternate(self):
        layer = Layer(np.random.default_rng(4), 2, steps=("Add", "Relu"), is_open=True)
        inputs = list({x.shape: x for x in (layer.draw_x() for _ in range(200))}.values())
        self.assertGreater(len(inputs), 32)  # more shapes than are kept
        run_at_the_same_time(session(layer.model(), threads=2), [(x, layer.expected(x)) for x in inputs])


class RealModels(unittest.TestCase):
    def test_layers_of_quantize_dynamic_are_claimed(self):
        """A network of convolutions, depthwise ones and products, quantized by ONNX Runtime's own tool."""
        random = np.random.default_rng(8)
        draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
        constants, nodes, x = {}, [], "x"
        for i, (filters, inputs, group) in enumerate(((16, 3, 1), (16, 1, 16), (24, 16, 1), (24, 1, 24), (32, 24, 1))):
            constants |= {f"w{i}": draw(filters, inputs, 3, 3), f"b{i}": draw(filters)}
            nodes += [node("Conv", [x, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", group=group, pads=[1] * 4),
                      node(("Relu", "LeakyRelu")[i % 2], [f"c{i}"], [f"r{i}"], f"relu{i}")]
            x = f"r{i}"
        constants |= {"w": draw(32, 10), "b": draw(10)}
        nodes += [node("GlobalAveragePool", [x], ["p"]), node("Flatten", ["p"], ["flat"]),
                  node("MatMul", ["flat", "w"], ["m"], "matmul"), node("Add", ["m", "b"], ["y"], "add")]
        given = model(nodes, {"x": (FLOAT, ["n", 3, 20, 20])}, Y, 13, constants)
        inputs = {"x": draw(2, 3, 20, 20)}
        for kind in (QuantType.QInt8, QuantType.QUInt8):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "float.onnx").write_bytes(given)
                quantize_dynamic(f"{folder}/float.onnx", f"{folder}/dynamic.onnx", weight_type=kind)
                quantized = pathlib.Path(folder, "dynamic.onnx").read_bytes()
                eligible = sum(n.op_type in ("ConvInteger", "MatMulInteger") for n in onnx.load_from_string(quantized).graph.node)
                self.assertEqual(eligible, 6)
                self.assertEqual(operators(quantized, inputs)[NAME], 6)


if __name__ == "__main__":
    unittest.main()
