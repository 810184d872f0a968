"""How size expressions are written: Python with few brackets, which other notations refine.

In: expressions, which call the dialect they are written in (``Expr.write``). Out: text, bracketed only where
the precedence of operators, or a reader, needs it.

>>> n, k = Symbol("n"), Symbol("k", low=None, high=9)
>>> str(2 * n + (k - 1) // 2)
'(k[..9] + 1) // 2 + 2*n - 1'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capture.ir.shapes.expr import FloorDiv, Mod, Product, Size, Symbol

LOOSE, MIDDLE, TIGHT = 0, 1, 2
Written = tuple[str, int]
"""Text, and how tightly it binds: as a sum, as a product or division, or as a name."""


class Dialect:
    """Python with the names of symbols as variables."""

    def symbol(self, symbol: Symbol) -> str:
        return symbol.name

    def number(self, value: int) -> str:
        return str(value)

    def power(self, atom: str, exponent: int) -> str:
        return f"{atom}**{exponent}" if exponent > 1 else atom

    def product(self, coefficient: int, factors: Product, tightness: int = MIDDLE) -> str:
        if coefficient == 1 and len(factors) == 1 and factors[0][1] == 1:
            return self.bound(factors[0][0], tightness)  # in a sum, "n // 2 + 1" needs no brackets
        texts = [self.power(self.bound(atom, TIGHT), exponent) for atom, exponent in factors]
        if coefficient != 1 or not factors:
            texts.insert(0, self.number(coefficient))
        return "*".join(texts)

    def floordiv(self, size: FloorDiv) -> Written:
        return f"{self.bound(size.numerator, TIGHT)} // {self.bound(size.divisor, TIGHT)}", MIDDLE

    def modulo(self, size: Mod) -> Written:
        return f"{self.bound(size.numerator, TIGHT)} % {self.bound(size.divisor, TIGHT)}", MIDDLE

    def call(self, name: str, sizes: Sequence[Size]) -> str:
        return f"{name}({', '.join(self.bound(size, LOOSE) for size in sizes)})"

    def bound(self, size: Size, tightness: int) -> str:
        """``size`` in brackets unless it binds at least so tightly."""
        text, own = (self.number(size), TIGHT) if isinstance(size, int) else size.write(self)
        return text if own >= tightness else f"({text})"


class Annotated(Dialect):
    """What ``str`` gives and ``parse`` reads: bare names, but where a symbol is first named it shows its range,
    unless that is the one of a dim (0 or more): ``k[1..9]*n + k``. An instance writes one text.
    """

    def __init__(self) -> None:
        self._named: set[Symbol] = set()

    def symbol(self, symbol: Symbol) -> str:
        if symbol in self._named or (symbol.low, symbol.high) == (0, None):
            return symbol.name
        self._named.add(symbol)
        low, high = ("" if end is None else end for end in (symbol.low, symbol.high))
        return f"{symbol.name}[{low}..{high}]"


BARE = Dialect()
