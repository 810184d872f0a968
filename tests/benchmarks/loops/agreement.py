"""Whether a contender computes what NumPy does, within what another order of operations explains."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.loops.record import Loops

TOLERANCES = {"float32": 1e-3}
TOLERANCE = 1e-6
"""Of programs of other dtypes, relative to the largest number: the computations are long."""


class Expected:
    """What NumPy gives: the result of a program, and what its arguments are afterwards."""

    def __init__(self, program: Loops, size: str) -> None:
        before, self.args = program.arguments(size), program.arguments(size)
        self.result = program.function(*self.args)
        self.tolerance = TOLERANCES.get(program.dtype, TOLERANCE)
        self.results = _leaves(self.result)
        self.written = [
            new
            for old, new in zip(before, self.args, strict=True)
            if isinstance(new, np.ndarray) and not _is_one_of(new, self.results) and not np.array_equal(new, old)
        ]

    def agrees(self, result: Any, args: Any) -> bool:
        """Of a contender that works as NumPy does."""
        return close((result, args), (self.result, self.args), self.tolerance)

    def agrees_returned(self, result: Any) -> bool:
        """Of one that returns, behind the result, what it would have written; what it leaves out is scratch."""
        given, wanted = _leaves(result), [*self.results, *self.written]
        is_whole = max(1, len(self.results)) <= len(given) <= len(wanted)
        return is_whole and close(given, wanted[: len(given)], self.tolerance)


def close(result: Any, expected: Any, tolerance: float) -> bool:
    """Whether results are right within what another order of operations explains, after a long computation."""
    if isinstance(expected, tuple | list):
        return len(result) == len(expected) and all(
            close(one, other, tolerance) for one, other in zip(result, expected, strict=True)
        )
    if expected is None or callable(expected):
        return result is expected
    one, other = np.asarray(result), np.asarray(expected)
    if one.shape != other.shape:
        return False
    scale = float(np.nanmax(np.abs(other), initial=0)) or 1.0
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None else [value]


def _is_one_of(value: Any, others: list[Any]) -> bool:
    return any(value is other for other in others)
