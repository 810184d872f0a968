"""Interval arithmetic over whole numbers, for bounds of size expressions.

In: ranges, pairs of inclusive ends, each an int or plus or minus infinity. Out: the smallest range these
rules can promise for a sum, product, quotient and so on of values drawn from them.

>>> times((0, 7), (-2, 3)), floordiv((0, 7), (2, 2)), modulo((0, 7), (5, 5))
((-14, 21), (0, 3), (0, 4))
"""

from __future__ import annotations

from collections.abc import Iterable

End = int | float
"""An int or an infinity; the two never meet in float arithmetic, which would overflow on large ints."""

Range = tuple[End, End]

INFINITY = float("inf")
EVERYTHING: Range = (-INFINITY, INFINITY)


def is_finite(end: End) -> bool:
    return isinstance(end, int)


def single(value: int) -> Range:
    return (value, value)


def plus(a: Range, b: Range) -> Range:
    return (_plus(a[0], b[0]), _plus(a[1], b[1]))


def negative(a: Range) -> Range:
    return (-a[1], -a[0])


def times(a: Range, b: Range) -> Range:
    return _hull(_times(x, y) for x in a for y in b)


def scaled(factor: int, a: Range) -> Range:
    low, high = _times(factor, a[0]), _times(factor, a[1])
    return (low, high) if factor >= 0 else (high, low)


def power(a: Range, exponent: int) -> Range:
    """``a ** exponent`` for a positive exponent; an even one cannot be negative."""
    ends = [_power(end, exponent) for end in a]
    if exponent % 2 == 0 and a[0] < 0 < a[1]:
        ends.append(0)
    return _hull(ends)


def floordiv(a: Range, b: Range) -> Range:
    """Python's ``//``, over the divisors in ``b`` other than zero: those give no value to bound."""
    parts = _by_positive_divisors(a, b)
    return _hull(_floordiv(x, y) for over, by in parts for x in over for y in by) if parts else EVERYTHING


def modulo(a: Range, b: Range) -> Range:
    """Python's ``%`` (sign of the divisor), over the divisors in ``b`` other than zero."""
    low, high = b
    ends: list[End] = []
    if high > 0:
        ends += _modulo(a, (max(low, 1), high))
    if low < 0:
        ends += negative(_modulo(negative(a), (max(-high, 1), -low)))
    return _hull(ends) if ends else EVERYTHING


def smallest(ranges: Iterable[Range]) -> Range:
    lows, highs = zip(*ranges, strict=True)
    return (min(lows), min(highs))


def largest(ranges: Iterable[Range]) -> Range:
    lows, highs = zip(*ranges, strict=True)
    return (max(lows), max(highs))


def meet(a: Range, b: Range) -> Range:
    """What both ranges allow."""
    return (max(a[0], b[0]), min(a[1], b[1]))


def _by_positive_divisors(a: Range, b: Range) -> list[tuple[Range, Range]]:
    """The quotient ``a // b`` as up to two quotients by ranges of positive divisors."""
    low, high = b
    parts: list[tuple[Range, Range]] = []
    if high > 0:
        parts.append((a, (max(low, 1), high)))
    if low < 0:
        parts.append((negative(a), (max(-high, 1), -low)))
    return parts


def _modulo(a: Range, b: Range) -> Range:
    """Modulo by a range of positive divisors."""
    if b[0] == b[1] and is_finite(a[0]) and is_finite(a[1]) and a[0] // b[0] == a[1] // b[0]:
        return (a[0] % b[0], a[1] % b[0])  # all in one period
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(a[1], _plus(b[1], -1)))
    return (0, _plus(b[1], -1))


def _hull(ends: Iterable[End]) -> Range:
    ends = list(ends)
    return (min(ends), max(ends))


def _plus(x: End, y: End) -> End:
    if isinstance(x, float):
        return x
    return y if isinstance(y, float) else x + y


def _times(x: End, y: End) -> End:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    if x == 0 or y == 0:
        return 0
    return INFINITY if (x > 0) == (y > 0) else -INFINITY


def _power(x: End, exponent: int) -> End:
    if isinstance(x, int):
        return x**exponent
    return -INFINITY if x < 0 and exponent % 2 else INFINITY


def _floordiv(x: End, y: End) -> End:
    """One corner of a quotient by positive divisors; an infinite divisor leaves what is nearest to zero."""
    if isinstance(y, float):
        return 0 if x >= 0 else -1
    return x if isinstance(x, float) else x // y
