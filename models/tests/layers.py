"""Layers of pre-quantized models, built with the onnx package."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = (11, 13, 21)


class Builder:
    """A graph that grows from its input; `last` is the input of the next node."""

    def __init__(self, opset, seed):
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []
        self.inputs, self.outputs = [], []
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def input(self, dtype, shape, name="x"):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        self.last = name
        return name

    def constant(self, array, stem="c"):
        name = self.name(stem)
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, **attributes):
        self.last = self.name(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [self.last], name=f"n_{self.last}", **attributes))
        return self.last

    def then(self, op, *others, **attributes):
        return self.node(op, [self.last, *others], **attributes)

    def weights(self, shape):
        return self.constant(self.random.integers(-127, 128, shape).astype(np.int8), "w")

    def bias(self, shape):
        return self.constant(self.random.integers(-2000, 2000, shape).astype(np.int32), "b")

    def quantize(self, dtype, scale=1.0, zero_point=0):
        return self.then("QuantizeLinear", self.constant(np.float32(scale)), self.constant(np.array(zero_point, dtype)))

    def dequantize(self, dtype, scale, zero_point=0):
        return self.then("DequantizeLinear", self.constant(np.float32(scale)), self.constant(np.array(zero_point, dtype)))

    def rescale(self, muls, inner, shape=(), shifts=False):
        """Cast and one Mul or two (Quant_scale, an integer, and Quant_shift), so that sums of `inner` products fill
        8 bits. `shape` is that of the multiplier, and with `shifts` also that of Quant_shift."""
        self.then("Cast", to=TensorProto.FLOAT)
        spread = 73.0 * 100 * inner**0.5
        wanted = 50.0 / spread * self.random.uniform(0.5, 2.0, shape)
        if muls == 1:
            return self.then("Mul", self.constant(np.float32(wanted)))
        shift = 24 + np.floor(-np.log2(wanted if shifts else np.max(wanted)))
        scale = np.float32(np.clip(np.round(wanted * 2.0**shift), 1, 2**24))
        self.then("Mul", self.constant(scale))
        return self.then("Mul", self.constant(np.float32(2.0**-shift)))

    def model(self, name="test"):
        known = {value.name: value for value in self.inputs}
        known |= {c.name: helper.make_tensor_value_info(c.name, c.data_type, c.dims) for c in self.constants}
        outputs = [known.get(o) or onnx.ValueInfoProto(name=o) for o in self.outputs or [self.last]]
        graph = helper.make_graph(self.nodes, name, self.inputs, outputs, initializer=self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=10 if self.opset >= 19 else 8)
        return onnx.shape_inference.infer_shapes(made, strict_mode=True)


def fully_connected(b, columns, inner, muls, per_channel=False, batch=(), shifts=False, **zero_points):
    product(b, "MatMulInteger", b.weights((*batch, inner, columns)), **zero_points)
    b.then("Add", b.bias((columns,)))
    return b.rescale(muls, inner, (columns,) if per_channel else (), shifts)


def convolution(b, filters, channels, kernel, muls, per_channel=False, group=1, x_zp=None, w_zp=None, shifts=False,
                **attributes):
    product(b, "ConvInteger", b.weights((filters, channels // group, *kernel)), x_zp, w_zp, group=group, **attributes)
    shape = (1, filters) + (1,) * len(kernel)
    b.then("Add", b.bias(shape))
    return b.rescale(muls, channels // group * int(np.prod(kernel)), shape if per_channel else (), shifts)


def product(b, op, weights, x_zp=None, w_zp=None, **attributes):
    inputs = [b.last, weights]
    if x_zp is not None:
        inputs.append(b.constant(x_zp, "x_zp"))
    if w_zp is not None:
        inputs += [""] * (len(inputs) == 2) + [b.constant(w_zp, "w_zp")]
    b.node(op, inputs, **attributes)


def activation(b, op, dtype, half=False, quantized_first=True):
    """The end of figure 4, and with `half`, in float16, those of figures 5 and 6: rescaled values are quantized, and
    dequantized for the activation."""
    if quantized_first:
        b.quantize(np.int8)
        b.dequantize(np.int8, 4.0 / 127)
    if half:
        b.then("Cast", to=TensorProto.FLOAT16)
    b.then(op)
    if half:
        b.then("Cast", to=TensorProto.FLOAT)
    b.quantize(dtype, 1.0 / (255 if dtype == np.uint8 else 127))
