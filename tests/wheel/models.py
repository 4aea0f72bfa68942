"""Small models, and the command on them."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
RANDOM = np.random.default_rng(3)
W = RANDOM.integers(0, 256, (8, 3, 3, 3)).astype(np.uint8)  # ONNX Runtime 1.23 has no ConvInteger with weights of int8


def save(path, nodes, inputs, outputs, constants={}, **settings):
    """inputs, outputs: name, type and shape. constants: by name. settings: of onnx.save."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    imports = [helper.make_opsetid("", 16)] + [helper.make_opsetid(d, 1) for d in {n.domain for n in nodes} - {""}]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path, **settings)
    return str(path)


def layer(path, product, w, x, name="x", tail=(), constants={}, **settings):
    """A layer as quantize_dynamic makes it, from a float to a float, and further nodes behind its "y". product: the node
    from "q", "w" and "z" to "sums". x: the shape."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", [name], ["q", "s", "z"], "quantize"),
        product,
        helper.make_node("Cast", ["sums"], ["f"], "cast", to=FLOAT),
        helper.make_node("Mul", ["s", "scale"], ["m"], "scales"),
        helper.make_node("Mul", ["f", "m"], ["y"], "rescale"),
        *tail,
    ]
    constants = {"w": w, "scale": np.float32(0.01), **constants}
    return save(path, nodes, [(name, FLOAT, x)], [(nodes[-1].output[0], FLOAT, None)], constants, **settings)


def dynamic(path, x=("n", 3, "h", "w"), pads=(1, 1, 1, 1), **others):
    """A layer of images. others: of layer()."""
    return layer(path, helper.make_node("ConvInteger", ["q", "w", "z"], ["sums"], "product", pads=pads), W, x, **others)


def product(path, **settings):
    """A layer of rows. settings: of onnx.save."""
    w = RANDOM.integers(0, 256, (24, 8)).astype(np.uint8)
    node = helper.make_node("MatMulInteger", ["q", "w", "z"], ["sums"], "product")
    return layer(path, node, w, ["n", 24], **settings)


def floats(path, name="x", w=W):
    """What dynamic() is a quantization of."""
    nodes = [helper.make_node("Conv", [name, "w"], ["y"], "conv", pads=[1] * 4)]
    return save(
        path,
        nodes,
        [(name, FLOAT, ["n", 3, "h", "w"])],
        [("y", FLOAT, None)],
        {"w": w.astype(np.float32) * np.float32(0.01)},
    )


def command(*arguments, python_path="", stdout=subprocess.PIPE, **environment):
    """python_path: a folder whose modules come first."""
    environment = os.environ | environment
    path = os.pathsep.join(filter(None, (python_path, environment.get("PYTHONPATH", ""))))
    return subprocess.run(
        [sys.executable, "-m", "onnxruntime_ep_dynquant", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": path, "COLUMNS": "150"},
        timeout=300,
    )


def stub(folder, version):
    """A folder with an onnxruntime of that version that loads no providers; None: with one that is missing."""
    text = (
        f"__version__ = '{version}'\nclass InferenceSession: pass\n"
        if version
        else "raise ModuleNotFoundError(\"No module named 'onnxruntime'\")\n"
    )
    pathlib.Path(folder, "onnxruntime.py").write_text(text)
    return str(folder)
