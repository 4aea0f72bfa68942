"""torchao's functions by their signatures, on tensors in the memory of the CPU: a program need only change its import.

``quantize_affine`` and ``dequantize_affine`` are those of ``torchao.quantization.quant_primitives``, ``to_mx`` that of
``torchao.prototype.mx_formats.mx_tensor``, in torchao 0.18. They give the same bits, but for codes of NaN, which are what this
package gives, and in ``to_mx`` for blocks with an infinity, and those whose scale is 2 ** -127, which torchao divides by 2 ** -126:
of magnitudes below 2 ** -111 for E5M2, 2 ** -118 for E4M3, 2 ** -122 for E3M2, 2 ** -124 for E2M3 and E2M1. PyTorch is needed, torchao
is not.

>>> import torch
>>> from exactquant.torchao import dequantize_affine, quantize_affine
>>> x, scale, zero_point = torch.tensor([[-1.0, 0.25, 1.0]]), torch.tensor([0.5]), torch.tensor([3])
>>> codes = quantize_affine(x, (1, 3), scale, zero_point, torch.int8)
>>> codes.tolist(), dequantize_affine(codes, (1, 3), scale, zero_point, torch.int8).tolist()
([[1, 3, 5]], [[-1.0, 0.0, 1.0]])
"""

import enum
from collections.abc import Sequence

import torch

from ._core import dequantize, quantize, quantize_dynamic
from .layouts import swizzle_scales
from .packing import unpack

__all__ = ("dequantize_affine", "quantize_affine", "to_mx")

_BOUNDS = {torch.uint8: (0, 255), torch.int8: (-128, 127),
           **{getattr(torch, f"uint{bits}"): (0, 2**bits - 1) for bits in range(1, 8) if hasattr(torch, f"uint{bits}")}}  # fmt: skip
_REALS = torch.float32, torch.float16, torch.bfloat16


def _bounds(dtype: torch.dtype, what: str, least: float | None, most: float | None) -> tuple[int, int]:
    if dtype not in _BOUNDS:
        raise ValueError(f"{what}: expected torch.int8, uint8 or uint1 to uint7, given {dtype}")
    low, high = _BOUNDS[dtype]
    least, most = low if least is None else least, high if most is None else most
    if not low <= least <= most <= high or least != int(least) or most != int(most):
        raise ValueError(f"quant_min, quant_max: expected integers from {low} to {high}, given {least} and {most}")
    return int(least), int(most)


def _checked(x: torch.Tensor, what: str, dtypes: tuple[torch.dtype, ...]) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{what}: expected a torch.Tensor, given {type(x).__name__}")
    if x.dtype not in dtypes:
        raise TypeError(f"{what}: expected elements of {', '.join(map(str, dtypes))}, given {x.dtype}")
    if x.device.type != "cpu":
        raise ValueError(f"{what}: expected a tensor in the memory of the CPU, given one on {x.device}")
    return x.detach()


def _split(shape: torch.Size, block_size: Sequence[int]) -> tuple[list[int], list[int]]:
    """The shape whose dims are blocks, or within one; that of the scales, which has 1 where elements share them."""
    if len(block_size) != len(shape):
        raise ValueError(f"block_size: expected {len(shape)} extents, one for each dim of the tensor, given {tuple(block_size)}")
    blocks, shared = [], []
    for i, (extent, block) in enumerate(zip(shape, block_size)):
        if block != extent and (block < 1 or extent % block):
            raise ValueError(f"block_size[{i}]: expected a divisor of {extent}, given {block}")
        if 1 < block < extent:
            blocks += [extent // block, block]
            shared += [extent // block, 1]
        else:
            blocks.append(extent)
            shared.append(1 if block != 1 else extent)
    return blocks, shared


def _viewed(parameter: torch.Tensor, what: str, shape: list[int], dtypes: tuple[torch.dtype, ...] = ()) -> torch.Tensor:
    if not isinstance(parameter, torch.Tensor):
        raise TypeError(f"{what}: expected a torch.Tensor, given {type(parameter).__name__}")
    if dtypes and parameter.dtype not in dtypes:
        raise TypeError(f"{what}: expected elements of {', '.join(map(str, dtypes))}, given {parameter.dtype}")
    count = torch.Size(shape).numel()
    if parameter.numel() != count:
        raise ValueError(f"{what}: expected {count} elements, one for each block, given shape {tuple(parameter.shape)}")
    return parameter.detach().reshape(shape).contiguous()


def _have_type(zero_points: torch.Tensor, dtype: torch.dtype) -> bool:
    return bool(torch.equal(zero_points.to(dtype).to(zero_points.dtype), zero_points))


def quantize_affine(
    input: torch.Tensor,
    block_size: Sequence[int],
    scale: torch.Tensor,
    zero_point: torch.Tensor | None,
    output_dtype: torch.dtype,
    quant_min: float | None = None,
    quant_max: float | None = None,
) -> torch.Tensor:
    """clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max), halves to even: codes of the shape of input.

    input: float32, float16 or bfloat16; the product has the type that PyTorch gives it. block_size: for each dim how many elements
    share a scale and a zero point. output_dtype: int8, uint8, or uint1 to uint7, whose codes are uint8. Limits are the type's unless
    given.
    """
    x = _checked(input, "input", _REALS)
    least, most = _bounds(output_dtype, "output_dtype", quant_min, quant_max)
    blocks, shared = _split(x.shape, block_size)
    scaled = x.reshape(blocks) * (1.0 / _viewed(scale, "scale", shared, _REALS))  # torchao's product
    stored = torch.int8 if output_dtype == torch.int8 else torch.uint8
    if zero_point is None or zero_point.numel() == 0:
        codes = quantize(scaled, 1.0, dtype=stored)
    else:
        zero_points = _viewed(zero_point, "zero_point", shared)
        if not _have_type(zero_points, stored): # then PyTorch rounds sums of 16 bits
            return (scaled.round() + zero_points).clamp_(least, most).to(stored).reshape(x.shape)
        codes = quantize(scaled, torch.ones(shared), zero_points.to(stored), dtype=stored)
    if (least, most) != _BOUNDS[stored]:
        codes = codes.clamp_(least, most)
    return codes.reshape(x.shape)


def dequantize_affine(
    input: torch.Tensor,
    block_size: Sequence[int],
    scale: torch.Tensor,
    zero_point: torch.Tensor | None,
    input_dtype: torch.dtype,
    quant_min: float | None = None,
    quant_max: float | None = None,
    *,
    output_dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """(input - zero_point) * scale, in float32, rounded to output_dtype: float32, float16 or bfloat16.

    input_dtype: int8, uint8, or uint1 to uint7, whose codes are uint8. quant_min and quant_max are checked and change nothing, as in
    torchao.
    """
    _bounds(input_dtype, "input_dtype", quant_min, quant_max)
    codes = _checked(input, "input", (torch.int8 if input_dtype == torch.int8 else torch.uint8,))
    if output_dtype not in _REALS:
        raise ValueError(f"output_dtype: expected {', '.join(map(str, _REALS))}, given {output_dtype}")
    blocks, shared = _split(codes.shape, block_size)
    scales = _viewed(scale, "scale", shared, _REALS).to(torch.float32)
    zero_points = None if zero_point is None else _viewed(zero_point, "zero_point", shared)
    if zero_points is not None and not _have_type(zero_points, codes.dtype): # then PyTorch rounds differences of 16 bits
        reals = codes.reshape(blocks).to(output_dtype) - zero_points.to(output_dtype)
        return (reals * scale.detach().reshape(shared)).to(output_dtype).reshape(codes.shape)
    zero_points = None if zero_points is None else zero_points.to(torch.int32)
    return dequantize(codes.reshape(blocks), scales, zero_points, dtype=output_dtype, rule="strict").reshape(codes.shape)


_MX_TYPES = {torch.float8_e4m3fn: "float8_e4m3fn", torch.float8_e5m2: "float8_e5m2", "fp6_e2m3": "float6_e2m3fn", "fp6_e3m2": "float6_e3m2fn",
             getattr(torch, "float4_e2m1fn_x2", "float4_e2m1fn_x2"): "float4_e2m1fn"}  # fmt: skip


def to_mx(
    data_hp: torch.Tensor,
    elem_dtype: torch.dtype | str,
    block_size: int,
    scaling_mode: enum.Enum | str = "floor",
    is_swizzled_scales: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales of E8M0 and codes of blocks along the last dim, which block_size divides (OCP Microscaling Formats 1.0).

    data_hp: float32 or bfloat16. elem_dtype: torch.float8_e4m3fn, float8_e5m2, "fp6_e2m3", "fp6_e3m2", whose codes are one a byte,
    or torch.float4_e2m1fn_x2, two a byte. scaling_mode: torchao's ScaleCalculationMode, or "floor", "ceil", "even" or "rceil".
    is_swizzled_scales: as NVIDIA's Blackwell reads them.
    """
    x = _checked(data_hp, "data_hp", (torch.float32, torch.bfloat16))
    if elem_dtype not in _MX_TYPES:
        raise ValueError(f"elem_dtype: expected one of {', '.join(map(str, _MX_TYPES))}, given {elem_dtype}")
    rule = scaling_mode if isinstance(scaling_mode, str) else getattr(scaling_mode, "value", None)
    if rule not in ("floor", "ceil", "even", "rceil"):
        raise ValueError(f"scaling_mode: expected floor, ceil, even or rceil, given {scaling_mode}")
    if x.dim() == 0 or block_size < 1 or x.shape[-1] % block_size:
        raise ValueError(f"block_size: expected a divisor of the last dim, given {block_size} for shape {tuple(x.shape)}")
    name = _MX_TYPES[elem_dtype]
    extent = x.shape[-1]
    if name.startswith("float6"):  # more blocks, so that four codes of six bits fill bytes
        x = torch.nn.functional.pad(x, (0, -extent % (4 * block_size)))
    codes, scale, _ = quantize_dynamic(x, name, axis=-1, block_size=block_size, preset=f"mx_{rule}")
    if name.startswith("float6"):
        codes = torch.from_numpy(unpack(codes.numpy(), name))[..., :extent].contiguous()
        scale = scale[..., : extent // block_size].contiguous()
    if is_swizzled_scales:
        if x.dim() < 2:
            raise ValueError(f"data_hp: expected at least two dims, whose scales are swizzled, given shape {tuple(x.shape)}")
        columns = scale.shape[-1]
        tiles = *x.shape[:-2], -(-x.shape[-2] // 128) * 32, -(-columns // 4) * 16  # of 128 rows by 4 blocks
        scale = torch.from_numpy(swizzle_scales(scale.reshape(-1, columns).numpy())).reshape(tiles)
    return scale.view(torch.float8_e8m0fnu), codes.view(elem_dtype) if name.startswith("float8") else codes
