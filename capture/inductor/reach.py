"""What keeps a kernel from reaching memory that is not there.

In: a node that reads or writes at computed places, and the graph. Out: whether its kernel must come behind the tests
of all places that the program has before it.

    outside = test(i)    →  leave  →  y[i] = 1           a write waits for the test
    outside = test(i), z = x[i if i exists else 0]       a read that shares a kernel with the test takes another place

So reading needs no pass of its own over the places. It has to wait only where the array may have no element at all.
"""

from __future__ import annotations

from capture.ir.graph import Graph, Node
from capture.ir.op import Pack
from capture.ir.passes.check_bounds import places_to_check
from capture.ir.shapes import Size, le


def unproved(node: Node) -> dict[Node, Size]:
    """The places of a node that may not exist, each with the size of its axis."""
    return dict(places_to_check(node))


def waits(node: Node, graph: Graph) -> bool:
    """Whether the node comes behind what is tested before it."""
    if node.target == "store":
        return bool(node.params["axes"])
    if isinstance(node.op.lower, Pack):
        return node.op.lower.repeats
    return not all(_has_elements(size, graph) for size in unproved(node).values())


def _has_elements(size: Size, graph: Graph) -> bool:
    return size > 0 if isinstance(size, int) else graph.known.facts.implied(le(1, size))
