"""Thousands of random programs of loops: ``python -m tests.fuzz_loops --cases 1000 --seed 0 [--backend inductor]``.

With ``--threads 4`` compiled programs share out over threads whatever they can, however small it is. ``--lanes`` takes
programs of loops whose rounds go side by side wherever they may, also where it is not worth it.

Each program that does not do what plain Python does is printed, cut down; the exit code is 1 if there was one.
``--show`` prints the program of the seed.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from capture import backends
from tests import random_lanes
from tests.forced_lanes import lanes_everywhere
from tests.random_loops import Failure, Figures, TooLong, check, make_program, shrunk
from tests.shared_work import everything_shared

BACKENDS = {"eager": backends.eager, "inductor": backends.inductor}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_loops", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the following are tried in order")
    parser.add_argument("--backend", default="eager", choices=list(BACKENDS))
    parser.add_argument("--threads", type=int, default=0, help="share everything out over so many threads")
    parser.add_argument("--lanes", action="store_true", help="loops whose rounds go side by side; compiled")
    parser.add_argument("--most", type=int, default=10, help="stop after so many failures")
    parser.add_argument("--show", action="store_true", help="print the program of the seed")
    options = parser.parse_args()
    if options.lanes:
        options.backend = "inductor"
    exact = options.backend == "inductor"
    make = random_lanes.make_program if options.lanes else functools.partial(make_program, exact=exact)
    if options.show:
        print(make(options.seed))
        return 0
    with (
        everything_shared(options.threads) if options.threads else nullcontext() as count,
        lanes_everywhere() if options.lanes else nullcontext() as lanes,
    ):
        failures = _fuzz(options, make)
        if count is not None:
            print(f"work was shared out {count()} times")
        if lanes is not None:
            print(f"{lanes()} loops had lanes")
    return failures > 0


def _fuzz(options: argparse.Namespace, make: Callable[[int], str]) -> int:
    figures, failures = Figures(), 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(options.seed, options.seed + options.cases):
            source = make(seed)
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
