"""Drop what nobody reads.

Roots are the output, stores into the memory of inputs, and what may warn or raise: the caller sees those. A store into
a buffer of the graph's own lives only as long as someone reads the version it makes.

    %a = zeros(…)                      return %y
    %b = store(%a, 1)          →
    return %y

Inputs stay, read or not: they are given by position. So does a node that tells a size somebody needs, also if nobody
reads its elements: ``len(x[mask])``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capture.ir.graph import Graph, Node, Step, Transformer
from capture.ir.op import Measure
from capture.ir.passes.aliasing import owners
from capture.ir.passes.warnings import may_warn
from capture.ir.shapes import Expr, Symbol
from capture.ir.types import ArrayType, NumberType


def drop_dead(graph: Graph) -> Graph:
    live: set[Node] = set()
    owner = owners(graph)
    for node in reversed(graph.nodes):
        if node in live or _is_root(node, owner[node]):
            live.add(node)
            live.update(node.inputs)
    _keep_what_tells_sizes(graph, live)
    return graph if len(live) == len(graph) else Keep(graph, live).run()


def _is_root(node: Node, owner: Node) -> bool:
    if node.kind in ("output", "placeholder"):
        return True
    return node.kind == "call" and (may_warn(node) or (node.target == "store" and owner.kind == "placeholder"))


# Sizes that depend on data ----------------------------------------------------------------------------------------
def _keep_what_tells_sizes(graph: Graph, live: set[Node]) -> None:
    """Make those nodes live that are the first to tell a size which live nodes need."""
    telling = [node for node in graph.calls if told_by(node) is not None]
    while telling:
        needed = _first_untold(graph, live)
        if needed is None:
            return
        stack = [next(node for node in telling if told_by(node) == needed)]
        while stack:
            node = stack.pop()
            if node not in live:
                live.add(node)
                stack.extend(node.inputs)


def told_by(node: Node) -> str | None:
    """The name of the size that is known once a node has been computed."""
    count = node.params.get("count") if node.kind == "call" else None
    return count if isinstance(count, str) else None


def told_size(node: Node) -> Symbol | None:
    """The size whose value is known once a node that measures, or a call of NumPy's, is done; None if there is none."""
    name = told_by(node)
    if name is None or not (node.op.is_extern or isinstance(node.op.lower, Measure)):
        return None
    sizes = _sizes((node.type,))
    return next((size for size in sizes if isinstance(size, Symbol) and size.name == name), None)


def _first_untold(graph: Graph, live: set[Node]) -> str | None:
    """A size that a live node needs although no live node before it tells it, which some other node does."""
    all_told = {told_by(node) for node in graph.calls}
    told: set[str | None] = set()
    for node in graph:
        if node in live:
            told.add(told_by(node))
            found = _symbols((node.type, node.args, tuple(node.params.values()))) & all_told - told
            if found:
                return min(found)  # type: ignore[type-var]
    return None


def _symbols(value: Any) -> set[str]:
    """The names of the sizes in types, and in nested tuples of parameters."""
    return {symbol.name for size in _sizes(value) for symbol in size.symbols}


def _sizes(value: Any) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _sizes(item)
    elif isinstance(value, Step):
        yield from _sizes(value.params)
    elif isinstance(value, ArrayType):
        yield from _sizes(value.shape)
    elif isinstance(value, NumberType):
        yield from _sizes((value.size,))


class Keep(Transformer):
    """Copies the nodes that are wanted, and all placeholders."""

    def __init__(self, graph: Graph, live: set[Node]) -> None:
        super().__init__(graph)
        self.live = live

    def call(self, node: Node) -> Node | None:
        return self.copy(node) if node in self.live else None

    def constant(self, node: Node) -> Node | None:
        return self.copy(node) if node in self.live else None
