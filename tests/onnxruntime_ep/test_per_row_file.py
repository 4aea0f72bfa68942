"""Models that python -m onnxruntime_ep_dynquant --per-row rewrites: their bits in every session, by the original's nodes with
a scale for each row; what is rewritten, and what is left. DYNQUANT_ONNXRUNTIME: libdynquant_onnxruntime.so."""
import itertools
import logging
import os
import tempfile
import unittest
from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
from layers import F, product, quantize, quantize_rows
from models import choose
from models import model as file_of
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.quantization import QuantType, quantize_dynamic
from provider import NAME, assert_same, operators, run, said

from onnxruntime_ep_dynquant import per_row
from onnxruntime_ep_dynquant.refusal import Refusal

FLOAT = TensorProto.FLOAT
BYTES = {QuantType.QInt8: np.int8, QuantType.QUInt8: np.uint8}
CUSTOM = lambda settings: settings.register_custom_ops_library(os.environ["DYNQUANT_ONNXRUNTIME"])
logging.disable(logging.WARNING)  # of the quantization tools


def model(nodes, x_shape, outputs, constants, *, opset=16, inputs={}, **others):
    outputs = {name: (FLOAT, [f"{name}_{i}" for i in range(len(x_shape))]) for name in outputs}
    return onnx.load_from_string(file_of(nodes, {"x": (FLOAT, x_shape)} | inputs, outputs, opset, constants, **others))


def expected(m, x):
    """The nodes of the model, before it is rewritten, one by one; DynamicQuantizeLinear by rows."""
    values = {"x": x, **{c.name: numpy_helper.to_array(c) for c in m.graph.initializer}}

    def matmul_integer(a, b, a_zero_point, b_zero_point=0):
        return ((a.astype(np.int64) - a_zero_point) @ (b.astype(np.int64) - b_zero_point)).astype(np.int32)

    apply = {"DynamicQuantizeLinear": lambda v: quantize_rows(v, False), "MatMulInteger": matmul_integer,
             "Cast": lambda v: v.astype(F), "Mul": np.multiply, "Add": np.add, "Relu": lambda v: np.maximum(v, F(0))}
    for node in m.graph.node:
        results = apply[node.op_type](*(values[name] for name in node.input))
        values.update(zip(node.output, results if isinstance(results, tuple) else [results]))
    return [values[o.name] for o in m.graph.output]


TINY = F(1e-45), F(-1e-43)  # of which a 255th is 0, so that all of a row becomes 0


def rows(random, shape, others=TINY):
    """Among them zeros, constants, large and small ones, and others."""
    x = random.standard_normal(shape).astype(F) * F(10) ** random.integers(-3, 4, (*shape[:-1], 1)).astype(F)
    flat = x.reshape(-1, shape[-1])
    for i, row in enumerate((F(0), F(3), F(-3), F(1e30) * flat[0], F(1e-38) * flat[1], *others)):
        flat[len(flat) - 1 - i if i < len(flat) else 0] = row
    return x


def rewritten(m):
    result = onnx.ModelProto()
    result.CopyFrom(m)
    count, left = per_row.rewrite(result)
    onnx.checker.check_model(result, full_check=True)
    return result.SerializeToString(), count, left


class Bits(unittest.TestCase):
    def check(self, m, x, claimed, *, saturates):
        """saturates: whether ONNX Runtime's products of uint8 by int8 do, without VNNI."""
        original, (file, _, left) = m.SerializeToString(), rewritten(m)
        self.assertEqual(left, Counter())
        wanted = expected(m, x)
        per_tensor = run(original, {"x": x})
        self.assertFalse(all(map(np.array_equal, per_tensor, wanted)))
        by_option = {"options": {"activation_scales": "per_row"}}
        runs = {"provider": (file, {}), "both": (file, by_option), "the original, by the option": (original, by_option)}
        if not saturates:
            runs |= {"custom operators": (file, {"provider": False, "prepare": CUSTOM}),
                     "functions": (file, {"provider": False}), "without optimization": (file, {"provider": False, "optimized": False})}
        for name, (given, settings) in runs.items():
            with self.subTest(session=name):
                for y, w in zip(run(given, {"x": x}, **settings), wanted, strict=True):
                    assert_same(y, w)
        self.assertEqual(operators(file, {"x": x})[NAME], claimed)
        if not saturates:
            computed = operators(file, {"x": x}, provider=False, prepare=CUSTOM)
            self.assertEqual((computed["DynamicQuantizeLinear"], computed["ReduceMax"]), (claimed, 0))

    def test_layers_of_every_form(self):
        random = np.random.default_rng(1)
        for kind, zero_point, form, is_small in itertools.product(
                BYTES.values(), (None, "one", "channel"), ("scales", "sums"), (False, True)):
            with self.subTest(kind=kind, zero_point=zero_point, form=form, is_small=is_small):
                inner, columns = (int(n) for n in random.integers(3, 80, 2))
                low, high = (-63, 63) if is_small else (-128, 127)
                low, high = (low, high) if kind == np.int8 else (0, 255)
                draw = lambda shape: random.integers(low, high, shape, endpoint=True).astype(kind)
                channels = (columns,) if zero_point == "channel" else ()
                constants = {"w": draw((inner, columns)), "scale": random.uniform(0.01, 1, channels).astype(F)}
                if zero_point:
                    constants["z"] = draw(channels)
                shape = (*random.integers(2, 4, random.integers(0, 3)).tolist(), 9, inner)
                nodes = [quantize(), *product("a", zero_point="z" if zero_point else None, form=form)]
                m = model(nodes, [f"d{i}" for i in range(len(shape) - 1)] + [inner], ["a_y"], constants)
                self.check(m, rows(random, shape), 1, saturates=kind == np.int8 and not is_small)

    def test_layers_that_share_x_stay_one_node(self):
        """Query, key and value, of several widths and types."""
        random = np.random.default_rng(2)
        nodes, constants = [quantize()], {}
        for name, columns, kind, form in (("q", 24, np.int8, "scales"), ("k", 40, np.uint8, "sums"), ("v", 8, np.int8, "scales")):
            nodes += product(name, w=f"{name}_w", scale=f"{name}_scale", form=form)
            constants[f"{name}_w"] = random.integers(-63 if kind == np.int8 else 0, 64, (33, columns)).astype(kind)
            constants[f"{name}_scale"] = random.uniform(0.01, 1, columns).astype(F)
        m = model(nodes, ["b", "t", 33], ["q_y", "k_y", "v_y"], constants)
        x = rows(random, (2, 7, 33))
        self.check(m, x, 1, saturates=False)
        self.assertEqual(operators(rewritten(m)[0], {"x": x}), {NAME: 1})

    def test_models_of_quantize_dynamic(self):
        random = np.random.default_rng(3)
        draw = lambda *shape: random.standard_normal(shape).astype(F)
        constants = {"wq": draw(32, 32), "wk": draw(32, 32), "wv": draw(32, 32), "wo": draw(32, 20), "bias": draw(20)}
        nodes = [helper.make_node("MatMul", ["x", "wq"], ["q"]), helper.make_node("MatMul", ["x", "wk"], ["k"]),
                 helper.make_node("MatMul", ["x", "wv"], ["v"]), helper.make_node("Add", ["q", "k"], ["qk"]),
                 helper.make_node("Add", ["qk", "v"], ["qkv"]), helper.make_node("Relu", ["qkv"], ["r"]),
                 helper.make_node("MatMul", ["r", "wo"], ["o"]), helper.make_node("Add", ["o", "bias"], ["y"])]
        for kind, per_channel, reduced in itertools.product(BYTES, (False, True), (False, True)):
            with self.subTest(kind=kind, per_channel=per_channel, reduced=reduced), tempfile.TemporaryDirectory() as folder:
                onnx.save(model(nodes, ["b", "t", 32], ["y"], constants), f"{folder}/float.onnx")
                quantize_dynamic(f"{folder}/float.onnx", f"{folder}/dynamic.onnx", weight_type=kind,
                                 per_channel=per_channel, reduce_range=reduced)
                m = onnx.load(f"{folder}/dynamic.onnx")
                self.assertEqual(rewritten(m)[1], 4)
                self.check(m, F(1e-3) * rows(random, (3, 5, 32)), 2, saturates=kind == QuantType.QInt8 and not reduced)


class FloatOperatorsBetween(unittest.TestCase):
    """Two blocks of an encoder: a layer with a bias, the residual Add and LayerNormalization, Gelu between them. The gain is an
    input of the model, so that LayerNormalization, of which a layer has bits of its own, stays ONNX Runtime's."""

    def block(self, name, x):
        p = lambda text: f"{name}_{text}"
        nodes = [quantize(x), *product(name, x, w=p("w")), helper.make_node("Add", [p("y"), p("bias")], [p("b")]),
                 helper.make_node("Add", [p("b"), x], [p("r")]),
                 helper.make_node("LayerNormalization", [p("r"), "gain", p("bias")], [p("norm")], axis=-1)]
        return nodes, {p("w"): self.random.integers(-63, 64, (48, 48)).astype(np.int8), p("bias"): self.random.standard_normal(48).astype(F)}

    def blocks(self, outputs):
        self.random = np.random.default_rng(6)
        nodes, constants = self.block("a", "x")
        nodes += [helper.make_node("Div", ["a_norm", "root"], ["d"]), helper.make_node("Erf", ["d"], ["e"]),
                  helper.make_node("Add", ["e", "one"], ["f"]), helper.make_node("Mul", ["a_norm", "f"], ["g"]),
                  helper.make_node("Mul", ["g", "half"], ["v"])]
        second, others = self.block("c", "v")
        fixed = {"scale": F(0.01), "root": np.sqrt(F(2)), "one": F(1), "half": F(0.5)}
        m = model(nodes + second, ["b", "t", 48], outputs, constants | others | fixed, opset=17)
        m.graph.input.append(helper.make_tensor_value_info("gain", FLOAT, [48]))
        return m

    def check(self, outputs, level, exact):
        """exact: of how many outputs the provider has the same bits."""
        file, count, _ = rewritten(self.blocks(outputs))
        self.assertEqual(count, 2)
        inputs = {"x": self.random.standard_normal((4, 32, 48)).astype(F), "gain": np.ones(48, F)}

        def run_at_level(prepare=lambda settings: None, **others):
            def set_up(settings):
                settings.graph_optimization_level = level
                prepare(settings)
            return run(file, inputs, prepare=set_up, **others)

        wanted = run_at_level(CUSTOM, provider=False)
        self.assertEqual(operators(file, inputs)[NAME], 2)
        for name, given, count in (("functions", run_at_level(provider=False), len(outputs)), ("provider", run_at_level(), exact)):
            for y, w, output in zip(given[:count], wanted[:count], outputs):
                with self.subTest(session=name, output=output):
                    np.testing.assert_array_equal(y, w)

    def test_without_fusions_of_them_all_sessions_have_the_same_bits(self):
        for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC):
            self.check(["c_norm"], level, exact=1)

    def test_biases_that_onnx_runtime_cannot_fuse_with_them(self):
        """By default it makes SkipLayerNormalization of the bias, the residual and LayerNormalization, with another order
        of sums, where no provider has taken them. Outputs of the graph stay; the first is before any normalization."""
        self.check(["a_b", "c_b", "c_norm"], ort.GraphOptimizationLevel.ORT_ENABLE_ALL, exact=1)


class Functions(unittest.TestCase):
    """Both operators' definitions in the file, and the kernel of the first one."""
    OPSETS = 11, 12, 13, 17, 18, 21, 23  # where an operator within changed; and the last one of ONNX Runtime 1.23

    def test_the_scales_and_zero_points_are_those_of_the_custom_operator(self):
        x = rows(np.random.default_rng(4), (6, 50, 24), [F(1e37) * np.arange(-9, 15, dtype=F)])
        x[0, :24] = np.arange(24 * 24).reshape(24, 24) * F(0.5) - F(3)  # ties
        node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], domain="dynquant", axis=-1, block_size=24)
        kinds = {"y": TensorProto.UINT8, "s": FLOAT, "z": TensorProto.UINT8}
        for opset in self.OPSETS:
            outputs = {name: (kind, [6, 50, 24 if name == "y" else 1]) for name, kind in kinds.items()}
            file = file_of([node], {"x": (FLOAT, x.shape)}, outputs, opset, ir_version=8, functions=per_row.functions(opset))
            m = onnx.load_from_string(file)
            onnx.checker.check_model(m, full_check=True)
            for prepare, nodes in ((None, "ReduceMax"), (CUSTOM, "DynamicQuantizeLinear")):
                with self.subTest(opset=opset, nodes=nodes):
                    self.assertEqual(operators(file, {"x": x}, provider=False, prepare=prepare)[nodes], 1)
                    given = run(file, {"x": x}, provider=False, prepare=prepare)
                    for y, wanted in zip(given, quantize_rows(x, False), strict=True):
                        np.testing.assert_array_equal(y, wanted)
            with self.subTest(opset=opset), np.errstate(divide="raise", invalid="raise"):  # as 0 / 0, whose byte is anyone's
                for y, wanted in zip(ReferenceEvaluator(m).run(None, {"x": x}), quantize_rows(x, False), strict=True):
                    np.testing.assert_array_equal(y, wanted)

    def test_what_others_read_is_left(self):
        """Its layer is not claimed, as it has no input for the scales of rows."""
        random = np.random.default_rng(4)
        m = model([quantize(), *product("a")], ["n", 24], ["a_y"],
                  {"w": random.integers(-63, 64, (24, 8)).astype(np.int8), "scale": F(0.1)})
        file = onnx.load_from_string(rewritten(m)[0])
        quantizing = next(n for n in file.graph.node if n.op_type == "DynamicQuantizeLinear")
        file.graph.output.append(helper.make_tensor_value_info(quantizing.output[0], TensorProto.UINT8, None))
        x = rows(random, (9, 24))
        y, _ = run(file.SerializeToString(), {"x": x}, prepare=CUSTOM)
        assert_same(y, expected(m, x)[0])
        said_of = said(file.SerializeToString(), prepare=CUSTOM)
        self.assertIn("leaves 'a_product' (MatMulInteger): its rows have scales of their own, which other nodes take, too", said_of)

    def test_models_of_every_opset(self):
        random = np.random.default_rng(5)
        constants = {"w": random.integers(-63, 64, (16, 8)).astype(np.int8), "scale": F(0.01), "z": np.int8(-3)}
        x = rows(random, (9, 16))
        for opset, ir_version in itertools.product(self.OPSETS, (4, 8, 10)):
            m = model([quantize(), *product("a", zero_point="z")], ["n", 16], ["a_y"], constants, opset=opset, ir_version=ir_version)
            for provider in (False, True):
                with self.subTest(opset=opset, ir_version=ir_version, provider=provider):
                    np.testing.assert_array_equal(run(rewritten(m)[0], {"x": x}, provider)[0], expected(m, x)[0])
        m = model([quantize(), *product("a")], ["n", 16], ["a_y"], constants, opset=29)
        self.assertRaisesRegex(Refusal, "^expected opset 11 to 28, given opset 29$", per_row.rewrite, m)


class OtherScales(unittest.TestCase):
    """The provider takes a layer with the operator of the domain `dynquant` only where it has a scale for each row by the
    rule of ONNX's."""

    def claimed(self, **attributes):
        """How many nodes of the provider run; they give the bits that ONNX Runtime gives with the operator."""
        # A product of so few rows of uint8 weights alone is left on every processor.
        constants = {"w": np.arange(128).reshape(16, 8).astype(np.uint8), "scale": F(0.01)}
        m = onnx.load_from_string(rewritten(model([quantize(), *product("a")], ["n", 16], ["a_y"], constants))[0])
        node = next(n for n in m.graph.node if n.op_type == "DynamicQuantizeLinear")
        attributes = {a.name: a.i for a in node.attribute} | attributes
        del node.attribute[:]
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        m.functions.remove(next(f for f in m.functions if f.name == "DynamicQuantizeLinear"))
        file, x = m.SerializeToString(), {"x": rows(np.random.default_rng(6), (9, 16))}
        assert_same(run(file, x, prepare=CUSTOM), run(file, x, provider=False, prepare=CUSTOM))
        return operators(file, x, prepare=CUSTOM)[NAME]

    def test_rules_and_axes(self):
        self.assertEqual(self.claimed(), 1)
        for attributes in ({"rule": "minmax"}, {"axis": 1, "block_size": 16}):
            with self.subTest(**attributes):
                self.assertEqual(self.claimed(**attributes), 0)

    def test_functions_that_lack_inputs_and_outputs(self):
        """A function of the model may have an operator's name. ONNX Runtime does not check what it takes and gives."""
        ones = helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(np.ones((3, 5), np.int32)))
        codes = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
        product_of = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
        twice = helper.make_node("Identity", ["y"], ["again"])
        opset = [helper.make_opsetid("", 13)]
        function = lambda name, takes, gives, *body: helper.make_function("dynquant", name, takes, gives, body, opset)
        call = lambda name, takes, gives: helper.make_node(name, takes, gives, domain="dynquant", axis=-1, block_size=8)
        plain = lambda takes, gives: helper.make_node("MatMulInteger", takes, gives, domain="dynquant")
        dynamic = helper.make_function("dynquant", "DynamicQuantizeLinear", ["x"], ["q", "s", "z"], [codes], opset,
                                       ["axis", "block_size"])
        no_x = helper.make_function(
            "dynquant", "DynamicQuantizeLinear", [], ["q", "s", "z"],
            [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)) for name, value in
             (("q", np.ones((3, 8), np.uint8)), ("s", F(1)), ("z", np.uint8(0)))], opset, ["axis", "block_size"])
        # x of ones has the codes 255 and the weights are 1, so that sums are 2040; codes of 1 give 8.
        cases = {
            "no input": ([plain([], ["y"])], [function("MatMulInteger", [], ["y"], ones)], 1),
            "no first output": ([call("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), plain(["q", "w"], ["", "y"])],
                                [dynamic, function("MatMulInteger", ["a", "b"], ["y", "again"], product_of, twice)], 2040),
            "no scale": ([call("DynamicQuantizeLinear", ["x"], ["q", "", "z"]), plain(["q", "w"], ["y"])],
                         [dynamic, function("MatMulInteger", ["a", "b"], ["y"], product_of)], 2040),
            "no x": ([call("DynamicQuantizeLinear", [], ["q", "s", "z"]), plain(["q", "w"], ["y"])],
                     [no_x, function("MatMulInteger", ["a", "b"], ["y"], product_of)], 8)}
        for (name, (nodes, functions, wanted)), claim in itertools.product(cases.items(), ("auto", "all")):
            with self.subTest(name, claim=claim):
                file = file_of(nodes, {"x": (FLOAT, ["n", 8])}, {"y": (TensorProto.INT32, None)}, 13,
                               {"w": np.ones((8, 5), np.int8)}, functions=functions)
                y, = run(file, {"x": np.ones((3, 8), F)}, options={"claim": claim})
                assert_same(y, np.full((3, 5), wanted, np.int32))


class Left(unittest.TestCase):
    """Nodes that keep their meaning, and why; and the nodes, values and inputs beside those that change."""
    CONSTANTS = {"w": np.ones((16, 8), np.int8), "scale": F(1)}

    def left(self, nodes, *, x_shape=("n", 16), outputs=("a_y",), constants={}, **others):
        """Of a model: how many products are rewritten, and why each other one is not."""
        m = model(nodes, x_shape, outputs, {**self.CONSTANTS, **constants}, **others)
        before = m.SerializeToString()
        try:
            count, left = per_row.rewrite(m)
        except Refusal as refusal:
            self.assertEqual(m.SerializeToString(), before)
            return str(refusal)
        return count, dict(left)

    def test_readers_that_want_one_scale(self):
        last = "reads its sums or the scale of its input before a Mul of both"
        relu, other = lambda name: [helper.make_node("Identity", [name], ["t"])], dict(outputs=("a_y", "t"))
        for nodes, others, reason in (
            (relu("x_q"), other, "Identity reads its quantized input too"),
            (relu("x_z"), other, "Identity reads its quantized input too"),
            (relu("x_s"), other, f"Identity {last}"),
            (relu("a_sums"), other, f"Identity {last}"),
            (relu("a_f"), other, f"Identity {last}"),
            (relu("a_m"), other, f"Identity {last}"),
            ([], dict(outputs=("a_y", "x_s")), f"a subgraph or the caller {last}"),
            ([], dict(outputs=("a_y", "a_m")), f"a subgraph or the caller {last}"),
            ([helper.make_node("Mul", ["a_f", "scale"], ["t"])], other, f"Mul {last}"),
            ([helper.make_node("Mul", ["x_s", "a_m"], ["t"])], other, f"Mul {last}"),
            ([helper.make_node("MatMulInteger", ["x_q", "w"], ["t"])], other, "its quantized input is read apart from its zero point"),
            ([helper.make_node("MatMulInteger", ["x_q", "w", "x_z", "x_z"], ["t"])], other,
             "its input is multiplied by weights whose zero point is no constant"),
        ):
            with self.subTest(nodes=str(nodes), others=others):
                said = self.left([quantize(), *product("a"), *nodes], **others)
                self.assertEqual(said[:len("nothing to rewrite: ")], "nothing to rewrite: ")
                self.assertIn(f"MatMulInteger: {reason}", said)

    def test_products_of_which_one_keeps_its_scale(self):
        """Both read one DynamicQuantizeLinear."""
        nodes = [quantize(), *product("a"), *product("b", w="given", scale="scale")]
        given = {"given": (TensorProto.INT8, [16, 8])}
        self.assertEqual(self.left(nodes, inputs=given, outputs=("a_y", "b_y")),
                         "nothing to rewrite: 2 MatMulInteger: its input is multiplied by weights that are no constant matrix")
        # An initializer that is an input, too, can be replaced from IR version 4 on.
        replaceable = {"w": (TensorProto.INT8, [16, 8])}
        for ir_version, said in ((3, (1, {})), (4, "nothing to rewrite: 1 MatMulInteger: its input is multiplied by weights that are "
                                                 "no constant matrix")):
            self.assertEqual(self.left([quantize(), *product("a")], inputs=replaceable, ir_version=ir_version), said)

    def test_other_products(self):
        nodes = [quantize(), *product("a"),
                 helper.make_node("MatMulInteger", ["bytes", "w"], ["t"]), helper.make_node("MatMulInteger", ["bytes", "w"], ["u"]),
                 helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones((16, 8), np.uint8))),
                 quantize("y"), *product("b", "y", w="c"),
                 quantize("v"), *product("d", "v", w="stack"),
                 quantize("i"), helper.make_node("ConvInteger", ["i_q", "kernel", "i_z"], ["j"])]
        inputs = {"bytes": (TensorProto.UINT8, ["n", 16]), "y": (FLOAT, ["n", 16]), "v": (FLOAT, [2, "n", 16]), "i": (FLOAT, [1, 1, 4])}
        constants = {"stack": np.ones((2, 16, 8), np.int8), "kernel": np.ones((1, 1, 2), np.uint8)}
        self.assertEqual(self.left(nodes, inputs=inputs, constants=constants), (2, {
            ("MatMulInteger", "no DynamicQuantizeLinear gives its input"): 2,
            ("MatMulInteger", "its input is multiplied by weights that are no constant matrix"): 1,
            ("ConvInteger", "a convolution has no rows"): 1}))
        self.assertEqual(self.left([helper.make_node("Relu", ["x"], ["a_y"])]), "nothing to rewrite: it has no MatMulInteger")

    def test_subgraphs(self):
        """Their own layers, and what they read of the graph around them."""
        inner = [quantize("u"), *product("b", "u")]
        inner[0].input[0] = "x"
        which = {"c": (TensorProto.BOOL, [])}
        nodes = [quantize(), *product("a")]
        for within, output, said in (
                (inner, "b_y", (1, {("MatMulInteger", "it is in a subgraph"): 1})),
                ([helper.make_node("Identity", ["x_s"], ["s"])], "s",
                 "nothing to rewrite: 1 MatMulInteger: a subgraph or the caller reads its sums or the scale of its input before a "
                 "Mul of both")):
            self.assertEqual(self.left([*nodes, choose(within, output, "x")], inputs=which, outputs=("a_y", "y")), said)

    def test_a_second_time(self):
        file, _, _ = rewritten(model([quantize(), *product("a")], ["n", 16], ["a_y"], self.CONSTANTS))
        self.assertRaisesRegex(Refusal, "^nothing to rewrite: it has operators of the domain dynquant already$",
                               per_row.rewrite, onnx.load_from_string(file))

    def test_values_whose_shapes_change_and_names_that_are_taken(self):
        infos = {"x_q": (TensorProto.UINT8, ["n", 16]), "x_s": (FLOAT, []), "x_z": (TensorProto.UINT8, []), "a_m": (FLOAT, []),
                 "a_sums": (TensorProto.INT32, ["n", 8])}
        m = model([quantize(), *product("a"), quantize("u"), *product("dynquant_zero_int8", "u")], ["n", 16],
                  ["a_y", "dynquant_zero_int8_y"], self.CONSTANTS | {"dynquant_zero_int8": np.int8(3)}, infos=infos,
                  inputs={"u": (FLOAT, ["n", 16])}, ir_version=3)
        m.graph.input.append(helper.make_tensor_value_info("w", TensorProto.INT8, [16, 8]))
        m = onnx.load_from_string(rewritten(m)[0])
        self.assertEqual([v.name for v in m.graph.value_info], ["x_q", "a_sums"])
        self.assertEqual([i.name for i in m.graph.input], ["x", "u"])
        products = [n for n in m.graph.node if n.op_type == "MatMulInteger"]
        self.assertEqual([list(n.input) for n in products], [[f"{x}_q", "w", f"{x}_z", "dynquant_zero_int8_"] for x in "xu"])
        zero = next(c for c in m.graph.initializer if c.name == "dynquant_zero_int8_")
        self.assertEqual((numpy_helper.to_array(zero), numpy_helper.to_array(zero).dtype), (0, np.int8))


if __name__ == "__main__":
    unittest.main()
