"""Random layers as models, and their results by ONNX's definitions: integer sums in int64, then one float operator after another."""
import itertools
import math
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "onnxruntime"))
from models import model, types_of

F = np.float32


def dynamic_quantize(x):
    """DynamicQuantizeLinear, step by step in float32. The scale of zeros is 1, as ONNX Runtime's. That of a tiny range may round
    to 0: then a zero point that is NaN is 255, and such a code 0."""
    low, high = min(F(0), x.min(initial=F(0))), max(F(0), x.max(initial=F(0)))
    scale = F(1) if low == high else F((high - low) / F(255))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps, quotients = F(0) - low / scale, np.rint(x / scale)
    zero_point = np.uint8(255 if np.isnan(steps) else np.rint(np.clip(steps, F(0), F(255))))
    codes = np.clip(quotients + F(zero_point), 0, 255)
    return np.where(np.isnan(quotients), 0, codes).astype(np.uint8), scale, zero_point


def quantize_rows(x, is_convolution):
    """Each row, of a convolution each image, by itself."""
    shape = (x.shape[0], *[1] * (x.ndim - 1)) if is_convolution else (*x.shape[:-1], 1)
    rows = x.reshape(math.prod(shape), -1 if x.size else 0)
    parts = [dynamic_quantize(row) for row in rows]
    bytes_, scales, zero_points = (np.array([p[i] for p in parts], kind) for i, kind in enumerate((np.uint8, F, np.uint8)))
    return bytes_.reshape(x.shape), scales.reshape(shape), zero_points.reshape(shape)


def same_pads(extent, kernel, stride, dilation, upper):
    total = max(0, (math.ceil(extent / stride) - 1) * stride + (kernel - 1) * dilation + 1 - extent)
    less = total // 2
    return (less, total - less) if upper else (total - less, less)


def convolve(x, w, group, strides, dilations, pads, kind=np.int64):
    """Sums of that kind over x and w, which are less their zero points. pads: (begin, end) of each spatial dimension."""
    kernel, rank = w.shape[2:], w.ndim - 2
    x = np.pad(x.astype(kind), [(0, 0), (0, 0), *pads])
    extents = [(x.shape[2 + d] - (kernel[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(rank)]
    x = x.reshape(x.shape[0], group, w.shape[1], *x.shape[2:])
    w = w.astype(kind).reshape(group, w.shape[0] // group, *w.shape[1:])
    y = np.zeros((x.shape[0], *w.shape[:2], *extents), kind)
    for tap in itertools.product(*map(range, kernel)):
        window = tuple(slice(tap[d] * dilations[d], tap[d] * dilations[d] + (extents[d] - 1) * strides[d] + 1, strides[d])
                       for d in range(rank))
        y += np.einsum("gfc,ngc...->ngf...", w[(..., *tap)], x[(..., *window)])
    return y.reshape(y.shape[0], -1, *extents)


STEPS = {
    "Add": lambda x, a: x + a,
    "Mul": lambda x, a: x * a,
    "Relu": lambda x: np.maximum(x, F(0)),
    "LeakyRelu": lambda x: np.where(x < 0, x * F(0.25), x),
    "PRelu": lambda x, a: np.where(x < 0, x * a, x),
    "Sub": lambda x, a: x - a,
    "Div": lambda x, a: x / a,
    "HardSigmoid": lambda x: np.minimum(np.maximum(x * F(0.2) + F(0.5), F(0)), F(1)),
    "HardSwish": lambda x: x * np.minimum(np.maximum(x * F(1 / 6) + F(0.5), F(0)), F(1)),
    "Gate": lambda x: x * np.minimum(np.maximum(x + F(3), F(0)), F(6)) / F(6),  # HardSwish as several nodes
    "Clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}
WITH_PARAMETER = ("Add", "Sub", "Mul", "Div", "PRelu")
KINDS = {None: TensorProto.FLOAT, np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8, np.int32: TensorProto.INT32}
MOST_PRODUCTS = 1_000_000  # of a random layer, which is to take milliseconds


def quantize(x="x"):
    return helper.make_node("DynamicQuantizeLinear", [x], [f"{x}_q", f"{x}_s", f"{x}_z"], f"{x}_dql")


def integer_product(inputs, name="", op="MatMulInteger", **attributes):
    """Nodes from bytes to the floats {name}f, which are the sums {name}sums."""
    return [helper.make_node(op, inputs, [f"{name}sums"], f"{name}product", **attributes),
            helper.make_node("Cast", [f"{name}sums"], [f"{name}f"], f"{name}cast", to=TensorProto.FLOAT)]


def product(name, x="x", *, w="w", zero_point=None, scale="scale", form="scales", **others):
    """Nodes behind quantize(x), to the floats {name}_y. form: which Mul has the scale of x."""
    p = lambda text: f"{name}_{text}"
    first, second = {"scales": ([f"{x}_s", scale], [p("f"), p("m")]), "sums": ([f"{x}_s", p("f")], [p("m"), scale])}[form]
    return [*integer_product([f"{x}_q", w, f"{x}_z", *([zero_point] if zero_point else [])], p(""), **others),
            helper.make_node("Mul", first, [p("m")], p("scales")), helper.make_node("Mul", second, [p("y")], p("mul"))]


class Layer:
    """A model of one layer, and what it is to compute. Its x is of floats unless `quantized` names a type; y is quantized to y_type.
    bias: of integers, "one" or for each "channel"; or of floats and "quantized" in the graph, by the scale of an x of floats, so that
    the layer ends at its sums. scales_given: the scale and the zero point of a quantized x are inputs, whose
    values are in `given`. x_shape: drawn if it is none."""

    def __init__(self, random, rank, *, quantized=None, w_type=np.int8, w_zero_point="one", to_float=True, steps=(),
                 is_open=False, y_type=None, bias=None, scales_given=False, x_shape=None):
        self.random, self.is_open, self.rank = random, is_open, rank
        self.nodes, self.constants, self.given = [], {}, {}
        self.convolution = rank > 0
        self.quantized, self.to_float, self.steps = quantized, to_float, steps
        self.x_scale = self.x_zero_point = None
        self.scales_given = scales_given and quantized is not None
        self.y_type = y_type if to_float else None
        self.bias_of, self.bias = None if bias == "quantized" and (quantized or not to_float) else bias, np.int32(0)
        (self._draw_convolution if self.convolution else self._draw_product)(x_shape)
        self.w = self._bytes(w_type, self.w_shape)
        self.channels = self.w.shape[0] if self.convolution else self.w.shape[1]
        shape = {"none": None, "one": (), "channel": (self.channels,)}[w_zero_point]
        self.w_zero_point = None if shape is None else self._bytes(w_type, shape)
        self._make_nodes()

    @classmethod
    def convolution_of(cls, random, group, inputs, filters, kernel, images, extents, is_open=False):
        """A layer of two dimensions and of these sizes, which keeps the extents."""
        layer = cls(random, 2, steps=("Add", "Relu"), is_open=is_open)
        layer.__dict__.update(group=group, auto_pad="NOTSET", pads=[kernel // 2] * 4, strides=[1, 1], dilations=[1, 1])
        layer.w_shape, layer.x_shape = (filters, inputs // group, kernel, kernel), (images, inputs, *extents)
        layer.w = random.integers(-128, 128, layer.w_shape).astype(np.int8)
        layer.w_zero_point, layer.channels = random.integers(-9, 9, ()).astype(np.int8), filters
        layer.nodes, layer.constants = [], {}
        layer._make_nodes()
        return layer

    def _bytes(self, kind, shape):
        """Among them only the least and the largest ones, with which 16 bits overflow."""
        info = np.iinfo(kind)
        values = [info.min, info.max] if self.random.random() < 0.1 else np.arange(info.min, info.max + 1)
        return self.random.choice(values, shape).astype(kind)

    def _draw_convolution(self, x_shape):
        random, rank = self.random, self.rank
        up_to = lambda most: int(random.integers(1, most + 1))
        kind = str(random.choice(["dense", "few", "pointwise", "grouped", "depthwise"]))
        if x_shape:
            divisors = [g for g in range(1, x_shape[1] + 1) if x_shape[1] % g == 0]
            self.group = {"grouped": int(random.choice(divisors)), "depthwise": x_shape[1]}.get(kind, 1)
            inputs = x_shape[1] // self.group
        else:
            self.group = {"grouped": 1 + up_to(5), "depthwise": up_to(4 if random.random() < 0.5 else 70)}.get(kind, 1)
            inputs = {"depthwise": 1, "few": up_to(4), "grouped": 1 + up_to(31)}.get(kind, up_to(40))
        filters = {"depthwise": up_to(4) if random.random() < 0.3 else 1, "few": up_to(10), "grouped": up_to(32)}.get(kind, up_to(70))
        kernel = random.integers(1, 1 if kind == "pointwise" else (9, 7, 3, 2)[rank - 1], rank, endpoint=True)
        self.strides, self.dilations = random.integers(1, 4, rank).tolist(), random.integers(1, 4, rank).tolist()
        if x_shape:
            kernel = [min(k, (extent - 1) // d + 1) for k, extent, d in zip(kernel, x_shape[2:], self.dilations)]
        else:
            spatial = [int((k - 1) * d + 1 + random.integers(0, 12)) for k, d in zip(kernel, self.dilations)]
            spatial[-1] += int(random.integers(0, 80)) if random.random() < 0.2 else 0
            x_shape = (up_to(3), inputs * self.group, *spatial)
        self.auto_pad = str(random.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
        if self.auto_pad.startswith("SAME") and any(s > (k - 1) * d + 1 for s, k, d in zip(self.strides, kernel, self.dilations)):
            self.auto_pad = "VALID"  # the provider leaves such a layer
        self.pads = [int(random.integers(0, k + 1)) for k in [*kernel, *kernel]]
        products = math.prod([*x_shape, *kernel]) / math.prod(self.strides)  # for each filter of a group, about
        filters = max(1, min(filters, int(MOST_PRODUCTS / products)))
        self.w_shape, self.x_shape = (filters * self.group, inputs, *(int(k) for k in kernel)), tuple(x_shape)

    def _draw_product(self, x_shape):
        random = self.random
        inner, columns = (int(n) for n in random.integers(1, 300 if random.random() < 0.2 else 70, 2))
        rows = (() if random.random() < 0.1 else (int(random.integers(1, 40)),)) if random.random() < 0.7 else (1,)
        self.x_shape = x_shape or (*(random.integers(1, 6, random.integers(0, 3)).tolist() if rows else ()), *rows, inner)
        self.w_shape = (self.x_shape[-1], columns)

    def _constant(self, name, value, is_given=False):
        """is_given: an input of the model in place of a constant."""
        if is_given:
            self.given[name] = value
        else:
            self.constants[name] = np.asarray(value)
        return name

    def _per_channel(self, shape_of_one):
        """One value, or one for each channel in a shape that broadcasts to the sums."""
        if shape_of_one:
            return self.random.standard_normal(self.random.choice([0, 1]) * [1]).astype(F)
        shape = (self.channels, *[1] * self.rank)
        ones = self.random.integers(0, len(self.x_shape) - len(shape), endpoint=True) * [1]
        return self.random.standard_normal((*ones, *shape)).astype(F)

    def _make_nodes(self):
        def add(op, inputs, outputs, **attributes):
            self.nodes.append(helper.make_node(op, inputs, outputs, f"{op}_{len(self.nodes)}", **attributes))

        x, zero_point = "x", "x_zero_point"
        if self.quantized is None:
            add("DynamicQuantizeLinear", ["x"], ["x_quantized", "x_scale", "x_zero_point"])
            x = "x_quantized"
        else:
            self.x_zero_point = self._bytes(self.quantized, [1] if self.scales_given else [])
            self._constant("x_zero_point", self.x_zero_point, self.scales_given)
        inputs = [x, self._constant("w", self.w), zero_point]
        if self.w_zero_point is not None:
            inputs.append(self._constant("w_zero_point", self.w_zero_point))
        attributes = {}
        if self.convolution:
            attributes = {"group": self.group, "strides": self.strides, "dilations": self.dilations}
            attributes |= {"pads": self.pads} if self.auto_pad == "NOTSET" else {"auto_pad": self.auto_pad}
        add("ConvInteger" if self.convolution else "MatMulInteger", inputs, ["sums"], **attributes)
        y = "sums"
        if self.bias_of == "quantized":
            y = self._add_quantized_bias(y)
        elif self.bias_of is not None:
            shape = {"one": (), "channel": (self.channels, *[1] * self.rank)}[self.bias_of]
            self.bias = self.random.integers(-2**31, 2**31, shape).astype(np.int32)
            inputs = [y, self._constant("bias", self.bias)]
            add("Add", inputs if self.random.random() < 0.5 else inputs[::-1], ["biased"])
            y = "biased"
        self.parameters = []
        if self.to_float:
            add("Cast", [y], ["floats"], to=TensorProto.FLOAT)
            y = "floats"
            self.w_scale = self._per_channel(self.random.random() < 0.5)
            scale = self._constant("w_scale", self.w_scale)
            if self.scales_given:
                self.x_scale = self.random.uniform(0.5, 2, [1]).astype(F)
                self._constant("x_scale", self.x_scale, True)
            if self.quantized is None or self.scales_given:
                add("Mul", ["x_scale", scale], ["scales"])
                scale = "scales"
            add("Mul", [y, scale], ["scaled"])
            y = "scaled"
            for i, op in enumerate(self.steps):
                if op == "Gate":
                    self.parameters.append([])
                    y = self._gate(y, i)
                    continue
                values = [self._per_channel(self.random.random() < 0.3) for _ in range(op in WITH_PARAMETER)]
                if op == "Clip":
                    values = [F(-1), F(1.5)]
                self.parameters.append(values)
                names = [self._constant(f"step_{i}_{j}", v) for j, v in enumerate(values)]
                inputs = [names[0], y] if op in ("Add", "Mul") and self.random.random() < 0.5 else [y, *names]
                add(op, inputs, [f"stepped_{i}"], **({"alpha": 0.25} if op == "LeakyRelu" else {}))
                y = f"stepped_{i}"
        if self.y_type is not None:
            y = self._quantize(y)
        self.y = y

    def _add_quantized_bias(self, y):
        """Cast(Floor(bias / (x_scale * bias_scale))), limited so that int32 has it."""
        self.bias = self.random.standard_normal((self.channels, *[1] * self.rank)).astype(F)
        self.bias_scale = F(self.random.uniform(0.5, 2))
        for name, value in (("bias", self.bias), ("bias_scale", self.bias_scale), ("least", F(-2**24)), ("most", F(2**24))):
            self._constant(name, value)
        for op, inputs, output in (("Mul", ["x_scale", "bias_scale"], "bias_scales"), ("Div", ["bias", "bias_scales"], "bias_quotients"),
                                   ("Clip", ["bias_quotients", "least", "most"], "bias_limited"),
                                   ("Floor", ["bias_limited"], "bias_floors"), ("Cast", ["bias_floors"], "bias_integers"),
                                   ("Add", [y, "bias_integers"], "biased")):
            self.nodes.append(helper.make_node(op, inputs, [output], output, **({"to": TensorProto.INT32} if op == "Cast" else {})))
        return "biased"

    def _integer_bias(self, x_scale):
        if self.bias_of != "quantized":
            return self.bias
        with np.errstate(divide="ignore", over="ignore"):
            return np.floor(np.clip(self.bias / (x_scale * self.bias_scale), F(-2**24), F(2**24))).astype(np.int32)

    def _quantize(self, x):
        """By one scale or one for each channel, chosen so that some values saturate."""
        shape = [(), (self.channels,)][self.random.integers(2)]
        info = np.iinfo(self.y_type)
        self.y_scale = self.random.uniform(0.5, 2, shape).astype(F) * F(self.random.choice([0.01, 1, 1000]))
        self.y_zero_point = self.random.integers(info.min, info.max + 1, shape).astype(self.y_type)
        axis = 1 if self.convolution else len(self.x_shape) - 1
        names = [self._constant("y_scale", self.y_scale), self._constant("y_zero_point", self.y_zero_point)]
        self.nodes.append(helper.make_node("QuantizeLinear", [x, *names], ["quantized"], "quantize", **({"axis": axis} if shape else {})))
        return "quantized"

    def _gate(self, x, i):
        p = lambda text: f"gate_{i}_{text}"
        three, zero, six = (self._constant(p(n), F(v)) for n, v in (("three", 3), ("zero", 0), ("six", 6)))
        for op, inputs, output in (("Add", [x, three], "sum"), ("Clip", [p("sum"), zero, six], "gate"),
                                   ("Mul", [x, p("gate")], "product"), ("Div", [p("product"), six], "y")):
            self.nodes.append(helper.make_node(op, inputs, [p(output)], p(op)))
        return p("y")

    def inputs(self):
        channel = 1 if self.convolution else len(self.x_shape) - 1
        shape = [None if self.is_open and d != channel else extent for d, extent in enumerate(self.x_shape)]
        return {"x": (KINDS[self.quantized], shape)} | types_of(self.given)

    def outputs(self):
        return {self.y: (KINDS[self.y_type if self.to_float else np.int32], None)}

    def model(self):
        return model(self.nodes, self.inputs(), self.outputs(), 16, self.constants)

    def draw_x(self):
        shape = list(self.x_shape)
        for d in range(len(shape)):
            if self.is_open and d != (1 if self.convolution else len(shape) - 1):
                shape[d] += int(self.random.integers(0, 4))
        if self.quantized is None:
            factor = self.random.choice([0.01, 1, 100, 1e-43, 0], p=[0.3, 0.3, 0.3, 0.05, 0.05])  # of 1e-43 some scales are 0
            return (self.random.standard_normal(shape) * factor).astype(F)
        return self._bytes(self.quantized, shape)

    def expected(self, x, by_row=False):
        """by_row: x is quantized with a scale for each row."""
        scale, zero_point = self.x_scale, self.x_zero_point
        if self.quantized is None:
            x, scale, zero_point = quantize_rows(x, self.convolution) if by_row else dynamic_quantize(x)
        a = x.astype(np.int64) - np.asarray(zero_point, np.int64)
        w_zero_point = np.zeros((), np.int64) if self.w_zero_point is None else self.w_zero_point.astype(np.int64)
        if self.convolution:
            w = self.w.astype(np.int64) - w_zero_point.reshape(-1, *[1] * (self.w.ndim - 1))
            pads = list(zip(self.pads[:self.rank], self.pads[self.rank:]))
            if self.auto_pad == "VALID":
                pads = [(0, 0)] * self.rank
            elif self.auto_pad != "NOTSET":
                pads = [same_pads(x.shape[2 + d], w.shape[2 + d], self.strides[d], self.dilations[d], self.auto_pad == "SAME_UPPER")
                        for d in range(self.rank)]
            sums = convolve(a, w, self.group, self.strides, self.dilations, pads)
        else:
            sums = a @ (self.w.astype(np.int64) - w_zero_point)
        y = sums.astype(np.int32) + self._integer_bias(scale)  # wraps
        if not self.to_float:
            return y
        y = y.astype(F) * (self.w_scale if scale is None else scale * self.w_scale)
        for op, values in zip(self.steps, self.parameters):
            y = STEPS[op](y, *values)
        if self.y_type is None:
            return y
        shape = [-1, *[1] * self.rank] if self.convolution else [-1]
        scale, zero_point = (v.reshape(shape) if v.shape else v for v in (self.y_scale, self.y_zero_point))
        info = np.iinfo(self.y_type)
        return np.clip(np.rint(y / scale).astype(np.float64) + zero_point, info.min, info.max).astype(self.y_type)
