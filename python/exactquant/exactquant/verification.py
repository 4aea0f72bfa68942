"""Whether this machine computes the bits that others do."""

import hashlib
import importlib.resources
import json
from collections.abc import Iterator
from typing import Any

import numpy

from . import formats, gguf
from ._core import dequantize, get_threads, presets, quantize, quantize_dynamic, set_threads

_ROWS, _COLUMNS = 61, 4096 + 96


def _inputs() -> Iterator[tuple[str, numpy.ndarray]]:
    """Numbers by a generator of 64 bits (Knuth's MMIX): ordinary ones, and of 32 exponents with ties and zeros."""
    state = numpy.uint64(63)
    with numpy.errstate(over="ignore"):
        powers = numpy.full(_ROWS * _COLUMNS, 6364136223846793005, numpy.uint64).cumprod(dtype=numpy.uint64)
        sums = numpy.concatenate([numpy.ones(1, numpy.uint64), powers[:-1]]).cumsum(dtype=numpy.uint64)
        bits: numpy.ndarray = powers * state + sums * numpy.uint64(1442695040888963407)
    whole = (bits >> numpy.uint64(40)).astype(numpy.int64) - (1 << 23)  # 24 bits, so that floats hold them
    ordinary = (whole.astype(numpy.float32) * numpy.float32(2**-21)).reshape(_ROWS, _COLUMNS)
    exponents = (bits >> numpy.uint64(33) & numpy.uint64(31)).astype(numpy.int32) - 18
    ties = numpy.ldexp((whole >> 18).astype(numpy.float32) * numpy.float32(0.25), exponents).reshape(_ROWS, _COLUMNS).astype(numpy.float32)
    yield "ordinary", ordinary
    yield "ties", ties


def _cases(x: numpy.ndarray) -> Iterator[tuple[str, object]]:
    of_rows = numpy.exp2(-(numpy.arange(len(x)) % 9)).astype(numpy.float32)
    for dtype in ("int8", "uint8", "int16", "uint16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"):
        yield f"quantize {dtype}", quantize(x, 0.037, dtype=dtype)
        yield f"quantize {dtype} by row", quantize(x, of_rows, dtype=dtype, axis=0)
        yield f"dequantize {dtype}", dequantize(quantize(x, of_rows, dtype=dtype, axis=0), of_rows, axis=0, q_dtype=dtype)
    half = x.clip(-65504, 65504).astype(numpy.float16)
    for dtype in ("int8", "uint8", "int4", "uint4", "float8_e4m3fn", "float8_e5m2"):
        yield f"strict {dtype}", quantize(x, 0.037, dtype=dtype, rule="strict")
        yield f"strict {dtype} by row", quantize(x, of_rows, dtype=dtype, axis=0, rule="strict")
    for dtype in ("int2", "uint2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn"):
        yield f"quantize {dtype}", quantize(x, 0.037, dtype=dtype)
    for dtype in ("int8", "uint8", "float8_e4m3fn", "int4"):
        codes = quantize(half, 0.037, dtype=dtype)
        yield f"quantize {dtype} of float16", codes
        yield f"strict {dtype} of float16", quantize(half, 0.037, dtype=dtype, rule="strict")
        for to in ("float16", "bfloat16"):
            yield f"dequantize {dtype} to {to}", dequantize(codes, 0.037, q_dtype=dtype, dtype=to)
    for preset in presets():
        yield f"dynamic {preset}", quantize_dynamic(x, "int8", preset=preset, axis=-1, block_size=32)
        yield f"dynamic {preset} of float16", quantize_dynamic(half, "int8", preset=preset, axis=-1, block_size=32)
    for dtype in ("int8", "uint8"):
        yield f"dynamic {dtype}", quantize_dynamic(x, dtype)
        yield f"dynamic {dtype} by row", quantize_dynamic(x, dtype, axis=0)
    yield "int8 by token", formats.int8_per_token(x)
    for rule in ("floor", "ceil", "even", "rceil"):
        yield f"mxfp8 {rule}", formats.mxfp8(x, rule=rule)
        yield f"mxfp4 {rule}", formats.mxfp4(x, rule=rule)
    yield "mxfp6", formats.mxfp6(x)
    yield "mxfp8 e5m2", formats.mxfp8(x, element="e5m2")
    yield "mxfp6 e3m2", formats.mxfp6(x, element="e3m2")
    yield "from mxfp8 e5m2", formats.from_mxfp8(*formats.mxfp8(x, element="e5m2"), element="e5m2")
    yield "from mxfp6 e3m2", formats.from_mxfp6(*formats.mxfp6(x, element="e3m2"), element="e3m2")
    yield "from mxfp8", formats.from_mxfp8(*formats.mxfp8(x))
    yield "from mxfp4", formats.from_mxfp4(*formats.mxfp4(x))
    yield "from mxfp6", formats.from_mxfp6(*formats.mxfp6(x))
    yield "from int8 by token", formats.from_int8_per_token(*formats.int8_per_token(x))
    yield "nvfp4", formats.nvfp4(x)
    yield "from nvfp4", formats.from_nvfp4(*formats.nvfp4(x))
    codes, scale = formats.nvfp4(x, 0.037)
    yield "nvfp4 by a global scale", (codes, scale)
    yield "from nvfp4 by a global scale", formats.from_nvfp4(codes, scale, 0.037)
    blocks = gguf.quantize(x, "Q8_1").reshape(-1)
    for name, (elements, size, is_quantized) in gguf._BLOCKS.items():
        if is_quantized:
            whole = x if x.shape[-1] % elements == 0 else x.reshape(-1)[: x.size // elements * elements]
            yield f"gguf {name}", gguf.quantize(whole, name)
            yield f"from gguf {name}", gguf.dequantize(gguf.quantize(whole, name), name)
        else:  # any bytes are blocks
            yield f"from gguf {name}", gguf.dequantize(blocks[: blocks.size // size * size].reshape(-1, size), name)


def _digest(result: object) -> str:
    digest = hashlib.sha256()
    for one in result if isinstance(result, tuple) else (result,):
        if one is not None:
            array = numpy.ascontiguousarray(one)
            if array.dtype.kind == "f":
                array = numpy.where(numpy.isnan(array), array.dtype.type(numpy.nan), array)  # processors make NaN of other bits
            digest.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def digests() -> dict[str, str]:
    """Of each case, of what this machine computes."""
    return {f"{case}, {kind}": _digest(result) for kind, x in _inputs() for case, result in _cases(x)}


def verify() -> dict[str, Any]:
    """Computes formats of twice 256 thousand numbers, by one thread and by three, and compares digests with those that the package
    brings: how many, and the names of those that differ, which is none unless processor, compiler or memory are at fault. Left out are
    rule="any", x of bfloat16 and exactquant.torchao. It runs the processor's best instructions, or those that the variable
    DYNQUANT_MAX_ISA allows. The package computed its digests itself: that they are right is what its tests say. Half a second.

    >>> import exactquant
    >>> exactquant.verify()["differ"]
    []
    """
    expected = json.loads(importlib.resources.files(__package__).joinpath("digests.json").read_text())
    differ: set[str] = set()
    threads = get_threads()
    try:
        for count in (1, 3):
            set_threads(count)
            given = digests()
            differ |= {name for name in expected.keys() | given.keys() if given.get(name) != expected.get(name)}
    finally:
        set_threads(threads)
    return {"checked": len(expected), "differ": sorted(differ)}


if __name__ == "__main__":  # makes digests.json
    print(json.dumps(digests(), indent=0))
