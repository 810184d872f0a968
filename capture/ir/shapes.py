"""The size algebra: integer expressions for dims, strides, loop bounds, slices and element counts.

In: ints and symbols, combined with ``+ - * // % ** abs`` and ``minimum``/``maximum``. Out: a ``Size``, which is
a plain int whenever its value is known, else an ``Expr`` in normal form: a sum of products of atoms (symbols,
floor divisions, modulos, minima, maxima) with integer coefficients.

>>> n, m = Symbol("n"), Symbol("m", low=1)
>>> str((n + 1) * m - m), str((4 * n + 6) // 4), str(n // 4 * 4 + n % 4), (n * m) // m == n
('m*n', 'n + (2) // 4', 'n', True)

Conventions:

- ``==`` and ``hash`` are structural, so that sizes may sit in types and dictionaries. Whether two sizes are equal
  *numbers*, or one is smaller, is a question to ``capture.ir.facts``. An ``Expr`` has no truth value.
- The value of an expression is Python's, wherever none of its divisors is zero; where one is, it has no value.
  Whoever writes ``a // b`` makes sure that ``b`` is not zero; rules that would remove a divisor which could be
  zero are not applied. Every rule is exact: it needs no fact but the declared ranges of symbols.
- Products are multiplied out up to ``MAX_TERMS`` terms; larger ones keep their factors. An expression of more than
  ``MAX_NODES`` nodes raises ``TooComplex``: no program is served by sizes that nobody could read or check.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from math import gcd
from typing import Any, Protocol

from capture.ir import ranges
from capture.ir.ranges import INFINITY, Range

MAX_TERMS = 16
MAX_NODES = 500


class TooComplex(ValueError):
    """A size expression grew past ``MAX_NODES``; the caller takes the value as a constant instead."""


class Expr(ABC):
    """A size that is not a constant. Build it with operators from ``Symbol``; every instance is in normal form."""

    __array_ufunc__ = None  # NumPy numbers must not take an expression for an object to make an array of

    @cached_property
    @abstractmethod
    def range(self) -> Range:
        """Bounds that follow from the declared ranges of symbols."""

    @cached_property
    @abstractmethod
    def nodes(self) -> int:
        """How large the expression is, as a tree."""

    @property
    @abstractmethod
    def children(self) -> tuple[Size, ...]:
        """The sizes this expression is made of."""

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return (type(self).__name__, *(getattr(self, field.name) for field in fields(self)))  # type: ignore[arg-type]

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    @cached_property
    def text(self) -> str:
        return _render(self, _TEXT)

    def __post_init__(self) -> None:
        if self.nodes > MAX_NODES:
            raise TooComplex(f"a size expression of {self.nodes} nodes (the limit is {MAX_NODES})")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Expr) and self._hash == other._hash and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of the size {self} is a question to Facts")

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what is cached: hashes of strings differ between processes.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<size {self}>"

    def __add__(self, other: Size) -> Size:
        return add(self, other) if isinstance(other, SIZES) else NotImplemented

    def __radd__(self, other: Size) -> Size:
        return add(other, self) if isinstance(other, SIZES) else NotImplemented

    def __sub__(self, other: Size) -> Size:
        return add(self, multiply(other, -1)) if isinstance(other, SIZES) else NotImplemented

    def __rsub__(self, other: Size) -> Size:
        return add(other, multiply(self, -1)) if isinstance(other, SIZES) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        return multiply(self, other) if isinstance(other, SIZES) else NotImplemented

    def __rmul__(self, other: Size) -> Size:
        return multiply(other, self) if isinstance(other, SIZES) else NotImplemented

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other) if isinstance(other, SIZES) else NotImplemented

    def __rfloordiv__(self, other: Size) -> Size:
        return floordiv(other, self) if isinstance(other, SIZES) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return modulo(self, other) if isinstance(other, SIZES) else NotImplemented

    def __rmod__(self, other: Size) -> Size:
        return modulo(other, self) if isinstance(other, SIZES) else NotImplemented

    def __pow__(self, exponent: int) -> Size:
        if not isinstance(exponent, int) or exponent < 0:
            return NotImplemented
        return product([self] * exponent)

    def __neg__(self) -> Size:
        return multiply(self, -1)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Size:
        return maximum(self, multiply(self, -1))


Size = int | Expr
SIZES = (int, Expr)
