"""docs/performance.md."""

import datetime
import pathlib
import re

from reporting.page import table

from .goals import SECTIONS, Named, Verdict
from .measurements import Measurements

CHARTS = {
    1: [("throughput_one_thread", "Throughput over size, one thread"), ("instruction_sets", "Instruction sets")],
    2: [("per_channel", "Throughput of per_channel shapes, one thread")],
    4: [("dequantize_one_thread", "Throughput of dequantizing over size, one thread")],
    5: [("small_tensors", "Time of a call over size")],
    6: [("throughput_all_threads", "Throughput over size, all threads"), ("thread_scaling", "Speed-up by threads")],
}


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "not measured"
    digits = 0 if unit == "ns" or value >= 100 else 1 if unit == "us" or value >= 10 else 2
    of = f" ({value.name})" if isinstance(value, Named) else ""
    return f"{value:.{digits}f} {unit}{of}"


def _verdict(v: Verdict) -> str:
    if v.met is None:
        return "" if v.measured is not None else "-"
    return "yes" if v.met else f"**{v.short_by:.0f} % short**"


def notes_of(text: str) -> dict[int, str]:
    """The text under each heading "## N ...", by N."""
    parts = re.split(r"^## (\d+).*\n", text, flags=re.MULTILINE)
    return {int(number): body.strip() for number, body in zip(parts[1::2], parts[2::2])}


def _section(number: int, verdicts: list[Verdict], notes: str) -> list[str]:
    lines = [f"## {number}. {SECTIONS[number]}", ""]
    rows = []
    for v in verdicts:
        asked = "" if v.goal.bound is None else f"{v.goal.sense} {v.goal.bound:g} {v.goal.unit}"
        rows.append([v.goal.what, asked, _figure(v.measured, v.goal.unit), _verdict(v)])
    lines += table(["what", "asked for", "measured", "met"], rows)
    for name, title in CHARTS.get(number, []):
        lines += [f"![{title}](performance/{name}.svg)", ""]
    if notes:
        lines += [notes, ""]
    return lines


def write(path: pathlib.Path, m: Measurements, verdicts: list[Verdict], notes: dict[int, str], missing: list[str]) -> None:
    met = [v.met for v in verdicts if v.met is not None]
    lines = [
        "# Performance",
        "",
        "Written by `scripts/report`, which does the same on your machine. What is compared takes turns in one run, ONNX",
        f"Runtime excepted; a figure is the median of {len(m.passes)} passes, each of which took medians. The *limit* is the",
        "same loads, stores, task split, prefetching and streaming without arithmetic. Where one of many cases decides, its",
        "name in [benchdnn_inputs](../benchdnn_inputs) is given.",
        "",
        f"{sum(met)} of {len(met)} goals are met on this machine ({datetime.date.today().isoformat()}):",
        "",
        "| | |",
        "|---|---|",
        *(f"| {what} | {which} |" for what, which in m.machine.items()),
        "",
        *(f"{line}\n" for line in missing),
    ]
    for number in SECTIONS:
        lines += _section(number, [v for v in verdicts if v.goal.section == number], notes.get(number, ""))
    path.write_text("\n".join(lines).rstrip() + "\n")
