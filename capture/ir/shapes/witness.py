"""Which of several statements say something of their own: a point where one is wrong and the others hold proves it.

In: statements to ask about, all that hold, and a point where they do. Out: those for which such a point was found near
it. One symbol is changed until the relation is wrong; then symbols of the others are, until these hold again.

>>> from capture.ir.shapes.relations import eq, le
>>> n, m, k = map(Symbol, "nmk")
>>> all_of_them = [eq(n, m), eq(m, k), le(1, k), le(2, n)]
>>> [str(relation) for relation in needed(all_of_them, all_of_them, {"n": 4, "m": 4, "k": 4})]
['n == m', 'm == k', '2 <= n']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from capture.ir.shapes.expr import Symbol
from capture.ir.shapes.relations import COMPARE, Relation
from capture.ir.shapes.traverse import evaluate

Point = Mapping[str, int]
About = Mapping[Symbol, Sequence[Relation]]
"""The relations in which each symbol stands."""

MOST_REPAIRS = 32


def needed(asked: Iterable[Relation], relations: Iterable[Relation], example: Point) -> Iterator[Relation]:
    about: dict[Symbol, list[Relation]] = {}
    for relation in relations:
        for symbol in relation.symbols:
            about.setdefault(symbol, []).append(relation)
    return (relation for relation in asked if _is_needed(relation, about, example))


def _is_needed(relation: Relation, about: About, example: Point) -> bool:
    fewest = sorted(relation.symbols, key=lambda symbol: (len(about[symbol]), symbol.name))
    try:
        return any(
            not _holds(relation, point) and _can_be_repaired(point, relation, symbol, about)
            for symbol in fewest
            for point in _near(relation, symbol, example)
        )
    except ZeroDivisionError:  # on the way to such a point something has no value
        return False


def _holds(relation: Relation, point: Point) -> bool:
    return COMPARE[relation.op](evaluate(relation.left, point), evaluate(relation.right, point))


def _near(relation: Relation, symbol: Symbol, point: Point) -> Iterator[Point]:
    """Points where the relation may be wrong, the likely ones first."""
    value = point[symbol.name]
    just_wrong = _reaching(relation, symbol, point, -1 if relation.op != "!=" else 0)
    for other in dict.fromkeys((just_wrong, value + 1, value - 1, 0, 1)):
        if other is not None and symbol.range[0] <= other <= symbol.range[1]:
            yield {**point, symbol.name: other}


def _reaching(relation: Relation, symbol: Symbol, point: Point, gap: int) -> int | None:
    """The value of a symbol at which the right side would be so much larger than the left one, if it grew steadily."""
    now = _gap(relation, point)
    slope = _gap(relation, {**point, symbol.name: point[symbol.name] + 1}) - now
    return None if slope == 0 else point[symbol.name] + (gap - now) // slope


def _gap(relation: Relation, point: Point) -> int:
    return evaluate(relation.right, point) - evaluate(relation.left, point) - (relation.op == "<")


def _can_be_repaired(point: Point, relation: Relation, symbol: Symbol, about: About) -> bool:
    """Whether all the other relations hold after changes of symbols that were not changed before."""
    changed = [symbol]
    for symbol in changed:
        for other in about[symbol]:
            if other is relation or _holds(other, point):
                continue
            found = None if len(changed) > MOST_REPAIRS else _repair(other, point, changed)
            if found is None:
                return False
            last, value = found
            point = {**point, last.name: value}
            changed.append(last)
    return not _holds(relation, point)


def _repair(relation: Relation, point: Point, changed: Sequence[Symbol]) -> tuple[Symbol, int] | None:
    """A symbol and its value with which the relation holds again."""
    for symbol in sorted(relation.symbols.difference(changed), key=lambda symbol: symbol.name):
        value = _reaching(relation, symbol, point, 1 if relation.op == "!=" else 0)
        if value is None or not symbol.range[0] <= value <= symbol.range[1]:
            continue
        if _holds(relation, {**point, symbol.name: value}):
            return symbol, value
    return None
