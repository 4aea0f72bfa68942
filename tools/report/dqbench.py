"""Runs dqbench's batches and reads what it prints."""

import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Iterable

PEERS = ("flat", "onednn_graph", "onednn_reorder", "xnnpack")
_FIELDS = ["name", "op", "dt", "fpmath-mode", "isa", "threads", "api", "~time", "~Gelems", "spread", "~ctime"]
_MARK = "row"


@dataclasses.dataclass(frozen=True)
class Row:
    """A measured case. Times are medians, in milliseconds. peers: times; a peer that did not run is missing."""

    name: str
    op: str
    dt: str
    fpmath: str
    isa: str
    threads: int
    api: str
    time: float
    gelems: float
    spread: float
    compile_ms: float
    peers: dict[str, float]

    def ratio(self, peer: str) -> float | None:
        """The peer's time divided by dynquant's."""
        return self.peers[peer] / self.time if peer in self.peers and self.time > 0 else None


def _number(text: str) -> float:
    return float(text) if re.fullmatch(r"[-+.\deE]+", text) else float("nan")


def template() -> str:
    peers = [f"~peertime:{peer}" for peer in PEERS]
    return "\t".join([_MARK, *(f"%{field}%" for field in _FIELDS + peers)])


def parse(lines: Iterable[str]) -> list[Row]:
    rows = []
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if cells[0] != _MARK or len(cells) != 1 + len(_FIELDS) + len(PEERS) or cells[2] == "op":
            continue
        name, op, dt, fpmath, isa, threads, api, time, gelems, spread, compile_ms = cells[1 : 1 + len(_FIELDS)]
        times = {peer: _number(cell) for peer, cell in zip(PEERS, cells[1 + len(_FIELDS) :])}
        rows.append(
            Row(
                name=name.strip('"'),
                op=op,
                dt=dt,
                fpmath=fpmath,
                isa=isa,
                threads=int(threads),
                api=api,
                time=_number(time),
                gelems=_number(gelems),
                spread=_number(spread),
                compile_ms=_number(compile_ms),
                peers={peer: value for peer, value in times.items() if value == value},
            )
        )
    return rows


def run(
    program: pathlib.Path, problems: Iterable[str], *, peers: Iterable[str] = (), threads: Iterable[int] = (1,), milliseconds: int = 60
) -> list[Row]:
    """Measures problems, in dqbench's syntax: --batch=NAME, or options and shapes."""
    command = [
        str(program),
        "--mode=P",
        f"--peer={','.join(peers) or 'none'}",
        f"--threads={','.join(map(str, threads))}",
        f"--max-ms-per-prb={milliseconds}",
        f"--perf-template={template()}",
        *problems,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = parse(done.stdout.splitlines())
    if done.returncode != 0 or not rows:
        raise RuntimeError(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return rows
