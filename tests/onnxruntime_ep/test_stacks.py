"""MatMulInteger by stacks of matrices: numpy's matmul in int64, then each operator by itself."""
import os
import unittest

import numpy as np
from layers import F, dynamic_quantize, integer_product, model, product, quantize
from models import types_of
from onnx import TensorProto, helper
from provider import NAME, assert_same, operators, run, run_at_the_same_time, session
from test_provider import REFUSALS, log
from test_residuals import normalize

SEED = int(os.environ.get("DYNQUANT_TEST_SEED", "20261129"))
STACKS = ((2,), (3,), (2, 3), (2, 1), (1, 3), (2, 1, 3))
FLOAT = TensorProto.FLOAT
node = helper.make_node


def sums_of(x, x_zero_point, w, w_zero_point):
    return ((x.astype(np.int64) - np.int64(x_zero_point)) @ (w.astype(np.int64) - np.int64(w_zero_point))).astype(np.int32)


class Stacks(unittest.TestCase):
    def test_random_stacks(self):
        """x of all ranks and batches that broadcast with the weights, or not; floats and bytes; zero points of all kinds."""
        for i in range(200):
            random = np.random.default_rng([SEED, i])
            choose = lambda of: of[random.integers(len(of))]
            stack, (rows, inner, columns) = choose(STACKS), random.integers(1, 40, 3)
            batch = choose([(), stack, (1,) * len(stack), (4, *stack), tuple(e if random.random() < 0.5 else 1 for e in stack), (5,), None])
            shape = (inner,) if batch is None else (*batch, rows, inner)
            w_type = choose([np.int8, np.uint8])
            info = np.iinfo(w_type)
            w = random.integers(info.min, info.max + 1, (*stack, inner, columns)).astype(w_type)
            zero_shape = choose([(), (1,), (columns,), (*stack, 1, columns), None])
            w_zero_point = random.integers(info.min, info.max + 1, zero_shape or ()).astype(w_type)
            is_float, has_bias, is_open = random.random(3) < 0.5
            constants = {"w": w, "w_z": w_zero_point, "scale": random.standard_normal(columns).astype(F),
                         "b": random.standard_normal(columns).astype(F), "x_zero": np.uint8(77)}
            x = (random.standard_normal(shape) if is_float else random.integers(0, 256, shape)).astype(F if is_float else np.uint8)
            zero_point = [] if zero_shape is None else ["w_z"]
            if is_float:
                nodes = [quantize(), *product("t", zero_point=zero_point[0] if zero_point else None)]
            else:
                nodes = [*integer_product(["x", "w", "x_zero", *zero_point]), node("Mul", ["f", "scale"], ["t_y"])]
            if has_bias:
                nodes.append(node("Add", ["t_y", "b"], ["y"]))
            y = "y" if has_bias else "t_y"
            used = {name for n in nodes for name in n.input}
            kind, extents = types_of({"x": x})["x"]
            extents = [None] * (len(extents) - 1) + [extents[-1]] if is_open else extents
            m = model(nodes, {"x": (kind, extents)}, {y: (FLOAT, None)}, 17, {n: v for n, v in constants.items() if n in used})
            bytes_, scale, x_zero_point = dynamic_quantize(x) if is_float else (x, F(1), 77)
            with self.subTest(i=i, x=shape, w=w.shape, zero_point=zero_shape):
                try:
                    sums = sums_of(bytes_, x_zero_point, w, 0 if zero_shape is None else w_zero_point)
                except ValueError:
                    with self.assertRaises(REFUSALS):
                        run(m, {"x": x}, threads=1 + i % 3, options={"claim": "all"})
                    continue
                expected = sums.astype(F) * (scale * constants["scale"] if is_float else constants["scale"])
                if has_bias:
                    expected = expected + constants["b"]
                assert_same(run(m, {"x": x}, threads=1 + i % 3, spins=False, options={"claim": "all"})[0], expected)

    def one(self, *behind, stack=(3,), shape=(3, 4, 8), outputs=("y",), inputs=None, constants=None):
        random = np.random.default_rng(1)
        self.constants = {"w": random.integers(-128, 128, (*stack, 8, 5)).astype(np.int8), "scale": random.standard_normal(5).astype(F),
                          **{name: random.standard_normal(5).astype(F) for name in "ab"}, **(constants or {})}
        self.x = random.standard_normal(shape).astype(F)
        nodes = [quantize(), *product("t"), *behind]
        used = {i for n in nodes for i in n.input}
        q, s, z = dynamic_quantize(self.x)
        self.t = sums_of(q, z, self.constants["w"], 0).astype(F) * (s * self.constants["scale"])
        return model(nodes, {"x": (FLOAT, [None] * (len(shape) - 1) + [8]), **(inputs or {})}, {o: (FLOAT, None) for o in outputs}, 17,
                     {n: v for n, v in self.constants.items() if n in used})

    def test_one_node_has_all(self):
        m = self.one(node("Add", ["t_y", "a"], ["s"]), node("LayerNormalization", ["s", "a", "b"], ["y"], axis=-1), outputs=("s", "y"))
        self.assertEqual(operators(m, {"x": self.x}), {NAME: 1})
        total = self.t + self.constants["a"]
        for given, expected in zip(run(m, {"x": self.x}), (total, normalize(total, self.constants["a"], self.constants["b"])), strict=True):
            assert_same(given, expected)

    def test_bytes_and_sums(self):
        m = self.one(node("QuantizeLinear", ["t_y", "y_s", "y_z"], ["codes"]), node("Cast", ["codes"], ["y"], to=FLOAT),
                     constants={"y_s": F(0.5), "y_z": np.int8(3)})
        self.assertEqual(operators(m, {"x": self.x}), {NAME: 1, "Cast": 1})
        assert_same(run(m, {"x": self.x})[0], np.clip(np.rint(self.t / F(0.5)) + 3, -128, 127).astype(F))
        x, w = np.random.default_rng(2).integers(0, 256, (2, 1, 40, 64)).astype(np.uint8), self.constants["w"].repeat(8, axis=1)
        m = model([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], {"x": (TensorProto.UINT8, x.shape)}, {"y": (TensorProto.INT32, None)},
                  17, {"w": w})
        self.assertEqual(operators(m, {"x": x}, options={"claim": "all"}), {NAME: 1})
        assert_same(run(m, {"x": x}, options={"claim": "all"})[0], sums_of(x, 0, w, 0))

    def test_a_product_that_does_not_take_the_zero_point(self):
        """Though what quantizes its x gives one."""
        self.one(outputs=("t_y",))  # sets the constants
        nodes = [quantize(), *integer_product(["x_q", "w"]), node("Mul", ["f", "x_s"], ["y"])]
        m = model(nodes, {"x": (FLOAT, self.x.shape)}, {"y": (FLOAT, None)}, 17, {"w": self.constants["w"]})
        q, scale, z = dynamic_quantize(self.x)
        self.assertNotEqual(z, 0)
        self.assertEqual(operators(m, {"x": self.x}), {NAME: 1})
        assert_same(run(m, {"x": self.x})[0], sums_of(q, 0, self.constants["w"], 0).astype(F) * scale)

    def test_no_tensor_of_a_run_is_added(self):
        m = self.one(node("Add", ["t_y", "r"], ["y"]), inputs={"r": (FLOAT, (3, 4, 5))})
        r = np.random.default_rng(3).standard_normal((3, 4, 5)).astype(F)
        self.assertEqual(operators(m, {"x": self.x, "r": r}), {NAME: 1, "Add": 1})
        assert_same(run(m, {"x": self.x, "r": r})[0], self.t + r)

    def test_scales_by_row_stay_one(self):
        m = self.one(outputs=("t_y",))
        self.assertIn("keeps one scale of 'x_dql' (DynamicQuantizeLinear): node 't_product' (MatMulInteger) reads it, which takes no "
                      "scales of rows", log(m, activation_scales="per_row"))
        assert_same(run(m, {"x": self.x}, options={"activation_scales": "per_row"})[0], self.t)

    def test_shapes_without_elements_and_ones_that_do_not_fit(self):
        self.one(outputs=("t_y",), stack=(2, 3))  # sets the constants
        of_any_shape = model([quantize(), *product("t")], {"x": (FLOAT, None)}, {"t_y": (FLOAT, None)}, 17,
                             {n: self.constants[n] for n in ("w", "scale")})
        for shape in ((0, 2, 3, 4, 8), (2, 3, 0, 8)):
            assert_same(run(of_any_shape, {"x": np.ones(shape, F)})[0], np.ones((*shape[:-1], 5), F))
        for shape, message in (((4, 7), "expected 8 columns, as many as the matrices of B have rows, given shape 4x7"),
                               ((4, 4, 8), "expected dimensions before its matrices that broadcast with 2x3, those of B, given shape 4x4x8")):
            with self.assertRaisesRegex(REFUSALS, f"node 't_product' .MatMulInteger.: A: {message}"):
                run(of_any_shape, {"x": np.ones(shape, F)})

    def test_no_matrices_are_left(self):
        for shape in ((0, 8, 5), (2, 8, 0)):
            m = model([quantize(), *product("t")], {"x": (FLOAT, (1, 3, 8))}, {"t_y": (FLOAT, None)}, 17,
                      {"w": np.zeros(shape, np.int8), "scale": F(0.01)})
            self.assertIn(f"leaves 't_product' (MatMulInteger): its weights have shape {'x'.join(map(str, shape))}", log(m))

    def test_many_threads(self):
        m = self.one(outputs=("t_y",))
        cases = []
        for shape in ((3, 4, 8), (8,), (1, 2, 8), (2, 3, 9, 8)):
            x = np.random.default_rng(5).standard_normal(shape).astype(F)
            q, scale, z = dynamic_quantize(x)
            cases.append((x, sums_of(q, z, self.constants["w"], 0).astype(F) * (scale * self.constants["scale"])))
        x_open = model([quantize(), *product("t")], {"x": (FLOAT, None)}, {"t_y": (FLOAT, None)}, 17,
                       {n: self.constants[n] for n in ("w", "scale")})
        run_at_the_same_time(session(x_open, threads=2), cases)


if __name__ == "__main__":
    unittest.main()
