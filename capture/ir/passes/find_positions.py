"""Look for the place of an extreme in two passes that the compiler vectorises: what it is, then where it is first.

    %p = argmax(%s, axis=(1,))    →    %m = max(%s, axis=(1,))
                                        %e = equal(%s, %m[:, None])
                                        %n = not_equal(%s, %s)
                                        %i = where(%e, arange, where(%n, arange, 2147483647))
                                        %p = astype(min(%i, axis=(1,)), dtype=@i64)

One pass that carries extreme and place takes eight times as long, since each step waits for the one before. NaN beats
all, as in NumPy: where there is one the extreme is NaN, which equals nothing, and the first NaN is what is found.

A large array that is in memory is left to NumPy, whose own search takes one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from capture.ir.graph import Graph, Node, Transformer, buffer
from capture.ir.op import Extern
from capture.ir.shapes import product
from capture.ir.types import ArrayType

EXTREMES: Mapping[str, str] = {"argmax": "max", "argmin": "min"}
FEWEST = 32
"""Along fewer elements one pass is as good."""

LARGE = 2**12
"""Elements from which on a call of NumPy is worth what a call costs."""


def find_positions(graph: Graph) -> Graph:
    return _Finder(graph).run() if any(map(_is_search, graph.calls)) else graph


def _is_search(node: Node) -> bool:
    """Whether this searches numbers whose memory is known, and which are neighbours along the last axis."""
    if node.target not in EXTREMES:
        return False
    operand = node.args[0].type
    if not isinstance(operand, ArrayType) or operand.dtype.kind not in "iuf" or operand.dtype == np.float16:
        return False
    return bool(operand.layout and operand.layout.inner and operand.layout.ranks[-1:] == (1,))


class _Finder(Transformer):
    def call(self, node: Node) -> Any:
        if not _is_search(node):
            return self.copy(node)
        type, axes = node.args[0].type, node.params["axis"]
        if _is_in_memory(node.args[0]) and _is_large(type) and (len(axes) == 1 or type.layout.dense):
            keep: dict[str, Any] = {"keepdims": True} if node.params["keepdims"] else {}
            axis = axes[0] if len(axes) == 1 else None
            return self.graph.call(f"method_{node.target}", self.mapped(node.args[0]), axis, **keep)
        is_short = isinstance(type.shape[-1], int) and type.shape[-1] < FEWEST
        return self.copy(node) if axes != (type.ndim - 1,) or is_short else self.in_two_passes(node)

    def in_two_passes(self, node: Node) -> Any:
        searched, axis = self.mapped(node.args[0]), node.params["axis"][0]
        extreme = self.extreme(node, searched, axis)
        graph, length = self.graph, searched.type.shape[axis]
        bits = 32 if isinstance(length, int) and length < 2**31 else 64
        places = graph.call("arange", start=0, stop=length, step=1, dtype=np.dtype(f"i{bits // 8}"))
        nowhere = 2 ** (bits - 1) - 1
        unordered = searched.type.dtype.kind == "f"
        place = (
            graph.call("where", graph.call("not_equal", searched, searched), places, nowhere) if unordered else nowhere
        )
        place = graph.call("where", graph.call("equal", searched, extreme), places, place)
        found = graph.call("min", place, axis=(axis,), keepdims=node.params["keepdims"])
        return found if found.type.dtype == np.intp else graph.call("astype", found, dtype=np.dtype(np.intp))

    def extreme(self, node: Node, searched: Node, axis: int) -> Any:
        """The extreme along the axis, with an axis in its place; the graph's own where it has one."""
        name, graph = EXTREMES[node.target], self.graph
        for other in graph.calls:
            if other.target == name and other.args[0] is searched and other.params["axis"] == (axis,):
                return other if other.params["keepdims"] else graph.call("expand", other, axes=(axis,))
        return graph.call(name, searched, axis=(axis,), keepdims=True)


def _is_large(type: ArrayType) -> bool:
    count = product(type.shape)
    return isinstance(count, int) and count >= LARGE


def _is_in_memory(node: Node) -> bool:
    owner = buffer(node)
    return owner.kind == "placeholder" or (owner.kind == "call" and isinstance(owner.op.lower, Extern))
