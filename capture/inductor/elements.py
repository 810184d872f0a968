"""Element expressions: what the units of a group compute at one point of their nest.

In: a group of the schedule. Out: ``Elements``: the values of the loop language, the reductions over them, and what goes
where::

    elements = Elements(group, schedule)
    elements.run()                      # elements.builder.values, .reductions, .writes
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np

from capture.inductor.costs import loop_dtypes
from capture.inductor.halving import halve
from capture.inductor.loops import Access, Builder, Carry, Reduction, Value, access
from capture.inductor.lower import Unit
from capture.inductor.overlap import shape_of, view_of
from capture.inductor.points import Index, broadcast_index, operand_points, scatter_points, source_index
from capture.inductor.reach import unproved
from capture.inductor.schedule import Group, Schedule
from capture.inductor.vocabulary import BOOL_DTYPE, CELLS, HALF, SINGLE, cell, literal
from capture.ir.complexes import CELLS as ALL_PARTS
from capture.ir.complexes import PARTS
from capture.ir.graph import Node, buffer, root
from capture.ir.op import TALLY, Gather, Pack, Pointwise, Reduce, Scan, Search, Strided
from capture.ir.ops.gathering import is_outside
from capture.ir.ops.mutation import finds_nan_invalid, ufunc_of
from capture.ir.passes.index_range import index_range
from capture.ir.passes.warnings import QUIET
from capture.ir.shapes import Size, Symbol, modulo
from capture.records import dataclass

INT64 = np.dtype(np.int64)

STARTS = {"add": -0.0, "multiply": 1}
"""What sums and products start with; -0.0 is the zero that changes nothing."""


@dataclass(eq=False, slots=True)
class Write:
    """``value`` goes to ``place`` in pass ``phase``: in its loop, or before it if it has no inner axis. ``places`` are
    those that are computed, along ``place.steps``; with ``until``, all from there up to it are written. ``walked`` are
    axes that it is repeated over, as often as they have elements, though it be to one place."""

    place: Access
    value: Value
    unit: Unit
    phase: int = 0
    places: tuple[Value, ...] = ()
    until: Value | None = None
    walked: frozenset[Symbol] = frozenset()

    @property
    def axes(self) -> frozenset[Symbol]:
        return self.place.axes.union(self.walked, *(place.axes for place in self.places))

    @property
    def needs(self) -> tuple[Value, ...]:
        """All values that the write takes."""
        return (self.value, *self.places, *((self.until,) if self.until is not None else ()))


Point = tuple[Node, Index]


class Elements:
    """The expressions of all units of a group, at one point of the nest."""

    def __init__(self, group: Group, schedule: Schedule) -> None:
        self.group, self.schedule, self.lowered = group, schedule, schedule.lowered
        sizes = enumerate(group.axes)
        self.symbols = [Symbol(f"i{n}", 0, max(s - 1, 0) if isinstance(s, int) else None) for n, s in sizes]
        self.axes = frozenset(self.symbols)
        self.builder = Builder(axes=self.axes, exact=self.lowered.exact)
        self.reductions: list[Reduction] = []
        self.totals: dict[Unit, Value] = {}
        self.writes: list[Write] = []
        self.made = {unit.node: unit for unit in group.units if unit.target is None}
        self.stored = {unit.node: unit for unit in group.units if unit.target is not None}
        self.points: dict[Node, dict[Index, None]] = {}
        self.results: dict[Point, Value] = {}
        self.versions: dict[Node, Value] = {}
        self.queue: list[tuple[int, int, Node]] = []

    def run(self) -> None:
        for unit in self.group.units:
            for point in self.starts(unit):
                self.demand(*point)
        order = self.spread()
        pending = list(self.group.units)
        position = self.lowered.order
        for node in order:
            while pending and (
                position[pending[0].node] < position[node] or (self.is_given(node) and pending[0].node is node)
            ):
                self.finish(pending.pop(0))
            for index in self.points[node]:
                self.results[node, index] = self.evaluate(node, index)
        for unit in pending:
            self.finish(unit)

    def index_of(self, unit: Unit) -> Index:
        """The point of the nest as an index into the unit's domain."""
        return tuple(0 if axis is None else self.symbols[axis] for axis in self.group.places[unit])

    def starts(self, unit: Unit) -> Iterator[Point]:
        index = self.index_of(unit)
        if unit.kind == "pack":
            for operand in unit.node.args:
                yield operand, index
        elif unit.kind == "scan":
            (operand,) = unit.node.args
            yield operand, broadcast_index(index, unit.domain, shape_of(operand))
        elif unit.kind == "scatter":
            yield from scatter_points(unit, index)
        elif isinstance(unit.value, Node):
            if unit.target is not None:
                index = broadcast_index(index, unit.domain, shape_of(unit.value))
            yield unit.value, index

    def demand(self, value: Any, index: Index) -> None:
        if isinstance(value, Node):
            if value not in self.points:
                self.points[value] = {}
                heappush(self.queue, (-self.lowered.order[value], 0, value))
            self.points[value][index] = None

    def spread(self) -> list[Node]:
        """Carry demands from the last node to the first; the nodes to evaluate, first to last."""
        order: list[Node] = []
        while self.queue:
            node = heappop(self.queue)[-1]
            order.append(node)
            if not self.is_loaded(node) and not self.is_given(node):
                for index in self.points[node]:
                    for operand, below in self.operands(node, index):
                        self.demand(operand, below)
        order.reverse()
        return order

    def is_given(self, node: Node) -> bool:
        """Whether another unit of the nest makes the value: a reduction, or a store that is read again."""
        return node in self.stored or (node in self.made and self.made[node].kind == "reduce")

    def is_loaded(self, node: Node) -> bool:
        owner = root(node)
        if owner in self.made or (owner in self.stored and owner.target == "store"):
            return False
        return buffer(owner) in self.lowered.memory

    def operands(self, node: Node, index: Index) -> Iterator[Point]:
        if node.op.is_view:
            operand = node.args[0]
            if root(node) in self.stored:
                yield root(node), ()
            else:
                yield operand, tuple(view_of(node.op).index(index, operand.type.shape, **node.params))
            return
        yield from operand_points(node, index)

    def evaluate(self, node: Node, index: Index) -> Value:
        builder = self.builder
        if node in self.stored:
            return self.versions[node]
        if node in self.made and self.made[node].kind == "reduce":
            return self.totals[self.made[node]]
        if self.is_loaded(node):
            return self.load(node, self.lowered.place(node, index, self.axes))
        if node.op.is_view:
            ((operand, below),) = self.operands(node, index)
            value = self.results[operand, below]
            return self.part(node, index, value) if value.op == "complex" else builder.bits(value, node.type.dtype)
        return self.element(node, index)

    def part(self, node: Node, index: Index, value: Value) -> Value:
        """What a view shows of a complex number."""
        if node.target != ALL_PARTS:
            return value.args[PARTS[node.target]] if node.target in PARTS else value
        is_real = self.builder.equal(self.builder.position(modulo(index[-1], 2)), 0)
        return self.builder.where(is_real, *value.args)

    def load(self, node: Node, place: Access, *places: Value) -> Value:
        """An element of a node that is in memory, which may hold it under another dtype."""
        return self.builder.load(place, *places, dtype=node.type.dtype)

    def element(self, node: Node, index: Index) -> Value:
        builder, lowering = self.builder, node.op.lower
        builder.node = node
        if isinstance(lowering, Search):
            return self.searched(node, index)
        if isinstance(lowering, Gather):
            return self.gathered(node, index)
        if isinstance(lowering, Reduce):
            return self.alone(node, *(self.results[point] for point in operand_points(node, index)))
        assert isinstance(lowering, Pointwise)
        builder.node = None if QUIET in node.op.tags else node
        builder.index_of = index.__getitem__
        builder.still = tuple(not (isinstance(operand, Node) and shape_of(operand)) for operand in node.args)
        dtypes = loop_dtypes(node) if node.args else ()
        operands = [
            self.operand(operand, broadcast_index(index, shape_of(node), shape_of(operand)), dtype)
            if isinstance(operand, Node)
            else builder.constant(operand, dtype)
            for operand, dtype in zip(node.args, dtypes, strict=True)
        ]
        value = builder.cast(lowering.element(builder, *operands, **node.params), node.type.dtype)
        return named(value, node.name)

    def gathered(self, node: Node, index: Index) -> Value:
        """The element at computed places; places below zero count from the end."""
        source, *indices = node.args
        axes, shape = node.params["axes"], shape_of(source)
        below = source_index(node, index, at=lambda axis: 0)
        place = self.lowered.place(source, below, self.axes)
        strides = self.lowered.strided(source).strides
        points = list(operand_points(node, index))
        maybe_outside = unproved(node)
        places = [
            self.wrapped(number, self.results[point], shape[axis], number in maybe_outside)
            for number, point, axis in zip(indices, points, axes, strict=True)
        ]
        return named(self.load(source, place.with_steps([strides[axis] for axis in axes]), *places), node.name)

    def searched(self, node: Node, index: Index) -> Value:
        """How many elements come before what is looked for: the places that may be right are halved in each step."""
        source, wanted = node.args
        builder = self.builder
        place = self.lowered.place(source, source_index(node, index, at=lambda axis: 0), self.axes)
        place = place.with_steps(self.lowered.strided(source).strides)
        ((_, point),) = operand_points(node, index)
        value, size = self.results[wanted, point], shape_of(source)[0]
        found = halve(builder, lambda at: self.load(source, place, at), value, size, **node.params)
        return named(found, node.name)

    def wrapped(self, index: Node, value: Value, size: Size, maybe_outside: bool = False) -> Value:
        """The place that is meant; the first one if there is none, and the test that tells may come later."""
        builder = self.builder
        value = builder.cast(value, INT64)
        known = index_range(index)
        found = value
        if known is None or known[0] < 0:
            is_below = builder.less(value, 0)
            found = builder.where(is_below, builder.add(value, builder.position(size)), value)
        return builder.where(is_outside(builder, value, size), 0, found) if maybe_outside else found

    def alone(self, node: Node, value: Value) -> Value:
        """The reduction of a single element."""
        builder, lowering, dtype = self.builder, node.op.lower, node.type.dtype
        assert isinstance(lowering, Reduce)
        if lowering.combine.startswith("arg"):
            return builder.constant(0, dtype)
        if lowering.prepare is not None:
            value = lowering.prepare(builder, value, **node.params)
        value = builder.cast(value, dtype)
        if lowering.combine == "add" and dtype.kind in "fc":
            return builder.add(value, builder.constant(0, dtype))  # sums start from zero: that of -0.0 is 0.0
        return value

    def operand(self, value: Node, index: Index, dtype: np.dtype) -> Value:
        return self.builder.cast(self.results[value, index], dtype)

    def value_of(self, unit: Unit) -> Value:
        for point in self.starts(unit):
            return self.results[point]
        assert unit.memory is not None
        return self.builder.constant(unit.value, unit.dtype)

    def finish(self, unit: Unit) -> None:
        """All operands of the unit are there: combine or write its value."""
        walk = {"pack": self.pack, "scatter": self.scatter, "scan": self.scan}.get(unit.kind)
        if walk is not None:
            walk(unit)
            return
        value, builder = self.value_of(unit), self.builder
        builder.node = unit.node
        if unit.kind == "reduce":
            value = self.reduce(unit, value)
        elif unit.memory is not None and unit.target is not None:
            value = self.versions[unit.node] = builder.bits(builder.cast(value, unit.dtype), cell_of(unit))
        if unit.memory is not None:
            target = unit.target or unit.memory.whole
            index = self.index_of(unit)
            if unit.target is None and unit.kind == "reduce":
                positions = dict(zip(unit.axes, index, strict=True))
                index = tuple(0 if isinstance(axis, int) else positions[axis] for axis in unit.result_index)
            self.write(access(unit.memory, target, index, self.axes, unit.dtype), value, unit)

    def write(
        self, place: Access, value: Value, unit: Unit, places: tuple[Value, ...] = (), until: Value | None = None
    ) -> None:
        parts = value.args if place.pair else (value,)
        walked = self.walked(unit)
        for cells, part in zip(place.parts, parts, strict=True):
            self.writes.append(Write(cells, part, unit, places=places, until=until, walked=walked))

    def walked(self, unit: Unit) -> frozenset[Symbol]:
        """The axes over which a unit may write to one place again and again."""
        return frozenset(axis for axis in self.index_of(unit) if isinstance(axis, Symbol) and unit.kind == "scatter")

    def pack(self, unit: Unit) -> None:
        """Write each element where the next true one goes, which stays if it is the true one itself; or as often as
        its count says, as far as there is memory."""
        builder, memory, lowering = self.builder, unit.memory, unit.node.op.lower
        builder.node = unit.node
        assert memory is not None and isinstance(lowering, Pack)
        *values, mask = [self.results[point] for point in self.starts(unit)]
        carry = Carry("0", memory.shape[0])
        place = builder.carried(carry, INT64)
        place.label = f"{unit.node.name}_place"
        count = mask if lowering.repeats else builder.cast(mask, BOOL_DTYPE)
        carry.next = builder.add(place, builder.cast(count, INT64))
        until = builder.minimum(carry.next, builder.position(memory.shape[0])) if lowering.repeats else None
        if unit.node.target in ("nonzero", "spread_places"):
            values = [builder.position(axis) for axis in self.index_of(unit)]
        for column, value in enumerate(values):
            target = access(memory, Strided(column, (), ()), (), self.axes).with_steps(memory.strides[:1])
            self.write(target, value, unit, (place,), until)

    def scan(self, unit: Unit) -> None:
        """Combine each element with what was made of all before it."""
        builder, memory, lowering = self.builder, unit.memory, unit.node.op.lower
        assert memory is not None and unit.target is not None and isinstance(lowering, Scan)
        number, is_pair = cell(memory.dtype), memory.dtype in CELLS
        carries = [Carry(literal(start_of(lowering.combine, number), number)) for _ in range(2 if is_pair else 1)]
        befores = [builder.carried(carry, number) for carry in carries]
        before = named(builder.complex(*befores) if is_pair else befores[0], f"{unit.node.name}_before")
        (point,) = self.starts(unit)
        builder.node = unit.node
        following = getattr(builder, lowering.combine)(before, builder.cast(self.results[point], memory.dtype))
        for carry, part in zip(carries, following.args if is_pair else (following,), strict=True):
            carry.next = part
        self.write(access(memory, unit.target, self.index_of(unit), self.axes), following, unit)

    def scatter(self, unit: Unit) -> None:
        """Write an element to computed places, or combine it with what is there."""
        builder, memory, target = self.builder, unit.memory, unit.target
        assert memory is not None and target is not None
        axes, combine = unit.node.params["axes"], unit.node.params["combine"]
        _, value, *indices = unit.node.args
        found = [self.results[point] for point in self.starts(unit)]
        value = found.pop(0) if isinstance(value, Node) else builder.constant(value, unit.dtype)
        sizes = [target.shape[axis] for axis in axes]
        each = zip(indices, found, sizes, strict=True)
        places = tuple(builder.cast(x, INT64) if combine == TALLY else self.wrapped(i, x, size) for i, x, size in each)
        rest = iter(self.index_of(unit)[len(unit.domain) - (len(target.shape) - len(axes)) :])
        below = tuple(0 if axis in axes else next(rest) for axis in range(len(target.shape)))
        place = access(memory, target, below, self.axes, unit.dtype).with_steps([target.strides[axis] for axis in axes])
        builder.node = None if combine == TALLY else unit.node
        value = builder.cast(value, unit.dtype)
        if combine:
            before = builder.load(place, *places, walked=self.walked(unit), dtype=unit.dtype)
            if finds_nan_invalid(unit.node):
                before, value = builder.known(before), builder.known(value)
            value = getattr(builder, ufunc_of(combine))(before, value)
        self.write(place, builder.bits(value, cell_of(unit)), unit, places)

    def reduce(self, unit: Unit, value: Value) -> Value:
        lowering = unit.node.op.lower
        assert isinstance(lowering, Reduce)
        builder, dtype = self.builder, unit.node.type.dtype
        if lowering.prepare is not None:
            value = lowering.prepare(builder, value, **unit.node.params)
        else:
            value = builder.cast(value, dtype)
        position: Size = 0
        for dim, axis in enumerate(self.index_of(unit)):
            if dim in unit.reduced:
                position = position * unit.domain[dim] + axis
        if value.dtype == HALF:
            value = builder.cast(value, SINGLE)
        kept = frozenset(self.symbols[axis] for axis in self.group.kept)
        totals = []
        for element in value.args if value.op == "complex" else (value,):
            working = SINGLE if dtype == HALF else cell(dtype)
            reduction = Reduction(len(self.reductions), lowering.combine, element, working, unit.node, position)
            self.reductions.append(reduction)
            reduction.kept = named(builder.kept(reduction, kept), unit.node.name)
            totals.append(reduction.kept)
        total = builder.complex(*totals) if value.op == "complex" else totals[0]
        self.totals[unit] = builder.cast(total, dtype)  # wider while it is computed where that is float16
        return self.totals[unit]


def cell_of(unit: Unit) -> np.dtype:
    """What a unit's memory holds of what it writes."""
    assert unit.memory is not None
    return unit.dtype if unit.dtype in CELLS else cell(unit.memory.dtype)


def start_of(combine: str, dtype: np.dtype) -> Any:
    """What a scan starts with, so that the first element comes out as it is."""
    if combine in STARTS:
        return STARTS[combine]
    lowest = combine == "maximum"
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    if dtype.kind == "b":
        return not lowest
    limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


def named(value: Value, name: str) -> Value:
    """The value, called after the node whose element it is, unless it has a name already."""
    for part in value.args if value.op == "complex" else (value,):
        part.label = part.label or name
    return value
