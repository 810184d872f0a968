"""The size algebra: integer expressions for dims, strides, loop bounds, slices and element counts.

In: ints and symbols, combined with ``+ - * // % ** abs`` and ``minimum``/``maximum``. Out: a ``Size``, which is
a plain int whenever its value is known, else an ``Expr`` in normal form: a sum of products of atoms (symbols,
floor divisions, modulos, minima, maxima) with integer coefficients.

>>> n, m = Symbol("n"), Symbol("m", low=1)
>>> str((n + 1) * m - m), str((4 * n + 6) // 4), str(n // 4 * 4 + n % 4), n * m // m == n
('m[1..]*n', 'n + 1', 'n', True)

Conventions:

- ``==`` and ``hash`` are structural, so that sizes may sit in types and dictionaries. Whether two sizes are equal
  *numbers*, or one is smaller, is a question to ``capture.ir.facts``. An ``Expr`` has no truth value.
- The value of an expression is Python's, wherever none of its divisors is zero; where one is, it has no value.
  Whoever writes ``a // b`` makes sure that ``b`` is not zero. A rule that removes a divisor is applied only where
  the divisor cannot be zero. Every rule is exact and needs no fact but the declared ranges of symbols.
- Products are multiplied out up to ``MAX_TERMS`` terms; larger ones keep their factors. An expression of more than
  ``MAX_NODES`` nodes raises ``TooComplex``: no program is served by sizes that nobody could read or check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from keyword import iskeyword
from math import gcd
from typing import Any, Protocol

from capture.ir.shapes import ranges
from capture.ir.shapes.dialect import BARE, LOOSE, MIDDLE, TIGHT, Annotated, Dialect, Written
from capture.ir.shapes.ranges import INFINITY, Range
from capture.records import dataclass

MAX_TERMS = 16
MAX_NODES = 256


class TooComplex(ValueError):
    """A size expression grew past ``MAX_NODES``; the caller takes the value as a constant instead."""


class Expr:
    """A size that is not a constant. Write it with operators and symbols: every instance is in normal form."""

    __array_ufunc__ = None  # NumPy numbers must not take an expression for an object to make an array of

    # Not an abstract base class: those make isinstance slow, which every operation needs.

    @property
    def parts(self) -> tuple[Any, ...]:
        """What the constructor takes."""
        raise NotImplementedError

    @property
    def operands(self) -> tuple[Size, ...]:
        """What an atom is made of."""
        return ()

    def write(self, dialect: Dialect) -> Written:
        """The expression in the notation of ``dialect``."""
        raise NotImplementedError

    def interval(self, of: Callable[[Size], Range]) -> Range:
        """Bounds that follow from those of the parts."""
        raise NotImplementedError

    @cached_property
    def range(self) -> Range:
        """Bounds that follow from the declared ranges of symbols."""
        return self.interval(range_of)

    @cached_property
    def nodes(self) -> int:
        """How large the expression is as a tree."""
        return 1 + sum(operand.nodes if isinstance(operand, Expr) else 1 for operand in self.operands)

    @property
    def linear(self) -> Linear:
        """The expression as a sum: its terms (product, coefficient), and the constant."""
        return ((((self, 1),), 1),), 0

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset[Symbol]().union(*(operand.symbols for operand in self.operands if isinstance(operand, Expr)))

    @cached_property
    def text(self) -> str:
        """The expression with bare names: what terms and factors are sorted by."""
        return self.write(BARE)[0]

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, self.parts))

    def __post_init__(self) -> None:
        if self.nodes > MAX_NODES:
            raise TooComplex(f"a size expression of {self.nodes} nodes (the limit is {MAX_NODES})")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is type(self) and self._hash == other._hash and self.parts == other.parts

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of the size {self} is a question to Facts")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts  # without what is cached: hashes of strings differ between processes

    def __str__(self) -> str:
        return self.write(Annotated())[0]

    def __repr__(self) -> str:
        return f"<size {self}>"

    def __add__(self, other: Size) -> Size:
        return add((self, other)) if isinstance(other, SIZES) else NotImplemented

    def __sub__(self, other: Size) -> Size:
        return add((self, multiply(other, -1))) if isinstance(other, SIZES) else NotImplemented

    def __rsub__(self, other: Size) -> Size:
        return add((other, multiply(self, -1))) if isinstance(other, SIZES) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        return multiply(self, other) if isinstance(other, SIZES) else NotImplemented

    def __floordiv__(self, other: Size) -> Size:
        return divisions.floordiv(self, other) if isinstance(other, SIZES) else NotImplemented

    def __rfloordiv__(self, other: Size) -> Size:
        return divisions.floordiv(other, self) if isinstance(other, SIZES) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return divisions.modulo(self, other) if isinstance(other, SIZES) else NotImplemented

    def __rmod__(self, other: Size) -> Size:
        return divisions.modulo(other, self) if isinstance(other, SIZES) else NotImplemented

    def __pow__(self, exponent: int) -> Size:
        return product([self] * exponent) if isinstance(exponent, int) and exponent >= 0 else NotImplemented

    def __neg__(self) -> Size:
        return multiply(self, -1)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Size:
        return extremes.maximum(self, multiply(self, -1))

    __radd__ = __add__
    __rmul__ = __mul__


Size = int | Expr
SIZES = (int, Expr)

Product = tuple[tuple[Expr, int], ...]
"""Atoms with their exponents, sorted by text. A sum stands in as an atom where it was not multiplied out."""
Linear = tuple[tuple[tuple[Product, int], ...], int]
"""Terms with their coefficients, and the constant."""


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(Expr):
    """An unknown integer between ``low`` and ``high`` (inclusive; None: no bound). The default is a dim."""

    name: str
    low: int | None = 0
    high: int | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or iskeyword(self.name) or self.name in ("min", "max"):
            raise ValueError(f"not a name for a symbol: {self.name!r}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"no value lies between {self.low} and {self.high} for {self.name}")

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.name, self.low, self.high)

    def write(self, dialect: Dialect) -> Written:
        return dialect.symbol(self), TIGHT

    def interval(self, of: Callable[[Size], Range]) -> Range:
        return (-INFINITY if self.low is None else self.low, INFINITY if self.high is None else self.high)

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset((self,))


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Expr):
    """Terms and a constant; never a lone atom."""

    terms: tuple[tuple[Product, int], ...]
    constant: int

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.terms, self.constant)

    @property
    def linear(self) -> Linear:
        return self.terms, self.constant

    @property
    def atoms(self) -> Iterator[Expr]:
        return (atom for factors, _ in self.terms for atom, _ in factors)

    def write(self, dialect: Dialect) -> Written:
        terms = sorted(with_constant(self), key=lambda term: term[1] < 0)  # "m - n" reads better than "-n + m"
        (factors, c), *rest = terms
        first = dialect.product(abs(c), factors, TIGHT if c < 0 else MIDDLE)  # -(n // 2) is not -n // 2
        texts = [f"-{first}" if c < 0 else first]
        texts += [f"{'-' if c < 0 else '+'} {dialect.product(abs(c), factors)}" for factors, c in rest]
        return " ".join(texts), LOOSE if rest or c < 0 else MIDDLE

    @cached_property
    def nodes(self) -> int:
        return 1 + sum(atom.nodes for atom in self.atoms)

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset[Symbol]().union(*(atom.symbols for atom in self.atoms))

    def interval(self, of: Callable[[Size], Range]) -> Range:
        total = ranges.single(self.constant)
        for factors, coefficient in self.terms:
            total = ranges.plus(total, ranges.scaled(coefficient, product_range(factors, of)))
        return total


@dataclass(frozen=True, eq=False, repr=False)
class Division(Expr):
    """A quotient or remainder that does not come out."""

    numerator: Size
    divisor: Size

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.numerator, self.divisor)

    @property
    def operands(self) -> tuple[Size, ...]:
        return (self.numerator, self.divisor)


class FloorDiv(Division):
    def write(self, dialect: Dialect) -> Written:
        return dialect.floordiv(self)

    def interval(self, of: Callable[[Size], Range]) -> Range:
        return ranges.floordiv(of(self.numerator), of(self.divisor))


class Mod(Division):
    def write(self, dialect: Dialect) -> Written:
        return dialect.modulo(self)

    def interval(self, of: Callable[[Size], Range]) -> Range:
        return ranges.modulo(of(self.numerator), of(self.divisor))

    @cached_property
    def quotient(self) -> Size:
        """The other half of the same division."""
        return divisions.floordiv(self.numerator, self.divisor)


@dataclass(frozen=True, eq=False, repr=False)
class Extreme(Expr):
    """The smallest or largest of at least two sizes."""

    sizes: tuple[Size, ...]

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.sizes,)

    @property
    def operands(self) -> tuple[Size, ...]:
        return self.sizes


class Min(Extreme):
    def write(self, dialect: Dialect) -> Written:
        return dialect.call("min", self.sizes), TIGHT

    def interval(self, of: Callable[[Size], Range]) -> Range:
        return ranges.smallest(of(size) for size in self.sizes)


class Max(Extreme):
    def write(self, dialect: Dialect) -> Written:
        return dialect.call("max", self.sizes), TIGHT

    def interval(self, of: Callable[[Size], Range]) -> Range:
        return ranges.largest(of(size) for size in self.sizes)


class Knowledge(Protocol):
    """What rules may ask about sizes: ``DECLARED``, or ``Facts``."""

    def range(self, size: Size) -> Range:
        """Bounds that are cheap to have."""

    def at_least(self, size: Size, bound: int) -> bool: ...
    def nonzero(self, size: Size) -> bool: ...
    def residue(self, size: Size, modulus: int) -> Size:
        """A simpler size that is congruent to ``size``."""


class _Declared:
    """Nothing but the declared ranges of symbols."""

    def range(self, size: Size) -> Range:
        return range_of(size)

    def at_least(self, size: Size, bound: int) -> bool:
        return range_of(size)[0] >= bound

    def nonzero(self, size: Size) -> bool:
        low, high = range_of(size)
        return low > 0 or high < 0

    def residue(self, size: Size, modulus: int) -> Size:
        return size


DECLARED: Knowledge = _Declared()


def range_of(size: Size) -> Range:
    return size.range if isinstance(size, Expr) else ranges.single(size)


def product_range(factors: Product, of: Callable[[Expr], Range]) -> Range:
    (atom, exponent), *others = factors
    first = of(atom) if exponent == 1 else ranges.power(of(atom), exponent)  # as nearly all are
    return ranges.times(first, product_range(tuple(others), of)) if others else first


def linear(size: Size) -> Linear:
    """Any size as terms and a constant."""
    return size.linear if isinstance(size, Expr) else ((), int(size))


# Sums and products


def add(sizes: Iterable[Size]) -> Size:
    """The sum of any number of sizes."""
    total: dict[Product, int] = {}
    constant = 0
    for size in sizes:
        terms, more = linear(size)
        constant += more
        for factors, coefficient in terms:
            total[factors] = total.get(factors, 0) + coefficient
    return assemble(total, constant)


def multiply(a: Size, b: Size) -> Size:
    if isinstance(a, int):
        return a * b if isinstance(b, int) else scale(b, int(a))
    if isinstance(b, int):
        return scale(a, int(b))
    if _keeps_factors(a, b):
        scale_a, factors_a = _as_factors(a)
        scale_b, factors_b = _as_factors(b)
        return assemble({merge(factors_a, factors_b): scale_a * scale_b}, 0)
    total: dict[Product, int] = {(): 0}
    for factors, c in with_constant(a):
        for others, d in with_constant(b):
            both = merge(factors, others)
            total[both] = total.get(both, 0) + c * d
    constant = total.pop(())
    return assemble(total, constant)


def scale(size: Expr, factor: int) -> Size:
    terms, constant = size.linear
    if factor == 0 or factor == 1:
        return size if factor else 0
    if len(terms) == 1 and not constant:
        return _term(terms[0][0], terms[0][1] * factor)
    return Sum(tuple((factors, c * factor) for factors, c in terms), constant * factor)


def product(sizes: Iterable[Size]) -> Size:
    one: Size = 1
    return reduce(multiply, sizes, one)


def is_static(shape: Iterable[Size]) -> bool:
    return not any(isinstance(size, Expr) for size in shape)


def merge(a: Product, b: Product) -> Product:
    """The product of two products."""
    exponents = dict(a)
    for atom, exponent in b:
        exponents[atom] = exponents.get(atom, 0) + exponent
    return tuple(sorted(exponents.items(), key=lambda factor: factor[0].text))


def without(factors: Product, others: Product) -> Product | None:
    """``factors / others``, or None if that is not a product."""
    exponents = dict(factors)
    for atom, exponent in others:
        left = exponents.get(atom, 0) - exponent
        if left < 0:
            return None
        exponents[atom] = left
    return tuple((atom, exponent) for atom, exponent in exponents.items() if exponent)


def expand(factors: Product) -> Size:
    """A product as a size of its own."""
    return product(atom for atom, exponent in factors for _ in range(exponent))


def assemble(terms: Mapping[Product, int], constant: int) -> Size:
    """Collected terms as a size in normal form."""
    terms, constant = _join_divisions({factors: c for factors, c in terms.items() if c}, constant)
    if not terms:
        return constant
    if len(terms) == 1 and not constant:
        return _term(*terms.popitem())
    return Sum(tuple(sorted(terms.items(), key=_order)), constant)


def _term(factors: Product, coefficient: int) -> Expr:
    """A single product, some times; one atom, once, is that atom."""
    is_atom = coefficient == 1 and len(factors) == 1 and factors[0][1] == 1
    return factors[0][0] if is_atom else Sum(((factors, coefficient),), 0)


def _order(term: tuple[Product, int]) -> tuple[Any, ...]:
    """Higher degrees first, then by name."""
    factors = term[0]
    return (-sum(exponent for _, exponent in factors), [(atom.text, exponent) for atom, exponent in factors])


def with_constant(size: Size) -> list[tuple[Product, int]]:
    terms, constant = linear(size)
    return [*terms, ((), constant)] if constant else list(terms)


def _keeps_factors(a: Size, b: Size) -> bool:
    counts = len(with_constant(a)), len(with_constant(b))
    if 1 not in counts:
        return counts[0] * counts[1] > MAX_TERMS
    return counts != (1, 1) and any(_has_factored_sum(size) for size in (a, b) if len(with_constant(size)) == 1)


def _has_factored_sum(size: Size) -> bool:
    return any(isinstance(atom, Sum) for factors, _ in linear(size)[0] for atom, _ in factors)


def _as_factors(size: Size) -> tuple[int, Product]:
    """A coefficient and a product; of a sum, its content with the leading sign, and what is left as one factor."""
    terms, constant = linear(size)
    if len(terms) == 1 and not constant:
        return terms[0][1], terms[0][0]
    content = leading_sign(size) * gcd(constant, *(c for _, c in terms))
    primitive = assemble({factors: c // content for factors, c in terms}, constant // content)
    assert isinstance(primitive, Expr)
    return content, ((primitive, 1),)


def leading_sign(size: Size) -> int:
    terms, constant = linear(size)
    return -1 if (terms[0][1] if terms else constant) < 0 else 1


def _join_divisions(terms: dict[Product, int], constant: int) -> tuple[dict[Product, int], int]:
    """``c * b * (a // b) + c * (a % b)`` is ``c * a``."""
    remainders = [(f, atom) for f in terms for atom, exponent in f if type(atom) is Mod and exponent == 1]
    for factors, remainder in remainders:
        coefficient = terms.get(factors, 0)
        if not coefficient or not DECLARED.nonzero(remainder.divisor):
            continue
        scale = multiply(coefficient, expand(without(factors, ((remainder, 1),)) or ()))
        partner, partner_constant = linear(product((scale, remainder.divisor, remainder.quotient)))
        if not partner or any(terms.get(f, 0) != c for f, c in partner):
            continue
        whole, whole_constant = linear(multiply(scale, remainder.numerator))
        changes = [(factors, -coefficient), *((f, -c) for f, c in partner), *whole]
        for f, c in changes:
            terms[f] = terms.get(f, 0) + c
        terms = {f: c for f, c in terms.items() if c}
        constant += whole_constant - partner_constant
    return terms, constant


# Sums are made of quotients, and the rules for quotients of sums. Modules, not names: either may be imported first.
from capture.ir.shapes import divisions, extremes  # noqa: E402
