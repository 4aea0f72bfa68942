"""Measures a suite or reads its saved figures, and writes its tables and charts.

A suite is a module with
  measure(given, say)  yields a Measured for each case; say tells of progress
  tables(results)      a list of tables by name: {name: lines of Markdown}, of one processor's list of Measured
and if it has them
  draw(processors, figures)  writes charts of processors to the folder `figures`
  write(folder, say)   for --models
  PAGE                 the page of docs whose tables --save and --draw write; marks are like `Zen 4, nodes ONNX Runtime 1`
  OF_ALL               tables() takes a list of processors, of which its tables have all, and marks name none
"""

import datetime
import importlib
import pathlib
import re
import subprocess
import sys
import time

from . import machine
from .arguments import ROOT, parse, parser
from .results import MACHINE, Measured, Processor, replace_text


class Progress:
    """Says what is measured, how much there is, and since when."""

    def __init__(self) -> None:
        self.start, self.done = time.monotonic(), 0

    def __call__(self, what: str, of: int = 0) -> None:
        """of: the number of such steps, if it is known."""
        self.done += 1
        count = f"{self.done}/{of} " if of else ""
        print(f"measure: {count}at {time.monotonic() - self.start:.0f} s: {what}", file=sys.stderr, flush=True)


def write_tables(page: pathlib.Path, tables: dict[str, list[str]]) -> None:
    """Puts each table in place of that below the line `<!-- measure: NAME -->`."""
    text = page.read_text()
    for name, lines in tables.items():
        body = "\n".join(lines).rstrip() + "\n"
        text = re.sub(rf"(?m)^(<!-- measure: {re.escape(name)} -->\n)(?:\|.*\n)*", lambda found: found[1] + body, text)  # noqa: B023
    replace_text(page, text)


def named_tables(suite: object, name: str, processors: list[Processor]) -> dict[str, list[str]]:
    """All tables of all processors. name: the suite's."""
    if hasattr(suite, "OF_ALL"):
        return suite.tables(processors)
    return {f"{p.name}, {table}": lines for p in processors for table, lines in suite.tables(p.of(name)).items()}


def draw(suite: object, name: str, processors: list[Processor], figures: pathlib.Path) -> None:
    """Writes the charts and the tables of the page."""
    if hasattr(suite, "draw"):
        suite.draw(processors, figures)
    page = figures.parent / getattr(suite, "PAGE", ".")
    if page.is_file():
        write_tables(page, named_tables(suite, name, processors))


def print_tables(suite: object, name: str, processors: list[Processor]) -> None:
    for some in [processors] if hasattr(suite, "OF_ALL") else [[p] for p in processors]:
        print("\n".join(f"{p.describe(name)}." for p in some) + "\n")
        tables = named_tables(suite, name, some)
        print("\n".join(line for lines in tables.values() for line in lines).rstrip() + "\n")


def main() -> int:
    given = parse()
    suite = importlib.import_module(f".suites.{given.suite}", __package__)
    given.build = given.build or ROOT / "build/release"
    saved = {p.name: p for p in map(Processor.load, sorted(given.figures.glob("*.jsonl"))) if p.of(given.suite)}
    if given.models:
        suite.write(given.models, Progress())
        return 0
    if given.draw:
        if not saved:
            parser().error(f"argument --draw: expected figures of {given.suite} in {given.figures}, found none; --save keeps them")
        print_tables(suite, given.suite, list(saved.values()))
        draw(suite, given.suite, list(saved.values()), given.figures)
        return 0
    now = Processor(machine.processor())
    facts = {"date": datetime.date.today().isoformat(), **machine.facts(given.build)}
    now.add(Measured(given.suite, MACHINE, 0, facts=facts))
    for measured in suite.measure(given, Progress()):
        now.add(measured)
    if not now.of(given.suite):
        parser().error(f"argument --only: expected a part of the name of a case of {given.suite}, given '{given.only}'")
    before = saved.get(now.name)
    print_tables(suite, given.suite, [before.only(now), now] if before and hasattr(suite, "OF_ALL") else [now])
    if given.save:
        given.figures.mkdir(parents=True, exist_ok=True)
        path = given.figures / now.file_name
        kept = Processor.load(path) if path.exists() else Processor(now.name)
        kept.update(now)
        kept.save(path)
        draw(suite, given.suite, list((saved | {kept.name: kept}).values()), given.figures)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"measure: {error}")
