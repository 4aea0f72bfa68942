"""Regression floors in floors.json: for each processor the value that a line must reach."""

import json
import pathlib

from .lines import Line, lines
from .measurements import Measurements

FILE = pathlib.Path(__file__).with_name("floors.json")
MARGIN = 0.1  # the variation between runs on a shared machine


def load() -> dict[str, dict]:
    """By processor: "from", the machine, and "floors", a figure for each line's key."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def holds(line: Line, measured: float | None, floor: float | None) -> bool | None:
    """Whether the measured value meets its floor; None if not measured, or if there is no floor."""
    if measured is None or floor is None:
        return None
    return measured <= floor if line.less_is_better else measured >= floor


def update(m: Measurements) -> None:
    """Sets the floors of the processor to these figures less the margin."""
    floors = {}
    for line in lines(m.isa):
        value = m.median(line.value)
        if value is not None:
            floors[line.key] = float(f"{value * (1 + MARGIN if line.less_is_better else 1 - MARGIN):.2g}")
    machine = f"{m.machine['Processor']}, {m.machine['Cores']}, {m.date}"
    FILE.write_text(json.dumps({**load(), m.processor: {"from": machine, "floors": floors}}, indent=1) + "\n")
