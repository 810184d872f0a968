"""What the race of the corpus of loops comes to.

In: what each contender took, by program (``Timed``). Out: lines of Markdown: the table; who is how many times as fast
as NumPy, and against whom capture is ahead; who failed, with the reason. A contender that fails has NumPy's speed.
Slower for certain is who is as far behind as the table of whole-array programs asks (``measure.SLOWER``) wherever in
their intervals of 95 % the medians are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tests.benchmarks.measure import SLOWER, interval

if TYPE_CHECKING:
    from tests.benchmarks.loops.timing import Timed

Found = Mapping[str, "Timed"]


def head(names: Sequence[str]) -> list[str]:
    titles = ("program", "NumPy, ms", *names[1:], "compiled in, s")
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]


def row(name: str, found: Found) -> str:
    base = found["numpy"].seconds or math.nan
    cells = [f"{base / timed.seconds:.2f}" if timed.seconds else "-" for timed in list(found.values())[1:]]
    return f"| {name} | {base * 1e3:.2f} | {' | '.join(cells)} | {found['capture'].compile:.2f} |"


def summary(rows: Mapping[str, Found], names: Sequence[str]) -> list[str]:
    if not rows:
        return ["no programs"]
    speeds = {name: {program: _speed(found, name) for program, found in rows.items()} for name in names}
    lines = [_mean(name, rows, speeds[name]) for name in names[1:]]
    peers = [name for name in names if name not in ("numpy", "capture")]
    lines += [_against([name], rows, speeds) for name in peers]
    lines += [_against(["numpy", *peers], rows, speeds), *_behind(["numpy", *peers], speeds)]
    slower = [f"{program} {speed:.2f}" for program, speed in speeds["capture"].items() if speed < 1]
    lines.append(f"slower than NumPy: {', '.join(slower) or 'none'}")
    return lines + _compile_time(rows)


def failures(rows: Mapping[str, Found]) -> list[str]:
    return [
        f"- {name} on {program}: {timed.failure}"
        for program, found in rows.items()
        for name, timed in found.items()
        if timed.failure
    ]


def _speed(found: Found, name: str) -> float:
    base = found["numpy"].seconds or math.nan
    return base / (found[name].seconds or base)


def _mean(name: str, rows: Mapping[str, Found], speeds: Mapping[str, float]) -> str:
    """Over all programs and over those that run; first calls by their median."""
    ran = [program for program, found in rows.items() if found[name].seconds is not None]
    mean = math.exp(statistics.fmean(map(math.log, speeds.values())))
    line = f"geometric mean of {name}: {mean:.2f} times NumPy; {len(ran)} of {len(rows)} programs run"
    if ran:
        first = statistics.median(rows[program][name].first for program in ran)
        own = math.exp(statistics.fmean(math.log(speeds[program]) for program in ran))
        line += f", {own:.2f} over these, first call {first:.2f} s"
    return line


def _against(others: Sequence[str], rows: Mapping[str, Found], speeds: Mapping[str, Mapping[str, float]]) -> str:
    """Over the programs that one of the others runs."""
    shares = {
        program: speeds["capture"][program] / max(speeds[name][program] for name in others)
        for program, found in rows.items()
        if any(found[name].seconds for name in others)
    }
    ahead = sum(share >= 1 for share in shares.values())
    near = sum(0.9 <= share < 1 for share in shares.values())
    whom = others[0] if len(others) == 1 else f"the best of {', '.join(others)}"
    certain = sum(any(_is_slower(rows[program], name) for name in others) for program in shares)
    return (
        f"at least as fast as {whom} on {ahead} of {len(shares)} programs, within a tenth on {near} more; "
        f"slower for certain on {certain}"
    )


def _is_slower(found: Found, other: str) -> bool:
    """Whether capture is, for certain."""
    own, others = found["capture"].times, found[other].times
    return bool(own and others) and interval(others)[1] < SLOWER * interval(own)[0]


def _behind(others: Sequence[str], speeds: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Where the best of the others is ahead, the furthest first, and who that is."""
    shares = []
    for program, own in speeds["capture"].items():
        best = max(others, key=lambda name: speeds[name][program])
        shares.append((own / speeds[best][program], program, best))
    behind = [f"{program} {share:.2f} ({best})" for share, program, best in sorted(shares) if share < 1]
    return [f"behind on: {', '.join(behind) or 'none'}"]


def _compile_time(rows: Mapping[str, Found]) -> list[str]:
    times = sorted((found["capture"].compile, program) for program, found in rows.items() if found["capture"].seconds)
    if not times:
        return []
    slow = [f"{program} {seconds:.2f} s" for seconds, program in times if seconds > 1]
    median = statistics.median(seconds for seconds, _ in times)
    return [f"compile time of capture: median {median:.2f} s; over 1 s: {', '.join(slow) or 'none'}"]
