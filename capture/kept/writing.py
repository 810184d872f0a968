"""A variant that was just made, written down for later processes.

In: an entry, its settings, the variant and the graph it came from. Out: one more row in the entry's record in the disk
cache, newest first; of variants that cannot be kept there is none.
"""

from __future__ import annotations

import pickle
from types import CodeType, FunctionType
from typing import Any

from capture.frames.hook import Entry, Variant
from capture.frames.landings import Landing
from capture.frames.origins import resumed_by
from capture.frames.settings import Settings
from capture.inductor import cache, executor, toolchain
from capture.kept.encoding import NotKept, World, encoded, name_of_resume
from capture.kept.record import Row, add_row, found_of, may_be_kept, note_plain, rest_of

_OF_THIS_PROCESS = {"registrations"}
"""Steps of guard programs whose operands are counters."""


def keep(entry: Entry, variant: Variant, settings: Settings) -> None:
    """Write a variant down, if all that it holds can be found again."""
    if not may_be_kept(settings):
        return
    function = entry.function
    assert type(function) is FunctionType
    if variant.info.graph is None and variant.info.broke is None:
        return  # nothing was captured
    try:
        row = _row(function, variant, function.__code__)
    except NotKept:
        return
    found = found_of(function, settings)
    add_row(found.name, row)
    settings.record.kept = found._replace(is_kept=True)


def keep_rest(entry: Entry, variant: Variant | None, settings: Settings) -> None:
    """Write down what becomes of a resume function of a function that is kept."""
    found, function = settings.record.kept, entry.function
    if found is None or not found.is_kept or type(function) is not FunctionType:
        return
    try:
        name = rest_of(found.name, name_of_resume(function))
        if variant is None:
            note_plain(name)
        else:
            add_row(name, _row(function, variant, found.code))
    except NotKept:
        return


def _row(function: FunctionType, variant: Variant, whole: CodeType) -> Row:
    if not variant.info.portable:
        raise NotKept("the order of a set, or a hash")
    if any(step[0] in _OF_THIS_PROCESS for step in variant.program[1]):
        raise NotKept("a guard on what only this process counts")
    graph, runner = variant.info.graph, variant.info.runner
    world = World(function, runner, whole=whole, resumed_by=resumed_by, landing=Landing)
    row = Row(
        guards=encoded(variant.program, world),
        code=encoded(variant.code, world),
        direct=encoded(variant.direct, world),
        native=variant.native,
        evaluated=variant.evaluated,
    )
    if graph is None:
        return row
    if type(runner) is not executor.Executor:
        raise NotKept("no executor")
    plan = runner.plan
    return row._replace(
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
