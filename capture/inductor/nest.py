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

from collections.abc import Iterable, Sequence

from capture.inductor.checking import is_asked
from capture.inductor.elements import Elements, Write
from capture.inductor.loops import Access, Memory, Reduction, Value
from capture.inductor.lower import Lowered, Unit, counts
from capture.inductor.schedule import Group, Schedule, chunked_where, lane_axis
from capture.inductor.vocabulary import CELLS, DEAR, cell
from capture.ir.shapes import Expr, Relation, Size, Symbol, evaluate, le, maximum, minimum, product
from capture.ir.types import Layout, keep_order
from capture.records import dataclass, field, replace

TILE = 4096
"""Elements between two looks at the floating-point status; what one call of a flat loop's body works on."""

CONFLICTING = (16, 16)
"""A tile where memory is read across and its lines compete for the same places in the cache."""

PERIOD = 1024
"""Bytes at multiples of which lines compete."""


CHUNK = 1 << 13
"""Elements of one chunk of a long reduction: a fixed number, so that results do not depend on the threads. It is small
beside the least that is cut (``schedule.LONG``), so that threads have about as much of it.
"""

LEAST_LANES, SHARED_BLOCK = 128, 1 << 14
"""Columns of a block below which too little of each page is read, and elements from which a block is cut in two."""

VECTOR = 16
"""Columns that a block has a multiple of: cache lines of four-byte elements."""

TALLIED = 1 << 15
"""Steps of one chunk of a walk that counts; with as many or fewer the walk is one."""

MOST_TALLIES, FEW_TALLIES = 4096, 512
"""Numbers that a walk counts in tables of its own thread: as many of them as go into the first cache, several of each
where they are few.
"""

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
    tally: Write | None = None  # what a walk counts, in chunks
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
    def has_tables(self) -> bool:
        """Whether threads count in tables of their own: many steps, few counts; each call decides if they are open."""
        if self.tally is None:
            return False
        steps, size = self.inner[0].size, product(self.tally.place.memory.shape)
        return not (isinstance(steps, int) and steps <= TALLIED) and not (isinstance(size, int) and size > MOST_TALLIES)

    @property
    def raises(self) -> bool:
        return any(map(is_asked, self.values)) or any(r.may_raise for r in self.reductions)

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
        writes = [write for write in self.writes if write.phase == phase and self.in_loop(write)]
        written = [value for write in writes for value in write.needs]
        return combined + written + [value.data.next for value in self.carried]

    def in_loop(self, write: Write) -> bool:
        return bool(write.axes & self.inner_symbols)


def build_nest(name: str, group: Group, schedule: Schedule) -> Nest:
    elements = Elements(group, schedule)
    elements.run()
    nest = _arrange(name, group, schedule.lowered, elements)
    _collapse(nest)
    _set_phases(nest)
    _cut(nest, schedule.lowered)
    _save_dear(nest)
    return nest


# The order of the loops -------------------------------------------------------------------------------------------
def _arrange(name: str, group: Group, lowered: Lowered, elements: Elements) -> Nest:
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
    reductions = elements.reductions
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
        nest.width = _width(nest.lanes.size, items, lowered.choices.block)
        lanes = minimum(nest.width, nest.lanes.size)
    if nest.form == "map":
        _cut_map(nest, items, lowered.choices.crossing)
    elif tally := _tally(nest):
        nest.tally = tally
        if nest.has_tables:
            size, steps = product(tally.place.memory.shape), nest.inner[0].size
            where = () if isinstance(size, int) else (le(size, MOST_TALLIES),)
            nest.chunk = nest.choose("chunk", Choice(TALLIED, where, maximum(steps, 1)), low=1)
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


def _width(lanes: Size, steps: Size, most: int) -> int:
    """Lanes of one block. Where there are several they are even in number and about equal, so that threads have as much
    of them; what would be one block is two where there is work for two threads.
    """
    if not isinstance(lanes, int):
        return most
    blocks = -(-lanes // most)
    if blocks == 1 and lanes >= 2 * LEAST_LANES and isinstance(steps, int) and steps * lanes >= SHARED_BLOCK:
        blocks = 2
    blocks += blocks % 2 if blocks > 1 else 0
    return max(1, min(most, lanes, -(-lanes // (blocks * VECTOR)) * VECTOR)) if blocks > 1 else max(1, lanes)


def _cut_map(nest: Nest, items: Size, tile: tuple[int, int]) -> None:
    crossing = _crossing_axis(nest, tile)
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


def _tally(nest: Nest) -> Write | None:
    """The write of a walk that adds integers at computed places, and does nothing else: they may be added in any order,
    by several threads.
    """
    if len(nest.units) > 1 or not counts(nest.units[0].node) or nest.raises or nest.outer or len(nest.inner) > 1:
        return None
    (write,) = nest.writes
    memory, before = write.place.memory, write.value.args[0] if write.value.op == "add" else None
    reads = [value for value in nest.values if value.op == "load" and value.data.memory is memory]
    is_whole = write.place.base == 0 and not write.place.strides and write.place.rest == 0
    return write if is_whole and memory.dtype.itemsize >= 4 and reads == [before] and not nest.carried else None


def _crossing_axis(nest: Nest, tile: tuple[int, int]) -> tuple[Axis, tuple[int, int]] | None:
    """The outer axis along which some access finds its neighbours in memory, not along the inner one (``x + y.T``), and
    the tile to walk them in.
    """
    inner = nest.inner[-1] if nest.inner else None
    if inner is None or not _is_long(inner):
        return None
    for place in [*(write.place for write in nest.writes), *(v.data for v in nest.values if v.op == "load")]:
        step = place.stride(inner.symbol)
        for axis in nest.outer:
            nearest = 2 if place.memory.dtype in CELLS else 1
            if place.stride(axis.symbol) == nearest and step not in (0, nearest, -nearest) and _is_long(axis):
                conflicts = isinstance(step, int) and step * cell(place.memory.dtype).itemsize % PERIOD == 0
                return axis, CONFLICTING if conflicts else tile
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
