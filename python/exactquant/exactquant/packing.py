"""Codes of less than a byte, one to a byte or packed."""

import numpy

from .arguments import array_of

_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}


def _known(dtype: object) -> tuple[str, int]:
    """Its name, and bits."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    if name not in _BITS:
        raise ValueError(f"dtype: expected one of {', '.join(_BITS)}, given {name}")
    return name, _BITS[name]


def _turned(packed: numpy.ndarray, bits: int, first: str) -> numpy.ndarray:
    """Exchanges the halves of bytes, if `first` says so."""
    if not isinstance(first, str) or first not in ("low", "high"):
        raise ValueError(f"first: expected 'low' or 'high', given {first!r}")
    if first == "low":
        return packed
    if bits != 4:
        raise ValueError(f"first: expected 'low', as codes have {bits} bits, given 'high'")
    return packed << 4 | packed >> 4


def pack(codes: numpy.ndarray, dtype: object, *, first: str = "low") -> numpy.ndarray:
    """Packs codes, one to a byte, along the last dimension: the first in the lowest bits of the first byte. The upper bits of the
    bytes are ignored, as two's complement has them. That is ONNX's order, and torchao's of MX and NVFP4. first: "high" has the first
    of two codes of 4 bits in the high bits, as torchao's int4 weights have them.

    >>> import numpy, exactquant
    >>> exactquant.pack(numpy.int8([[1, -1, 2, 3]]), "int4").tolist()
    [[241, 50]]
    """
    _, bits = _known(dtype)
    codes = array_of(codes, "codes")
    if codes.dtype.itemsize != 1:
        raise TypeError(f"codes: expected one code to a byte, given {codes.dtype}")
    if codes.ndim == 0 or codes.shape[-1] * bits % 8:
        raise ValueError(f"codes: expected a last dimension whose codes of {bits} bits fill bytes, given shape {codes.shape}")
    each = numpy.unpackbits(codes.view(numpy.uint8)[..., None], axis=-1, count=bits, bitorder="little")
    return _turned(numpy.packbits(each.reshape(*codes.shape[:-1], codes.shape[-1] * bits), axis=-1, bitorder="little"), bits, first)


def unpack(packed: numpy.ndarray, dtype: object, *, first: str = "low") -> numpy.ndarray:
    """The inverse of pack(): one code to a byte, of int8 for int4 and int2, else of uint8.

    >>> import numpy, exactquant
    >>> exactquant.unpack(numpy.uint8([[241, 50]]), "int4").tolist()
    [[1, -1, 2, 3]]
    """
    name, bits = _known(dtype)
    packed = array_of(packed, "packed")
    if packed.dtype != numpy.uint8:
        raise TypeError(f"packed: expected uint8, given {packed.dtype}")
    if packed.ndim == 0 or packed.shape[-1] * 8 % bits:
        raise ValueError(f"packed: expected bytes that codes of {bits} bits fill, given shape {packed.shape}")
    each = numpy.unpackbits(_turned(packed, bits, first), axis=-1, bitorder="little").reshape(*packed.shape[:-1], packed.shape[-1] * 8 // bits, bits)
    codes = numpy.packbits(each, axis=-1, bitorder="little")[..., 0]
    if not name.startswith("int"):
        return codes
    sign = 1 << bits - 1
    return ((codes ^ sign).astype(numpy.int16) - sign).astype(numpy.int8)
