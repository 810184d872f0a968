"""Which units share a kernel, in which order the kernels run, and what is put into memory between them.

In: units with their reads (``lower``). Out: a ``Schedule``: groups of units in an order that respects every
dependence. A *group* is one loop nest: axes, some of which are *reduced*; each unit covers all axes, or only the
*kept* ones (a reduction's result, and what is made of it).

>>> [str(group) for group in schedule(lower(graph)).groups]          # softmax over rows
['max, exp, sum, divide over (8, *16)']

Units are fused when that saves a pass over memory and when every element that one of them reads of another is the
element made at the same point of the nest (or at a point of the kept axes, for results of reductions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import prod
from typing import Any

from capture.inductor.loops import Access, Memory, access
from capture.inductor.lower import Lowered, Read, Unit
from capture.ir.graph import Node, buffer
from capture.ir.passes.warnings import may_warn
from capture.ir.shapes import Expr, Facts, Relation, Size, Symbol, le, lt, product, substitute
from capture.records import dataclass, field, replace

LONG = 1 << 15
"""Reduced elements from which a reduction with few results is cut into chunks, so that all threads share it."""

FEW_ROWS, FEW_LANES = 4, 256
"""Results that are too few to share a long reduction among threads: rows, or neighbours in memory."""

SIBLINGS = 8
"""Groups that read the same memory and are tried as partners of a unit that nothing else ties to a group."""

SHORT, LENGTHENED = 15, 63
"""An innermost axis of at most so many elements is left to another one that has more than so many."""

UNKNOWN = 1000
"""What a size that is not known is taken for where sizes are weighed."""

AXES = tuple(Symbol(f"axis{number}") for number in range(64))


@dataclass(eq=False)
class Group:
    """Units in one loop nest over ``axes`` (sizes). ``places[unit]`` gives the axis of each of its dims, or None."""

    axes: tuple[Size, ...]
    reduced: frozenset[int]
    units: list[Unit]
    places: dict[Unit, tuple[int | None, ...]]

    @property
    def kept(self) -> list[int]:
        return [axis for axis in range(len(self.axes)) if axis not in self.reduced]

    @property
    def is_walk(self) -> bool:
        """Whether the reduced axes are walked in C order, step after step."""
        return any(unit.is_walk for unit in self.units)

    @property
    def first(self) -> int:
        return min(unit.number for unit in self.units)

    def covers_all(self, unit: Unit) -> bool:
        return len([axis for axis in self.places[unit] if axis is not None]) == len(self.axes)

    def phases(self, lowered: Lowered) -> dict[Unit, int]:
        """The pass over the reduced axes in which each unit can be computed first."""
        phases: dict[Unit, int] = {}
        for unit in self.units:
            phase = 0
            for read in unit.reads:
                for other in lowered.writers.get(read.leaf, ()):
                    if other in phases:
                        phase = max(phase, phases[other] + (other.kind == "reduce"))
            phases[unit] = phase
        return phases

    def __str__(self) -> str:
        axes = ", ".join(f"*{size}" if axis in self.reduced else str(size) for axis, size in enumerate(self.axes))
        return f"{', '.join(unit.node.name for unit in self.units)} over ({axes})"


@dataclass(eq=False)
class Schedule:
    """Groups and other units in order of execution; ``in_memory`` maps the nodes that are written to their memory."""

    lowered: Lowered
    steps: list[Group | Unit] = field(default_factory=list)
    group_of: dict[Unit, Group] = field(default_factory=dict)
    in_memory: dict[Node, Memory] = field(default_factory=dict)

    @property
    def groups(self) -> list[Group]:
        return [step for step in self.steps if isinstance(step, Group)]

    @property
    def told(self) -> list[Symbol]:
        """The sizes that are known behind some step and were not before, in order."""
        return [step.tells for step in self.steps if isinstance(step, Unit) and step.tells is not None]

    @property
    def loops(self) -> list[Unit]:
        """The programs, in order."""
        return [step for step in self.steps if isinstance(step, Unit) and step.kind == "loop"]

    @property
    def intermediates(self) -> dict[Node, Memory]:
        """What is put into memory only to be read again by another kernel or extern call."""
        return {node: memory for node, memory in self.in_memory.items() if memory.kind == "arena"}


def schedule(lowered: Lowered) -> Schedule:
    groups = _Grouping(lowered).run()
    result = Schedule(lowered)
    for group in groups:
        for unit in group.units:
            result.group_of[unit] = group
    result.steps = _in_order(lowered, groups)
    _materialise(result)
    return result


def _materialise(result: Schedule) -> None:
    """Give memory to what is read outside its own group."""
    lowered = result.lowered
    for unit in lowered.units:
        for read in unit.reads:
            maker = lowered.unit_of.get(read.leaf)
            if (
                maker is not None
                and maker.memory is None
                and result.group_of.get(maker) is not result.group_of.get(unit)
            ):
                maker.memory = lowered.give_memory(maker.node, "arena")
    for unit in lowered.units:
        if unit.memory is not None:
            result.in_memory[unit.node] = unit.memory


def _in_order(lowered: Lowered, groups: Sequence[Group]) -> list[Group | Unit]:
    """Groups and other units, each after what it depends on, else in program order."""
    step_of: dict[Unit, Group | Unit] = {unit: unit for unit in lowered.units if not unit.is_loop}
    for group in groups:
        step_of.update(dict.fromkeys(group.units, group))
    members = {step: step.units if isinstance(step, Group) else [step] for step in step_of.values()}
    waits = {step: {step_of[b] for unit in units for b in unit.before} - {step} for step, units in members.items()}
    after: dict[Group | Unit, list[Group | Unit]] = {step: [] for step in members}
    for step, befores in waits.items():
        for before in befores:
            after[before].append(step)
    ready: list[tuple[int, Group | Unit]] = []
    left = {step: len(befores) for step, befores in waits.items()}
    rank = {step: min(unit.number for unit in units) for step, units in members.items()}
    for step, count in left.items():
        if not count:
            heappush(ready, (rank[step], step))
    order: list[Group | Unit] = []
    while ready:
        _, step = heappop(ready)
        order.append(step)
        for later in after[step]:
            left[later] -= 1
            if not left[later]:
                heappush(ready, (rank[later], later))
    assert len(order) == len(members), "kernels wait for each other"
    return order


# Grouping ---------------------------------------------------------------------------------------------------------
class _Grouping:
    """Takes units in program order; each starts a group, which is merged with those it reads or shares data with."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.group_of: dict[Unit, Group] = {}
        self.readers: dict[Memory, list[Unit]] = {}

    def run(self) -> list[Group]:
        for unit in self.lowered.units:
            if not unit.is_loop:
                continue
            group = _alone(unit)
            self.group_of[unit] = group
            for other in self.candidates(unit) if self.lowered.choices.fusion != "none" else ():
                partner, group = self.group_of.get(other), self.group_of[unit]
                if partner is not None and partner is not group and other.window == unit.window:
                    self.try_merge(partner, group)
            for memory in self.memories(unit):
                self.readers.setdefault(memory, []).append(unit)
        return list(dict.fromkeys(self.group_of.values()))

    def candidates(self, unit: Unit) -> Iterator[Unit]:
        yield from sorted(unit.before, key=lambda other: -other.number)
        if self.lowered.choices.fusion == "used":
            return
        for memory in self.memories(unit):
            yield from reversed(self.readers.get(memory, ())[-SIBLINGS:])

    def memories(self, unit: Unit) -> Iterable[Memory]:
        """The memory whose elements the unit reads at each point (not what is but a single number)."""
        owners = (self.lowered.memory.get(buffer(read.leaf)) for read in unit.reads)
        return dict.fromkeys(memory for memory in owners if memory is not None and memory.shape)

    def try_merge(self, early: Group, late: Group) -> None:
        merged = merge(early, late, self.lowered)
        if merged is None or self.path_between(early, late):
            return
        for unit in merged.units:
            self.group_of[unit] = merged

    def path_between(self, early: Group, late: Group) -> bool:
        """Whether one group must wait for a third one that must wait for the other."""
        return self.reaches(late, early) or self.reaches(early, late)

    def reaches(self, start: Group, goal: Group) -> bool:
        seen: set[Group | Unit] = {start}
        stack = [step for step in self.waits_for(start) if step is not goal]
        while stack:
            step = stack.pop()
            if step is goal:
                return True
            if step not in seen:
                seen.add(step)
                stack.extend(self.waits_for(step))
        return False

    def waits_for(self, step: Group | Unit) -> set[Group | Unit]:
        units = step.units if isinstance(step, Group) else [step]
        return {self.group_of.get(before, before) for unit in units for before in unit.before} - {step}


def _alone(unit: Unit) -> Group:
    moving = [dim for dim, axis in enumerate(unit.axes) if isinstance(axis, Symbol)]
    place = tuple(moving.index(dim) if dim in moving else None for dim in range(len(unit.axes)))
    reduced = frozenset(axis for dim in unit.reduced if (axis := place[dim]) is not None)
    return Group(tuple(unit.domain[dim] for dim in moving), reduced, [unit], {unit: place})


def merge(early: Group, late: Group, lowered: Lowered) -> Group | None:
    """Both groups as one loop nest, or None where that would change what is read, or save nothing."""
    if early.is_walk or late.is_walk:
        return None
    pairs = _tied_axes(early, late, lowered)
    if pairs is None:
        return None
    for match in (_same_axes, _late_is_kept, _early_is_kept):
        merged = match(early, late, pairs)
        if merged is not None and _is_sound(merged, early, late, lowered):
            return merged
    return None


def _tied_axes(early: Group, late: Group, lowered: Lowered) -> dict[int, int] | None:
    """Which axis of ``early`` meets which of ``late`` where one reads the other; None where elements do not meet."""
    ties: dict[int, int] = {}
    for group, other, forward in ((late, early, False), (early, late, True)):
        for unit in group.units:
            for read in unit.reads:
                maker = lowered.unit_of.get(read.leaf)
                if maker not in other.places:
                    continue
                pairs = None if read.gathered else _axes_of_read(unit, group, read, maker, other)
                if pairs is None:
                    return None
                for mine, theirs in pairs:
                    a, b = (mine, theirs) if forward else (theirs, mine)
                    if ties.setdefault(a, b) != b:
                        return None
    return ties if len(set(ties.values())) == len(ties) else None


def _axes_of_read(unit: Unit, group: Group, read: Read, maker: Unit, other: Group) -> list[tuple[int, int]] | None:
    """Pairs (axis of the reader, axis of the maker), if the read takes the maker's element at the same point."""
    pairs: list[tuple[int, int]] = []
    for position, made in zip(read.index, maker.result_index, strict=True):
        if isinstance(made, int):
            if not isinstance(position, int) or position != 0:
                return None
            continue
        if not isinstance(position, Symbol) or position not in unit.axes:
            return None
        mine = group.places[unit][unit.axes.index(position)]
        theirs = other.places[maker][maker.axes.index(made)]
        if mine is None or theirs is None:
            return None
        pairs.append((mine, theirs))
    return pairs


def _same_axes(early: Group, late: Group, ties: Mapping[int, int]) -> Group | None:
    """Both run over the same axes."""
    if len(early.axes) != len(late.axes):
        return None
    renamed = _complete(early, late, ties, range(len(early.axes)), range(len(late.axes)))
    if renamed is None:
        return None
    reduced = frozenset(renamed[axis] for axis in late.reduced)
    if early.reduced and reduced and early.reduced != reduced:
        return None
    return _joined(early, late, renamed, early.reduced | reduced)


def _late_is_kept(early: Group, late: Group, ties: Mapping[int, int]) -> Group | None:
    """``late`` runs over the kept axes of ``early``: an epilogue."""
    if late.reduced or not early.reduced or (not ties and late.axes):
        return None
    renamed = _complete(early, late, ties, early.kept, range(len(late.axes)))
    return None if renamed is None else _joined(early, late, renamed, early.reduced)


def _early_is_kept(early: Group, late: Group, ties: Mapping[int, int]) -> Group | None:
    """``early`` runs over the kept axes of ``late``: what each row needs first."""
    if early.reduced or not late.reduced or (not ties and early.axes):
        return None
    renamed = _complete(late, early, {b: a for a, b in ties.items()}, late.kept, range(len(early.axes)))
    return None if renamed is None else _joined(late, early, renamed, late.reduced)


def _complete(
    base: Group, other: Group, ties: Mapping[int, int], base_axes: Sequence[int], other_axes: Sequence[int]
) -> dict[int, int] | None:
    """Axes of ``other`` in those of ``base``: as tied, the rest in order; sizes must agree."""
    if len(base_axes) != len(other_axes) or any(a not in base_axes or b not in other_axes for a, b in ties.items()):
        return None
    renamed = {b: a for a, b in ties.items()}
    free = [axis for axis in base_axes if axis not in ties]
    renamed.update(zip([axis for axis in other_axes if axis not in renamed], free, strict=True))
    if any(base.axes[a] != other.axes[b] for b, a in renamed.items()):
        return None
    return renamed


def _joined(base: Group, other: Group, renamed: Mapping[int, int], reduced: frozenset[int]) -> Group:
    places = dict(base.places)
    for unit, place in other.places.items():
        places[unit] = tuple(None if axis is None else renamed[axis] for axis in place)
    units = sorted(places, key=lambda unit: unit.number)
    return Group(base.axes, reduced, units, places)


def _is_sound(merged: Group, early: Group, late: Group, lowered: Lowered) -> bool:
    kept = set(merged.kept)
    for unit in merged.units:
        axes = {axis for axis in merged.places[unit] if axis is not None}
        if len(axes) != len(merged.axes) and (not merged.reduced or axes != kept or unit.kind == "reduce"):
            return False
    phases = merged.phases(lowered)
    if expects_chunks(merged, lowered) and any(phases[unit] for unit in merged.units if merged.covers_all(unit)):
        return False
    return _shares(early, late, lowered) and _keeps_memory_order(merged, lowered) and _keeps_warnings(merged, lowered)


def _shares(early: Group, late: Group, lowered: Lowered) -> bool:
    """Whether the groups read each other, or the same memory."""
    makers = set(early.units)
    if any(before in makers for unit in late.units for before in unit.before):
        return True
    sources = [
        {buffer(read.leaf) for unit in group.units for read in unit.reads if shaped(read.leaf)}
        for group in (early, late)
    ]
    return bool(sources[0] & sources[1])


def shaped(node: Node) -> bool:
    return bool(getattr(node.type, "shape", ()))


# Memory in one nest -----------------------------------------------------------------------------------------------
def read_access(lowered: Lowered, group: Group, unit: Unit, read: Read) -> Access | None:
    """Where in memory a read of a unit goes, over the group's axes; None when it is not in memory."""
    if buffer(read.leaf) not in lowered.memory or not unit.is_loop:
        return None
    place = lowered.place(read.view, read.view_index, unit.symbols)
    return in_group(place, unit, group)


def write_access(lowered: Lowered, group: Group, unit: Unit) -> Access | None:
    """Where a unit writes, over the group's axes."""
    if unit.memory is None:
        return None
    target = unit.target or unit.memory.whole
    index = unit.axes if unit.target else unit.result_index
    return in_group(access(unit.memory, target, index, unit.symbols, unit.dtype), unit, group)


def in_group(place: Access, unit: Unit, group: Group) -> Access:
    """An access over a unit's symbols, over the symbols of its group's axes."""
    renamed = {
        axis: AXES[number]
        for axis, number in zip(unit.axes, group.places[unit], strict=True)
        if isinstance(axis, Symbol) and number is not None
    }
    strides = tuple(sorted(((renamed[a], s) for a, s in place.strides), key=lambda item: item[0].name))
    rest = place.rest if isinstance(place.rest, int) else substitute(place.rest, dict[Expr, Size](renamed.items()))
    return replace(place, strides=strides, rest=rest)


def _keeps_memory_order(merged: Group, lowered: Lowered) -> bool:
    """Whether memory that the nest writes is otherwise read and written only at the same element of the same point."""
    writes: dict[Memory, list[tuple[Unit, Access]]] = {}
    for unit in merged.units:
        if unit.target is not None and (place := write_access(lowered, merged, unit)) is not None:
            writes.setdefault(place.memory, []).append((unit, place))
    if not writes:
        return True
    for unit in merged.units:
        place = write_access(lowered, merged, unit)
        others = writes.get(place.memory, ()) if place is not None else ()
        if any(place != other for _, other in others) and not all(_is_part(writer) for writer, _ in others):
            return False
        for read in unit.reads:
            others = writes.get(lowered.memory.get(buffer(read.leaf)), ())  # type: ignore[arg-type]
            place = read_access(lowered, merged, unit, read) if others else None
            if any(place != other or read.gathered or _is_part(writer) for writer, other in others):
                return False
    return True


def _is_part(unit: Unit) -> bool:
    """Whether the unit writes a part of a join: parts do not overlap, and only the whole is read."""
    return unit.node.target != "store"


def _keeps_warnings(merged: Group, lowered: Lowered) -> bool:
    """Whether nothing that may warn is overwritten unread: the C compiler would drop it, and what it raises."""
    writers = Counter(unit.memory for unit in merged.units if unit.memory is not None)
    if max(writers.values(), default=0) < 2:
        return True
    read = {read.leaf for unit in merged.units for read in unit.reads}
    written: dict[Access, Unit] = {}
    for unit in merged.units:
        place = write_access(lowered, merged, unit)
        if place is None or writers[place.memory] < 2:
            continue
        before = written.get(place)
        if before is not None and before.node not in read and _computes_what_may_warn(before.value, lowered):
            return False
        written[place] = unit
    return True


def _computes_what_may_warn(value: Any, lowered: Lowered) -> bool:
    """Whether a unit's value, or what is computed inside it, may warn."""
    stack, seen = [value], set()
    while stack:
        node = stack.pop()
        if not isinstance(node, Node) or node in seen:
            continue
        seen.add(node)
        if may_warn(node):
            return True
        stack.extend(operand for operand in node.inputs if operand not in lowered.unit_of)
    return False


# The shape of a nest ----------------------------------------------------------------------------------------------
def accesses(lowered: Lowered, group: Group) -> Iterator[tuple[Access, bool]]:
    """All accesses of a nest to memory, and whether they write; what its units read of each other is not in memory."""
    for unit in group.units:
        for read in unit.reads:
            maker = lowered.unit_of.get(read.leaf)
            if maker not in group.places and (place := read_access(lowered, group, unit, read)) is not None:
                yield place, False
        if (place := write_access(lowered, group, unit)) is not None:
            yield place, True


def lane_axis(lowered: Lowered, group: Group) -> int | None:
    """The axis along which most accesses find neighbours in memory: that of the innermost loop."""
    if not group.axes:
        return None
    votes = [0.0] * len(group.axes)
    for place, writes in accesses(lowered, group):
        sizes = [group.axes[AXES.index(axis)] for axis, _ in place.strides]
        weight = prod(size if isinstance(size, int) else UNKNOWN for size in sizes) * (1.5 if writes else 1.0)
        for axis, stride in place.strides:
            stride = lowered.hints.get(stride.name, 0) if isinstance(stride, Symbol) else stride
            if isinstance(stride, int) and stride:
                nearest = 2 if place.pair else 1
                votes[AXES.index(axis)] += weight if abs(stride) == nearest else 0.001 * weight / abs(stride)
    best = max(range(len(votes)), key=lambda axis: (votes[axis], axis))
    longer = [axis for axis, size in enumerate(group.axes) if not _is_at_most(size, LENGTHENED)]
    other = max(longer, key=lambda axis: (votes[axis], axis), default=best)
    walks_again = other in group.reduced and best not in group.reduced  # all of the memory, for each result
    return other if _is_at_most(group.axes[best], FEW_ROWS if walks_again else SHORT) else best


def _is_at_most(size: Size, limit: int) -> bool:
    return isinstance(size, int) and size <= limit


_NO_FACTS = Facts()


def chunked_where(group: Group, lowered: Lowered) -> tuple[Relation, ...] | None:
    """Where the reduced axes are cut into chunks, whose results are combined by a second function: what must be true of
    the sizes of a call; None if they never are.
    """
    if not group.reduced or group.is_walk:
        return None
    rows = product(group.axes[axis] for axis in group.kept)
    few = FEW_ROWS if lane_axis(lowered, group) in group.reduced else FEW_LANES
    wanted = (le(LONG, product(group.axes[axis] for axis in group.reduced)), lt(rows, few))
    verdicts = [_NO_FACTS.decide(relation) for relation in wanted]  # by the bounds of symbols
    if False in verdicts or (isinstance(rows, int) and not rows):
        return None
    return tuple(relation for relation, verdict in zip(wanted, verdicts, strict=True) if verdict is None)


def expects_chunks(group: Group, lowered: Lowered) -> bool:
    """Whether it pays to have the reduced axes cut into chunks: a size that is open is taken for a large one."""
    where = chunked_where(group, lowered)
    return where is not None and all(isinstance(group.axes[axis], int) for axis in group.kept)
