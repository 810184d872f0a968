"""What tracing changes: the journal that takes changes back, and the memory of arrays.

In: changes made while an instruction is evaluated. Out: either they stay, or ``Journal.undo`` restores the state
before the instruction, so that a break leaves no trace.

Order of effects: the only effects inside a graph are writes to arrays, in program order. A change of another object
that outlives the frame (a list, dict, attribute, global, cell) is noted as a ``stores.Store``; all of them are carried
out once behind the graph, in program order, when every value has been loaded from its source. Everything else that can
be seen from outside (prints, calls of what is not known, ...) ends the region before it and runs natively. So a region
is: graph, stores, then what is left of the frame. A region that wrote to memory of the caller cannot be left any more;
so what may leave it (an extern call) never follows such a write.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture import config
from capture.frames.breaks import GraphBreak
from capture.ir import op as ops
from capture.ir.graph import Node, buffer, region, root
from capture.ir.ops import assigning
from capture.ir.ops.assigning import Assigned, assigned
from capture.ir.passes.aliasing import is_late
from capture.ir.passes.check_bounds import places_to_check
from capture.ir.sizes import asking
from capture.ir.types import ArrayType, NumberType, ObjectType

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.arrays import ArrayValue, GraphValue
    from capture.frames.values.base import Value
    from capture.frames.values.draws import GeneratorValue
    from capture.frames.values.numbers import NumberValue
    from capture.ir.ops.advanced import Places

_MISSING = object()


class Journal:
    """Changes of symbolic state, newest last, each with the way back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self.frozen = False
        """Whether a loop is being evaluated, whose rounds may change nothing that outlives them."""

    def _require_melted(self, owner: Any) -> None:
        if self.frozen and not getattr(owner, "is_settled_once", False):
            raise GraphBreak("a change of an object inside a loop", "loop")

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        self._require_melted(owner)
        old = getattr(owner, name)
        self._undo.append(lambda: setattr(owner, name, old))
        setattr(owner, name, value)

    def put(self, table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """``table[key] = value``."""
        self._require_melted(table)
        old = table.get(key, _MISSING)

        def back() -> None:
            if old is _MISSING:
                table.pop(key, None)
            else:
                table[key] = old

        self._undo.append(back)
        table[key] = value

    def append(self, items: list[Any], item: Any) -> None:
        """``items.append(item)``."""
        self._require_melted(items)
        self._undo.append(items.pop)
        items.append(item)

    def mark(self) -> int:
        return len(self._undo)

    def undo(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()


def extent(array: np.ndarray) -> tuple[int, int]:
    """First byte and the byte behind the last of an array's memory; what the guard ``NoOverlap`` compares."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high


class Settled(dict[Any, Any]):
    """A table of what is found out about the region as a whole, in whatever round of a loop."""

    is_settled_once = True


class Memory:
    """Which node holds the newest contents of each array.

    ``inputs`` maps placeholders to their values; ``versions`` maps a buffer to its newest version. That of a ``late``
    input is in other memory until the region ends.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.inputs: dict[Node, GraphValue | NumberValue | GeneratorValue] = Settled()
        self.versions: dict[Node, Node] = {}
        self.late: dict[Node, Node] = {}  # input -> the node that it was renamed to

    def release(self) -> None:
        """Let go of everything: the values hold the arguments, which must die when the user lets go of them."""
        vars(self.tracer).clear()
        vars(self).clear()

    # reading ------------------------------------------------------------------------------------------------------
    def current(self, value: GraphValue) -> Node:
        """The node that shows what ``value`` holds now."""
        journal = self.tracer.journal
        if value.node is None:
            journal.set(value, "node", self._placeholder(value))
        node = value.node
        assert node is not None
        newest = self.newest(buffer(node))
        if root(node) is not newest and newest is not None:
            node = self.tracer.graph.view(newest, region(node))
            journal.set(value, "node", node)
        return node

    def newest(self, owner: Node) -> Node | None:
        """The newest version of a buffer, which may have been renamed since; None if it was never written."""
        found = self.versions.get(owner)
        while found is not None and (later := self.versions.get(buffer(found), found)) is not found:
            found = later
        return found

    def is_input(self, owner: Node) -> bool:
        """Whether a buffer is an input, or holds what an input will hold when the region ends."""
        if owner in self.inputs:
            return True
        newest = self.newest(owner) or owner
        return any((self.newest(late) or late) is newest for late in self.late)

    def _placeholder(self, value: GraphValue) -> Node:
        if isinstance(value.example, np.ndarray):
            for written in self.written():
                self._require_apart(written, value)
        node = self.tracer.graph.placeholder(value.source.name() if value.source else "number", value.type)
        self.tracer.journal.put(self.inputs, node, value)
        return node

    def object(self, value: GeneratorValue, type: ObjectType) -> Node:
        """The input for a generator of random numbers."""
        for node, known in self.inputs.items():
            if isinstance(node.type, ObjectType) and known.source == value.source:
                return node
        return self.number(value, type)

    def number(self, value: NumberValue | GeneratorValue, type: NumberType | ObjectType) -> Node:
        """A new input for a Python number, or for another object."""
        name = value.source.name() if value.source is not None else "number"
        node = self.tracer.graph.placeholder(name, type)
        self.tracer.journal.put(self.inputs, node, value)
        return node

    def written(self) -> list[Any]:
        """The inputs that the graph has written so far, or will write."""
        return [self.inputs[owner] for owner in self.versions if owner in self.inputs]

    def rename(self, old: Node, new: Node) -> None:
        """The contents of a whole array are those of another node from now on; nobody else has that memory."""
        owner = buffer(old)
        if owner in self.inputs:
            self.tracer.journal.put(self.late, owner, new)
        self.tracer.journal.put(self.versions, owner, new)

    def is_seen_writing(self) -> bool:
        """Whether the graph has written an input where the caller sees it."""
        return any(owner in self.inputs and owner not in self.late for owner in self.versions)

    def finish(self) -> None:
        """Write the inputs whose newest contents are elsewhere: the region ends, and nothing can fail any more."""
        for owner in self.late:
            newest = self.newest(owner)
            version = self.tracer.graph.store(owner, newest)
            passed = [each for each in self.versions if self.newest(each) is newest]
            self.versions.update(dict.fromkeys(passed, version))
        self.late = {}

    # writing ------------------------------------------------------------------------------------------------------
    def write(
        self,
        target: ArrayValue,
        value: Any,
        place: Node | None = None,
        places: Places | None = None,
        combine: str = "",
        said: str = "",
    ) -> None:
        """Store a node or literal into ``target``, or into the view ``place`` of it, or into ``places`` of that."""
        place = self.current(target) if place is None else place
        self.require_writable(place)
        owner = buffer(place)
        if owner in self.inputs and owner not in self.late and "late" in self.tracer.native:
            self.rename(owner, self.tracer.graph.call("copy", owner))
            place = self.tracer.graph.view(self.versions[owner], region(place))
            owner = buffer(place)
        if places is not None and not assigning.COPIES_WHAT_OVERLAPS:
            self._require_own_memory(owner, (value, *places.indices))
        if places is None and isinstance(value, Node) and root(value) is root(place) and region(value) == region(place):
            return  # x[1:] += y stores the view once more into its own place
        try:
            indices, axes = ((), ()) if places is None else (places.indices, places.axes)
            version = self.tracer.graph.store(place, value, indices, axes, combine, said)
        except ops.CannotInfer as error:
            raise self.tracer.refused("", error) from None
        self.require_order([version])
        self.tracer.journal.put(self.versions, owner, version)

    def store_item(self, array: ArrayValue, key: Value, value: Value) -> None:
        """``array[key] = value``."""
        self.assign(assigned, array, key, value)

    def assign(
        self, rule: Callable[..., Assigned], array: ArrayValue, *operands: Value, combine: str = "", **named: Value
    ) -> None:
        """A write to elements; ``rule`` is one of ``capture.ir.ops.assigning``, which tells where and what."""
        tracer, graph = self.tracer, self.tracer.graph
        start = len(graph)
        try:
            with asking(graph.known):
                given = {name: value.real(tracer).in_graph(tracer) for name, value in named.items()}
                positional = [value.real(tracer).in_graph(tracer) for value in operands]
                if rule is assigned:
                    positional[0] = tracer.parameter(operands[0].real(tracer))  # bounds that change are sizes
                found = rule(graph, self.current(array), *positional, **given)
        except ops.CannotInfer as error:
            raise tracer.refused("assignment to elements: ", error) from None
        self.require_order(graph.nodes[start:])
        self.write(array, found.value, found.view, found.places, combine)

    def require_writable(self, place: Node) -> None:
        """Refuse to write what the caller may not write, or shares with another input."""
        if not isinstance(place.type, ArrayType) or place.type.scalar:
            raise GraphBreak("a NumPy scalar is written", "python")
        if any(ops.get(step.op).tags & ops.UNWRITTEN for step in region(place)):
            raise GraphBreak("a view is written that is read-only, or warns", "python")
        owner = buffer(place)
        if owner in self.inputs:
            self._require_alone(owner)

    def _require_alone(self, owner: Node) -> None:
        """The caller's array ``owner`` is written: it must be writable and share memory with no other input."""
        value = self.inputs[owner]
        if not value.example.flags.writeable:
            raise GraphBreak(f"{value.describe()} is read-only", "write")
        for other in self.inputs.values():
            if other is not value and isinstance(other.example, np.ndarray):
                self._require_apart(value, other)

    def _require_apart(self, value: Any, other: Any) -> None:
        (low, high), (other_low, other_high) = extent(value.example), extent(other.example)
        if low < other_high and other_low < high:
            raise GraphBreak(f"{value.describe()} is written and may share memory with {other.describe()}", "overlap")

    def _require_own_memory(self, owner: Node, operands: Sequence[Any]) -> None:
        """Refuse what this NumPy computes from what it has just written."""
        if any(isinstance(operand, Node) and buffer(operand) is owner for operand in operands):
            raise GraphBreak("places or values share memory with what is written there", "overlap")

    def require_order(self, nodes: list[Node]) -> None:
        """Refuse what may leave the region after a write that the caller can see."""
        if self.is_seen_writing() and any(map(may_leave, nodes)):
            raise GraphBreak(f"{nodes[-1].target} may fail after an array of the caller was written", "order")


def may_leave(node: Node) -> bool:
    """Whether the region may be left at the node when what was stored before can be seen.

    Tests of places are made before anything is written, but for places that are computed from what was written.
    """
    if node.kind != "call":
        return False
    if isinstance(node.op.lower, ops.Leave):
        return is_late(node.args[0])
    if config.math == "numpy" and isinstance(node.op.lower, ops.Decompose):
        return True  # sums in it are calls of NumPy
    return isinstance(node.op.lower, ops.Extern | ops.Loop) or any(is_late(index) for index, _ in places_to_check(node))
