"""The measured nodes: operators, types, granularities and sizes."""

import dataclasses

from onnx import TensorProto as T

ONNX, QUARK = "", "com.amd.quark"
ROWS, COLUMNS, BLOCK = 512, 512, 32  # 1 MiB of float: about the size of an L2 cache


@dataclasses.dataclass(frozen=True)
class Case:
    """One node, or a chain of them.

    types: of x, the scale and y. parameters: the shape of scale and zero point. goal: the wanted speed as a multiple of
    the peer's. nodes: their number; in a chain every second node is the reverse operator.
    """

    name: str
    op: str
    types: tuple[int, int, int]
    dims: tuple[int, ...] = (ROWS, COLUMNS)
    parameters: tuple[int, ...] = ()
    attributes: tuple[tuple[str, int], ...] = ()
    domain: str = ONNX
    goal: float | None = None
    nodes: int = 1

    @property
    def quantizes(self) -> bool:
        return "Dequantize" not in self.op

    @property
    def dynamic(self) -> bool:
        return self.op.startswith("Dynamic")

    @property
    def quantized_type(self) -> int:
        return self.types[2] if self.quantizes else self.types[0]

    @property
    def key(self) -> str:
        return f"{self.op}: {self.name}"


# Granularities: the shape of the parameters, and attributes.
PER_TENSOR = ((), ())
FIRST_AXIS = ((ROWS,), (("axis", 0),))
CHANNELS_LAST = ((COLUMNS,), (("axis", 1),))
BLOCKS_LAST = ((ROWS, COLUMNS // BLOCK), (("axis", 1), ("block_size", BLOCK)))
BLOCKS_FIRST = ((ROWS // BLOCK, COLUMNS), (("axis", 0), ("block_size", BLOCK)))

# Name, type of the real side, type of the quantized side, granularity, goals for QuantizeLinear and DequantizeLinear.
_STANDARD = [
    ("uint8", T.FLOAT, T.UINT8, PER_TENSOR, 1.5, None),
    ("uint8, per axis, the first", T.FLOAT, T.UINT8, FIRST_AXIS, None, None),
    ("uint8, channels last", T.FLOAT, T.UINT8, CHANNELS_LAST, 100, None),
    ("uint8, blocks of 32 along the last axis", T.FLOAT, T.UINT8, BLOCKS_LAST, None, None),
    ("uint8, blocks of 32 along the first axis", T.FLOAT, T.UINT8, BLOCKS_FIRST, 10, None),
    ("float16 to uint8", T.FLOAT16, T.UINT8, PER_TENSOR, 30, None),
    ("bfloat16 to uint8", T.BFLOAT16, T.UINT8, PER_TENSOR, None, None),
    ("float8e4m3fn", T.FLOAT, T.FLOAT8E4M3FN, PER_TENSOR, 8, None),
    ("float8e5m2", T.FLOAT, T.FLOAT8E5M2, PER_TENSOR, 8, None),
    ("uint16", T.FLOAT, T.UINT16, PER_TENSOR, None, None),
    ("int16", T.FLOAT, T.INT16, PER_TENSOR, None, None),
    ("uint4", T.FLOAT, T.UINT4, PER_TENSOR, None, None),
    ("int4", T.FLOAT, T.INT4, PER_TENSOR, None, None),
    ("int4, blocks of 32 along the last axis", T.FLOAT, T.INT4, BLOCKS_LAST, None, None),
]
_QUARK = {"uint8": T.UINT8, "int8": T.INT8, "uint16": T.UINT16, "int16": T.INT16, "uint32": T.UINT32, "int32": T.INT32,
          "float16": T.FLOAT16, "bfloat16": T.BFLOAT16}  # fmt: skip
_CHAIN = 200  # nodes, so that the time of the session itself does not count
_SMALL = {"1": (1,), "256": (256,), "2 Ki": (2**11,), "4 Ki": (2**12,), "8 Ki": (2**13,)}
_SIZES = {"64 Ki": (2**16,), "1 Mi": (2**20,), "64 Mi": (2**26,)}


def _standard() -> list[Case]:
    quantizing, dequantizing = [], []
    for name, real, quantized, granularity, goal, reverse_goal in _STANDARD:
        reverse_name = name.replace(" to uint8", ", from uint8") if " to " in name else name
        quantizing.append(Case(name, "QuantizeLinear", (real, real, quantized), (ROWS, COLUMNS), *granularity, goal=goal))
        dequantizing.append(
            Case(reverse_name, "DequantizeLinear", (quantized, real, real), (ROWS, COLUMNS), *granularity, goal=reverse_goal)
        )
    return quantizing + dequantizing


def _quark() -> list[Case]:
    axis = (("axis", 0),)  # explicit, because Quark's library and its specification have different defaults
    return [
        Case(name, f"Extended{op}Linear", (T.FLOAT, T.FLOAT, t) if op == "Quantize" else (t, T.FLOAT, T.FLOAT),
             (ROWS, COLUMNS), (), axis, QUARK)
        for op in ("Quantize", "Dequantize")
        for name, t in _QUARK.items()
    ]  # fmt: skip


def all_cases() -> list[Case]:
    sizes = [
        Case(f"uint8, {size}", op, types, dims)
        for op, types in (("QuantizeLinear", (T.FLOAT, T.FLOAT, T.UINT8)), ("DequantizeLinear", (T.UINT8, T.FLOAT, T.FLOAT)))
        for size, dims in _SIZES.items()
    ]
    dynamic = [Case(size, "DynamicQuantizeLinear", (T.FLOAT, T.FLOAT, T.UINT8), dims) for size, dims in _SIZES.items()]
    small = [
        Case(f"uint8 and back, {size}", "QuantizeLinear", (T.FLOAT, T.FLOAT, T.UINT8), dims, nodes=_CHAIN) for size, dims in _SMALL.items()
    ]
    return _standard() + sizes + dynamic + small + _quark()
