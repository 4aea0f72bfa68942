"""The command's --scale-channels FLOAT.onnx OUT.onnx. Values are worked out by hand, with powers of two, so that no float is rounded."""

import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import models
from cases import Command, setUpModule  # noqa: F401 -- which unittest calls

# The third channel has no weights.
WEIGHTS = np.array([[4, -2], [0.25, -0.5], [0, 0]], np.float32).reshape(3, 2, 1, 1)
BIAS = np.array([1, 2, 3], np.float32)
X = np.array([[1, 8], [2, 4]], np.float32).reshape(1, 2, 1, 2)
# 4*1 - 2*2, 4*8 - 2*4; 0.25*1 - 0.5*2, 0.25*8 - 0.5*4; 0, 0
PRODUCTS = np.array([[0, 24], [-0.75, 0], [0, 0]], np.float32)
PORTS = [("x", TensorProto.FLOAT, [1, 2, 1, 2])], [("y", TensorProto.FLOAT, [1, 3, 1, 2])]


class ScaledChannels(Command):
    def setUp(self):
        super().setUp()
        self.source, self.out = self.file("float.onnx"), self.file("out.onnx")

    def saved(self, inputs=("x", "w", "b"), constants=None, more=(), ports=PORTS, **settings):
        node = helper.make_node("Conv", list(inputs), ["y"])
        models.save(self.source, [node, *more], *ports, {"w": WEIGHTS, "b": BIAS} if constants is None else constants, **settings)

    def scaled(self):
        return self.succeeds("--scale-channels", self.source, self.out, options=())

    def expect_scaled(self, biased):
        self.assertEqual(self.scaled(), f"{self.out}: 1 of 1 Convs have weights whose channels are scaled.\n")
        scaled = onnx.load(self.out)
        onnx.checker.check_model(scaled)
        self.assertEqual([node.op_type for node in scaled.graph.node], ["Conv", "Mul", "Add"] if biased else ["Conv", "Mul"])
        values = {one.name: numpy_helper.to_array(one) for one in scaled.graph.initializer}
        self.assertEqual(len(values), 3 if biased else 2)  # not the weights and the bias as they were
        conv, mul = scaled.graph.node[:2]
        self.assertEqual(values[conv.input[1]].ravel().tolist(), [1, -0.5, 0.5, -1, 0, 0])
        self.assertEqual((values[mul.input[1]].shape, values[mul.input[1]].ravel().tolist()), ((1, 3, 1, 1), [4, 0.5, 1]))
        session = onnxruntime.InferenceSession(self.out, providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": X})[0].reshape(3, 2), PRODUCTS + BIAS[:, None] * biased)

    def test_weights_are_divided_by_the_largest_of_their_channel(self):
        for inputs, constants in ((("x", "w", "b"), None), (("x", "w"), {"w": WEIGHTS})):
            with self.subTest(inputs=inputs):
                self.saved(inputs, constants)
                self.expect_scaled(len(inputs) == 3)

    def test_weights_in_another_file(self):
        self.saved(save_as_external_data=True, location="weights", size_threshold=0)
        self.expect_scaled(True)

    def test_weights_that_cannot_be_read(self):
        self.saved(save_as_external_data=True, location="weights", size_threshold=0)
        self.folder.joinpath("weights").unlink()
        done = models.command("--scale-channels", self.source, self.out)
        self.assertRegex(done.stderr, rf"\Aonnxruntime_ep_dynquant: {self.source}: the constant 'w' cannot be read: [^\n]+\n\Z")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.saved()
        model = onnx.load(self.source)
        model.graph.initializer[0].raw_data = b"123"
        onnx.save(model, self.source)
        self.refused_like(rf"{self.source}: the constant 'w' cannot be read: .+", "--scale-channels", self.source, self.out, options=())

    def test_names_that_are_taken(self):
        """By an output, and by weights that another node reads, too."""
        more = [helper.make_node("Add", ["y_weights", "w"], ["y_products"])]
        outputs = [*PORTS[1], ("y_products", TensorProto.FLOAT, [3, 2, 1, 1])]
        self.saved(constants={"w": WEIGHTS, "b": BIAS, "y_weights": WEIGHTS}, more=more, ports=(PORTS[0], outputs))
        self.scaled()
        onnx.checker.check_model(onnx.load(self.out))
        y, products = onnxruntime.InferenceSession(self.out, providers=["CPUExecutionProvider"]).run(None, {"x": X})
        np.testing.assert_array_equal(y.reshape(3, 2), PRODUCTS + BIAS[:, None])
        np.testing.assert_array_equal(products, 2 * WEIGHTS)

    def test_what_is_left_and_why(self):
        inputs = [*PORTS[0], ("given", TensorProto.FLOAT, [3, 2, 1, 1])]
        more = [helper.make_node("Conv", ["x", "given"], ["another"])]
        self.saved(more=more, ports=(inputs, [*PORTS[1], ("another", TensorProto.FLOAT, [1, 3, 1, 2])]))
        self.assertEqual(
            self.scaled(),
            f"{self.out}: 1 of 2 Convs have weights whose channels are scaled. "
            "Left: 1 Conv: its weights or its bias are no constants.\n",
        )

    def test_nothing_to_rewrite(self):
        """Nor is anything written."""
        for model in (models.product(self.file("p.onnx")), self.model):
            self.refuses(model, "it has no Conv")
        self.saved(("x", "given"), {}, ports=([*PORTS[0], ("given", TensorProto.FLOAT, [3, 2, 1, 1])], PORTS[1]))
        self.refuses(self.source, "1 Conv: its weights or its bias are no constants")
        self.saved(("x", "w"), {"w": WEIGHTS[:, :, :, :0]})
        self.refuses(self.source, "1 Conv: its weights are no float or float16, or none")

    def refuses(self, model, why):
        self.refused(f"{model}: nothing to rewrite: {why}", "--scale-channels", model, self.out, options=())
        self.assertFalse(self.folder.joinpath("out.onnx").exists())


if __name__ == "__main__":
    unittest.main()
