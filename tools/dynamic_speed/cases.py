"""The cases: what dqbench computes, and the libraries that compute about the same.

Each has the library's own rule, except for FBGEMM's, which stores low as a float and no zero point: there dynquant computes
an integer zero point.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """options: dqbench's. type: src's. libraries: names in libraries.py."""

    name: str
    dims: tuple[int, ...]
    type: str
    options: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def elements(self) -> int:
        product = 1
        for extent in self.dims:
            product *= extent
        return product


ROWS = ("--qtype=per_channel", "--axis=0")
TORCHAO = ("torchao", "torchao compiled")
GROUPS_OF_32 = ("--qtype=per_group", "--group=32")


def _whole(name: str, elements: int) -> Case:
    return Case(f"DynamicQuantizeLinear {name}", (elements,), "f32", ("--scales=onnx", "--dt=f32:f32:u8:u8"), ("onnxruntime", "piquant"))


def _tokens(tokens: int, type: str) -> Case:
    options = ("--scales=torchao_symmetric", f"--dt={type}:f32:undef:s8", *ROWS)
    return Case(f"int8 by token {type} {tokens}x4096", (tokens, 4096), type, options, TORCHAO)


def _rows(rows: int) -> Case:
    return Case(f"uint8 by row f32 {rows}x4096", (rows, 4096), "f32", ("--scales=minmax", "--dt=f32:f32:u8:u8", *ROWS), ("fbgemm",))


def _q8_0(rows: int) -> Case:
    return Case(f"q8_0 f32 {rows}x4096", (rows, 4096), "f32", ("--scales=ggml_q8_0", "--dt=f32:f16:undef:s8", *GROUPS_OF_32), ("ggml",))


def _mx(type: str) -> Case:
    options = ("--scales=mx_floor", "--saturate=true", f"--dt={type}:f8_e8m0:undef:f8_e4m3", *GROUPS_OF_32)
    return Case(f"MXFP8 {type} 1024x4096", (1024, 4096), type, options, ("torchao mx", "torchao mx compiled"))


CASES = [
    _whole("64Ki", 2**16),
    _whole("256Ki", 2**18),
    _whole("1Mi", 2**20),
    *(_tokens(tokens, "bf16") for tokens in (1, 8, 32)),
    _tokens(32, "f32"),
    _tokens(16384, "f32"),
    _rows(32),
    _rows(4096),
    _q8_0(32),
    _q8_0(4096),
    _mx("bf16"),
    _mx("f32"),
]
# What the tables call the libraries; others are called by their names.
LABELS = {
    "onnxruntime": "ONNX Runtime",
    "piquant": "pi-quant",
    "torchao mx": "torchao",
    "torchao mx compiled": "torchao compiled",
    "fbgemm": "FBGEMM",
    "ggml": "ggml",
}
