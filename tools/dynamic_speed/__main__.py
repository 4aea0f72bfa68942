"""Times each case in turns: dynquant, then each library, in every round. With --flat: dynquant beside a loop that only reads and writes."""

import argparse
import pathlib
import statistics
import sys

from report import machine
from reporting.page import table, threads_label
from reporting.timing import times

from . import dynquant
from .arguments import parser
from .cases import CASES, Case
from .page import Key, Share, Turns, flat_table, rows


def measure(case: Case, threads: int, given: argparse.Namespace) -> dict[str, Turns]:
    """By library, dynquant first. A library that cannot run the case is left out."""
    from . import libraries

    seconds = given.milliseconds / 1e3
    runs = {}
    for name in case.libraries:
        if given.eager and name.endswith("compiled"):
            continue
        try:
            run = libraries.LIBRARIES[name](case, threads)
            if run:
                run()
                runs[name] = run
        except Exception as error:  # torch.compile's errors have no common base
            print(f"  {name} is left out: {type(error).__name__}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
    results = {name: Turns() for name in ("dynquant", *runs)}
    for _ in range(given.rounds):
        results["dynquant"].add(*dynquant.times(given.dqbench, case, threads, seconds))
        for name, run in runs.items():
            samples = times(run, seconds)
            results[name].add(statistics.median(samples), min(samples))
    return results


def beside_flat(given: argparse.Namespace, isas: list[str]) -> list[str]:
    lines = []
    for threads in given.threads:
        best: dict[Key, dict[str, Share]] = {}
        for i in range(given.rounds):
            for isa in isas:
                print(f"compare-dynamic: {isa}, threads {threads}, round {i + 1} of {given.rounds}", file=sys.stderr, flush=True)
                for key, share in dynquant.beside_flat(given.dqbench, isa, threads, given.milliseconds / 1e3).items():
                    known = best.setdefault(key, {})
                    known[isa] = known[isa].better(share) if isa in known else share
        lines += flat_table(threads, {key: shares for key, shares in best.items() if given.only in key[0]})
    return lines


def beside_libraries(given: argparse.Namespace, options: argparse.ArgumentParser) -> list[str]:
    from . import libraries  # needs PyTorch

    cases = [case for case in CASES if given.only in case.name]
    if not cases:
        options.error(f"argument --only: expected a part of the name of a case, given '{given.only}'")
    lines = [f"{libraries.versions()}.", ""]
    for threads in given.threads:
        header = [threads_label(threads), "", "median, us", "least, us", "Gelem/s", "dynquant is faster (least to most)"]
        body = []
        for i, case in enumerate(cases, 1):
            print(f"compare-dynamic: {i}/{len(cases)} {case.name}, threads {threads}", file=sys.stderr, flush=True)
            body += rows(case, measure(case, threads, given))
        lines += table(header, body)
    return lines


def main() -> int:
    options = parser()
    given = options.parse_args()
    if given.setup:
        return 0  # the script has installed everything
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    best = machine.instruction_set(cpuinfo)
    isas = {"AVX-512": ["avx512", "avx2"], "AVX2": ["avx2"]}.get(best, ["scalar"])
    lines = [f"{machine.processor(cpuinfo)}, {machine.threads()} cores, {best}.", ""]
    lines += beside_flat(given, isas) if given.flat else beside_libraries(given, options)
    text = "\n".join(lines).rstrip() + "\n"
    if given.tables:
        given.tables.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
