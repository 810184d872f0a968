"""The lower bound of a size that follows from known inequalities, by elimination.

In: a size and facts. Out: a number it surely is not below (minus infinity if none is found).

A size is a linear form over products of atoms. If ``f >= 0`` is known and a product ``p`` stands with coefficients
of the same sign in the size ``s`` and in ``f``, then ``a*s - b*f`` with positive ``a`` and ``b`` that cancel ``p`` is
a form without ``p`` that bounds ``a*s`` from below. Its interval gives a bound of ``s``; since ``s`` is whole, it is
rounded up. Of ``s = m - n`` with ``n <= k`` and ``k + 2 <= m``:

    m - n  >=  m - n - (k - n) = m - k  >=  m - k - (m - k - 2) = 2

Known inequalities are those of the facts, what defines the atoms (``0 <= a - b*(a // b) < b``,
``min(a, b) <= a``), and both times a product that is not negative. A minimum that must not be small, or a maximum
that must not be large, is each of its sizes in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import gcd
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
    add,
    linear,
    merge,
    multiply,
    without,
)
from capture.ir.shapes.ranges import INFINITY, End, Range, is_finite, plus, scaled, single
from capture.ir.shapes.traverse import atoms, substitute, without_modulo

MAX_STEPS = 48
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
    low = max(low, _eliminate(size, facts, enough))
    if low < enough:
        plain = without_modulo(size)
        if plain != size:
            low = max(low, _eliminate(plain, facts, enough))
    if low < enough and cases:
        low = max(low, _by_cases(size, facts, enough, cases))
    return low


def _by_cases(size: Expr, facts: Known, enough: End, cases: int) -> End:
    extreme = _obstacle(size)
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


def _eliminate(size: Size, facts: Known, enough: End) -> End:
    terms, constant = linear(size)
    goal = Form(dict(terms), constant)
    tables = (facts.table, table(_about(goal, size, facts)))
    best: End = -INFINITY
    queue = deque([(goal, 1)])
    seen = set()
    for _ in range(MAX_STEPS):
        if not queue:
            break
        form, scale = queue.popleft()
        ends = {factors: scaled(c, facts.product_range(factors))[0] for factors, c in form.terms.items()}
        low = _total(ends.values(), form.constant)
        if is_finite(low):
            best = max(best, -(-low // scale))
            if best >= enough:
                break
        for factors in _pivots(ends):
            for known in chain(tables[0].get(factors, ()), tables[1].get(factors, ())):
                if (known.terms[factors] > 0) != (form.terms[factors] > 0):
                    continue
                smaller, factor = _cancelled(form, known, factors)
                mark = (frozenset(smaller.terms.items()), smaller.constant, scale * factor)
                if mark not in seen:
                    seen.add(mark)
                    queue.append((smaller, scale * factor))
    return best


def _pivots(ends: Mapping[Product, End]) -> Iterable[Product]:
    """What to eliminate next: a product without a bound must go in any case; failing that, try each."""
    for factors, end in ends.items():
        if not is_finite(end):
            return (factors,)
    return ends


def _total(ends: Iterable[End], constant: int) -> End:
    total = single(constant)
    for end in ends:
        total = plus(total, (end, end))
    return total[0]


def _cancelled(form: Form, known: Form, factors: Product) -> tuple[Form, int]:
    """``a * form - b * known`` without ``factors``, and ``a``."""
    c, d = form.terms[factors], known.terms[factors]
    common = gcd(c, d)
    a, b = abs(d) // common, abs(c) // common
    return combine((a, form), (-b, known)), a


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
    definitions = [form for atom in dict.fromkeys(atoms(size)) for form in defining(atom, facts)]
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


def defining(atom: Expr, facts: Known) -> list[Form]:
    """What an atom is by definition, as forms that are not negative."""
    rule = DEFINITIONS.get(type(atom))
    return rule(atom, facts) if rule else []


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
