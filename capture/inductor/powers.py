"""Powers with small exponents that are known: products, quotients and roots, a tenth of the time of ``pow``.

In: the scalar vocabulary, a float, an exponent. Out: the power, or None where ``pow`` computes it:

>>> short_power(s, x, -1.5)
%5:float64 = divide(%4, %0)          # (1 / sqrt(x)) / x

Each operation rounds once, by at most half a unit in the last place; three of them are within the bound of ``power``.
They are chosen so that nothing on the way overflows, vanishes or is invalid unless the power is: ``(1 / x) / x``, not
``1 / (x * x)``, which is zero where ``x ** -2`` is the smallest numbers. Signs of zeros and infinities are those of
``pow``: the roots of -0.0 and of minus infinity are its exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def short_power(s: Any, x: Any, exponent: float) -> Any:
    found = _POWERS.get(exponent)
    return None if found is None else found(s, x)


def _positive(s: Any, x: Any) -> Any:
    """For a root: that of minus infinity is infinite, as a power that is no odd number."""
    infinity = s.constant(float("inf"), x.dtype)
    return s.where(s.equal(x, float("-inf")), infinity, x)


def _root(s: Any, x: Any) -> Any:
    return s.sqrt(_positive(s, x))


def _unsigned_root(s: Any, x: Any) -> Any:
    """The same, 0.0 for -0.0."""
    return s.add(_root(s, x), 0.0)


def _square_of_square(s: Any, x: Any) -> Any:
    square = s.multiply(x, x)
    return s.multiply(square, square)


_POWERS: Mapping[float, Callable[[Any, Any], Any]] = {
    -0.5: lambda s, x: s.divide(s.constant(1, x.dtype), _unsigned_root(s, x)),
    1.5: lambda s, x: s.multiply(_positive(s, x), _root(s, x)),
    -1.5: lambda s, x: s.divide(s.divide(s.constant(1, x.dtype), _root(s, x)), _positive(s, x)),
    2.5: lambda s, x: s.multiply(x, s.multiply(x, _unsigned_root(s, x))),
    2.0: lambda s, x: s.multiply(x, x),
    3.0: lambda s, x: s.multiply(s.multiply(x, x), x),
    4.0: _square_of_square,
    -2.0: lambda s, x: s.divide(s.divide(s.constant(1, x.dtype), x), x),
    -3.0: lambda s, x: s.divide(s.divide(s.divide(s.constant(1, x.dtype), x), x), x),
}
"""By exponent. What is added up is the number of roundings: no exponent has more than three."""
