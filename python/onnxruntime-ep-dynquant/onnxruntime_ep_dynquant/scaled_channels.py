"""Rewrites a float model before quantize_dynamic, which gives the weights of a Conv one scale: one channel with large
weights then leaves few codes to all others. Here the weights of each channel are divided by their largest one, and a Mul
behind the Conv makes up for it. The layers stay what the execution provider claims."""

from collections import Counter

import numpy
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

from .model_files import Left, convert_file, described, parts
from .refusal import Refusal


def convert(source: str, target: str) -> str:
    """Writes the model `source`, rewritten, as `target`. Returns a sentence that says what was done."""
    rewritten, left = convert_file(source, target, rewrite)
    said = f"{target}: {rewritten} of {rewritten + left.total()} Convs have weights whose channels are scaled."
    return f"{said} Left: {described(left)}." if left else said


def rewrite(model: ModelProto, folder: str = "") -> tuple[int, Left]:
    """Changes the model. folder: of its external data. Returns how many Convs have scaled channels, and what is left."""
    graph = model.graph
    constants = {constant.name: constant for constant in graph.initializer}
    for value in graph.input:  # a run may replace these
        constants.pop(value.name, None)
    used = {name for node in parts(model, NodeProto) for name in (*node.input, *node.output)} | set(constants)
    left: Left = Counter()
    nodes, rewritten = [], 0
    for node in graph.node:
        nodes.append(node)
        if node.op_type != "Conv" or node.domain not in ("", "ai.onnx"):
            continue
        reason = _why_not(node, constants)
        if reason:
            left["Conv", reason] += 1
            continue
        w, *bias = (_array(constants[name], folder) for name in node.input[1:] if name)
        largest = numpy.abs(w).max(axis=tuple(range(1, w.ndim)), keepdims=True)
        largest = numpy.where(numpy.isfinite(largest) & (largest >= numpy.finfo(w.dtype).tiny), largest, w.dtype.type(1))
        channels = (1, -1, *largest.shape[2:])  # of the Conv's output
        output = node.output[0]
        names = [_unused(f"{output}_{what}", used) for what in ("weights", "largest", "products", "bias", "scaled")]
        added = {names[0]: w / largest, names[1]: largest.reshape(channels)}
        del node.input[1:]
        node.input.append(names[0])
        node.output[0] = names[2]
        nodes.append(helper.make_node("Mul", [names[2], names[1]], [names[4] if bias else output]))
        if bias:
            added[names[3]] = bias[0].reshape(channels)
            nodes.append(helper.make_node("Add", [names[4], names[3]], [output]))
        graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in added.items())
        rewritten += 1
    if not rewritten:
        raise Refusal("nothing to rewrite: " + (described(left) or "it has no Conv"))
    del graph.node[:]
    graph.node.extend(nodes)
    _drop_unused(model)
    return rewritten, left


def _why_not(node: NodeProto, constants: dict[str, TensorProto]) -> str:
    """Why a Conv is left as it is, or nothing."""
    some = [constants.get(name) for name in node.input[1:] if name]
    if not some or None in some:
        return "its weights or its bias are no constants"
    if some[0].data_type not in (TensorProto.FLOAT, TensorProto.FLOAT16) or 0 in some[0].dims:
        return "its weights are no float or float16, or none"
    return ""


def _array(constant: TensorProto, folder: str) -> numpy.ndarray:
    try:
        return numpy_helper.to_array(constant, folder)
    except (OSError, TypeError, ValueError, checker.ValidationError) as error:
        raise Refusal(f"the constant '{constant.name}' cannot be read: {error}") from None


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def _drop_unused(model: ModelProto) -> None:
    """Constants that no node reads any more, in the graph or in a subgraph of it."""
    graph = model.graph
    read = {name for node in parts(model, NodeProto) for name in node.input} | {value.name for value in (*graph.output, *graph.input)}
    kept = [constant for constant in graph.initializer if constant.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
