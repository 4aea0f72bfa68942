"""scripts/compare-onnxruntime: dynquant's operators in ONNX Runtime beside its own and beside Quark's library, in one run."""

import argparse
import dataclasses
import json
import os
import pathlib
import sys

from .cases import QUARK, all_cases
from .measure import measure
from .page import tables
from .result import Result
from .sessions import Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/compare-onnxruntime", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="nodes whose name has this in it, as the tables name them")
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, len(os.sched_getaffinity(0))}))
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn (5)")
    parser.add_argument("--milliseconds", type=float, default=60, help="how long a turn takes at least (60)")
    parser.add_argument("--library", type=pathlib.Path, default=BUILD / "src/libdynquant_ort.so")
    parser.add_argument("--quark", type=pathlib.Path, metavar="LIBRARY", default=BUILD / "tests/differential/libquark_operators.so",
                        help="Quark's own library; its operators are left out where there is none")  # fmt: skip
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="add the figures to those of this file, and write the tables of all")
    parser.add_argument("--chart", type=pathlib.Path, metavar="FILE.svg", help="draw them too")
    return parser.parse_args()


def load(path: pathlib.Path | None) -> list[Result]:
    return [Result(**fields) for fields in json.loads(path.read_text())] if path and path.exists() else []


def main() -> int:
    given = arguments()
    ours = Peer("dynquant", str(given.library), standard=True)
    theirs = Peer("ONNX Runtime")
    quark = Peer("Quark", str(given.quark)) if given.quark.exists() else None
    results = {(r.key, r.threads): r for r in load(given.results)}
    for threads in given.threads:
        for case in all_cases():
            peer = quark if case.domain == QUARK else theirs
            if peer is None or given.only not in case.key:
                continue
            print(f"compare-onnxruntime: {case.key}, threads {threads}", file=sys.stderr, flush=True)
            r = measure(case, threads, ours, peer, given.rounds, given.milliseconds / 1e3)
            if r.refusal:
                print(f"  {peer.name}: {r.refusal}", file=sys.stderr)
            results[r.key, r.threads] = r
    if given.results:
        given.results.write_text(json.dumps([dataclasses.asdict(r) for r in results.values()]))
    if given.chart:
        from .chart import draw  # wants matplotlib

        draw(list(results.values()), given.chart)
    print(tables(list(results.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
