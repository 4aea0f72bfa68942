"""Makes `dqbench verify`'s table anew, by a second implementation that shares no code with dynquant.

usage: python tests/oracles/verify DQBENCH [REGEX]     REGEX: only the cells whose names it matches

DQBENCH lists the statements. inputs.py draws what dqbench draws for them, formulas.py computes the results as docs/reference.md says, and
the digests are compared with tools/dqbench/verify/table.inc.

Made anew are all statements of the groups strict, onnx and computed: every rule, division and saturation, by every type that it takes. The
last line names the other groups of the table. Not made are the rows of `dqbench verify --long`, nor what verify does not compute:
scales_only, fpmath mode any.
"""
import collections
import multiprocessing
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
import xxhash

from statement import Statement

GROUPS = r"(strict|onnx|computed)\."
TABLE = pathlib.Path(__file__).parents[3] / "tools/dqbench/verify/table.inc"


def group_of(cell):
    return cell.split("/")[0]


def read_table():
    """Of each cell the digest of its statements' digests, and the highest byte of each of these."""
    rows = (line.strip('",').split() for line in TABLE.read_text().splitlines())
    return {row[0]: (row[1], bytes.fromhex(row[2])) for row in rows if len(row) == 3}


def read_statements(dqbench):
    statements = collections.defaultdict(list)
    listed = subprocess.run([dqbench, "verify", "--list-statements"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in listed.splitlines():
        cell, command = line.split(" ", 1)
        statements[cell].append(command)
    return statements


def compare(cell):
    """What is wrong with a cell, or nothing."""
    lines, (expected, expected_bytes) = cell
    with np.errstate(all="ignore"):
        digests = [Statement(line).digest() for line in lines]
    row = xxhash.xxh3_64_hexdigest(b"".join(digest.to_bytes(8, "little") for digest in digests))
    different = [line for line, digest, byte in zip(lines, digests, expected_bytes) if digest >> 56 != byte]
    if row == expected and not different and len(lines) == len(expected_bytes):
        return ""
    first = f"the first:\n    {different[0]}" if different else "which of them, the table does not tell"
    return f"{max(len(different), 1)} of {len(lines)} statements differ from the table; {first}"


def main():
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    dqbench, chosen = sys.argv[1], re.compile(sys.argv[2] if len(sys.argv) == 3 else "")
    table, statements = read_table(), read_statements(dqbench)
    wrong = sorted(statements.keys() ^ table.keys())
    for cell in wrong:
        print(f"{cell}: expected both in {TABLE} and in {dqbench}'s list")
    known = [cell for cell in statements if cell in table and re.match(GROUPS, cell)]
    cells = [cell for cell in known if chosen.search(cell)]
    if not cells:
        sys.exit("verify: expected a regular expression that matches the name of a cell")

    start, done, total = time.time(), 0, sum(len(statements[cell]) for cell in cells)
    left = collections.Counter(map(group_of, cells))
    with multiprocessing.Pool() as pool:
        for cell, problem in zip(cells, pool.imap(compare, [(statements[cell], table[cell]) for cell in cells])):
            if problem:
                wrong.append(cell)
                print(f"{cell}: {problem}", flush=True)
            done += len(statements[cell])
            left[group_of(cell)] -= 1
            if left[group_of(cell)] == 0:
                print(f"{group_of(cell):32} {done} of {total} statements after {time.time() - start:.0f} s", flush=True)
    print("DIFFERENT:" if wrong else "equal:", f"{len(cells) - len(set(wrong) & set(cells))} of {len(cells)} cells, {done} statements; of a table of",
          f"{len(table)} cells; groups not made:", ", ".join(sorted({group_of(cell) for cell in table.keys() - set(known)})) or "none")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
