"""Compute what depends on nothing but constants, when it is small and NumPy would not warn.

    %c = constant(2.0)
    %s = sqrt(%c)              →    %s = constant(1.4142135623730951)
    %y = multiply(%x, %s)           %y = multiply(%x, %s)

Arrays that are returned or written stay computed: each call gives a new one. A reduction of no elements is a constant,
too: kernels hide constants from the compiler, which divides 0.0 by 0.0 itself and raises nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import ListLiteral, Reduce
from capture.ir.passes.aliasing import escaping, repeats, written
from capture.ir.shapes import is_static, product
from capture.ir.types import ArrayType, type_of
from capture.ir.warned import raised

LARGEST = 64  # elements; larger constants would only make kernels read more memory


def fold_constants(graph: Graph) -> Graph:
    return _Folder(graph).run()


class _Folder(Transformer):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.kept = escaping(graph)
        self.written = written(graph)

    def call(self, node: Node) -> Any:
        value = _evaluate(node, self.mapped(node.args)) if self._is_foldable(node) else None
        return self.copy(node) if value is None else self.graph.constant(value, node.name)

    def _is_foldable(self, node: Node) -> bool:
        type = node.type
        if not isinstance(type, ArrayType) or node.target == "store" or not repeats(node.op):
            return False
        if not _is_of_nothing(node) and any(self.new[value].kind != "constant" for value in node.inputs):
            return False
        if type.scalar:
            return True
        elements = product(type.shape)
        small = isinstance(elements, int) and elements <= LARGEST
        return small and bool(node.inputs) and node not in self.kept and node not in self.written


def _evaluate(node: Node, args: tuple[Any, ...]) -> np.ndarray | np.generic | None:
    """The value, or None where computing it raises or warns, or gives another type than the node's."""
    values = _values(args)
    with raised(), np.errstate(all="raise", under="ignore"):
        try:
            value = node.op.reference(*values, **node.params)  # type: ignore[misc]
        except (ArithmeticError, ValueError, TypeError, LookupError, Warning):
            return None
    return value if type_of(value) == node.type else None


def _is_of_nothing(node: Node) -> bool:
    """Whether it reduces axes of an array of known sizes without elements: what is in it does not matter."""
    if not isinstance(node.op.lower, Reduce):
        return False
    shape = node.args[0].type.shape
    return is_static(shape) and any(shape[axis] == 0 for axis in node.params["axis"])


def _values(value: Any) -> Any:
    if isinstance(value, Node):
        return value.args[0] if value.kind == "constant" else np.empty(value.type.shape, value.type.dtype)
    if not isinstance(value, tuple):
        return value
    return ListLiteral(map(_values, value)) if type(value) is ListLiteral else tuple(map(_values, value))
