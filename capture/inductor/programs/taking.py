"""Operands that a program may write in their place.

In: a graph. Out: for each loop node, the operands it writes whose memory it takes over, since the graph itself made
that memory and nothing reads it any more: these need no copy. The result that is the same array is in that memory.

>>> taken_operands(graph)          # out = np.empty(n); for i in range(n): out[i] = x[i]; return out
{%loop: {1}}
"""

from __future__ import annotations

from collections.abc import Mapping

from capture.ir.graph import Graph, Node, buffer, iterate_nodes, root
from capture.ir.op import Loop, Part
from capture.ir.types import ArrayType


def taken_operands(graph: Graph) -> Mapping[Node, frozenset[int]]:
    """The numbers of the operands, for each loop node that takes any."""
    loops = [node for node in graph if node.kind == "call" and isinstance(node.op.lower, Loop)]
    if not loops:
        return {}
    last = _last_uses(graph)
    found: dict[Node, frozenset[int]] = {}
    for node in loops:
        owners = [buffer(value) if isinstance(value, Node) else None for value in node.args]
        found[node] = frozenset(
            number
            for number in node.params["program"].written
            if owners.count(owners[number]) == 1 and _ends_in(node, node.args[number], last)
        )
    return found


def _last_uses(graph: Graph) -> Mapping[Node, Node]:
    """For each owner of memory the last node that reads what is in it."""
    last: dict[Node, Node] = {}
    for node in graph:
        for value in iterate_nodes((node.args, tuple(node.params.values()))):
            last[buffer(value)] = node
    return last


def _ends_in(node: Node, value: Node, last: Mapping[Node, Node]) -> bool:
    """Whether an operand is all of some memory that the graph has made and that nothing reads behind the node."""
    owner = buffer(value)
    if root(value) is not value or owner.kind != "call" or owner.op.is_extern or last[owner] is not node:
        return False
    if not isinstance(owner.type, ArrayType) or owner.type.dtype != value.type.dtype:
        return False
    return not isinstance(owner.op.lower, Part) or isinstance(owner.args[0].op.lower, Loop)
