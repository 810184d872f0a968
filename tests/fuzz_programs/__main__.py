"""Random programs for hours: ``python -m tests.fuzz_programs --minutes 60 --seed 0 --jobs 2``.

Every failing program is cut down and printed with its seed and mode; the exit code is 1 if there was one.
With ``--show`` the program of the seed is printed, with ``--only`` it alone is tried. Programs run in processes of
their own: a crash of the interpreter is one more failure.
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzz_programs.campaign import campaign, show


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_programs", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the following are tried in order")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--modes", default="eager,forced,inductor", help="which to go round")
    parser.add_argument("--only", action="store_true", help="try the one seed in all modes")
    parser.add_argument("--show", action="store_true", help="print the program of the seed")
    parser.add_argument("--keep", default="", help="a folder for the failing programs")
    options = parser.parse_args()
    modes = options.modes.split(",")
    if options.show:
        print(show(options.seed, modes[0]))
        return 0
    return campaign(options.seed, options.minutes, options.jobs, modes, only=options.only, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
