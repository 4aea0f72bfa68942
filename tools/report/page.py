"""Writes docs/performance.md."""

import pathlib
import re
import textwrap

from reporting.page import table

from . import floors
from .lines import SECTIONS, Line, Named, lines
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
    return f"{value:.{digits}f}{of}"


def _cell(line: Line, m: Measurements, known: dict[str, float]) -> str:
    """A figure with its floor; bold if it is beyond the floor. A line of the same key is of each machine's best
    instruction set."""
    line = next((own for own in lines(m.isa) if own.key == line.key), line)
    value, floor = m.median(line.value), known.get(line.key)
    if floor is None:
        return _figure(value, line.unit)
    verdict = floors.holds(line, value, floor)
    bound = f"{'at most' if line.less_is_better else 'floor'} {floor:g}"
    return f"{_figure(value, line.unit)}, {bound}" if verdict is not False else f"**{_figure(value, line.unit)}, {bound}**"


def notes_of(text: str) -> dict[int, str]:
    """The text under each heading "## N ...", by N."""
    parts = re.split(r"^## (\d+).*\n", text, flags=re.MULTILINE)
    return {int(number): body.strip() for number, body in zip(parts[1::2], parts[2::2])}


def _section(number: int, all_lines: list[Line], ms: list[Measurements], known: dict[str, dict], notes: str) -> list[str]:
    text = [f"## {number}. {SECTIONS[number]}", ""]
    rows = [
        [line.what, line.unit, *(_cell(line, m, known.get(m.processor, {}).get("floors", {})) for m in ms)]
        for line in all_lines
        if line.section == number
    ]
    text += table(["what", "unit", *(m.processor for m in ms)], rows)
    for name, title in CHARTS.get(number, []):
        text += [f"![{title}](performance/{name}.svg)", ""]
    if notes:
        text += [notes, ""]
    return text


def floor_verdicts(m: Measurements, known: dict[str, dict]) -> list[bool]:
    """For each line that has a floor on this processor, whether it holds."""
    of_processor = known.get(m.processor, {}).get("floors", {})
    verdicts = (floors.holds(line, m.median(line.value), of_processor.get(line.key)) for line in lines(m.isa))
    return [verdict for verdict in verdicts if verdict is not None]


def write(path: pathlib.Path, ms: list[Measurements], notes: dict[int, str]) -> None:
    known = floors.load()
    all_lines = list({line.key: line for m in ms for line in lines(m.isa)}.values())
    others = [f"{name} ({entry['from']})" for name, entry in known.items() if name not in {m.processor for m in ms}]
    facts = list(dict.fromkeys(name for m in ms for name in m.machine))
    text = [
        "# Performance",
        "",
        "Written by `scripts/report`, which measures the same on your machine. Libraries that are compared run in turns in",
        "one process, except those for Python. A figure is the median of the passes, each of which takes medians. Where",
        "the worst of many cases decides, its name in [benchdnn_inputs](../benchdnn_inputs) follows in brackets.",
        "",
        "*flat* is the machine's limit: one loop that reads the bytes of src once and writes those of dst once, in order, with",
        "the same instruction set, task split, prefetch and streaming. `dqbench --peer=flat` measures it.",
        "",
        "A *floor* guards against slow-downs: what that processor reached, less a tenth. A figure beyond its floor is bold.",
        "[floors.json](../tools/report/floors.json) has the floors of each processor; `scripts/report --update-floors` writes",
        "those of the machine that it runs on.",
        *textwrap.wrap(f"Processors with floors and without figures here: {'; '.join(others)}." if others else "", 120),
        "",
        *table(["", *(f"{m.processor}, {m.date}" for m in ms)], [
            ["floors that hold", *(f"{sum(floor_verdicts(m, known))} of {len(floor_verdicts(m, known))}" for m in ms)],
            *([name, *(m.machine.get(name, "-") for m in ms)] for name in facts),
        ]),
    ]  # fmt: skip
    for number in SECTIONS:
        text += _section(number, all_lines, ms, known, notes.get(number, ""))
    path.write_text("\n".join(text).rstrip() + "\n")
