"""Places whose facts keep changing from call to call, so that no variant fits for long.

In: the variants of a function that do not fit a call. Out: the places that are not to be looked at any more. What
stands there is passed on as it is; an instruction that needs to know more of it runs natively.

>>> unsteady_places(entry.variants, State(arguments, function))     # three variants: x was an int, a str, a list
frozenset({Argument(0, "x")})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.guards import Guard
from capture.frames.peek import Absent
from capture.frames.sources import Function, Source, State, resolve

if TYPE_CHECKING:
    from capture.frames.hook import Variant
    from capture.frames.tracer import Tracer

OFTEN = 3
"""So many variants that do not fit for the same place make it unsteady."""
LAST = 5
"""With so many variants every place for which one of them does not fit is unsteady: the next ones should fit."""


def require_steady(tracer: Tracer, source: Source) -> None:
    if source in tracer.unsteady:
        raise GraphBreak(f"{source.name()}, which keeps changing, is left to Python")


def unsteady_places(variants: Sequence[Variant], state: State, kind: type = object) -> frozenset[Source]:
    """The places for which too many variants do not fit, and those that were unsteady before; only where an object of
    this ``kind`` stands.
    """
    failed = Counter(guard.source for variant in variants if (guard := first_failing(variant.info.guards, state)))
    enough = 1 if len(variants) >= LAST else OFTEN
    often = {source for source, count in failed.items() if count >= enough and type(source) is not Function}
    found = {source for source in often if kind is object or _is_of(kind, source, state)}
    return frozenset(found).union(*(variant.info.unsteady for variant in variants))


def _is_of(kind: type, source: Source, state: State) -> bool:
    try:
        return type(resolve(source, state)) is kind
    except Absent:
        return False


def first_failing(guards: Sequence[Guard], state: State) -> Guard | None:
    for guard in guards:
        try:
            value, *others = (resolve(source, state) for source in (guard.source, *guard.check.sources))
        except Absent:
            return guard
        if not guard.check.holds(value, *others):
            return guard
    return None
