"""From a group of units to a loop nest: element expressions, the order of the loops, and what each pass computes.

In: a group of the schedule. Out: a ``Nest``: outer axes, inner axes, and for each pass over the inner axes the
values it computes, what it combines and what it writes. A nest has one of these forms:

* *map*: nothing is reduced; the last axis is the inner loop. Where memory allows, all axes become one flat loop.
* *rows*: the innermost axis in memory is reduced. For each row (a point of the kept axes): passes over the row, and
  between them computations on numbers.
* *columns*: the innermost axis in memory is kept. For each block of neighbouring columns (*lanes*): passes over the
  reduced axes, each step of which works on a whole block.

A pass needs what earlier passes computed: cheap values are computed again, dear ones (``exp``) are saved.

What depends on how large things are (chunks of long reductions, whether a row fits the cache) is a constant where sizes
are known. Where they are open it is a symbol of the nest, for which each call chooses a value: ``Nest.chosen``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from capture.inductor.halving import halve
from capture.inductor.loops import Access, Builder, Carry, Memory, Reduction, Value, access
from capture.inductor.lower import Lowered, Unit, loop_dtypes
from capture.inductor.overlap import shape_of, view_of
from capture.inductor.points import Index, broadcast_index, operand_points, scatter_points, source_index
from capture.inductor.schedule import Group, Schedule, chunked_where, lane_axis
from capture.inductor.vocabulary import BOOL_DTYPE, DEAR, HALF, SINGLE, literal
from capture.ir.graph import Node, buffer, root
from capture.ir.op import Gather, Pointwise, Reduce, Scan, Search
from capture.ir.passes.index_range import index_range
from capture.ir.passes.warnings import QUIET
from capture.ir.shapes import Expr, Relation, Size, Symbol, evaluate, le, maximum, minimum, product
from capture.ir.types import Layout, keep_order

INT64 = np.dtype(np.int64)

STARTS = {"add": -0.0, "multiply": 1}
"""What a scan starts with, so that the first element comes out as it is; -0.0 is the zero that changes nothing."""

TILE = 4096
"""Elements between two looks at the floating-point status; what one call of a flat loop's body works on."""

CROSSING, CONFLICTING = (16, 512), (16, 16)
"""Steps of the outer and of the inner axis in one tile, where memory is read across, so that its lines and pages stay
near: less of the inner axis where the lines compete for the same places in the cache."""

PERIOD = 1024
"""Bytes at multiples of which lines compete."""


CHUNK = 1 << 15
"""Elements of one chunk of a long reduction: a fixed number, so that results do not depend on the threads."""

BLOCK = 512
"""Columns of one block: fewer would read too little of each page, more would leave threads without work."""

MOST_SAVED = 1 << 16
"""Elements of a row up to which its dear values are saved; beyond that the row would leave the cache anyway."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop of the nest: its symbol in accesses, and how often it runs."""

    symbol: Symbol
    size: Size


@dataclass(frozen=True, slots=True)
class Choice:
    """A number that each call chooses by its sizes: ``value`` where all relations hold, else ``otherwise``."""

    value: Size
    where: tuple[Relation, ...] = ()
    otherwise: Size = 0

    @property
    def sizes(self) -> tuple[Size, ...]:
        return (self.value, self.otherwise, *(size for test in self.where for size in (test.left, test.right)))


@dataclass(eq=False, slots=True)
class Write:
    """``value`` goes to ``place`` in pass ``phase``: in its loop, or before it if it has no inner axis. ``places`` are
    those that are computed, along ``place.steps``."""

    place: Access
    value: Value
    unit: Unit
    phase: int = 0
    places: tuple[Value, ...] = ()

    @property
    def axes(self) -> frozenset[Symbol]:
        return self.place.axes.union(*(place.axes for place in self.places))


@dataclass(eq=False)
class Nest:
    """One loop nest over the data, ready to be rendered."""

    name: str
    group: Group
    form: str  # map, rows or columns
    outer: list[Axis]
    lanes: Axis | None
    inner: list[Axis]
    values: list[Value]
    reductions: list[Reduction]
    writes: list[Write]
    chunk: Size = 0  # steps of the first inner axis in one chunk; 0 where the inner axes stay whole
    chunks: Size = 1
    tile: int = 0  # the same of the last inner axis, where a map walks two axes in tiles
    batch: Size = 1  # outer iterations between two looks at the floating-point status
    width: int = 0  # lanes of one block
    saved: dict[Value, int] = field(default_factory=dict)  # values kept for later passes, and the pass that keeps them
    saves: Size = 1  # whether they are kept
    carried: list[Value] = field(default_factory=list)  # variables that go from step to step of a walk
    chosen: dict[Symbol, Choice] = field(default_factory=dict)

    def choose(self, what: str, choice: Choice, low: int = 0) -> Size:
        """The number, or a symbol for what each call chooses, which is ``low`` at least."""
        if isinstance(choice.value, int) and not choice.where:
            return choice.value
        symbol = Symbol(f"{self.name}_{what}", low)
        self.chosen[symbol] = choice
        return symbol

    @property
    def forms(self) -> list[str]:
        """What is chosen and mostly 1."""
        return [size.name for size in (self.chunks, self.saves) if isinstance(size, Symbol)]

    @property
    def units(self) -> list[Unit]:
        return self.group.units

    @property
    def phases(self) -> int:
        """How many passes over the inner axes there are."""
        last = [reduction.phase for reduction in self.reductions]
        last += [max(write.phase, write.value.phase) for write in self.writes if self.in_loop(write)]
        return max(last, default=-1) + 1

    @property
    def inner_symbols(self) -> frozenset[Symbol]:
        return frozenset(axis.symbol for axis in self.inner)

    def is_inner(self, value: Value) -> bool:
        """Whether the value differs between steps of the inner loops."""
        return bool(value.axes & self.inner_symbols)

    @property
    def is_split(self) -> bool:
        """Whether the reductions of the nest are made in chunks and combined later, at least in some calls."""
        return bool(self.reductions) and self.has_chunks

    @property
    def may_be_whole(self) -> bool:
        """Whether there are calls with one chunk only, which needs no combining."""
        return self.is_split and not isinstance(self.chunks, int)

    @property
    def has_chunks(self) -> bool:
        return isinstance(self.chunk, Expr) or self.chunk > 0

    @property
    def raises(self) -> bool:
        return any(value.node is not None for value in self.values) or any(r.may_raise for r in self.reductions)

    @property
    def overwritten(self) -> list[Memory]:
        """Memory that the nest both reads and writes."""
        written = {write.place.memory for write in self.writes}
        return list(dict.fromkeys(v.data.memory for v in self.values if v.op == "load" and v.data.memory in written))

    def needed(self, roots: Iterable[Value], phase: int) -> list[Value]:
        """What a pass computes for ``roots``, in order: all inner values but those saved by an earlier pass."""
        found: dict[Value, None] = {}
        stack = list(roots)
        while stack:
            value = stack.pop()
            if value in found or not self.is_inner(value):
                continue
            found[value] = None
            if self.saved.get(value, phase) >= phase or isinstance(self.saves, Symbol):
                stack.extend(value.args)
        return sorted(found, key=lambda value: value.number)

    def roots(self, phase: int) -> list[Value]:
        """What pass ``phase`` is for."""
        combined = [reduction.element for reduction in self.reductions if reduction.phase == phase]
        written = [write.value for write in self.writes if write.phase == phase and self.in_loop(write)]
        places = [p for write in self.writes if write.phase == phase and self.in_loop(write) for p in write.places]
        return combined + written + places + [value.data.next for value in self.carried]

    def in_loop(self, write: Write) -> bool:
        return bool(write.axes & self.inner_symbols)


def build_nest(name: str, group: Group, schedule: Schedule) -> Nest:
    elements = _Elements(group, schedule)
    elements.run()
    nest = _arrange(name, group, schedule.lowered, elements)
    _collapse(nest)
    _set_phases(nest)
    _cut(nest, schedule.lowered)
    _save_dear(nest)
    return nest


# Element expressions ----------------------------------------------------------------------------------------------
Point = tuple[Node, Index]


class _Elements:
    """The expressions of all units of a group, at one point of the nest."""

    def __init__(self, group: Group, schedule: Schedule) -> None:
        self.group, self.schedule, self.lowered = group, schedule, schedule.lowered
        sizes = enumerate(group.axes)
        self.symbols = [Symbol(f"i{n}", 0, max(s - 1, 0) if isinstance(s, int) else None) for n, s in sizes]
        self.axes = frozenset(self.symbols)
        self.builder = Builder(axes=self.axes)
        self.reductions: dict[Unit, Reduction] = {}
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
        if node in self.stored:
            return self.versions[node]
        if node in self.made and self.made[node].kind == "reduce":
            reduction = self.reductions[self.made[node]]
            return self.total(reduction)
        if self.is_loaded(node):
            return self.builder.load(self.lowered.place(node, index, self.axes))
        if node.op.is_view:
            ((operand, below),) = self.operands(node, index)
            return self.results[operand, below]
        return self.element(node, index)

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
        dtypes = loop_dtypes(node) if node.args else ()
        operands = [
            self.operand(operand, broadcast_index(index, node.type.shape, shape_of(operand)), dtype)
            if isinstance(operand, Node)
            else builder.constant(operand, dtype)
            for operand, dtype in zip(node.args, dtypes, strict=True)
        ]
        value = builder.cast(lowering.element(builder, *operands, **node.params), node.type.dtype)
        value.label = value.label or node.name
        return value

    def gathered(self, node: Node, index: Index) -> Value:
        """The element at computed places; places below zero count from the end."""
        source, *indices = node.args
        axes, shape = node.params["axes"], shape_of(source)
        below = source_index(node, index, at=lambda axis: 0)
        place = self.lowered.place(source, below, self.axes)
        strides = self.lowered.strided(source).strides
        points = list(operand_points(node, index))
        places = [
            self.wrapped(number, self.results[point], shape[axis])
            for number, point, axis in zip(indices, points, axes, strict=True)
        ]
        value = self.builder.load(replace(place, steps=tuple(strides[axis] for axis in axes)), *places)
        value.label = value.label or node.name
        return value

    def searched(self, node: Node, index: Index) -> Value:
        """How many elements come before what is looked for: the places that may be right are halved in each step."""
        source, wanted = node.args
        builder, size = self.builder, shape_of(source)[0]
        place = self.lowered.place(source, source_index(node, index, at=lambda axis: 0), self.axes)
        place = replace(place, steps=self.lowered.strided(source).strides)
        ((_, point),) = operand_points(node, index)
        value, count = self.results[wanted, point], builder.position(size)
        found = halve(builder, lambda at: builder.load(place, at), value, count, **node.params)
        found.label = found.label or node.name
        return found

    def wrapped(self, index: Node, value: Value, size: Size) -> Value:
        builder = self.builder
        value = builder.cast(value, INT64)
        known = index_range(index)
        if known is not None and known[0] >= 0:
            return value
        is_below = builder.less(value, 0)
        return builder.where(is_below, builder.add(value, builder.position(size)), value)

    def alone(self, node: Node, value: Value) -> Value:
        """The reduction of a single element."""
        builder, lowering, dtype = self.builder, node.op.lower, node.type.dtype
        assert isinstance(lowering, Reduce)
        if lowering.combine.startswith("arg"):
            return builder.constant(0, dtype)
        if lowering.prepare is not None:
            value = lowering.prepare(builder, value, **node.params)
        value = builder.cast(value, dtype)
        if lowering.combine == "add" and dtype.kind == "f":
            return builder.add(value, builder.constant(0, dtype))  # sums start from zero: that of -0.0 is 0.0
        return value

    def operand(self, value: Node, index: Index, dtype: np.dtype) -> Value:
        return self.builder.cast(self.results[value, index], dtype)

    def value_of(self, unit: Unit) -> Value:
        for point in self.starts(unit):
            return self.results[point]
        assert unit.memory is not None
        return self.builder.constant(unit.value, unit.memory.dtype)

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
            value = self.versions[unit.node] = builder.cast(value, unit.memory.dtype)
        if unit.memory is not None:
            target = unit.target or unit.memory.whole
            index = self.index_of(unit)
            if unit.target is None and unit.kind == "reduce":
                positions = dict(zip(unit.axes, index, strict=True))
                index = tuple(0 if isinstance(axis, int) else positions[axis] for axis in unit.result_index)
            self.writes.append(Write(access(unit.memory, target, index, self.axes), value, unit))

    def pack(self, unit: Unit) -> None:
        """Write each element where the next true one goes, which stays if it is the true one itself."""
        builder, memory = self.builder, unit.memory
        builder.node = unit.node
        assert memory is not None
        *values, mask = [self.results[point] for point in self.starts(unit)]
        carry = Carry("0", memory.shape[0])
        place = builder.carried(carry, INT64)
        place.label = f"{unit.node.name}_place"
        carry.next = builder.add(place, builder.cast(builder.cast(mask, BOOL_DTYPE), INT64))
        if unit.node.target == "nonzero":
            values = [builder.position(axis) for axis in self.index_of(unit)]
        for column, value in enumerate(values):
            self.writes.append(Write(Access(memory, column, (), 0, memory.strides[:1]), value, unit, places=(place,)))

    def scan(self, unit: Unit) -> None:
        """Combine each element with what was made of all before it."""
        builder, memory, lowering = self.builder, unit.memory, unit.node.op.lower
        assert memory is not None and unit.target is not None and isinstance(lowering, Scan)
        carry = Carry(literal(STARTS[lowering.combine], memory.dtype))
        before = builder.carried(carry, memory.dtype)
        before.label = f"{unit.node.name}_before"
        (point,) = self.starts(unit)
        builder.node = unit.node
        carry.next = getattr(builder, lowering.combine)(before, builder.cast(self.results[point], memory.dtype))
        place = access(memory, unit.target, self.index_of(unit), self.axes)
        self.writes.append(Write(place, carry.next, unit))

    def scatter(self, unit: Unit) -> None:
        """Write an element to computed places, or combine it with what is there."""
        builder, memory, target = self.builder, unit.memory, unit.target
        assert memory is not None and target is not None
        axes, combine = unit.node.params["axes"], unit.node.params["combine"]
        _, value, *indices = unit.node.args
        found = [self.results[point] for point in self.starts(unit)]
        value = found.pop(0) if isinstance(value, Node) else builder.constant(value, memory.dtype)
        sizes = [target.shape[axis] for axis in axes]
        places = tuple(self.wrapped(*each) for each in zip(indices, found, sizes, strict=True))
        rest = iter(self.index_of(unit)[len(unit.domain) - (len(target.shape) - len(axes)) :])
        below = tuple(0 if axis in axes else next(rest) for axis in range(len(target.shape)))
        place = access(memory, target, below, self.axes)
        place = replace(place, steps=tuple(target.strides[axis] for axis in axes))
        builder.node = unit.node
        value = builder.cast(value, memory.dtype)
        if combine:
            value = getattr(builder, combine)(builder.load(place, *places), value)
        self.writes.append(Write(place, value, unit, places=places))

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
        working = SINGLE if dtype == HALF else dtype
        reduction = Reduction(len(self.reductions), lowering.combine, value, working, unit.node, position)
        self.reductions[unit] = reduction
        kept = frozenset(self.symbols[axis] for axis in self.group.kept)
        reduction.kept = builder.kept(reduction, kept)
        reduction.kept.label = unit.node.name
        return self.total(reduction)

    def total(self, reduction: Reduction) -> Value:
        """The result of a reduction, which is wider while it is computed where that is float16."""
        assert reduction.kept is not None
        builder, before = self.builder, self.builder.node
        builder.node = reduction.node
        value = builder.cast(reduction.kept, reduction.node.type.dtype)
        builder.node = before
        return value


# The order of the loops -------------------------------------------------------------------------------------------
def _arrange(name: str, group: Group, lowered: Lowered, elements: _Elements) -> Nest:
    axes = [Axis(symbol, size) for symbol, size in zip(elements.symbols, group.axes, strict=True)]
    values = elements.builder.values
    order, lane = axes, len(axes) - 1 if axes else None
    if not group.is_walk or len(group.reduced) < len(axes):
        order = [axes[number] for number in _loop_order(axes, values, elements.writes, lowered)]
        lane = lane_axis(lowered, group)
    last = None if lane is None else axes[lane]
    reduced = [axis for axis in order if axes.index(axis) in group.reduced]
    kept = [axis for axis in order if axis not in reduced]
    lanes = None
    if not group.reduced:
        form, inner = "map", [last] if last else []
        outer = [axis for axis in kept if axis is not last]
    elif last in reduced:
        form, outer, inner = "rows", kept, [*(axis for axis in reduced if axis is not last), last]  # type: ignore[list-item]
    else:
        form, outer, inner, lanes = "columns", [axis for axis in kept if axis is not last], reduced, last
    reductions = list(elements.reductions.values())
    carried = [value for value in values if value.op == "carried"]
    return Nest(name, group, form, outer, lanes, inner, values, reductions, elements.writes, carried=carried)  # type: ignore[arg-type]


def _loop_order(
    axes: Sequence[Axis], values: Sequence[Value], writes: Sequence[Write], lowered: Lowered
) -> tuple[int, ...]:
    """Outermost first, as NumPy's iterator nests the axes of these operands: what is written counts first."""
    places = [write.place for write in writes] + [value.data for value in values if value.op == "load"]
    layouts = []
    for place in places:
        strides = [abs(_hint(place.stride(axis.symbol), lowered)) for axis in axes]
        steps = sorted({stride for stride in strides if stride})
        ranks = tuple(steps.index(stride) + 1 if stride else 0 for stride in strides)
        layouts.append(Layout(ranks, False, False))
    return keep_order(layouts, len(axes))


def _hint(size: Size, lowered: Lowered) -> int:
    if isinstance(size, int):
        return size
    names = {symbol.name: 1000 for symbol in size.symbols}
    return evaluate(size, names | {key: value for key, value in lowered.hints.items() if key in names})


def _collapse(nest: Nest) -> None:
    """Make one loop of neighbouring loops over which every access moves as over one."""
    single = {s for value in nest.values if value.op == "index" for s in value.axes}
    places = [write.place for write in nest.writes] + [value.data for value in nest.values if value.op == "load"]
    for place in places:
        if isinstance(place.rest, Expr):
            single |= place.rest.symbols
    ordered = any(reduction.combine.startswith("arg") for reduction in nest.reductions)
    if nest.form == "map":
        axes = _merge_axes(nest, [*nest.outer, *nest.inner], places, single)
        nest.outer, nest.inner = axes[:-1], axes[-1:]
    else:
        nest.outer = _merge_axes(nest, nest.outer, places, single)
        if not ordered:
            nest.inner = _merge_axes(nest, nest.inner, places, single)


def _merge_axes(nest: Nest, axes: list[Axis], places: list[Access], single: set[Symbol]) -> list[Axis]:
    if not axes:
        return axes
    merged = [axes[0]]
    for axis in axes[1:]:
        outer = merged[-1]
        if outer.symbol in single or axis.symbol in single or not all(_moves_as_one(p, outer, axis) for p in places):
            merged.append(axis)
            continue
        merged[-1] = Axis(axis.symbol, outer.size * axis.size)
        for value in nest.values:
            if outer.symbol in value.axes:
                value.axes = value.axes - {outer.symbol} | {axis.symbol}
                if value.op == "load":
                    value.data = _without(value.data, outer.symbol)
        for write in nest.writes:
            write.place = _without(write.place, outer.symbol)
        places[:] = [_without(place, outer.symbol) for place in places]
    return merged


def _moves_as_one(place: Access, outer: Axis, inner: Axis) -> bool:
    return place.stride(outer.symbol) == inner.size * place.stride(inner.symbol)


def _without(place: Access, axis: Symbol) -> Access:
    return replace(place, strides=tuple(item for item in place.strides if item[0] != axis))


# Passes -----------------------------------------------------------------------------------------------------------
def _set_phases(nest: Nest) -> None:
    """When each write happens: as soon as its value is there; at the very end where the nest reads what it overwrites,
    or writes it twice, so that nothing is overwritten that is still needed.
    """
    for write in nest.writes:
        write.phase = write.value.phase
    places = [write.place.memory for write in nest.writes]
    late = set(nest.overwritten) | {memory for memory in places if places.count(memory) > 1}
    phases = nest.phases
    for write in nest.writes:
        if write.place.memory in late:
            write.phase = max(write.phase, phases - 1 if nest.in_loop(write) else phases)


def _cut(nest: Nest, lowered: Lowered) -> None:
    """Choose chunks, blocks and batches."""
    items = product(axis.size for axis in nest.inner)
    lanes: Size = 1
    if nest.form == "columns":
        assert nest.lanes is not None
        lanes = minimum(BLOCK, nest.lanes.size)
        nest.width = max(1, lanes) if isinstance(lanes, int) else BLOCK
    if nest.form == "map":
        _cut_map(nest, items)
    else:
        _cut_reductions(nest, lowered)
    if nest.has_chunks:
        first = nest.inner[0].size
        count = (first + nest.chunk - 1) // nest.chunk
        low = 1 if nest.reductions else 0
        nest.chunks = nest.choose("chunks", Choice(maximum(count, low)), low)
    if not nest.has_chunks or (nest.form == "map" and isinstance(nest.chunk, Symbol)):
        step = (nest.chunk if nest.has_chunks else items) * lanes
        if not isinstance(step, int) or step:
            nest.batch = nest.choose("batch", Choice(maximum(1, TILE // maximum(1, step))), low=1)


def _cut_map(nest: Nest, items: Size) -> None:
    crossing = _crossing_axis(nest)
    if crossing is not None:
        axis, (nest.chunk, nest.tile) = crossing
        nest.outer = [other for other in nest.outer if other is not axis]
        nest.inner = [axis, *nest.inner]
    elif nest.inner and not isinstance(items, int) and nest.outer:
        nest.chunk = nest.choose("chunk", Choice(TILE, (le(2 * TILE + 1, items),), maximum(items, 1)), low=1)
    elif nest.inner and (not isinstance(items, int) or items > 2 * TILE or not nest.outer):
        nest.chunk = TILE


def _cut_reductions(nest: Nest, lowered: Lowered) -> None:
    where = chunked_where(nest.group, lowered)
    if where is None or nest.phases > 1:
        return
    first, *others = (axis.size for axis in nest.inner)
    each = product([*others, nest.lanes.size if nest.lanes else 1])
    chunk = maximum(1, CHUNK // maximum(1, each))
    nest.chunk = nest.choose("chunk", Choice(chunk, where, maximum(first, 1)), low=1)


def _crossing_axis(nest: Nest) -> tuple[Axis, tuple[int, int]] | None:
    """The outer axis along which some access finds its neighbours in memory, not along the inner one (``x + y.T``), and
    the tile to walk them in.
    """
    inner = nest.inner[-1] if nest.inner else None
    if inner is None or not _is_long(inner):
        return None
    for place in [*(write.place for write in nest.writes), *(v.data for v in nest.values if v.op == "load")]:
        step = place.stride(inner.symbol)
        for axis in nest.outer:
            if place.stride(axis.symbol) == 1 and step not in (0, 1, -1) and _is_long(axis):
                conflicts = isinstance(step, int) and step * place.memory.dtype.itemsize % PERIOD == 0
                return axis, CONFLICTING if conflicts else CROSSING
    return None


def _is_long(axis: Axis) -> bool:
    return not isinstance(axis.size, int) or axis.size >= 64


def _save_dear(nest: Nest) -> None:
    """Which values are kept from the pass that computes them first to a later one."""
    items = product(axis.size for axis in nest.inner) * max(nest.width, 1)
    if nest.phases < 2 or (isinstance(items, int) and items > MOST_SAVED):
        return
    first: dict[Value, int] = {}
    for phase in range(nest.phases):
        for value in nest.needed(nest.roots(phase), phase):
            if first.setdefault(value, phase) < phase and value.cost >= DEAR:
                nest.saved.setdefault(value, first[value])
    if nest.saved and not isinstance(items, int):
        nest.saves = nest.choose("saves", Choice(1, (le(items, MOST_SAVED),)))
