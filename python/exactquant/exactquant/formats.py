"""Formats of blocks and of tokens by their names."""

from typing import Any

from ._core import dequantize, quantize_dynamic
from .arguments import one_of, whole_number

_MX_RULES = "floor", "ceil", "even", "rceil"
_ROW = 2**63 - 1  # a block of any row
_ELEMENTS = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn"}


def _mx(x: Any, dtype: str, rule: str, axis: int, block_size: int, out: Any, threads: int) -> tuple[Any, ...]:
    preset, block_size = f"mx_{one_of(_MX_RULES, rule, 'rule')}", whole_number(block_size, "block_size", _ROW, least=1)
    codes, scale, _ = quantize_dynamic(x, dtype, axis=axis, block_size=block_size, preset=preset, out=out, threads=threads)
    return codes, scale


def _element(name: str, *known: str) -> str:
    return _ELEMENTS[one_of(known, name, "element")]


def mxfp8(x: Any, *, element: str = "e4m3", rule: str = "floor", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> tuple[Any, ...]:
    """Codes of MXFP8 and their scales, of E8M0, for blocks along an axis (OCP Microscaling Formats 1.0, 5.3 and 6.3).

    element: "e4m3" or "e5m2". rule: how the scale 2^k follows from the largest magnitude R of a block and that of the type, M:
    "floor" k = floor(log2 R) - floor(log2 M), OCP's and torchao's; "ceil" ceil(log2 R) - floor(log2 M); "even" floor(log2 R') -
    floor(log2 M), R' being R rounded half up to the type's fraction bits; "rceil" ceil(log2(R / M)); these are torchao's. A code is
    x / 2^k, rounded to nearest even, saturated. block_size: 32 is MX's; others are taken, too.

    >>> import numpy, exactquant
    >>> codes, scale = exactquant.mxfp8(numpy.full((1, 32), 3, numpy.float32))
    >>> scale.tolist(), codes[0, 0].item()  # 2^(1 - 8) is 127 - 7; 3 / 2^-7 = 384 = 1.5 * 2^8
    ([[120]], 124)
    """
    return _mx(x, _element(element, "e4m3", "e5m2"), rule, axis, block_size, out, threads)


def mxfp6(x: Any, *, element: str = "e2m3", rule: str = "floor", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> tuple[Any, ...]:
    """Codes of MXFP6, packed, and their scales, of E8M0. element: "e2m3" or "e3m2". Else as mxfp8().

    >>> import numpy, exactquant
    >>> codes, scale = exactquant.mxfp6(numpy.float32([[1, -7.5] + [0] * 30]))
    >>> scale.tolist(), codes[0, :3].tolist()  # 1 is code 8, -7.5 is 63: the bits 0000 111111 001000
    ([[127]], [200, 15, 0])
    """
    return _mx(x, _element(element, "e2m3", "e3m2"), rule, axis, block_size, out, threads)


def mxfp4(x: Any, *, rule: str = "floor", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> tuple[Any, ...]:
    """Codes of MXFP4, packed, and their scales, of E8M0. Else as mxfp8().

    >>> import numpy, exactquant
    >>> codes, scale = exactquant.mxfp4(numpy.float32([[1, -6] + [0] * 30]))
    >>> scale.tolist(), codes[0, :2].tolist()  # 1 is code 2, -6 is 15
    ([[127]], [242, 0])
    """
    return _mx(x, "float4_e2m1fn", rule, axis, block_size, out, threads)


def _from_mx(codes: Any, scale: Any, q_dtype: str, dtype: Any, axis: int, block_size: int, out: Any, threads: int) -> Any:
    block_size = whole_number(block_size, "block_size", _ROW, least=1)
    return dequantize(codes, scale, dtype=dtype, axis=axis, block_size=block_size, q_dtype=q_dtype, scale_dtype="float8_e8m0fnu", out=out, threads=threads)


def from_mxfp8(codes: Any, scale: Any, *, element: str = "e4m3", dtype: Any = "float32", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> Any:
    """The inverse of mxfp8(): code * scale.

    >>> import numpy, exactquant
    >>> exactquant.from_mxfp8(*exactquant.mxfp8(numpy.full((1, 32), 3, numpy.float32)))[0, 0].item()
    3.0
    """
    return _from_mx(codes, scale, _element(element, "e4m3", "e5m2"), dtype, axis, block_size, out, threads)


def from_mxfp6(codes: Any, scale: Any, *, element: str = "e2m3", dtype: Any = "float32", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> Any:
    """The inverse of mxfp6(): code * scale.

    >>> import numpy, exactquant
    >>> exactquant.from_mxfp6(*exactquant.mxfp6(numpy.float32([[1, -7.5] + [0] * 30])))[0, :3].tolist()
    [1.0, -7.5, 0.0]
    """
    return _from_mx(codes, scale, _element(element, "e2m3", "e3m2"), dtype, axis, block_size, out, threads)


def from_mxfp4(codes: Any, scale: Any, *, dtype: Any = "float32", axis: int = -1, block_size: int = 32, out: Any = None, threads: int = 0) -> Any:
    """The inverse of mxfp4(): code * scale.

    >>> import numpy, exactquant
    >>> exactquant.from_mxfp4(*exactquant.mxfp4(numpy.float32([[1, -6] + [0] * 30])))[0, :3].tolist()
    [1.0, -6.0, 0.0]
    """
    return _from_mx(codes, scale, "float4_e2m1fn", dtype, axis, block_size, out, threads)


def nvfp4(x: Any, global_scale: float | None = None, *, out: Any = None, threads: int = 0) -> tuple[Any, ...]:
    """Codes of NVFP4, packed, and their scales, of E4M3, for blocks of 16 along the last dimension, as torchao's nvfp4_quantize:
    scale = max(R / 6 / g, 2^-6) rounded to E4M3, code = x * (1 / g / scale). global_scale: g, None is 1. The g that uses E4M3's whole
    range is max|x| / (448 * 6), torchao's per_tensor_scale; give from_nvfp4() the same one.

    >>> import numpy, exactquant
    >>> codes, scale = exactquant.nvfp4(numpy.float32([[6, 3] + [0] * 14]))
    >>> scale.tolist(), codes[0, 0].item()  # 1.0 of E4M3 is 56; 6 is code 7, 3 is code 5
    ([[56]], 87)
    """
    codes, scale, _ = quantize_dynamic(x, "float4_e2m1fn", axis=-1, block_size=16, preset="nvfp4", scale_dtype="float8_e4m3fn",
                                       global_scale=global_scale, out=out, threads=threads)  # fmt: skip
    return codes, scale


def from_nvfp4(codes: Any, scale: Any, global_scale: float | None = None, *, dtype: Any = "float32", out: Any = None, threads: int = 0) -> Any:
    """The inverse of nvfp4(): code * (scale * global_scale).

    >>> import numpy, exactquant
    >>> x = numpy.float32([[6, 3] + [0] * 14])
    >>> g = abs(x).max() / (448 * 6)
    >>> exactquant.from_nvfp4(*exactquant.nvfp4(x, g), g)[0, :3].tolist()
    [6.0, 3.0, 0.0]
    """
    return dequantize(codes, scale, dtype=dtype, axis=-1, block_size=16, q_dtype="float4_e2m1fn", scale_dtype="float8_e4m3fn",
                      global_scale=global_scale, out=out, threads=threads)  # fmt: skip


def int8_per_token(x: Any, *, preset: str = "vllm", out: Any = None, threads: int = 0) -> tuple[Any, ...]:
    """int8 codes of each row, the last dimension, and a scale for each, of shape (..., 1): code = x * (1 / scale), rounded to nearest
    even. R is the row's largest magnitude. preset: "vllm", dynamic_scaled_int8_quant's: scale = R / 127, of float32; or
    "torchao_symmetric", Int8Tensor's: scale = max(R / 127.5, 2^-23), of x's type.

    >>> import numpy, exactquant
    >>> codes, scale = exactquant.int8_per_token(numpy.float32([[127, -1], [0, 254]]))
    >>> codes.tolist(), scale.tolist()
    ([[127, -1], [0, 127]], [[1.0], [2.0]])
    """
    one_of(("vllm", "torchao_symmetric"), preset, "preset")  # others have zero points, or scales of bytes
    codes, scale, _ = quantize_dynamic(x, "int8", axis=-1, block_size=_ROW, preset=preset, out=out, threads=threads)
    return codes, scale


def from_int8_per_token(codes: Any, scale: Any, *, dtype: Any = "float32", out: Any = None, threads: int = 0) -> Any:
    """The inverse of int8_per_token(): code * scale.

    >>> import numpy, exactquant
    >>> exactquant.from_int8_per_token(numpy.int8([[127, -1], [0, 127]]), numpy.float32([[1], [2]])).tolist()
    [[127.0, -1.0], [0.0, 254.0]]
    """
    return dequantize(codes, scale, dtype=dtype, out=out, threads=threads)
