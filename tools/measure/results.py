"""The figures of a processor, kept in a file with a line for each case."""

import dataclasses
import json
import os
import pathlib
import statistics
from collections.abc import Callable

MACHINE = "machine"  # the case whose facts describe the machine and the software of a suite


def short(value: float) -> float:
    """Of five digits."""
    return float(f"{value:.5g}")


def replace_text(path: pathlib.Path, text: str) -> None:
    """All of the file or, where that fails, as on a full disk, nothing of it."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text)
        os.replace(new, path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _each(convert: Callable[[float], float], times: dict) -> dict:
    """times: a number or a list of numbers by name."""
    return {name: [convert(v) for v in value] if isinstance(value, list) else convert(value) for name, value in times.items()}


def _are_numbers(times: dict) -> bool:
    return all(isinstance(v, int | float) for value in times.values() for v in (value if isinstance(value, list) else [value]))


@dataclasses.dataclass
class Measured:
    """times: of each contestant, the median seconds of a run of each turn; least: of its shortest run. facts: other figures."""

    suite: str
    case: str
    threads: int
    times: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    least: dict[str, float] = dataclasses.field(default_factory=dict)
    facts: dict[str, object] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.suite, self.case, self.threads

    def median(self, name: str) -> float | None:
        return statistics.median(self.times[name]) if self.times.get(name) else None

    def ratios(self, slower: str, faster: str) -> list[float]:
        """Those of neighbouring turns."""
        return [a / b for a, b in zip(self.times.get(slower, []), self.times.get(faster, []))]

    def ratio(self, slower: str, faster: str) -> float | None:
        some = self.ratios(slower, faster)
        return statistics.median(some) if some else None

    def line(self) -> str:
        """Times are in microseconds."""
        times, least = (_each(lambda seconds: short(1e6 * seconds), some) for some in (self.times, self.least))
        return json.dumps([*self.key, times, least, self.facts], separators=(",", ":"))

    @staticmethod
    def of_line(text: str) -> "Measured":
        match json.loads(text):
            case [str(suite), str(case), int(threads), dict(times), dict(least), dict(facts)] if _are_numbers(times) and _are_numbers(least):
                return Measured(suite, case, threads, *(_each(lambda microseconds: microseconds / 1e6, some) for some in (times, least)), facts)
        raise ValueError("no figures of a case")


class Processor:
    """What was measured on a processor. A later figure takes the place of an earlier one of the same case."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._by_key: dict[tuple, Measured] = {}

    def add(self, one: Measured) -> None:
        self._by_key[one.key] = one

    def update(self, other: "Processor") -> None:
        self._by_key |= other._by_key

    def only(self, other: "Processor") -> "Processor":
        """Those of the cases that the other has too."""
        result = Processor(self.name)
        result._by_key = {key: one for key, one in self._by_key.items() if key in other._by_key}
        return result

    def of(self, suite: str) -> list[Measured]:
        return [one for one in self._by_key.values() if one.suite == suite and one.case != MACHINE]

    def facts(self, suite: str) -> dict[str, str]:
        one = self._by_key.get((suite, MACHINE, 0))
        return one.facts if one else {}

    def describe(self, suite: str) -> str:
        facts = self.facts(suite)
        shown = ("Processor", "Cores", "Instruction set", "ONNX Runtime", "date")
        return ", ".join([self.name, *(f"{name} {facts[name]}" if name == "ONNX Runtime" else facts[name] for name in shown if name in facts)])

    @property
    def file_name(self) -> str:
        return self.name.lower().replace(" ", "_") + ".jsonl"

    def save(self, path: pathlib.Path) -> None:
        """The suites one after the other."""
        lines = sorted(self._by_key.values(), key=lambda one: one.suite)
        replace_text(path, "".join(one.line() + "\n" for one in [Measured("", self.name, 0), *lines]))

    @staticmethod
    def load(path: pathlib.Path) -> "Processor":
        """RuntimeError if it is no file of save(), as after a merge that left its marks."""
        result = None
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            try:
                one = Measured.of_line(line.decode())
            except (OverflowError, RecursionError, ValueError):
                raise RuntimeError(f"{path}, line {number}: expected [suite, case, threads, times, least, facts] in JSON, given {line[:60]!r}") from None
            if result:
                result.add(one)
            else:
                result = Processor(one.case)
        if not result:
            raise RuntimeError(f"{path}: expected the figures of a processor, given an empty file")
        return result
