"""Open sizes against known ones, in one run: ``python -m tests.benchmarks --dynamic``.

In: the benchmark programs at each size. Out: a table with the time of the variant for known sizes, and how many times
as long the one for open sizes takes, which serves all rows of a program; the same of evaluating the guards. The two
take turns, and the least time of each counts, since other work on the machine only ever adds to it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import capture
from capture.frames.guards import compile_guards
from capture.frames.hook import Variant
from tests.benchmarks import peers
from tests.benchmarks.programs import BY_NAME, Program

LEAST_ROUNDS = 7

COMPARED = (
    "chain",
    "gaussian_sum",
    "softmax",
    "layer_norm",
    "gelu",
    "black_scholes",
    "variance_columns",
    "variance_rows",
    "masked_sum",
)
"""Programs whose sizes may all be open at once; ``--only`` names others."""

LEAST_GUARDS = 1e-9
"""Seconds: less cannot be told from nothing, so no ratio is taken of it."""


def compare(options: argparse.Namespace) -> list[str]:
    titles = ("program", "dtype", "elements", "known sizes, µs", "open sizes", "guards, ns", "open sizes, ns")
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    kernels: list[float] = []
    guards: list[tuple[float, float]] = []
    of_programs: list[float] = []
    for program in (BY_NAME[name] for name in options.only or COMPARED):
        for dtype in options.dtypes:
            symbolic = _compiled(program, True)
            for size in options.sizes:
                args = program.arguments(np.random.default_rng(0), size, dtype)
                known, ratio = _calls(_compiled(program, False), symbolic, args, options.seconds)
                kernels.append(ratio)
                guards.append(_guards(program, symbolic, args))
                checks = [f"{seconds * 1e9:.0f}" for seconds in guards[-1]]
                cells = (program.name, dtype, f"{size:,}", f"{known * 1e6:,.1f}", f"{ratio:.2f}", *checks)
                lines.append(f"| {' | '.join(cells)} |")
                print(lines[-1], flush=True)
            assert len(symbolic.variants) == 1, f"{program.name} has {len(symbolic.variants)} variants"
        rows = guards[-len(options.dtypes) * len(options.sizes) :]
        of_programs.append(sum(other for _, other in rows) / max(sum(one for one, _ in rows), LEAST_GUARDS * len(rows)))
    known_guards, open_guards = map(sum, zip(*guards, strict=True))
    checks_all = (
        f"{open_guards / known_guards:.2f} (all together), {statistics.fmean(of_programs):.2f} (mean of programs)"
    )
    return [*lines, "", f"open to known sizes: calls {_mean(kernels):.3f} (geometric mean), guards {checks_all}"]


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _compiled(program: Program, dynamic: bool) -> Any:
    return capture.compile(program.function, dynamic=dynamic, options={"threads": peers.THREADS, "strict": True})


def _calls(known: Any, symbolic: Any, args: tuple[Any, ...], seconds: float) -> tuple[float, float]:
    """Seconds a call with known sizes, and how many times as long it takes with open ones."""
    found = least([lambda: known(*args), lambda: symbolic(*args)], seconds)
    return found[0], found[1] / found[0]


def _guards(program: Program, symbolic: Any, args: tuple[Any, ...]) -> tuple[float, float]:
    """Seconds that the guards take with known and with open sizes, without what a call of ``holds`` takes anyway."""
    known = _compiled(program, False)
    known(*args)
    (first,), (second,) = known.variants, symbolic.variants
    empty = Variant(compile_guards(())[0], program.function.__code__)
    function = program.function
    calls = [lambda v=v: v.holds(args, function) for v in (empty, first, second)]  # type: ignore[misc]
    nothing, one, other = least(calls, 0.02)
    return one - nothing, other - nothing


def least(functions: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The least seconds a call of each, in turns for about ``seconds``."""
    counts = []
    for function in functions:
        function()
        start = time.perf_counter()
        function()
        counts.append(max(1, min(10_000, int(0.002 / (time.perf_counter() - start)))))
    found = [math.inf] * len(functions)
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < LEAST_ROUNDS:
        rounds += 1
        for number, (function, count) in enumerate(zip(functions, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(count):
                function()
            found[number] = min(found[number], (time.perf_counter() - start) / count)
    return found
