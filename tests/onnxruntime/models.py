"""Builds models of one operator, and sessions that run them with or without the library."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

onnxruntime.set_default_logger_severity(4)  # errors reach the tests as exceptions

LIBRARY = os.environ["DYNQUANT_ONNXRUNTIME"]
OLDEST = onnxruntime.__version__.startswith("1.17.")  # that the library supports
IR_VERSION = 8 if OLDEST else 10
OPSETS = (10, 13, 19) if OLDEST else (10, 13, 19, 21, 23, 24, 25)


def model(nodes, inputs, outputs, opset, constants=None, *, infos=None, ir_version=IR_VERSION, functions=()):
    """inputs, outputs and infos, of values between: {name: (type, shape)}; constants: {name: array or TensorProto}."""
    domains = {node.domain for node in nodes} - {""}
    inputs, outputs, infos = ([helper.make_tensor_value_info(name, *of) for name, of in (values or {}).items()]
                              for values in (inputs, outputs, infos))
    graph = helper.make_graph(
        nodes, "test", inputs, outputs, value_info=infos,
        initializer=[value if isinstance(value, TensorProto) else onnx.numpy_helper.from_array(np.asarray(value), name)
                     for name, value in (constants or {}).items()])
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    made = helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=functions)
    return made.SerializeToString()


def types_of(arrays):
    """The types and shapes of arrays, as inputs of a model."""
    return {name: (helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in arrays.items()}


def quantize(op="QuantizeLinear", domain="dynquant", **attributes):
    return helper.make_node(op, ["x", "scale", "zero"], ["y"], "q", domain=domain, **attributes)


def choose(nodes, output, other, kind=TensorProto.FLOAT):
    """y: where c is true the output of the nodes in a subgraph, else the value `other`; both of this type."""
    def branch(nodes, output):
        return helper.make_graph(nodes, output, [], [helper.make_tensor_value_info(output, kind, None)])

    same = branch([helper.make_node("Identity", [other], ["same"])], "same")
    return helper.make_node("If", ["c"], ["y"], then_branch=branch(nodes, output), else_branch=same)


def session(model_bytes, library=False, threads=2, profile=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    if library:
        options.register_custom_ops_library(LIBRARY)
    return onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])


def run(model_bytes, feed, **how):
    return session(model_bytes, **how).run(None, feed)


def in_domain(nodes, domain):
    """The nodes, with the quantization operators in another domain."""
    copies = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        if copy.op_type.endswith("QuantizeLinear") or copy.op_type == "DequantizeLinear":
            copy.domain = domain
        copies.append(copy)
    return copies


def normal(*shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)
