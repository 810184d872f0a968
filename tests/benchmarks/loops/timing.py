"""The corpus of loops against its peers, in one run: ``python -m tests.benchmarks --loops [--size medium]``.

In: names of programs, a size, peers (``contenders``). Out: a table with NumPy's time (plain Python over NumPy, as
written), how many times as fast each contender is, and the seconds of capture's first call beyond those of a later one,
which is its compile time; then what it comes to (``summary``). Contenders take turns; each call gets arguments of its
own, made outside the measured time, since many programs write theirs; medians count. Who differs from NumPy does not
run.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.loops import PROGRAMS, Loops, apart, summary
from tests.benchmarks.loops.agreement import Expected
from tests.benchmarks.loops.contenders import (
    CONTENDERS,
    ON_REQUEST,
    TRIAL,
    Contender,
    OverTime,
    at_most,
    chosen,
    quiet,
)
from tests.benchmarks.peers import NotExpressible

Function = Callable[..., Any]
LEAST_ROUNDS = 3
MOST_REPEATS = 8
HOPELESS = 3.0
"""A way that takes so many times as long as another one of the same contender does not go on."""


class Differs(Exception):
    """A contender that computes something else."""


@dataclass
class Timed:
    """A contender on a program: what calls took, each way it has by itself, or why there are none."""

    first: float = math.nan
    failure: str = ""
    ways: list[list[float]] = field(default_factory=list)

    @property
    def times(self) -> list[float]:
        """Of the fastest way."""
        return min(self.ways, key=lambda times: statistics.median(times) if times else math.inf, default=[])

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.times) if self.times else None

    @property
    def compile(self) -> float:
        return self.first - (self.seconds or math.nan)


@dataclass(frozen=True)
class Way:
    """A function that has given the right result, and where its times go."""

    contender: Contender
    function: Function
    times: list[float]


def compare(options: argparse.Namespace) -> list[str]:
    names, absent = chosen(options.peers)
    lines = summary.head(names)
    rows: dict[str, dict[str, Timed]] = {}
    for name, program in PROGRAMS.items():
        if not options.only or name in options.only:
            found = rows[name] = _row(program, options.size, names, options.seconds)
            lines.append(summary.row(name, found))
            print(lines[-1], flush=True)
    return [*lines, "", *summary.summary(rows, names), *absent, "", *summary.failures(rows)]


def _row(program: Loops, size: str, names: Sequence[str], seconds: float) -> dict[str, Timed]:
    here = [name for name in names if name not in ON_REQUEST]
    found = Race(program, size).run(here, seconds)
    return found | {name: Timed(**apart.run(name, program, size, seconds)) for name in names if name not in here}


class Race:
    """A program at a size, and what is right."""

    def __init__(self, program: Loops, size: str) -> None:
        self.program, self.size = program, size
        with quiet():
            self.expected = {each: Expected(program, each) for each in {size, "small"}}

    def run(self, names: Sequence[str], seconds: float) -> dict[str, Timed]:
        """Every contender in turns until the time is up."""
        found = {name: Timed() for name in names}
        with quiet():
            running = [way for name in names for way in self._ways(CONTENDERS[name], found[name])]
            end, rounds, turns = time.perf_counter() + seconds, 0, random.Random(0)
            while running and (rounds < LEAST_ROUNDS or time.perf_counter() < end):
                rounds += 1
                order = [way for way in running for _ in range(repeats(way, running))]
                turns.shuffle(order)  # whoever comes after NumPy's long call finds the caches cold
                for way in order:
                    way.times.append(self._call(way.contender, way.function, self.size)[0])
                running = [way for way in running if not is_hopeless(way, running)]
        return found

    def _ways(self, contender: Contender, timed: Timed) -> list[Way]:
        """The first one, or none. Others are tried: compiled at small size, and called, which must take less time than
        the first one took together with compiling.
        """
        first, *others = contender.ways
        try:
            functions = [first(self.program)]
            timed.first = self._checked(contender, functions[0], self.size, contender.limit)
        except NotExpressible as reason:
            timed.failure = str(reason)
            return []
        except OverTime:
            timed.failure = f"over {contender.limit:.0f} s to compile"
            return []
        except Exception as error:  # a peer may fail in any way; the table says so
            timed.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:120]
            return []
        for make in others:
            with suppress(Exception, OverTime):
                function = make(self.program)
                with quiet(trial=True):
                    self._checked(contender, function, "small", TRIAL)
                if self._checked(contender, function, self.size) < timed.first:
                    functions.append(function)
        timed.ways = [[] for _ in functions]
        return [Way(contender, function, times) for function, times in zip(functions, timed.ways, strict=True)]

    def _checked(self, contender: Contender, function: Function, size: str, limit: float = math.inf) -> float:
        """Seconds of a call that gives what NumPy gives, and takes no longer than ``limit``."""
        with at_most(limit):
            seconds, result, args = self._call(contender, function, size)
            if contender.rounds_otherwise and self.program.chaotic:
                size = "small"
                _, result, args = self._call(contender, function, size)
        expected = self.expected[size]
        if not (expected.agrees_returned(result) if contender.is_functional else expected.agrees(result, args)):
            raise Differs("from NumPy")
        return seconds

    def _call(self, contender: Contender, function: Function, size: str) -> tuple[float, Any, Any]:
        """Seconds, the result, and what the arguments are afterwards."""
        args = contender.place(self.program.arguments(size))
        start = time.perf_counter()
        result = function(*args)
        return time.perf_counter() - start, result, args


def repeats(way: Way, running: Sequence[Way]) -> int:
    """How often a way goes in a round: the short ones several times in the time of the longest."""
    if not all(other.times for other in running):
        return 1
    longest = max(min(other.times) for other in running)
    return max(1, min(MOST_REPEATS, int(longest / 4 / min(way.times))))


def is_hopeless(way: Way, running: Sequence[Way]) -> bool:
    least = min(min(other.times) for other in running if other.contender is way.contender)
    return min(way.times) > HOPELESS * least
