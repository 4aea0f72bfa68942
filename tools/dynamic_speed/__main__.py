"""Times each case in turns: dynquant, then each library, in every round."""

import dataclasses
import pathlib
import statistics
import sys

from report import machine
from reporting.page import number, ratio, table, threads_label
from reporting.timing import times

from . import dynquant, libraries
from .arguments import parser
from .cases import CASES, Case


@dataclasses.dataclass
class Turns:
    """The medians and the least times of the rounds, in seconds."""

    medians: list[float] = dataclasses.field(default_factory=list)
    least: list[float] = dataclasses.field(default_factory=list)

    def add(self, median: float, least: float) -> None:
        self.medians.append(median)
        self.least.append(least)


def measure(case: Case, threads: int, program: pathlib.Path, rounds: int, seconds: float, eager: bool) -> dict[str, Turns]:
    """By library, dynquant first. A library that cannot run the case is left out."""
    runs = {}
    for name in case.libraries:
        if eager and name.endswith("compiled"):
            continue
        try:
            run = libraries.LIBRARIES[name](case, threads)
            if run:
                run()
                runs[name] = run
        except Exception as error:  # torch.compile's errors have no common base
            print(f"  {name} is left out: {type(error).__name__}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
    results = {name: Turns() for name in ("dynquant", *runs)}
    for _ in range(rounds):
        results["dynquant"].add(*dynquant.times(program, case, threads, seconds))
        for name, run in runs.items():
            samples = times(run, seconds)
            results[name].add(statistics.median(samples), min(samples))
    return results


def rows(case: Case, results: dict[str, Turns]) -> list[list[str]]:
    own = results["dynquant"]
    lines = []
    for name, turns in results.items():
        faster = [theirs / ours for theirs, ours in zip(turns.medians, own.medians)]
        median = statistics.median(turns.medians)
        lines.append([case.name if name == "dynquant" else "", libraries.LABELS.get(name, name), number(1e6 * median), number(1e6 * min(turns.least)),
                      number(case.elements / median / 1e9), "" if name == "dynquant" else ratio(statistics.median(faster), faster)])  # fmt: skip
    return lines


def main() -> int:
    options = parser()
    given = options.parse_args()
    if given.setup:
        return 0  # the script has installed everything
    cases = [case for case in CASES if given.only in case.name]
    if not cases:
        options.error(f"argument --only: expected a part of the name of a case, given '{given.only}'")
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    lines = [f"{machine.processor(cpuinfo)}, {machine.threads()} cores, {machine.instruction_set(cpuinfo)}; {libraries.versions()}.", ""]
    for threads in given.threads:
        header = [threads_label(threads), "", "median, us", "least, us", "Gelem/s", "dynquant is faster (least to most)"]
        body = []
        for i, case in enumerate(cases, 1):
            print(f"compare-dynamic: {i}/{len(cases)} {case.name}, threads {threads}", file=sys.stderr, flush=True)
            body += rows(case, measure(case, threads, given.dqbench, given.rounds, given.milliseconds / 1e3, given.eager))
        lines += table(header, body)
    text = "\n".join(lines).rstrip() + "\n"
    if given.tables:
        given.tables.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
