"""What must be done before each unit.

In: units with what they read and write. Out: ``unit.before``: the writers of what a unit reads, the readers of what it
overwrites, whatever finds out the sizes that it needs; whatever may give the call up comes before all that the
caller can see; and tests of places come before what reaches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from capture.errors import BackendError
from capture.inductor import reach
from capture.inductor.loops import Memory
from capture.ir.graph import buffer
from capture.ir.passes.aliasing import repeats

if TYPE_CHECKING:
    from capture.inductor.lower import Lowered, Unit


def order_units(lowered: Lowered) -> None:
    """What must be done before each unit: writers of what it reads, and readers of what it overwrites."""
    last: dict[Memory, list[Unit]] = {}
    readers: dict[Memory, list[Unit]] = {}
    measures = {unit.tells: unit for unit in lowered.units if unit.tells is not None}
    for unit in lowered.units:
        for read in unit.reads:
            unit.before.update(lowered.writers.get(read.leaf, ()))
            memory = lowered.memory.get(buffer(read.leaf))
            if memory is not None:
                unit.before.update(last.get(memory, ()))
                readers.setdefault(memory, []).append(unit)
        if unit.node.target == "store" and unit.memory is not None:
            unit.before.update(last.get(unit.memory, ()))
            unit.before.update(readers.pop(unit.memory, ()))
        if unit.memory is not None:
            if unit.node.target == "store":
                last[unit.memory] = [unit]
            else:
                last.setdefault(unit.memory, []).append(unit)
        for memory in (lowered.memory[buffer(unit.node.args[number])] for number in lowered.taken.get(unit.node, ())):
            unit.before.update(readers.pop(memory, ()))
            last[memory] = [unit]
        for part in unit.parts:
            last.setdefault(lowered.memory[part], []).append(unit)
        unit.before.update(measures[symbol] for symbol in unit.sizes & measures.keys())
        unit.before.discard(unit)
    _draw_in_order(lowered)
    _leave_before_writing(lowered)
    _test_before_reaching(lowered)


def _draw_in_order(lowered: Lowered) -> None:
    """Random numbers are drawn as the program says: two generators may share their state."""
    draws = [unit for unit in lowered.units if unit.kind == "extern" and not repeats(unit.node.op)]
    for unit, later in pairwise(draws):
        later.before.add(unit)


def _leave_before_writing(lowered: Lowered) -> None:
    """Whatever may give the call up comes before anything is written that the caller sees."""
    leaving = [unit for unit in lowered.units if not unit.is_loop]
    writing = [unit for unit in lowered.units if unit.memory is not None and unit.memory.kind == "input"]
    if not leaving or not writing:
        return
    behind = _units_behind(lowered, writing)
    for unit in writing:
        unit.before.update(other for other in leaving if other not in behind)
    if any(unit.kind in ("leave", "loop") for unit in behind):
        raise BackendError("a test depends on what was written before it")


def _units_behind(lowered: Lowered, writing: Sequence[Unit]) -> set[Unit]:
    """The units that need what is written to the caller's memory, and externs that the program has behind it."""
    behind = set(writing)
    for unit in lowered.units[writing[0].number + 1 :]:
        if unit.kind == "extern" or not behind.isdisjoint(unit.before):
            behind.add(unit)
    return behind


def _test_before_reaching(lowered: Lowered) -> None:
    """Memory that may not be there is neither read nor written."""
    tests = [unit for unit in lowered.units if unit.kind == "leave"]
    if not tests:
        return
    for unit in lowered.units:
        nodes = {unit.node, *unit.gathers} if unit.kind in ("scatter", "pack") else unit.gathers
        behind = [lowered.order[node] for node in nodes if reach.waits(node, lowered.graph)]
        unit.before.update(test for test in tests if behind and lowered.order[test.node] < max(behind))
