"""What rounding may change: a graph run as if some operations were off by a few units in the last place.

In: a graph, its inputs, and a source of random numbers. Out: the graph's results, where each operation that kernels may
round otherwise than NumPy is moved at random by what the contract lets it differ, and by a unit what is computed from
it. What runs of this kind spread over is no fault of a kernel; for graphs without such operations there is nothing but
NumPy's bits.

>>> freely_rounded(graph), Rounded(graph, np.random.default_rng(0)).run(x)
({%sin, %multiply}, (array([0.84147098, 0.90929743]),))

Mathematical functions are within 4 units of the right value, so that two of them differ by at most ``UNITS``. Sums and
products of matrices may add in any order: the error of that grows with the sum of the magnitudes. NumPy itself may be
far off where it adds one after the other, which a look at the sum in wider numbers tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from capture.errors import Undone
from capture.ir.graph import Graph, Node
from capture.ir.interpret import Interpreter
from capture.ir.op import Extern, Pointwise, Scan
from capture.ir.op import get as get_op
from capture.ir.ops.exact import IN_LOOPS
from capture.ir.ops.loops import run_loop
from capture.ir.program import STEPS, Program

UNITS = 5
MOST_STEPS = 100_000
"""Steps of a loop that is moved beyond those of the loop as it is: a fixed point may move away each time."""

PIECE = 1 << 14
"""Elements that are moved at a time, by random numbers that are used again."""

WIDE = {"e": "d", "f": "d", "d": "g", "F": "D", "D": "G"}
"""Dtypes that hold more digits."""


# How far a result may be from another: units in the last place, or a function of the operation's reference, operands,
# parameters and result ----------------------------------------------------------------------------------------------
Distance = int | Callable[[Any, tuple[Any, ...], Mapping[str, Any], Any], Any]


def _of_norm(reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any) -> Any:
    return np.full(np.shape(value), UNITS * _eps(value) * np.max(np.abs(value), initial=0))


def _of_products(reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any) -> Any:
    """BLAS is the same here and there, but may see its operands elsewhere in memory."""
    return UNITS * _eps(value) * reference(*map(np.abs, args), **params)


def _of_sums(reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any) -> Any:
    wide = _wider(value, args)
    own_error = np.abs(value - reference(*wide, **params))
    return UNITS * _eps(value) * reference(*map(np.abs, wide), **params) + own_error


def _of_factors(reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any) -> Any:
    """Each product is rounded once; in another order, at random."""
    count = np.sqrt(np.size(args[0]) / max(np.size(value), 1))
    own_error = np.abs(value - reference(*_wider(value, args), **params))
    return UNITS * _eps(value) * (1 + count) * np.abs(value) + own_error


def _of_deviations(reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any) -> Any:
    """The mean that is subtracted is off by what the largest value tells."""
    wide = _wider(value, args)
    own_error = np.abs(value - reference(*wide, **params))
    shift = UNITS * _eps(value) * np.max(np.abs(wide[0]), initial=0)
    return UNITS * _eps(value) * np.abs(value) + (shift if reference is np.std else shift**2) + own_error


def _eps(value: Any) -> Any:
    return np.finfo(value.dtype).eps


def _wider(value: Any, args: Iterable[Any]) -> list[Any]:
    """Operands in a dtype wider than the result's; those that are no arrays as they are."""
    dtype = np.result_type(WIDE[value.dtype.char], *(arg for arg in args if isinstance(arg, np.ndarray)))
    return [arg.astype(dtype) if isinstance(arg, np.ndarray | np.generic) else arg for arg in args]


# Which operations ---------------------------------------------------------------------------------------------------
FREE: Mapping[str, Distance] = {
    **dict.fromkeys((*IN_LOOPS, "float_power", "scalar_power"), UNITS),
    **dict.fromkeys(("sum", "total", "mean", "contract"), _of_sums),
    "prod": _of_factors,
    **dict.fromkeys(("matmul", "dot", "inner", "vdot", "product"), _of_products),
    **dict.fromkeys(("var", "std"), _of_deviations),
}
"""By op: those whose results may be others than NumPy's."""

FOLLOWING: Mapping[type, Distance] = {Pointwise: 1, Scan: _of_products, Extern: _of_norm}
"""By lowering: those that have NumPy's bits for NumPy's operands. For other operands they are rounded anew."""

ARITHMETIC: Mapping[type, Distance] = {Pointwise: UNITS}
"""By lowering: those that ``fast_math`` frees."""


def _own_distance(name: str, fast_math: bool) -> Distance | None:
    known = FREE.get(name)
    return ARITHMETIC.get(type(get_op(name).lower)) if known is None and fast_math else known


def freely_rounded(graph: Graph, fast_math: bool = False) -> set[Node]:
    """The nodes that are not NumPy's to the bit, and those that are computed from them."""
    found: set[Node] = set()
    for node in graph.calls:
        if _is_free(node, fast_math) or not found.isdisjoint(node.inputs):
            found.add(node)
    return found


def _is_free(node: Node, fast_math: bool) -> bool:
    if node.target == "loop":
        return any(_distance_of_step(step, fast_math) for step in node.params["program"].steps)
    dtype = getattr(node.type, "dtype", None)
    return dtype is not None and dtype.char in WIDE and _own_distance(node.target, fast_math) is not None


def _distance_of_step(step: Node, fast_math: bool) -> Distance | None:
    if step.target in ("map", "reduce"):
        return _own_distance(step.params["op"], fast_math)
    return FREE.get(step.target)


# Running ------------------------------------------------------------------------------------------------------------
class Filled(Interpreter):
    """Fills what is uninitialised: with zeros, or with what is no number or the largest one (``odd``).

    What the two ways make different has not been written.
    """

    def __init__(self, graph: Graph, odd: bool = False) -> None:
        super().__init__(graph)
        self.odd = odd

    def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if node.target == "loop":
            return run_loop(*args, **params, evaluate=self.step)
        value = super().call(node, args, params)
        return self._filled(value) if "uninitialised" in node.op.tags else value

    def step(self, step: Node, args: tuple[Any, ...]) -> Any:
        value = STEPS[step.target](*args, **step.params)
        return self._filled(value) if step.target == "new" and step.params.get("value") is None else value

    def _filled(self, value: Any) -> Any:
        value.fill(0 if not self.odd else np.iinfo(value.dtype).max if value.dtype.kind in "iu" else np.nan)
        return value


def has_uninitialised(graph: Graph) -> bool:
    steps = (step for node in graph.calls if node.target == "loop" for step in node.params["program"].steps)
    return any("uninitialised" in node.op.tags for node in graph.calls) or any(
        step.target == "new" and step.params.get("value") is None for step in steps
    )


class Rounded(Filled):
    """Moves what may differ, each time that it is computed, by a random part of how far it may be.

    ``Undone``: a loop does not come to its end.
    """

    def __init__(self, graph: Graph, random: np.random.Generator, fast_math: bool = False) -> None:
        super().__init__(graph)
        self.random, self.fast_math = random, fast_math
        self.free = freely_rounded(graph, fast_math)
        self.shares = random.uniform(-1, 1, 2 * PIECE)

    def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if node not in self.free:
            return super().call(node, args, params)
        if node.target == "loop":
            return self._loop(*args, **params)
        value = super().call(node, args, params)
        distance = _own_distance(node.target, self.fast_math) or FOLLOWING.get(type(node.op.lower))
        return self._moved(distance, node.op.reference, args, params, value)

    def _loop(self, *operands: Any, program: Program, types: tuple[Any, ...]) -> tuple[Any, ...]:
        count = 0

        def count_step(step: Node, args: tuple[Any, ...]) -> Any:
            nonlocal count
            count += 1
            return self.step(step, args)

        def move_step(step: Node, args: tuple[Any, ...]) -> Any:
            nonlocal count
            count -= 1
            if count < -MOST_STEPS:
                raise Undone(program.name)
            return self._moved_step(step, args)

        run_loop(*operands, program=program, types=types, evaluate=count_step)
        return run_loop(*operands, program=program, types=types, evaluate=move_step)

    def _moved_step(self, step: Node, args: tuple[Any, ...]) -> Any:
        value = self.step(step, args)
        if step.target == "number":
            return float(self._moved(1, None, (), {}, np.float64(value))) if type(value) is float else value
        if step.target not in ("map", "reduce", "matmul"):
            return value
        op = get_op(step.params.get("op", step.target))
        distance = _distance_of_step(step, self.fast_math) or FOLLOWING.get(type(op.lower))
        return self._moved(distance, op.reference, args, dict(step.params.get("params", ())), value)

    def _moved(
        self, distance: Distance | None, reference: Any, args: tuple[Any, ...], params: Mapping[str, Any], value: Any
    ) -> Any:
        if distance is None or not isinstance(value, np.ndarray | np.generic) or value.dtype.char not in WIDE:
            return value
        new = np.array(value, order="K")
        parts = new.ravel(order="K").view(np.finfo(value.dtype).dtype)
        if isinstance(distance, int):
            self._move_by_units(parts, distance)
        else:
            far = np.asarray(distance(reference, args, params, value))
            new += np.where(np.isfinite(far), far, 0) * self.random.uniform(-1, 1, np.shape(value))
        return new[()] if isinstance(value, np.generic) else new

    def _move_by_units(self, parts: np.ndarray, units: int) -> None:
        found = np.finfo(parts.dtype)
        for start in range(0, parts.size, PIECE):
            piece = parts[start : start + PIECE]
            first = self.random.integers(PIECE)
            shares = units * self.shares[first : first + piece.size]
            piece *= 1 + found.eps * shares
            piece += found.smallest_subnormal * shares
