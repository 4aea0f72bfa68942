"""Times libraries that are called from Python, on dqbench's statements. Figures are medians of calls, which take some
microseconds more than the library itself. ONNX Runtime runs one-node models with bound buffers; pi-quant computes per
tensor only."""

import dataclasses
from collections.abc import Callable

import numpy
import onnx
import onnxruntime
import piquant
from onnx import TensorProto, helper

from reporting.timing import median_time

from .lines import D, Q


@dataclasses.dataclass(frozen=True)
class Statement:
    """A case of dqbench, with its names there. axis None: per tensor."""

    name: str
    op: str
    dims: tuple[int, ...]
    axis: int | None = None


STATEMENTS = [
    Statement("256", Q, (256,)),
    Statement("64Ki", Q, (65536,)),
    Statement("1Mi", Q, (1048576,)),
    Statement("64Mi", Q, (67108864,)),
    Statement("1000003", Q, (1000003,)),
    Statement("8x64x56x56", Q, (8, 64, 56, 56), 1),
    Statement("512x768", Q, (512, 768), 1),
    Statement("64Ki", D, (65536,)),
    Statement("1Mi", D, (1048576,)),
    Statement("64Mi", D, (67108864,)),
    Statement("1000003", D, (1000003,)),
]
SCALE, ZERO_POINT = 0.02, 128


def _buffers(s: Statement) -> tuple[numpy.ndarray, numpy.ndarray]:
    random = numpy.random.default_rng(1)
    if s.op == Q:
        return random.standard_normal(s.dims, dtype=numpy.float32), numpy.empty(s.dims, numpy.uint8)
    return random.integers(0, 256, s.dims, dtype=numpy.uint8), numpy.empty(s.dims, numpy.float32)


def _model(s: Statement) -> bytes:
    x, y = (TensorProto.FLOAT, TensorProto.UINT8) if s.op == Q else (TensorProto.UINT8, TensorProto.FLOAT)
    parameters = [] if s.axis is None else [s.dims[s.axis]]
    op_type = "QuantizeLinear" if s.op == Q else "DequantizeLinear"
    node = helper.make_node(op_type, ["x", "scale", "zero_point"], ["y"], axis=1 if s.axis is None else s.axis)
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


def _run_onnxruntime(s: Statement, threads: int) -> Callable[[], object]:
    x, y = _buffers(s)
    count = () if s.axis is None else (s.dims[s.axis],)
    session = _session(s, threads)
    binding = session.io_binding()
    inputs = {"x": x, "scale": numpy.full(count, SCALE, numpy.float32), "zero_point": numpy.full(count, ZERO_POINT, numpy.uint8)}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in inputs.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    result = onnxruntime.OrtValue.ortvalue_from_numpy(y)
    binding.bind_ortvalue_output("y", result)
    return lambda: (values, session.run_with_iobinding(binding))


def _run_piquant(s: Statement, threads: int) -> Callable[[], object] | None:
    if s.axis is not None:
        return None
    x, y = _buffers(s)
    context = piquant.Context(threads)
    real, code = piquant.DataType.F32, piquant.DataType.UINT8
    if s.op == Q:
        run, types, how = context.quantize_ptr, (real, code), piquant.RoundMode.NEAREST
    else:
        run, types, how = context.dequantize_ptr, (code, real), piquant.ReduceOp.SET
    return lambda: run(x.ctypes.data, types[0], y.ctypes.data, types[1], x.size, SCALE, ZERO_POINT, how)


LIBRARIES = {"onnxruntime": _run_onnxruntime, "piquant": _run_piquant}


def measure(threads: int, milliseconds: float) -> dict[tuple[str, str, str, int], float]:
    """The median time of a run, in milliseconds, by (library, case, op, threads)."""
    times = {}
    for s in STATEMENTS:
        for library, prepare in LIBRARIES.items():
            run = prepare(s, threads)
            if run:
                times[library, s.name, s.op, threads] = 1e3 * median_time(run, milliseconds / 1e3)
    return times


def versions() -> dict[str, str]:
    return {"ONNX Runtime": onnxruntime.__version__, "onnx": onnx.__version__, "pi-quant": piquant.__version__}
