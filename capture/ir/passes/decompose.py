"""Replace ops that are defined by other ops, before lowering.

    %v = var(%x, axis=(1,))    →    %s = sum(%x, axis=(1,), keepdims=True)
                                    %m = divide(%s, 5.0)
                                    %d = subtract(%x, %m)
                                    %q = square(%d)
                                    %t = sum(%q, axis=(1,))
                                    %v = divide(%t, 5.0)

The replacement has the type of what it replaces.
"""

from __future__ import annotations

from typing import Any

from capture.errors import GraphError
from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import Decompose


def decompose(graph: Graph) -> Graph:
    if not any(isinstance(node.op.lower, Decompose) for node in graph.calls):
        return graph
    return _Decomposer(graph).run()


class _Decomposer(Transformer):
    def call(self, node: Node) -> Any:
        lower = node.op.lower
        if not isinstance(lower, Decompose):
            return self.copy(node)
        params = {name: self.mapped(value) for name, value in node.params.items()}
        result = lower.expand(self.graph, *self.mapped(node.args), **params)
        if result.type != node.type:
            raise GraphError(f"%{node.name} has type {node.type}, its decomposition {result.type}")
        return result
