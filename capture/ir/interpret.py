"""Run a graph with NumPy, node by node: the eager backend, and the oracle of tests.

In: a graph and its inputs, by position. Out: the tuple of its results, each the very object NumPy makes; stores are
done in place, on the given arrays too.

>>> Interpreter(graph).run(np.ones(3))
(array([2., 2., 2.]),)

An analysis overrides what it changes: ``placeholder``, ``constant``, ``call`` or ``output``.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from typing import Any

from capture.errors import GraphError, Undone
from capture.ir.graph import Graph, Node, Position, Step
from capture.ir.op import ListLiteral
from capture.ir.shapes import Expr, Symbol, evaluate
from capture.ir.telling import warn_at
from capture.ir.warned import noted


class Interpreter:
    """Evaluates nodes in program order; ``values`` maps nodes to values, ``sizes`` names of symbols to theirs.

    Each run has values of its own, which end with it: threads may run one graph at once.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[Node, Any] = {}
        self.sizes: dict[str, int] = {}
        self._last_use = _last_uses(graph)

    def run(self, *inputs: Any) -> tuple[Any, ...]:
        placeholders = self.graph.placeholders
        if len(inputs) != len(placeholders):
            raise GraphError(f"{self.graph.name} takes {len(placeholders)} inputs, {len(inputs)} were given")
        running = object.__new__(type(self))
        vars(running).update(vars(self), values={}, sizes={})
        return running._run(dict(zip(placeholders, inputs, strict=True)))

    def _run(self, given: Mapping[Node, Any]) -> tuple[Any, ...]:
        for node in self.graph:
            if node.kind == "output":
                return self.output(node, self.resolve(node.args))
            self.values[node] = value = self.evaluate(node, given)
            for symbol, place in new_symbols(node, self.sizes):
                self.sizes[symbol.name] = value if place is None else value.shape[place]
            for value in self._last_use.get(node, ()):
                del self.values[value]
        raise GraphError(f"{self.graph.name} has no output")

    def evaluate(self, node: Node, given: Mapping[Node, Any]) -> Any:
        if node.kind == "placeholder":
            return self.placeholder(node, given[node])
        if node.kind == "constant":
            return self.constant(node, node.args[0])
        params = {name: self.resolve(value) for name, value in node.params.items()}
        return self.call(node, self.resolve(node.args), params)

    def resolve(self, value: Any) -> Any:
        """``value`` with nodes and sizes replaced by their values."""
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, Expr):
            return evaluate(value, self.sizes)
        if isinstance(value, tuple):
            items = map(self.resolve, value)
            return ListLiteral(items) if type(value) is ListLiteral else tuple(items)
        if isinstance(value, Step):
            return Step(value.op, self.resolve(value.params))
        return value

    def placeholder(self, node: Node, value: Any) -> Any:
        return value

    def constant(self, node: Node, value: Any) -> Any:
        return value

    def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        reference = node.op.reference
        assert reference is not None  # macros do not stand in graphs
        return reference(*args, **params)

    def output(self, node: Node, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return values


def new_symbols(node: Node, known: Container[str]) -> Iterator[tuple[Symbol, int | None]]:
    """The size symbols that a value tells for the first time: each with its axis, or None for a Python int."""
    shape = getattr(node.type, "shape", ())
    for axis, size in enumerate(shape):
        if isinstance(size, Symbol) and size.name not in known:
            yield size, axis
    size = getattr(node.type, "size", None)
    if isinstance(size, Symbol) and size.name not in known:
        yield size, None


class Placed(Interpreter):
    """Warns at the user's lines: what NumPy blames on the code of an operation stands for the instruction there.

    It does so when the run has ended, for what is ``Undone`` warns again.
    """

    def _run(self, given: Mapping[Node, Any]) -> tuple[Any, ...]:
        self.told: list[tuple[Position, Any, Any]] = []
        undone = False
        try:
            return super()._run(given)
        except Undone:
            undone = True
            raise
        finally:
            for place, message, category in self.told if not undone else ():
                warn_at(place, message, category)

    def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        position = node.position
        if position is None:
            return super().call(node, args, params)
        with noted() as caught:
            value = super().call(node, args, params)
        for warning in caught:
            ours = warning.filename.startswith(_PACKAGE) or warning.filename == "<string>"  # else a line of NumPy's
            place = position.warned if ours or position.within else Position(warning.filename, warning.lineno)
            self.told.append((place, warning.message, warning.category))
        return value


_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes whose values may be dropped after each node."""
    last: dict[Node, Node] = {}
    for node in graph:
        for value in (node, *node.inputs):
            last[value] = node
    result: dict[Node, list[Node]] = {}
    for value, node in last.items():
        result.setdefault(node, []).append(value)
    return result


def interpret(graph: Graph, *inputs: Any) -> tuple[Any, ...]:
    """The results of one run."""
    return Interpreter(graph).run(*inputs)
