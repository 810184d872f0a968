"""Verify mode: every call of a compiled graph is compared with its NumPy interpretation, in the running program.

In: a graph, the runner a backend made of it, and the backend. Out: a runner that raises ``InternalError`` where a
result is not NumPy's within the contract, and names the first node that differs, its line, and by how many units in the
last place::

    result 0 of graph f differs at (2,): 3.1 instead of 3.0 (2.25e+14 ULP)
    first different: %multiply, model.py:12, at (2,): 3.1 instead of 3.0 (2.25e+14 ULP)

Every bit counts. But where some operation of the graph may be rounded in another way than NumPy's (``ir/rounding.py``),
what a few runs that round in other ways give is no fault: as many of them are made as a difference needs to be
explained, up to ``MOST_RUNS``. Under ``math="numpy"`` there are none of these. What has never been written may be
anything.

The interpreter works on copies of what the graph writes or draws from; what it warns of is not told a second time.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from capture import config
from capture.errors import CaptureError, InternalError, Undone
from capture.frames.settings import Backend, Runner
from capture.ir.graph import Graph, Node, Transformer
from capture.ir.interpret import Interpreter
from capture.ir.ops.random import same_state
from capture.ir.rounding import Filled, Rounded, has_uninitialised
from capture.ir.types import OBJECTS
from capture.ir.warned import noted

MOST_RUNS = 32
MOST_TIMES = 4
"""How many times as far as others a result may be: once for each run, since more of them would be farther apart."""

Results = tuple[list[Any], list[Any]]
"""What a graph gives, and what it leaves in the inputs that it writes."""


class Verified:
    """``runner``, checked. ``plan`` is passed on, for reports."""

    def __init__(self, graph: Graph, runner: Runner, backend: Backend | None = None) -> None:
        self.graph = graph
        self.runner = runner
        self.backend = backend
        self.exact, self.fast_math = config.math == "numpy", config.fast_math
        self.plan = getattr(runner, "plan", None)
        written = set(graph.written)
        self.written = [index for index, node in enumerate(graph.placeholders) if node in written]

    def __call__(self, *inputs: Any) -> tuple[Any, ...] | None:
        before = self._copies(inputs)
        results = self.runner(*inputs)
        if results is None:
            return None
        found = self._fault(self.graph, (list(results), [inputs[index] for index in self.written]), before)
        if found is not None:
            place, fault = found
            raise InternalError(
                f"{self._name(place)} of graph {self.graph.name} {fault}\n{self.first_different(before)}\n{self.graph}"
            )
        return results

    def _name(self, place: int) -> str:
        results = len(self.graph.outputs)
        if place < results:
            return f"result {place}"
        return f"argument {self.graph.placeholders[self.written[place - results]].name}"

    def _copies(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs, those that the graph changes as copies; generators that share their state share it still."""
        copied: dict[int, Any] = {}
        copies = [value.copy(order="K") if i in self.written else value for i, value in enumerate(inputs)]
        return [copy.deepcopy(value, copied) if type(value) in OBJECTS.values() else value for value in copies]

    def _run(self, interpreter: Interpreter, inputs: Sequence[Any]) -> Results:
        copies = self._copies(inputs)
        with np.errstate(all="ignore"), noted():
            results = interpreter.run(*copies)
        return list(results), [copies[index] for index in self.written]

    def _fault(self, graph: Graph, got: Results, inputs: Sequence[Any]) -> tuple[int, str] | None:
        """Which of all that a graph gives and leaves is not NumPy's within the contract, and how it differs."""
        expected = self._run(Filled(graph), inputs)
        pairs = list(zip([*got[0], *got[1]], [*expected[0], *expected[1]], strict=True))
        slacks = [Slack(wanted, signs=not self.fast_math) for _, wanted in pairs]
        if has_uninitialised(graph):
            _widen(slacks, self._run(Filled(graph, odd=True), inputs))
        rounded = Rounded(graph, np.random.default_rng(0), self.fast_math)
        left = MOST_RUNS if rounded.free and not self.exact else 0
        while True:
            faults = [difference(mine, wanted, slack) for (mine, wanted), slack in zip(pairs, slacks, strict=True)]
            place = next((place for place, fault in enumerate(faults) if fault is not None), None)
            if place is None:
                return None
            if left == 0:
                return place, str(faults[place])
            left -= 1
            try:
                _widen(slacks, self._run(rounded, inputs))
            except Undone:
                return None

    def first_different(self, inputs: Sequence[Any]) -> str:
        """The first node that differs where the graph ends with it, in words."""
        if self.backend is None:
            return "the backend is not known, so neither is the first node that differs"
        for node in self.graph.calls:
            if isinstance(node.type, tuple):
                continue
            part = ending_with(self.graph, node)
            copies = self._copies(inputs)
            try:
                results = self.backend(part, tuple(inputs))(*copies)
            except CaptureError as error:
                return f"%{node.name}, {node.position}, cannot be computed alone: {error}"
            if results is None:
                continue
            left = [copies[index] for index in self.written]
            found = self._fault(part, (list(results), left), inputs)
            if found is not None:
                return f"first different: %{node.name}, {node.position}, {found[1]}"
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


NUMBERS = (np.ndarray, np.generic, bool, int, float, complex)


class Slack:
    """How far each element of a result may be from the expected one; ``widen`` tells what another run gave.

    An element that no other run changed must be the same to the bit, the sign of a zero included (``signs``).
    """

    def __init__(self, expected: Any, signs: bool = True) -> None:
        self.expected, self.signs = expected, signs
        self.far: np.ndarray | None = None  # for each element; infinite where it may be anything
        self.any_size = False
        self.runs = 0

    def widen(self, other: Any) -> None:
        if not isinstance(self.expected, NUMBERS) or np.shape(other) != np.shape(self.expected):
            self.any_size = True
            return
        self.runs += 1
        far = _distance(np.atleast_1d(other), np.atleast_1d(self.expected))
        self.far = far if self.far is None else np.maximum(self.far, far)

    def holds(self, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Which elements are as they should be."""
        same = _same(got, expected, self.signs)
        if self.far is None or bool(np.all(same)):
            return same
        far = self.far * min(self.runs, MOST_TIMES)
        return np.asarray(same | ((far > 0) & (_distance(got, expected) <= far)))


def _widen(slacks: Sequence[Slack], others: Results) -> None:
    for slack, other in zip(slacks, [*others[0], *others[1]], strict=True):
        slack.widen(other)


def _same(got: np.ndarray, expected: np.ndarray, signs: bool) -> np.ndarray:
    """Which elements are one value; all NaN are."""
    if expected.dtype.kind == "c":
        return _same(got.real, expected.real, signs) & _same(got.imag, expected.imag, signs)
    if expected.dtype.kind != "f":
        return np.asarray(got == expected)
    zeros = np.signbit(got) == np.signbit(expected) if signs else True
    return np.asarray(((got == expected) & zeros) | (np.isnan(got) & np.isnan(expected)))


def _distance(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How far elements are from each other; infinitely, if they are not numbers that have a distance."""
    if expected.dtype.kind == "c":
        return np.maximum(_distance(got.real, expected.real), _distance(got.imag, expected.imag))
    same = _same(got, expected, signs=False)
    if expected.dtype.kind != "f":
        return np.where(same, 0.0, np.inf)
    wide = np.result_type(got, np.float64)
    with np.errstate(all="ignore"):
        far = np.abs(np.subtract(got, expected, dtype=wide))
    return np.where(same, 0.0, np.where(np.isfinite(far), far, np.inf))


def difference(got: Any, expected: Any, slack: Slack | None = None) -> str | None:
    """How ``got`` differs from ``expected`` by more than ``slack`` allows, in words; None if it does not."""
    slack = slack or Slack(expected)
    if type(got) is not type(expected):
        return f"is a {type(got).__name__} instead of a {type(expected).__name__}"
    if type(expected) in OBJECTS.values():
        return None if same_state(got, expected) else "is a generator in another state"
    if not isinstance(expected, NUMBERS):
        return None if repr(got) == repr(expected) else f"is {got!r} instead of {expected!r}"
    if slack.any_size and np.ndim(got) == np.ndim(expected):
        return None
    mine, theirs = np.atleast_1d(got), np.atleast_1d(expected)
    if (mine.dtype, np.shape(got)) != (theirs.dtype, np.shape(expected)):
        return f"is {mine.dtype}{list(np.shape(got))} instead of {theirs.dtype}{list(np.shape(expected))}"
    same = slack.holds(mine, theirs)
    if bool(np.all(same)):
        return None
    if not isinstance(expected, np.ndarray | np.generic):
        return f"is {got!r} instead of {expected!r}"
    place = tuple(int(axis[0]) for axis in np.nonzero(~same))
    return f"differs at {place}: {mine[place]!r} instead of {theirs[place]!r}{_in_ulp(mine[place], theirs[place])}"


def _in_ulp(got: Any, expected: Any) -> str:
    """The difference of two floats, or of parts of complex numbers, in units in the last place of the expected one."""
    if expected.dtype.kind not in "fc" or not (np.isfinite(got) and np.isfinite(expected)):
        return ""
    parts = ((got.real, expected.real), (got.imag, expected.imag)) if expected.dtype.kind == "c" else ((got, expected),)
    with np.errstate(all="ignore"):
        ulp = max(abs(np.longdouble(a) - np.longdouble(b)) / np.longdouble(np.spacing(np.abs(b))) for a, b in parts)
    return f" ({float(ulp):.3g} ULP)"
