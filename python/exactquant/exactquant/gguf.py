"""ggml's blocks, of which GGUF files consist: scales and codes lie side by side in bytes.

``quantize`` and ``dequantize`` have the signatures of those in the package gguf (llama.cpp's gguf-py), and give the same bytes and
floats, so that a program need only change its import. Not the same are blocks with a NaN or an infinity; of Q4_1 and Q5_1 the sign of a
least element 0, which is the first zero's, as in ggml; and MXFP4 of blocks below 2 ** -125, whose scale is the least here and wraps there.

>>> import numpy, exactquant
>>> x = numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(1, 64)
>>> blocks = exactquant.gguf.quantize(x, "Q8_0")
>>> blocks.shape, blocks.dtype.name
((1, 68), 'uint8')
>>> float(abs(exactquant.gguf.dequantize(blocks, "Q8_0") - x).max()) < 0.005
True

Blocks of 32 elements, b bytes each; d and m are float16, s is E8M0, the codes of elements i and i + 16 share a byte, the first in its low
bits:

====== == =================================== =============================================================
type   b  bytes                               formula
====== == =================================== =============================================================
Q4_0   18 d, 16 of codes                      d = x[j] / -8 of the largest abs(x[j]); x = d * (code - 8)
Q4_1   20 d, m, 16 of codes                   m = min(x), d = (max(x) - m) / 15; x = d * code + m
Q5_0   22 d, 32 fifth bits, 16 of codes       d = x[j] / -16; x = d * (code - 16)
Q5_1   24 d, m, 32 fifth bits, 16 of codes    d = (max(x) - m) / 31; x = d * code + m
Q8_0   34 d, 32 codes of int8                 d = max(abs(x)) / 127, halves away from zero; x = code * d
Q8_1   36 d, sum of codes times d, 32 codes   as Q8_0
MXFP4  17 s, 16 of codes of E2M1              s = 2 ** (floor(log2(max(abs(x)))) - 2), log2 in float32; the nearest code
NVFP4  36 four scales of E4M3, 32 of codes    of 64 elements, 16 for each scale; dequantize alone, as in gguf
BF16   2  one element                         to nearest, ties to even
F16    2  one element                         to nearest, ties to even
F32    4  one element                         copied
====== == =================================== =============================================================

MXFP4 takes the smaller of two codes that are as near. Q8_1 is not in the package gguf, but in ggml.

Blocks of 256 elements, of codes -1, 0 and 1 times d = max(abs(x)), halves away from zero: TQ1_0, 54 bytes, five codes to a byte; TQ2_0, 66
bytes, four. Where 1 / d is beyond float32 all codes are 0.

dequantize() also has these, to which gguf does not quantize. Blocks of 256 elements, IQ4_NL's of 32; scales and
minima are codes, times d and m of a block:

====== ==== ===============================================================
Q2_K     84 x = d * scale * code - m * minimum, for 16 elements each
Q3_K    110 x = d * (scale - 32) * (code - 4), for 16
Q4_K    144 as Q2_K, for 32
Q5_K    176 as Q2_K, for 32
Q6_K    210 x = d * scale * (code - 32), for 16
IQ4_NL   18 x = d * value, one of a table of 16 by the code
IQ4_XS  136 x = d * (scale - 32) * value, for 32
====== ==== ===============================================================

Those with IQ1, IQ2 and IQ3 in their names, whose tables are large, are in neither function.
"""

import typing

import numpy

from ._core import ggml_dequantize, ggml_quantize, ggml_types
from .arguments import array_of, whole_number

_PLAIN = {"F32": numpy.float32, "F16": numpy.float16}
_BLOCKS: dict[str, tuple[int, int, bool]] = ggml_types()  # elements, bytes, whether it can be quantized to
TYPES = (*_BLOCKS, *_PLAIN)


def _name_of(qtype: typing.Any, quantizes: bool) -> str:
    name = qtype if isinstance(qtype, str) else getattr(qtype, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"qtype: expected a name such as 'Q8_0', or gguf.GGMLQuantizationType's, given {type(qtype).__name__}")
    if name not in _PLAIN and not (name in _BLOCKS and (_BLOCKS[name][2] or not quantizes)):
        known = [t for t in TYPES if t in _PLAIN or _BLOCKS[t][2] or not quantizes]
        raise NotImplementedError(f"qtype: expected one of {', '.join(known)}, given {name}")
    return name


def _checked_last(shape: tuple[int, ...], fills: int, what: str, unit: str) -> int:
    if not shape or shape[-1] % fills:
        raise ValueError(f"{what}: expected a last dimension of {fills} {unit} times any number, given shape {shape}")
    return shape[-1] // fills


def _result(out: numpy.ndarray | None, shape: tuple[int, ...], dtype: type, apart_from: numpy.ndarray | None = None) -> numpy.ndarray:
    """out, or what is made in its place."""
    if out is None:
        return numpy.empty(shape, dtype)
    if not isinstance(out, numpy.ndarray) or out.dtype != dtype:
        raise TypeError(f"out: expected an array of {numpy.dtype(dtype)}, given {getattr(out, 'dtype', type(out).__name__)}")
    if out.shape != shape or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"out: expected a dense, writable array of shape {shape}, given shape {out.shape}"
                         f"{'' if out.flags.c_contiguous else ', not dense'}{'' if out.flags.writeable else ', read-only'}")  # fmt: skip
    if apart_from is not None and numpy.may_share_memory(out, apart_from):
        raise ValueError("out: expected memory apart from data, given memory that both share")
    return out


def _converted(data: numpy.ndarray, dtype: type, out: numpy.ndarray | None) -> numpy.ndarray:
    if out is None:
        return data.astype(dtype, copy=False)
    result = _result(out, data.shape, dtype)
    numpy.copyto(result, data, casting="unsafe")  # as astype()
    return result


def quantize(data: numpy.ndarray, qtype: typing.Any, *, out: numpy.ndarray | None = None, threads: int = 0) -> numpy.ndarray:
    """The blocks of `data`, shape (..., n), as uint8, shape (..., n / elements of a block * bytes of one).

    data: float32, dense; other floats and orders are copied first. qtype: a name, or gguf.GGMLQuantizationType's member. out: takes the
    result. threads: of blocks, at most so many; 0: as set_threads() says. F32 and F16 give arrays of float32 and float16, as in gguf.

    >>> import numpy, exactquant
    >>> exactquant.gguf.quantize(numpy.full(32, 127, numpy.float32), "Q8_0")[:4].tolist()  # 1.0 of float16, two codes
    [0, 60, 127, 127]
    """
    name = _name_of(qtype, quantizes=True)
    data, threads = array_of(data, "data"), whole_number(threads, "threads", 2**31 - 1)
    if data.dtype.kind != "f" and data.dtype.name != "bfloat16":
        raise TypeError(f"data: expected floats, given {data.dtype}")
    if name in _PLAIN:
        return _converted(data, _PLAIN[name], out)
    x = numpy.ascontiguousarray(data, numpy.float32)
    elements, size, _ = _BLOCKS[name]
    blocks = _checked_last(data.shape, elements, "data", "elements")
    result = _result(out, (*x.shape[:-1], blocks * size), numpy.uint8, x)
    ggml_quantize(name, x, result, threads)
    return result


def dequantize(data: numpy.ndarray, qtype: typing.Any, *, out: numpy.ndarray | None = None, threads: int = 0) -> numpy.ndarray:
    """The float32 elements of blocks: the inverse of quantize(). data: any type, of which the bytes count, shape (..., bytes).

    >>> import numpy, exactquant
    >>> exactquant.gguf.dequantize(numpy.uint8([0, 60] + [127] * 32), "Q8_0")[:2].tolist()
    [127.0, 127.0]
    """
    name = _name_of(qtype, quantizes=False)
    data, threads = array_of(data, "data"), whole_number(threads, "threads", 2**31 - 1)
    if data.dtype.hasobject:
        raise TypeError(f"data: expected bytes, given {data.dtype}")
    if data.ndim == 0:
        raise ValueError("data: expected blocks along the last dimension, given a scalar")
    given = data.view(numpy.uint8)
    if name in _PLAIN:
        _checked_last(given.shape, numpy.dtype(_PLAIN[name]).itemsize, "data", "bytes")
        return _converted(given.view(_PLAIN[name]), numpy.float32, out)
    elements, size, _ = _BLOCKS[name]
    blocks = _checked_last(given.shape, size, "data", "bytes")
    result = _result(out, (*given.shape[:-1], blocks * elements), numpy.float32, given)
    ggml_dequantize(name, given, result, threads)
    return result
