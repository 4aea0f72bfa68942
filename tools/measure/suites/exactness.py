"""The share of results that differ from the documented formula, by oneDNN and XNNPACK: docs/drop-in.md, README.md.

dqbench runs the same statement by each library and compares the results with the reference kernel, which is the formula
in f32, each operation rounded once."""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator

from ..results import Measured, Processor
from ..tables import table

NORMAL, TIES = "normally distributed", "next to ties"
OWN, XNNPACK = "dynquant", "XNNPACK"
PAGE, OF_ALL = "drop-in.md", True


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    data: str
    arguments: tuple[str, ...]
    is_drawn: bool = True


CASES = (
    Case("Quantize, a zero point for each channel", NORMAL, ("--op=Quantize", "--dt=f32:f32:s32:u8", "--qtype=per_channel", "8x64x56x56")),
    Case("Dequantize, a zero point for each channel", NORMAL, ("--op=Dequantize", "--dt=u8:f32:s32:f32", "--qtype=per_channel", "8x64x56x56")),
    Case("DynamicQuantize, a zero point for each channel", NORMAL, ("--dt=f32:f32:u8:u8", "--qtype=per_channel", "8x64x56x56"), False),
    Case("DynamicDequantize, a zero point for each channel", NORMAL,
         ("--op=DynamicDequantize", "--dt=u8:f32:s32:f32", "--qtype=per_channel", "8x64x56x56"), False),
    Case("DynamicQuantize, axis -1", NORMAL, ("--dt=f32:f32:undef:u8", "--qtype=per_channel", "--axis=-1", "512x768"), False),
    Case("Quantize without zero points", NORMAL, ("--op=Quantize", "--dt=f32:f32:undef:u8", "1048576"), False),
    Case("scales below 2^-128", NORMAL, ("--scales=1e-39", "--dt=f32:f32:undef:s8", "65536")),
    Case("one scale and zero point", TIES, ("--dt=f32:f32:u8:u8", "1048576")),
    Case("one scale and zero point", NORMAL, ("--dt=f32:f32:u8:u8", "33554432")),
)  # fmt: skip


def version(text: str) -> str:
    """Of oneDNN, which says it by ONEDNN_VERBOSE before its first primitive."""
    found = re.search(r"(?m)^onednn_verbose,.*info,oneDNN v([0-9.]+)", text)
    if not found:
        raise RuntimeError(f"expected oneDNN's version, given {text[-2000:]!r}")
    return found[1]


def shares(text: str, onednn: str) -> dict[str, float | None]:
    """Of each library of what dqbench prints; None where it refuses the case. onednn: its name and version."""
    names = {"dynquant": OWN, "xnnpack": XNNPACK, "onednn_graph": onednn}
    found = {names[name]: int(wrong) / int(of) for name, wrong, of in re.findall(r"(?m)^    (\w+): (\d+) of (\d+) results differ", text)}
    return found | {names[name]: None for name in re.findall(r"(?m)^    (\w+) refuses:", text)}


def _ran(given: argparse.Namespace, arguments: Iterable[str]) -> str:
    """What dqbench prints. PyPI's oneDNN runs on a CPU by OpenCL, whose library lies beside it."""
    folder = given.onednn
    other = {"LD_LIBRARY_PATH": str(folder), "OCL_ICD_FILENAMES": str(folder / "libintelocl.so")} if folder else {}
    command = [str(given.build / "tools/dqbench/dqbench"), "--peer=onednn_graph,xnnpack", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **other, "ONEDNN_VERBOSE": "1"})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    onednn = f"oneDNN {version(_ran(given, ['64']))}"
    chosen = [case for case in CASES if given.only in case.title]
    for case in chosen:
        say(f"{case.title}, {case.data}, {onednn}", len(chosen))
        arguments = [*(["--data=normal"] if case.data == NORMAL else []), *case.arguments]
        text = _ran(given, arguments)
        found = shares(text, onednn)
        if set(found) != {OWN, XNNPACK, onednn}:
            raise RuntimeError(f"expected results of three libraries, given {text[-2000:]!r}")
        of = {"title": case.title, "data": case.data, "shares": found, "command": " ".join(arguments)}
        yield Measured("exactness", f"{case.title}, {case.data}, {onednn}", 0, facts=of)


def percent(share: float | None) -> str:
    """Of two digits."""
    return "refused" if share is None else "0" if share == 0 else f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _by_command(results: list[Measured]) -> dict[str, dict]:
    """The facts of each case, with the shares by all versions of oneDNN that were measured."""
    merged: dict[str, dict] = {}
    for m in results:
        one = merged.setdefault(m.facts["command"], {**m.facts, "shares": {}})
        one["shares"] |= m.facts["shares"]
    return merged


def _libraries(merged: dict[str, dict]) -> list[str]:
    """dynquant, the versions of oneDNN, XNNPACK."""
    names = dict.fromkeys(name for one in merged.values() for name in one["shares"])
    return sorted(names, key=lambda name: (name != OWN, name == XNNPACK))


def tables(processors: list[Processor]) -> dict[str, list[str]]:
    """Of all processors, whose results are the same."""
    merged = _by_command([m for processor in processors for m in processor.of("exactness")])
    libraries = _libraries(merged)
    rows = [[one["title"], one["data"], *(percent(one["shares"][name]) if name in one["shares"] else "" for name in libraries), f"`{command}`"]
            for command, one in merged.items()]  # fmt: skip
    return {"exactness": table(["results that differ from the formula", "data", *libraries, "dqbench --peer=onednn_graph,xnnpack"], rows)}


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    """The shares of dynquant and oneDNN, on a logarithmic scale; beside them how many neighbours int8 embeddings keep."""
    from ..charts import GOOD, SHORT, newest, plt, save
    from ..charts import RUNTIME as COLOR
    from .embeddings import PER_ROW
    from .embeddings import RUNTIME as BY_RUNTIME

    least = 1e-7
    drawn = {(case.title, case.data) for case in CASES if case.is_drawn}
    merged = _by_command([m for m in newest(processors, "exactness") if (m.facts["title"], m.facts["data"]) in drawn])
    libraries = [name for name in _libraries(merged) if name != XNNPACK]
    figure, (axes, beside) = plt.subplots(1, 2, figsize=(8.4, 3.4), width_ratios=(3.2, 1))
    height = 0.8 / len(libraries)
    for i, (name, color) in enumerate(zip(libraries, (GOOD, SHORT, COLOR))):
        for place, one in enumerate(merged.values()):
            share, y = one["shares"].get(name), place + (i - (len(libraries) - 1) / 2) * height
            axes.barh(y, max(share or 0, least) - least, height, left=least, color=color, label=name if place == 0 else None)
            axes.text(1.3 * max(share or 0, least), y, percent(share) if share != 0 else "none", va="center", fontsize=7, color=color)
    axes.set_xscale("log")
    axes.set(xlim=(least, 20), xticks=[1e-6, 1e-4, 1e-2, 1])
    axes.set_xticklabels(["1 in a million", "1 in 10,000", "1 %", "all"], fontsize=8)
    axes.minorticks_off()
    axes.set_yticks(range(len(merged)), [f"{one['title']}\n({one['data']})" for one in merged.values()], fontsize=7)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_title("results that differ from the documented formula", fontsize=9, loc="left")
    axes.legend(loc="lower right", fontsize=8)
    if some := [m for m in newest([p for p in processors if p.of("embeddings")], "embeddings") if m.threads == 1]:
        kept = {m.case: 100 * m.facts["kept"] for m in some}
        lowest = 80
        for place, (case, label, color) in enumerate(((BY_RUNTIME, "one scale", COLOR), (PER_ROW, "one for\neach row", GOOD))):
            beside.bar(label, kept[case] - lowest, 0.6, bottom=lowest, color=color)
            beside.text(place, kept[case], f"{kept[case]:.0f} %", ha="center", va="bottom", fontsize=8)
        beside.set(ylim=(lowest, 100), yticks=[80, 90, 100])
        beside.set_yticklabels(["80 %", "90 %", "100 %"])
        beside.grid(axis="x", visible=False)
        beside.tick_params(labelsize=8)
        beside.set_title("neighbours that int8\nembeddings keep", fontsize=9, loc="left")
    save(figure, figures / "exactness.svg")
