"""Verify mode: every call of a compiled graph is compared with its NumPy interpretation, in the running program.

In: a graph and the runner a backend made of it. Out: a runner that raises ``InternalError`` at the first result that
is not NumPy's within the contract. The interpreter works on copies of what the graph writes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.errors import InternalError
from capture.frames.settings import Runner
from capture.ir.graph import Graph
from capture.ir.interpret import Interpreter

RELATIVE = {"f": 2.0**-16, "d": 2.0**-42}
"""What a chain of operations may drift by, relative to the largest value of an array, for float32 and float64."""


class Verified:
    """``runner``, checked. ``plan`` is passed on, for reports."""

    def __init__(self, graph: Graph, runner: Runner) -> None:
        self.graph = graph
        self.runner = runner
        self.plan = getattr(runner, "plan", None)
        written = set(graph.written)
        self.written = [index for index, node in enumerate(graph.placeholders) if node in written]

    def __call__(self, *inputs: Any) -> tuple[Any, ...] | None:
        copies = [value.copy(order="K") if i in self.written else value for i, value in enumerate(inputs)]
        results = self.runner(*inputs)
        if results is None:
            return None
        with np.errstate(all="ignore"):
            expected = Interpreter(self.graph).run(*copies)
        for index, (got, wanted) in enumerate(zip(results, expected, strict=True)):
            self._compare(f"result {index}", got, wanted)
        for index in self.written:
            self._compare(f"argument {self.graph.placeholders[index].name}", inputs[index], copies[index])
        return results

    def _compare(self, what: str, got: Any, expected: Any) -> None:
        fault = difference(got, expected)
        if fault is not None:
            raise InternalError(f"{what} of graph {self.graph.name} {fault}\n{self.graph}")


def difference(got: Any, expected: Any) -> str | None:
    """How ``got`` differs from ``expected`` by more than the contract allows, in words; None if it does not."""
    if type(got) is not type(expected):
        return f"is a {type(got).__name__} instead of a {type(expected).__name__}"
    if not isinstance(expected, np.ndarray | np.generic):
        return None if repr(got) == repr(expected) else f"is {got!r} instead of {expected!r}"
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return f"is {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
    with np.errstate(all="ignore"):
        tolerance = RELATIVE.get(expected.dtype.char, 0.0)
        scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))) if tolerance else 0.0
        same = np.isclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=expected.dtype.kind == "f")
    if bool(np.all(same)):
        return None
    place = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(same)))
    return f"differs at {place}: {np.atleast_1d(got)[place]!r} instead of {np.atleast_1d(expected)[place]!r}"
