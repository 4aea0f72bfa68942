"""Times dynquant: dqbench as a program of its own, through the direct API."""

import pathlib
import subprocess

from .cases import Case


def times(program: pathlib.Path, case: Case, threads: int, seconds: float) -> tuple[float, float]:
    """The median and the least time of a call, in seconds."""
    problem = "x".join(map(str, case.dims))
    limits = [f"--max-ms-per-prb={max(1, 1e3 * seconds):g}", f"--threads={threads}", "--perf-template=row %~time% %-time%"]
    command = [str(program), "--mode=P", "--api=direct", *limits, *case.options, problem]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("row ")]
    if done.returncode or len(rows) != 2:  # the names of the fields, and their values
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return float(rows[1][0]) / 1e3, float(rows[1][1]) / 1e3
