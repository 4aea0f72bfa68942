"""Models of ONNX and sessions of ONNX Runtime, alone and with dynquant's libraries."""

import dataclasses
import functools
import pathlib

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from .turns import Turn, runs, turn

RUNTIME, PROVIDER = "ONNX Runtime", "provider"
EP_NAME = "DynquantExecutionProvider"


@dataclasses.dataclass(frozen=True)
class Peer:
    """An implementation. library: its custom operators; provider: the library of its execution provider; options: the
    provider's. disabled: those of ONNX Runtime's optimizers that it goes without."""

    name: str
    library: str | None = None
    provider: str | None = None
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    disabled: tuple[str, ...] = ()


def provider_peer(build: pathlib.Path) -> Peer:
    return Peer(PROVIDER, provider=str(build / "src/libdynquant_onnxruntime.so"))


def make_model(nodes: list[onnx.NodeProto], inputs: dict, outputs: dict, constants: list[onnx.TensorProto], opset: int) -> bytes:
    """inputs, outputs: types and shapes by name."""

    def infos(of: dict) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, *type_and_shape) for name, type_and_shape in of.items()]

    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in {n.domain for n in nodes} - {""}]
    graph = helper.make_graph(nodes, "case", infos(inputs), infos(outputs), initializer=constants)
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


class Graph:
    """Collects nodes. Inputs are names, or arrays, which become constants."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def _constant(self, value: numpy.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, order="C"), f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind: str, *inputs: str | numpy.ndarray, outputs: int = 1, **attributes: object) -> str | list[str]:
        """The name of the output, or of all of several."""
        name = f"{kind}_{len(self.nodes)}"
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, [x if isinstance(x, str) else self._constant(x) for x in inputs], names, name, **attributes))
        return name if outputs == 1 else names

    def dynamic_layer(self, x: str, w: numpy.ndarray, zero_point: int | None = None, scale: float | None = None, **window: object) -> str:
        """From DynamicQuantizeLinear to Mul, as quantize_dynamic makes them."""
        quantized, of_x, zero = self.op("DynamicQuantizeLinear", x, outputs=3)
        of_w = () if zero_point is None else (w.dtype.type(zero_point),)
        sums = self.op("MatMulInteger" if w.ndim == 2 else "ConvInteger", quantized, w, zero, *of_w, **window)
        scales = of_x if scale is None else self.op("Mul", of_x, numpy.float32(scale))
        return self.op("Mul", self.op("Cast", sums, to=TensorProto.FLOAT), scales)

    def model(self, inputs: dict, outputs: dict, opset: int) -> bytes:
        return make_model(self.nodes, inputs, outputs, self.constants, opset)


def session(model: bytes | str, peer: Peer, threads: int, optimized: bool = True, profile: str = "") -> onnxruntime.InferenceSession:
    """model: a file's bytes or its path. profile: the prefix of the path of the profile, if there is to be one."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = bool(profile)
    if profile:
        options.profile_file_prefix = profile
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    if peer.library:
        options.register_custom_ops_library(peer.library)
    disabled = {"disabled_optimizers": list(peer.disabled)} if peer.disabled else {}
    if peer.provider:
        options.add_provider_for_devices(_provider_devices(peer.provider), peer.options)
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        return onnxruntime.InferenceSession(model, options, enable_fallback=0, **disabled)  # a provider that fails is an error
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], **disabled)


def claimed_products(one: onnxruntime.InferenceSession) -> int:
    """How many products of integers the provider has. A node of it may hold several."""
    parts = (part for part in one.get_provider_graph_assignment_info() if part.ep_name == EP_NAME)
    return sum(node.op_type in ("ConvInteger", "MatMulInteger") for part in parts for node in part.get_nodes())


@functools.cache
def _provider_devices(library: str) -> list:
    onnxruntime.register_execution_provider_library("dynquant", library)
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == EP_NAME][:1]


def bound(one: onnxruntime.InferenceSession, inputs: dict[str, numpy.ndarray | onnxruntime.OrtValue]) -> Turn:
    """A session whose buffers stay the same from run to run."""
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(v) if isinstance(v, numpy.ndarray) else v for name, v in inputs.items()}
    names = [value.name for value in one.get_outputs()]
    outputs = one.run_with_ort_values(names, values)
    binding = one.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in zip(names, outputs):
        binding.bind_ortvalue_output(name, value)
    return lambda seconds: turn(lambda: (values, outputs, one.run_with_iobinding(binding)), seconds)


def kept(sessions: dict[str, onnxruntime.InferenceSession], inputs: dict) -> dict[str, Turn]:
    """Sessions that stay from turn to turn, and make new outputs in each run."""
    return runs({name: lambda one=one: one.run(None, inputs) for name, one in sessions.items()})


def fresh(model: bytes, peer: Peer, threads: int, inputs: dict, optimized: bool = True) -> Turn:
    """A new session for each turn, and no other is alive: its threads would spin and take cores."""
    return lambda seconds: bound(session(model, peer, threads, optimized), inputs)(seconds)
