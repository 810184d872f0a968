"""Rewrite by rules that are exact for every input, NaN, infinities and signed zeros included.

    %a = multiply(%x, 1)
    %b = permute(%a, axes=(1, 0))
    %c = permute(%b, axes=(1, 0))      →    %d = exp(%x)
    %d = exp(%c)

A rule is a row: a pattern, and what takes its place (a variable of the pattern, or a function of the graph and the
variables' values). A replacement must have the type of what it replaces. What is returned or written is a new array
and stays one: rules apply to values that are only read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import CannotInfer
from capture.ir.passes.aliasing import escaping, written
from capture.ir.types import ArrayType
from capture.records import dataclass


# Patterns ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Variable:
    """Matches any value; the same variable matches the same value."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """Matches a call of ``target`` whose operands match; ``name`` binds the node itself."""

    target: str
    args: tuple[Any, ...]
    name: str = ""


def call(target: str, *args: Any, name: str = "") -> Call:
    return Call(target, args, name)


def match(pattern: Any, value: Any, bound: dict[str, Any]) -> bool:
    """Whether ``value`` has the form of ``pattern``; ``bound`` receives the variables."""
    if isinstance(pattern, Variable):
        return bound.setdefault(pattern.name, value) is value
    if isinstance(pattern, Call):
        if not isinstance(value, Node) or value.kind != "call" or value.target != pattern.target:
            return False
        if pattern.name:
            bound[pattern.name] = value
        return len(value.args) == len(pattern.args) and all(
            match(item, arg, bound) for item, arg in zip(pattern.args, value.args, strict=True)
        )
    return not isinstance(value, Node) and _same_number(pattern, value)


def _same_number(pattern: Any, value: Any) -> bool:
    if type(value) not in (bool, int, float) or value != pattern:
        return False
    return bool(np.signbit(float(value)) == np.signbit(float(pattern)))


# Rules ------------------------------------------------------------------------------------------------------------
X, Y = Variable("x"), Variable("y")


def _permute_twice(graph: Graph, x: Any, inner: Node, outer: Node) -> Any:
    first, second = inner.params["axes"], outer.params["axes"]
    return graph.call("permute", x, axes=tuple(first[axis] for axis in second))


def _reshape_twice(graph: Graph, x: Any, inner: Node, outer: Node) -> Any:
    return graph.call("reshape", x, shape=outer.params["shape"])


def _if(condition: Callable[..., bool]) -> Callable[..., Any]:
    """The operand ``x``, where the node's parameters say that it is the same."""
    return lambda graph, x, node: x if condition(x.type, **node.params) else None


def _keeps_order(base: ArrayType, axes: tuple[int, ...]) -> bool:
    return axes == tuple(range(base.ndim))


def _takes_all(base: ArrayType, starts: Any, steps: Any, sizes: Any) -> bool:
    return sizes == base.shape and all(start == 0 for start in starts) and all(step == 1 for step in steps)


def _of_float(graph: Graph, x: Any, a: Node) -> Any:
    """The square of an integer may wrap and be negative."""
    return a if a.type.dtype.kind == "f" else None


def _undo(parameter: str) -> Callable[..., Any]:
    """A view that takes back what another did."""

    def replacement(graph: Graph, x: Any, inner: Node, outer: Node) -> Any:
        return x if inner.params[parameter] == outer.params[parameter] else None

    return replacement


RULES: tuple[tuple[Call, Any], ...] = (
    # Neutral elements. x + 0 is none: it turns -0.0 into 0.0.
    (call("multiply", X, 1), X),
    (call("multiply", 1, X), X),
    (call("divide", X, 1), X),
    (call("subtract", X, 0), X),
    (call("add", X, -0.0), X),
    (call("add", -0.0, X), X),
    (call("bitwise_or", X, 0), X),
    (call("bitwise_xor", X, 0), X),
    (call("left_shift", X, 0), X),
    (call("right_shift", X, 0), X),
    # No-ops and inverses
    (call("positive", X), X),
    (call("conjugate", X), X),
    (call("negative", call("negative", X)), X),
    (call("invert", call("invert", X)), X),
    (call("absolute", call("absolute", X, name="a")), lambda graph, x, a: a),
    (call("absolute", call("square", X, name="a")), _of_float),
    (call("where", Y, X, X), X),
    (call("copy", X), X),
    (call("astype", X), X),
    (call("logical_not", call("logical_not", X)), X),
    # Rounding twice
    *((call(f, call(g, X, name="a")), lambda graph, x, a: a)
      for f in ("floor", "ceil", "trunc", "rint") for g in ("floor", "ceil", "trunc", "rint")),
    # Views
    (call("permute", X, name="node"), _if(_keeps_order)),
    (call("reshape", X), X),
    (call("slice", X, name="node"), _if(_takes_all)),
    (call("broadcast_to", X), X),
    (call("permute", call("permute", X, name="inner"), name="outer"), _permute_twice),
    (call("reshape", call("reshape", X, name="inner"), name="outer"), _reshape_twice),
    (call("squeeze", call("expand", X, name="inner"), name="outer"), _undo("axes")),
    (call("expand", call("squeeze", X, name="inner"), name="outer"), _undo("axes")),
)  # fmt: skip
_OF_REALS = frozenset(("multiply", "divide", "add", "conjugate"))
"""Targets whose rules do not hold for complex numbers: a product with one is NaN where a part is infinite."""

RULES_BY_TARGET: dict[str, list[tuple[Call, Any]]] = {}
for _pattern, _replacement in RULES:
    RULES_BY_TARGET.setdefault(_pattern.target, []).append((_pattern, _replacement))


# The pass ---------------------------------------------------------------------------------------------------------
def simplify(graph: Graph) -> Graph:
    if not any(node.target in RULES_BY_TARGET for node in graph.calls):
        return graph
    return _Simplifier(graph).run()


class _Simplifier(Transformer):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.kept = escaping(graph)
        self.written = written(graph)
        self.new_written: set[Node] = set()
        self.replaced: set[Node] = set()

    def run(self) -> Graph:
        """Without what a rule took the place of: it warns of nothing, or would stay for its warnings."""
        graph = super().run()
        read = {value for node in graph for value in node.inputs}
        graph.nodes[:] = [node for node in graph if node in read or node not in self.replaced]
        return graph

    def copy(self, node: Node) -> Node:
        new = super().copy(node)
        if node in self.written:
            self.new_written.add(new)
        return new

    def call(self, node: Node) -> Any:
        new = self.copy(node)
        if node in self.kept or node in self.written:
            return new
        while (simpler := self._rewritten(new)) is not None:
            self.replaced.add(new)
            new = simpler
        return new

    def _rewritten(self, node: Node) -> Node | None:
        if node.kind != "call" or (node.target in _OF_REALS and is_complex(getattr(node.type, "dtype", None))):
            return None
        for pattern, replacement in RULES_BY_TARGET.get(node.target, ()):
            bound: dict[str, Any] = {}
            if not match(pattern, node, bound):
                continue
            result = self._replacement(replacement, bound)
            if isinstance(result, Node) and result is not node and self._stands_for(result, node):
                return result
        return None

    def _replacement(self, replacement: Any, bound: dict[str, Any]) -> Any:
        if isinstance(replacement, Variable):
            return bound[replacement.name]
        try:
            return replacement(self.graph, **bound)
        except CannotInfer:
            return None

    def _stands_for(self, result: Node, node: Node) -> bool:
        """The same type, and memory that no store changes in between."""
        if not isinstance(result.type, ArrayType) or result in self.new_written:
            return False
        return result.type == node.type
