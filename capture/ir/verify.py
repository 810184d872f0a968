"""Check a graph: every fault at once, so that a broken pass is understood in one look.

In: a graph. Out: the same graph, or ``GraphError`` with one line a fault. Run between passes in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from capture.errors import GraphError
from capture.ir import op as ops
from capture.ir.graph import Graph, Node, buffer, iterate_nodes, map_nodes, map_params, root, simplified_type
from capture.ir.sizes import asking


def verify(graph: Graph) -> Graph:
    """The graph itself when it is well-formed; GraphError lists all faults otherwise."""
    found = [fault for rule in RULES for fault in rule(graph)]
    if found:
        raise GraphError("\n".join([f"graph {graph.name} has {len(found)} fault(s):", *found]))
    return graph


def _order(graph: Graph) -> Iterator[str]:
    """Values are defined once, before they are used; the output comes last."""
    defined: set[Node] = set()
    names: set[str] = set()
    for node in graph:
        for value in node.inputs:
            if value not in defined:
                yield f"%{node.name} reads %{value.name}, which is not defined before it"
        if node.name in names:
            yield f"the name %{node.name} is used twice"
        if node.kind == "output" and node is not graph.nodes[-1]:
            yield "nodes follow the output"
        defined.add(node)
        names.add(node.name)
    if not graph.nodes or graph.nodes[-1].kind != "output":
        yield "the graph has no output"


def _known(graph: Graph) -> Iterator[str]:
    """Calls are of ops (macros have been expanded) with complete parameters."""
    for node in graph.calls:
        try:
            op = ops.get(node.target)
        except KeyError:
            yield f"%{node.name}: no op is called {node.target}"
            continue
        if op.is_macro:
            yield f"%{node.name}: {op.name} is a macro and does not stand in graphs"
            continue
        try:
            complete = op.complete(node.params)
        except ops.CannotInfer as error:
            yield f"%{node.name}: {error}"
            continue
        if list(complete) != list(node.params):
            yield f"%{node.name}: parameters are {list(node.params)}, {op.name} has {list(complete)}"


def _types(graph: Graph) -> Iterator[str]:
    """Every type is what inference gives."""
    for node in graph.calls:
        try:
            op = ops.get(node.target)
            if op.infer is None:
                continue
            types = map_nodes(node.args, lambda value: value.type)
            with asking(graph.known):
                expected, given = (
                    simplified_type(type) for type in (op.infer(*types, **map_params(node.params)), node.type)
                )
        except (KeyError, ops.CannotInfer) as error:
            yield f"%{node.name}: no type: {error}"
            continue
        if expected != given:
            yield f"%{node.name} has type {node.type}, inference gives {expected}"


def _versions(graph: Graph) -> Iterator[str]:
    """Memory is linear: stores take the newest version, and nobody reads an older one afterwards."""
    newest: dict[Node, Node] = {}
    for node in graph:
        for value in iterate_nodes((node.args, tuple(node.params.values()))):
            owner, version = buffer(value), root(value)
            if newest.get(owner, owner) is not version:
                now = newest[owner].name
                yield f"%{node.name} reads %{value.name} of %{version.name}, which %{now} has overwritten"
        if node.kind == "call" and node.target == "store":
            owner = buffer(node)
            if owner.kind == "constant":
                yield f"%{node.name} writes the constant %{owner.name}"
            newest[owner] = node


RULES: tuple[Callable[[Graph], Iterator[str]], ...] = (_order, _known, _types, _versions)
