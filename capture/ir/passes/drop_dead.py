"""Drop what nobody reads.

Roots are the output, stores into the memory of inputs, and what may warn or raise: the caller sees those. A store into
a buffer of the graph's own lives only as long as someone reads the version it makes.

    %a = zeros(…)                      return %y
    %b = store(%a, 1)          →
    return %y

Inputs stay, read or not: they are given by position.
"""

from __future__ import annotations

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.passes.aliasing import owners
from capture.ir.passes.warnings import may_warn


def drop_dead(graph: Graph) -> Graph:
    live: set[Node] = set()
    owner = owners(graph)
    for node in reversed(graph.nodes):
        if node in live or _is_root(node, owner[node]):
            live.add(node)
            live.update(node.inputs)
    return graph if len(live) == len(graph) else Keep(graph, live).run()


def _is_root(node: Node, owner: Node) -> bool:
    if node.kind in ("output", "placeholder"):
        return True
    return node.kind == "call" and (may_warn(node) or (node.target == "store" and owner.kind == "placeholder"))


class Keep(Transformer):
    """Copies the nodes that are wanted, and all placeholders."""

    def __init__(self, graph: Graph, live: set[Node]) -> None:
        super().__init__(graph)
        self.live = live

    def call(self, node: Node) -> Node | None:
        return self.copy(node) if node in self.live else None

    def constant(self, node: Node) -> Node | None:
        return self.copy(node) if node in self.live else None
