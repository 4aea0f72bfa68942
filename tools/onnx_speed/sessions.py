"""Builds a case's model of one node or a chain, and makes sessions and runs them with bound buffers."""

import dataclasses
import functools

import numpy
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper
from reporting.timing import times

from .cases import ONNX, QUARK, Case

BITS = {T.FLOAT: 32, T.UINT32: 32, T.INT32: 32, T.FLOAT16: 16, T.BFLOAT16: 16, T.UINT16: 16, T.INT16: 16,
        T.UINT4: 4, T.INT4: 4}  # fmt: skip
SCALES = {4: 0.4, 8: 0.02}  # by bits of the quantized type: a normally distributed x fills most of its range


@dataclasses.dataclass(frozen=True)
class Peer:
    """An implementation. library: its custom operators; domain: where it has ONNX's operators; provider: the library of its
    execution provider; options: the provider's."""

    name: str
    library: str | None = None
    domain: str = ONNX
    provider: str | None = None
    options: dict[str, str] = dataclasses.field(default_factory=dict)


def bytes_moved(case: Case) -> float:
    """The bytes of x and y; DynamicQuantizeLinear reads x twice."""
    count = float(numpy.prod(case.dims))
    return count * (BITS.get(case.types[0], 8) * (2 if case.dynamic else 1) + BITS.get(case.types[2], 8)) / 8


def _opset(case: Case) -> int:
    return 13 if case.dynamic or case.domain == QUARK else 21


def make_model(nodes: list[onnx.NodeProto], inputs: dict, outputs: dict, constants: list[onnx.TensorProto], opset: int) -> bytes:
    def infos(of: dict) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, *type_and_shape) for name, type_and_shape in of.items()]

    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in {n.domain for n in nodes} - {""}]
    graph = helper.make_graph(nodes, "case", infos(inputs), infos(outputs), initializer=constants)
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def _parameters(case: Case) -> list[onnx.TensorProto]:
    count = int(numpy.prod(case.parameters))
    scale = SCALES.get(BITS.get(case.quantized_type, 8), 0.02)
    zero = 128 if case.quantized_type == T.UINT8 else 0
    return [
        helper.make_tensor("scale", case.types[1], case.parameters, [scale] * count),
        helper.make_tensor("zero_point", case.quantized_type, case.parameters, [zero] * count),
    ]


def _chain(case: Case) -> bytes:
    values = ["x", *(f"value{i}" for i in range(1, case.nodes)), "y"]
    ops = (case.op, case.op.replace("Quantize", "Dequantize"))
    nodes = [helper.make_node(ops[i % 2], [values[i], "scale", "zero_point"], [values[i + 1]], domain=case.domain) for i in range(case.nodes)]
    y = case.types[0] if case.nodes % 2 == 0 else case.types[2]
    return make_model(nodes, {"x": (case.types[0], case.dims)}, {"y": (y, case.dims)}, _parameters(case), _opset(case))


def model_of(case: Case, peer: Peer) -> bytes:
    if case.domain == ONNX:
        case = dataclasses.replace(case, domain=peer.domain)
    if case.nodes > 1:
        return _chain(case)
    if case.dynamic:
        node = helper.make_node(case.op, ["x"], ["y", "scale", "zero_point"], domain=case.domain)
        outputs = {"y": (T.UINT8, case.dims), "scale": (T.FLOAT, ()), "zero_point": (T.UINT8, ())}
        return make_model([node], {"x": (T.FLOAT, case.dims)}, outputs, [], _opset(case))
    node = helper.make_node(case.op, ["x", "scale", "zero_point"], ["y"], domain=case.domain, **dict(case.attributes))
    x, _, y = case.types
    return make_model([node], {"x": (x, case.dims)}, {"y": (y, case.dims)}, _parameters(case), _opset(case))


def session(model: bytes | str, peer: Peer, threads: int, optimized: bool = True, profile: str = "") -> onnxruntime.InferenceSession:
    """model: a file's bytes or its path. profile: the prefix of the path of the profile, if there is to be one."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = bool(profile)
    if profile:
        options.profile_file_prefix = profile
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if peer.library:
        options.register_custom_ops_library(peer.library)
    if peer.provider:
        options.add_provider_for_devices(_provider_devices(peer.provider), peer.options)
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        return onnxruntime.InferenceSession(model, options, enable_fallback=0)  # a provider that fails is an error
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@functools.cache
def _provider_devices(library: str) -> list:
    onnxruntime.register_execution_provider_library("dynquant", library)
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == "DynquantExecutionProvider"][:1]


def input_of(case: Case, dynquant: Peer) -> onnxruntime.OrtValue:
    """A normally distributed x. Types that numpy lacks are made by a model."""
    values = numpy.random.default_rng(1).standard_normal(case.dims, dtype=numpy.float32)
    floats = onnxruntime.OrtValue.ortvalue_from_numpy(values)
    if case.types[0] == T.FLOAT:
        return floats
    if case.quantizes:
        node, constants = helper.make_node("Cast", ["x"], ["y"], to=case.types[0]), []
    else:
        op, attributes = case.op.replace("Dequantize", "Quantize"), dict(case.attributes)
        node = helper.make_node(op, ["x", "scale", "zero_point"], ["y"], domain=case.domain or "dynquant", **attributes)
        constants = _parameters(dataclasses.replace(case, types=(case.types[0], T.FLOAT, T.FLOAT)))
    model = make_model([node], {"x": (T.FLOAT, case.dims)}, {"y": (case.types[0], case.dims)}, constants, 21)
    return session(model, dynquant, 2).run_with_ort_values(["y"], {"x": floats})[0]


class Runner:
    """A session whose buffers stay the same from run to run."""

    def __init__(self, one: onnxruntime.InferenceSession, x: onnxruntime.OrtValue) -> None:
        self._session = one
        (input_name,), names = ([value.name for value in values] for values in (one.get_inputs(), one.get_outputs()))
        self.outputs = one.run_with_ort_values(names, {input_name: x})
        self._binding = one.io_binding()
        self._binding.bind_ortvalue_input(input_name, x)
        for name, value in zip(names, self.outputs):
            self._binding.bind_ortvalue_output(name, value)

    def times(self, seconds: float) -> list[float]:
        """The times of runs, over at least `seconds`."""
        return times(lambda: self._session.run_with_iobinding(self._binding), seconds)
