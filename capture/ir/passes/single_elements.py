"""Graphs that compute with single elements only, at places that change from call to call.

In: a graph. Out: whether it is such a graph, which Python runs as fast as any compiled code:

    %i: int<n> = placeholder()
    %slice: f64[1] = slice(%x, starts=(i,), steps=(1,), sizes=(1,))
    %scalar: f64() = scalar(squeeze(%slice))
    %add: f64() = add(%scalar, 1.0)
"""

from __future__ import annotations

from typing import Any

from capture.ir.graph import Graph, Node, iterate_nodes
from capture.ir.shapes import Expr, product
from capture.ir.types import ArrayType


def is_of_elements(graph: Graph) -> bool:
    calls = [node for node in graph.calls if not node.op.is_view]
    return any(map(_is_at_open_place, graph.calls)) and not any(map(_works_on_arrays, calls))


def _is_at_open_place(node: Node) -> bool:
    return node.target == "slice" and any(isinstance(start, Expr) for start in node.params["starts"])


def _works_on_arrays(node: Node) -> bool:
    """Whether an operation is about more than one element; a store is about what it writes."""
    if node.target == "store":
        return any(_is_large(value.type) for value in iterate_nodes(node.args[1:]))
    return _is_large(node.type) or any(_is_large(value.type) for value in node.inputs)


def _is_large(type: Any) -> bool:
    return isinstance(type, ArrayType) and product(type.shape) != 1
