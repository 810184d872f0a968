"""The rules of ``min`` and ``max``: flat, without the sizes that cannot win, common terms and factors outside.

In: sizes. Out: the one that always wins, or a ``Min`` or ``Max`` atom of those that may.

>>> n, m = Symbol("n"), Symbol("m", low=1)
>>> str(maximum(n + m, n, 0)), str(minimum(2 * n, 4, 2 * m)), str(maximum(-n, -m)), str(minimum(n + 1, m + 1))
('m[1..] + n', '2*min(2, m[1..], n)', '-min(m[1..], n)', 'min(m[1..], n) + 1')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from capture.ir.shapes.expr import (
    DECLARED,
    Extreme,
    Knowledge,
    Max,
    Min,
    Size,
    add,
    assemble,
    leading_sign,
    linear,
    multiply,
)


def minimum(*sizes: Size, known: Knowledge = DECLARED) -> Size:
    return _extreme(Min, sizes, known)


def maximum(*sizes: Size, known: Knowledge = DECLARED) -> Size:
    return _extreme(Max, sizes, known)


OPPOSITE: Mapping[type[Extreme], type[Extreme]] = {Min: Max, Max: Min}
SIGN = {Min: -1, Max: 1}


def _extreme(kind: type[Extreme], sizes: Iterable[Size], known: Knowledge) -> Size:
    flat = dict.fromkeys(inner for size in sizes for inner in _flattened(kind, size))
    left = _undominated(kind, list(flat), known)
    if len(left) == 1:
        return left[0]
    common, left = _common_terms(left)
    content = gcd(*(number for size in left for number in _numbers(size)))
    if _reads_better_mirrored(kind, left):
        content, kind = -content, OPPOSITE[kind]
    if common == 0 and content == 1:
        return kind(tuple(sorted(left, key=str)))
    terms = [linear(size) for size in left]
    left = [assemble({f: c // content for f, c in t}, constant // content) for t, constant in terms]
    return add((common, multiply(content, _extreme(kind, left, known))))


def _reads_better_mirrored(kind: type[Extreme], sizes: list[Size]) -> bool:
    """One of ``min(-a, -b)`` and ``-max(a, b)`` is the normal form, one of ``max(a - b, 0)`` and ``-min(b - a, 0)``."""
    numbers = [number for size in sizes for number in _numbers(size)]
    if 0 in sizes and min(numbers) < 0 < max(numbers):
        return kind is Min
    return all(leading_sign(size) < 0 or size == 0 for size in sizes)


def _flattened(kind: type[Extreme], size: Size) -> Sequence[Size]:
    """The sizes whose extreme one ``size`` is: of ``2*max(a, b) + 1`` in a maximum, ``2*a + 1`` and ``2*b + 1``."""
    terms, constant = linear(size)
    if len(terms) != 1:
        return (size,)
    (((atom, exponent), *others), c) = terms[0]
    if others or exponent != 1 or type(atom) is not (kind if c > 0 else OPPOSITE[kind]):
        return (size,)
    return [add((multiply(c, inner), constant)) for inner in atom.operands]


def _undominated(kind: type[Extreme], sizes: list[Size], known: Knowledge) -> list[Size]:
    """The sizes that could be the extreme one."""
    kept: list[Size] = []
    for size in sizes:
        if any(_dominates(kind, other, size, known) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(kind, size, other, known)]
        kept.append(size)
    return kept


def _dominates(kind: type[Extreme], a: Size, b: Size, known: Knowledge) -> bool:
    """Whether ``a`` is surely at least as extreme as ``b``."""
    if type(b) is OPPOSITE[kind] and a in b.sizes:  # min(a, max(a, c))
        return True
    return known.at_least(multiply(SIGN[kind], add((a, multiply(b, -1)))), 0)


def _common_terms(sizes: list[Size]) -> tuple[Size, list[Size]]:
    """What all the sizes have in common, and what is left of each: ``max(n + k, n + 1)`` is ``n + max(k, 1)``."""
    (first, constant), *others = [linear(size) for size in sizes]
    shared = {f: c for f, c in first if all((f, c) in terms for terms, _ in others)}
    common = assemble(shared, constant if all(constant == other for _, other in others) else 0)
    if common == 0:
        return 0, sizes
    return common, [add((size, multiply(common, -1))) for size in sizes]


def _numbers(size: Size) -> list[int]:
    terms, constant = linear(size)
    return [constant, *(c for _, c in terms)]
