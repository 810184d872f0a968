"""Write every size in the simplest form that all facts of the graph allow.

    %x: f64[s0, s1] = placeholder()                  %x: f64[s0, s1] = placeholder()
    %y: f64[s2] = placeholder()               →      %y: f64[s1] = placeholder()
    %z: f64[s0, min(1, s1)] = slice(%x, …)           %z: f64[s0, 1] = slice(%x, …)

Facts are found while a graph is built, some of them behind the first use of a size (above: ``s2 == s1; 1 <= s1``). From
here on equal sizes are written equally, which is how lowering tells what loops together and what is broadcast.
"""

from __future__ import annotations

from typing import Any

from capture.ir.graph import Graph, Node, Step, Transformer, simplified_all, simplified_type
from capture.ir.sizes import asking
from capture.records import replace


def settle_sizes(graph: Graph) -> Graph:
    if not graph.known.facts.relations:
        return graph
    with asking(graph.known):
        return _Settler(graph).run()


class _Settler(Transformer):
    def copy(self, node: Node) -> Node:
        params = {key: _settled(self.mapped(value)) for key, value in node.params.items()}
        args = self.mapped(node.args) if node.kind == "constant" else _settled(self.mapped(node.args))
        return self.graph.append(replace(node, type=simplified_type(node.type), args=args, params=params))


def _settled(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value)(map(_settled, value))
    if isinstance(value, Step):
        return Step(value.op, _settled(value.params))
    return simplified_all(value)
