"""Statements about sizes: equal, different, less, at most.

In: two sizes. Out: a frozen ``Relation`` that can be negated, checked on values, and written for a reader.

>>> n, m = Symbol("n"), Symbol("m")
>>> str(lt(2 * n + 1, m + 1)), str(negate(lt(n, m))), str(tidy(ge(2 * n - 3, 0))), holds(eq(n, m), {"n": 1, "m": 1})
('2*n + 1 < m + 1', 'm <= n', '2 <= n', True)
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from math import gcd
from typing import Any

from capture.ir.shapes.dialect import Annotated
from capture.ir.shapes.expr import Expr, FloorDiv, Max, Min, Size, Symbol, add, assemble, leading_sign, linear, multiply
from capture.ir.shapes.text import annotated, parse, to_python
from capture.ir.shapes.traverse import evaluate, substitute
from capture.ir.shapes.traverse import symbols as symbols_of
from capture.records import dataclass

COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True)
class Relation:
    """``left op right``, where ``op`` is one of ``== != < <=``."""

    op: str
    left: Size
    right: Size

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise ValueError(f"not a relation of sizes: {self.op!r}")

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return symbols_of(self.left, self.right)

    @cached_property
    def difference(self) -> Size:
        """What must be zero (``==``), not zero (``!=``) or at least zero (``<``, ``<=``), without common factors."""
        gap = add((self.right, multiply(self.left, -1), -1 if self.op == "<" else 0))
        return primitive(gap, self.op in ("==", "!="))

    @cached_property
    def statement(self) -> tuple[str, Size]:
        """The same for all relations that differ in what stands on which side alone."""
        gap = self.difference
        if self.op in ("==", "!="):
            return self.op, multiply(gap, leading_sign(gap)) if isinstance(gap, Expr) else gap
        return "<=", gap

    def __str__(self) -> str:
        dialect = Annotated()
        return f"{dialect.bound(self.left, 0)} {self.op} {dialect.bound(self.right, 0)}"

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} is a question to Facts")


def eq(a: Size, b: Size) -> Relation:
    return Relation("==", a, b)


def ne(a: Size, b: Size) -> Relation:
    return Relation("!=", a, b)


def lt(a: Size, b: Size) -> Relation:
    return Relation("<", a, b)


def le(a: Size, b: Size) -> Relation:
    return Relation("<=", a, b)


def gt(a: Size, b: Size) -> Relation:
    return Relation("<", b, a)


def ge(a: Size, b: Size) -> Relation:
    return Relation("<=", b, a)


NEGATED: Mapping[str, Callable[[Size, Size], Relation]] = {"==": ne, "!=": eq, "<": ge, "<=": gt}


def negate(relation: Relation) -> Relation:
    return NEGATED[relation.op](relation.left, relation.right)


def holds(relation: Relation, env: Mapping[str, int]) -> bool:
    """Whether the relation is true of the values of its symbols."""
    return COMPARE[relation.op](evaluate(relation.left, env), evaluate(relation.right, env))


def replace(relation: Relation, mapping: Mapping[Expr, Size]) -> Relation:
    return Relation(relation.op, substitute(relation.left, mapping), substitute(relation.right, mapping))


def relation_to_python(relation: Relation, names: Mapping[str, str] | None = None) -> str:
    return f"{to_python(relation.left, names)} {relation.op} {to_python(relation.right, names)}"


def parse_relation(text: str) -> Relation:
    """What ``str`` printed."""
    sides = re.fullmatch(r"(.*?) (==|!=|<=|<) (.*)", text.strip())
    if sides is None:
        raise ValueError(f"not a relation of sizes: {text!r}")
    left, op, right = sides.groups()
    symbols = annotated(text).values()
    return Relation(op, parse(left, symbols), parse(right, symbols))


def primitive(gap: Size, exact: bool) -> Size:
    """``gap`` divided by the common factor of its coefficients: of whole numbers, ``2*n >= 3`` says ``n >= 2``."""
    terms, constant = linear(gap)
    content = gcd(*(c for _, c in terms))
    if content <= 1 or (exact and constant % content):
        return gap
    return assemble({factors: c // content for factors, c in terms}, constant // content)


def tidy(relation: Relation) -> Relation:
    """The same statement in its plainest form: common terms and factors are gone, nothing is subtracted on either side,
    and a quotient or extreme that is compared with a number is compared by what it is made of.

    >>> n = Symbol("n")
    >>> str(tidy(le(2, (n + 1) // 2))), str(tidy(eq(Min((1, n)), 1)))
    ('3 <= n', '1 <= n')
    """
    plain = _without_common(relation)
    number_left = isinstance(plain.left, int) and not isinstance(plain.right, int)
    number, size = (plain.left, plain.right) if number_left else (plain.right, plain.left)
    if not isinstance(number, int) or type(size) not in PEEL:
        return plain
    op = plain.op
    if op == "<":
        op, number = "<=", number + (1 if number_left else -1)
    peeled = PEEL[type(size)](size, op if op in ("==", "!=") else ">=" if number_left else "<=", number)
    return plain if peeled is None else tidy(peeled)


def _without_common(relation: Relation) -> Relation:
    gap = relation.difference
    terms, constant = linear(gap)
    right = assemble({factors: c for factors, c in terms if c > 0}, max(constant, 0))
    left = assemble({factors: -c for factors, c in terms if c < 0}, max(-constant, 0))
    if relation.op in ("==", "!="):
        left, right = (right, left) if isinstance(left, int) else (left, right)
        return Relation(relation.op, left, right)
    if constant == -1 and isinstance(left, Expr):
        return Relation("<", left - 1, right)
    return Relation("<=", left, right)


def _peel_quotient(size: Any, op: str, number: int) -> Relation | None:
    """``a // k`` is at least ``c`` where ``a`` is at least ``c * k``."""
    if not isinstance(size.divisor, int) or size.divisor <= 0 or op in ("==", "!="):
        return None
    if op == ">=":
        return ge(size.numerator, number * size.divisor)
    return le(size.numerator, number * size.divisor + size.divisor - 1)


def _peel_extreme(size: Any, op: str, number: int) -> Relation | None:
    """Of a minimum, numbers above ``c`` have no say in how it compares with ``c``, of a maximum those below it."""
    sign = 1 if type(size) is Min else -1
    numbers = [other for other in size.sizes if isinstance(other, int)]
    rest = [other for other in size.sizes if not isinstance(other, int)]
    if len(numbers) != 1 or len(rest) != 1:
        return None
    beyond = sign * (numbers[0] - number)
    if op in ("==", "!="):
        if beyond > 0:
            return Relation(op, rest[0], number)
        if beyond == 0:  # it is c unless the other one is on the wrong side
            holds_on = ge(rest[0], number) if sign > 0 else le(rest[0], number)
            return holds_on if op == "==" else negate(holds_on)
        return None
    kept = beyond >= 0 if (op == ">=") == (sign > 0) else beyond > 0
    return Relation("<=", number, rest[0]) if kept and op == ">=" else le(rest[0], number) if kept else None


PEEL: Mapping[type, Callable[[Any, str, int], Relation | None]] = {
    FloorDiv: _peel_quotient,
    Min: _peel_extreme,
    Max: _peel_extreme,
}
