"""Stores whose value reads the memory that they write, at other places.

In: a graph's nodes, in order. Out: which stores must have their value in memory of its own before they write, as
NumPy makes a copy of operands that overlap with what is written::

    a[1:] += a[:-1]              # clash: the value reads elements that the store has overwritten by then
    a[1:] *= 2                   # no clash: each element is read before it is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capture.inductor.vocabulary import cell
from capture.ir import op as ops
from capture.ir.complexes import CELLS, PARTS
from capture.ir.graph import Graph, Node, Step, Transformer, buffer
from capture.ir.op import Gather, Pointwise, Strided, ViewOf
from capture.ir.shapes import Size
from capture.ir.types import ArrayType
from capture.records import dataclass, replace


def shape_of(value: Any) -> tuple[Size, ...]:
    return value.type.shape if isinstance(value.type, ArrayType) else ()


def view_of(op: ops.Op) -> ViewOf:
    """How a view op shows its operand."""
    assert isinstance(op.lower, ViewOf)
    return op.lower


def stepped(view: Strided, step: Step) -> Strided:
    """A view of a view."""
    return view_of(ops.get(step.op)).strided(view, **dict(step.params))


def stored_dtype(store: Node) -> np.dtype:
    """The dtype of the view that a store writes: its memory's, or that of a part of each element, or their bits'."""
    dtype = buffer(store).type.dtype
    for step in store.params["region"]:
        dtype = cell(dtype) if step.op in (*PARTS, CELLS) else dict(step.params).get("dtype", dtype)
    return dtype


@dataclass(frozen=True, slots=True)
class Sources:
    """The memory that a value reads when it is computed where it is stored: views read at the very element that is
    computed, and buffers read in any other way."""

    same: frozenset[Node] = frozenset()
    other: frozenset[Node] = frozenset()

    @property
    def elsewhere(self) -> frozenset[Node]:
        return self.other | {buffer(view) for view in self.same}


NOTHING = Sources()


class Overlaps:
    """Follows what values read; ``add`` each node in order, then ask about its store."""

    def __init__(self, graph: Graph, strided: Callable[[Node], Strided]) -> None:
        self.strided = strided
        self.written = {buffer(node) for node in graph if node.kind == "call" and node.target == "store"}
        self.sources: dict[Node, Sources] = {}

    def add(self, node: Node) -> None:
        if self.written:
            self.sources[node] = self.find(node)

    def find(self, node: Node) -> Sources:
        if node.kind == "output":
            return NOTHING
        owner = buffer(node)
        if owner in self.written:
            return Sources(same=frozenset((node,)))
        if node.kind == "call" and node.op.is_view:
            return Sources(other=self.sources[node.args[0]].elsewhere)
        if node.kind != "call" or not isinstance(node.op.lower, Pointwise | Gather):
            return NOTHING  # in memory of its own before anything later is stored
        same: frozenset[Node] = frozenset()
        other: frozenset[Node] = frozenset()
        for operand in node.inputs:
            if isinstance(node.op.lower, Gather):
                other |= self.sources[operand].elsewhere
                continue
            sources = self.sources[operand]
            if shape_of(operand) == shape_of(node):
                same, other = same | sources.same, other | sources.other
            else:
                other |= sources.elsewhere
        return Sources(same, other)

    def clash(self, store: Node) -> bool:
        version, value = store.args[:2]
        owner, sources = buffer(version), self.sources[value]
        if owner in sources.other or (store.params["axes"] and owner in sources.elsewhere):
            return True
        target = self.strided(version)
        for step in store.params["region"]:
            target = stepped(target, step)
        views = [view for view in sources.same if buffer(view) is owner]
        return any(
            shape_of(value) != target.shape or self.strided(view) != target or view.type.dtype != stored_dtype(store)
            for view in views
        )


    def moved(self, store: Node) -> list[Node]:
        """The places of an indexed store that are computed from what it writes."""
        owner = buffer(store)
        return [index for index in store.args[2:] if owner in self.sources[index].elsewhere]


class _Copier(Transformer):
    def call(self, node: Node) -> Any:
        if node.target == "store" and _moves(node):
            args = [self.graph.call("copy", new) if _shows(old, node) else new for old, new in self.operands(node)]
            return self.graph.append(replace(node, args=(self.new[node.args[0]], *args)))
        return self.copy(node)

    def operands(self, store: Node) -> Iterator[tuple[Any, Any]]:
        """What is stored, and where, before and in the new graph."""
        return zip(store.args[1:], self.mapped(store.args[1:]), strict=True)


def copy_moved_memory(graph: Graph) -> Graph:
    """A graph in which no store moves memory within one buffer directly.

    before: %x_1 = store(%x, %view_of_x);  after: %copy = copy(%view_of_x); %x_1 = store(%x, %copy)
    """
    if any(n.target == "store" and n.kind == "call" and _moves(n) for n in graph):
        return _Copier(graph).run()
    return graph


def _moves(node: Node) -> bool:
    return any(_shows(value, node) for value in node.args[1:])


def _shows(value: Any, store: Node) -> bool:
    """Whether the value is a view of what is written."""
    return isinstance(value, Node) and buffer(value) is buffer(store)
