"""Measures time and changed results without constant folding, for nodes whose weights are an expression of constants.

Not part of scripts/compare-onnxruntime. Usage, from the project's folder:
    DYNQUANT_ORT=build/release/src/libdynquant_ort.so PYTHONPATH=tools:tests/onnxruntime \\
        .deps/onnxruntime/bin/python -m onnx_speed.constant_folding
"""

import numpy
from models import TensorProto, helper, model, session
from reporting.timing import median_time

FLOAT = TensorProto.FLOAT
random = numpy.random.default_rng(0)


def normal(*shape):
    return random.normal(size=shape).astype(numpy.float32)


def convolution():
    """16 to 32 channels on 14 x 14, followed by BatchNormalization."""
    nodes = [
        helper.make_node("Mul", ["w", "k"], ["product"]),
        helper.make_node("Conv", ["x", "product"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["y"]),
    ]
    constants = {"w": normal(32, 16, 3, 3), "k": normal(32, 1, 1, 1), "scale": normal(32), "bias": normal(32)}
    constants |= {"mean": normal(32), "variance": numpy.abs(normal(32))}
    return nodes, constants, normal(1, 16, 14, 14)


def product():
    """8 x 256 by 256 x 256, followed by Relu."""
    nodes = [
        helper.make_node("Mul", ["w", "k"], ["product"]),
        helper.make_node("MatMul", ["x", "product"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    return nodes, {"w": normal(256, 256), "k": normal(256)}, normal(8, 256)


for make in (convolution, product):
    nodes, constants, x = make()
    m = model(nodes, {"x": (FLOAT, list(x.shape))}, {"y": (FLOAT, None)}, 13, constants)
    folded, unfolded = (session(m, library=True, standard=standard, threads=1) for standard in (False, True))
    times = [1e6 * median_time(lambda s=s, x=x: s.run(None, {"x": x}), 1) for s in (folded, unfolded)]
    differing = numpy.mean(folded.run(None, {"x": x})[0] != unfolded.run(None, {"x": x})[0])
    print(f"{make.__name__}: folded {times[0]:.0f} us, not folded {times[1]:.0f} us, {100 * differing:.0f} % of the results differ")
