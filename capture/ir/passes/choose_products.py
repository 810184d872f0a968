"""Who multiplies vectors and matrices: NumPy and its BLAS, or loops that are generated for it.

In: a graph, and a choice of ``products``. Out: the graph with every product that loops compute in their form::

    %m = matmul(%x, %y)        →    %t = terms(%x[:, None, :], %y.T)
                                    %s = sum_of_terms(%t, axis=(2,))
                                    %m = not_below_zero(%s)

* ``estimates``: products of floats are left to NumPy, whose results stand to the last bit; those of integers, for which
  there is no BLAS, are loops, but for stacks of matrices. An einsum is loops where it is small.
* ``loops``: whatever may be faster in loops: where a vector is an operand, where matrices are small or narrow.
* ``blas``: what NumPy's own functions compute, and every einsum that is a product of matrices.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import CannotInfer
from capture.ir.ops.multiplying import LOOPED, in_loops
from capture.ir.types import ArrayType

ESTIMATES, LOOPS, BLAS = "estimates", "loops", "blas"

SMALL = 2**18
"""Products in one pair of matrices up to which loops may be faster than a BLAS."""

NARROW = 16
"""Rows, columns or terms of a sum up to which they may be, however many there are of the others."""


def choose_products(graph: Graph, products: str = ESTIMATES) -> Graph:
    if not any(node.target in LOOPED or node.target == "contract" for node in graph.calls):
        return graph
    return _Chooser(graph, products).run()


class _Chooser(Transformer):
    def __init__(self, graph: Graph, products: str) -> None:
        super().__init__(graph)
        self.products = products
        self.writes = bool(graph.written)

    def call(self, node: Node) -> Any:
        if node.target == "contract" and self.products != ESTIMATES:
            params = {**node.params, "by": self.products}
            return self.graph.call("contract", *self.mapped(node.args), **params)
        if not self.is_looped(node):
            return self.copy(node)
        try:
            x, y = self.mapped(node.args)
            return in_loops(self.graph, node.target, x, y, node.type)
        except CannotInfer:
            return self.copy(node)

    def is_looped(self, node: Node) -> bool:
        if node.target not in LOOPED or not isinstance(node.type, ArrayType):
            return False
        types = [operand.type for operand in node.args if isinstance(operand, Node)]
        if len(types) < 2 or not all(isinstance(type, ArrayType) and type.ndim for type in types):
            return False
        dtype = node.type.dtype
        if self.products == ESTIMATES:
            return dtype.kind in "iu" and max(type.ndim for type in types) <= 2
        if dtype not in (np.float32, np.float64):
            return self.products == LOOPS and dtype.kind in "biu"
        if self.writes:  # once an argument is written, NumPy cannot do the work again
            return False
        return self.products == LOOPS and _may_gain(node.target, *types)


def _may_gain(name: str, x: ArrayType, y: ArrayType) -> bool:
    """Whether loops may be faster than a BLAS; not where sizes that are open may be large."""
    if x.ndim == 1 or y.ndim == 1:
        return True
    sizes = (*x.shape[-2:], y.shape[-2 if name == "inner" else -1])
    known = [size for size in sizes if isinstance(size, int)]
    return min(known, default=SMALL) <= NARROW or (len(known) == len(sizes) and prod(known) <= SMALL)
