"""Timing: contenders in turns, medians, results compared with NumPy's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Outcome:
    """A contender on one program and size: median seconds a call, or why there is none."""

    seconds: float | None
    failure: str = ""


def close(result: Any, expected: Any) -> bool:
    """Whether ``result`` is right within the rounding that a different order of operations explains."""
    expected, result = np.asarray(expected), np.asarray(result)
    if result.shape != expected.shape:
        return False
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    tolerance = 1e-3 if expected.dtype == np.float32 else 1e-8
    return bool(np.allclose(result, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def race(functions: dict[str, Function], args: Sequence[Any], seconds: float) -> dict[str, Outcome]:
    """Medians over interleaved rounds; the first function gives the expected result. Takes about ``seconds``."""
    outcomes: dict[str, Outcome] = {}
    running: dict[str, tuple[Function, int]] = {}
    expected = next(iter(functions.values()))(*args)
    for name, function in functions.items():
        try:
            right = close(function(*args), expected)
            function(*args)
            running[name] = (function, _calls_for(function, args, 0.01))
        except Exception as error:  # a peer may fail in any way; the table says so
            outcomes[name] = Outcome(
                None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:100]
            )
            continue
        if not right:
            outcomes[name] = Outcome(None, "differs from NumPy")
            del running[name]
    times: dict[str, list[float]] = {name: [] for name in running}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, (function, calls) in running.items():
            start = time.perf_counter()
            for _ in range(calls):
                function(*args)
            times[name].append((time.perf_counter() - start) / calls)
    outcomes.update({name: Outcome(statistics.median(taken)) for name, taken in times.items()})
    return outcomes


def _calls_for(function: Function, args: Sequence[Any], seconds: float) -> int:
    """How many calls fill about ``seconds``."""
    start = time.perf_counter()
    function(*args)
    return max(1, min(10_000, int(seconds / (time.perf_counter() - start))))
