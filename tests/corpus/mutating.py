"""Each thing that a compiled call reaches is changed in turn: the next call gives what plain Python gives then.

python -m tests.corpus.mutating              every change to everything that any call reaches
python -m tests.corpus.mutating closures     of the functions whose name contains this
python -m tests.corpus.mutating --step 10    every tenth change

Arguments, globals, closures, attributes, methods, defaults, items, code, names in modules: see ``places``. After the
call the change is taken back, and called once more. Ends with the numbers of functions, changes and faults.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("CAPTURE_STRICT", "1")  # before capture is imported

from tests.corpus import Call
from tests.corpus.breaking import Fault
from tests.corpus.places import Change, Undo, changes
from tests.corpus.portrait import Row, difference
from tests.corpus.twins import Twins, observe
from tests.corpus.worlds import Name, World, every

UNLIMITED = {"recompile_limit": 1_000_000}
LONGEST = 1.0
"""Seconds of computing that a call may take; a change may make a loop endless."""


def faults(name: Name, step: int = 1, count: Counter[str] | None = None) -> Iterator[Fault]:
    """Change what the calls of a function reach: every ``step``-th change."""
    twins = Twins(name)
    count = Counter() if count is None else count
    for number in twins.numbers:
        place = ""
        first = (len(str(name)) + number) % step
        for change in list(changes(twins.plain.function, _call(twins.plain, number)))[first::step]:
            if change.rpartition(":")[0] != place:
                place = change.rpartition(":")[0]
                twins = Twins(name, options=UNLIMITED)
                yield from _faults_of(name, number, "warm", twins.call(number))
            variants = len(twins.record.variants)
            try:
                found = _changed(twins, number, change)
            except _Skipped:
                count["not applicable"] += 1
                continue
            except _Expired:
                count["endless"] += 1
                twins = Twins(name, options=UNLIMITED)
                continue
            except Exception:
                found = traceback.format_exc()
            count["changes"] += 1
            count["compiled again"] += len(twins.record.variants) > variants
            yield from _faults_of(name, number, change, found)
            if found:
                twins = Twins(name, options=UNLIMITED)
            else:
                yield from _faults_of(name, number, f"after {change}", twins.call(number))


def _faults_of(name: Name, number: int, where: str, difference: str) -> Iterator[Fault]:
    if difference:
        yield Fault(name, number, where, difference)


class _Expired(BaseException):
    """A call took too long, or called itself without an end: how deep that gets differs."""


class _Skipped(Exception):
    """A change that cannot be made here."""


def _changed(twins: Twins, number: int, name: str) -> str:
    """Call with a change made in both worlds, which is taken back: the difference."""
    expected = _observe(twins.plain, twins.plain.function, number, name)
    if any(path == "[1]" and words.startswith("RecursionError") for path, words in expected):
        raise _Expired
    got = _observe(twins.compiled, twins.entry, number, name)
    return difference(got, expected)


def _observe(world: World, function: Callable[..., Any], number: int, name: str) -> list[Row]:
    call = _call(world, number)
    change = changes(world.function, call).get(name)
    if change is None:
        raise _Skipped
    if change.library:
        return observe(world, _during(change, function), call)
    undo = _do(change)
    try:
        with _limited():
            return observe(world, function, call)
    finally:
        undo()


def _during(change: Change, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs while a change is in place."""

    def changed(*args: Any, **kwargs: Any) -> Any:
        undo = _do(change)
        try:
            with _limited():
                return function(*args, **kwargs)
        finally:
            undo()

    return changed


def _do(change: Change) -> Undo:
    try:
        return change.do()
    except Exception as error:
        raise _Skipped from error


def _call(world: World, number: int) -> Call:
    args, kwargs = world.calls[number].made()
    return Call(list(args), kwargs)  # type: ignore[arg-type]


@contextmanager
def _limited() -> Iterator[None]:
    def expired(*_: Any) -> None:
        raise _Expired

    before = signal.signal(signal.SIGVTALRM, expired)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def main() -> None:
    parser = argparse.ArgumentParser(description="Change everything")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--step", type=int, default=1)
    given = parser.parse_args()
    start = time.perf_counter()
    count: Counter[str] = Counter()
    for name in every(given.pattern):
        count["functions"] += 1
        for fault in faults(name, given.step, count):
            count["faults"] += 1
            print(fault)
    print(f"Python {platform.python_version()}: {dict(count)}, {time.perf_counter() - start:.0f} s")
    sys.exit(count["faults"] > 0)


if __name__ == "__main__":
    main()
