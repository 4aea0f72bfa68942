"""scripts/report: measure, judge, draw, write."""

import argparse
import pathlib
import sys
import time

from . import charts, dqbench, goals, machine, onnxruntime_peer, page
from .measurements import Measurements, Pass

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What each batch runs against, and by how many threads: one, all, or every power of two up to all. Peers with threads
# of their own, which wait for work in a loop, would take the cores from each other: XNNPACK runs by one thread only.
RUNS = [
    ("perf_1_per_tensor", ("limit", "onednn_graph", "xnnpack"), "one"),
    ("perf_1_per_tensor", ("limit", "onednn_graph"), "all"),
    ("perf_2_per_channel", ("onednn_graph",), "one"),
    ("perf_3_shapes", ("limit", "onednn_graph"), "one"),
    ("perf_4_dequantize", ("limit", "onednn_graph"), "one"),
    ("perf_5_small", ("onednn_graph", "xnnpack"), "one"),
    ("perf_6_threads", ("limit",), "up to all"),
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
        progress.begin(f"ONNX Runtime (pass {number} of {passes})")
        for s in onnxruntime_peer.STATEMENTS:
            for threads in sorted({1, m.threads}):
                one.onnxruntime[s.name, s.op, threads] = onnxruntime_peer.measure(s, threads, milliseconds)
        m.passes.append(one)


def missing(m: Measurements) -> list[str]:
    """Which competitors the page lacks, in words."""
    rows = [row for p in m.passes for rows in p.batches.values() for row in rows]
    wanted = {"xnnpack": "XNNPACK was not found when dqbench was built (Debian: libxnnpack-dev); its columns are empty."}
    return [text for peer, text in wanted.items() if not any(peer in row.peers for row in rows)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/report", description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs", help="folder for performance.md and its charts (docs)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where dqbench was built (build/release)")
    parser.add_argument("--quick", action="store_true", help="one short pass, to see that all works; the figures are poor")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE", help="write the page again from the figures of an earlier run, measuring nothing")
    given = parser.parse_args()

    kept = ROOT / ".deps/report/measurements.json"
    if given.source:
        m = Measurements.load(given.source)
    else:
        cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
        isa = {"AVX-512": "avx512", "AVX2": "avx2"}.get(machine.instruction_set(cpuinfo), "scalar")
        m = Measurements(machine.facts(given.build, onnxruntime_peer.versions()), machine.threads(), isa)
        passes, milliseconds = (1, 20) if given.quick else (3, 60)
        try:
            measure(given.build / "tools/dqbench/dqbench", m, passes, milliseconds)
        except (OSError, RuntimeError) as error:
            print(f"report: {error}", file=sys.stderr)
            return 1
        m.save(kept)

    notes_file = ROOT / "docs/performance_notes.md"
    notes = page.notes_of(notes_file.read_text()) if notes_file.exists() else {}
    given.out.mkdir(parents=True, exist_ok=True)
    charts.draw(m, given.out / "performance")
    page.write(given.out / "performance.md", m, goals.judge(m), notes, missing(m))
    print(f"report: wrote {given.out / 'performance.md'}; the figures are in {given.source or kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
