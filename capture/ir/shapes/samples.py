"""What sizes are at a few points: one point where a statement is wrong saves the search for its proof.

In: a size. Out: its value at each point, that is, for one choice of all symbols; None where a divisor is zero there.
The values of a symbol depend on its name and declared range alone, so that what was computed of a part serves all
sizes that it is part of. ``n - m`` may be anything, ``n * m`` not:

>>> n, m = Symbol("n"), Symbol("m")
>>> sorted({(value > 0) - (value < 0) for value in GENERAL.of(n - m)}), min(GENERAL.of(n * m))
([-1, 0, 1], 0)

Where a size is three quarters of another one, hardly any point chosen in advance is one where that holds. The sizes at
hand are, and so are often their multiples:

>>> Points({"n": 9, "m": 12}).of(3 * m - 4 * n)[len(GENERAL.of(n)):]
(0, 0, 0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
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


MULTIPLES = (1, 2, 5)
"""Of the sizes at hand."""


class Points:
    """The points in general and, of one trace, the sizes at hand and their multiples.

    ``at_hand`` has the value of each symbol by name. It may grow: what a symbol is at a point is settled when it is
    first asked for.
    """

    def __init__(self, at_hand: Mapping[str, int] | None = None) -> None:
        self._at_hand = at_hand
        self.count = len(POINTS) + (0 if at_hand is None else len(MULTIPLES))
        self._of_expr = lru_cache(maxsize=8192)(self._compute)

    def of(self, size: Size) -> Values:
        return self._of_expr(size) if isinstance(size, Expr) else (size,) * self.count

    def of_product(self, factors: Product) -> Values:
        (atom, exponent), *others = factors
        if not others and exponent == 1:  # as nearly all are
            return self.of(atom)
        columns = [self.of(atom) for atom, exponent in factors for _ in range(exponent)]
        return tuple(None if None in values else prod(values) for values in zip(*columns, strict=True))

    def _compute(self, size: Expr) -> Values:
        if isinstance(size, Symbol):
            return (*(_of_symbol(size, point) for point in range(len(POINTS))), *self._near(size))
        if isinstance(size, Sum):
            coefficients = [c for _, c in size.terms]
            columns = (self.of_product(factors) for factors, _ in size.terms)
            return tuple(
                None if None in values else sum(map(operator.mul, coefficients, values), size.constant)
                for values in zip(*columns, strict=True)
            )
        evaluate = EVALUATE[type(size)]
        return tuple(_apply(evaluate, values) for values in zip(*map(self.of, size.operands), strict=True))

    def _near(self, symbol: Symbol) -> Iterator[int | None]:
        if self._at_hand is None:
            return
        value = self._at_hand.get(symbol.name, symbol.low or 0)
        for times in MULTIPLES:
            low, high = symbol.range
            yield value * times if low <= value * times <= high else None


GENERAL = Points()


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
