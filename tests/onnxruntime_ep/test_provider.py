"""What the execution provider claims, what it leaves alone, its options, and runs at the same time."""
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime as ort
from layers import Layer, dynamic_quantize
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from onnxruntime.quantization import QuantType, quantize_dynamic
from provider import NAME, devices, operators, session

FLOAT, INT32 = TensorProto.FLOAT, TensorProto.INT32
logging.disable(logging.WARNING)  # of the quantization tools


def model(nodes, inputs, outputs, constants=(), opset=16):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs], [numpy_helper.from_array(v, n) for n, v in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def random_bytes(*shape, dtype=np.uint8):
    """ONNX Runtime 1.23 has no ConvInteger with weights of int8."""
    info = np.iinfo(dtype)
    return np.random.default_rng(5).integers(info.min, info.max + 1, shape).astype(dtype)


def convolution(x="x", name="conv", w="w", scales="scales"):
    """Nodes from a float to a float, and constants."""
    p = lambda text: f"{name}_{text}"
    nodes = [helper.make_node("DynamicQuantizeLinear", [x], [p("q"), p("s"), p("z")], p("dql")),
             helper.make_node("ConvInteger", [p("q"), w, p("z")], [p("sums")], p("product"), pads=[1, 1, 1, 1]),
             helper.make_node("Cast", [p("sums")], [p("f")], p("cast"), to=FLOAT),
             helper.make_node("Mul", [p("s"), scales], [p("m")], p("scales")),
             helper.make_node("Mul", [p("f"), p("m")], [p("y")], p("mul"))]
    return nodes, [("w", random_bytes(8, 8, 3, 3)), ("scales", np.float32([0.01]).reshape(()))]


def log(m, environment=None, entries=None, **options):
    """What the provider says of a model where the option `verbose` is 1. entries: of the session's configuration."""
    code = ("import json, sys; sys.path.insert(0, sys.argv[1]); import provider, onnxruntime as ort; "
            "o = ort.SessionOptions(); o.log_severity_level = 2; "
            "[o.add_session_config_entry(*entry) for entry in json.loads(sys.argv[3]).items()]; "
            "o.add_provider_for_devices(provider.devices()[:1], {'verbose': '1'} | json.loads(sys.argv[2])); "
            "ort.InferenceSession(sys.stdin.buffer.read(), o)")
    command = [sys.executable, "-c", code, str(pathlib.Path(__file__).parent), json.dumps(options), json.dumps(entries or {})]
    return subprocess.run(command, input=m, capture_output=True, check=True, env=os.environ | (environment or {})).stderr.decode()


def expected_sums(x, zero_point, w):
    """A convolution without padding, by the definition."""
    x, (rows, columns) = x.astype(np.int64) - zero_point, w.shape[2:]
    return sum(np.einsum("nchw,fc->nfhw", x[:, :, i:x.shape[2] - rows + 1 + i, j:x.shape[3] - columns + 1 + j], w[:, :, i, j].astype(np.int64))
               for i in range(rows) for j in range(columns))


# Else ONNX Runtime does not tell a scalar from a tensor of unknown rank.
TELLS_SCALARS = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 24)

X = np.random.default_rng(6).standard_normal((1, 8, 9, 9)).astype(np.float32)
INPUT = [("x", FLOAT, ["n", 8, "h", "w"])]
CONVOLUTION = model(convolution()[0], INPUT, [("conv_y", FLOAT, None)], convolution()[1]).SerializeToString()


class Claims(unittest.TestCase):
    def test_the_factory(self):
        (device,) = devices()
        self.assertEqual(device.ep_vendor, "dynquant")

    def test_two_layers_that_share_what_quantizes(self):
        nodes, constants = convolution()
        second = [helper.make_node("ConvInteger", ["conv_q", "w", "conv_z"], ["sums2"], "product2"),
                  helper.make_node("Cast", ["sums2"], ["f2"], "cast2", to=FLOAT),
                  helper.make_node("Mul", ["f2", "conv_s"], ["y2"], "mul2")]
        m = model(nodes + second, INPUT, [("conv_y", FLOAT, None), ("y2", FLOAT, None)], constants).SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 3})
        for given, expected in zip(session(m).run(None, {"x": X}), session(m, provider=False).run(None, {"x": X})):
            np.testing.assert_array_equal(given, expected)

    def test_a_result_that_is_also_an_output_ends_the_layer(self):
        nodes, constants = convolution()
        m = model(nodes + [helper.make_node("Relu", ["conv_y"], ["y"], "relu")], INPUT,
                  [("conv_y", FLOAT, None), ("y", FLOAT, None)], constants).SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 1, "Relu": 1})

    def test_sums_that_are_an_output(self):
        nodes, constants = convolution()
        m = model(nodes, INPUT, [("conv_sums", INT32, None), ("conv_y", FLOAT, None)], constants).SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 2, "Cast": 1, "Mul": 2})  # DynamicQuantizeLinear by itself
        for given, expected in zip(session(m).run(None, {"x": X}), session(m, provider=False).run(None, {"x": X})):
            np.testing.assert_array_equal(given, expected)

    def test_weights_that_are_no_constant_are_left(self):
        nodes, constants = convolution()
        m = model(nodes, INPUT + [("w", TensorProto.UINT8, None)], [("conv_y", FLOAT, None)], constants[1:]).SerializeToString()
        self.assertNotIn(NAME, operators(m, {"x": X, "w": constants[0][1]}))

    def test_a_scale_that_changes_the_shape_ends_the_layer(self):
        nodes, constants = convolution()
        nodes += [helper.make_node("Add", ["conv_y", "row"], ["y"], "add")]
        m = model(nodes, INPUT, [("y", FLOAT, None)], constants + [("row", np.ones((3, 1, 1, 1, 1), np.float32))])
        m = m.SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 1, "Add": 1})

    def test_integers_that_change_the_shape_end_the_layer(self):
        nodes, constants = convolution()
        nodes[2].input[0] = "added"
        nodes.insert(2, helper.make_node("Add", ["conv_sums", "row"], ["added"], "add"))
        for shape, kept in (((8, 1, 1), {}), ((1, 1, 1, 1), {}), ((9, 1), {"Add": 1, "Cast": 1, "Mul": 2}),
                            ((1, 1, 1, 1, 1), {"Add": 1, "Cast": 1, "Mul": 2})):
            row = ("row", np.full(shape, 70000, np.int32))
            m = model(nodes, INPUT, [("conv_y", FLOAT, None)], [*constants, row]).SerializeToString()
            with self.subTest(shape=shape):
                self.assertEqual({k: v for k, v in operators(m, {"x": X}).items() if k != NAME}, kept)
                given, expected = (session(m, provider).run(None, {"x": X})[0] for provider in (True, False))
                np.testing.assert_array_equal(given, expected)

    def test_zero_points_of_shapes_that_onnx_does_not_have_are_left(self):
        nodes, constants = convolution()
        nodes[1].input.append("wz")
        for shape in ((8, 1), (1, 8), (1, 1), (8, 1, 1, 1)):
            zero_points = ("wz", np.full(shape, 3, np.uint8))
            m = model(nodes, INPUT, [("conv_y", FLOAT, None)], [*constants, zero_points]).SerializeToString()
            with self.subTest(shape=shape):
                text = "leaves 'conv_product' (ConvInteger): the zero points of its weights have shape "
                self.assertIn(text + "x".join(map(str, shape)), log(m))
                for provider in (False, True):
                    with self.assertRaises((Fail, InvalidArgument, RuntimeException)):
                        session(m, provider).run(None, {"x": X})
        product = helper.make_node("MatMulInteger", ["a", "w", "az", "wz"], ["y"], "product")
        a, w = random_bytes(3, 5), random_bytes(5, 4)
        for az, wz, is_valid in (((), (4,), True), ((1,), (1, 4), True), ((), (1,), True),
                                 ((), (4, 1), False), ((), (1, 1), False), ((1, 1), (), False)):
            constants = [("w", w), ("az", np.full(az, 2, np.uint8)), ("wz", np.full(wz, 3, np.uint8))]
            inputs = [("a", TensorProto.UINT8, [3, 5])]
            m = model([product], inputs, [("y", INT32, None)], constants).SerializeToString()
            for provider in (False, True):
                with self.subTest(az=az, wz=wz, provider=provider):
                    if is_valid:
                        expected = (a.astype(np.int64) - 2) @ (w.astype(np.int64) - 3)
                        np.testing.assert_array_equal(session(m, provider).run(None, {"a": a})[0], expected)
                        self.assertEqual(operators(m, {"a": a}, provider, {"claim": "all"})[NAME], provider)
                    else:
                        with self.assertRaises((Fail, InvalidArgument, RuntimeException)):
                            session(m, provider).run(None, {"a": a})

    def test_zero_points_of_the_input_that_come_with_the_run(self):
        product = helper.make_node("MatMulInteger", ["a", "w", "az"], ["y"], "product")
        is_open = "whether the zero point of its input is one value is known when it runs"
        for shape, reason in (([], None if TELLS_SCALARS else is_open), (None, is_open), (["n"], is_open),
                              ([3], "the zero points of its input have shape 3"), ([1], None)):
            inputs = [("a", TensorProto.UINT8, [3, 5]), ("az", TensorProto.UINT8, shape)]
            m = model([product], inputs, [("y", INT32, None)], [("w", random_bytes(5, 4))]).SerializeToString()
            with self.subTest(shape=shape):
                node = "'product' (MatMulInteger)"
                self.assertIn(f"leaves {node}: {reason}" if reason else f"claims {node}", log(m, claim="all"))

    def test_products_alone_that_are_as_fast_in_onnx_runtime_are_left(self):
        """Where ONNX Runtime computes them: it has no zero points for each filter. Some are as fast only without VNNI,
        which no processor has under the cap `scalar`."""
        always, without_vnni, never = "is as fast without operators", "is as fast without VNNI and without operators", None
        cpu = pathlib.Path("/proc/cpuinfo").read_text().split()
        has_vnni = ("avx512_vnni" in cpu or "avx_vnni" in cpu) and "DYNQUANT_MAX_ISA" not in os.environ

        def conv(*w, **attributes):
            return "ConvInteger", w, attributes
        for (op_type, w, attributes), w_type, zero_points, left in (
                (conv(4, 8, 1, 1), np.uint8, None, always), (conv(4, 8, 1, 1), np.int8, None, never),
                (conv(4, 8, 1, 1), np.uint8, (), always), (conv(4, 8, 1, 1), np.uint8, (4,), never),
                (conv(4, 8, 1, 1, auto_pad="SAME_UPPER"), np.uint8, None, never),
                (conv(9, 129, 1, 1), np.uint8, None, never), (conv(8, 129, 1, 1), np.uint8, None, without_vnni),
                (conv(12, 3, 3, 3), np.uint8, None, always), (conv(11, 3, 3, 3), np.uint8, None, without_vnni),
                (conv(7, 3, 3, 3), np.uint8, None, without_vnni), (conv(6, 3, 3, 3), np.uint8, None, never),
                (conv(7, 3, 3, 3), np.int8, None, never), (conv(12, 4, 3, 3), np.uint8, None, without_vnni),
                (conv(32, 5, 3, 3), np.uint8, None, never), (conv(9, 1, 3, 3, group=3), np.uint8, None, without_vnni),
                (conv(8, 1, 3, 3, group=4), np.uint8, None, never),
                (("MatMulInteger", (64, 64), {}), np.uint8, None, always),
                (("MatMulInteger", (64, 65), {}), np.uint8, None, without_vnni),
                (("MatMulInteger", (128, 128), {}), np.uint8, None, without_vnni),
                (("MatMulInteger", (128, 129), {}), np.uint8, None, never),
                (("MatMulInteger", (1024, 1025), {}), np.int8, None, never)):
            names = ["a", "w"] + (["", "wz"] if zero_points is not None else [])
            node = helper.make_node(op_type, names, ["y"], "product", **attributes)
            constants = [("w", np.ones(w, w_type))] + [("wz", np.ones(zero_points or (), w_type))] * (len(names) > 2)
            m = model([node], [("a", TensorProto.UINT8, None)], [("y", INT32, None)], constants).SerializeToString()
            with self.subTest(op_type=op_type, w=w, w_type=w_type, zero_points=zero_points, attributes=attributes):
                name = f"'product' ({op_type})"
                claims, leaves = f"claims {name}", f"leaves {name}: ONNX Runtime's {left}"
                self.assertIn(leaves if left and not (has_vnni and left == without_vnni) else claims, log(m))
                self.assertIn(leaves if left else claims, log(m, {"DYNQUANT_MAX_ISA": "scalar"}))
                self.assertIn(f"claims {name}", log(m, claim="all"))

    @unittest.skipUnless(TELLS_SCALARS, "ONNX Runtime before 1.24 does not tell scalars")
    def test_a_scale_and_a_zero_point_that_come_with_the_run(self):
        """From the graph's inputs, from another node, or, in a subgraph, from the outer graph."""
        w, x = random_bytes(8, 2, 3, 3, dtype=np.int8), random_bytes(1, 2, 9, 9)
        layer = [helper.make_node("ConvInteger", ["x", "w", "z"], ["sums"], "product"),
                 helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT),
                 helper.make_node("Mul", ["s", "f"], ["m"], "mul"), helper.make_node("Relu", ["m"], ["y"], "relu")]
        pick = [helper.make_node("Gather", ["zs", "one"], ["z"], "pick_z"), helper.make_node("Gather", ["ss", "one"], ["s"], "pick_s")]
        constants, y = [("w", w), ("one", np.int64(1))], [("y", FLOAT, None)]
        of_x, of_scalars = ("x", TensorProto.UINT8, [1, 2, 9, 9]), [("z", TensorProto.UINT8, []), ("s", FLOAT, [])]
        of_vectors = [("zs", TensorProto.UINT8, [3]), ("ss", FLOAT, [3])]
        then = helper.make_graph(layer, "then", [], [helper.make_tensor_value_info("y", FLOAT, None)])
        other = helper.make_graph([helper.make_node("Identity", ["s"], ["same"])], "else", [],
                                  [helper.make_tensor_value_info("same", FLOAT, None)])
        choose = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
        z, s = np.uint8(77), np.float32(0.3)
        sums = expected_sums(x, 77, w)
        expected = np.maximum(sums.astype(np.float32) * s, np.float32(0))
        vectors = {"zs": np.uint8([1, 77, 3]), "ss": np.float32([7, 0.3, 9])}
        for name, m, given in (
                ("inputs", model(layer, [of_x, *of_scalars], y, constants), {"z": np.array(z), "s": np.array(s)}),
                ("nodes", model(pick + layer, [of_x, *of_vectors], y, constants), vectors),
                ("outer", model([*pick, choose], [of_x, *of_vectors, ("c", TensorProto.BOOL, [])], y, constants),
                 {**vectors, "c": np.array(True)})):
            with self.subTest(name=name):
                inputs = {"x": x, **given}
                ran = operators(m.SerializeToString(), inputs)
                self.assertEqual(ran[NAME], 1)
                self.assertFalse(ran.keys() & {"ConvInteger", "Cast", "Mul", "Relu"})
                np.testing.assert_array_equal(session(m.SerializeToString()).run(None, inputs)[0], expected)

    def test_a_scale_of_unknown_rank_ends_the_layer(self):
        nodes = [helper.make_node("MatMulInteger", ["a", "w"], ["sums"], "product"),
                 helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT), helper.make_node("Mul", ["f", "s"], ["y"], "mul")]
        m = model(nodes, [("a", TensorProto.UINT8, [3, 5]), ("s", FLOAT, None)], [("y", FLOAT, None)], [("w", random_bytes(5, 4))])
        for s in (np.float32(2), np.float32([[1], [2], [3]]), np.ones((2, 1, 1), np.float32)):
            inputs = {"a": random_bytes(3, 5), "s": np.array(s)}
            self.assertEqual(operators(m.SerializeToString(), inputs), {NAME: 1, "Mul": 1})
            given, expected = (session(m.SerializeToString(), provider).run(None, inputs)[0] for provider in (True, False))
            np.testing.assert_array_equal(given, expected)

    def test_constants_of_the_outer_graph_and_subgraphs(self):
        nodes, constants = convolution()
        then = helper.make_graph(nodes, "then", [], [helper.make_tensor_value_info("conv_y", FLOAT, None)])
        other = helper.make_graph([helper.make_node("Identity", ["x"], ["same"])], "else", [],
                                  [helper.make_tensor_value_info("same", FLOAT, None)])
        m = model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                  INPUT + [("c", TensorProto.BOOL, [])], [("y", FLOAT, None)], constants).SerializeToString()
        inputs = {"x": X, "c": np.array(True)}
        self.assertEqual(operators(m, inputs)[NAME], 1)
        np.testing.assert_array_equal(session(m).run(None, inputs)[0], session(m, provider=False).run(None, inputs)[0])

    def test_quantized_operators_of_qdq_models_stay(self):
        """QuantizeLinear and DequantizeLinear around a float operator are ONNX Runtime's to fuse."""
        def qdq(x, to):
            return [helper.make_node("QuantizeLinear", [x, "s", "z"], [x + "_q"]), helper.make_node("DequantizeLinear", [x + "_q", "s", "z"], [to])]
        nodes = [*qdq("x", "xd"), helper.make_node("DequantizeLinear", ["w", "s", "wz"], ["wd"]),
                 helper.make_node("Conv", ["xd", "wd"], ["c"]), *qdq("c", "y")]
        m = model(nodes, INPUT, [("y", FLOAT, None)], [("w", random_bytes(8, 8, 3, 3, dtype=np.int8)), ("s", np.float32(0.1)),
                                                       ("z", np.uint8(3)), ("wz", np.int8(0))]).SerializeToString()
        with_it, without = operators(m, {"x": X}), operators(m, {"x": X}, provider=False)
        self.assertEqual(with_it, without)
        self.assertEqual(with_it["QLinearConv"], 1)


class Matching(unittest.TestCase):
    """Cases in which a layer is easily taken for another one."""

    W, SCALE = random_bytes(8, 5), np.float32(0.01)

    def check(self, nodes, constants, expected, x=X[0, 0, :, :8], opset=16):
        y = nodes[-1].output[0]
        m = model(nodes, [("x", FLOAT, x.shape)], [(y, FLOAT, None)], constants, opset).SerializeToString()
        np.testing.assert_array_equal(session(m).run(None, {"x": x})[0], expected(*dynamic_quantize(x)))

    def product(self, zero_point=True):
        nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                 helper.make_node("MatMulInteger", ["q", "w", "z"] if zero_point else ["q", "w"], ["sums"]),
                 helper.make_node("Cast", ["sums"], ["f"], to=FLOAT),
                 helper.make_node("Mul", ["s", "scale"], ["m"]), helper.make_node("Mul", ["f", "m"], ["t"])]
        return nodes, [("w", self.W), ("scale", self.SCALE)]

    def t(self, q, s, z, zero_point=True):
        a = q.astype(np.int64) - (np.int64(z) if zero_point else 0)
        return (a @ self.W.astype(np.int64)).astype(np.float32) * (s * self.SCALE)

    def test_a_product_without_the_zero_point(self):
        nodes, constants = self.product(zero_point=False)
        self.check(nodes, constants, lambda q, s, z: self.t(q, s, z, zero_point=False))

    def test_a_function_within_a_product_with_itself_that_is_one_too(self):
        nodes, constants = self.product()
        nodes += [helper.make_node("Add", ["t", "three"], ["a"]), helper.make_node("HardSwish", ["a"], ["h"]),
                  helper.make_node("Mul", ["t", "h"], ["y"])]
        hard_swish = lambda x: x * np.minimum(np.maximum(x * np.float32(1 / 6) + np.float32(0.5), np.float32(0)), np.float32(1))
        self.check(nodes, constants + [("three", np.float32(3))],
                   lambda *q: self.t(*q) * hard_swish(self.t(*q) + np.float32(3)))

    def test_the_bounds_of_clip_that_are_left_out_are_finite(self):
        nodes, constants = self.product()
        nodes += [helper.make_node("Mul", ["t", "huge"], ["large"]), helper.make_node("Clip", ["large", "low"], ["y"])]
        most = np.finfo(np.float32).max
        with np.errstate(over="ignore"):
            self.check(nodes, constants + [("huge", most), ("low", np.float32(-1))],
                       lambda *q: np.clip(self.t(*q) * most, np.float32(-1), most))

    def test_an_input_that_is_constant_is_left(self):
        nodes, constants = self.product()
        m = model(nodes, [("other", FLOAT, [1])], [("t", FLOAT, None)], constants + [("x", X[0, 0, :, :8])]).SerializeToString()
        given = session(m, optimized=False).run(None, {"other": np.zeros(1, np.float32)})[0]
        np.testing.assert_array_equal(given, self.t(*dynamic_quantize(X[0, 0, :, :8])))


class Options(unittest.TestCase):
    model = CONVOLUTION

    def test_claim(self):
        for value, expected in (("none", 0), ("auto", 1), ("all", 1)):
            self.assertEqual(operators(self.model, {"x": X}, options={"claim": value})[NAME], expected)

    def test_threads(self):
        """The session has four. ONNX Runtime may compute a part on the calling thread before another one has woken up."""
        x = np.random.default_rng(9).uniform(0, 20, 1 << 18).astype(np.float32)
        quantize = model([helper.make_node("QuantizeLinear", ["x", "s"], ["y"])], [("x", FLOAT, ["n"])], [("y", TensorProto.UINT8, None)],
                         [("s", np.float32(0.1))], 21).SerializeToString()
        expected = np.rint(x / np.float32(0.1)).astype(np.uint8)
        self.assertEqual(self.wakes(quantize, x, expected, "1", 50), 0)
        self.assertEqual(self.wakes(self.model, X.repeat(16, 2), None, "1", 50), 0)
        for most in ("0", "2", "1000"):
            self.assertEqual(self.wakes(quantize, x, expected, most, 2000) > 0, os.cpu_count() > 1)

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
        text = r"dynquant: claims 'conv_dql' \(DynamicQuantizeLinear\), .*'conv_product' \(ConvInteger\)"
        self.assertRegex(log(self.model), text)


class ReplacedInitializers(unittest.TestCase):
    """Values that SessionOptions.add_initializer and add_external_initializers give in place of those of the model."""

    def adding(self, values):
        """Adds values, which have to live as long as the session."""
        self.kept = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()}
        return lambda settings: [settings.add_initializer(*value) for value in self.kept.items()]

    def session(self, m, values, **others):
        return session(m, prepare=self.adding(values), **others)

    def count(self, m, values):
        return operators(m, {"x": X}, prepare=self.adding(values))

    def test_of_a_layer(self):
        nodes, constants = convolution()
        nodes[1].input.append("wz")
        nodes += [helper.make_node("Clip", ["conv_y", "low"], ["clipped"], "clip"),
                  helper.make_node("Add", ["clipped", "bias"], ["b"], "add"),
                  helper.make_node("QuantizeLinear", ["b", "ys", "yz"], ["y"], "quantize")]
        constants += [("wz", np.uint8(3)), ("bias", np.float32([0.5])), ("low", np.float32(-9)),
                      ("ys", np.float32(0.1)), ("yz", np.uint8(7))]
        make = lambda given: model(nodes, INPUT, [("y", TensorProto.UINT8, None)], given).SerializeToString()
        m = make(constants)
        self.assertEqual(operators(m, {"x": X}), {NAME: 1})
        original = session(m).run(None, {"x": X})[0]
        replaced = {"w": constants[0][1][::-1].copy(), "scales": np.array(0.03, np.float32),
                    "wz": np.array(200, np.uint8), "bias": np.array([7], np.float32), "low": np.array(0.5, np.float32),
                    "ys": np.array(0.2, np.float32), "yz": np.array(90, np.uint8)}
        for name, value in [*replaced.items(), (None, None)]:
            values = {name: value} if name else replaced
            changed = make([(n, values.get(n, v)) for n, v in constants])
            expected = session(changed).run(None, {"x": X})[0]
            self.assertFalse(np.array_equal(expected, original))
            with self.subTest(name=name):
                given = self.session(m, values).run(None, {"x": X})[0]
                np.testing.assert_array_equal(given, expected)
        self.assertEqual(self.count(m, {"other": np.zeros(3, np.float32)}), {NAME: 1})
        self.assertEqual(self.count(m, {"bias": replaced["bias"]}),
                         {NAME: 1, "Add": 1, "QuantizeLinear": 1})  # the layer ends before it
        self.assertNotIn(NAME, self.count(m, {"w": replaced["w"]}))

    def test_of_a_product_of_bytes(self):
        """x, its zero point and its scale, which a layer does not receive where they are constants. Without
        optimization, as ONNX Runtime alone folds constants before it replaces them."""
        nodes = [helper.make_node("MatMulInteger", ["x", "w", "xz"], ["sums"], "product"),
                 helper.make_node("Cast", ["sums"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "xs"], ["scaled"]),
                 helper.make_node("Add", ["scaled", "other"], ["y"])]
        constants = {"w": random_bytes(5, 4), "xz": np.array(3, np.uint8), "xs": np.array(0.5, np.float32),
                     "x": random_bytes(2, 5)}
        changes = {"xz": np.array(77, np.uint8), "xs": np.array(0.25, np.float32), "x": constants["x"][::-1].copy()}
        for fixed in (["w", "xz", "xs"], ["w", "xz", "xs", "x"]):
            given = {"other": np.ones((2, 4), np.float32)} | ({} if "x" in fixed else {"x": constants["x"]})
            inputs = [(n, FLOAT if n == "other" else TensorProto.UINT8, v.shape) for n, v in given.items()]
            m = model(nodes, inputs, [("y", FLOAT, None)], [(n, constants[n]) for n in fixed]).SerializeToString()
            for name in changes.keys() & fixed:
                c = constants | {name: changes[name]}
                sums = (c["x"].astype(np.int64) - np.int64(c["xz"])) @ c["w"].astype(np.int64)
                expected = sums.astype(np.float32) * c["xs"] + np.float32(1)
                with self.subTest(name=name, fixed=fixed):
                    s = self.session(m, {name: changes[name]}, optimized=False)
                    np.testing.assert_array_equal(s.run(None, given)[0], expected)

    def test_of_single_nodes(self):
        x = np.random.default_rng(7).uniform(-20, 20, (3, 4)).astype(np.float32)
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
                 helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)]
        m = model(nodes, [("x", FLOAT, [3, 4])], [("q", TensorProto.UINT8, None), ("y", FLOAT, None)],
                  [("s", np.float32([1, 2, 3, 4])), ("z", np.uint8([0, 1, 2, 3]))]).SerializeToString()
        scale, zero_point = np.float32([0.5, 1, 2, 0.25]), np.uint8([100, 120, 140, 160])
        q = np.clip(np.rint(x / scale) + zero_point, 0, 255).astype(np.uint8)
        s = self.session(m, {"s": scale, "z": zero_point}, options={"claim": "all"})
        for given, expected in zip(s.run(None, {"x": x}), (q, (q.astype(np.float32) - zero_point) * scale)):
            np.testing.assert_array_equal(given, expected)

    def test_of_external_data(self):
        nodes, constants = convolution()
        make = lambda given: model(nodes, INPUT, [("conv_y", FLOAT, None)], given)
        w = constants[0][1][::-1].copy()
        expected = session(make([("w", w), constants[1]]).SerializeToString()).run(None, {"x": X})[0]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.onnx"
            onnx.save(make(constants), path, save_as_external_data=True, location="w.bin", size_threshold=0)
            value = ort.OrtValue.ortvalue_from_numpy(w)
            prepare = lambda s: s.add_external_initializers(["w"], [value])
            self.assertEqual(operators(path, {"x": X}, prepare=prepare), {NAME: 1})
            np.testing.assert_array_equal(session(path, prepare=prepare).run(None, {"x": X})[0], expected)


class Products(unittest.TestCase):
    """Single MatMulInteger nodes and what is beside them."""
    W = random_bytes(5, 4)

    def product(self, nodes, shape, outputs, constants=(), opset=16):
        first = [helper.make_node("MatMulInteger", ["a", "w"], ["sums"], "product"), helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT)]
        return model([*first, *nodes], [("a", TensorProto.UINT8, shape)], outputs, [("w", self.W), *constants], opset)

    def test_without_rows(self):
        for shape in ([0, 5], [2, 0, 5], ["m", 5], ["b", "m", 5]):
            for rows in ((0,), (2, 0)):
                if len(shape) == len(rows) + 1:
                    s = session(self.product([], shape, [("f", FLOAT, None)]).SerializeToString())
                    (y,) = s.run(None, {"a": np.zeros((*rows, 5), np.uint8)})
                    self.assertEqual((y.shape, y.dtype), ((*rows, 4), np.float32))

    def test_constants_without_elements_that_are_not_of_the_channels(self):
        """A product or convolution has no channels; a constant has none either, in another shape. Without optimization,
        by which ONNX Runtime 1.23 loses the output."""
        for name, shape in (("Add", (2, 0)), ("Sub", (3, 2, 0)), ("Mul", (2, 0)), ("Div", (2, 0))):
            nodes = [helper.make_node("MatMulInteger", ["a", "w"], ["sums"], "product"),
                     helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT),
                     helper.make_node(name, ["f", "c"], ["y"], "step")]
            m = model(nodes, [("a", TensorProto.UINT8, [1, 7])], [("y", FLOAT, None)],
                      [("w", np.zeros((7, 0), np.uint8)), ("c", np.zeros(shape, np.float32))]).SerializeToString()
            with self.subTest(name=name, shape=shape):
                self.assertEqual(session(m, optimized=False).run(None, {"a": random_bytes(1, 7)})[0].shape, shape)
        nodes = [helper.make_node("ConvInteger", ["x", "w"], ["sums"], "product"),
                 helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT),
                 helper.make_node("Add", ["f", "c"], ["y"], "step")]
        for shape in ((2, 0, 1, 1), (0, 3, 1), (1, 0, 1, 4)):
            m = model(nodes, [("x", TensorProto.UINT8, [1, 2, 3, 1])], [("y", FLOAT, None)],
                      [("w", np.zeros((0, 2, 1, 1), np.uint8)), ("c", np.zeros(shape, np.float32))]).SerializeToString()
            with self.subTest(shape=shape):
                (y,) = session(m, optimized=False).run(None, {"x": random_bytes(1, 2, 3, 1)})
                self.assertEqual(y.shape, np.broadcast_shapes((1, 0, 3, 1), shape))

    def test_constants_without_elements_of_the_channels(self):
        nodes = [helper.make_node("MatMulInteger", ["a", "w"], ["sums"], "product"),
                 helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT),
                 helper.make_node("Add", ["f", "c"], ["y"], "step")]
        for shape in ((0,), (1, 0), (1,)):
            m = model(nodes, [("a", TensorProto.UINT8, [3, 7])], [("y", FLOAT, None)],
                      [("w", np.zeros((7, 0), np.uint8)), ("c", np.zeros(shape, np.float32))]).SerializeToString()
            with self.subTest(shape=shape):
                disable = lambda s: setattr(s, "graph_optimization_level", ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
                self.assertEqual(operators(m, {"a": random_bytes(3, 7)}, prepare=disable), {NAME: 1})
                self.assertEqual(session(m, prepare=disable).run(None, {"a": random_bytes(3, 7)})[0].shape, (3, 0))

    def test_of_unknown_rank_quantized_by_rows(self):
        """Axis 0 is the rows' dimension; that the columns are as many says nothing."""
        scale, zero_point = np.float32([50, 500, 1000, 3000]), np.zeros(4, np.uint8)
        quantize = helper.make_node("QuantizeLinear", ["f", "scale", "zero_point"], ["y"], "quantize", axis=0)
        m = self.product([quantize], None, [("y", TensorProto.UINT8, None)], [("scale", scale), ("zero_point", zero_point)])
        a = random_bytes(4, 5)
        sums = a.astype(np.int64) @ self.W.astype(np.int64)
        expected = np.clip(np.rint(sums.astype(np.float32) / scale[:, None]), 0, 255)
        np.testing.assert_array_equal(session(m.SerializeToString()).run(None, {"a": a})[0], expected)

    def test_two_layers_that_meet(self):
        """Each would take the Mul, the other one's result being one element."""
        nodes = [helper.make_node("MatMulInteger", ["b", "w1"], ["sums_b"], "product_b"),
                 helper.make_node("Cast", ["sums_b"], ["fb"], "cast_b", to=FLOAT)]
        w1 = self.W[:, :1]
        for between in ([], [helper.make_node("Mul", ["f", "three"], ["v"], "scale_a")]):
            for rows in (1, 2):
                meet = helper.make_node("Mul", ["fb", "v" if between else "f"], ["y"], "meet")
                first = [helper.make_node("MatMulInteger", ["a", "w1"], ["sums"], "product"), helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT)]
                m = model([*first, *nodes, *between, meet], [("a", TensorProto.UINT8, [1, 5]), ("b", TensorProto.UINT8, [rows, 5])],
                          [("y", FLOAT, None)], [("w1", w1), ("three", np.float32(3))]).SerializeToString()
                a, b = random_bytes(1, 5), random_bytes(rows, 5)[::-1].copy()
                product = lambda x: (x.astype(np.int64) @ w1.astype(np.int64)).astype(np.float32)
                expected = product(b) * (product(a) * np.float32(3) if between else product(a))
                with self.subTest(between=len(between), rows=rows):
                    np.testing.assert_array_equal(session(m).run(None, {"a": a, "b": b})[0], expected)


class Saved(unittest.TestCase):
    def test_in_ort_format_with_hard_swish(self):
        """As docs/onnx.md says: saved without the provider, opened with it. ONNX Runtime expands HardSwish."""
        nodes, constants = convolution()
        nodes.append(helper.make_node("HardSwish", ["conv_y"], ["y"], "hard_swish"))
        m = model(nodes, INPUT, [("y", FLOAT, None)], constants).SerializeToString()
        self.assertEqual(operators(m, {"x": X}), {NAME: 1})
        expected = session(m).run(None, {"x": X})[0]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.ort"

            def prepare(settings):
                settings.optimized_model_filepath = path
                settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC

            session(m, provider=False, prepare=prepare)
            self.assertEqual(operators(path, {"x": X}), {NAME: 1})
            for provider in (False, True):
                np.testing.assert_array_equal(session(path, provider).run(None, {"x": X})[0], expected)

    def test_in_ort_format_without_hard_swish(self):
        m = CONVOLUTION
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.ort"
            saved = session(m, prepare=lambda s: setattr(s, "optimized_model_filepath", path))
            self.assertEqual(operators(path, {"x": X}), {NAME: 1})
            for s in (saved, session(path)):
                np.testing.assert_array_equal(s.run(None, {"x": X})[0], session(m).run(None, {"x": X})[0])


class ContextModels(unittest.TestCase):
    """Models of precompiled nodes, of which ONNX Runtime wants one for each that a provider claims. This one makes none."""

    model = CONVOLUTION

    def test_a_session_that_writes_one_leaves_all_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            entries = {"ep.context_enable": "1", "ep.context_file_path": f"{folder}/context.onnx"}
            prepare = lambda s: [s.add_session_config_entry(*entry) for entry in entries.items()]
            self.assertEqual(operators(self.model, {"x": X}, prepare=prepare)[NAME], 0)
            given, expected = session(self.model, prepare=prepare), session(self.model, provider=False)
            np.testing.assert_array_equal(given.run(None, {"x": X})[0], expected.run(None, {"x": X})[0])
            self.assertIn("dynquant: leaves all nodes: expected a session without ep.context_enable, given one that writes an "
                          "EPContext model, which keeps them as they are", log(self.model, entries=entries))

    def test_the_compiled_model_has_the_nodes_and_they_are_claimed_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path, compiled = f"{folder}/m.onnx", f"{folder}/compiled.onnx"
            pathlib.Path(path).write_bytes(self.model)
            settings = ort.SessionOptions()
            settings.add_provider_for_devices(devices()[:1], {})
            ort.ModelCompiler(settings, path).compile_to_file(compiled)
            count = lambda file: Counter(n.op_type for n in onnx.load(file).graph.node)
            self.assertEqual(count(compiled), count(path))
            self.assertEqual(operators(compiled, {"x": X}), {NAME: 1})
            np.testing.assert_array_equal(session(compiled).run(None, {"x": X})[0], session(self.model).run(None, {"x": X})[0])


class Memory(unittest.TestCase):
    CODE = """
import sys; sys.path.insert(0, sys.argv[1])
import provider
def kib(name): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
small, large = sys.argv[2:]
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
            nodes = [helper.make_node("ConvInteger", ["x", f"w{i}"], [f"y{i}"]) for i in range(len(weights))]
            outputs = [(f"y{i}", INT32, None) for i in range(len(weights))]
            constants = [(f"w{i}", (value ^ np.uint8(i))) for i, value in enumerate(weights)]
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                files = []
                for size in (0, len(nodes)):
                    of_size = model(nodes[:size] or [helper.make_node("Identity", ["x"], ["y"])],
                                    [("x", TensorProto.UINT8, ["n", 512, "h", "w"])],
                                    outputs[:size] or [("y", TensorProto.UINT8, None)], constants[:size])
                    files.append(f"{folder}/{size}.onnx")
                    onnx.save(of_size, files[-1])
                command = [sys.executable, "-c", self.CODE, str(pathlib.Path(__file__).parent), *files]
                after, peak = map(int, subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
                weights_kib = count * np.prod(shape) / 1024
                self.assertLess(after, 1.15 * weights_kib + 3072)  # a huge page, and what the session has of its own
                self.assertLess(peak, 2.15 * weights_kib + 3072)


class Unregistered(unittest.TestCase):
    """ONNX Runtime wants a library to be unregistered after the sessions that use it. A program that does not wait lives."""
    CODE = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, onnxruntime as ort, provider
folder, order = sys.argv[2:]
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
        nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                 helper.make_node("MatMulInteger", ["q", "w", "z"], ["sums"]),
                 helper.make_node("Cast", ["sums"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "s"], ["y"])]
        m = model(nodes, [("x", FLOAT, ["n", 8])], [("y", FLOAT, None)], [("w", w)])
        for order, runs in (("first run", 1), ("later run", 2), ("end of the process", 2), ("registered again", 4), ("options", 0)):
            with self.subTest(order=order), tempfile.TemporaryDirectory() as folder:
                onnx.save(m, f"{folder}/m.onnx")
                np.save(f"{folder}/x.npy", x)
                command = [sys.executable, "-c", self.CODE, str(pathlib.Path(__file__).parent), folder, order]
                done = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                given = np.load(f"{folder}/y.npy")
                self.assertEqual(len(given), runs)
                for y in given:
                    np.testing.assert_array_equal(y, expected)


class Runs(unittest.TestCase):
    def test_at_the_same_time_with_shapes_that_alternate(self):
        layer = Layer(np.random.default_rng(4), 2, steps=("Add", "Relu"), is_open=True)
        s = session(layer.model(), threads=2)
        inputs = list({x.shape: x for x in (layer.draw_x() for _ in range(200))}.values())
        self.assertGreater(len(inputs), 32)  # more shapes than are kept
        expected = [layer.expected(x) for x in inputs]

        def run(worker):
            for i in range(60):
                k = (i * 7 + worker) % len(inputs)
                np.testing.assert_array_equal(s.run(None, {"x": inputs[k]})[0], expected[k])

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(run, range(6)))


class RealModels(unittest.TestCase):
    def test_layers_of_quantize_dynamic_are_claimed(self):
        """A network of convolutions, depthwise ones and products, quantized by ONNX Runtime's own tool."""
        random = np.random.default_rng(8)
        constants, nodes, x = [], [], "x"
        for i, (filters, inputs, group) in enumerate(((16, 3, 1), (16, 1, 16), (24, 16, 1), (24, 1, 24), (32, 24, 1))):
            constants += [(f"w{i}", random.standard_normal((filters, inputs, 3, 3)).astype(np.float32)), (f"b{i}", random.standard_normal(filters).astype(np.float32))]
            nodes += [helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", group=group, pads=[1] * 4),
                      helper.make_node(("Relu", "LeakyRelu")[i % 2], [f"c{i}"], [f"r{i}"], f"relu{i}")]
            x = f"r{i}"
        constants += [("w", random.standard_normal((32, 10)).astype(np.float32)), ("b", random.standard_normal(10).astype(np.float32))]
        nodes += [helper.make_node("GlobalAveragePool", [x], ["p"]), helper.make_node("Flatten", ["p"], ["flat"]),
                  helper.make_node("MatMul", ["flat", "w"], ["m"], "matmul"), helper.make_node("Add", ["m", "b"], ["y"], "add")]
        given = model(nodes, [("x", FLOAT, ["n", 3, 20, 20])], [("y", FLOAT, None)], constants, opset=13)
        inputs = {"x": random.standard_normal((2, 3, 20, 20)).astype(np.float32)}
        for kind in (QuantType.QInt8, QuantType.QUInt8):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                onnx.save(given, f"{folder}/float.onnx")
                quantize_dynamic(f"{folder}/float.onnx", f"{folder}/dynamic.onnx", weight_type=kind)
                quantized = pathlib.Path(folder, "dynamic.onnx").read_bytes()
                eligible = sum(n.op_type in ("ConvInteger", "MatMulInteger") for n in onnx.load_from_string(quantized).graph.node)
                self.assertEqual(eligible, 6)
                self.assertEqual(operators(quantized, inputs)[NAME], 6)


if __name__ == "__main__":
    unittest.main()
