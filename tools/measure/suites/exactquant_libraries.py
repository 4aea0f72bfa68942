"""What libraries of tensors make of the cases of exactquant.py, on one thread. They take gigabytes: .deps/dynamic."""

import ctypes
import importlib.metadata
import pathlib
from collections.abc import Callable

import numpy
import piquant
import torch
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
from torchao.quantization import Int8Tensor, PerRow
from torchao.quantization.quant_primitives import dequantize_affine, quantize_affine

TORCHAO, COMPILED, GGML, PIQUANT = "torchao", "torchao compiled", "ggml", "pi-quant"
BLOCK = 32
FP8, FP4 = torch.float8_e4m3fn, torch.float4_e2m1fn_x2

Run = Callable[[], object]


def _compiled(function: Callable, *given: object) -> Run:
    """By torch.compile, which takes half a minute."""
    torch._dynamo.reset()  # else the code for another function may serve this one
    run = torch.compile(function, dynamic=False)
    run(*given)
    return lambda: run(*given)


def _by_torchao(function: Callable, *given: object) -> dict[str, Callable[[], Run]]:
    return {TORCHAO: lambda: lambda: function(*given), COMPILED: lambda: _compiled(function, *given)}


def _by_token(x: torch.Tensor) -> object:
    """As Int8DynamicActivationInt8WeightConfig quantizes activations."""
    quantized = Int8Tensor.from_hp(x, PerRow())
    return quantized.qdata, quantized.scale


def _by_piquant(x: numpy.ndarray) -> Run:
    y, context = numpy.empty(x.shape, numpy.uint8), piquant.Context(1)
    real, code = piquant.DataType.F32, piquant.DataType.UINT8

    def run() -> None:
        scale, zero_point = context.compute_quant_params_ptr_float32(x.ctypes.data, code, x.size)
        context.quantize_ptr(x.ctypes.data, real, y.ctypes.data, code, x.size, scale, zero_point, piquant.RoundMode.NEAREST)

    return run


def _ggml() -> list[ctypes.CDLL]:
    folder = pathlib.Path(str(importlib.metadata.distribution("pywhispercpp").locate_file("")))
    names = ("gomp", "ggml-base", "ggml-cpu")  # in the order in which they need each other
    loaded = [ctypes.CDLL(str(next(folder.glob(f"pywhispercpp.libs/lib{name}-*.so*"))), mode=ctypes.RTLD_GLOBAL) for name in names]
    return loaded[:0:-1]


def _by_ggml(libraries: list[ctypes.CDLL], function: str, from_: numpy.ndarray, to: numpy.ndarray, elements: int) -> dict[str, Callable[[], Run]]:
    """A function of a row, called for all rows at once: a block does not see where a row ends."""
    found = next((getattr(one, function) for one in libraries if hasattr(one, function)), None)
    arguments = ctypes.c_void_p(from_.ctypes.data), ctypes.c_void_p(to.ctypes.data), ctypes.c_int64(elements)
    return {GGML: lambda: lambda: (from_, to, found(*arguments))} if found else {}


def libraries(x: numpy.ndarray, blocks: dict[str, numpy.ndarray]) -> dict[str, dict[str, Callable[[], Run]]]:
    """For cases by their names, what prepares the run of each library. blocks: of gguf's types."""
    torch.set_num_threads(1)
    t, whole, columns = torch.from_numpy(x), x.shape, (x.shape[0], 1)
    scale, zero = torch.tensor([0.03]), torch.zeros(1, dtype=torch.int32)
    scales, zeros = torch.linspace(0.02, 0.04, x.shape[1]), torch.zeros(x.shape[1], dtype=torch.int32)
    codes = quantize_affine(t, whole, scale, zero, torch.int8)
    (scale8, codes8), (scale4, codes4) = to_mx(t, FP8, BLOCK), to_mx(t, FP4, BLOCK)
    found = {
        "quantize int8, one scale": _by_torchao(quantize_affine, t, whole, scale, zero, torch.int8),
        "dequantize int8, one scale": _by_torchao(dequantize_affine, codes, whole, scale, zero, torch.int8),
        "quantize int8, a scale for each column": _by_torchao(quantize_affine, t, columns, scales, zeros, torch.int8),
        "dequantize int8, a scale for each column": _by_torchao(dequantize_affine, codes, columns, scales, zeros, torch.int8),
        "dynamic uint8": {PIQUANT: lambda: _by_piquant(x)},
        "int8 by token": _by_torchao(_by_token, t),
        "MXFP8": _by_torchao(to_mx, t, FP8, BLOCK),
        "MXFP4": _by_torchao(to_mx, t, FP4, BLOCK),
        "from MXFP8": _by_torchao(to_dtype, codes8, scale8, FP8, BLOCK, torch.float32),
        "from MXFP4": _by_torchao(to_dtype, codes4, scale4, FP4, BLOCK, torch.float32),
        "NVFP4": _by_torchao(nvfp4_quantize, t),
    }
    ggml, reals = _ggml(), numpy.empty(x.shape, numpy.float32)
    for name, packed in blocks.items():
        row = f"quantize_row_{name.lower().replace('_k', '_K')}"
        found[f"gguf {name}"] = _by_ggml(ggml, row, x, packed.copy(), x.size)
        found[f"from gguf {name}"] = _by_ggml(ggml, f"de{row}", packed, reals, x.size)
    return found
