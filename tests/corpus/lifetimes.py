"""What calls leave behind, compared with what plain Python leaves behind.

python -m tests.corpus.lifetimes                         1000 calls of each function for each of its arguments
python -m tests.corpus.lifetimes loop                    of the functions whose name contains this
python -m tests.corpus.lifetimes --every 23 --calls 100000     100,000 calls each of every 23rd function
python -m tests.corpus.lifetimes --backend inductor      with kernels instead of NumPy

In: the name of a function. Out: in words, what lives on that should not: arrays that die later than in plain Python,
references and memory that pile up with calls, with compiling again, or when the compiled function is gone.

>>> list(leaks(Name("statements", "for_else")))
[]

Blocks of memory are counted (``sys.getallocatedblocks``: every object of Python's and every array is one), and
references to what the function's world consists of; no sizes and no seconds. Two caches of fixed size are emptied
before counting: what has been decoded of the last few hundred code objects, and CPython's of attributes of classes.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import platform
import sys
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

os.environ.setdefault("CAPTURE_STRICT", "1")  # before capture is imported

from capture import backends
from capture.frames import bytecode, frontend, hook
from tests.corpus.twins import Twins, quietly
from tests.corpus.worlds import Name, World, every

COMPILATIONS = 12
SLACK = 4
"""What every fourth round leaves behind is found; less is the noise of tables that grow and shrink."""
ENLARGED = 5
"""So many times the rounds are made again where something is found: noise does not grow with them."""

EVERYBODYS = frozenset({type(None), bool, int, str})
"""References to these come and go with whatever runs."""


def leaks(name: Name, calls: int = 60, backend: Any = backends.eager) -> Iterator[str]:
    """See the module. ``calls`` are made of each between two counts."""
    gc.collect()
    gc.freeze()  # what exists is not looked at again and again
    try:
        twins = Twins(name, backend=backend)
        for number in twins.numbers:
            yield from _late(twins, number)
        for number in twins.numbers:
            yield from _piled_up(twins, number, calls)
        yield from _kept_by_compiling(twins)
        yield from _kept_when_gone(name, backend)
    finally:
        gc.unfreeze()


# Arrays -------------------------------------------------------------------------------------------------------------
def _late(twins: Twins, number: int) -> Iterator[str]:
    """Arrays that live on after a call, in the third of them."""
    for _ in range(3):
        expected = _alive(twins.plain, twins.plain.function, number)
        got = _alive(twins.compiled, twins.entry, number)
    if any(more and not same for more, same in zip(got, expected, strict=True)):
        yield f"call {number}: alive are {got} instead of {expected}"


def _alive(world: World, function: Callable[..., Any], number: int) -> list[bool]:
    """Which arrays among arguments and results are still there when the caller has let go of them."""
    call = world.calls[number].made()
    result = quietly(function, call)
    arrays = [weakref.ref(array) for array in _arrays((call.args, call.kwargs, result))]
    del call, result
    return [array() is not None for array in arrays]


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)


# What piles up ------------------------------------------------------------------------------------------------------
def _piled_up(twins: Twins, number: int, calls: int) -> Iterator[str]:
    """What is more with each call."""
    for what, more in _excess(twins, number, calls, lambda: twins.entry):
        yield f"call {number}: {what}, {more} more after {calls} calls"


def _kept_by_compiling(twins: Twins) -> Iterator[str]:
    """What is more each time that the function has been compiled anew."""

    def anew() -> Any:
        hook.reset()  # variants of what was called natively belong to its code
        twins.entry.clear()
        frontend.forget(twins.record)
        return twins.entry

    for what, more in _excess(twins, 0, COMPILATIONS, anew):
        yield f"{what}, {more} more after it was compiled {COMPILATIONS} times"


def _excess(twins: Twins, number: int, rounds: int, function: Callable[[], Any]) -> list[tuple[str, int]]:
    """What there is more of than after as many calls in plain Python; if it still is after more rounds."""
    plain, compiled = twins.plain, twins.compiled
    found: list[tuple[str, int]] = []
    for enlarged in (rounds, ENLARGED * rounds):
        expected = _growth(plain, enlarged, lambda: plain.function, lambda: plain.calls[number].made())
        got = _growth(compiled, enlarged, function, lambda: compiled.calls[number].made())
        least = max(enlarged // SLACK, 2)
        found = [(what, got[what] - expected[what]) for what in sorted(got) if got[what] - expected[what] >= least]
        if not found:
            break
    return found


def _growth(world: World, rounds: int, function: Callable[[], Any], call: Callable[[], Any]) -> Counter[str]:
    """By how much there is more of each thing after some rounds: the less of two times, after a first."""
    counts = []
    with _unheard():
        for _ in range(4):
            for _ in range(rounds):
                made = call()
                with contextlib.suppress(Exception):
                    function()(*made.args, **made.kwargs)
                del made
            counts.append(_count(world))
    more = [{what: after[what] - before[what] for what in after} for before, after in pairwise(counts[1:])]
    return Counter({what: min(found[what] for found in more) for what in more[0]})


def _count(world: World) -> Counter[str]:
    bytecode.forget()
    sys._clear_type_cache()
    _collect()
    count: Counter[str] = Counter({"blocks": sys.getallocatedblocks()})
    code = world.function.__code__
    named = {"function": world.function, "code": code, "globals": world.globals, **world.globals}
    named |= {f"constant {index}": value for index, value in enumerate(code.co_consts)}
    for name, value in named.items():
        if type(value) not in EVERYBODYS:
            count[f"references to {name}"] = sys.getrefcount(value)
    return count


def _collect() -> None:
    """Code is not seen by the garbage collector: what it owns goes in a second round."""
    gc.collect()
    gc.collect()


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Output and warnings go nowhere, and nothing of them is kept."""

    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(Nowhere()), contextlib.redirect_stderr(Nowhere()):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = before


def _kept_when_gone(name: Name, backend: Any) -> Iterator[str]:
    """Kernels and resume functions of a compiled function that nobody has any more, and the function itself."""
    twins = Twins(name, backend=backend)
    for number in twins.numbers:
        quietly(twins.plain.function, twins.plain.calls[number].made())
        quietly(twins.entry, twins.compiled.calls[number].made())
    kept = [*map(weakref.ref, twins.record.runners)]
    kept += [weakref.ref(target.entry) for target in twins.record.resumes.values()]
    kept += [weakref.ref(twins.compiled), weakref.ref(twins.entry)]
    plain, function = weakref.ref(twins.plain.function), weakref.ref(twins.compiled.function)
    del twins
    World(name)  # takes the place of the other where the module tells somebody of itself
    hook.reset()
    _collect()
    if plain() is None:  # else others, such as a cache of typing's, know what it made
        kept.append(function)
    alive = [found for reference in kept if (found := reference()) is not None]
    if alive:
        yield f"{len(alive)} of {len(kept)} live on: {alive[:3]}"


# Command ------------------------------------------------------------------------------------------------------------
def report(names: Iterable[Name], calls: int, backend: Any) -> Counter[str]:
    count: Counter[str] = Counter()
    for name in names:
        count["functions"] += 1
        count["calls"] += 4 * calls * len(World(name).calls)
        for fault in leaks(name, calls, backend):
            count["faults"] += 1
            print(f"{name}: {fault}", flush=True)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description="What lives on")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--calls", type=int, default=1000, help="between two counts")
    parser.add_argument("--every", type=int, default=1, help="of so many functions one")
    parser.add_argument("--backend", choices=("eager", "inductor"), default="eager")
    given = parser.parse_args()
    start = time.perf_counter()
    names = list(every(given.pattern))[:: given.every]
    count = report(names, given.calls, getattr(backends, given.backend))
    print(f"Python {platform.python_version()}: {dict(count)}, {time.perf_counter() - start:.0f} s")
    sys.exit(count["faults"] > 0)


if __name__ == "__main__":
    main()
