"""A variant that was just made, written down for later processes.

In: an entry, its settings, the variant and the graph it came from. Out: one more row in the entry's record in the disk
cache, newest first; of variants that cannot be kept there is none.
"""

from __future__ import annotations

import marshal
import pickle
from types import FunctionType
from typing import Any

from capture.frames.hook import Entry, Variant
from capture.frames.settings import Settings
from capture.inductor import cache, executor, toolchain
from capture.kept.encoding import NotKept, World, encoded
from capture.kept.record import MOST_ROWS, Row, found_of, may_be_kept, rows_of

_OF_THIS_PROCESS = {"registrations"}
"""Steps of guard programs whose operands are counters."""


def keep(entry: Entry, variant: Variant, settings: Settings) -> None:
    """Write a variant down, if all that it holds can be found again."""
    if not may_be_kept(settings):
        return
    function = entry.function
    assert type(function) is FunctionType
    try:
        row = _row(function, variant)
    except NotKept:
        return
    name = found_of(function, settings).name
    others = [other for other in rows_of(name) if _bits(other.guards) != _bits(row.guards)]
    cache.store_entry(name, marshal.dumps([tuple(each) for each in (row, *others)][:MOST_ROWS]))


def _bits(guards: Any) -> bytes:
    """Guards as they can be compared: 1, 1.0 and True are equal."""
    return marshal.dumps(guards, 2)


def _row(function: FunctionType, variant: Variant) -> Row:
    graph, runner = variant.info.graph, variant.info.runner
    if type(runner) is not executor.Executor:
        raise NotKept("no executor")
    if not variant.info.portable:
        raise NotKept("the order of a set, or a hash")
    if any(step[0] in _OF_THIS_PROCESS for step in variant.program[1]):
        raise NotKept("a guard on what only this process counts")
    plan = runner.plan
    world = World(function, runner)
    return Row(
        guards=encoded(variant.program, world),
        code=encoded(variant.code, world),
        direct=encoded(variant.direct, world),
        native=variant.native,
        evaluated=variant.evaluated,
        program=encoded(executor.encode(plan), World(function, copies=True)),
        kernels=cache.key(plan.source, toolchain.find()),
        plan=_pickled(plan),
        graph=str(graph),
    )


def _pickled(plan: Any) -> bytes:
    try:
        return pickle.dumps(plan)
    except Exception as error:
        raise NotKept(str(error)) from error
