"""Thousands of random programs of loops: ``python -m tests.fuzz_loops --cases 1000 --seed 0 [--backend inductor]``.

With ``--threads 4`` compiled programs share out over threads whatever they can, however small it is.

Each program that does not do what plain Python does is printed, cut down; the exit code is 1 if there was one.
``--show`` prints the program of the seed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from contextlib import nullcontext
from pathlib import Path

from capture import backends
from tests.random_loops import Failure, Figures, TooLong, check, make_program, shrunk
from tests.shared_work import everything_shared

BACKENDS = {"eager": backends.eager, "inductor": backends.inductor}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_loops", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the following are tried in order")
    parser.add_argument("--backend", default="eager", choices=list(BACKENDS))
    parser.add_argument("--threads", type=int, default=0, help="share everything out over so many threads")
    parser.add_argument("--most", type=int, default=10, help="stop after so many failures")
    parser.add_argument("--show", action="store_true", help="print the program of the seed")
    options = parser.parse_args()
    exact = options.backend == "inductor"
    if options.show:
        print(make_program(options.seed, exact))
        return 0
    with everything_shared(options.threads) if options.threads else nullcontext() as count:
        failures = _fuzz(options, exact)
        if count is not None:
            print(f"work was shared out {count()} times")
    return failures > 0


def _fuzz(options: argparse.Namespace, exact: bool) -> int:
    figures, failures = Figures(), 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(options.seed, options.seed + options.cases):
            source = make_program(seed, exact)
            try:
                figures += check(source, Path(name), BACKENDS[options.backend])
            except TooLong:
                figures += Figures(skipped=1)
            except Failure as failure:
                failures += 1
                last = "".join(traceback.format_exception(failure.__cause__)[-4:]) if failure.__cause__ else ""
                smaller = shrunk(source, failure.kind, Path(name), BACKENDS[options.backend])
                print(f"# seed {seed}: {failure.kind}: {failure}\n{last}{smaller}\n{'-' * 80}", flush=True)
                if failures >= options.most:
                    break
    print(figures, f"{failures} failed")
    return failures


if __name__ == "__main__":
    sys.exit(main())
