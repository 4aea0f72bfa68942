"""Exact and fast quantization of tensors on CPUs.

Arrays are NumPy's, torch's, or anything that has ``__dlpack__`` or ``__array_interface__``; none is copied. x has elements of
float32, float16 or bfloat16, in any order that strides of 0 or more describe. ``gguf`` takes NumPy's alone, of any floats, and copies
what is not dense float32. Results have the bits that the formulas below say, on every processor and by every number of threads, but
for quantize()'s rule="any". quantize(), dequantize() and quantize_dynamic() stand under DATA, at the end.

Types of codes are named as ml_dtypes names them: int8, uint8, int16, uint16, int32, uint32, int4, uint4, int2, uint2,
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn. NumPy
has no type of 8-bit floats and none of less than a byte. Their codes are uint8, unless the type is given as ml_dtypes', or
torch's: "float8_e4m3fn" gives uint8, ``ml_dtypes.float8_e4m3fn`` gives arrays of it. Codes of less than a byte are packed along
the last dimension, in uint8 whoever names their type, the first in the lowest bits, as ONNX packs them; the last dimension must
fill bytes. bfloat16 is uint16 likewise.

Scales and zero points are shared along an axis in one of these ways:

- one for all elements: a number, or an array of one element;
- ``axis``: one for each index of that axis, shape ``(x.shape[axis],)``;
- ``axis`` and ``block_size``: one for each block of so many elements along that axis, shape of x but for ``ceil(n / block_size)``
  along it;
- neither, and scales of as many dimensions as x: those of extent 1 are shared along theirs, as NumPy broadcasts: shape
  ``(rows, 1)`` is one for each row.

Wrong arguments raise ValueError, wrong types TypeError, with what was expected and what was given; then nothing has been written.
Functions may be called on many threads at once and release the interpreter's lock while they compute.
"""

from typing import Any

from . import formats, gguf
from ._core import VERSION as __version__
from ._core import best_isa, dequantize, get_threads, presets, quantize, quantize_dynamic, set_threads
from .formats import (
    from_int8_per_token, from_mxfp4, from_mxfp6, from_mxfp8, from_nvfp4, int8_per_token, mxfp4, mxfp6, mxfp8, nvfp4)  # fmt: skip
from .layouts import swizzle_scales, unswizzle_scales
from .measures import error
from .packing import pack, unpack
from .verification import verify

__all__ = (
    "__version__", "capabilities", "dequantize", "error", "from_int8_per_token", "from_mxfp4", "from_mxfp6", "from_mxfp8",
    "from_nvfp4", "get_threads", "gguf", "int8_per_token", "mxfp4", "mxfp6", "mxfp8", "nvfp4", "pack", "presets", "quantize",
    "quantize_dynamic", "set_threads", "swizzle_scales", "unpack", "unswizzle_scales", "verify")  # fmt: skip


def capabilities() -> dict[str, Any]:
    """What this processor computes by, how many threads, and the presets.

    >>> import exactquant
    >>> sorted(exactquant.capabilities())
    ['isa', 'presets', 'threads', 'version']
    """
    return {"version": __version__, "isa": best_isa(), "threads": get_threads(), "presets": presets()}
