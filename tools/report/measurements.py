"""All figures of a report: several passes, so that a disturbance affects one of them and not the median."""

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Callable

from .dqbench import Row


@dataclasses.dataclass
class Pass:
    """Rows of dqbench by batch, and milliseconds of Python libraries by (library, case, op, threads)."""

    batches: dict[str, list[Row]] = dataclasses.field(default_factory=dict)
    python: dict[tuple[str, str, str, int], float] = dataclasses.field(default_factory=dict)

    def rows(self, batch: str, **where: object) -> list[Row]:
        """The rows whose fields have these values."""
        return [
            row
            for row in self.batches.get(batch, [])
            if all(getattr(row, field) == value for field, value in where.items())
        ]

    def row(self, batch: str, name: str, **where: object) -> Row | None:
        found = self.rows(batch, name=name, **where)
        return found[0] if found else None


@dataclasses.dataclass
class Measurements:
    processor: str  # the name in floors.json
    date: str
    machine: dict[str, str]
    threads: int
    isa: str
    passes: list[Pass] = dataclasses.field(default_factory=list)

    def median(self, value: Callable[[Pass], float | None]) -> float | None:
        values = [v for v in map(value, self.passes) if v is not None and v == v]
        return statistics.median(values) if values else None

    @property
    def file_name(self) -> str:
        return self.processor.lower().replace(" ", "_") + ".json"

    def save(self, path: pathlib.Path) -> None:
        """Writes JSON with a line for each row."""

        def row_of(row: Row) -> str:
            return json.dumps([round(v, 7) if isinstance(v, float) else v for v in dataclasses.astuple(row)])

        def pass_of(p: Pass) -> str:
            batches = ",\n".join(f"{json.dumps(name)}: [\n" + ",\n".join(map(row_of, rows)) + "]" for name, rows in p.batches.items())
            python = ",\n".join(json.dumps([*key, round(value, 7)]) for key, value in p.python.items())
            return f'{{"batches": {{{batches}}},\n"python": [\n{python}]}}'

        facts = {name: value for name, value in vars(self).items() if name != "passes"}
        passes = ",\n".join(map(pass_of, self.passes))
        path.write_text(f'{{"facts": {json.dumps(facts, indent=1)},\n"passes": [\n{passes}]}}\n')

    @staticmethod
    def load(path: pathlib.Path) -> "Measurements":
        data = json.loads(path.read_text())
        passes = [
            Pass(
                {name: [Row(*row) for row in rows] for name, rows in p["batches"].items()},
                {tuple(key): value for *key, value in p["python"]},
            )
            for p in data["passes"]
        ]
        return Measurements(**data["facts"], passes=passes)
