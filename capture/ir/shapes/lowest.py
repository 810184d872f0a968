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

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
    linear,
    merge,
    multiply,
    without,
)
from capture.ir.shapes.ranges import INFINITY, End, Range, is_finite
from capture.ir.shapes.simplex import best_bound
from capture.ir.shapes.traverse import atoms, substitute, without_modulo
from capture.records import dataclass

MAX_FORMS = 24
MAX_PRODUCTS = 16
MAX_CASES = 2


MOST_WORK = 200
"""Numbers in all tables of inequalities that one question looks at: less than half a millisecond."""
WORK_OF_FORM = 4
"""What finding an inequality counts."""


class _Work(threading.local):
    left: float = INFINITY


_work = _Work()


@contextmanager
def one_question() -> Iterator[None]:
    """Bounds that take longer inside are not found; a question that is part of another one shares its work."""
    if _work.left < INFINITY:
        yield
        return
    _work.left = MOST_WORK
    try:
        yield
    finally:
        _work.left = INFINITY


class Known(Protocol):
    """The view of facts that the search has."""

    @property
    def table(self) -> Table: ...
    def range(self, size: Size) -> Range: ...
    def product_range(self, factors: Product) -> Range: ...
    def definitions(self, atom: Expr) -> Sequence[Form]:
        """``define(atom, self)``, kept."""


@dataclass(frozen=True)
class Form:
    """``terms + constant``; unlike a ``Sum``, not in normal form (which would turn definitions into ``0 == 0``)."""

    terms: Mapping[Product, int]
    constant: int


Table = Mapping[Product, list[Form]]
"""Forms that are not negative, by each product in them."""


def lowest(size: Size, facts: Known, enough: End = INFINITY, cases: int = MAX_CASES) -> End:
    """The best lower bound found; the search ends at one that is ``enough``."""
    return _lowest_of_sizes(size, facts, Search(enough), cases)


def reaches(size: Size, facts: Known, bound: int, cases: int = MAX_CASES) -> bool:
    """Whether the size is surely not below the bound; no search for a lesser one."""
    return _lowest_of_sizes(size, facts, Search(bound, least=bound), cases) >= bound


@dataclass(frozen=True)
class Search:
    """A lower bound that is ``enough`` ends it, one below ``least`` is as good as none."""

    enough: End
    least: End = -INFINITY


def _lowest_of_sizes(size: Size, facts: Known, search: Search, cases: int) -> End:
    try:
        return _lowest(size, facts, (), search, cases)
    except TooComplex:  # what the proof would need is larger than sizes are allowed to be
        return facts.range(size)[0]


def _lowest(size: Size, facts: Known, given: Sequence[Form], search: Search, cases: int) -> End:
    low = facts.range(size)[0]
    if low >= search.enough or isinstance(size, int):
        return low
    low = max(low, _combined(size, facts, given, search.enough))
    if low < search.enough and _has_inner_modulo(size):
        low = max(low, _combined(without_modulo(size), facts, given, search.enough))
    if low < search.enough and cases:
        low = max(low, _by_cases(size, facts, given, search, cases))
    return low


def _has_inner_modulo(size: Expr) -> bool:
    """Whether a modulo is inside of another atom, where its definition does not help."""
    return any(type(atom) is Mod for outer in atoms(size) for atom in atoms(*outer.operands))


def _by_cases(size: Expr, facts: Known, given: Sequence[Form], search: Search, cases: int) -> End:
    extreme = _obstacle(size)
    if extreme is None or _work.left <= 0:
        return -INFINITY
    sign = 1 if type(extreme) is Max else -1
    low: End = INFINITY
    for chosen in extreme.sizes:
        others = (combine((sign, form_of(chosen)), (-sign, form_of(other))) for other in extreme.sizes)
        case = [*given, *(form for form in others if form.terms)]
        with suppress(ZeroDivisionError):  # a case in which the size has no value
            low = min(low, _lowest(substitute(size, {extreme: chosen}), facts, case, search, cases - 1))
        if low == -INFINITY or low < search.least:
            return -INFINITY
    return low


def _obstacle(size: Expr) -> Extreme | None:
    """A maximum that pulls the size down, or a minimum that lifts it: no inequality bounds those. Or an inner one."""
    for factors, c in size.linear[0]:
        for atom, _ in factors:
            if isinstance(atom, Extreme) and (type(atom) is Max) == (c < 0):
                return atom
    outer = {atom for factors, _ in size.linear[0] for atom, _ in factors}
    return next((atom for atom in atoms(size) if isinstance(atom, Extreme) and atom not in outer), None)


def _combined(size: Size, facts: Known, given: Sequence[Form], enough: End) -> End:
    """The bound by the best combination of inequalities that have to do with the size."""
    if _work.left <= 0:
        return -INFINITY
    goal = form_of(size)
    about = list(_about(goal, size, facts))
    _work.left -= WORK_OF_FORM * len(about)
    tables = (facts.table, table(chain(given, about)))
    if any(_is_unlimited(factors, c, tables, facts) for factors, c in goal.terms.items()):
        return -INFINITY
    forms, products = _relevant(goal, tables)
    _work.left -= len(forms) * len(products)
    if _work.left < 0:
        return -INFINITY
    columns = [([form.terms.get(factors, 0) for factors in products], form.constant) for form in forms]
    limits = [facts.product_range(factors) for factors in products]
    return best_bound([goal.terms.get(factors, 0) for factors in products], goal.constant, columns, limits, enough)


def _is_unlimited(factors: Product, c: int, tables: Iterable[Table], facts: Known) -> bool:
    """Whether nothing can keep ``c * factors`` from pulling the goal below any bound."""
    if is_finite(facts.product_range(factors)[0 if c > 0 else 1]):
        return False
    forms = chain.from_iterable(table.get(factors, ()) for table in tables)
    return not any((form.terms[factors] > 0) == (c > 0) for form in forms)


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
        yield from _multiplied(factors, facts, by_product)


def _multiplied(factors: Product, facts: Known, definitions: Table) -> Iterator[Form]:
    """Inequalities about one factor, times the others where these are not negative."""
    yield from multiplied_limits(factors, facts)
    for atom, rest in _one_by_one(factors, facts):
        for form in chain(facts.table.get(atom, ()), definitions.get(atom, ())):
            yield _times(form, rest)


def multiplied_limits(factors: Product, facts: Known) -> Iterator[Form]:
    """The limits of one factor, times the others: where ``2 <= n``, ``2*m <= n*m``."""
    for atom, rest in _one_by_one(factors, facts):
        low, high = facts.product_range(atom)
        if is_finite(low):
            yield combine((1, Form({factors: 1}, 0)), (-int(low), Form({rest: 1}, 0)))
        if is_finite(high):
            yield combine((-1, Form({factors: 1}, 0)), (int(high), Form({rest: 1}, 0)))


def _one_by_one(factors: Product, facts: Known) -> Iterator[tuple[Product, Product]]:
    """Each factor and the product of the others, where that is not negative."""
    for atom, _ in factors:
        alone = ((atom, 1),)
        rest = without(factors, alone)
        if rest and facts.product_range(rest)[0] >= 0:
            yield alone, rest


def _times(form: Form, factors: Product) -> Form:
    terms = {merge(others, factors): c for others, c in form.terms.items()}
    if form.constant:
        terms[factors] = terms.get(factors, 0) + form.constant
    return Form({f: c for f, c in terms.items() if c}, 0)


def definitions_of(given: Iterable[Expr], facts: Known) -> Iterator[Form]:
    """What the atoms are by definition, and the quotients that belong to modulos."""
    every = dict.fromkeys(given)
    quotients = [atom.quotient for atom in every if isinstance(atom, Mod)]
    return chain.from_iterable(map(facts.definitions, dict.fromkeys(chain(every, atoms(*quotients)))))


def define(atom: Expr, facts: Known) -> Sequence[Form]:
    """What an atom is by definition, as forms that are not negative."""
    rule = DEFINITIONS.get(type(atom))
    return rule(atom, facts) if rule else ()


def _define_floordiv(atom: FloorDiv, facts: Known) -> list[Form]:
    a, b, multiple = form_of(atom.numerator), atom.divisor, form_of(multiply(atom.divisor, atom))
    if facts.range(b)[0] <= 0:
        return []
    forms = [combine((1, a), (-1, multiple)), combine((1, multiple), (1, form_of(b)), (-1, a), (-1, ONE))]
    if isinstance(b, Expr) and facts.range(atom.numerator)[0] >= 0:
        forms.append(combine((1, a), (-1, form_of(atom))))
    return forms


def _define_modulo(atom: Mod, facts: Known) -> list[Form]:
    a, b, multiple = form_of(atom.numerator), atom.divisor, form_of(multiply(atom.divisor, atom.quotient))
    if facts.range(b)[0] <= 0:
        return []
    by_quotient = combine((1, form_of(atom)), (1, multiple), (-1, a))
    forms = [by_quotient, combine((-1, by_quotient))]
    if isinstance(b, Expr):
        forms.append(combine((1, form_of(b)), (-1, form_of(atom)), (-1, ONE)))
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
