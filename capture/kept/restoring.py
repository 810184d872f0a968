"""A variant that an earlier process wrote down, put to use: what a first call needs where all is as it was then.

In: an entry that has no variant for a call. Out: one from its record whose guards hold, or None: compile. Nothing of
the tracer or the code generator is imported for it. As soon as no kept variant fits, those in use are dropped and the
function is compiled as if there had been none: what has changed from call to call is seen by comparing live variants.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from capture.frames.hook import Entry, Variant
from capture.frames.settings import Settings
from capture.inductor import _executor, cache, errstate, toolchain  # noqa: F401 (errstate: the executor reads it)
from capture.kept.encoding import Gone, World, decoded
from capture.kept.record import Row, found_of, may_be_kept

if TYPE_CHECKING:
    from capture.inductor.plan import Plan
    from capture.ir.graph import Graph


class Restored(NamedTuple):
    """``variant.info`` of a variant that was not made in this process."""

    settings: Settings


class KeptPlan:
    """A plan that is read only if somebody asks for its parts."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @cached_property
    def _plan(self) -> Plan:
        return pickle.loads(self._pickled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


def is_known(function: FunctionType, settings: Settings) -> bool:
    """Whether variants of a function are kept."""
    return may_be_kept(settings) and bool(found_of(function, settings).rows)


def restored(entry: Entry, arguments: tuple[Any, ...], settings: Settings) -> Variant | None:
    """A kept variant whose guards hold for these arguments."""
    if not may_be_kept(settings) or any(type(variant.info) is not Restored for variant in entry.variants):
        return None
    function: FunctionType = entry.function  # type: ignore[assignment]
    for row in found_of(function, settings).rows:
        try:
            guards = decoded(row.guards, World(function))
            if Variant(guards, function.__code__).holds(arguments, function):
                return _variant(row, guards, function, settings)
        except Gone:
            continue
    if entry.variants:
        entry.clear()
        settings.record.clear()
    return None


def _variant(row: Row, guards: Any, function: FunctionType, settings: Settings) -> Variant:
    plan = KeptPlan(row.plan)
    path = cache.sound(row.kernels) or cache.load(plan.source, toolchain.find())
    program = decoded(row.program, World(function))
    runner = _executor.Executor(cast("Plan", plan), program, str(path), settings.options.threads, _report_flags)
    world = World(function, runner)
    variant = Variant(
        guards,
        decoded(row.code, world),
        decoded(row.direct, world),
        row.native,
        Restored(settings),
        row.evaluated,
    )
    settings.record.graphs.append_later(lambda: _graph(row.graph))
    return variant


def _report_flags(plan: Any, words: tuple[int, ...], kinds: int) -> None:
    from capture.inductor.executor import report_flags

    report_flags(plan, words, kinds)


def _graph(text: str) -> Graph:
    from capture.ir.text import parse_graph

    return parse_graph(text)
