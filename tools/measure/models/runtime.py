"""Runs models in ONNX Runtime, whole or node by node. Integer products by constant weights are exact (exact.py)."""

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from .exact import exact

Values = dict[str, numpy.ndarray]


def session(model: onnx.ModelProto, inputs: Values) -> Values:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    run = onnxruntime.InferenceSession(exact(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in run.get_outputs()]
    return dict(zip(names, run.run(names, inputs)))


def _run_node(node: onnx.NodeProto, like: onnx.ModelProto, values: Values) -> Values:
    inputs = {name: values[name] for name in node.input if name}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "node", infos, outputs)
    return session(helper.make_model(graph, opset_imports=like.opset_import, ir_version=like.ir_version), inputs)


def node_by_node(model: onnx.ModelProto, inputs: Values) -> Values:
    """All values, each node in its own session. In one session ONNX Runtime computes float16 in float, and removes
    adjacent casts to float16 and back with their roundings."""
    graph = exact(model).graph
    values = inputs | {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    for node in graph.node:
        values |= _run_node(node, model, values)
    return values
