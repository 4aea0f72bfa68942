"""Runs dqbench and reads what it prints."""

import pathlib
import subprocess
from collections.abc import Iterable


def run(program: pathlib.Path, fields: Iterable[str], arguments: Iterable[str], threads: Iterable[int], duration: float) -> list[dict[str, str]]:
    """The fields of each case, as texts; "refused" and "absent" among them. arguments: --batch=NAME, or options and shapes."""
    fields = list(fields)
    command = [str(program), "--mode=P", f"--max-ms-per-prb={max(1, 1e3 * duration):g}", f"--threads={','.join(map(str, threads))}",
               "--perf-template=" + "\t".join(["row", *(f"%{field}%" for field in fields)]), *arguments]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("row\t")]
    if done.returncode or len(rows) < 2:  # the first has the names of the fields
        raise RuntimeError(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [dict(zip(fields, (cell.strip('"') for cell in row), strict=True)) for row in rows[1:]]


def seconds(cell: str) -> float | None:
    """Of a time of dqbench, in milliseconds; None if it did not run."""
    try:
        return float(cell) / 1e3
    except ValueError:
        return None
