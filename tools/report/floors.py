"""Regression floors: what a line may not fall below on a processor where it was measured. Kept in floors.json."""

import json
import pathlib

from .lines import Line, lines
from .measurements import Measurements

FILE = pathlib.Path(__file__).with_name("floors.json")
MARGIN = 0.1  # what shared machines differ by from run to run


def load() -> dict[str, dict]:
    """By processor: where they are from, and a figure for each line's key."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def holds(line: Line, measured: float | None, floor: float | None) -> bool | None:
    """None: not measured, or no floor."""
    if measured is None or floor is None:
        return None
    return measured <= floor if line.less_is_better else measured >= floor


def update(m: Measurements) -> None:
    """Makes these figures, less the margin, the floors of their processor."""
    floors = {}
    for line in lines(m.isa):
        value = m.median(line.value)
        if value is not None:
            floors[line.key] = float(f"{value * (1 + MARGIN if line.less_is_better else 1 - MARGIN):.2g}")
    machine = f"{m.machine['Processor']}, {m.machine['Cores']}, {m.date}"
    FILE.write_text(json.dumps({**load(), m.processor: {"from": machine, "floors": floors}}, indent=1) + "\n")
