"""Builds the six patterns of pre-quantized models and the other parts of such models with the onnx package."""
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from layers import OPSETS, Builder, activation, convolution, fully_connected, product

# ---- The six patterns ----

# How a layer ends: `to` is the type of y. An activation in float16 takes values that are quantized first, or not.
ENDS = {"": lambda b, to, first: b.quantize(to), " with ReLU": lambda b, to, first: (b.then("Relu"), b.quantize(to)),
        " with int8 Tanh": lambda b, to, first: activation(b, "Tanh", to),
        " with int8 Sigmoid": lambda b, to, first: activation(b, "Sigmoid", to),
        " with fp16 Tanh": lambda b, to, first: activation(b, "Tanh", to, True, first),
        " with fp16 Sigmoid": lambda b, to, first: activation(b, "Sigmoid", to, True, first)}

PATTERNS = {1: ("fully connected", ""), 2: ("fully connected", " with ReLU"), 3: ("convolution", ""),
            4: ("fully connected", " with int8 Tanh"), 5: ("fully connected", " with fp16 Tanh"),
            6: ("fully connected", " with fp16 Sigmoid")}


def pattern(number, opset, x_dtype, y_dtype, seed, muls, per_channel, first):
    """A model of one layer."""
    kind, end = PATTERNS[number]
    b = Builder(opset, seed)
    rows, inner, columns = b.random.integers(1, 9), b.random.integers(1, 200), b.random.integers(1, 70)
    if kind == "convolution":
        channels, filters, size = b.random.integers(1, 9), b.random.integers(1, 20), b.random.integers(5, 12)
        b.input(x_dtype, [int(b.random.integers(1, 3)), int(channels), int(size), int(size) + 1])
        convolution(b, filters, channels, (3, 2), muls, per_channel, pads=[1, 0, 1, 1])
    else:
        b.input(x_dtype, [int(rows), int(inner)])
        fully_connected(b, columns, inner, muls, per_channel)
    ENDS[end](b, y_dtype, first)
    return b.model()


def patterns():
    """(name, model, stages) of the six patterns for each opset, type of x and of y, with one Mul and two, per tensor
    and per channel."""
    seed = 0
    draw = np.random.default_rng(0)
    for opset, x_dtype, number, muls, per_channel in itertools.product(
            OPSETS, (np.uint8, np.int8), range(1, 7), (1, 2), (False, True)):
        seed += 1
        y_dtype = draw.choice([np.int8, np.uint8]) if number != 6 else np.uint8
        first = number < 5 or bool(draw.integers(3))
        yield (f"pattern {number}, opset {opset}, {np.dtype(x_dtype)} to {np.dtype(y_dtype)}, {muls} Mul"
               f"{', per channel' * per_channel}{', cast at once' * (not first)}, seed {seed}",
               pattern(number, opset, x_dtype, y_dtype, seed, muls, per_channel, first), ["".join(PATTERNS[number])])


def layers():
    """Variants that patterns() lacks: zero points, other windows, groups, several matrices, shifts of channels; each
    with every end that a layer may have."""
    seed = 6000
    windows = ({}, {"group": 3}, {"strides": [2, 1]}, {"dilations": [2, 3]}, {"pads": [1, 0, 2, 1]},
               {"group": 6, "auto_pad": "SAME_UPPER", "strides": [2, 2]})
    matrices = (((5, 40), ()), ((2, 3, 40), ()), ((2, 3, 40), (2,)), ((3, 1, 4, 40), (2,)), ((4, 40), (2,)))
    for kind, variants in (("convolution", windows), ("fully connected", matrices)):
        for variant in variants:
            for tail, end in ENDS.items():
                seed += 1
                b = Builder(int(np.random.default_rng(seed).choice(OPSETS)), seed)
                x_dtype, y_dtype, x_zp, per_channel, shifts = (
                    b.random.choice([np.uint8, np.int8]), b.random.choice([np.uint8, np.int8]), int(b.random.integers(-3, 90)),
                    bool(b.random.integers(2)), bool(b.random.integers(2)))
                zero_points = {"x_zp": np.array(abs(x_zp), x_dtype)} if x_zp else {}
                if b.random.integers(2):
                    zero_points["w_zp"] = np.array(b.random.integers(-9, 9), np.int8)
                if kind == "convolution":
                    b.input(x_dtype, [2, 6, 9, 10])
                    convolution(b, 12, 6, (3, 2), 2, per_channel, shifts=shifts and per_channel, **zero_points, **variant)
                else:
                    b.input(x_dtype, variant[0])
                    fully_connected(b, 17, 40, 2, per_channel, variant[1], shifts and per_channel, **zero_points)
                end(b, y_dtype, first=tail == " with fp16 Sigmoid")
                yield (f"{kind}{tail}, {variant}, {x_dtype.__name__} to {y_dtype.__name__}, {zero_points}, "
                       f"{'per channel' * per_channel}{', shifts too' * (shifts and per_channel)}, seed {seed}",
                       b.model(), [kind + tail])
    b = Builder(13, 1)
    b.input(np.uint8, [4, 50])
    fully_connected(b, 9, 50, 1)
    b.then("Mul", b.constant(np.float32(-0.7)))
    b.quantize(np.int8, 2, 3)
    yield "a negative multiplier, scale 2, zero point 3", b.model(), ["fully connected"]


def convolution_chains():
    """Consecutive convolutions, whose values have the channels last; and consumers that need another layout."""
    for seed, pool in ((4001, False), (4002, True)):
        b = Builder(13, seed)
        b.input(np.uint8, [2, 3, 11, 10])
        stages = []
        for filters, channels, x_dtype, y_dtype, tail in (
                (16, 3, np.uint8, np.uint8, " with ReLU"), (32, 16, np.uint8, np.int8, " with int8 Tanh"),
                (7, 32, np.int8, np.int8, ""), (20, 7, np.int8, np.uint8, " with fp16 Sigmoid")):
            convolution(b, filters, channels, (3, 3), 2, per_channel=True, x_zp=np.array(3, x_dtype), pads=[1, 1, 1, 1])
            ENDS[tail](b, y_dtype, False)
            stages.append("convolution" + tail)
            if pool and tail == " with ReLU":
                b.then("MaxPool", kernel_shape=[2, 2])
                stages.append("MaxPool")
        yield f"convolutions{', MaxPool between' * pool}", b.model(), stages


# ---- Other parts of models ----

def products(op, seed, cases):
    """cases: shapes of x and of the weights, and attributes; each of both types of x, with zero points and without."""
    for x_dtype, (x_shape, w_shape, attributes) in itertools.product((np.uint8, np.int8), cases):
        for x_zp, w_zp in ((None, None), (7, None), (None, -3), (200 if x_dtype == np.uint8 else -100, 5)):
            seed += 1
            b = Builder(13, seed)
            b.input(x_dtype, x_shape)
            product(b, op, b.weights(w_shape), None if x_zp is None else np.array(x_zp, x_dtype),
                    None if w_zp is None else np.array(w_zp, np.int8), **attributes)
            yield f"{op} {x_shape} {w_shape} {np.dtype(x_dtype)} {attributes}, zero points {x_zp}, {w_zp}", b.model()


def matmul_models():
    shapes = [((3, 6), (6, 4)), ((6,), (6, 4)), ((3, 6), (6,)), ((6,), (6,)), ((2, 3, 6), (6, 4)), ((2, 3, 6), (2, 6, 4)),
              ((2, 1, 3, 6), (5, 6, 4)), ((3, 6), (2, 6, 4)), ((0, 6), (6, 4)), ((1, 1), (1, 1)), ((1, 1024), (1024, 300)),
              ((5, 4500), (4500, 3)), ((2, 70001), (70001, 2))]
    yield from products("MatMulInteger", 1000, [(*shape, {}) for shape in shapes])
    for x_dtype in (np.uint8, np.int8):
        for batch, zero_points in (((), (4,)), ((2,), (2, 1, 4))):
            b = Builder(10, 1104)
            b.input(x_dtype, (*batch, 3, 40))
            w_zp = b.random.integers(-128, 128, zero_points).astype(np.int8)
            product(b, "MatMulInteger", b.weights((*batch, 40, 4)), np.array(3, x_dtype), w_zp)
            yield f"MatMulInteger {np.dtype(x_dtype)}, zero points of shape {zero_points}", b.model()


def convolution_models():
    cases = [  # x, filters, group, kernel, attributes
        ((1, 3, 9, 8), 5, 1, (3, 3), {}),
        ((2, 4, 9, 8), 6, 2, (3, 2), {"pads": [1, 2, 0, 1], "strides": [2, 1]}),
        ((1, 8, 7, 7), 8, 8, (3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 6, 10, 10), 4, 1, (3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
        ((1, 6, 10, 9), 4, 1, (3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 6, 10, 9), 4, 1, (4, 2), {"auto_pad": "SAME_LOWER"}),
        ((1, 6, 10, 9), 4, 1, (4, 2), {"auto_pad": "VALID", "strides": [3, 2]}),
        ((2, 4, 17), 6, 1, (5,), {"strides": [2], "pads": [2, 2]}),
        ((1, 4, 5, 6, 7), 6, 2, (2, 3, 1), {"pads": [1, 1, 0, 0, 1, 0]}),
        ((1, 64, 14, 14), 64, 1, (3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 32, 8, 8), 16, 1, (1, 1), {}),
        ((1, 600, 5, 5), 3, 1, (3, 3), {"pads": [1, 1, 1, 1]}),
    ]
    yield from products("ConvInteger", 2000, [(x, (filters, x[1] // group, *kernel), {"group": group, **attributes})
                                              for x, filters, group, kernel, attributes in cases])


def chain(opset, x_dtype, seed):
    """A network of several layers, float to float, and its stages."""
    b = Builder(opset, seed)
    b.input(np.float32, [2, 3, 13, 12])
    zero_point = 128 if x_dtype == np.uint8 else -5
    b.quantize(x_dtype, 0.02, zero_point)
    convolution(b, 8, 3, (3, 3), 2, x_zp=np.array(zero_point, x_dtype), pads=[1, 1, 1, 1])
    b.then("Relu")
    b.quantize(np.uint8)
    stages = ["QuantizeLinear", "convolution with ReLU", *["MaxPool"] * (opset >= 12), "Transpose",
              "Flatten" if seed % 2 else "Reshape", *("".join(PATTERNS[i]) for i in (4, 6, 1)), "DequantizeLinear"]
    if opset >= 12:
        b.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        size = 8 * 6 * 6
    else:
        size = 8 * 13 * 12
    b.then("Transpose", perm=[0, 2, 3, 1])
    b.then("Flatten") if seed % 2 else b.then("Reshape", b.constant(np.array([0, -1], np.int64)))
    fully_connected(b, 33, size, 1)
    activation(b, "Tanh", np.int8)
    fully_connected(b, 20, 33, 2, per_channel=True)
    activation(b, "Sigmoid", np.uint8, half=True)
    fully_connected(b, 10, 20, 1)
    b.quantize(np.int8)
    b.dequantize(np.int8, 0.1)
    return b.model(), stages


def chains():
    seed = 3000
    for opset, x_dtype, _ in itertools.product(OPSETS, (np.uint8, np.int8), range(2)):
        seed += 1
        yield f"chain, opset {opset}, {np.dtype(x_dtype)}, seed {seed}", *chain(opset, x_dtype, seed)


def plain_operators():
    """Single operators, and graphs of unusual form."""
    b = Builder(13, 1)
    b.input(np.int8, [2, 3, 4, 5])
    for perm in ([3, 1, 0, 2], [0, 2, 3, 1], [1, 0, 3, 2]):
        b.then("Transpose", perm=perm)
    b.then("Transpose")
    b.then("Identity")
    b.then("Flatten", axis=-1)
    b.then("Reshape", b.constant(np.array([2, 0, -1, 1], np.int64)))
    yield "shapes", b.model()

    b = Builder(14, 1)
    b.input(np.int32, [3, 4])
    b.then("Add", b.constant(np.array([[2**31 - 1], [-(2**31)], [5]], np.int32)))
    b.node("Add", [b.constant(np.array([[[7]], [[9]]], np.int32)), b.last])
    b.then("Relu")
    b.then("Cast", to=TensorProto.FLOAT)
    b.then("Mul", b.constant(np.float32(0.37)))
    b.node("Mul", [b.constant(np.arange(4, dtype=np.float32)), b.last])
    b.then("Cast", to=TensorProto.FLOAT16)
    b.then("Cast", to=TensorProto.FLOAT)
    yield "arithmetic", b.model()

    image, all_types = [2, 3, 7, 9], (np.uint8, np.int8, np.float32)
    for shape, dtypes, attributes in (
            (image, all_types, {"kernel_shape": [2, 3]}),
            (image, all_types, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
            (image, all_types, {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]}),
            (image, all_types, {"kernel_shape": [2, 2], "dilations": [2, 3]}),
            (image, all_types, {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER"}),
            (image, [np.float32], {"kernel_shape": [6, 8], "pads": [5, 7, 5, 7]}),
            ([2, 3, 5], [np.float32], {"kernel_shape": [3], "strides": [3], "pads": [1, 2]}),
            ([1, 2, 3, 4, 5], [np.float32], {"kernel_shape": [2, 3, 2], "pads": [1, 0, 1, 0, 2, 1]})):
        for dtype in dtypes:
            b = Builder(13, 1)
            b.input(dtype, shape)
            b.then("MaxPool", **attributes)
            yield f"MaxPool of {shape} {np.dtype(dtype)} {attributes}", b.model()

    b = Builder(13, 1)  # outputs that are an inner value, an input and a constant
    x = b.input(np.float32, [4])
    first = b.then("Relu")
    b.then("Mul", b.constant(np.float32(2)))
    b.outputs = [first, b.last, x, b.constant(np.arange(3, dtype=np.float32))]
    yield "outputs", b.model()

    b = Builder(13, 1)  # a Constant's value, and a diamond
    x = b.input(np.float32, [2, 3])
    b.nodes.append(helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.full((3,), 3, np.float32))))
    left = b.node("Mul", [x, "k"])
    right = b.node("Relu", [x])
    b.node("Add", [left, right])
    yield "diamond", b.model()
