"""Operators of dynquant's domains in ONNX Runtime, beside its own and AMD Quark's: docs/onnx_speed.md, Nodes."""

import argparse
import dataclasses
import math
import pathlib
from collections.abc import Callable, Iterator

import numpy
import onnxruntime
from onnx import TensorProto, helper

from ..results import Measured, Processor
from ..sessions import RUNTIME, Peer, fresh, make_model, session
from ..tables import by_threads, goal, number, table, threads_label, times
from ..turns import chosen, take_turns

PAGE = "performance/onnx.md"
OWN, QUARK = "dynquant", "Quark"
QUARK_DOMAIN = "com.amd.quark"
ROWS, COLUMNS, BLOCK = 512, 512, 32  # 1 MiB of float: about the size of an L2 cache
BITS = {"FLOAT": 32, "UINT32": 32, "INT32": 32, "FLOAT16": 16, "BFLOAT16": 16, "UINT16": 16, "INT16": 16, "UINT4": 4, "INT4": 4}  # others: 8
SCALES = {4: 0.4}  # by bits of the quantized type, else 0.02: a normally distributed x fills most of its range


@dataclasses.dataclass(frozen=True)
class Case:
    """One node, or a chain of them. real, quantized: types as ONNX names them. parameters: the shape of scale and zero point.
    goal: the wanted speed as a multiple of the peer's. nodes: their number; in a chain every second is the reverse operator."""

    kind: str
    op: str
    real: str
    quantized: str
    dims: tuple[int, ...] = (ROWS, COLUMNS)
    parameters: tuple[int, ...] = ()
    attributes: tuple[tuple[str, int], ...] = ()
    goal: float | None = None
    nodes: int = 1

    @property
    def name(self) -> str:
        return f"{self.op}: {self.kind}"

    @property
    def is_dynamic(self) -> bool:
        return self.op.startswith("Dynamic")

    @property
    def is_quark(self) -> bool:
        return self.op.startswith("Extended")

    @property
    def types(self) -> tuple[str, str]:
        """Of x and y."""
        return (self.quantized, self.real) if "Dequantize" in self.op else (self.real, self.quantized)


# Granularities: the shape of the parameters, and attributes.
PER_TENSOR = ((), ())
FIRST_AXIS = ((ROWS,), (("axis", 0),))
CHANNELS_LAST = ((COLUMNS,), (("axis", 1),))
BLOCKS_LAST = ((ROWS, COLUMNS // BLOCK), (("axis", 1), ("block_size", BLOCK)))
BLOCKS_FIRST = ((ROWS // BLOCK, COLUMNS), (("axis", 0), ("block_size", BLOCK)))

# Name, real and quantized type, granularity, goal of QuantizeLinear. DequantizeLinear has none.
_STANDARD = [
    ("uint8", "FLOAT", "UINT8", PER_TENSOR, 1.5),
    ("uint8, per axis, the first", "FLOAT", "UINT8", FIRST_AXIS, None),
    ("uint8, channels last", "FLOAT", "UINT8", CHANNELS_LAST, 100),
    ("uint8, blocks of 32 along the last axis", "FLOAT", "UINT8", BLOCKS_LAST, None),
    ("uint8, blocks of 32 along the first axis", "FLOAT", "UINT8", BLOCKS_FIRST, 10),
    ("float16 to uint8", "FLOAT16", "UINT8", PER_TENSOR, 30),
    ("bfloat16 to uint8", "BFLOAT16", "UINT8", PER_TENSOR, None),
    ("float8e4m3fn", "FLOAT", "FLOAT8E4M3FN", PER_TENSOR, 8),
    ("float8e5m2", "FLOAT", "FLOAT8E5M2", PER_TENSOR, 8),
    *((name, "FLOAT", name.upper(), PER_TENSOR, None) for name in ("uint16", "int16", "uint4", "int4")),
    ("int4, blocks of 32 along the last axis", "FLOAT", "INT4", BLOCKS_LAST, None),
]
_CHAIN = 200  # nodes, so that the time of the session itself does not count
_SMALL = {"1": (1,), "256": (256,), "2 Ki": (2**11,), "4 Ki": (2**12,), "8 Ki": (2**13,)}
_SIZES = {"64 Ki": (2**16,), "1 Mi": (2**20,), "64 Mi": (2**26,)}


def all_cases() -> list[Case]:
    axis = (("axis", 0),)  # explicit, because Quark's library and its specification have different defaults
    size = (ROWS, COLUMNS)
    return [
        *(Case(name, "QuantizeLinear", real, quantized, size, *granularity, wanted) for name, real, quantized, granularity, wanted in _STANDARD),
        *(Case(name.replace(" to uint8", ", from uint8"), "DequantizeLinear", real, quantized, size, *granularity)
          for name, real, quantized, granularity, _ in _STANDARD),
        *(Case(f"uint8, {size}", op, "FLOAT", "UINT8", dims) for op in ("QuantizeLinear", "DequantizeLinear") for size, dims in _SIZES.items()),
        *(Case(size, "DynamicQuantizeLinear", "FLOAT", "UINT8", dims) for size, dims in _SIZES.items()),
        *(Case(f"uint8 and back, {size}", "QuantizeLinear", "FLOAT", "UINT8", dims, nodes=_CHAIN) for size, dims in _SMALL.items()),
        *(Case(name, f"Extended{op}Linear", "FLOAT", name.upper(), size, (), axis) for op in ("Quantize", "Dequantize")
          for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "bfloat16")),
    ]  # fmt: skip


def model_of(case: Case, domain: str) -> bytes:
    domain = QUARK_DOMAIN if case.is_quark else domain
    opset = 13 if case.is_dynamic or case.is_quark else 21
    x, y, quantized, real = (TensorProto.DataType.Value(name) for name in (*case.types, case.quantized, case.real))
    if case.is_dynamic:
        node = helper.make_node(case.op, ["x"], ["y", "scale", "zero_point"], domain=domain)
        return make_model([node], {"x": (x, case.dims)}, {"y": (y, case.dims), "scale": (real, ()), "zero_point": (y, ())}, [], opset)
    count = math.prod(case.parameters)
    constants = [
        helper.make_tensor("scale", real if not case.is_quark else TensorProto.FLOAT, case.parameters, [SCALES.get(BITS.get(case.quantized, 8), 0.02)] * count),
        helper.make_tensor("zero_point", quantized, case.parameters, [128 if case.quantized == "UINT8" else 0] * count),
    ]
    values = ["x", *(f"value{i}" for i in range(1, case.nodes)), "y"]
    ops = case.op, case.op.replace("Quantize", "Dequantize")
    nodes = [helper.make_node(ops[i % 2], [values[i], "scale", "zero_point"], [values[i + 1]], domain=domain, **dict(case.attributes))
             for i in range(case.nodes)]  # fmt: skip
    return make_model(nodes, {"x": (x, case.dims)}, {"y": (x if case.nodes % 2 == 0 else y, case.dims)}, constants, opset)


def _input_of(case: Case, library: Peer) -> onnxruntime.OrtValue:
    """A normally distributed x. Types that numpy lacks are made by a model."""
    floats = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.random.default_rng(1).standard_normal(case.dims, dtype=numpy.float32))
    kind = case.types[0]
    if kind == "FLOAT":
        return floats
    if "Dequantize" not in case.op:
        of = TensorProto.DataType.Value(kind)
        model = make_model([helper.make_node("Cast", ["x"], ["y"], to=of)], {"x": (TensorProto.FLOAT, case.dims)}, {"y": (of, case.dims)}, [], 21)
    else:
        model = model_of(dataclasses.replace(case, op=case.op.replace("Dequantize", "Quantize"), real="FLOAT"), OWN)
    return session(model, library, 2).run_with_ort_values(["y"], {"x": floats})[0]


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    """Each turn has a new session, and no other is alive."""
    own = Peer(OWN, library=str(given.build / "src/libdynquant_onnxruntime.so"))
    quark = given.build / "tests/differential/libquark_operators.so"
    cases = [case for case in all_cases() if quark.exists() or not case.is_quark]
    for case, threads in chosen(cases, given, say):
        peer = Peer(QUARK, library=str(quark)) if case.is_quark else Peer(RUNTIME)
        inputs, optimized = {"x": _input_of(case, own)}, case.nodes == 1  # ONNX Runtime's optimizer would remove most of a chain
        contestants = {
            peer.name: fresh(model_of(case, ""), peer, threads, inputs, optimized),
            OWN: fresh(model_of(case, OWN), own, threads, inputs, optimized),
        }
        try:
            contestants[peer.name](0)
        except Exception as error:  # the only base of ONNX Runtime's exceptions
            say(f"{peer.name}: {str(error).partition(chr(10))[0]}")
            del contestants[peer.name]
        elements = math.prod(case.dims)
        bits = BITS.get(case.types[0], 8) * (2 if case.is_dynamic else 1) + BITS.get(case.types[1], 8)  # it reads x twice
        of_case = {"peer": peer.name, "elements": elements, "bytes": elements * bits // 8, "nodes": case.nodes, "goal": case.goal}
        yield Measured("nodes", case.name, threads, take_turns(contestants, given.rounds, given.seconds)[0], facts=of_case)


def _rate(m: Measured, name: str, of: str = "elements") -> str:
    """In 10^9 a second."""
    median = m.median(name)
    return number(median and m.facts[of] / median / 1e9)


def _nanoseconds(m: Measured, name: str) -> str:
    median = m.median(name)
    return "-" if median is None else f"{1e9 * median / m.facts['nodes']:.0f}"


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """For each peer and number of threads a table of nodes, one of their goals and one of chains."""
    result = {}
    for threads, some in by_threads(results).items():
        for peer in dict.fromkeys(m.facts["peer"] for m in some):
            nodes = [m for m in some if m.facts["peer"] == peer and m.facts["nodes"] == 1]
            chains = [m for m in some if m.facts["peer"] == peer and m.facts["nodes"] > 1]
            header = [f"{threads_label(threads)}, Gelem/s", peer, OWN, "GB/s", "times as fast (least to most)"]
            rows = [[m.case, _rate(m, peer), _rate(m, OWN), _rate(m, OWN, "bytes"), times(m, peer, OWN) or "not offered"] for m in nodes]
            result[f"nodes {peer} {threads}"] = table(header, rows) if rows else []
            rows = [[m.case, times(m, peer, OWN), goal(m.facts["goal"], m.ratio(peer, OWN))] for m in nodes if m.facts["goal"] and peer in m.times]
            result[f"goals {peer} {threads}"] = table([threads_label(threads), "times as fast (least to most)", "goal"], rows) if rows else []
            rows = [[m.case, _nanoseconds(m, peer), _nanoseconds(m, OWN)] for m in chains]
            result[f"chains {peer} {threads}"] = table([f"{threads_label(threads)}, ns a node of a chain", peer, OWN], rows) if rows else []
    return result


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    from ..charts import newest, ratio_bars

    some = [m for m in newest(processors, "nodes") if m.threads == 1 and m.facts["nodes"] == 1 and m.ratios(RUNTIME, OWN)]
    bars = [(m.case, m.ratio(RUNTIME, OWN), m.ratio(RUNTIME, OWN) >= 1) for m in some]
    ratio_bars(bars, "Beside ONNX Runtime's own operators, one thread", figures / "nodes.svg", row_height=0.24, log=True)
