"""All figures of a report: several passes, so that a disturbance spoils one of them and not the median."""

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Callable

from .dqbench import Row


@dataclasses.dataclass
class Pass:
    """Rows by batch, and ONNX Runtime's milliseconds by (name, operator, threads)."""

    batches: dict[str, list[Row]] = dataclasses.field(default_factory=dict)
    onnxruntime: dict[tuple[str, str, int], float] = dataclasses.field(default_factory=dict)

    def rows(self, batch: str, **where: object) -> list[Row]:
        """Those whose fields have these values."""
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
    machine: dict[str, str]
    threads: int
    isa: str
    passes: list[Pass] = dataclasses.field(default_factory=list)

    def median(self, value: Callable[[Pass], float | None]) -> float | None:
        values = [v for v in map(value, self.passes) if v is not None and v == v]
        return statistics.median(values) if values else None

    def save(self, path: pathlib.Path) -> None:
        passes = [
            {
                "batches": {name: [dataclasses.asdict(row) for row in rows] for name, rows in p.batches.items()},
                "onnxruntime": [[*key, value] for key, value in p.onnxruntime.items()],
            }
            for p in self.passes
        ]
        path.write_text(json.dumps({**vars(self), "passes": passes}))

    @staticmethod
    def load(path: pathlib.Path) -> "Measurements":
        data = json.loads(path.read_text())
        passes = [
            Pass(
                {name: [Row(**row) for row in rows] for name, rows in p["batches"].items()},
                {(name, op, threads): value for name, op, threads, value in p["onnxruntime"]},
            )
            for p in data.pop("passes")
        ]
        return Measurements(**data, passes=passes)
