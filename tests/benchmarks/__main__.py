"""Speed, as ratios in one run: ``python -m tests.benchmarks [--quick] [--dynamic | --loops] [--only NAME …]``.

With ``--ulp`` it measures accuracy instead: the errors of all mathematical functions (``tests/ulp.py``).

Prints, for each program and size, NumPy's time and how many times as fast each contender is (a dash with the reason
below the table where one fails), then compile times (cold and with a warm cache, in new processes), then the
nanoseconds of a call on three 10-element arrays.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests import ulp
from tests.benchmarks import dynamic, peers
from tests.benchmarks.loops import SIZES as LOOP_SIZES
from tests.benchmarks.loops import timing
from tests.benchmarks.measure import Outcome, race
from tests.benchmarks.programs import PROGRAMS, Program

SIZES = (10**3, 10**5, 10**7)
DTYPES = ("float32", "float64")


def main() -> int:
    options = _arguments()
    if options.dynamic:
        return _report([_machine(), "", *dynamic.compare(options)], options)
    if options.loops:
        return _report([_machine(), "", *timing.compare(options)], options)
    if options.ulp:
        return _report([_machine(), "", *ulp.report(options.sizes[0] if options.quick else 10**6)], options)
    lines = [_machine(), ""]
    rows, failures = _programs(options)
    lines += [*_table(rows, options.peers), "", *_summary(rows, options.peers), ""]
    lines += [*(f"- {text}" for text in sorted(failures)), ""]
    lines += [*_compile_times(), "", *_small_call(options.peers)]
    return _report(lines, options)


def _report(lines: list[str], options: argparse.Namespace) -> int:
    text = "\n".join(lines)
    print(text)
    if options.write:
        Path(options.write).write_text(text + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), help="elements of the largest array")
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES))
    parser.add_argument("--peers", nargs="*", default=peers.installed(), help="contenders, besides numpy and capture")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each program and size")
    parser.add_argument("--dynamic", action="store_true", help="compare open sizes with known ones instead")
    parser.add_argument("--loops", action="store_true", help="the corpus of loops instead")
    parser.add_argument("--size", default="medium", choices=LOOP_SIZES, help="of the programs of loops")
    parser.add_argument("--ulp", action="store_true", help="measure the errors of mathematical functions instead")
    parser.add_argument("--quick", action="store_true", help="small sizes, a tenth of the time, no peers")
    parser.add_argument("--write", help="also write the report to this file")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.seconds, options.peers = [10**3, 10**5], 0.1, []
    options.peers = ["numpy", "capture", *(name for name in options.peers if name not in ("numpy", "capture"))]
    return options


def _machine() -> str:
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores, {peers.THREADS} threads each; Python {platform.python_version()}; {peers.versions()}"


Row = tuple[str, str, int, dict[str, Outcome]]


def _programs(options: argparse.Namespace) -> tuple[list[Row], set[str]]:
    rows: list[Row] = []
    failures: set[str] = set()
    for program in PROGRAMS:
        if options.only and program.name not in options.only:
            continue
        for dtype in options.dtypes:
            for size in options.sizes:
                outcomes = _measure(program, dtype, size, options)
                rows.append((program.name, dtype, size, outcomes))
                failures |= {
                    f"{name} on {program.name}: {outcome.failure}"
                    for name, outcome in outcomes.items()
                    if outcome.seconds is None
                }
                print(*_table(rows[-1:], options.peers)[2:], file=sys.stderr, flush=True)
    return rows, failures


def _measure(program: Program, dtype: str, size: int, options: argparse.Namespace) -> dict[str, Outcome]:
    args = program.arguments(np.random.default_rng(0), size, dtype)
    made = {name: peers.CONTENDERS[name](program.function) for name in options.peers}
    return race(made, args, options.seconds)


def _table(rows: list[Row], names: list[str]) -> list[str]:
    contenders = names[1:]
    lines = [
        f"| program | dtype | elements | NumPy µs | {' | '.join(contenders)} |",
        f"|---|---|---|---|{'---|' * len(contenders)}",
    ]
    for name, dtype, size, outcomes in rows:
        base = outcomes["numpy"].seconds
        cells = [f"{base / o.seconds:.2f}" if (o := outcomes[peer]).seconds else "-" for peer in contenders]
        lines.append(f"| {name} | {dtype} | {size:,} | {base * 1e6:,.1f} | {' | '.join(cells)} |")
    return lines


def _summary(rows: list[Row], names: list[str]) -> list[str]:
    """Geometric means over all rows; a failure counts as NumPy's own speed."""
    lines = []
    for peer in names[1:]:
        ratios = [o["numpy"].seconds / o[peer].seconds if o[peer].seconds else 1.0 for *_, o in rows]
        lines.append(f"geometric mean of {peer}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f} times NumPy")
    return lines


_FIRST_CALL = """
import time, numpy as np
start = time.perf_counter()
import capture
imported = time.perf_counter()
from tests.benchmarks.programs import gelu
x = np.linspace(-3, 3, 1000)
begin = time.perf_counter()
capture.compile(gelu)(x)
print(imported - start, time.perf_counter() - begin)
"""


def _compile_times() -> list[str]:
    """Import and first call of the GELU program in new processes: with an empty cache, then with a warm one."""
    lines = ["| first call of gelu, new process | import capture, ms | first call, ms |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CAPTURE_CACHE_DIR": folder, "CAPTURE_WARM_START": "1"}
        for label in ("empty cache", "warm cache"):
            taken = []
            for _ in range(1 if label == "empty cache" else 5):
                done = subprocess.run(
                    [sys.executable, "-c", _FIRST_CALL], env=environment, capture_output=True, text=True, check=True
                )
                taken.append([float(word) * 1e3 for word in done.stdout.split()])
            imported, called = (statistics.median(column) for column in zip(*taken, strict=True))
            lines.append(f"| {label} | {imported:.0f} | {called:.0f} |")
    return lines


def multiply_add(a, b, c):
    return a * b + c


def _small_call(names: list[str]) -> list[str]:
    args = tuple(np.arange(10.0) + shift for shift in range(3))
    outcomes = race({name: peers.CONTENDERS[name](multiply_add) for name in names}, args, 1.0)
    lines = ["| `a * b + c`, three 10-element float64 arrays | ns a call |", "|---|---|"]
    for name, outcome in outcomes.items():
        lines.append(f"| {name} | {outcome.seconds * 1e9:,.0f} |" if outcome.seconds else f"| {name} | - |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
