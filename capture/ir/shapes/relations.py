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
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from capture.ir.shapes.dialect import Annotated
from capture.ir.shapes.expr import Expr, Size, Symbol, add, assemble, linear, multiply
from capture.ir.shapes.text import annotated, parse, to_python
from capture.ir.shapes.traverse import evaluate, substitute
from capture.ir.shapes.traverse import symbols as symbols_of

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


def difference(relation: Relation) -> Size:
    """What must be zero (``==``), not zero (``!=``) or at least zero (``<``, ``<=``), without common factors."""
    gap = add((relation.right, multiply(relation.left, -1), -1 if relation.op == "<" else 0))
    return primitive(gap, relation.op in ("==", "!="))


def primitive(gap: Size, exact: bool) -> Size:
    """``gap`` divided by the common factor of its coefficients: of whole numbers, ``2*n >= 3`` says ``n >= 2``."""
    terms, constant = linear(gap)
    content = gcd(*(c for _, c in terms))
    if content <= 1 or (exact and constant % content):
        return gap
    return assemble({factors: c // content for factors, c in terms}, constant // content)


def tidy(relation: Relation) -> Relation:
    """The same statement with common terms and factors gone, and nothing subtracted on either side."""
    gap = difference(relation)
    terms, constant = linear(gap)
    right = assemble({factors: c for factors, c in terms if c > 0}, max(constant, 0))
    left = assemble({factors: -c for factors, c in terms if c < 0}, max(-constant, 0))
    if relation.op in ("==", "!="):
        left, right = (right, left) if isinstance(left, int) else (left, right)
        return Relation(relation.op, left, right)
    if constant == -1 and isinstance(left, Expr):
        return Relation("<", left - 1, right)
    return Relation("<=", left, right)
