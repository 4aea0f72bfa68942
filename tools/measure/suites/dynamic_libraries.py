"""The libraries of dynamic.py. Each function prepares a case for a number of threads and returns what runs it once."""

import ctypes
import importlib.metadata
import pathlib
from collections.abc import Callable

import numpy
import piquant
import torch
from onnx import TensorProto, helper
from torchao.prototype.mx_formats.mx_tensor import to_mx
from torchao.quantization import Int8Tensor, PerRow

from .. import sessions
from ..turns import Turn
from .dynamic import Case

Run = Callable[[], object]


def _array(case: Case) -> numpy.ndarray:
    return numpy.random.default_rng(1).standard_normal(case.dims, dtype=numpy.float32)


def _torch(function: Callable, compiled: bool = False) -> Callable[[Case, int], Run]:
    """A function of PyTorch's tensors, as it is or by torch.compile, which takes half a minute for each case."""

    def prepare(case: Case, threads: int) -> Run:
        torch.set_num_threads(threads)
        x = torch.from_numpy(_array(case)).to(torch.bfloat16 if case.type == "bf16" else torch.float32)
        torch._dynamo.reset()  # else the code for the last case or number of threads may serve this one
        run = torch.compile(function, dynamic=False) if compiled else function
        return lambda: run(x)

    return prepare


def _int8(x: torch.Tensor) -> object:
    """As Int8DynamicActivationInt8WeightConfig quantizes activations."""
    quantized = Int8Tensor.from_hp(x, PerRow())
    return quantized.qdata, quantized.scale


def _to_mx(x: torch.Tensor) -> object:
    return to_mx(x, torch.float8_e4m3fn, 32)


def _onnxruntime(case: Case, threads: int) -> Turn:
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero_point"])
    outputs = {"y": (TensorProto.UINT8, case.dims), "scale": (TensorProto.FLOAT, []), "zero_point": (TensorProto.UINT8, [])}
    model = sessions.make_model([node], {"x": (TensorProto.FLOAT, case.dims)}, outputs, [], 13)
    return sessions.bound(sessions.session(model, sessions.Peer(sessions.RUNTIME), threads), {"x": _array(case)})


def _piquant(case: Case, threads: int) -> Run:
    x, y = _array(case), numpy.empty(case.dims, numpy.uint8)
    context = piquant.Context(threads)
    real, code = piquant.DataType.F32, piquant.DataType.UINT8

    def run() -> None:
        scale, zero_point = context.compute_quant_params_ptr_float32(x.ctypes.data, code, x.size)
        context.quantize_ptr(x.ctypes.data, real, y.ctypes.data, code, x.size, scale, zero_point, piquant.RoundMode.NEAREST)

    return run


def _ggml(case: Case, threads: int) -> Run | None:
    """A row's function, called for all rows at once: a block does not see where a row ends."""
    if threads != 1:
        return None
    folder = pathlib.Path(str(importlib.metadata.distribution("pywhispercpp").locate_file("")))
    libraries = {name: str(next(folder.glob(f"pywhispercpp.libs/lib{name}-*.so*"))) for name in ("gomp", "ggml-base", "ggml-cpu")}
    for name in libraries:  # in the order in which they need each other
        library = ctypes.CDLL(libraries[name], mode=ctypes.RTLD_GLOBAL)
    x = _array(case)
    y = numpy.empty(x.size // 32 * 34, numpy.uint8)  # a block: an f16 scale and 32 codes
    arguments = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(x.size)
    return lambda: (x, y, library.quantize_row_q8_0(*arguments))


LIBRARIES: dict[str, Callable[[Case, int], Run | Turn | None]] = {
    "onnxruntime": _onnxruntime,
    "piquant": _piquant,
    "torchao": _torch(_int8),
    "torchao compiled": _torch(_int8, compiled=True),
    "torchao mx": _torch(_to_mx),
    "torchao mx compiled": _torch(_to_mx, compiled=True),
    "fbgemm": _torch(torch.ops.quantized.embedding_bag_byte_prepack),  # as PyTorch has it built in
    "ggml": _ggml,
}
