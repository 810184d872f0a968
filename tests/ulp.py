"""How far mathematical functions are from the exact result, in units in the last place of the correctly rounded one.

In: the name of a ufunc, a dtype, how many random arguments. Out: a ``Worst``: the largest error, and where.

Method: all arguments are compared with the function in long double, which tells float32 to 2⁻³⁹ and float64 to 2⁻¹⁰ of
a unit; where these differ most, and at as many arguments at random, mpmath tells with 200 bits. The largest error among
those counts, and the two references must agree. Arguments: every edge (zeros, infinities, NaN, denormal numbers, the
largest ones, each power of two, multiples of π/2, where results overflow or vanish, and the neighbours of all these),
and random ones: any bits, normally distributed, within [-2, 2], up to a few hundred. For float16 all 65536 numbers.

>>> worst("exp", np.dtype("f8"), 10**6)
Worst(function='exp', dtype=dtype('float64'), ulp=2.67, at=(0.7085,), numpy=0.68, disagreements=0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

import capture

BITS, CANDIDATES = 200, 200


def _log_of_sum(base: Any) -> Callable[[Any, Any], Any]:
    def reference(x: Any, y: Any) -> Any:
        return max(x, y) + mpmath.log1p(mpmath.power(base(), -abs(x - y))) / mpmath.log(base())

    return reference


REFERENCES: Mapping[str, Callable[..., Any]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "expm1": mpmath.expm1, "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2), "log10": mpmath.log10, "log1p": mpmath.log1p,
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh, "arctanh": mpmath.atanh, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "arctan2": mpmath.atan2, "hypot": mpmath.hypot, "power": mpmath.power,
    "logaddexp": _log_of_sum(lambda: mpmath.e), "logaddexp2": _log_of_sum(lambda: mpmath.mpf(2)),
}  # fmt: skip


CANCELLING = ("logaddexp", "logaddexp2")
"""Functions whose result is a sum of two terms, the larger operand and something positive, that may cancel. It then has
as few digits as NumPy's own, and the unit is that of the larger term."""


@dataclass(frozen=True)
class Worst:
    function: str
    dtype: np.dtype
    ulp: float
    at: tuple[float, ...]
    numpy: float  # the largest error of NumPy's own function
    disagreements: int  # arguments at which one gives NaN, an infinity or a sign that the exact result has not


# Arguments --------------------------------------------------------------------------------------------------------
def edges(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    powers = np.ldexp(dtype.type(1), np.arange(info.minexp - info.nmant, info.maxexp))
    angles = (np.arange(1, 65) * (np.pi / 2)).astype(dtype)
    limits = np.log([float(info.max), float(info.tiny), float(info.smallest_subnormal)])
    others = [0.0, info.max, info.tiny, info.smallest_subnormal, 0.1, 0.3, 1.5, 3.0, 10.0, *limits, *limits / np.log(2)]
    positive = np.concatenate([powers, angles, np.array(others).astype(dtype)])
    with np.errstate(over="ignore"):
        neighbours = [np.nextafter(positive, dtype.type(end)) for end in (0, np.inf)]
    around = np.concatenate([positive, *neighbours])
    return np.unique(np.concatenate([around, -around, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)]))


def arguments(dtype: np.dtype, count: int, arity: int, seed: int = 0) -> list[np.ndarray]:
    if dtype == np.float16 and arity == 1:
        return [np.arange(1 << 16, dtype=np.uint16).view(np.float16)]
    rng = np.random.default_rng(seed)
    found = edges(dtype)
    if arity == 2:
        few = rng.choice(found, 150)
        columns = [np.repeat(few, len(few)), np.tile(few, len(few))]
    else:
        columns = [found]
    return [np.concatenate([column, _random(rng, dtype, count)]) for column in columns]


def _random(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    quarter = count // 4
    parts = [
        np.frombuffer(rng.bytes(quarter * dtype.itemsize), dtype),
        rng.standard_normal(quarter),
        rng.uniform(-2, 2, quarter),
        rng.standard_normal(count - 3 * quarter) * 200,
    ]
    return np.concatenate([rng.permutation(part.astype(dtype)) for part in parts])


# Errors -----------------------------------------------------------------------------------------------------------
def worst(name: str, dtype: np.dtype, count: int, **options: Any) -> Worst:
    """The largest error of a compiled ``np.name`` among ``count`` random arguments and all edges."""
    function = getattr(np, name)
    columns = arguments(dtype, count, function.nin)
    compiled = capture.compile(lambda *xs: function(*xs), options=options)
    with np.errstate(all="ignore"):
        mine, numpys = compiled(*columns), function(*columns)
        near = function(*(column.astype(np.longdouble) for column in columns))
        theirs = largest_error(name, numpys, near, columns)[0]
        error, at = largest_error(name, mine, near, columns)
        wrong = disagreements(mine, near)
    return Worst(name, dtype, error, at, theirs, wrong)


def disagreements(got: np.ndarray, near: np.ndarray) -> int:
    """Where NaN, zeros' signs or infinities are not those of the result; next to overflow either is right."""
    rounded = near.astype(got.dtype)
    is_close = np.abs(ordered(got) - ordered(rounded)) <= 4
    zeros = (got == 0) & (rounded == 0) & (np.signbit(got) != np.signbit(rounded))
    return int(np.count_nonzero((np.isnan(got) != np.isnan(rounded)) | zeros | (~is_close & np.isinf(got))))


def ordered(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats; NaNs are one."""
    bits = np.where(np.isnan(values), 0, values).astype(values.dtype).view(f"i{values.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(f"i{values.itemsize}").min) - bits, bits)


def largest_error(
    name: str, got: np.ndarray, near: np.ndarray, columns: Sequence[np.ndarray]
) -> tuple[float, tuple[float, ...]]:
    """The largest error by mpmath among the arguments at which long double finds the largest ones, and some more."""
    size = near.astype(got.dtype)
    if name in CANCELLING:
        larger = np.maximum(*columns)
        size = np.maximum(np.abs(size), np.maximum(np.abs(larger), np.abs(size - larger)))
    unit = spacing(size)
    counts = np.isfinite(got) & np.isfinite(near) & np.logical_and.reduce(np.isfinite(columns))
    errors = np.zeros(len(got))
    errors[counts] = (np.abs(got[counts] - near[counts]) / unit[counts]).astype(float)
    places = [*np.argsort(errors)[-CANDIDATES:], *np.random.default_rng(1).choice(len(got), CANDIDATES)]
    found = 0.0, tuple(float(column[0]) for column in columns)
    with mpmath.workprec(BITS):
        for place in places:
            if counts[place]:
                xs = tuple(float(column[place]) for column in columns)
                exact = REFERENCES[name](*map(mpmath.mpf, xs))
                error = float(abs(mpmath.mpf(float(got[place])) - exact) / mpmath.mpf(float(unit[place])))
                assert abs(error - errors[place]) < 0.05, f"the references differ for {name}{xs}"
                found = max(found, (error, xs))
    return found


def spacing(values: np.ndarray) -> np.ndarray:
    """The unit in the last place of finite numbers, that of the largest one for infinities."""
    info = np.finfo(values.dtype)
    size = np.minimum(np.abs(values), info.max)
    exponents = np.maximum(np.frexp(size)[1] - 1, info.minexp)
    return np.ldexp(np.longdouble(1), exponents - info.nmant)


def report(count: int) -> list[str]:
    """A table for people; ``count`` random arguments a row."""
    lines = ["| function | dtype | largest error, ULP | at | NumPy's, ULP |", "|---|---|---|---|---|"]
    for name in sorted(REFERENCES):
        for dtype in map(np.dtype, ("f2", "f4", "f8")):
            found = worst(name, dtype, count)
            where = ", ".join(f"{x:.9g}" for x in found.at)
            lines.append(f"| {name} | {dtype} | {found.ulp:.2f} | {where} | {found.numpy:.2f} |")
    return lines
