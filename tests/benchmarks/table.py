"""The table of programs: each at each size and dtype against all contenders, and what it comes to.

In: options of the command. Out: lines of Markdown, NumPy's time and how many times as fast each contender is; an
exclamation mark where that is slower than NumPy, a dash where a contender failed, with the reason below.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tests.benchmarks import apart, peers
from tests.benchmarks.measure import Function, Outcome, race
from tests.benchmarks.programs import PROGRAMS
from tests.benchmarks.programs.program import FLOATS, Program

HAND = "c"
NEAR = 0.9
"""Of the fastest peer's speed: within 10 %."""


@dataclass(frozen=True)
class Row:
    """What was measured of one program, dtype and size."""

    program: str
    dtype: str
    size: int
    outcomes: dict[str, Outcome]

    def ratio(self, name: str) -> float | None:
        outcome = self.outcomes[name]
        return None if outcome.seconds is None else outcome.ratio


def compare(options: argparse.Namespace) -> list[str]:
    names = options.peers
    rows: list[Row] = []
    for program in PROGRAMS:
        if not options.only or program.name in options.only:
            for row in _rows(program, options):
                rows.append(row)
                print(_line(row, names), file=sys.stderr, flush=True)
    return [*_head(names), *(_line(row, names) for row in rows), "", *summary(rows, names), "", *_failures(rows)]


def _rows(program: Program, options: argparse.Namespace) -> Iterable[Row]:
    """Contenders are made once for all sizes of a dtype, as a user would."""
    for dtype in program.dtypes:
        if dtype in options.dtypes or dtype not in FLOATS:
            made: dict[str, Function] = {}
            distant = {
                name: apart.outcomes(name, program.name, dtype, options.sizes, options.seconds)
                for name in options.peers
                if name in peers.APART
            }
            for number, size in enumerate(options.sizes):
                args = program.arguments(np.random.default_rng(0), size, dtype)
                for name in options.peers:
                    if name in distant:
                        continue
                    if name not in made or name in peers.OF_ARGUMENTS:
                        with suppress(peers.NotExpressible):
                            made[name] = peers.CONTENDERS[name](program, args)
                others = {name: Outcome(None) for name in options.peers if name not in made}
                others |= {name: found[number] for name, found in distant.items()}
                yield Row(program.name, dtype, size, {**race(made, args, options.seconds), **others})


def _head(names: Sequence[str]) -> list[str]:
    contenders = names[1:]
    return [
        f"| program | dtype | elements | NumPy µs | {' | '.join(contenders)} |",
        f"|---|---|---|---|{'---|' * len(contenders)}",
    ]


def _line(row: Row, names: Sequence[str]) -> str:
    base = row.outcomes["numpy"].seconds or math.nan
    cells = " | ".join(_cell(row.outcomes[name]) for name in names[1:])
    return f"| {row.program} | {row.dtype} | {row.size:,} | {base * 1e6:,.1f} | {cells} |"


def _cell(outcome: Outcome) -> str:
    return "-" if outcome.seconds is None else f"{outcome.ratio:.2f}{' !' if outcome.is_slower else ''}"


def _failures(rows: Sequence[Row]) -> list[str]:
    reasons = {
        f"- {name} on {row.program}: {outcome.failure}"
        for row in rows
        for name, outcome in row.outcomes.items()
        if outcome.failure
    }
    return sorted(reasons)


# What it comes to -----------------------------------------------------------------------------------------------------
def summary(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Geometric means, where a failure counts as NumPy's own speed, and the judgements."""
    lines = []
    for name in names[1:]:
        found = [row.ratio(name) for row in rows]
        if name != HAND:
            mean = math.exp(statistics.fmean(math.log(ratio or 1.0) for ratio in found))
            lines.append(f"geometric mean of {name}: {mean:.2f} times NumPy")
    if "capture" in names:
        lines += [*_slower(rows), *_against_hand(rows, names), *_against_peers(rows, names)]
    return lines


def _slower(rows: Sequence[Row]) -> list[str]:
    slow = [row for row in rows if row.outcomes["capture"].is_slower]
    lines = [f"capture slower than NumPy on {len(slow)} of {len(rows)}"]
    for row in slow:
        low, high = row.outcomes["capture"].interval
        lines.append(f"- {row.program} {row.dtype} {row.size:,}: {low:.2f} to {high:.2f}")
    return lines


def _against_hand(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    if HAND not in names:
        return []
    ratios = {}
    for row in rows:
        hand, own = row.ratio(HAND), row.ratio("capture")
        if hand and own:
            ratios[f"{row.program} {row.dtype} {row.size:,}"] = own / hand
    if not ratios:
        return []
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    behind = [f"- {name}: {ratio:.2f}" for name, ratio in ratios.items() if ratio < 0.85]
    return [
        f"capture against C by hand: {mean:.2f} (geometric mean), below 0.85 on {len(behind)} of {len(ratios)}",
        *behind,
    ]


def _against_peers(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    others = [name for name in names if name not in ("numpy", "capture", HAND)]
    if not others:
        return []
    fastest = near = 0
    behind = []
    for row in rows:
        own = row.ratio("capture") or 1.0
        ratios = {name: ratio for name in others if (ratio := row.ratio(name))}
        best = max(ratios, key=lambda name: ratios[name], default="numpy")
        share = own / ratios.get(best, 1.0)
        fastest += share >= 1
        near += NEAR <= share < 1
        if share < NEAR:
            behind.append(f"- {row.program} {row.dtype} {row.size:,}: {share:.2f} of {best}")
    return [f"capture is the fastest on {fastest} of {len(rows)}, within 10 % on {near} more", *behind]
