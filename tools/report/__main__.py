"""scripts/report: measures, draws the charts and writes the page."""

import argparse
import datetime
import pathlib
import sys
import time

from . import charts, dqbench, floors, machine, page, python_peers
from .measurements import Measurements, Pass

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The peers of each batch and its numbers of threads: one, all, or every power of two up to all. XNNPACK runs by one
# thread only: its worker threads spin and would take cores from the other peers.
RUNS = [
    ("perf_1_per_tensor", ("flat", "onednn_graph", "xnnpack"), "one"),
    ("perf_1_per_tensor", ("flat", "onednn_graph"), "all"),
    ("perf_2_per_channel", ("flat", "onednn_graph"), "one"),
    ("perf_3_shapes", ("flat", "onednn_graph"), "one"),
    ("perf_4_dequantize", ("flat", "onednn_graph"), "one"),
    ("perf_5_small", ("onednn_graph", "xnnpack"), "one"),
    ("perf_6_threads", ("flat",), "up to all"),
    ("perf_7_peers", ("onednn_graph", "onednn_reorder", "xnnpack"), "one"),
]


class Progress:
    def __init__(self, steps: int) -> None:
        self.steps, self.done, self.start = steps, 0, time.monotonic()

    def begin(self, what: str) -> None:
        self.done += 1
        print(f"report: {self.done}/{self.steps} at {time.monotonic() - self.start:4.0f} s: {what}", flush=True)


def thread_counts(mode: str, threads: int) -> list[int]:
    if mode != "up to all":
        return [1 if mode == "one" else threads]
    return sorted({1, threads, *(2**i for i in range(threads.bit_length()) if 2**i <= threads)})


def measure(program: pathlib.Path, m: Measurements, passes: int, milliseconds: int) -> None:
    progress = Progress(passes * (len(RUNS) + 1))
    for number in range(1, passes + 1):
        one = Pass()
        for batch, peers, mode in RUNS:
            counts = thread_counts(mode, m.threads)
            progress.begin(f"{batch}, threads {', '.join(map(str, counts))} (pass {number} of {passes})")
            rows = dqbench.run(program, [f"--batch={batch}"], peers=peers, threads=counts, milliseconds=milliseconds)
            one.batches.setdefault(batch, []).extend(rows)
        progress.begin(f"ONNX Runtime and pi-quant (pass {number} of {passes})")
        for threads in sorted({1, m.threads}):
            one.python |= python_peers.measure(threads, milliseconds)
        m.passes.append(one)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/report", description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs", help="folder for performance.md, its figures and its charts (docs)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where dqbench was built (build/release)")
    parser.add_argument("--quick", action="store_true", help="one short pass, to see that all works; the figures are poor")
    parser.add_argument("--draw", action="store_true", help="write the page and its charts again from the figures that are there, measuring nothing")
    parser.add_argument("--update-floors", action="store_true", help="make this machine's figures, less a tenth, the floors of its processor")
    given = parser.parse_args()

    figures = given.out / "performance"
    figures.mkdir(parents=True, exist_ok=True)
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    isa = {"AVX-512": "avx512", "AVX2": "avx2"}.get(machine.instruction_set(cpuinfo), "scalar")
    today = datetime.date.today().isoformat()
    m = Measurements(machine.processor(cpuinfo), today, machine.facts(given.build, python_peers.versions()), machine.threads(), isa)
    if given.draw and not (files := sorted(figures.glob("*.json"))):
        print(f"report: {figures}: expected a file of figures, found none. Run it without --draw.", file=sys.stderr)
        return 1
    if given.draw and given.update_floors:
        if figures / m.file_name not in files:
            print(f"report: {figures / m.file_name}: expected this processor's figures, found none. Run it without --draw.", file=sys.stderr)
            return 1
        m = Measurements.load(figures / m.file_name)
    if not given.draw:
        passes, milliseconds = (1, 20) if given.quick else (3, 60)
        try:
            measure(given.build / "tools/dqbench/dqbench", m, passes, milliseconds)
        except (OSError, RuntimeError) as error:
            print(f"report: {error}", file=sys.stderr)
            return 1
        m.save(figures / m.file_name)
        if not any("xnnpack" in row.peers for rows in m.passes[0].batches.values() for row in rows):
            print("report: XNNPACK was not found when dqbench was built (Debian: libxnnpack-dev); its figures are missing")
    if given.update_floors:
        floors.update(m)

    every = [Measurements.load(file) for file in sorted(figures.glob("*.json"))]
    notes_file = ROOT / "docs/performance_notes.md"
    charts.draw(every, figures)
    page.write(given.out / "performance.md", every, page.notes_of(notes_file.read_text()) if notes_file.exists() else {})
    for one in every:
        verdicts = page.floor_verdicts(one, floors.load())
        print(f"report: {one.processor}: {sum(verdicts)} of {len(verdicts)} floors hold")
    print(f"report: wrote {given.out / 'performance.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
