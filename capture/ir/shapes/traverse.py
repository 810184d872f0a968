"""Walks over size expressions: rebuild them by a table of rules, evaluate, substitute.

>>> n, m = Symbol("n"), Symbol("m")
>>> evaluate((n + 1) // 2 * m, {"n": 6, "m": 5}), str(substitute(n // 2 + m, {m: 2 * n, n: 4 * n}))
(15, '4*n')
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from capture.ir.shapes.divisions import floordiv, modulo
from capture.ir.shapes.expr import (
    DECLARED,
    Expr,
    FloorDiv,
    Knowledge,
    Max,
    Min,
    Mod,
    Product,
    Size,
    Sum,
    Symbol,
    add,
    linear,
)
from capture.ir.shapes.extremes import maximum, minimum

Rebuild = Callable[..., Any]
Rules = Mapping[type[Expr], Rebuild]
"""For each kind of expression, what to make of its rebuilt operands (of a sum, one iterable of its terms)."""


def rules(known: Knowledge) -> Rules:
    """The rules of the algebra itself."""
    return {
        Sum: add,
        FloorDiv: partial(floordiv, known=known),
        Mod: partial(modulo, known=known),
        Min: partial(minimum, known=known),
        Max: partial(maximum, known=known),
    }


ALGEBRA = rules(DECLARED)
ARITHMETIC: Rules = {Sum: sum, FloorDiv: operator.floordiv, Mod: operator.mod, Min: min, Max: max}


def fold(size: Size, leaf: Callable[[Expr], Size | None], rules: Rules) -> Size:
    """Rebuild from the inside out; ``leaf`` gives what takes the place of a symbol or of any other atom."""
    if isinstance(size, int):
        return size
    if isinstance(size, Sum):
        return rules[Sum]([_fold_product(f, c, leaf, rules) for f, c in size.terms] + [size.constant])
    replacement = leaf(size)
    if replacement is not None:
        return replacement
    if isinstance(size, Symbol):
        return size
    return rules[type(size)](*[fold(operand, leaf, rules) for operand in size.operands])


def _fold_product(factors: Product, coefficient: int, leaf: Callable[[Expr], Size | None], rules: Rules) -> Size:
    result: Size = coefficient
    for atom, exponent in factors:
        value = fold(atom, leaf, rules)
        result = result * (value if exponent == 1 else value**exponent)
    return result


def evaluate(size: Size, env: Mapping[str, int]) -> int:
    """The value, given that of each symbol by name."""
    value = fold(size, lambda atom: env[atom.name] if isinstance(atom, Symbol) else None, ARITHMETIC)
    assert isinstance(value, int)
    return value


def substitute(size: Size, mapping: Mapping[Expr, Size]) -> Size:
    """Put sizes in the place of symbols (or of whole atoms)."""
    return fold(size, mapping.get, ALGEBRA) if mapping else size


def without_modulo(size: Size) -> Size:
    """The same value with every ``a % b`` as ``a - b * (a // b)``: more sizes that are equal look equal."""
    return fold(size, lambda atom: None, WITHOUT_MODULO) if any(type(a) is Mod for a in atoms(size)) else size


WITHOUT_MODULO: Rules = {**ALGEBRA, Mod: lambda a, b: a - b * floordiv(a, b)}


def atoms(*sizes: Size) -> Iterator[Expr]:
    """All atoms, inner ones too, some of them more than once."""
    for size in sizes:
        for factors, _ in linear(size)[0]:
            for atom, _ in factors:
                if isinstance(atom, Sum):
                    yield from atoms(atom)
                else:
                    yield atom
                    yield from atoms(*atom.operands)


def symbols(*sizes: Size) -> frozenset[Symbol]:
    return frozenset[Symbol]().union(*(size.symbols for size in sizes if isinstance(size, Expr)))
