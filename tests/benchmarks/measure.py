"""Timing: contenders in turns, medians, paired ratios with their intervals, results compared with NumPy's."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]

LEAST_ROUNDS = 7
"""Fewer give no interval of 95 %."""

BATCH = 0.004
"""Seconds of one turn, about: long against a look at the clock, short against what else the machine does."""

SLOWER = 0.97
"""Slower than NumPy: the interval of the paired ratio lies below this."""


@dataclass(frozen=True)
class Outcome:
    """A contender on one program and size, or why there is none.

    ``ratio``: how many times as fast as the first contender, the median over rounds; with its 95 % interval.
    """

    seconds: float | None
    failure: str = ""
    ratio: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)

    @property
    def is_slower(self) -> bool:
        return self.interval[1] < SLOWER


def close(result: Any, expected: Any) -> bool:
    """Whether ``result`` is right within the rounding that a different order of operations explains."""
    if isinstance(expected, tuple):
        return len(result) == len(expected) and all(map(close, result, expected))
    expected, result = np.asarray(expected), np.asarray(result)
    if result.shape != expected.shape:
        return False
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    tolerance = 1e-3 if expected.dtype in (np.float32, np.complex64) else 1e-8
    return bool(np.allclose(result, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def race(functions: dict[str, Function], args: Sequence[Any], seconds: float) -> dict[str, Outcome]:
    """Medians over interleaved rounds; the first function gives the expected result. Takes about ``seconds``.

    What a function has as ``overhead`` is not its own work, and taken off.
    """
    outcomes: dict[str, Outcome] = {}
    running: dict[str, tuple[Function, int]] = {}
    expected = next(iter(functions.values()))(*args)
    for name, function in functions.items():
        try:
            if not close(function(*args), expected):
                outcomes[name] = Outcome(None, "differs from NumPy")
                continue
            running[name] = (function, _calls_for(function, args))
        except Exception as error:  # a peer may fail in any way; the table says so
            said = str(error).splitlines()[0] if str(error) else ""
            outcomes[name] = Outcome(None, f"{type(error).__name__}: {said}"[:100])
    del expected
    times: dict[str, list[float]] = {name: [] for name in running}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < LEAST_ROUNDS:
        for name, (function, calls) in running.items():
            start = time.perf_counter()
            for _ in range(calls):
                function(*args)
            taken = (time.perf_counter() - start) / calls
            times[name].append(max(taken - getattr(function, "overhead", 0.0), 1e-9))
    first = next(iter(times.values()))
    for name, taken_by in times.items():
        ratios = [one / other for one, other in zip(first, taken_by, strict=True)]
        outcomes[name] = Outcome(
            statistics.median(taken_by), ratio=statistics.median(ratios), interval=interval(ratios)
        )
    return outcomes


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by order statistics: nothing is assumed of how they are spread."""
    ordered = sorted(samples)
    outside = max(0, math.floor((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2))
    return ordered[outside], ordered[-1 - outside]


def _calls_for(function: Function, args: Sequence[Any]) -> int:
    """How many calls fill a turn; the first one may still be preparing something."""
    function(*args)
    start = time.perf_counter()
    function(*args)
    return max(1, min(10_000, int(BATCH / (time.perf_counter() - start))))
