"""A break at each instruction in turn: whatever is captured around it, everything is as in plain Python.

python -m tests.corpus.breaking              every instruction of every function, also in what is evaluated inline
python -m tests.corpus.breaking loop         of the functions whose name contains this
python -m tests.corpus.breaking --step 10    every tenth instruction
python -m tests.corpus.breaking --pairs      and two instructions at once, as often as there are instructions

Ends with the numbers of functions, breaks and faults.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import NamedTuple

os.environ.setdefault("CAPTURE_STRICT", "1")  # before capture is imported

from tests.corpus.twins import Twins
from tests.corpus.worlds import Name, every

Point = tuple[CodeType, int]
"""An instruction: of a code object, by its number."""
ROUNDS = 2
"""Calls for each break: the second runs what the first one compiled."""


class Fault(NamedTuple):
    """What went wrong where."""

    name: Name
    call: int
    where: str
    difference: str

    def __str__(self) -> str:
        return f"{self.name}, call {self.call}, {self.where}:\n    {self.difference}"


def points(twins: Twins, number: int) -> list[Point]:
    """The instructions that are evaluated in a call, where a break can be asked for; in order of evaluation."""
    found: dict[Point, None] = {}

    def note(code: CodeType, index: int) -> bool:
        found[code, index] = None
        return False

    twins.compile(force_break=note)
    twins.call(number)
    return list(found)


def faults(name: Name, step: int = 1, pairs: bool = False, count: Counter[str] | None = None) -> Iterator[Fault]:
    """Break everywhere in the calls of a function: at every ``step``-th instruction, and at all of them together."""
    twins = Twins(name)
    for number in twins.numbers:
        found = points(twins, number)
        yield from _broken(twins, number, found, "everywhere", count)
        first = len(str(name)) % step
        for point in found[first::step]:
            yield from _broken(twins, number, [point], _words(point), count)
        if pairs:
            chosen = random.Random(str(name))
            for _ in found:
                two = chosen.sample(found, 2) if len(found) > 1 else found
                yield from _broken(twins, number, two, " and ".join(map(_words, two)), count)


def _broken(twins: Twins, number: int, at: Sequence[Point], where: str, count: Counter[str] | None) -> Iterator[Fault]:
    chosen = frozenset(at)
    twins.compile(force_break=lambda code, index: (code, index) in chosen)
    for _ in range(ROUNDS):
        try:
            difference = twins.call(number)
        except Exception:
            difference = traceback.format_exc()
        if difference:
            yield Fault(twins.name, number, where, difference)
    if count is not None:
        count["breaks"] += sum(found.kind == "forced" for found in twins.record.breaks)


def _words(point: Point) -> str:
    return f"{point[0].co_qualname} at {point[1]}"


def report(names: Iterable[Name], step: int, pairs: bool) -> Counter[str]:
    count: Counter[str] = Counter()
    for name in names:
        count["functions"] += 1
        for fault in faults(name, step, pairs, count):
            count["faults"] += 1
            print(fault)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description="Break everywhere")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--pairs", action="store_true")
    given = parser.parse_args()
    start = time.perf_counter()
    count = report(every(given.pattern), given.step, given.pairs)

    print(f"Python {platform.python_version()}: {dict(count)}, {time.perf_counter() - start:.0f} s")
    sys.exit(count["faults"] > 0)


if __name__ == "__main__":
    main()
