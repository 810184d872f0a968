"""Thousands of random programs: ``python -m tests.fuzz_chains COUNT [FIRST_SEED]``.

Every second one has mathematical functions and runs under ``options={"math": "numpy"}``.

Prints each program that does not do what plain NumPy does, and ends with 1 if there was any.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter

from capture import config
from tests.chains import check, make_program


def main(count: int, first: int = 0) -> int:
    failures = 0
    graphs: Counter[int] = Counter()
    with config.patch(strict=True):
        for seed in range(first, first + count):
            program = make_program(seed, mathematical=bool(seed % 2))
            try:
                graphs[len(check(program).graphs)] += 1
            except Exception:
                failures += 1
                print(f"{program}\n{''.join(traceback.format_exc(limit=-4))}\n{'-' * 80}", flush=True)
    print(f"{count} programs, {failures} failed; programs by number of graphs: {dict(sorted(graphs.items()))}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
