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

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.ir import op as ops
from capture.ir.graph import Node, buffer, region, root
from capture.ir.ops.assigning import Assigned, assigned
from capture.ir.passes.aliasing import is_late
from capture.ir.passes.check_bounds import places_to_check
from capture.ir.sizes import asking
from capture.ir.types import ArrayType, NumberType

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.arrays import ArrayValue, GraphValue
    from capture.frames.values.base import Value
    from capture.frames.values.numbers import NumberValue
    from capture.ir.ops.advanced import Places

_MISSING = object()


class Journal:
    """Changes of symbolic state, newest last, each with the way back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        old = getattr(owner, name)
        self._undo.append(lambda: setattr(owner, name, old))
        setattr(owner, name, value)

    def put(self, table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """``table[key] = value``."""
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


class Memory:
    """Which node holds the newest contents of each array.

    ``inputs`` maps placeholders to their values; ``versions`` maps a buffer to its newest version.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.inputs: dict[Node, GraphValue | NumberValue] = {}
        self.versions: dict[Node, Node] = {}

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
        newest = self.versions.get(buffer(node))
        if newest is not None and root(node) is not newest:
            node = self.tracer.graph.view(newest, region(node))
            journal.set(value, "node", node)
        return node

    def _placeholder(self, value: GraphValue) -> Node:
        if isinstance(value.example, np.ndarray):
            for written in self.written():
                self._require_apart(written, value)
        node = self.tracer.graph.placeholder(value.source.name() if value.source else "number", value.type)
        self.tracer.journal.put(self.inputs, node, value)
        return node

    def number(self, value: NumberValue, type: NumberType) -> Node:
        """A new input for a Python number."""
        name = value.source.name() if value.source is not None else "number"
        node = self.tracer.graph.placeholder(name, type)
        self.tracer.journal.put(self.inputs, node, value)
        return node

    def written(self) -> list[Any]:
        """The inputs that the graph has written so far."""
        return [self.inputs[owner] for owner in self.versions if owner in self.inputs]

    # writing ------------------------------------------------------------------------------------------------------
    def write(
        self, target: ArrayValue, value: Any, place: Node | None = None, places: Places | None = None, combine: str = ""
    ) -> None:
        """Store a node or literal into ``target``, or into the view ``place`` of it, or into ``places`` of that."""
        place = self.current(target) if place is None else place
        self._require_writable(place)
        owner = buffer(place)
        if owner in self.inputs:
            self._require_alone(owner)
        if places is None and isinstance(value, Node) and root(value) is root(place) and region(value) == region(place):
            return  # x[1:] += y stores the view once more into its own place
        try:
            indices, axes = ((), ()) if places is None else (places.indices, places.axes)
            version = self.tracer.graph.store(place, value, indices, axes, combine)
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

    def _require_writable(self, place: Node) -> None:
        if not isinstance(place.type, ArrayType) or place.type.scalar:
            raise GraphBreak("a NumPy scalar is written", "python")
        if any("readonly" in ops.get(step.op).tags for step in region(place)):
            raise GraphBreak("a read-only view is written", "python")

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

    def require_order(self, nodes: list[Node]) -> None:
        """Refuse what may leave the region after a write that the caller can see."""
        if any(owner in self.inputs for owner in self.versions) and any(map(may_leave, nodes)):
            raise GraphBreak(f"{nodes[-1].target} may fail after an array of the caller was written", "order")


def may_leave(node: Node) -> bool:
    """Whether the region may be left at the node when what was stored before can be seen.

    Tests of places are made before anything is written, but for places that are computed from what was written.
    """
    if node.kind != "call":
        return False
    if isinstance(node.op.lower, ops.Leave):
        return is_late(node.args[0])
    return node.op.is_extern or any(is_late(index) for index, _ in places_to_check(node))
