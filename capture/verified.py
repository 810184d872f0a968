"""Verify mode: every call of a compiled graph is compared with its NumPy interpretation, in the running program.

In: a graph, the runner a backend made of it, and the backend. Out: a runner that raises ``InternalError`` where a
result is not NumPy's within the contract, and names the first node that differs, its line, and by how many units in the
last place::

    result 0 of graph f differs at (2,): 3.1 instead of 3.0 (2.25e+14 ULP)
    first different: %multiply, model.py:12, at (2,): 3.1 instead of 3.0 (2.25e+14 ULP)

The interpreter works on copies of what the graph writes or draws from. Under ``math="numpy"`` every bit counts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from capture import config
from capture.errors import CaptureError, InternalError
from capture.frames.settings import Backend, Runner
from capture.ir.graph import Graph, Node, Transformer
from capture.ir.interpret import Interpreter
from capture.ir.ops.random import same_state
from capture.ir.types import OBJECTS

RELATIVE = {"f": 2.0**-16, "d": 2.0**-42}
"""What a chain of operations may drift by, relative to the largest value of an array, for float32 and float64."""


class Verified:
    """``runner``, checked. ``plan`` is passed on, for reports."""

    def __init__(self, graph: Graph, runner: Runner, backend: Backend | None = None) -> None:
        self.graph = graph
        self.runner = runner
        self.backend = backend
        self.exact = config.math == "numpy"
        self.plan = getattr(runner, "plan", None)
        written = set(graph.written)
        self.written = [index for index, node in enumerate(graph.placeholders) if node in written]

    def __call__(self, *inputs: Any) -> tuple[Any, ...] | None:
        before = self._copies(inputs)
        results = self.runner(*inputs)
        if results is None:
            return None
        copies = self._copies(before)
        with np.errstate(all="ignore"):
            expected = Interpreter(self.graph).run(*copies)
        for index, (got, wanted) in enumerate(zip(results, expected, strict=True)):
            self._compare(f"result {index}", got, wanted, before)
        for index in self.written:
            self._compare(f"argument {self.graph.placeholders[index].name}", inputs[index], copies[index], before)
        return results

    def _copies(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs, those that the graph changes as copies; generators that share their state share it still."""
        copied: dict[int, Any] = {}
        copies = [value.copy(order="K") if i in self.written else value for i, value in enumerate(inputs)]
        return [copy.deepcopy(value, copied) if type(value) in OBJECTS.values() else value for value in copies]

    def _compare(self, what: str, got: Any, expected: Any, inputs: Sequence[Any]) -> None:
        fault = difference(got, expected, self.exact)
        if fault is not None:
            found = self.first_different(inputs)
            raise InternalError(f"{what} of graph {self.graph.name} {fault}\n{found}\n{self.graph}")

    def first_different(self, inputs: Sequence[Any]) -> str:
        """The first node that differs where the graph ends with it, in words."""
        if self.backend is None:
            return "the backend is not known, so neither is the first node that differs"
        for node in self.graph.calls:
            if isinstance(node.type, tuple):
                continue
            part = ending_with(self.graph, node)
            with np.errstate(all="ignore"):
                (expected,) = Interpreter(part).run(*self._copies(inputs))
            try:
                results = self.backend(part, tuple(inputs))(*self._copies(inputs))
            except CaptureError as error:
                return f"%{node.name}, {node.position}, cannot be computed alone: {error}"
            fault = None if results is None else difference(results[0], expected, self.exact)
            if fault is not None:
                return f"first different: %{node.name}, {node.position}, {fault}"
        return "every node alone is as NumPy's; the difference comes from computing them together"


def ending_with(graph: Graph, node: Node) -> Graph:
    """The graph up to a node, which is its only result."""
    return _Until(graph, node).run()


class _Until(Transformer):
    def __init__(self, graph: Graph, last: Node) -> None:
        super().__init__(graph)
        self.last = last
        self.is_over = False

    def call(self, node: Node) -> Any:
        new = None if self.is_over else self.copy(node)
        self.is_over |= node is self.last
        return new

    def constant(self, node: Node) -> Any:
        return None if self.is_over else self.copy(node)

    def output(self, node: Node) -> Any:
        self.graph.output(self.new[self.last])


def difference(got: Any, expected: Any, exact: bool = False) -> str | None:
    """How ``got`` differs from ``expected`` by more than the contract allows, in words; None if it does not."""
    if type(got) is not type(expected):
        return f"is a {type(got).__name__} instead of a {type(expected).__name__}"
    if type(expected) in OBJECTS.values():
        return None if same_state(got, expected) else "is a generator in another state"
    if not isinstance(expected, np.ndarray | np.generic):
        return None if repr(got) == repr(expected) else f"is {got!r} instead of {expected!r}"
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return f"is {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
    mine, theirs = np.atleast_1d(got), np.atleast_1d(expected)
    same = _same(mine, theirs, exact)
    if bool(np.all(same)):
        return None
    place = tuple(int(axis[0]) for axis in np.nonzero(~same))
    return f"differs at {place}: {mine[place]!r} instead of {theirs[place]!r}{_in_ulp(mine[place], theirs[place])}"


def _same(got: np.ndarray, expected: np.ndarray, exact: bool) -> np.ndarray:
    kind = expected.dtype.kind
    if exact:
        zeros = np.signbit(got) == np.signbit(expected) if kind == "f" else True
        nan = np.isnan(got) & np.isnan(expected) if kind in "fc" else False
        return np.asarray(((got == expected) & zeros) | nan)
    with np.errstate(all="ignore"):
        tolerance = RELATIVE.get(expected.dtype.char, 0.0)
        scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))) if tolerance else 0.0
        return np.isclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=kind == "f")


def _in_ulp(got: Any, expected: Any) -> str:
    """The difference of two floats in units in the last place of the expected one."""
    if expected.dtype.kind != "f" or not (np.isfinite(got) and np.isfinite(expected)):
        return ""
    wide = np.longdouble
    with np.errstate(all="ignore"):
        ulp = abs(wide(got) - wide(expected)) / wide(np.spacing(np.abs(expected)))
    return f" ({float(ulp):.3g} ULP)"
