"""What is known about sizes, and what follows from it.

In: relations that hold. Out: decisions (True, False, or None where the facts leave it open), bounds, simpler sizes,
and of a list of relations those that do not follow from the others.

>>> n, m = Symbol("n"), Symbol("m")
>>> facts = Facts.of(le(n, m), lt(m, 10), eq(m % 4, 0))
>>> facts.decide(lt(n, 10)), facts.decide(eq(n, 0)), facts.decide(eq(m, 6)), facts.bounds(m - n)
(True, None, False, (0, 8))
>>> str(facts.simplify(m // 4 * 4 + minimum(n, m)))
'm + n'

Facts are kept in the form that serves best: a symbol that equals something is replaced by it everywhere, bounds of
one product are ranges, ``a % k == r`` is a congruence, the rest are sizes that are not negative or not zero.
Interval arithmetic answers most questions, ``lowest`` the rest; for what is wrong at one of a few points (``samples``)
no proof is sought. All answers are sound; None may mean that no proof was found. As in Python, a question about a
size with a divisor that is known to be zero raises ``ZeroDivisionError``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import chain
from math import gcd

from capture.ir.shapes import ranges, witness
from capture.ir.shapes.divisions import modulo
from capture.ir.shapes.expr import (
    Expr,
    FloorDiv,
    Mod,
    Product,
    Size,
    Sum,
    Symbol,
    TooComplex,
    add,
    expand,
    leading_sign,
    linear,
    multiply,
    product_range,
    without,
)
from capture.ir.shapes.lowest import (
    Form,
    Table,
    define,
    definitions_of,
    form_of,
    lowest,
    multiplied_limits,
    one_question,
    reaches,
    table,
)
from capture.ir.shapes.ranges import EVERYTHING, Range, is_finite
from capture.ir.shapes.relations import Relation, eq, primitive
from capture.ir.shapes.samples import GENERAL, Points
from capture.ir.shapes.traverse import Rules, atoms, fold, rules, substitute, symbols, without_modulo
from capture.records import dataclass, field
from capture.records import replace as changed


class Contradiction(ValueError):
    """A relation was assumed that is known to be wrong."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Immutable: ``assume`` returns new facts. Fields other than the first are internal."""

    relations: tuple[Relation, ...] = ()
    """What was assumed, without what followed from the rest at that time."""
    solved: Mapping[Expr, Size] = field(default_factory=dict, repr=False)
    """Symbols, with what stands in their place."""
    limits: Mapping[Product, Range] = field(default_factory=dict, repr=False)
    """Bounds of single products."""
    nonnegative: tuple[Expr, ...] = field(default=(), repr=False)
    """Sums that are at least zero."""
    nonzeros: tuple[Expr, ...] = field(default=(), repr=False)
    """Sizes that are not zero, of unknown sign; their leading coefficient is positive."""
    congruences: tuple[tuple[Expr, int], ...] = field(default=(), repr=False)
    """Sizes that are multiples of a number."""
    points: Points = field(default=GENERAL, repr=False)
    """Where statements are tried before a proof is sought."""

    @staticmethod
    def of(*relations: Relation) -> Facts:
        return reduce(Facts.assume, relations, Facts())

    def assume(self, relation: Relation) -> Facts:
        """These facts and the relation; ``Contradiction`` if it is known to be wrong."""
        verdict = self.decide(relation)
        if verdict is False:
            raise Contradiction(f"{relation} contradicts {', '.join(map(str, self.relations)) or 'a declared range'}")
        return self if verdict else self.learn(relation)

    def learn(self, relation: Relation) -> Facts:
        """``assume`` of a relation that is known to be open: whoever asked need not ask again."""
        try:
            with one_question():
                facts = ASSUME[relation.op](self, self.simplify(relation.difference))
        except TooComplex:
            facts = self  # to know less is sound
        return changed(facts, relations=(*self.relations, relation))._with_answers(self)

    def _with_answers(self, fewer: Facts) -> Facts:
        """What followed from fewer facts follows from these, without another proof."""
        self._verdicts.update((asked, verdict) for asked, verdict in fewer._verdicts.items() if verdict is not None)
        self._least.update((asked, True) for asked, is_so in fewer._least.items() if is_so)
        return self

    def decide(self, relation: Relation) -> bool | None:
        """Whether the relation holds, as far as that is known."""
        if relation.statement in self._statements:
            return True
        if relation not in self._verdicts:
            rule, wanted = DECIDE[relation.op]
            try:
                with one_question():
                    answer = rule(self, self.simplify(relation.difference))
            except TooComplex:
                answer = None
            self._verdicts[relation] = None if answer is None else answer == wanted
        return self._verdicts[relation]

    def implied(self, relation: Relation) -> bool:
        return self.decide(relation) is True

    def bounds(self, size: Size) -> tuple[int | None, int | None]:
        """The smallest and the largest value, inclusive; None where there is no limit, or none was found."""
        size = self.simplify(size)
        seen = self.seen(size)
        least, most = min(seen, default=ranges.INFINITY), max(seen, default=-ranges.INFINITY)
        with one_question():
            low, high = lowest(size, self, least), -lowest(multiply(size, -1), self, -most)
        return (int(low) if is_finite(low) else None, int(high) if is_finite(high) else None)

    def simplify(self, size: Size) -> Size:
        """An equal size with fewer symbols, divisions and extremes."""
        if isinstance(size, int):
            return size
        if size not in self._simplified:
            try:
                with one_question():
                    self._simplified[size] = fold(size, self.solved.get, self._rules)
            except TooComplex:
                self._simplified[size] = size
        return self._simplified[size]

    def minimal(self, relations: Iterable[Relation], example: Mapping[str, int] | None = None) -> tuple[Relation, ...]:
        """The relations, in order, without those that follow from these facts and the others.

        All of them hold at the ``example``, if there is one: near it, most that are needed are found to be so. One with
        several divisions or extremes is kept: proofs about it are long, and there hardly ever is one.
        """
        relations = tuple(dict.fromkeys(relations))
        everything = (*self.relations, *relations)
        alone = _equal_to_what_nothing_else_is_about(everything)
        plain = [relation for relation in relations if relation not in alone and _has_few_parts(relation)]
        sure = set() if example is None else set(witness.needed(plain, everything, example))
        kept = {relation for part in _parts(plain, self.relations) for relation in self._minimal(part, sure)}
        return tuple(relation for relation in relations if relation in kept or relation not in plain)

    def _minimal(self, relations: Sequence[Relation], sure: set[Relation]) -> Sequence[Relation]:
        if sure.issuperset(relations):
            return relations
        needed: list[Relation] = []
        before = [self]
        for relation in relations:
            if relation in sure or not before[-1].implied(relation):
                needed.append(relation)
                before.append(before[-1].learn(relation))
        kept: list[Relation] = []
        for relation, facts in zip(reversed(needed), reversed(before[:-1]), strict=True):
            if relation in sure or not reduce(Facts.learn, kept, facts).implied(relation):
                kept.insert(0, relation)
        return kept

    # What the rules of the algebra and ``lowest`` ask

    def range(self, size: Size) -> Range:
        """Bounds by interval arithmetic alone."""
        if isinstance(size, int):
            return ranges.single(size)
        if size not in self._ranges:
            self._ranges[size] = self._range(size)
        return self._ranges[size]

    def _range(self, size: Expr) -> Range:
        if isinstance(size, Sum):
            parts = (ranges.scaled(c, self.product_range(factors)) for factors, c in size.terms)
            return reduce(ranges.plus, parts, ranges.single(size.constant))
        return ranges.meet(size.interval(self.range), self.limits.get(((size, 1),), EVERYTHING))

    def product_range(self, factors: Product) -> Range:
        return ranges.meet(product_range(factors, self.range), self.limits.get(factors, EVERYTHING))

    def at_least(self, size: Size, bound: int) -> bool:
        low, high = self.range(size)
        if low >= bound or high < bound:
            return low >= bound
        if (size, bound) not in self._least:
            refuted = any(value < bound for value in self.seen(size))
            self._least[size, bound] = not refuted and reaches(size, self, bound, cases=1)
        return self._least[size, bound]

    def seen(self, size: Size) -> Sequence[int]:
        """Values that the size has at points where the facts hold; there may be none."""
        values = self.points.of(size)
        return [value for point in self._points if (value := values[point]) is not None]

    def nonzero(self, size: Size) -> bool:
        terms, constant = linear(size)
        if len(terms) == 1 and not constant and len(terms[0][0]) > 1:
            return all(self.nonzero(atom) for atom, _ in terms[0][0])
        low, high = self.range(size)
        return low > 0 or high < 0 or multiply(size, leading_sign(size)) in self.nonzeros

    def residue(self, size: Size, modulus: int) -> Size:
        for multiple, number in self.congruences:
            (lead, coefficient), *_ = multiple.linear[0]
            c = dict(linear(size)[0]).get(lead, 0)
            if not c or number % modulus:
                continue
            if gcd(coefficient, modulus) == 1:
                size = add((size, multiply(multiple, -c * pow(coefficient, -1, modulus))))
            elif c % coefficient == 0:
                size = add((size, multiply(multiple, -(c // coefficient))))
        return size

    @cached_property
    def table(self) -> Table:
        sizes = chain.from_iterable((size, without_modulo(size)) for size in self.nonnegative)
        forms = [form_of(size) for size in dict.fromkeys(sizes)]
        about = atoms(*self.nonnegative, *(atom for factors in self.limits for atom, _ in factors))
        products = dict.fromkeys(chain(self.limits, *(form.terms for form in forms)))
        limits = chain.from_iterable(multiplied_limits(factors, self) for factors in products)
        return table(chain(forms, definitions_of(about, self), limits))

    def definitions(self, atom: Expr) -> Sequence[Form]:
        if atom not in self._definitions:
            self._definitions[atom] = define(atom, self)
        return self._definitions[atom]

    def _bounded(self, size: Size) -> Facts:
        if isinstance(size, int):
            return self
        terms, constant = size.linear
        if len(terms) > 1:
            return changed(self, nonnegative=(*self.nonnegative, size))
        ((factors, c),) = terms
        limit: Range = (-(constant // c), ranges.INFINITY) if c > 0 else (-ranges.INFINITY, constant // -c)
        old = self.limits.get(factors, EVERYTHING)
        return changed(self, limits={**self.limits, factors: ranges.meet(old, limit)})

    @cached_property
    def _points(self) -> Sequence[int]:
        """Where the facts hold, of what stands in questions: symbols that are solved do not."""
        columns: list[tuple[Sequence[int | None], Callable[[int], bool]]] = [
            *((self.points.of_product(factors), partial(_lies_in, limit)) for factors, limit in self.limits.items()),
            *((self.points.of(size), _is_at_least_zero) for size in self.nonnegative),
            *((self.points.of(size), bool) for size in self.nonzeros),
            *((self.points.of(size), partial(_is_multiple, number)) for size, number in self.congruences),
        ]
        return [point for point in range(self.points.count) if all(_holds_at(point, *column) for column in columns)]

    # Caches

    @cached_property
    def _statements(self) -> frozenset[tuple[str, Size]]:
        return frozenset(relation.statement for relation in self.relations)

    @cached_property
    def _verdicts(self) -> dict[Relation, bool | None]:
        return {}

    @cached_property
    def _least(self) -> dict[tuple[Size, int], bool]:
        return {}

    @cached_property
    def _simplified(self) -> dict[Expr, Size]:
        return {}

    @cached_property
    def _definitions(self) -> dict[Expr, Sequence[Form]]:
        return {}

    @cached_property
    def _ranges(self) -> dict[Expr, Range]:
        return {}

    @cached_property
    def _rules(self) -> Rules:
        return {kind: partial(self._apply, rule) for kind, rule in rules(self).items()}

    def _apply(self, rule: Callable[..., Size], *operands: Size) -> Size:
        size = rule(*operands)
        if isinstance(size, Sum) and self._has_remainders:
            size = _join_multiples(self, size)
        low, high = self.range(size)
        return int(low) if low == high else size

    @cached_property
    def _has_remainders(self) -> bool:
        """Whether the remainder of some division is known."""
        return bool(self.congruences) or any(type(f[0][0]) is Mod for f in self.limits)


def _join_multiples(facts: Facts, size: Size) -> Size:
    """``k * (a // k)`` is ``a - r`` where ``a % k`` is known to be the number ``r``."""
    for factors, c in linear(size)[0]:
        for atom, _ in factors:
            scale = _multiple_of_divisor(atom, factors, c) if isinstance(atom, FloorDiv) else None
            if scale is None:
                continue
            assert isinstance(atom, FloorDiv)
            remainder = facts._apply(partial(modulo, known=facts), atom.numerator, atom.divisor)
            if isinstance(remainder, int):
                whole = multiply(scale, add((atom.numerator, -remainder)))
                return _join_multiples(facts, add((size, multiply(-c, expand(factors)), whole)))
    return size


def _multiple_of_divisor(atom: FloorDiv, factors: Product, c: int) -> Size | None:
    """``x`` such that ``c * factors`` is ``x * divisor * atom``."""
    rest = without(factors, ((atom, 1),))
    if isinstance(atom.divisor, int):
        return None if c % atom.divisor or rest is None else multiply(c // atom.divisor, expand(rest))
    terms, constant = atom.divisor.linear
    if len(terms) > 1 or constant or terms[0][1] != 1 or rest is None:
        return None
    rest = without(rest, terms[0][0])
    return None if rest is None else multiply(c, expand(rest))


MOST_PARTS = 1
"""Divisions and extremes in a relation that proofs are about."""


def _has_few_parts(relation: Relation) -> bool:
    parts = {atom for atom in atoms(relation.left, relation.right) if not isinstance(atom, Symbol)}
    return len(parts) <= MOST_PARTS


def _equal_to_what_nothing_else_is_about(relations: Sequence[Relation]) -> frozenset[Relation]:
    """Equalities with a symbol that is in no other relation: they follow from none, and none is proved by them.

    >>> n, m, k = map(Symbol, "nmk")
    >>> [str(relation) for relation in _equal_to_what_nothing_else_is_about([eq(n, m), eq(m, k), le(1, m), le(n, 3)])]
    ['m == k']
    """
    often: Counter[Size] = Counter(symbol for relation in relations for symbol in relation.symbols)
    return frozenset(
        relation
        for relation in relations
        if relation.op == "==" and any(often[side] == 1 for side in (relation.left, relation.right))
    )


def _parts(relations: Iterable[Relation], facts: Iterable[Relation]) -> Iterator[list[Relation]]:
    """Relations apart by what they are about: those without a symbol in common, also by way of facts, imply nothing.

    >>> n, m, k = map(Symbol, "nmk")
    >>> [[str(relation) for relation in part] for part in _parts([eq(n, m), eq(k, 4), eq(m, 3)], [])]
    [['k == 4'], ['n == m', 'm == 3']]
    """
    parts: list[tuple[set[Symbol], list[Relation]]] = [(set(fact.symbols), []) for fact in facts]
    for relation in relations:
        about, members = set(relation.symbols), []
        apart = []
        for part in parts:
            if about.isdisjoint(part[0]):
                apart.append(part)
            else:
                about |= part[0]
                members += part[1]
        parts = [*apart, (about, [*members, relation])]
    order = {relation: place for place, relation in enumerate(relations)}
    return (sorted(members, key=order.__getitem__) for _, members in parts if members)


def _holds_at(point: int, values: Sequence[int | None], holds: Callable[[int], bool]) -> bool:
    value = values[point]
    return value is not None and holds(value)


def _lies_in(limit: Range, value: int) -> bool:
    return limit[0] <= value <= limit[1]


def _is_at_least_zero(value: int) -> bool:
    return value >= 0


def _is_multiple(number: int, value: int) -> bool:
    return value % number == 0


# Decisions


def _signs(facts: Facts, gap: Size) -> set[int]:
    return {(value > 0) - (value < 0) for value in facts.seen(gap)}


def _is_zero(facts: Facts, gap: Size) -> bool | None:
    if isinstance(gap, int):
        return gap == 0
    signs = _signs(facts, gap)
    if 0 not in signs and _is_never_zero(facts, gap):
        return False
    if len(signs) > 1:
        return None
    plain = without_modulo(gap)
    if isinstance(plain, int):
        return plain == 0
    opposite = multiply(gap, -1)
    if signs == {0}:
        return True if reaches(gap, facts, 0) and reaches(opposite, facts, 0) else None
    if signs:
        return False if reaches(gap if signs == {1} else opposite, facts, 1) else None
    low = lowest(gap, facts, 1)
    if low > 0:
        return False
    high = -lowest(opposite, facts, 1)
    return False if high < 0 else True if low == high == 0 else None


def _is_never_zero(facts: Facts, gap: Expr) -> bool:
    terms, constant = gap.linear
    if constant % gcd(*(c for _, c in terms)) or multiply(gap, leading_sign(gap)) in facts.nonzeros:
        return True
    remainders = (modulo(gap, number, facts) for _, number in facts.congruences)
    return any(isinstance(remainder, int) and remainder != 0 for remainder in remainders)


def _is_not_negative(facts: Facts, gap: Size) -> bool | None:
    signs = _signs(facts, gap)
    if -1 not in signs and reaches(gap, facts, 0):
        return True
    return False if signs <= {-1} and reaches(multiply(gap, -1), facts, 1) else None


DECIDE: Mapping[str, tuple[Callable[[Facts, Size], bool | None], bool]] = {
    "==": (_is_zero, True),
    "!=": (_is_zero, False),
    "<": (_is_not_negative, True),
    "<=": (_is_not_negative, True),
}
"""For each relation, the question to ask about the difference, and the answer that makes the relation true."""


# Assumptions


def _assume_zero(facts: Facts, gap: Size) -> Facts:
    if isinstance(gap, int):
        return facts
    gap = primitive(gap, True)
    solution = _solution(gap)
    if solution is not None:
        return _put(facts, *solution)
    congruence = _congruence(gap)
    if congruence is not None:
        facts = changed(facts, congruences=(*facts.congruences, congruence))
    return facts._bounded(gap)._bounded(-gap)


def _assume_not_negative(facts: Facts, gap: Size) -> Facts:
    if isinstance(gap, int):
        return facts
    if facts.at_least(-gap, 0):
        return _assume_zero(facts, gap)
    return _sharpened(facts._bounded(gap), gap)


def _assume_nonzero(facts: Facts, gap: Size) -> Facts:
    if isinstance(gap, int):
        return facts
    for size in (gap, -gap):
        if facts.at_least(size, 0):
            return _assume_not_negative(facts, size - 1)
    different = primitive(gap, True) * leading_sign(gap)
    assert isinstance(different, Expr)
    return changed(facts, nonzeros=(*facts.nonzeros, different))


ASSUME: Mapping[str, Callable[[Facts, Size], Facts]] = {
    "==": _assume_zero,
    "!=": _assume_nonzero,
    "<": _assume_not_negative,
    "<=": _assume_not_negative,
}


def _sharpened(facts: Facts, gap: Expr) -> Facts:
    """What is not zero and, with the new bound, not negative, is at least one."""
    for size in facts.nonzeros:
        if gap.symbols.isdisjoint(size.symbols):
            continue
        for signed in (size, -size):
            if facts.at_least(signed, 0):
                rest = tuple(other for other in facts.nonzeros if other is not size)
                return _assume_not_negative(changed(facts, nonzeros=rest), facts.simplify(signed - 1))
    return facts


def _solution(gap: Size) -> tuple[Symbol, Size] | None:
    """A symbol that the equation ``gap == 0`` gives by the others; of several, the last by name."""
    terms, _ = linear(gap)
    alone = [(f[0][0], c) for f, c in terms if len(f) == 1 and f[0][1] == 1 and abs(c) == 1]
    for symbol, c in sorted(alone, key=lambda term: term[0].text, reverse=True):
        value = add((multiply(gap, -c), symbol))
        if isinstance(symbol, Symbol) and symbol not in symbols(value):
            return symbol, value
    return None


def _congruence(gap: Size) -> tuple[Expr, int] | None:
    """A multiple of a number, from an equation ``a % k == r`` or ``k * (a // k) + r == a``."""
    for (atom, exponent), *others in (factors for factors, _ in linear(gap)[0]):
        if others or exponent != 1 or not isinstance(atom, FloorDiv | Mod) or not isinstance(atom.divisor, int):
            continue
        remainder = without_modulo(Mod(atom.numerator, atom.divisor))
        for equation in (without_modulo(gap), -without_modulo(gap)):
            r = remainder - equation
            if isinstance(r, int):
                multiple = atom.numerator - r
                assert isinstance(multiple, Expr)
                return multiple, atom.divisor
    return None


def _put(facts: Facts, symbol: Symbol, value: Size) -> Facts:
    """The facts with ``value`` in the place of ``symbol``; what was known of the symbol is known of the value."""
    put = partial(substitute, mapping={symbol: value})
    touched = {factors: limit for factors, limit in facts.limits.items() if symbol in symbols(expand(factors))}
    bounds = [*_within(value, symbol.range), *(put(size) for size in facts.nonnegative if symbol in size.symbols)]
    for factors, limit in touched.items():
        bounds += _within(put(expand(factors)), limit)
    nonzeros = [put(size) for size in facts.nonzeros if symbol in size.symbols]
    congruences = [(put(size), number) for size, number in facts.congruences]
    facts = Facts(
        relations=facts.relations,
        solved={**{old: put(size) for old, size in facts.solved.items()}, symbol: value},
        limits={factors: limit for factors, limit in facts.limits.items() if factors not in touched},
        nonnegative=tuple(size for size in facts.nonnegative if symbol not in size.symbols),
        nonzeros=tuple(size for size in facts.nonzeros if symbol not in size.symbols),
        congruences=tuple((size, number) for size, number in congruences if isinstance(size, Expr)),
        points=facts.points,
    )
    for bound in bounds:
        if not facts.at_least(bound, 0):
            facts = _assume_not_negative(facts, facts.simplify(bound))
    for size in nonzeros:
        facts = _assume_nonzero(facts, facts.simplify(size))
    return facts


def _within(size: Size, limit: Range) -> list[Size]:
    """Sizes that are not negative where ``size`` keeps to the limit."""
    gaps = [(size, limit[0]), (multiply(size, -1), -limit[1])]
    return [gap - int(end) for gap, end in gaps if is_finite(end)]


# Shapes


def broadcast(a: Size, b: Size, facts: Facts) -> tuple[Size, Relation | None]:
    """The size of two dims together, and what must be true for it, if that is not known.

    Where the relation does not hold of the values at hand, assume its negation and ask again, until it does; only
    the relation that holds is needed then. ``ValueError`` where the dims cannot be combined.

    >>> n, m = Symbol("n"), Symbol("m")
    >>> size, needed = broadcast(n, m, Facts())
    >>> str(size), str(needed)
    ('n', 'n == m')
    >>> size, needed = broadcast(n, m, Facts.of(negate(needed)))
    >>> str(size), str(needed)
    ('m', 'n == 1')
    """
    if b == 1 or a == b:
        return a, None
    if a == 1:
        return b, None
    either = b if isinstance(b, int) else a
    ways = [(either, eq(a, b)), (b, eq(a, 1)), (a, eq(b, 1))]
    if isinstance(b, Expr) and b.range[1] <= 1:  # x - x[:1]
        ways.reverse()
    verdicts = [facts.decide(relation) for _, relation in ways]
    for (size, _), verdict in zip(ways, verdicts, strict=True):
        if verdict:
            return size, None
    for way, verdict in zip(ways, verdicts, strict=True):
        if verdict is None:
            return way
    raise ValueError(f"sizes {a} and {b} do not broadcast")
