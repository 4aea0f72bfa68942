"""Times dynquant: dqbench as a program of its own, through the direct API."""

import pathlib
import subprocess

from .cases import Case
from .page import Key, Share

BATCH = "perf_11_computed"


def _rows(program: pathlib.Path, threads: int, seconds: float, fields: list[str], arguments: list[str]) -> list[list[str]]:
    """The fields of each case."""
    template = "\t".join(["row", *(f"%{field}%" for field in fields)])
    limits = [f"--max-ms-per-prb={max(1, 1e3 * seconds):g}", f"--threads={threads}", f"--perf-template={template}"]
    command = [str(program), "--mode=P", *limits, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("row\t")]
    if done.returncode or len(rows) < 2:  # the first has the names of the fields
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return rows[1:]


def times(program: pathlib.Path, case: Case, threads: int, seconds: float) -> tuple[float, float]:
    """The median and the least time of a call, in seconds."""
    problem = "x".join(map(str, case.dims))
    (median, least), = _rows(program, threads, seconds, ["~time", "-time"], ["--api=direct", *case.options, problem])
    return float(median) / 1e3, float(least) / 1e3


def beside_flat(program: pathlib.Path, isa: str, threads: int, seconds: float) -> dict[Key, Share]:
    """The batch's cases beside the flat loop."""
    fields = ["name", "scales", "dt", "-time", "-peertime:flat", "-elems"]
    result = {}
    for name, rule, types, *times, rate in _rows(program, threads, seconds, fields, [f"--isa={isa}", "--peer=flat", f"--batch={BATCH}"]):
        own, flat = (float(time) / 1e3 for time in times)
        result[name.strip('"'), rule, types] = Share(own, flat, float(rate) * own)
    return result
