"""Compute equal values once.

    %a = exp(%x)               →    %a = exp(%x)
    %b = exp(%x)                    %c = add(%a, %a)
    %c = add(%a, %b)

Values are equal when op, operands (the same versions) and parameters are. Two results that are both returned stay two
objects, and buffers that are written stay apart. So does what may warn at some line: each place warns of its own (in
one kernel the C compiler still computes it once).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.passes.aliasing import escaping, repeats, written
from capture.ir.passes.warnings import may_warn


def share_common(graph: Graph) -> Graph:
    return _Sharer(graph).run()


class _Sharer(Transformer):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.kept = escaping(graph)
        self.written = written(graph)
        self.known: dict[Hashable, Node] = {}
        self.escaped: set[Node] = set()  # new nodes that are returned

    def call(self, node: Node) -> Node:
        if node.target == "store" or not repeats(node.op) or self._is_written(node) or _warns_at_its_line(node):
            return self._noted(node, self.copy(node))
        key = (node.target, freeze(self.mapped(node.args)), freeze(tuple(self.mapped(v) for v in node.params.values())))
        twin = self.known.get(key)
        if twin is None or (twin in self.escaped and node in self.kept):
            twin = self.known[key] = self.copy(node)
        return self._noted(node, twin)

    def _noted(self, node: Node, new: Node) -> Node:
        if node in self.kept:
            self.escaped.add(new)
        return new

    def _is_written(self, node: Node) -> bool:
        """A new buffer that is stored to later; views of it are as shareable as the version they show."""
        return not node.op.is_view and node in self.written


def _warns_at_its_line(node: Node) -> bool:
    return node.position is not None and may_warn(node)


def freeze(value: Any) -> Hashable:
    """A key that tells 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(value, tuple):
        return (type(value), *map(freeze, value))
    if isinstance(value, float):
        return (float, repr(value))
    return (type(value), value)
