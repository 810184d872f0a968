"""The lower bound of a size that follows from known inequalities.

In: a size and facts. Out: a number it surely is not below (minus infinity if none is found).

A size is a linear form over products of atoms, and so are the known inequalities ``f >= 0``: those of the facts,
those that define the atoms (``0 <= a - b*(a // b) < b``, ``min(a, b) <= a``), and both times a product that is not
negative. If ``size - x*f - y*g`` with ``x, y >= 0`` is a constant, then that is a lower bound; ``simplex`` finds the
best one, and since sizes are whole, it is rounded up. Of ``m - n`` with ``n <= k`` and ``k + 2 <= m``:

    m - n - (k - n) - (m - k - 2) = 2

A minimum that must not be small, or a maximum that must not be large, has no such inequality: it is each of its sizes
in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol

from capture.ir.shapes.expr import (
    Expr,
    Extreme,
    FloorDiv,
    Max,
    Min,
    Mod,
    Product,
    Size,
    TooComplex,
    add,
    linear,
    merge,
    multiply,
    without,
)
from capture.ir.shapes.ranges import INFINITY, End, Range, is_finite
from capture.ir.shapes.simplex import best_bound
from capture.ir.shapes.traverse import atoms, substitute, without_modulo

MAX_FORMS = 32
MAX_PRODUCTS = 16
MAX_CASES = 2


class Known(Protocol):
    """The view of facts that the search has."""

    @property
    def table(self) -> Table: ...
    def range(self, size: Size) -> Range: ...
    def product_range(self, factors: Product) -> Range: ...
    def with_at_least_zero(self, size: Size) -> Known | None:
        """The facts and ``size >= 0``; None if that is known to be wrong."""


@dataclass(frozen=True)
class Form:
    """``terms + constant``; unlike a ``Sum``, not in normal form (which would turn definitions into ``0 == 0``)."""

    terms: Mapping[Product, int]
    constant: int


Table = Mapping[Product, list[Form]]
"""Forms that are not negative, by each product in them."""


def lowest(size: Size, facts: Known, enough: End = INFINITY, cases: int = MAX_CASES) -> End:
    """The best lower bound found; the search ends at one that is ``enough``."""
    low = facts.range(size)[0]
    if low >= enough or isinstance(size, int):
        return low
    with suppress(TooComplex):  # what the proof would need is larger than sizes are allowed to be
        for search in (_combined, _combined_without_modulo, partial(_by_cases, cases=cases)):
            low = max(low, search(size, facts, enough))
            if low >= enough:
                break
    return low


def _combined_without_modulo(size: Expr, facts: Known, enough: End) -> End:
    """Of help where a modulo is inside of another atom: the definitions of those outside are in use already."""
    nested = atoms(*chain.from_iterable(atom.operands for atom in atoms(size)))
    return _combined(without_modulo(size), facts, enough) if any(type(a) is Mod for a in nested) else -INFINITY


def _by_cases(size: Expr, facts: Known, enough: End, cases: int) -> End:
    extreme = _obstacle(size) if cases else None
    if extreme is None:
        return -INFINITY
    low: End = INFINITY
    for chosen in extreme.sizes:
        sign = 1 if type(extreme) is Max else -1
        case: Known | None = facts
        for other in extreme.sizes:
            if case is not None and other is not chosen:
                case = case.with_at_least_zero(multiply(sign, add((chosen, multiply(other, -1)))))
        if case is not None:
            with suppress(ZeroDivisionError):  # a case in which the size has no value
                low = min(low, lowest(substitute(size, {extreme: chosen}), case, enough, cases - 1))
        if low == -INFINITY:
            break
    return low


def _obstacle(size: Expr) -> Extreme | None:
    """A maximum that pulls the size down, or a minimum that lifts it: no inequality bounds those. Or an inner one."""
    for factors, c in size.linear[0]:
        for atom, _ in factors:
            if isinstance(atom, Extreme) and (type(atom) is Max) == (c < 0):
                return atom
    outer = {atom for factors, _ in size.linear[0] for atom, _ in factors}
    return next((atom for atom in atoms(size) if isinstance(atom, Extreme) and atom not in outer), None)


def _combined(size: Size, facts: Known, enough: End) -> End:
    """The bound by the best combination of inequalities that have to do with the size."""
    goal = form_of(size)
    forms, products = _relevant(goal, (facts.table, table(_about(goal, size, facts))))
    columns = [([form.terms.get(factors, 0) for factors in products], form.constant) for form in forms]
    limits = [facts.product_range(factors) for factors in products]
    return best_bound([goal.terms.get(factors, 0) for factors in products], goal.constant, columns, limits, enough)


def _relevant(goal: Form, tables: Iterable[Table]) -> tuple[list[Form], list[Product]]:
    """Inequalities about products of the goal, about products of those inequalities, and so on; nearest first."""
    products = dict.fromkeys(goal.terms)
    queue = deque(products)
    forms: dict[int, Form] = {}
    while queue:
        factors = queue.popleft()
        for form in chain.from_iterable(table.get(factors, ()) for table in tables):
            new = [other for other in form.terms if other not in products]
            if id(form) in forms or len(forms) >= MAX_FORMS or len(products) + len(new) > MAX_PRODUCTS:
                continue
            forms[id(form)] = form
            products.update(dict.fromkeys(new))
            queue.extend(new)
    return list(forms.values()), list(products)


def combine(*parts: tuple[int, Form]) -> Form:
    terms: dict[Product, int] = {}
    constant = 0
    for factor, form in parts:
        constant += factor * form.constant
        for factors, c in form.terms.items():
            terms[factors] = terms.get(factors, 0) + factor * c
    return Form({factors: c for factors, c in terms.items() if c}, constant)


def form_of(size: Size) -> Form:
    terms, constant = linear(size)
    return Form(dict(terms), constant)


def table(forms: Iterable[Form]) -> Table:
    by_product: dict[Product, list[Form]] = {}
    for form in forms:
        for factors in form.terms:
            by_product.setdefault(factors, []).append(form)
    return by_product


def _about(goal: Form, size: Size, facts: Known) -> Iterator[Form]:
    """Inequalities that hold by the nature of what stands in the goal."""
    definitions = list(definitions_of(atoms(size), facts))
    yield from definitions
    by_product = table(definitions)
    for factors in goal.terms:
        if len(factors) > 1 or factors[0][1] > 1:
            yield from _multiplied(factors, facts, by_product)


def _multiplied(factors: Product, facts: Known, definitions: Table) -> Iterator[Form]:
    """Inequalities about one factor, times the others where these are not negative."""
    for atom, _ in factors:
        alone = ((atom, 1),)
        rest = without(factors, alone)
        if not rest or facts.product_range(rest)[0] < 0:
            continue
        low, high = facts.product_range(alone)
        if is_finite(low):
            yield Form({factors: 1, rest: -int(low)} if low else {factors: 1}, 0)
        if is_finite(high):
            yield Form({factors: -1, rest: int(high)} if high else {factors: -1}, 0)
        for form in chain(facts.table.get(alone, ()), definitions.get(alone, ())):
            yield _times(form, rest)


def _times(form: Form, factors: Product) -> Form:
    terms = {merge(others, factors): c for others, c in form.terms.items()}
    if form.constant:
        terms[factors] = terms.get(factors, 0) + form.constant
    return Form({f: c for f, c in terms.items() if c}, 0)


def definitions_of(given: Iterable[Expr], facts: Known) -> Iterator[Form]:
    """What atoms are by definition, as forms that are not negative."""
    every = dict.fromkeys(given)
    every.update(
        dict.fromkeys(chain.from_iterable(atoms(atom.quotient) for atom in list(every) if isinstance(atom, Mod)))
    )
    for atom in every:
        rule = DEFINITIONS.get(type(atom))
        if rule is not None:
            yield from rule(atom, facts)


def _define_floordiv(atom: FloorDiv, facts: Known) -> list[Form]:
    a, b = form_of(atom.numerator), form_of(atom.divisor)
    if facts.range(atom.divisor)[0] <= 0:
        return []
    multiple = form_of(multiply(atom.divisor, atom))
    forms = [combine((1, a), (-1, multiple)), combine((1, multiple), (1, b), (-1, a), (-1, ONE))]
    if isinstance(atom.divisor, Expr) and facts.range(atom.numerator)[0] >= 0:
        forms.append(combine((1, a), (-1, form_of(atom))))
    return forms


def _define_modulo(atom: Mod, facts: Known) -> list[Form]:
    a, b = form_of(atom.numerator), form_of(atom.divisor)
    if facts.range(atom.divisor)[0] <= 0:
        return []
    multiple = form_of(multiply(atom.divisor, atom.quotient))
    by_quotient = combine((1, form_of(atom)), (1, multiple), (-1, a))
    forms = [by_quotient, combine((-1, by_quotient)), combine((1, b), (-1, form_of(atom)), (-1, ONE))]
    if facts.range(atom.numerator)[0] >= 0:
        forms.append(combine((1, a), (-1, form_of(atom))))
    return forms


def _define_min(atom: Min, facts: Known) -> list[Form]:
    return [combine((1, form_of(size)), (-1, form_of(atom))) for size in atom.sizes]


def _define_max(atom: Max, facts: Known) -> list[Form]:
    return [combine((1, form_of(atom)), (-1, form_of(size))) for size in atom.sizes]


ONE = Form({}, 1)
DEFINITIONS: Mapping[type[Expr], Callable[..., list[Form]]] = {
    FloorDiv: _define_floordiv,
    Mod: _define_modulo,
    Min: _define_min,
    Max: _define_max,
}
