"""ONNX Runtime on the same statements: one-node models, bound buffers, medians."""

import dataclasses

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

from reporting.timing import median_time

VERSION = onnxruntime.__version__


@dataclasses.dataclass(frozen=True)
class Statement:
    """A case of dqbench's, by its name there. No axis: per tensor."""

    name: str
    op: str
    dims: tuple[int, ...]
    axis: int | None = None


STATEMENTS = [
    Statement("256", "QuantizeLinear", (256,)),
    Statement("64Ki", "QuantizeLinear", (65536,)),
    Statement("1Mi", "QuantizeLinear", (1048576,)),
    Statement("64Mi", "QuantizeLinear", (67108864,)),
    Statement("1000003", "QuantizeLinear", (1000003,)),
    Statement("8x64x56x56", "QuantizeLinear", (8, 64, 56, 56), 1),
    Statement("512x768", "QuantizeLinear", (512, 768), 1),
    Statement("64Ki", "DequantizeLinear", (65536,)),
    Statement("1Mi", "DequantizeLinear", (1048576,)),
    Statement("1000003", "DequantizeLinear", (1000003,)),
]


def _model(s: Statement) -> bytes:
    quantizes = s.op == "QuantizeLinear"
    x, y = (TensorProto.FLOAT, TensorProto.UINT8) if quantizes else (TensorProto.UINT8, TensorProto.FLOAT)
    parameters = [] if s.axis is None else [s.dims[s.axis]]
    node = helper.make_node(s.op, ["x", "scale", "zero_point"], ["y"], axis=1 if s.axis is None else s.axis)
    graph = helper.make_graph(
        [node],
        s.name,
        [
            helper.make_tensor_value_info("x", x, s.dims),
            helper.make_tensor_value_info("scale", TensorProto.FLOAT, parameters),
            helper.make_tensor_value_info("zero_point", TensorProto.UINT8, parameters),
        ],
        [helper.make_tensor_value_info("y", y, s.dims)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def _session(s: Statement, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_model(s), options, providers=["CPUExecutionProvider"])


def measure(s: Statement, threads: int, milliseconds: float) -> float:
    """The median time of a run, in milliseconds."""
    random = numpy.random.default_rng(1)
    if s.op == "QuantizeLinear":
        x, y = random.standard_normal(s.dims, dtype=numpy.float32), numpy.empty(s.dims, numpy.uint8)
    else:
        x, y = random.integers(0, 256, s.dims, dtype=numpy.uint8), numpy.empty(s.dims, numpy.float32)
    count = () if s.axis is None else (s.dims[s.axis],)
    session = _session(s, threads)
    binding = session.io_binding()
    inputs = {"x": x, "scale": numpy.full(count, 0.02, numpy.float32), "zero_point": numpy.full(count, 128, numpy.uint8)}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in inputs.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    result = onnxruntime.OrtValue.ortvalue_from_numpy(y)
    binding.bind_ortvalue_output("y", result)
    return 1e3 * median_time(lambda: session.run_with_iobinding(binding), milliseconds / 1e3)


def versions() -> dict[str, str]:
    return {"ONNX Runtime": onnxruntime.__version__, "onnx": onnx.__version__}
