"""The corpus of loops against its peers, in one run: ``python -m tests.benchmarks --loops [--size medium]``.

In: names of programs, a size, contenders. Out: a table with NumPy's time (plain Python over NumPy, as written), how
many times as fast each contender is, and the seconds of capture's first call beyond those of a later one, which is its
compile time. Contenders take turns; each call gets arguments of its own, made outside the measured time, since many
programs write theirs; medians count.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.benchmarks import peers
from tests.benchmarks.loops import PROGRAMS, Loops

Function = Callable[..., Any]
LEAST_ROUNDS = 3
TOLERANCES = {"float32": 1e-3}


def numba_serial(function: Function) -> Function:
    return peers.numba(function, parallel=False)


CONTENDERS: dict[str, Callable[[Function], Function]] = {
    "numpy": peers.numpy,
    "capture": peers.capture,
    "numba": numba_serial,
    "numba-parallel": peers.numba,
}


@dataclass
class Timed:
    """A contender on a program: what calls took, or why there are none."""

    first: float = math.nan
    failure: str = ""
    times: tuple[float, ...] = ()

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.times) if self.times else None

    @property
    def compile(self) -> float:
        return self.first - (self.seconds or math.nan)


def compare(options: argparse.Namespace) -> list[str]:
    names = [
        "numpy",
        "capture",
        *(name for name in options.peers if name in CONTENDERS and name not in ("numpy", "capture")),
    ]
    programs = [program for name, program in PROGRAMS.items() if not options.only or name in options.only]
    lines = _head(names)
    rows: dict[str, dict[str, Timed]] = {}
    for program in programs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba's advice
            found = rows[program.name] = race(program, options.size, names, options.seconds)
        lines.append(_row(program.name, found))
        print(lines[-1], flush=True)
    return [*lines, "", *_summary(rows, names), "", *_failures(rows)]


def race(program: Loops, size: str, names: Sequence[str], seconds: float) -> dict[str, Timed]:
    """Every contender in turns until the time is up; the first one's results are right."""
    found: dict[str, Timed] = {}
    running: dict[str, Function] = {}
    expected: Any = None
    for name in names:
        timed = found[name] = Timed()
        if name.startswith("numba") and not program.numba:
            timed.failure = program.note or "not tried"
            continue
        try:
            function = CONTENDERS[name](program.function)
            timed.first, result = _call(function, program, size)
        except Exception as error:  # a peer may fail in any way; the table says so
            timed.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:120]
            continue
        expected = result if name == names[0] else expected
        if not close(result, expected, TOLERANCES.get(program.dtype, 1e-6)):
            timed.failure = "differs from NumPy"
            continue
        running[name] = function
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < LEAST_ROUNDS or time.perf_counter() < end:
        rounds += 1
        for name, function in running.items():
            found[name].times += (_call(function, program, size)[0],)
    return found


def _call(function: Function, program: Loops, size: str) -> tuple[float, Any]:
    """Seconds, and everything that the call gave: its result and what its arguments are afterwards."""
    args = program.arguments(size)
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, (result, args)


def close(result: Any, expected: Any, tolerance: float) -> bool:
    """Whether results are right within what another order of operations explains, after a long computation."""
    if isinstance(expected, tuple | list):
        return len(result) == len(expected) and all(
            close(one, other, tolerance) for one, other in zip(result, expected, strict=True)
        )
    if expected is None or callable(expected):
        return result is expected
    one, other = np.asarray(result), np.asarray(expected)
    if one.shape != other.shape:
        return False
    scale = float(np.nanmax(np.abs(other), initial=0)) or 1.0
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


# the table --------------------------------------------------------------------------------------------------------
def _head(names: Sequence[str]) -> list[str]:
    titles = ("program", "NumPy, ms", *names[1:], "compiled in, s")
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]


def _row(name: str, found: dict[str, Timed]) -> str:
    base = found["numpy"].seconds or math.nan
    cells = [f"{base / timed.seconds:.2f}" if timed.seconds else "-" for timed in list(found.values())[1:]]
    return f"| {name} | {base * 1e3:.2f} | {' | '.join(cells)} | {found['capture'].compile:.2f} |"


def _summary(rows: dict[str, dict[str, Timed]], names: Sequence[str]) -> list[str]:
    """Means over programs; where a contender fails it has NumPy's speed."""
    lines = []
    ratios = {
        name: {
            program: (found["numpy"].seconds or math.nan) / (found[name].seconds or found["numpy"].seconds or math.nan)
            for program, found in rows.items()
        }
        for name in names
    }
    for name in names[1:]:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios[name].values()))
        ran = sum(found[name].seconds is not None for found in rows.values())
        lines.append(f"geometric mean of {name}: {mean:.2f} times NumPy, {ran} of {len(rows)} programs run")
    others = [name for name in names if name != "capture"]
    best = {program: max(ratios[name][program] for name in others) for program in rows}
    behind = {program: ratios["capture"][program] / best[program] for program in rows}
    behind = {program: share for program, share in sorted(behind.items(), key=lambda row: row[1]) if share < 1}
    lines.append(f"at least as fast as the best of the others on {len(rows) - len(behind)} of {len(rows)} programs")
    lines.append("behind on: " + ", ".join(f"{program} {share:.2f}" for program, share in behind.items()))
    slower = [f"{program} {ratio:.2f}" for program, ratio in ratios["capture"].items() if ratio < 1]
    lines.append(f"slower than NumPy: {', '.join(slower) or 'none'}")
    times = sorted((found["capture"].compile, program) for program, found in rows.items() if found["capture"].times)
    slow = [f"{program} {seconds:.2f} s" for seconds, program in times if seconds > 1]
    if times:
        lines.append(
            f"compile time: median {statistics.median(row[0] for row in times):.2f} s; "
            f"over 1 s: {', '.join(slow) or 'none'}"
        )
    return lines


def _failures(rows: dict[str, dict[str, Timed]]) -> list[str]:
    return [
        f"- {name} on {program}: {timed.failure}"
        for program, found in rows.items()
        for name, timed in found.items()
        if timed.failure
    ]
