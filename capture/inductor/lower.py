"""From a graph to units of work: what is iterated over, what is read and written, what must come first.

In: a graph without ``Decompose`` ops. Out: ``Lowered``: *units* in program order, each a domain with one thing to
compute at every point of it (a map, a reduction) or an extern call; *reads* that tie units to each other and to
memory; the memory that exists in any case.

Most nodes are in no unit of their own: they are computed inside the units that read them, at the index at which
they are read. A node gets a unit if its value must be in memory (results, operands of extern calls, written
buffers), if it is a reduction, if computing it in several places would cost more than it saves, or if it may warn of
elements that nobody reads.

>>> lowered = lower(graph)               # softmax over rows
>>> [str(unit) for unit in lowered.units]
['reduce max over (8, 16)', 'map exp over (8, 16)', 'reduce sum over (8, 16)', 'map divide over (8, 16)']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.choices import DEFAULT, Choices
from capture.inductor.costs import own_cost
from capture.inductor.loops import Access, Memory, access
from capture.inductor.order import order_units
from capture.inductor.overlap import Overlaps, shape_of, stepped, stored_dtype, view_of
from capture.inductor.points import (
    Index,
    axis_symbol,
    broadcast_index,
    is_empty,
    is_pointwise,
    operand_points,
    scatter_points,
    sizes_of,
    source_index,
    symbols_in,
    walk_axes,
)
from capture.inductor.programs import copied_operands, taken_operands
from capture.inductor.vocabulary import C_TYPES, cell
from capture.ir.graph import Graph, Node, buffer, iterate_nodes, root
from capture.ir.op import (
    TALLY,
    Flatten,
    Gather,
    Join,
    Leave,
    Loop,
    Measure,
    Pack,
    Part,
    Reduce,
    Scan,
    Store,
    Strided,
)
from capture.ir.ops.common import broadcast_shapes
from capture.ir.passes.drop_dead import told_size
from capture.ir.passes.warnings import may_warn
from capture.ir.shapes import Size, Symbol, le, product
from capture.ir.types import ArrayType, NumberType, ObjectType, Type, array_type
from capture.records import dataclass, field, replace

MOST_NODES = 256
"""Pointwise nodes that one kernel may hold: values that cross such a border of the program are put into memory."""

DEAR = 4.0
"""Nanoseconds per element from which a value is rather computed ahead of a walk, without vectors or threads."""

BROADCASTS = ("broadcast_to", "broadcast_array")
"""Views that have elements more than once."""

FEW_READS = 2
"""Arrays that a value may read to be computed in two places."""


@dataclass(frozen=True, slots=True)
class Read:
    """A unit reads ``leaf`` (a node with a unit, or a version of memory) at ``index``, a size over its symbols.

    ``view`` at ``view_index`` is the same element, named as a view of the leaf. What is ``gathered`` may be any
    element, though the index does not always show it: an axis of one element has no place in it.
    """

    leaf: Node
    index: Index
    view: Node
    view_index: Index
    gathered: bool = False


@dataclass(eq=False, slots=True)
class Unit:
    """One thing to do. ``kind`` is one of

    * map, reduce: something for each point of the domain, or for rows of points;
    * pack, scatter, scan: walks through the domain, step after step. They keep the elements where a mask is true, write
      to computed places, or combine each element with those before;
    * loop: a program; extern: a call of NumPy; leave, measure: a look at a truth value, after which the call of the
      graph may be given up, or at a number, which is a size from there on.

    ``axes`` are the loop symbols of the dims of ``domain`` (0 where the size is 1). ``value`` is what is computed at
    each point, ``target`` the view that a map or walk writes (for stores and parts of a join), ``reduced`` the dims
    that a reduction combines or a walk goes along. Units of different windows of the program are never in one kernel.
    """

    kind: str
    node: Node
    domain: tuple[Size, ...] = ()
    axes: Index = ()
    value: Any = None
    memory: Memory | None = None
    target: Strided | None = None
    parts: tuple[Node, ...] = ()  # of an extern call or loop with several results: those that are read
    copies: Mapping[int, Memory] = field(default_factory=dict)  # where a loop has the operands that it writes
    reduced: frozenset[int] = frozenset()
    window: int = 0
    number: int = -1
    reads: list[Read] = field(default_factory=list)
    before: set[Unit] = field(default_factory=set)
    gathers: set[Node] = field(default_factory=set)  # reads at computed places
    sizes: set[Symbol] = field(default_factory=set)  # symbols that loops, accesses and values depend on

    @property
    def dtype(self) -> np.dtype:
        """What is written, in whose elements ``target`` counts."""
        assert self.memory is not None
        return stored_dtype(self.node) if self.node.target == "store" else self.memory.dtype

    @property
    def tells(self) -> Symbol | None:
        """The size that is known when it is done, and was not before."""
        return told_size(self.node) if self.kind in ("measure", "extern") else None

    @property
    def is_loop(self) -> bool:
        return self.kind in ("map", "reduce") or self.is_walk

    @property
    def is_walk(self) -> bool:
        return self.kind in ("pack", "scatter", "scan")

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset(axis for axis in self.axes if isinstance(axis, Symbol))

    @property
    def result_index(self) -> Index:
        """The index of the result's element that a point of the domain belongs to."""
        if self.kind != "reduce":
            return self.axes
        keepdims = len(self.node.type.shape) == len(self.domain)
        kept: list[Size] = []
        for dim, axis in enumerate(self.axes):
            if dim not in self.reduced:
                kept.append(axis)
            elif keepdims:
                kept.append(0)
        return tuple(kept)

    def __str__(self) -> str:
        return f"{self.kind} {self.node.name} over {self.domain}"


@dataclass(eq=False)
class Lowered:
    """A graph as units; ``memory`` knows what is in memory in any case, ``symbols`` where run-time sizes come from."""

    graph: Graph
    order: dict[Node, int]
    exact: bool = False  # mathematical functions are NumPy's own loops
    choices: Choices = DEFAULT
    units: list[Unit] = field(default_factory=list)
    unit_of: dict[Node, Unit] = field(default_factory=dict)
    writers: dict[Node, list[Unit]] = field(default_factory=dict)
    memory: dict[Node, Memory] = field(default_factory=dict)
    symbols: dict[Symbol, tuple[int, int]] = field(default_factory=dict)  # a stride: number of the input, axis
    hints: dict[str, int] = field(default_factory=dict)  # how large strides may be that are not known
    taken: Mapping[Node, frozenset[int]] = field(default_factory=dict)  # operands that loops write in their place
    _views: dict[Node, Strided] = field(default_factory=dict)

    def strided(self, node: Node) -> Strided:
        """Where the elements of ``node`` are in the memory of its buffer."""
        view = self._views.get(node)
        if view is None:
            if node.kind == "call" and node.op.is_view:
                view = view_of(node.op).strided(self.strided(node.args[0]), **node.params)
            else:
                view = self.memory[buffer(node)].whole
            self._views[node] = view
        return view

    def place(self, node: Node, index: Index, axes: frozenset[Symbol]) -> Access:
        """The access to an element of a node that is in memory."""
        return access(self.memory[buffer(node)], self.strided(node), index, axes, node.type.dtype)

    def give_memory(self, node: Node, kind: str) -> Memory:
        """Memory for a fresh array: dense, its axes nested as the type says."""
        known = self.memory.get(node)
        if known is None:
            known = Memory(node.name, kind, node.type.dtype, shape_of(node), dense_strides(node.type))
            self.memory[node] = known
        elif kind == "output":
            known.kind = kind
        return known


def dense_strides(type: Type) -> tuple[Size, ...]:
    """Strides, in elements, of a new array of this type; a number has none."""
    if not isinstance(type, ArrayType):
        return ()
    order = range(type.ndim) if type.layout is None else type.layout.order
    strides: list[Size] = [0] * type.ndim
    step: Size = 1
    for axis in reversed(list(order)):
        strides[axis] = step
        step = step * type.shape[axis]
    return tuple(strides)


def lower(graph: Graph, *, exact: bool = False, choices: Choices = DEFAULT) -> Lowered:
    """The units of ``graph``; ``BackendError`` for what has no lowering."""
    lowered = Lowered(graph, {node: position for position, node in enumerate(graph)}, exact, choices)
    _place_inputs(lowered)
    _place_results(lowered)
    _Splitter(lowered).run()
    lowered.units.sort(key=lambda unit: lowered.order[unit.node])
    for number, unit in enumerate(lowered.units):
        unit.number = number
    order_units(lowered)
    return lowered


# Memory that exists in any case ---------------------------------------------------------------------------------
def _place_inputs(lowered: Lowered) -> None:
    for number, node in enumerate(lowered.graph.placeholders):
        lowered.memory[node] = _input_memory(lowered, node, number)
    for node in lowered.graph:
        if node.kind == "constant":
            value = np.asarray(node.args[0])
            strides = tuple(stride // value.itemsize for stride in value.strides)
            lowered.memory[node] = Memory(node.name, "constant", value.dtype, value.shape, strides, value)


def _input_memory(lowered: Lowered, node: Node, number: int) -> Memory:
    type = node.type
    if isinstance(type, ObjectType):
        return Memory(node.name, "input", np.dtype(object), (), (), number)  # for externs only
    if isinstance(type, NumberType):
        dtype = np.dtype({bool: np.bool, int: np.int64, float: np.float64}[type.python])
        return Memory(node.name, "input", dtype, (), (), number)
    if cell(type.dtype) not in C_TYPES:
        return Memory(node.name, "input", type.dtype, type.shape, (0,) * type.ndim, number)  # for externs only
    return Memory(node.name, "input", type.dtype, type.shape, _input_strides(lowered, node, number), number)


def _input_strides(lowered: Lowered, node: Node, number: int) -> tuple[Size, ...]:
    """Strides in elements: sizes where the layout tells them, else symbols that are read at each call."""
    type = node.type
    if type.layout is not None and type.layout.dense:
        return dense_strides(type)
    strides: list[Size] = []
    for axis, size in enumerate(type.shape):
        still = isinstance(size, int) and size == 1
        if still or (type.layout is not None and type.layout.ranks[axis] == 0):
            strides.append(0)
            continue
        symbol = Symbol(f"{node.name}_stride{axis}", low=None)
        lowered.symbols[symbol] = (number, axis)
        rank = type.layout.ranks[axis] if type.layout else type.ndim - axis
        lowered.hints[symbol.name] = 3 * 64**rank
        if type.layout is not None and type.layout.inner and rank == 1:
            lowered.hints[symbol.name] = 1  # or -1: neighbours in memory, in rising or falling order
        strides.append(symbol)
    return tuple(strides)


def _place_results(lowered: Lowered) -> None:
    graph = lowered.graph
    overlaps = Overlaps(graph, lowered.strided)
    lowered.taken = taken_operands(graph)
    for node in graph:
        overlaps.add(node)
        if node.kind != "call":
            continue
        if node.target == "store":
            _require_memory(lowered, buffer(node), "arena")
            if isinstance(node.args[1], Node) and overlaps.clash(node):
                _require_memory(lowered, buffer(node.args[1]), "arena")  # the value, or what it is a view of
            for index in overlaps.moved(node):
                _require_memory(lowered, buffer(index), "arena")
        elif node.op.is_extern:
            for operand in iterate_nodes((node.args, tuple(node.params.values()))):
                _require_memory(lowered, buffer(operand), "arena")
            if not isinstance(node.type, tuple):
                lowered.give_memory(node, "extern")
        elif isinstance(node.op.lower, Part):
            same = _taken_as(lowered, node)
            if same is not None:
                lowered.memory[node] = lowered.memory[buffer(same)]
            lowered.give_memory(node, "arena" if is_loop(node.args[0]) else "extern")
        elif is_loop(node):
            for operand in node.inputs:
                if known_size(operand) is None:
                    _require_memory(lowered, buffer(operand), "arena")
            lowered.memory[node] = Memory(f"{node.name}_status", "arena", np.dtype(np.uint8), (), ())
        elif isinstance(node.op.lower, Join | Flatten | Pack | Scan):
            lowered.give_memory(node, "arena")
        elif isinstance(node.op.lower, Gather | Leave | Measure):
            _require_memory(lowered, buffer(node.args[0]), "arena")
    for value in iterate_nodes(graph.outputs):
        _require_memory(lowered, buffer(value), "arena" if is_scalar(value) and buffer(value) is value else "output")


def _taken_as(lowered: Lowered, part: Node) -> Node | None:
    """The operand of a loop in whose memory one of its results is."""
    node = part.args[0]
    taken = lowered.taken.get(node, ())
    if not taken:
        return None
    results = copied_operands(node.params["program"])
    same = next((node.args[number] for number in taken if results[number] == part.params["index"]), None)
    return same if same is not None and same.type == part.type else None


def is_scalar(node: Node) -> bool:
    """Whether the node is a scalar or a Python number."""
    return isinstance(node.type, NumberType) or (isinstance(node.type, ArrayType) and node.type.scalar)


def known_size(node: Node) -> Size | None:
    """The size that a Python int is."""
    return node.type.size if isinstance(node.type, NumberType) else None


def is_loop(node: Node) -> bool:
    return node.kind == "call" and isinstance(node.op.lower, Loop)


def _require_memory(lowered: Lowered, owner: Node, kind: str) -> None:
    if owner.kind != "call" or owner.op.is_extern:
        return
    if not isinstance(owner.op.lower, Part) or is_loop(owner.args[0]):
        lowered.give_memory(owner, kind)


# Splitting the graph into units ---------------------------------------------------------------------------------
Demand = tuple[Unit, Index]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a unit comes to read a node at some index: as an element of ``view``; ``whole``: it reads all elements;
    ``gathered``: at places that are computed.
    """

    view: Node
    index: Index
    whole: bool
    gathered: bool = False


Demands = dict[Demand, Reading]


class _Splitter:
    """Walks the nodes from last to first: when a node is reached, all its readers are known.

    ``demands[node]`` maps (unit, index) to how the unit comes to read ``node`` there.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.demands: dict[Node, Demands] = {}
        self.parts: dict[Node, list[Node]] = {}
        self.estimates = _Estimates(lowered)

    def run(self) -> None:
        for node in reversed(self.lowered.graph.nodes):
            demands = self.demands.pop(node, {})
            if node.kind == "call":
                self.call(node, demands)
            elif node.kind in ("placeholder", "constant"):
                self.leaf(node, demands)

    def call(self, node: Node, demands: Demands) -> None:
        lowering = node.op.lower
        if isinstance(lowering, Store):
            self.leaf(node, demands)
            self.store(node)
        elif node.op.is_view:
            self.view(node, demands)
        elif node.op.is_extern:
            self.leaf(node, demands)
            self.extern(node)
        elif isinstance(lowering, Part):
            self.leaf(node, demands)
            self.parts.setdefault(node.args[0], []).append(node)
        elif is_loop(node):
            self.loop(node)
        else:
            self.value(node, demands)

    def value(self, node: Node, demands: Demands) -> None:
        lowering = node.op.lower
        if isinstance(lowering, Leave | Measure):
            self.leaf(node, demands)
            self.reads_all(self.add(Unit("leave" if isinstance(lowering, Leave) else "measure", node)))
            return
        partly = not any(reading.whole for reading in demands.values())
        if partly and may_warn(node) and not isinstance(lowering, Gather):
            self.lowered.give_memory(node, "arena")  # all of it is computed, for what it warns of
        if not demands and node not in self.lowered.memory:
            return  # nobody reads it
        if "uninitialised" in node.op.tags and node in self.lowered.memory:
            self.leaf(node, demands)
            return  # what is in memory is as good as anything
        if is_pointwise(node):
            if node in self.lowered.memory or self.deserves_unit(node, demands):
                self.leaf(node, demands)
                self.map(node)
            else:
                for (unit, index), reading in demands.items():
                    self.operands(node, unit, index, reading.whole)
        elif isinstance(lowering, Reduce):
            self.leaf(node, demands)
            self.reduce(node)
        elif isinstance(lowering, Join):
            self.leaf(node, demands)
            self.join(node)
        elif isinstance(lowering, Flatten):
            self.leaf(node, demands)
            self.flatten(node)
        elif isinstance(lowering, Pack):
            self.leaf(node, demands)
            self.pack(node)
        elif isinstance(lowering, Scan):
            self.leaf(node, demands)
            self.scan(node)
        else:
            raise BackendError(f"{node.target} has no lowering to loops")

    def leaf(self, node: Node, demands: Demands) -> None:
        for (unit, index), reading in demands.items():
            unit.reads.append(Read(node, index, reading.view, reading.index, reading.gathered))

    def view(self, node: Node, demands: Demands) -> None:
        operand = node.args[0]
        shape = operand.type.shape
        leaves_out = product(shape) != product(node.type.shape) and node.target not in BROADCASTS
        for (unit, index), reading in demands.items():
            unit.sizes |= sizes_of(node)
            below = tuple(view_of(node.op).index(index, shape, **node.params))
            whole = reading.whole and not leaves_out
            self.demand(operand, unit, below, replace(reading, whole=whole))

    def demand(self, value: Any, unit: Unit, index: Index, reading: Reading | None = None) -> None:
        if isinstance(value, Node):
            known = reading or Reading(value, index, whole=True)
            if known.whole and self.may_lack_elements(unit.domain, shape_of(value)):
                known = replace(known, whole=False)
            demands = self.demands.setdefault(value, {})
            found = demands.setdefault((unit, index), known)
            if known.gathered and not found.gathered:
                demands[unit, index] = replace(found, gathered=True)

    def may_lack_elements(self, domain: Sequence[Size], shape: Sequence[Size]) -> bool:
        """Whether a domain may be empty where what is read in it has elements."""
        if is_empty(shape) or product(domain) == product(shape):
            return False
        facts = self.lowered.graph.known.facts
        others = (size for size in domain if size not in shape)
        return any(
            size == 0 if isinstance(size, int) else not facts.implied(le(1, size)) for size in others
        )

    def operands(self, node: Node, unit: Unit, index: Index, whole: bool = True) -> None:
        unit.sizes |= sizes_of(node)
        for operand, below in operand_points(node, index):
            self.demand(operand, unit, below, Reading(operand, below, whole))
        if isinstance(node.op.lower, Gather):
            unit.gathers.add(node)
            source, below = node.args[0], source_index(node, index)
            self.demand(source, unit, below, Reading(source, below, whole=False, gathered=True))

    def deserves_unit(self, node: Node, demands: Demands) -> bool:
        """Whether a pointwise node is computed once, in a place of its own."""
        order, estimates = self.lowered.order, self.estimates
        window = estimates.window[node]
        expiry = estimates.expiry[node]
        units = {unit for unit, _ in demands}
        if any(order[unit.node] > expiry or estimates.window[unit.node] != window for unit in units):
            return True
        scalar = any(unit.is_walk and (may_warn(node) or not counts(unit.node)) for unit in units)
        if estimates.cost[node] > DEAR and scalar:
            return True
        costs_much = estimates.cost[node] > self.lowered.choices.recomputed
        if len(demands) > 1 and (costs_much or estimates.reads[node] > FEW_READS):
            return True
        return costs_much and any(_amplifies(unit, index) for unit, index in demands)

    # units ------------------------------------------------------------------------------------------------------
    def add(self, unit: Unit) -> Unit:
        unit.window = self.estimates.window[unit.node]
        unit.sizes |= sizes_of(unit.node) | symbols_in(unit.domain)
        self.lowered.units.append(unit)
        self.lowered.writers.setdefault(unit.node, []).append(unit)
        if unit.target is None:
            self.lowered.unit_of[unit.node] = unit
        return unit

    def over(self, kind: str, node: Node, domain: Sequence[Size], **facts: Any) -> Unit:
        axes = tuple(axis_symbol(number, size) for number, size in enumerate(domain))
        return self.add(Unit(kind, node, tuple(domain), axes, **facts))

    def map(self, node: Node) -> None:
        unit = self.over("map", node, shape_of(node), value=node, memory=self.lowered.memory.get(node))
        self.operands(node, unit, unit.axes)

    def reduce(self, node: Node) -> None:
        operand = node.args[0]
        reduced = frozenset(node.params["axis"])
        memory = self.lowered.memory.get(node)
        unit = self.over("reduce", node, shape_of(operand), value=operand, memory=memory, reduced=reduced)
        self.demand(operand, unit, unit.axes)

    def store(self, node: Node) -> None:
        version, value, *indices = node.args
        target = self.lowered.strided(version)
        for step in node.params["region"]:
            target = stepped(target, step)
        if indices:
            self.scatter(node, value, indices, target)
        else:
            self.write(node, value, target)

    def scan(self, node: Node) -> None:
        operand, axis = node.args[0], node.params["axis"]
        domain = shape_of(operand) or (1,)
        memory, dims = self.lowered.memory[node], frozenset(range(len(domain)) if axis is None else (axis,))
        strides = dense_strides(array_type(memory.dtype, domain)) if axis is None else memory.strides
        target = Strided(0, domain, strides)
        unit = self.add(Unit("scan", node, domain, walk_axes(domain, axis), memory=memory, target=target, reduced=dims))
        self.demand(operand, unit, broadcast_index(unit.axes, domain, shape_of(operand)))

    def scatter(self, node: Node, value: Any, indices: Sequence[Node], target: Strided) -> None:
        """One element after the other, since places may be the same."""
        axes, places = node.params["axes"], broadcast_shapes(map(shape_of, indices))
        rest = [axis for axis in range(len(target.shape)) if axis not in axes]
        domain = (*places, *(target.shape[axis] for axis in rest)) or (1,)
        points = walk_axes(domain)
        unit = self.add(
            Unit(
                "scatter",
                node,
                domain,
                points,
                value=value,
                memory=self.lowered.memory[buffer(node)],
                target=target,
                reduced=frozenset(range(len(domain))),
            )
        )
        for operand, below in scatter_points(unit):
            self.demand(operand, unit, below)

    def join(self, node: Node) -> None:
        memory, axis = self.lowered.memory[node], node.params["axis"]
        offset: Size = 0
        for operand in iterate_nodes(node.args):
            shape = operand.type.shape
            target = Strided(offset * memory.strides[axis], shape, memory.strides)
            self.write(node, operand, target)
            offset = offset + shape[axis]

    def flatten(self, node: Node) -> None:
        operand = node.args[0]
        shape = operand.type.shape
        self.write(node, operand, Strided(0, shape, dense_strides(array_type(operand.type.dtype, shape))))

    def pack(self, node: Node) -> None:
        """What may warn is computed elsewhere, since the walk ends when all true elements are found."""
        domain = node.args[0].type.shape
        memory, dims = self.lowered.memory[node], frozenset(range(len(domain)))
        unit = self.add(Unit("pack", node, domain, walk_axes(domain), memory=memory, reduced=dims))
        for operand in node.args:
            self.demand(operand, unit, unit.axes, Reading(operand, unit.axes, whole=False))

    def write(self, node: Node, value: Any, target: Strided) -> None:
        memory = self.lowered.memory[buffer(node)]
        unit = self.over("map", node, target.shape, value=value, memory=memory, target=target)
        if isinstance(value, Node):
            self.demand(value, unit, broadcast_index(unit.axes, target.shape, shape_of(value)))

    def extern(self, node: Node) -> None:
        parts = tuple(self.parts.get(node, ()))
        unit = self.add(Unit("extern", node, memory=self.lowered.memory.get(node), parts=parts))
        for part in parts:
            self.lowered.writers[part] = [unit]
        self.reads_all(unit)

    def loop(self, node: Node) -> None:
        parts = {part.params["index"]: part for part in self.parts.get(node, ())}
        copies: dict[int, Memory] = {}
        for number, index in copied_operands(node.params["program"]).items():
            part, type = parts.get(index), node.args[number].type
            own = Memory(f"{node.name}_copy", "arena", type.dtype, type.shape, dense_strides(type))
            if number in self.lowered.taken[node]:
                own = self.lowered.memory[buffer(node.args[number])]
            elif part is not None and (part.type.dtype, part.type.shape) == (type.dtype, type.shape):
                own = self.lowered.memory[part]
            copies[number] = own
        unit = self.add(
            Unit("loop", node, memory=self.lowered.memory[node], parts=tuple(parts.values()), copies=copies)
        )
        for part in parts.values():
            self.lowered.writers[part] = [unit]
        unit.sizes |= symbols_in(tuple(size for operand in node.inputs if (size := known_size(operand)) is not None))
        self.reads_all(unit)

    def reads_all(self, unit: Unit) -> None:
        for operand in unit.node.inputs:
            if unit.kind == "loop" and known_size(operand) is not None:
                continue  # computed by the kernel itself
            leaf = root(operand)
            unit.reads.append(Read(leaf, (), operand, ()))


def counts(node: Node) -> bool:
    """Whether a store adds integers at computed places, none of which it must look at."""
    return node.target == "store" and node.params["combine"] == TALLY and node.type.dtype.kind in "iu"


def _amplifies(unit: Unit, index: Index) -> bool:
    """Whether reading at ``index`` computes the same element again in inner loops of the unit."""
    used = {symbol for position in index if not isinstance(position, int) for symbol in position.symbols}
    axes = [axis for axis in unit.axes if isinstance(axis, Symbol)]
    missing = [axis for axis in axes if axis not in used]
    return bool(missing) and missing != axes[len(axes) - len(missing) :]


class _Estimates:
    """What is known of a node before units exist: what it costs to compute where it is read, and until when."""

    def __init__(self, lowered: Lowered) -> None:
        graph = lowered.graph
        self.cost: dict[Node, float] = {}
        self.reads: dict[Node, int] = {}
        self.expiry: dict[Node, int] = {}
        self.window: dict[Node, int] = {}
        never = len(graph)
        ends = _ends_of_versions(lowered, never)
        users = graph.users()
        count = 0
        for node in graph:
            self.window[node] = count // MOST_NODES
            cost, reads, expiry = 0.0, 0, never
            if node not in lowered.memory and node.kind == "call" and (node.op.is_view or is_pointwise(node)):
                inputs = node.inputs
                cost = sum(self.cost[value] for value in inputs)
                reads = sum(self.reads[value] for value in inputs)
                expiry = min((self.expiry[value] for value in inputs), default=never)
                if not node.op.is_view:
                    count += 1
                    cost += own_cost(node)
                    if len(users[node]) > 1 and (cost > lowered.choices.recomputed or reads > FEW_READS):
                        self.cost[node], self.reads[node], self.expiry[node] = cost, reads, expiry
                        continue
            else:
                reads = 1
                expiry = ends.get(node, never)
            self.cost[node], self.reads[node], self.expiry[node] = cost, reads, expiry


def _ends_of_versions(lowered: Lowered, never: int) -> dict[Node, int]:
    """For each version of memory the position of the store, or of the loop, that ends it."""
    ends: dict[Node, int] = {}
    for node in lowered.graph:
        if node.kind == "call" and node.target == "store":
            ends[node.args[0]] = lowered.order[node]
        for number in lowered.taken.get(node, ()):
            ends[node.args[number]] = lowered.order[node]
    return ends
