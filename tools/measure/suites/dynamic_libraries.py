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


def compiled_by_torch(function: Callable) -> Callable:
    torch._dynamo.reset()  # else the code for the last case or number of threads may serve this one
    return torch.compile(function, dynamic=False)


def _torch(function: Callable, compiled: bool = False) -> Callable[[Case, int], Run]:
    """A function of PyTorch's tensors, as it is or by torch.compile, which takes half a minute for each case."""

    def prepare(case: Case, threads: int) -> Run:
        torch.set_num_threads(threads)
        x = torch.from_numpy(_array(case)).to(torch.bfloat16 if case.type == "bf16" else torch.float32)
        run = compiled_by_torch(function) if compiled else function
        return lambda: run(x)

    return prepare


def int8_by_token(x: torch.Tensor) -> object:
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


def piquant_dynamic(x: numpy.ndarray, threads: int) -> Run:
    """uint8 with one scale and zero point, which it computes."""
    y, context = numpy.empty(x.shape, numpy.uint8), piquant.Context(threads)
    real, code = piquant.DataType.F32, piquant.DataType.UINT8

    def run() -> None:
        scale, zero_point = context.compute_quant_params_ptr_float32(x.ctypes.data, code, x.size)
        context.quantize_ptr(x.ctypes.data, real, y.ctypes.data, code, x.size, scale, zero_point, piquant.RoundMode.NEAREST)

    return run


def ggml_row(function: str, given: numpy.ndarray, result: numpy.ndarray, elements: int) -> Run | None:
    """A row's function, if ggml has it, called for all rows at once: a block does not see where a row ends."""
    folder = pathlib.Path(str(importlib.metadata.distribution("pywhispercpp").locate_file("")))
    names = ("gomp", "ggml-base", "ggml-cpu")  # in the order in which they need each other
    loaded = [ctypes.CDLL(str(next(folder.glob(f"pywhispercpp.libs/lib{name}-*.so*"))), mode=ctypes.RTLD_GLOBAL) for name in names]
    found = next((getattr(one, function) for one in reversed(loaded) if hasattr(one, function)), None)
    arguments = ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(result.ctypes.data), ctypes.c_int64(elements)
    return (lambda: (given, result, found(*arguments))) if found else None


def _ggml(case: Case, threads: int) -> Run | None:
    x = _array(case)
    y = numpy.empty(x.size // 32 * 34, numpy.uint8)  # a block: an f16 scale and 32 codes
    return ggml_row("quantize_row_q8_0", x, y, x.size) if threads == 1 else None


LIBRARIES: dict[str, Callable[[Case, int], Run | Turn | None]] = {
    "onnxruntime": _onnxruntime,
    "piquant": lambda case, threads: piquant_dynamic(_array(case), threads),
    "torchao": _torch(int8_by_token),
    "torchao compiled": _torch(int8_by_token, compiled=True),
    "torchao mx": _torch(_to_mx),
    "torchao mx compiled": _torch(_to_mx, compiled=True),
    "fbgemm": _torch(torch.ops.quantized.embedding_bag_byte_prepack),  # as PyTorch has it built in
    "ggml": _ggml,
}
