"""Facts about sizes as guards: ``x.shape[0] == y.shape[1]``, ``1 <= n``.

In: a relation between size symbols, and the places that tell their values. Out: a check for ``guards.compile_guards``,
whose C form is a program in postfix order for a little stack machine (``_hook/relations.c``).

>>> n, m = Symbol("s0"), Symbol("s1")
>>> places = {"s0": Dimension(Argument(0, "x"), 0), "s1": Dimension(Argument(1, "y"), 0)}
>>> str(relation_guard(eq(n, m), places, why="needed by add at model.py:3"))
'x.shape[0] == y.shape[0]'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from capture.frames.guards import Check, Guard
from capture.frames.sources import Dimension, Source
from capture.ir.shapes import Relation, Size, Symbol, evaluate, holds
from capture.ir.shapes.dialect import LOOSE, Dialect
from capture.ir.shapes.expr import FloorDiv, Max, Min, Mod
from capture.records import dataclass

CONSTANT, DIMENSION, NUMBER, ADD, MULTIPLY, FLOORDIV, MODULO, MINIMUM, MAXIMUM = range(9)
"""Instructions of the stack machine; each is (instruction, number of the value, constant or axis)."""

COMPARE = ("==", "!=", "<", "<=")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a symbol's value is: in which of the check's values, along which axis (None: it is that very int)."""

    symbol: str
    value: int
    axis: int | None
    words: str


@dataclass(frozen=True, slots=True)
class SizesAre(Check):
    """A relation holds between sizes of arrays and ints."""

    relation: Relation
    places: tuple[Place, ...]
    others: tuple[Source, ...]
    cost: ClassVar[int] = 20  # behind the checks of the arrays it reads

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.others

    def of(self, name: str) -> str:
        return str(self)  # which names what it is about

    def __str__(self) -> str:
        return in_words(self.relation, {place.symbol: place.words for place in self.places})

    def values(self, found: tuple[Any, ...]) -> dict[str, int] | None:
        """The values of the symbols; None where they have none."""
        result: dict[str, int] = {}
        for place in self.places:
            value = found[place.value]
            if place.axis is None:
                if type(value) is not int:
                    return None
                result[place.symbol] = value
            elif type(value) is not np.ndarray or value.ndim <= place.axis:
                return None
            else:
                result[place.symbol] = value.shape[place.axis]
        return result

    def holds(self, value: Any, *others: Any) -> bool:
        values = self.values((value, *others))
        try:
            return values is not None and holds(self.relation, values) and _fits(self.relation, values)
        except ZeroDivisionError:
            return False

    def form(self, *slots: int) -> tuple[Any, ...]:
        at = {place.symbol: place for place in self.places}
        left, right = (tuple(_postfix(side, at)) for side in (self.relation.left, self.relation.right))
        return ("relation", (COMPARE.index(self.relation.op), slots, (*left, *right)))

    def why(self, value: Any, *others: Any) -> str:
        values = self.values((value, *others)) or {}
        told = ", ".join(f"{place.words} is {values.get(place.symbol, 'unknown')}" for place in self.places)
        return f"expected {self}, but {told}"


def _fits(relation: Relation, values: Mapping[str, int]) -> bool:
    """Whether C computes both sides without an overflow of the results."""
    return all(abs(evaluate(side, values)) < 2**63 for side in (relation.left, relation.right))


class _Words(Dialect):
    """Python, with symbols as the user knows them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def symbol(self, symbol: Symbol) -> str:
        return self.names.get(symbol.name, symbol.name)


def in_words(relation: Relation, names: Mapping[str, str]) -> str:
    return f"{size_in_words(relation.left, names)} {relation.op} {size_in_words(relation.right, names)}"


def size_in_words(size: Size, names: Mapping[str, str]) -> str:
    """A size in the user's terms: ``x.shape[0] + 1``."""
    return _Words(names).bound(size, LOOSE)


def relation_guard(relation: Relation, places: Mapping[str, Source], why: str) -> Guard:
    """The guard that a relation holds between the sizes at these places."""
    owners: list[Source] = []
    found: list[Place] = []
    for name in sorted(symbol.name for symbol in relation.symbols):
        source = places[name]
        owner, axis = (source.whole, source.axis) if isinstance(source, Dimension) else (source, None)
        if owner not in owners:
            owners.append(owner)
        found.append(Place(name, owners.index(owner), axis, source.name()))
    return Guard(owners[0], SizesAre(relation, tuple(found), tuple(owners[1:])), why=why)


# Postfix form -----------------------------------------------------------------------------------------------------
Instruction = tuple[int, int, int]
Places = Mapping[str, Place]


def _postfix(size: Size, places: Places) -> Iterator[Instruction]:
    if isinstance(size, int):
        yield CONSTANT, 0, size
        return
    yield from _POSTFIX.get(type(size), _sum)(size, places)


def _symbol(size: Any, places: Places) -> Iterator[Instruction]:
    place = places[size.name]
    yield (NUMBER, place.value, 0) if place.axis is None else (DIMENSION, place.value, place.axis)


def _joined(code: int, *sizes: Size) -> Callable[[Places], Iterator[Instruction]]:
    def program(places: Places) -> Iterator[Instruction]:
        for number, size in enumerate(sizes):
            yield from _postfix(size, places)
            if number:
                yield code, 0, 0

    return program


def _sum(size: Any, places: Places) -> Iterator[Instruction]:
    terms, constant = size.linear
    for number, (factors, coefficient) in enumerate(terms):
        atoms = [atom for atom, exponent in factors for _ in range(exponent)]
        yield from _joined(MULTIPLY, *([coefficient] if coefficient != 1 else []), *atoms)(places)
        if number:
            yield ADD, 0, 0
    if constant:
        yield CONSTANT, 0, constant
        yield ADD, 0, 0


_POSTFIX: Mapping[type, Callable[[Any, Places], Iterator[Instruction]]] = {
    Symbol: _symbol,
    FloorDiv: lambda size, places: _joined(FLOORDIV, size.numerator, size.divisor)(places),
    Mod: lambda size, places: _joined(MODULO, size.numerator, size.divisor)(places),
    Min: lambda size, places: _joined(MINIMUM, *size.sizes)(places),
    Max: lambda size, places: _joined(MAXIMUM, *size.sizes)(places),
}
