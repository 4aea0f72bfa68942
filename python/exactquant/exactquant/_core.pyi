"""Types of the extension module. Arrays are NumPy's, torch's, or what has __dlpack__ or __array_interface__."""

import typing

import numpy

VERSION: str

def quantize(
    x: typing.Any,
    scale: typing.Any,
    zero_point: typing.Any = None,
    *,
    dtype: typing.Any,
    axis: int | None = None,
    block_size: int = 0,
    rule: str = "onnx",
    saturate: bool = True,
    scale_dtype: typing.Any = None,
    out: typing.Any = None,
    threads: int = 0,
) -> typing.Any: ...
def dequantize(
    q: typing.Any,
    scale: typing.Any,
    zero_point: typing.Any = None,
    *,
    dtype: typing.Any = "float32",
    axis: int | None = None,
    block_size: int = 0,
    rule: str = "onnx",
    q_dtype: typing.Any = None,
    scale_dtype: typing.Any = None,
    global_scale: typing.Any = None,
    out: typing.Any = None,
    threads: int = 0,
) -> typing.Any: ...
def quantize_dynamic(
    x: typing.Any,
    dtype: typing.Any,
    *,
    axis: int | None = None,
    block_size: int = 0,
    preset: str = "onnx",
    scale_dtype: typing.Any = None,
    saturate: bool = True,
    global_scale: typing.Any = None,
    out: typing.Any = None,
    threads: int = 0,
) -> tuple[typing.Any, typing.Any, typing.Any]: ...
def presets() -> list[str]: ...
def best_isa() -> str: ...
def set_threads(count: int) -> None: ...
def get_threads() -> int: ...
def ggml_types() -> dict[str, tuple[int, int, bool]]: ...
def ggml_quantize(name: str, x: numpy.ndarray, out: numpy.ndarray, threads: int) -> None: ...
def ggml_dequantize(name: str, data: numpy.ndarray, out: numpy.ndarray, threads: int) -> None: ...
