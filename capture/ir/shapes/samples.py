"""What sizes are at a few points: one point where a statement is wrong saves the search for its proof.

In: a size. Out: its value at each point, that is, for one choice of all symbols; None where a divisor is zero there.
The values of a symbol depend on its name and declared range alone, so that what was computed of a part serves all
sizes that it is part of. ``n - m`` may be anything, ``n * m`` not:

>>> n, m = Symbol("n"), Symbol("m")
>>> sorted({(value > 0) - (value < 0) for value in samples(n - m)}), min(samples(n * m))
([-1, 0, 1], 0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod
from zlib import crc32

from capture.ir.shapes.expr import Expr, FloorDiv, Max, Min, Mod, Product, Size, Sum, Symbol

Values = tuple[int | None, ...]

POINTS: tuple[tuple[int, int], ...] = (
    (0, 1), (1, 1), (4, 1), (100, 1), (0, 3), (0, 7), (2, 8), (0, 60), (5, 4000), (0, 100_000),
)  # fmt: skip
"""At each point a symbol is the first number above its smallest value, plus less than the second one."""

EVALUATE: Mapping[type[Expr], Callable[..., int]] = {
    FloorDiv: operator.floordiv,
    Mod: operator.mod,
    Min: min,
    Max: max,
}


def samples(size: Size) -> Values:
    return _samples(size) if isinstance(size, Expr) else (size,) * len(POINTS)


def samples_of_product(factors: Product) -> Values:
    (atom, exponent), *others = factors
    if not others and exponent == 1:  # as nearly all are
        return samples(atom)
    columns = [samples(atom) for atom, exponent in factors for _ in range(exponent)]
    return tuple(None if None in values else prod(values) for values in zip(*columns, strict=True))


@lru_cache(maxsize=8192)
def _samples(size: Expr) -> Values:
    if isinstance(size, Symbol):
        return tuple(_of_symbol(size, point) for point in range(len(POINTS)))
    if isinstance(size, Sum):
        coefficients = [c for _, c in size.terms]
        columns = (samples_of_product(factors) for factors, _ in size.terms)
        return tuple(
            None if None in values else sum(map(operator.mul, coefficients, values), size.constant)
            for values in zip(*columns, strict=True)
        )
    evaluate = EVALUATE[type(size)]
    return tuple(_apply(evaluate, values) for values in zip(*map(samples, size.operands), strict=True))


def _apply(evaluate: Callable[..., int], values: tuple[int | None, ...]) -> int | None:
    try:
        return None if None in values else evaluate(*values)
    except ZeroDivisionError:
        return None


def _of_symbol(symbol: Symbol, point: int) -> int:
    first, spread = POINTS[point]
    offset = first + crc32(f"{symbol.name}/{point}".encode()) % spread
    if symbol.low is None:
        return (0 if symbol.high is None else symbol.high) - offset * (-1 if point % 2 and symbol.high is None else 1)
    value = symbol.low + offset
    return value if symbol.high is None else min(value, symbol.high)
