"""Which nodes show memory, or are objects, that somebody outside of the graph or a later store can see.

In: a graph. Out: what passes ask before they replace one value by another that is equal.

    %a = add(%x, 1); %b = add(%x, 1); return %a, %b        # escaping: a and b must stay two arrays
"""

from __future__ import annotations

from capture.ir.graph import Graph, Node, buffer, iterate_nodes
from capture.ir.op import Op


def is_view(node: Node) -> bool:
    return node.kind == "call" and node.op.is_view


def escaping(graph: Graph) -> frozenset[Node]:
    """Nodes that are returned, or that a returned view shows."""
    found: set[Node] = set()
    for value in iterate_nodes(graph.outputs):
        found.add(value)
        while is_view(value):
            value = value.args[0]
            found.add(value)
    return frozenset(found)


def owners(graph: Graph) -> dict[Node, Node]:
    """``graph.buffer`` of every node, in one walk: what owns the memory it shows."""
    found: dict[Node, Node] = {}
    for node in graph:
        shares = node.kind == "call" and (node.target == "store" or node.op.is_view)
        found[node] = found[node.args[0]] if shares else node
    return found


def written(graph: Graph) -> frozenset[Node]:
    """The nodes whose memory some store writes, in any of its versions."""
    owner = owners(graph)
    buffers = {owner[node] for node in graph.calls if node.target == "store"}
    return frozenset(node for node in graph if owner[node] in buffers)


def repeats(op: Op) -> bool:
    """Whether the op gives the same values each time it is given the same operands."""
    return not op.tags & {"uninitialised", "random"}


def is_late(node: Node) -> bool:
    """Whether a value depends on an array of the caller that the graph has stored to, or cannot be made twice."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node in seen or node.kind != "call":
            continue
        seen.add(node)
        if (node.target == "store" and buffer(node).kind == "placeholder") or not repeats(node.op):
            return True
        stack.extend(node.inputs)
    return False
