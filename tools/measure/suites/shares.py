"""Computed scales beside the flat loop, on each instruction set, by dqbench: docs/dynamic_speed.md, Shares of the flat loop."""

import argparse
import math
from collections.abc import Callable, Iterator

from .. import dqbench, machine
from ..results import Measured
from ..tables import by_threads, number, table, threads_label

BATCH = "perf_11_computed"
FIELDS = ["name", "scales", "dt", "desc", "-time", "-peertime:flat"]
ISAS = {"AVX-512": ("avx512", "avx2"), "AVX2": ("avx2",)}


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    program, isas = given.build / "tools/dqbench/dqbench", ISAS.get(machine.instruction_set(), ("scalar",))
    known: dict[tuple, Measured] = {}
    for threads in given.threads:
        for _ in range(given.rounds):
            for isa in isas:
                say(f"{isa}, threads {threads}", given.rounds * len(isas) * len(given.threads))
                arguments = [f"--isa={isa}", "--peer=flat", f"--batch={BATCH}"]
                for row in dqbench.run(program, FIELDS, arguments, [threads], given.seconds):
                    name = f"{row['name']} {row['scales']} {row['dt']}"
                    if given.only in name:
                        own, flat = (dqbench.seconds(row[field]) for field in ("-time", "-peertime:flat"))
                        one = Measured("shares", f"{name} {isa}", threads, facts={"name": name, "isa": isa, "elements": math.prod(map(int, row["desc"].split("x")))})
                        least = known.setdefault(one.key, one).least
                        for contestant, time in (("dynquant", own), ("flat", flat)):
                            least[contestant] = min(time, least.get(contestant, time))
    yield from known.values()


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """By the least times. Three columns for each instruction set."""
    result = {}
    for threads, some in by_threads(results).items():
        isas = list(dict.fromkeys(m.facts["isa"] for m in some))
        cases: dict[str, dict[str, Measured]] = {}
        for m in some:
            cases.setdefault(m.facts["name"], {})[m.facts["isa"]] = m

        def cells(m: Measured) -> list[str]:
            own = m.least["dynquant"]
            return [number(1e6 * own), number(m.facts["elements"] / own / 1e9), f"{100 * m.least['flat'] / own:.0f} %"]

        header = [threads_label(threads), "rule", "types", *(cell for isa in isas for cell in (f"{isa}, us", "Gelem/s", "of flat"))]
        rows = [[*name.split(" "), *(cell for isa in isas if isa in of for cell in cells(of[isa]))] for name, of in cases.items()]
        result[f"shares {threads}"] = table(header, rows)
    return result
