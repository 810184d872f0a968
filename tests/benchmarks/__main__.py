"""Speed, as ratios in one run: ``python -m tests.benchmarks [--quick] [--dynamic | --loops | --clocks] [--only …]``.

Prints, for each program and size, NumPy's time and how many times as fast each contender is, then the clocks: what a
call costs besides its work, and what compiling takes. With ``--ulp`` it measures accuracy instead: the errors of all
mathematical functions (``tests/ulp.py``).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from tests import ulp
from tests.benchmarks import clocks, dynamic, peers, table
from tests.benchmarks.loops import SIZES as LOOP_SIZES
from tests.benchmarks.loops import timing
from tests.benchmarks.programs import SHARE

SIZES = (10**3, 10**5, 10**7)
DTYPES = ("float32", "float64")
KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_MMAP_THRESHOLD_": str(2**40)}
"""glibc gives no memory back to the system under these."""

REPORTS = {
    "dynamic": dynamic.compare,
    "loops": timing.compare,
    "clocks": clocks.report,
    "ulp": lambda options: ulp.report(options.sizes[0] if options.quick else 10**6),
}


def main() -> int:
    options = _arguments()
    if options.keep_memory and not KEEPING.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, "-m", "tests.benchmarks", *sys.argv[1:]], {**os.environ, **KEEPING})
    report = next((made for name, made in REPORTS.items() if getattr(options, name)), _everything)
    text = "\n".join([_machine(), "", *report(options)])
    print(text)
    if options.write:
        Path(options.write).write_text(text + "\n")
    return 0


def _everything(options: argparse.Namespace) -> list[str]:
    if options.quick and not options.only:
        options.only = list(SHARE)
    return [*table.compare(options), "", *clocks.report(options)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), help="elements of the largest array")
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES), help="of programs of floats")
    parser.add_argument("--peers", nargs="*", help="contenders, besides numpy and capture; torch is slow on loops")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each program and size")
    parser.add_argument("--keep-memory", action="store_true", help="with an allocator that keeps what is freed")
    parser.add_argument("--clocks", action="store_true", help="only what calls and compiling cost")
    parser.add_argument("--dynamic", action="store_true", help="compare open sizes with known ones instead")
    parser.add_argument("--loops", action="store_true", help="the corpus of loops instead")
    parser.add_argument("--size", default="medium", choices=LOOP_SIZES, help="of the programs of loops")
    parser.add_argument("--ulp", action="store_true", help="measure the errors of mathematical functions instead")
    parser.add_argument("--quick", action="store_true", help="two programs of each family, float32, small, no peers")
    parser.add_argument("--write", help="also write the report to this file")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.seconds, options.peers = [10**3, 10**5], 0.1, []
        options.dtypes = ["float32"]
    if not options.loops:
        named = peers.installed() if options.peers is None else options.peers
        options.peers = ["numpy", "capture", *(name for name in named if name not in ("numpy", "capture"))]
    return options


def _machine() -> str:
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    cores = f"{len(os.sched_getaffinity(0))} cores, {peers.THREADS} threads each"
    load = f"load {os.getloadavg()[0]:.1f} when this began"
    return f"{cpu}, {cores}, {load}; Python {platform.python_version()}; {peers.versions()}"


if __name__ == "__main__":
    sys.exit(main())
