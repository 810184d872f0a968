"""Arithmetic on complex numbers, as arithmetic on their parts.

In: a name of the scalar vocabulary, and complex values. Out: the same operations on real and imaginary parts, in the
order in which NumPy's loops do them, so that every bit and every warning is the same::

    multiply(a + bi, c + di)    →    fma(a, c, -(b * d)), fma(a, d, b * c)

Products and absolute values are rounded as ``ir.complexes.rounding`` finds that NumPy rounds them here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from capture.ir.complexes import FUSED, rounding, scalar_rounding

if TYPE_CHECKING:
    from capture.inductor.loops import Builder, Value

BOTH, EITHER = "logical_and", "logical_or"


def _each(name: str) -> Callable[..., Value]:
    """The same on both parts."""

    def parts(s: Builder, *operands: Value) -> Value:
        return s.complex(*(getattr(s, name)(*(part(x) for x in operands)) for part in (s.real, s.imag)))

    return parts


def _test(name: str, combined: str) -> Callable[..., Value]:
    """A test of both parts."""

    def parts(s: Builder, *operands: Value) -> Value:
        verdicts = [getattr(s, name)(*(part(x) for x in operands)) for part in (s.real, s.imag)]
        return getattr(s, combined)(*verdicts)

    return parts


def _multiply_add(s: Builder, a: Value, b: Value, c: Value, like: np.dtype) -> Value:
    found = scalar_rounding(like) if s.alone else rounding(like)
    return s.fma(a, b, c) if found == FUSED else s.add(s.multiply(a, b), c)


def _multiply(s: Builder, x: Value, y: Value) -> Value:
    a, b, c, d = *x.args, *y.args
    real = _multiply_add(s, a, c, s.negative(s.multiply(b, d)), x.dtype)
    return s.complex(real, _multiply_add(s, a, d, s.multiply(b, c), x.dtype))


def _divide(s: Builder, x: Value, y: Value) -> Value:
    """Smith's algorithm; what is divided by zero is divided by zero part by part."""
    (a, b), (c, d) = x.args, y.args
    by_real = s.greater_equal(s.absolute(c), s.absolute(d))
    is_zero = s.logical_and(by_real, s.logical_and(s.equal(c, 0), s.equal(d, 0)))
    large, small = s.where(by_real, c, d), s.where(by_real, d, c)
    one, zero = s.constant(1, c.dtype), s.constant(0, c.dtype)
    divisor = s.where(is_zero, one, large)
    ratio = s.divide(small, divisor)
    scale = s.divide(one, s.add(divisor, s.multiply(small, ratio)))
    here, there = (s.where(is_zero, zero, part) for part in (a, b))
    more, less = s.where(by_real, here, there), s.where(by_real, there, here)
    scaled = s.multiply(more, ratio)
    minuend, subtrahend = s.where(by_real, less, scaled), s.where(by_real, scaled, less)
    real = s.multiply(s.add(more, s.multiply(less, ratio)), scale)
    imag = s.multiply(s.subtract(minuend, subtrahend), scale)
    nothing, unknown = s.where(is_zero, zero, one), _unknown(s, c, d)
    parts = ((s.divide(a, nothing), real), (s.divide(b, nothing), imag))
    return s.complex(*(s.where(is_zero, by_zero, _unless(s, unknown, part)) for by_zero, part in parts))


def _unknown(s: Builder, *numbers: Value) -> Value:
    """NaN if one of the numbers is, which is an invalid operation where NumPy compares them; else zero."""
    found = s.constant(0, numbers[0].dtype)
    for number in numbers:
        found = s.where(s.isnan(number), number, found)
    return s.known(found)


def _unless(s: Builder, unknown: Value, part: Value) -> Value:
    return s.where(s.equal(unknown, unknown), part, unknown)


def _absolute(s: Builder, x: Value) -> Value:
    """The larger part times a root; infinite where a part is, even if the other is NaN. It raises nothing."""
    a, b = map(s.absolute, x.args)
    one, infinite = (s.constant(number, a.dtype) for number in (1, np.inf))
    is_larger = s.greater(a, b)
    larger, smaller = s.where(is_larger, a, b), s.where(is_larger, b, a)
    ratio = s.divide(smaller, s.where(s.equal(larger, 0), one, larger))
    size = s.multiply(s.sqrt(_multiply_add(s, ratio, ratio, one, x.dtype)), larger)
    return s.where(s.equal(a, infinite), infinite, s.where(s.equal(b, infinite), infinite, size))


def _compare(on_real: str, on_imag: str) -> Callable[..., Value]:
    """By the real part, then by the imaginary one; nothing is below or above what has NaN in it."""

    def parts(s: Builder, x: Value, y: Value) -> Value:
        (a, b), (c, d) = x.args, y.args
        level, nothing = s.equal(a, c), s.constant(0, a.dtype)
        unknown = _unknown(s, a, c, *(s.where(level, part, nothing) for part in (b, d)))
        numbers = s.logical_and(s.equal(b, b), s.equal(d, d))
        decided = s.logical_and(getattr(s, on_real)(a, c), numbers)
        verdict = s.logical_or(decided, s.logical_and(level, getattr(s, on_imag)(b, d)))
        return s.logical_and(verdict, s.equal(unknown, unknown))

    return parts


def _truth(name: str) -> Callable[..., Value]:
    def parts(s: Builder, *operands: Value) -> Value:
        return getattr(s, name)(*(s.cast(x, np.dtype(bool)) for x in operands))

    return parts


def _extreme(is_first: str, nan_of: int) -> Callable[..., Value]:
    """The first operand where it has NaN in it (of ``fmax``, the second has) or is not beaten."""

    def parts(s: Builder, x: Value, y: Value) -> Value:
        stays = s.logical_or(s.isnan((x, y)[nan_of]), getattr(s, is_first)(x, y))
        return s.where(stays, x, y)

    return parts


def _where(s: Builder, condition: Value, x: Value, y: Value) -> Value:
    return s.complex(*(s.where(condition, part(x), part(y)) for part in (s.real, s.imag)))


PARTS: Mapping[str, Callable[..., Value]] = {
    "add": _each("add"),
    "subtract": _each("subtract"),
    "negative": _each("negative"),
    "conjugate": lambda s, x: s.complex(x.args[0], s.negative(x.args[1])),
    "multiply": _multiply,
    "square": lambda s, x: _multiply(s, x, x),
    "divide": _divide,
    "absolute": _absolute,
    "equal": _test("equal", BOTH),
    "not_equal": _test("not_equal", EITHER),
    "less": _compare("less", "less"),
    "less_equal": _compare("less", "less_equal"),
    "greater": _compare("greater", "greater"),
    "greater_equal": _compare("greater", "greater_equal"),
    "isnan": _test("isnan", EITHER),
    "isinf": _test("isinf", EITHER),
    "isfinite": _test("isfinite", BOTH),
    "logical_and": _truth("logical_and"),
    "logical_or": _truth("logical_or"),
    "logical_xor": _truth("logical_xor"),
    "logical_not": _truth("logical_not"),
    "maximum": _extreme("greater_equal", 0),
    "minimum": _extreme("less_equal", 0),
    "fmax": _extreme("greater_equal", 1),
    "fmin": _extreme("less_equal", 1),
    "where": _where,
}
"""What complex values have of the vocabulary."""
