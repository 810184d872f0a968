"""The rules of ``//`` and ``%``: what comes out of a division, and what is left in normal form.

In: a numerator and a divisor. Out: whole multiples outside, and at most one smaller ``FloorDiv`` or ``Mod`` atom.
By a number ``k``, its numerator has coefficients below ``k`` without a factor in common with it, a positive leading
one, and a constant in ``range(k)``.

>>> n, m = Symbol("n"), Symbol("m", low=1)
>>> str(-(-n // 3)), str((5 * n - 1) // 2), str(n // 2 // 3), str((n * m + n) // m), str(n % 12 % 4)
('(n + 2) // 3', '(n + 1) // 2 + 2*n - 1', 'n // 6', 'n + n // m[1..]', 'n % 4')
"""

from __future__ import annotations

from math import gcd

from capture.ir.shapes import ranges
from capture.ir.shapes.expr import (
    DECLARED,
    MAX_TERMS,
    Expr,
    FloorDiv,
    Knowledge,
    Mod,
    Product,
    Size,
    add,
    assemble,
    expand,
    leading_sign,
    linear,
    multiply,
    with_constant,
    without,
)


def floordiv(a: Size, b: Size, known: Knowledge = DECLARED) -> Size:
    """``a // b`` with Python's rounding, towards minus infinity."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        return _floordiv_by_number(a, b, known)
    if leading_sign(b) < 0:
        return floordiv(multiply(a, -1), multiply(b, -1), known)
    quotient, a = _long_division(a, b) if known.nonzero(b) else (0, a)
    if isinstance(a, int) and a == 0 and known.nonzero(b):
        return quotient
    _, a, b = _cancel(a, b, known)
    if isinstance(b, int):
        return add((quotient, floordiv(a, b, known)))
    if known.at_least(b, 1):
        if _lies_below(a, b, known):
            return quotient
        if isinstance(a, FloorDiv):  # x // m // k
            return add((quotient, floordiv(a.numerator, multiply(a.divisor, b), known)))
    return add((quotient, FloorDiv(a, b)))


def modulo(a: Size, b: Size, known: Knowledge = DECLARED) -> Size:
    """``a % b`` with Python's sign, that of ``b``."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a % b
        return _modulo_by_number(a, b, known)
    if leading_sign(b) < 0:
        return multiply(modulo(multiply(a, -1), multiply(b, -1), known), -1)
    if known.nonzero(b):
        _, a = _long_division(a, b)
        if isinstance(a, int) and a == 0:
            return 0
    common, a, b = _cancel(a, b, known)
    if not (isinstance(common, int) and common == 1):
        return multiply(common, modulo(a, b, known))
    if isinstance(a, Mod) and a.divisor == b:
        return a
    if known.at_least(b, 1) and _lies_below(a, b, known):
        return a
    return Mod(a, b)


def _floordiv_by_number(a: Expr, k: int, known: Knowledge) -> Size:
    if k == 0:
        raise ZeroDivisionError(f"{a} // 0")
    if k < 0:
        return floordiv(multiply(a, -1), -k, known)
    quotient, rest = _take_multiples(a, k)
    if isinstance(rest, int):
        return quotient
    terms, constant = rest.linear
    common = gcd(k, *(c for _, c in terms))
    if common > 1:
        smaller = assemble({f: c // common for f, c in terms}, constant // common)
        return add((quotient, floordiv(smaller, k // common, known)))
    low, high = known.range(rest)
    if ranges.is_finite(low) and ranges.is_finite(high) and low // k == high // k:
        return add((quotient, int(low // k)))
    if _lies_below(rest, k, known):
        return quotient
    if leading_sign(rest) < 0:  # the form with a positive leading coefficient: -(n // -k) is (n + k-1) // k
        return add((quotient, multiply(_floordiv_by_number(_mirror(rest, k), k, known), -1)))
    inner = terms[0][0][0][0]
    if len(terms) == 1 and terms[0] == (((inner, 1),), 1):
        if isinstance(inner, FloorDiv):  # (x // m + c) // k is (x + m*c) // (m*k)
            flat = add((inner.numerator, multiply(inner.divisor, constant)))
            return add((quotient, floordiv(flat, multiply(inner.divisor, k), known)))
        if isinstance(inner, Mod) and not constant and isinstance(inner.divisor, int) and inner.divisor % k == 0:
            return add((quotient, modulo(floordiv(inner.numerator, k, known), inner.divisor // k, known)))
    return add((quotient, FloorDiv(rest, k)))


def _modulo_by_number(a: Expr, k: int, known: Knowledge) -> Size:
    if k == 0:
        raise ZeroDivisionError(f"{a} % 0")
    if k < 0:
        return multiply(modulo(multiply(a, -1), -k, known), -1)
    _, rest = _take_multiples(known.residue(_without_inner_modulo(a, k), k), k)
    if isinstance(rest, int):
        return rest
    terms, constant = rest.linear
    common = gcd(k, *(c for _, c in terms))
    if common > 1:
        smaller = assemble({f: c // common for f, c in terms}, constant // common)
        return add((multiply(modulo(smaller, k // common, known), common), constant % common))
    low, high = known.range(rest)
    if ranges.is_finite(low) and ranges.is_finite(high) and low // k == high // k:
        return add((rest, -k * int(low // k)))
    if _lies_below(rest, k, known):
        return rest
    if leading_sign(rest) < 0:
        return add((k - 1, multiply(_modulo_by_number(_mirror(rest, k), k, known), -1)))
    return Mod(rest, k)


def _take_multiples(a: Size, k: int) -> tuple[Size, Size]:
    """``a == k * quotient + rest``, coefficients of the rest below ``k`` in size and its constant in ``range(k)``."""
    terms, constant = linear(a)
    whole = {factors: c // k if c >= 0 else -(-c // k) for factors, c in terms}
    rest = {factors: c - k * whole[factors] for factors, c in terms}
    return assemble(whole, constant // k), assemble(rest, constant % k)


def _mirror(rest: Expr, k: int) -> Expr:
    """``k - 1 - rest``, of which the quotient and remainder by ``k`` mirror those of ``rest``."""
    mirrored = add((k - 1, multiply(rest, -1)))
    assert isinstance(mirrored, Expr)
    return mirrored


def _without_inner_modulo(a: Size, k: int) -> Size:
    """A size congruent to ``a`` modulo ``k``: ``x % m`` may stand as ``x`` where ``k`` divides ``m``."""
    for factors, c in linear(a)[0]:
        atom, exponent = factors[0]
        if len(factors) > 1 or exponent > 1 or type(atom) is not Mod or not isinstance(atom.divisor, int):
            continue
        if atom.divisor % k == 0:
            return _without_inner_modulo(add((a, multiply(c, atom.numerator), multiply(-c, atom))), k)
    return a


def _long_division(a: Size, b: Expr) -> tuple[Size, Size]:
    """``a == b * quotient + rest``; all in the rest unless that makes it shorter."""
    (lead, coefficient), *_ = b.linear[0]
    quotient: Size = 0
    rest = a
    for _ in range(MAX_TERMS):
        step = _first_multiple(rest, lead, coefficient)
        if step is None:
            break
        quotient = add((quotient, step))
        rest = add((rest, multiply(step, multiply(b, -1))))
    return (quotient, rest) if len(with_constant(rest)) < len(with_constant(a)) else (0, a)


def _first_multiple(size: Size, lead: Product, coefficient: int) -> Size | None:
    for factors, c in linear(size)[0]:
        left = without(factors, lead)
        if left is not None and c % coefficient == 0:
            return multiply(c // coefficient, expand(left))
    return None


def _cancel(a: Size, b: Expr, known: Knowledge) -> tuple[Size, Size, Size]:
    """``common, x, y`` such that ``a == common * x``, ``b == common * y``, and the common factor is not zero."""
    terms_a, constant_a = linear(a)
    terms_b, constant_b = b.linear
    content = gcd(constant_a, constant_b, *(c for _, c in (*terms_a, *terms_b)))
    shared: dict[Expr, int] = {}
    if terms_a and not constant_a and not constant_b:
        products = [dict(factors) for factors, _ in (*terms_a, *terms_b)]
        least = {atom: min(p.get(atom, 0) for p in products) for atom in products[0]}
        shared = {atom: exponent for atom, exponent in least.items() if exponent and known.nonzero(atom)}
    if content == 1 and not shared:
        return 1, a, b
    factors = tuple(shared.items())

    def shrunk(size: Size) -> Size:
        terms, constant = linear(size)
        smaller = (multiply(c // content, expand(without(f, factors) or ())) for f, c in terms)
        return add((constant // content, *smaller))

    return multiply(content, expand(factors)), shrunk(a), shrunk(b)


def _lies_below(a: Size, b: Size, known: Knowledge) -> bool:
    """Whether ``0 <= a < b`` is known."""
    return known.at_least(a, 0) and known.at_least(add((b, multiply(a, -1))), 1)
