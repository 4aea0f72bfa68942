"""Computed scales beside libraries that are called from Python: docs/dynamic_speed.md, Other libraries.

Each case has the library's own rule, except for FBGEMM's, which stores low as a float and no zero point: there dynquant
computes an integer zero point.
"""

import argparse
import dataclasses
import math
import pathlib
import sys
from collections.abc import Callable, Iterator

from .. import dqbench
from ..results import Measured
from ..tables import by_threads, number, table, threads_label, times
from ..turns import Turn, chosen, runs, take_turns

OWN = "dynquant"


@dataclasses.dataclass(frozen=True)
class Case:
    """options: dqbench's. type: src's. libraries: names in dynamic_libraries.py."""

    name: str
    dims: tuple[int, ...]
    type: str
    options: tuple[str, ...]
    libraries: tuple[str, ...]


ROWS = ("--qtype=per_channel", "--axis=0")
TORCHAO = ("torchao", "torchao compiled")
GROUPS_OF_32 = ("--qtype=per_group", "--group=32")

CASES = [
    *(Case(f"DynamicQuantizeLinear {name}", (elements,), "f32", ("--scales=onnx", "--dt=f32:f32:u8:u8"), ("onnxruntime", "piquant"))
      for name, elements in (("64Ki", 2**16), ("256Ki", 2**18), ("1Mi", 2**20))),
    *(Case(f"int8 by token {type} {tokens}x4096", (tokens, 4096), type, ("--scales=torchao_symmetric", f"--dt={type}:f32:undef:s8", *ROWS), TORCHAO)
      for tokens, type in ((1, "bf16"), (8, "bf16"), (32, "bf16"), (32, "f32"), (16384, "f32"))),
    *(Case(f"uint8 by row f32 {rows}x4096", (rows, 4096), "f32", ("--scales=minmax", "--dt=f32:f32:u8:u8", *ROWS), ("fbgemm",))
      for rows in (32, 4096)),
    *(Case(f"q8_0 f32 {rows}x4096", (rows, 4096), "f32", ("--scales=ggml_q8_0", "--dt=f32:f16:undef:s8", *GROUPS_OF_32), ("ggml",))
      for rows in (32, 4096)),
    *(Case(f"MXFP8 {type} 1024x4096", (1024, 4096), type,
           ("--scales=mx_floor", "--saturate=true", f"--dt={type}:f8_e8m0:undef:f8_e4m3", *GROUPS_OF_32), ("torchao mx", "torchao mx compiled"))
      for type in ("bf16", "f32")),
]  # fmt: skip
# What the tables call the libraries; others are called by their names.
LABELS = {
    "onnxruntime": "ONNX Runtime",
    "piquant": "pi-quant",
    "torchao mx": "torchao",
    "torchao mx compiled": "torchao compiled",
    "fbgemm": "FBGEMM",
    "ggml": "ggml",
}


def _dynquant(program: pathlib.Path, case: Case, threads: int) -> Turn:
    """dqbench as a program of its own, through the direct API."""

    def turn(seconds: float) -> tuple[float, float]:
        arguments = ["--api=direct", *case.options, "x".join(map(str, case.dims))]
        (row,) = dqbench.run(program, ["~time", "-time"], arguments, [threads], seconds)
        return dqbench.seconds(row["~time"]), dqbench.seconds(row["-time"])

    return turn


def _contestants(program: pathlib.Path, case: Case, threads: int) -> dict[str, Turn]:
    """dynquant first. A library that cannot run the case is left out."""
    from .dynamic_libraries import LIBRARIES  # needs PyTorch

    result = {OWN: _dynquant(program, case, threads)}
    for name in case.libraries:
        try:
            if run := LIBRARIES[name](case, threads):
                turn = run if name == "onnxruntime" else runs({name: run})[name]
                turn(0)
                result[LABELS.get(name, name)] = turn
        except Exception as error:  # torch.compile's errors have no common base
            print(f"measure: {name} is left out: {type(error).__name__}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
    return result


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    for case, threads in chosen(CASES, given, say):
        contestants = _contestants(given.build / "tools/dqbench/dqbench", case, threads)
        yield Measured("dynamic", case.name, threads, *take_turns(contestants, given.rounds, given.seconds), {"elements": math.prod(case.dims)})


def tables(results: list[Measured]) -> dict[str, list[str]]:
    result = {}
    for threads, some in by_threads(results).items():
        header = [threads_label(threads), "", "median, us", "least, us", "Gelem/s", "dynquant is faster (least to most)"]
        rows = [[m.case if name == OWN else "", name, number(1e6 * m.median(name)), number(1e6 * m.least[name]),
                 number(m.facts["elements"] / m.median(name) / 1e9), "" if name == OWN else times(m, name, OWN)]
                for m in some for name in m.times]  # fmt: skip
        result[f"dynamic {threads}"] = table(header, rows)
    return result
