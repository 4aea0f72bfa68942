"""Each call of ONNX Runtime's API by the library fails in turn: while it is registered, and while sessions are made and run. Either
the user is told what failed, or the results are the same bits. What the library made is released, and the next session is right."""
import contextlib
import ctypes
import itertools
import os
import tempfile
import unittest
from collections import Counter

import numpy as np
import onnxruntime as ort
from layers import integer_product, model, product, quantize
from models import choose, types_of
from onnx import TensorProto as T
from onnx import helper
from provider import devices, said, session

LIBRARY = os.environ["DYNQUANT_ONNXRUNTIME"]
API = ctypes.CDLL(LIBRARY)
API.fail_after.argtypes, API.alive.restype = [ctypes.c_long], ctypes.c_long
API.pretend.argtypes = [ctypes.c_char_p]
API.failed.restype = API.functions.restype = ctypes.c_char_p
F = np.float32
node = helper.make_node


@contextlib.contextmanager
def stderr():
    """A function that gives what was written to it."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: (file.seek(0), file.read().decode(errors="replace"))[1]
        finally:
            os.dup2(before, 2)
            os.close(before)


def draw(kind, *shape):
    random = np.random.default_rng(5)
    return random.standard_normal(shape).astype(kind) if kind in (F, np.float16) else random.integers(0, 100, shape).astype(kind)


Y = {"y": T.FLOAT}


def case(nodes, inputs, constants, outputs=Y, *, is_open=False):
    """A model and its inputs. is_open: whether shapes but the last extents are known when it runs only."""
    types = types_of(inputs)
    if is_open:
        types = {name: (kind, [None] * (len(shape) - 1) + [*shape[-1:]]) for name, (kind, shape) in types.items()}
    return model(nodes, types, {name: (kind, None) for name, kind in outputs.items()}, 21, constants), inputs


def a_convolution():
    """Attributes of all types: numbers, lists, text, and a type, which the API does not tell."""
    nodes = [quantize(), *product("conv", op="ConvInteger", pads=[1, 1, 1, 1], strides=[2, 1], auto_pad="NOTSET"),
             node("LeakyRelu", ["conv_y"], ["l"], alpha=0.25),
             node("Optional", [], ["o"], type=helper.make_tensor_type_proto(T.FLOAT, [1])),
             node("OptionalHasElement", ["o"], ["b"]), node("Cast", ["b"], ["f"], to=T.FLOAT), node("Add", ["l", "f"], ["y"])]
    return case(nodes, {"x": draw(F, 1, 3, 5, 5)}, {"w": draw(np.uint8, 4, 3, 3, 3), "scale": F(0.01)})


def layers_of_one_x():
    """The weights of one have a dimension of 1 before their matrix. What is normalized is taken, too."""
    nodes = [quantize(), *product("a"), *product("b", w="v", scale="second"), node("Add", ["b_y", "g"], ["t"]),
             node("LayerNormalization", ["t", "g"], ["y"])]
    constants = {"w": draw(np.uint8, 8, 6), "v": draw(np.uint8, 1, 8, 5), "scale": F(0.01), "second": F(0.02), "g": draw(F, 5)}
    return case(nodes, {"x": draw(F, 2, 8)}, constants, Y | {"a_y": T.FLOAT, "t": T.FLOAT})


def a_layer_of_bytes():
    """Its scale and its zero point come with the run, as what is added; and what is normalized is taken, too."""
    nodes = [*integer_product(["x", "w", "z"]), node("Mul", ["f", "s"], ["m"]),
             node("SkipLayerNormalization", ["m", "r", "g", "h"], ["y", "", "", "t"], domain="com.microsoft")]
    inputs = {"x": draw(np.uint8, 2, 3, 8), "z": np.array(77, np.uint8), "s": np.array(0.3, F), "r": draw(F, 2, 3, 6)}
    return case(nodes, inputs, {"w": draw(np.int8, 8, 6), "g": draw(F, 6), "h": draw(F, 6)}, Y | {"t": T.FLOAT})


def a_sum_of_more_rows():
    nodes = [quantize(), *product("p"), node("Add", ["p_y", "r"], ["y"])]
    return case(nodes, {"x": draw(F, 1, 8), "r": draw(F, 3, 6)}, {"w": draw(np.uint8, 8, 6), "scale": F(0.01)}, is_open=True)


def stacks():
    nodes = [quantize(), *product("p"), node("Add", ["p_y", "g"], ["t"]), node("LayerNormalization", ["t", "g"], ["y"]),
             *integer_product(["a", "w", "z"], "q_")]
    inputs = {"x": draw(F, 2, 3, 8), "a": draw(np.uint8, 2, 3, 8), "z": np.array(77, np.uint8)}
    return case(nodes, inputs, {"w": draw(np.uint8, 2, 8, 6), "scale": F(0.01), "g": draw(F, 6)}, Y | {"t": T.FLOAT, "q_f": T.FLOAT})


def weights_alone():
    nodes = [node("DequantizeLinear", ["w", "s"], ["v"], axis=0, block_size=16), node("MatMul", ["x", "v"], ["m"]),
             node("Add", ["m", "r"], ["t"]), node("LayerNormalization", ["t", "g"], ["y"])]
    inputs = {"x": draw(F, 1, 32), "r": draw(F, 3, 6)}
    return case(nodes, inputs, {"w": draw(np.int8, 32, 6), "s": draw(F, 2, 6), "g": draw(F, 6)}, Y | {"t": T.FLOAT}, is_open=True)


def operators_of_onnx_runtime():
    """Its MatMulNBits, of floats and of half floats."""
    nodes = [node("MatMulNBits", [x, "b", scales], [y], domain="com.microsoft", K=32, N=8, bits=4, block_size=32)
             for x, scales, y in (("x", "s", "y"), ("h", "t", "half"))]
    constants = {"b": draw(np.uint8, 8, 1, 16), "s": draw(F, 8), "t": draw(np.float16, 8)}
    return case(nodes, {"x": draw(F, 2, 32), "h": draw(np.float16, 2, 32)}, constants, Y | {"half": T.FLOAT16})


def single_nodes():
    """Two have more elements than one thread computes; nobody takes a result of one."""
    nodes = [node("DequantizeLinear", ["x", "s", "z"], ["y"], axis=0, block_size=2),
             node("QuantizeLinear", ["a", "t"], ["q"]), node("DynamicQuantizeLinear", ["a"], ["d", "e", "unused"])]
    inputs = {"x": draw(np.uint8, 4, 5), "a": draw(F, 1 << 17)}
    return case(nodes, inputs, {"s": draw(F, 2, 5), "z": draw(np.uint8, 2, 5), "t": F(0.01)},
                Y | {"q": T.UINT8, "d": T.UINT8, "e": T.FLOAT})


def a_subgraph():
    nodes = [quantize(), choose([*product("p"), node("Relu", ["p_y"], ["r"])], "r", "x")]
    return case(nodes, {"x": draw(F, 2, 8), "c": np.array(True)}, {"w": draw(np.uint8, 8, 8), "scale": F(0.01)})


def many_layers():
    """So many that several become one node."""
    nodes = [n for i in range(130) for n in (
        quantize(f"x{i}"), *product(f"p{i}", f"x{i}"), node("Relu", [f"p{i}_y"], [f"x{i + 1}"]))]
    return case(nodes, {"x0": draw(F, 1, 2)}, {"w": np.uint8([[0, 1], [1, 0]]), "scale": F(1)}, {"x130": T.FLOAT})


MODELS = (a_convolution, layers_of_one_x, a_layer_of_bytes, a_sum_of_more_rows, stacks, weights_alone, operators_of_onnx_runtime,
          single_nodes, a_subgraph)


def custom_operators():
    """Numbers and text as attributes, and zero points that are constant, come with the run or are left out."""
    of = {"domain": "dynquant"}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantize", axis=0, **of),
             node("DequantizeLinear", ["q", "s", "o"], ["y"], axis=0, block_size=0, **of),
             node("QuantizeLinear", ["x", "s"], ["w"], axis=0, output_dtype=T.INT8, **of),
             node("DynamicQuantizeLinear", ["x"], ["d", "e", "f"], axis=1, block_size=2, to=T.INT8, symmetric=1, **of),
             node("DynamicQuantizeLinear", ["x"], ["g", "h", "i"], axis=0, rule="torchao_asymmetric", **of)]
    outputs = Y | dict.fromkeys("qgi", T.UINT8) | dict.fromkeys("wdf", T.INT8) | dict.fromkeys("eh", T.FLOAT)
    inputs, constants = {"x": draw(F, 4, 3), "o": draw(np.uint8, 4)}, {"s": draw(F, 4) ** 2, "z": draw(np.uint8, 4)}
    return case(nodes, inputs, constants, outputs, is_open=True)


# What custom operators call while ONNX Runtime infers types and shapes. It drops the status of failures there, and goes on; if it
# takes other types than the model states, it refuses these.
INFERRING = ("CreateTensorTypeAndShapeInfo", "GetDimensions", "GetDimensionsCount", "GetSymbolicDimensions", "GetTensorElementType",
             "ReadOpAttr", "SetDimensions", "SetSymbolicDimensions", "SetTensorElementType", "ShapeInferContext_GetAttribute",
             "ShapeInferContext_GetInputCount", "ShapeInferContext_GetInputTypeShape", "ShapeInferContext_SetOutputTypeShape")
failures = Counter()  # of each function


def results(s, inputs):
    return [r.tobytes() for r in s.run(None, inputs)]


def provider_session(m):
    """verbose, since the provider logs by the API, too."""
    return session(m, options={"claim": "all", "verbose": "1"}, log_severity=3)


def custom_options():
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.register_custom_ops_library(LIBRARY)
    return options


def custom_session(m):
    return ort.InferenceSession(m, custom_options())


class FailingCalls(unittest.TestCase):
    def fail_each(self, act, check, *, dropped=(), kept=0):
        """Lets each call within act() fail in turn. The status of that failure reaches the caller or the log, or the library releases it.
        check: takes what act() gives, or None where it throws, and what failed. dropped: functions of whose failures ONNX Runtime
        drops the status. kept: how many objects act() makes for as long as the process lives."""
        for after in itertools.count():
            alive, result, error = API.alive(), None, ""
            with stderr() as text:
                API.fail_after(after)
                try:
                    result = act()
                except Exception as e:  # of any type
                    error = str(e)
                failed, was_released, said = API.failed().decode(), API.released(), text()
                API.fail_after(-1)
            with self.subTest(after=after, failed=failed):
                if not failed:
                    self.assertEqual(error, "")
                    return
                failures[failed] += 1
                cause = f"failed for a test: {failed}"
                if failed in dropped:
                    self.assertTrue(not error or cause in error or "Type Error" in error, error)
                else:
                    self.assertTrue(cause in error if error else was_released or cause in said, error + said)
                check(result, failed)
                result = None
                self.assertIn(API.alive(), (alive, alive + kept))

    def check_runs(self, create, m, inputs):
        s = create(m)
        expected = results(s, inputs)

        def check(given, _):
            self.assertIn(given, (None, expected))
            self.assertEqual(results(s, inputs), expected)

        self.fail_each(lambda: results(s, inputs), check)
        return expected

    def check_sessions(self, create, m, inputs, *either, dropped=()):
        """either: the results that a session may have, first those of one that nothing disturbs."""
        seen = set()

        def check(made, failed):
            self.assertIn(made and results(made, inputs), (None, *either))
            if failed not in seen:
                self.assertEqual(results(create(m), inputs), either[0])
            seen.add(failed)

        self.fail_each(lambda: create(m), check, dropped=dropped)

    def test_all(self):
        """In an order: the operators of domains are made once in a process."""
        self.fail_each(custom_options, lambda result, failed: None, kept=3)  # domains
        with self.subTest(of="custom_operators"):
            m, inputs = custom_operators()
            self.check_sessions(custom_session, m, inputs, self.check_runs(custom_session, m, inputs), dropped=INFERRING)
        for of in MODELS:
            with self.subTest(of=of.__name__):
                m, inputs = of()
                # ONNX Runtime computes all where a provider fails to claim nodes.
                alone = results(session(m, provider=False), inputs)
                self.check_sessions(provider_session, m, inputs, self.check_runs(provider_session, m, inputs), alone)
        self.check_runs(provider_session, *many_layers())
        self.register_again()
        never_failed = set(API.functions().decode().split()) - failures.keys()
        self.assertEqual(never_failed, {"KernelContext_ParallelFor"} if os.cpu_count() == 1 else set())
        print(failures.total(), "calls failed")

    def register_again(self):
        count = len(devices())
        self.fail_each(lambda: ort.register_execution_provider_library("again", LIBRARY),
                       lambda *_: self.assertEqual(len(devices()), count))
        self.assertEqual(len(devices()), 2 * count)
        ort.unregister_execution_provider_library("again")
        self.assertEqual(len(devices()), count)


class OlderVersions(unittest.TestCase):
    def setUp(self):
        self.addCleanup(API.pretend, b"")

    def test_without_the_api(self):
        for version, register, oldest in ((b"1.22.3", lambda: ort.register_execution_provider_library("again", LIBRARY), "1.23"),
                                          (b"1.16.3", custom_options, "1.17")):
            API.pretend(version)
            with self.assertRaisesRegex(Exception, f"expected ONNX Runtime {oldest} or newer, given {version.decode()}"):
                register()

    def test_the_provider(self):
        """1.23.1 cannot run it, and 1.23.2 does not tell scalars."""
        for of in (a_convolution, layers_of_one_x, a_sum_of_more_rows, stacks):
            m, inputs = of()
            API.pretend(b"")
            alone, expected = results(session(m, provider=False), inputs), results(provider_session(m), inputs)
            with self.subTest(of=of.__name__):
                API.pretend(b"1.23.1")
                self.assertIn("leaves all nodes: expected ONNX Runtime 1.23.2 or newer, given an older one", said(m))
                self.assertEqual(results(provider_session(m), inputs), alone)
                API.pretend(b"1.23.2")
                self.assertIn("claims", said(m, {"claim": "all"}))
                self.assertEqual(results(provider_session(m), inputs), expected)


if __name__ == "__main__":
    unittest.main()
