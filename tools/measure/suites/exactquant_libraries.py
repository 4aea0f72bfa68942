"""What libraries of tensors make of the cases of exactquant.py, on one thread. They take gigabytes: .deps/dynamic."""

from collections.abc import Callable

import numpy
import torch
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
from torchao.quantization.quant_primitives import dequantize_affine, quantize_affine

from .dynamic_libraries import Run, compiled_by_torch, ggml_row, int8_by_token, piquant_dynamic

TORCHAO, COMPILED, GGML, PIQUANT = "torchao", "torchao compiled", "ggml", "pi-quant"
BLOCK = 32
FP8, FP4 = torch.float8_e4m3fn, torch.float4_e2m1fn_x2


def _compiled(function: Callable, *given: object) -> Run:
    """By torch.compile, which takes half a minute."""
    run = compiled_by_torch(function)
    run(*given)
    return lambda: run(*given)


def _by_torchao(function: Callable, *given: object) -> dict[str, Callable[[], Run]]:
    return {TORCHAO: lambda: lambda: function(*given), COMPILED: lambda: _compiled(function, *given)}


def _by_ggml(*how: object) -> dict[str, Callable[[], Run]]:
    run = ggml_row(*how)
    return {GGML: lambda: run} if run else {}


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
        "dynamic uint8": {PIQUANT: lambda: piquant_dynamic(x, 1)},
        "int8 by token": _by_torchao(int8_by_token, t),
        "MXFP8": _by_torchao(to_mx, t, FP8, BLOCK),
        "MXFP4": _by_torchao(to_mx, t, FP4, BLOCK),
        "from MXFP8": _by_torchao(to_dtype, codes8, scale8, FP8, BLOCK, torch.float32),
        "from MXFP4": _by_torchao(to_dtype, codes4, scale4, FP4, BLOCK, torch.float32),
        "NVFP4": _by_torchao(nvfp4_quantize, t),
    }
    reals = numpy.empty(x.shape, numpy.float32)
    for name, packed in blocks.items():
        row = f"quantize_row_{name.lower().replace('_k', '_K')}"
        found[f"gguf {name}"] = _by_ggml(row, x, packed.copy(), x.size)
        found[f"from gguf {name}"] = _by_ggml(f"de{row}", packed, reals, x.size)
    return found
