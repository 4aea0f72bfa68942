"""The Python package exactquant beside NumPy, ml_dtypes, gguf, ONNX Runtime, torchao, ggml and pi-quant: docs/python.md."""

import argparse
import dataclasses
import importlib
import pathlib
import sys
import types
from collections.abc import Callable, Iterator

import gguf
import ml_dtypes
import numpy
from onnx import TensorProto, helper

from ..results import Measured, Processor
from ..sessions import RUNTIME, Graph, Peer, session
from ..tables import table
from ..turns import chosen, runs, take_turns

OWN, NUMPY, GGUF = "exactquant", "NumPy", "gguf"
PEERS = NUMPY, RUNTIME, GGUF, "torchao", "torchao compiled", "ggml", "pi-quant"
ROWS, COLUMNS, BLOCK = 1024, 1024, 32
F32 = numpy.float32
GGUF_TYPES = "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4", "BF16", "TQ1_0", "TQ2_0"
READ_TYPES = "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"  # that are only dequantized
CALL = "a call with out=, 4096 elements"
KINDS = {"QuantizeLinear": [TensorProto.INT8], "DequantizeLinear": [TensorProto.FLOAT], "DynamicQuantizeLinear": [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8]}


@dataclasses.dataclass
class Case:
    """contestants: what each computes, by its name. back: the reals of what exactquant gives, of which the error is told."""

    name: str
    contestants: dict[str, Callable[[], object]]
    back: Callable[[], numpy.ndarray] | None = None
    elements: int = ROWS * COLUMNS


def _package(given: argparse.Namespace) -> types.ModuleType:
    folder = given.build / "tests/exactquant/package"
    if not list(folder.glob("exactquant/_core*.so")):
        raise FileNotFoundError(f"expected exactquant's module in {folder}; scripts/setup --checks and scripts/build release make it")
    sys.path.insert(0, str(folder))
    return importlib.import_module("exactquant")


def _operator(kind: str, x: numpy.ndarray, *constants: numpy.ndarray, outputs: int = 1, **attributes: int) -> Callable[[], object]:
    """ONNX Runtime's on one thread."""
    graph = Graph()
    names = graph.op(kind, "x", *constants, outputs=outputs, **attributes)
    results = {name: (of, None) for name, of in zip([names] if outputs == 1 else names, KINDS[kind])}
    one = session(graph.model({"x": (helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)}, results, 21), Peer(RUNTIME), 1)
    return lambda: one.run(None, {"x": x})


def _quantized(x: numpy.ndarray, scale: numpy.ndarray | F32) -> numpy.ndarray:
    return numpy.rint(x / scale).clip(-128, 127).astype(numpy.int8)


def _by_blocks(x: numpy.ndarray, largest: float, dtype: object) -> tuple[numpy.ndarray, numpy.ndarray]:
    """OCP's formula, composed of NumPy's functions and ml_dtypes' types."""
    blocks = x.reshape(-1, BLOCK)
    exponents = numpy.frexp(abs(blocks).max(1, keepdims=True))[1] - 1 - int(numpy.log2(largest))
    scale = numpy.ldexp(F32(1), exponents)
    return (blocks / scale).clip(-largest, largest).astype(dtype), scale.astype(ml_dtypes.float8_e8m0fnu)


def _gguf_blocks(own: types.ModuleType, x: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """x in the types of gguf, or any bytes in those that are only dequantized."""
    of = numpy.random.default_rng(64)
    sizes = {name: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]] for name in READ_TYPES}
    return {name: own.gguf.quantize(x, name) for name in GGUF_TYPES} | {
        name: of.integers(0, 256, (ROWS, COLUMNS // elements * size), numpy.uint8) for name, (elements, size) in sizes.items()}  # fmt: skip


def cases(own: types.ModuleType, x: numpy.ndarray, gguf_blocks: dict[str, numpy.ndarray]) -> list[Case]:
    one, columns = F32(0.03), numpy.linspace(0.02, 0.04, COLUMNS, dtype=F32)
    q, by_column = _quantized(x, one), _quantized(x, columns)
    zero, zeros = numpy.zeros((), numpy.int8), numpy.zeros(COLUMNS, numpy.int8)
    codes, reals = numpy.empty((ROWS, COLUMNS), numpy.int8), numpy.empty((ROWS, COLUMNS), F32)
    result = [
        Case("quantize int8, one scale", {OWN: lambda: own.quantize(x, one, dtype="int8", out=codes), NUMPY: lambda: _quantized(x, one),
             RUNTIME: _operator("QuantizeLinear", x, numpy.array(one), zero)}, lambda: own.dequantize(own.quantize(x, one, dtype="int8"), one)),
        Case("dequantize int8, one scale", {OWN: lambda: own.dequantize(q, one, out=reals), NUMPY: lambda: q.astype(F32) * one,
             RUNTIME: _operator("DequantizeLinear", q, numpy.array(one), zero)}),
        Case("quantize int8, a scale for each column", {OWN: lambda: own.quantize(x, columns, dtype="int8", axis=1, out=codes), NUMPY: lambda: _quantized(x, columns),
             RUNTIME: _operator("QuantizeLinear", x, columns, zeros, axis=1)}),
        Case("dequantize int8, a scale for each column", {OWN: lambda: own.dequantize(by_column, columns, axis=1, out=reals),
             NUMPY: lambda: by_column.astype(F32) * columns, RUNTIME: _operator("DequantizeLinear", by_column, columns, zeros, axis=1)}),
        Case("dynamic uint8", {OWN: lambda: own.quantize_dynamic(x, "uint8"), RUNTIME: _operator("DynamicQuantizeLinear", x, outputs=3)}),
        Case("int8 by token", {OWN: lambda: own.int8_per_token(x), NUMPY: lambda: _quantized(x, abs(x).max(1, keepdims=True) / F32(127))},
             lambda: own.from_int8_per_token(*own.int8_per_token(x))),
        Case("MXFP8", {OWN: lambda: own.mxfp8(x), NUMPY: lambda: _by_blocks(x, 448, ml_dtypes.float8_e4m3fn)}, lambda: own.from_mxfp8(*own.mxfp8(x))),
        Case("MXFP4", {OWN: lambda: own.mxfp4(x), NUMPY: lambda: own.pack(_by_blocks(x, 6, ml_dtypes.float4_e2m1fn)[0].view(numpy.uint8), "float4_e2m1fn")},
             lambda: own.from_mxfp4(*own.mxfp4(x))),
    ]  # fmt: skip
    fp8, fp4 = own.mxfp8(x), own.mxfp4(x)
    result += [Case("from MXFP8", {OWN: lambda: own.from_mxfp8(*fp8, out=reals)}), Case("from MXFP4", {OWN: lambda: own.from_mxfp4(*fp4, out=reals)}),
               Case("NVFP4", {OWN: lambda: own.nvfp4(x)})]  # fmt: skip
    for name, blocks in gguf_blocks.items():
        kind = gguf.GGMLQuantizationType[name]
        if name in GGUF_TYPES:
            result.append(Case(f"gguf {name}", {OWN: lambda name=name, out=blocks.copy(): own.gguf.quantize(x, name, out=out), GGUF: lambda kind=kind: gguf.quantize(x, kind)},
                               lambda name=name, blocks=blocks: own.gguf.dequantize(blocks, name)))  # fmt: skip
        result.append(Case(f"from gguf {name}", {OWN: lambda name=name, blocks=blocks: own.gguf.dequantize(blocks, name, out=reals),
                           GGUF: lambda kind=kind, blocks=blocks: gguf.dequantize(blocks, kind)}))  # fmt: skip
    few, some = x.ravel()[:4096].copy(), numpy.empty(4096, numpy.int8)
    return [*result, Case(CALL, {OWN: lambda: own.quantize(few, 0.03, dtype="int8", out=some), NUMPY: lambda: _quantized(few, one)}, elements=4096)]


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    from .exactquant_libraries import libraries  # needs PyTorch

    own = _package(given)
    x = numpy.random.default_rng(63).standard_normal((ROWS, COLUMNS), F32)
    blocks = _gguf_blocks(own, x)
    others = libraries(x, blocks)
    for case, threads in chosen(cases(own, x, blocks), given, say):
        own.set_threads(threads)
        contestants = dict(case.contestants)
        for name, prepare in others.get(case.name, {}).items():
            contestants[name] = prepare()
        if threads > 1:  # the others have one
            contestants = {OWN: case.contestants[OWN]}
        facts: dict = {"elements": case.elements}
        if case.back:
            facts["sqnr"] = round(float(own.error(x, case.back())["sqnr"]), 1)
        yield Measured("exactquant", case.name, threads, *take_turns(runs(contestants), given.rounds, given.seconds), facts)


def _own_and_fastest(m: Measured) -> tuple[float, str]:
    """How many times as fast it is as the fastest of the others, and which that is."""
    fastest = min((name for name in m.least if name != OWN), key=m.median)
    return m.ratio(fastest, OWN), fastest


def tables(results: list[Measured]) -> dict[str, list[str]]:
    some = [m for m in results if m.case != CALL]
    peers = [name for name in PEERS if any(name in m.least for m in some)]
    rows = []
    for m in some:
        speed = m.facts["elements"] / 1e9 / m.median(OWN)
        times = [f"{m.ratio(peer, OWN):.3g}" if peer in m.least else "" for peer in peers]
        rows.append([m.case, str(m.threads), f"{speed:.3g}", *times, str(m.facts.get("sqnr", ""))])
    result = {"exactquant": table(["1024 x 1024", "threads", "Gelem/s", *(f"times {peer}" for peer in peers), "SQNR, dB"], rows)}
    calls = [[str(m.threads), *(f"{1e6 * m.median(who):.2f}" if who in m.least else "" for who in (OWN, NUMPY))] for m in results if m.case == CALL]
    if calls:
        result["call"] = table([f"us of {CALL}: threads", OWN, NUMPY], calls)
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    from ..charts import newest, ratio_bars

    some = [m for m in newest(processors, "exactquant") if m.threads == 1 and m.case != CALL and len(m.least) > 1]
    bars = [(f"{m.case} ({fastest})", ratio, ratio >= 1) for m in some for ratio, fastest in [_own_and_fastest(m)]]
    ratio_bars(bars, "Beside the fastest other library of each case, one thread", figures / "exactquant.svg", row_height=0.24, log=True)
