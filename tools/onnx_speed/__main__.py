"""scripts/compare-onnxruntime: times dynquant's operators in ONNX Runtime against its own and against Quark's.

Start at main(): cases.py lists the nodes, measure.py times a node, sessions.py builds its model and runs it, page.py
writes the tables. networks.py times whole networks (--networks).
"""

import dataclasses
import json
import pathlib
import sys

from .arguments import parser
from .cases import QUARK, all_cases
from .measure import measure
from .page import tables
from .result import Result
from .sessions import Peer


def load(path: pathlib.Path | None) -> list[Result]:
    return [Result(**fields) for fields in json.loads(path.read_text())] if path and path.exists() else []


def main() -> int:
    options = parser()
    given = options.parse_args()
    if given.networks:
        if given.results or given.chart:
            options.error("argument --networks: expected neither --results nor --chart with it")
        from . import networks

        wheels = pathlib.Path(__file__).resolve().parents[2] / ".deps/networks"
        print(networks.compare(wheels, str(given.library), str(given.provider), given.threads, given.rounds, given.milliseconds / 1e3, given.only))
        return 0
    dynquant = Peer("dynquant", str(given.library), standard=True)
    onnxruntime = Peer("ONNX Runtime")
    quark = Peer("Quark", str(given.quark)) if given.quark.exists() else None
    cases = [(case, quark if case.domain == QUARK else onnxruntime) for case in all_cases() if given.only in case.key]
    cases = [(case, peer) for case, peer in cases if peer]
    if not cases:
        options.error(f"argument --only: expected a part of the name of a node that is measured, given '{given.only}'")
    results = {(r.key, r.threads): r for r in load(given.results)}
    for threads in given.threads:
        for case, peer in cases:
            print(f"compare-onnxruntime: {case.key}, threads {threads}", file=sys.stderr, flush=True)
            r = measure(case, threads, dynquant, peer, given.rounds, given.milliseconds / 1e3)
            if r.refusal:
                print(f"  {peer.name}: {r.refusal}", file=sys.stderr)
            results[r.key, r.threads] = r
    if given.results:
        given.results.write_text(json.dumps([dataclasses.asdict(r) for r in results.values()]))
    if given.chart:
        from .chart import draw  # needs matplotlib

        draw(list(results.values()), given.chart)
    print(tables(list(results.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
