"""Put in front of the nodes whose size depends on data what tells the size.

    %p = pick(%x, %m, count='trues')    →    %c = sum(%m, axis=(0,))
                                              %n = measure(%c, count='trues')
                                              %p = pick(%x, %m, count='trues')

A size that was promised is tested instead: ``leave_if(not_equal(%c, 5))``. So is one that must not be 0, or 1, also
that of a call of NumPy's, which tells a size when it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import Pack
from capture.ir.ops.gathering import INT64
from capture.ir.passes.drop_dead import told_by, told_size
from capture.ir.shapes import Expr


def count_masks(graph: Graph) -> Graph:
    counts = any(told_by(node) or isinstance(node.op.lower, Pack) for node in graph.calls)
    return _Counter(graph).run() if counts else graph


class _Counter(Transformer):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.known: set[Any] = set()
        self.users = graph.users()

    def call(self, node: Node) -> Any:
        if isinstance(node.op.lower, Pack):
            self.count(node)
            if not self.users[node]:  # only its size is asked for
                return None
        copied, size = self.copy(node), told_size(node)
        if size is not None and (least := self.graph.known.least(size)):
            number = self.graph.call("size_number", size=size)
            self.graph.call("leave_if", self.graph.call("less", number, self.graph.constant(np.int64(least))))
        return copied

    def count(self, node: Node) -> None:
        assert isinstance(node.op.lower, Pack)
        mask, count = self.mapped(node.args[-1]), node.params["count"]
        size = node.type.shape[0]
        if isinstance(size, int):  # by what facts say of the symbol
            count = size
        key = count if isinstance(count, str) else (mask, count)
        if key in self.known:
            return
        self.known.add(key)
        graph = self.graph
        counts = mask
        if not node.op.lower.repeats and mask.type.dtype.kind != "b":
            counts = graph.call("not_equal", mask, 0)
        total = graph.call("sum", counts, axis=tuple(range(mask.type.ndim)), dtype=INT64)
        if isinstance(count, str):
            if least := graph.known.least(size):
                graph.call("leave_if", graph.call("less", total, least))
            graph.call("measure", total, count=count, most=size.high)
            return
        promised = graph.call("size_number", size=count) if isinstance(count, Expr) else count
        graph.call("leave_if", graph.call("not_equal", total, promised))
