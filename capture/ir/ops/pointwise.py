"""Arithmetic and mathematical ufuncs: one row each.

In: a table of names of the scalar vocabulary, which are NumPy's. Out: records that infer by the ufunc's own dtype
resolution and compute each element with the vocabulary's function of the same name.

>>> graph.call("add", x, 1.0)          # np.add(x, 1.0); `x + 1.0` is in operators.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Op, Pointwise, define
from capture.ir.ops.common import (
    DIVIDES,
    NUMBERS,
    QUIET,
    elementwise,
    is_literal,
    like_ufunc,
    loop_of,
    operand_type,
    require_value,
    resolve,
    shape_of,
    surely_more,
)
from capture.ir.ops.orders import is_only_f, known_layout
from capture.ir.shapes import Expr
from capture.ir.types import ArrayType, NumberType

# ``out=`` of a ufunc casts the result by the rule "same_kind"; of other ops it needs the result's own dtype.
UFUNC = frozenset({"ufunc"})

# Samples by arity; the generic test casts them to every dtype that the op takes.
ONE = (([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 100.0],), ([np.inf, -np.inf, np.nan, 1e-310],))
TWO = (
    ([-2.5, -1.0, 0.0, 0.5, 7.0, 3.0], [2.0, -3.0, 1.0, 0.5, -2.0, 0.0]),
    ([np.inf, -np.inf, np.nan, -0.0, 0.0], [1.0, np.inf, 2.0, 0.0, np.nan]),
)
SHIFTS = (([1, 5, 127, -8, 0], [0, 1, 3, 7, 70]),)


def ufunc_record(
    ufunc: np.ufunc, element: Callable[..., Any] | None = None, *, samples: tuple[Any, ...] = (), **facts: Any
) -> Op:
    """The record of a ufunc with one result; its element is the vocabulary's function of that name by default."""
    name = facts.pop("name", ufunc.__name__)
    operands = ("x", "y", "z")[: ufunc.nin]

    def same_name(s: Any, *elements: Any) -> Any:
        return getattr(s, name)(*elements)

    return define(
        name=name,
        signature=f"{', '.join(operands)}, /",
        operands=operands,
        calls=facts.pop("calls", (ufunc,)),
        infer=facts.pop("infer", like_ufunc(ufunc)),
        reference=ufunc,
        lower=Pointwise(element or same_name, loop=loop_of(ufunc)),
        accepts_out=True,
        tags=UFUNC | facts.pop("tags", frozenset()),
        label=facts.pop("label", ufunc.__name__),
        samples=samples or (ONE if ufunc.nin == 1 else TWO),
        **facts,
    )


PLAIN = (
    # arithmetic
    np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.square, np.cbrt,
    # exponentials and logarithms
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.logaddexp, np.logaddexp2,
    # trigonometry
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.hypot,
    np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh,
)  # fmt: skip
DIVISIONS = (np.floor_divide, np.remainder, np.fmod)
SIGNS_AND_ORDER = (
    np.negative, np.absolute, np.fabs, np.sign, np.copysign, np.heaviside,
    np.maximum, np.minimum, np.fmax, np.fmin,
)  # fmt: skip
_ufunc: np.ufunc
for _ufunc in PLAIN:
    ufunc_record(_ufunc)
for _ufunc in DIVISIONS:
    ufunc_record(_ufunc, tags=DIVIDES)
for _ufunc in SIGNS_AND_ORDER:
    ufunc_record(_ufunc, tags=QUIET)


def _positive(s: Any, x: Any) -> Any:
    return x


ufunc_record(np.positive, _positive, tags=QUIET)
ufunc_record(np.conjugate, lambda s, x: s.conjugate(x) if x.dtype.kind == "c" else x, tags=QUIET)


def _infer_reciprocal(x: Any) -> Any:
    result = like_ufunc(np.reciprocal)(x)
    if result.dtype.kind != "f":
        raise CannotInfer("the reciprocal of an integer is left to NumPy")
    return result


ufunc_record(np.reciprocal, infer=_infer_reciprocal)


def _not_half(ufunc: np.ufunc) -> Callable[..., Any]:
    """Inference of what NumPy computes for float16 in float16."""

    def infer(*operands: Any) -> Any:
        if resolve(ufunc, *operands)[0] == np.float16:
            raise CannotInfer(f"{ufunc.__name__} of float16 is left to NumPy")
        return like_ufunc(ufunc)(*operands)

    return infer


ufunc_record(np.nextafter, infer=_not_half(np.nextafter))


def _spacing(s: Any, x: Any) -> Any:
    """Infinity has none, and raises nothing."""
    is_infinite = s.isinf(x)
    return s.where(is_infinite, s.constant(np.nan, x.dtype), s.spacing(s.where(is_infinite, s.constant(0, x.dtype), x)))


ufunc_record(np.spacing, _spacing, infer=_not_half(np.spacing))
INTEGERS = (([0, 4, -6, 12, 35], [0, 6, 4, 0, -14]),)
ufunc_record(np.gcd, samples=INTEGERS)
ufunc_record(np.lcm, samples=INTEGERS)
ufunc_record(np.bitwise_count, samples=(([0, 1, -7, 255],),))
ufunc_record(
    np.ldexp,
    lambda s, x, y: s.ldexp(x, s.cast(y, x.dtype)),
    samples=(([0.5, -3.0, 1e300], np.array([3, -2, 9])),),
)


# Two results ----------------------------------------------------------------------------------------------------
def _modf(graph: Any, x: Any) -> Any:
    """``np.modf``: what is behind the point, and what is before it, both with the sign of x."""
    dtype = np.modf.resolve_dtypes((require_value(operand_type(x), "modf").dtype, None, None))[0]
    if x.type.dtype != dtype:
        x = graph.call("astype", x, dtype=dtype)
    finite = graph.call("where", graph.call("isinf", x), 0.0, x)
    fraction = graph.call("subtract", finite, graph.call("trunc", finite))
    return graph.call("copysign", fraction, x), graph.call("trunc", x)


def _frexp_record(name: str, part: int) -> None:
    """One of the results of ``np.frexp``."""

    def infer(x: Any) -> Any:
        loop = resolve(np.frexp, x)
        return elementwise(loop[1 + part], (x,))

    define(
        name=name,
        signature="x, /",
        operands=("x",),
        infer=infer,
        reference=lambda x: np.frexp(x)[part],
        source=f"np.frexp({{0}})[{part}]",
        lower=Pointwise(lambda s, x: getattr(s, name)(x), loop=loop_of(np.frexp)),
        tags=QUIET,
        label="frexp",
        samples=ONE,
    )


_frexp_record("frexp_mantissa", 0)
_frexp_record("frexp_exponent", 1)


def _frexp(graph: Any, x: Any) -> Any:
    return graph.call("frexp_mantissa", x), graph.call("frexp_exponent", x)


def _infer_quotient(x: Any, y: Any) -> Any:
    result = like_ufunc(np.floor_divide)(x, y)
    if result.dtype.kind not in "iu":
        raise CannotInfer("divmod of floats warns as one operation")
    return result


ufunc_record(
    np.floor_divide,
    lambda s, x, y: s.floor_divide(x, y),
    infer=_infer_quotient,
    name="divmod_quotient",
    label="divmod",
    calls=(),
    tags=DIVIDES,
)


def _divmod(graph: Any, x: Any, y: Any) -> Any:
    """``np.divmod`` of integers; the quotient warns for both results."""
    quotient = graph.call("divmod_quotient", x, y)
    if not is_literal(y) and operand_type(y).dtype.kind == "b":
        raise CannotInfer("divmod by truth values")
    if is_literal(y) and y != 0:
        return quotient, graph.call("remainder", x, y)
    is_zero = graph.call("equal", y, 0)
    rest = graph.call("remainder", x, graph.call("where", is_zero, 1, y))
    rest = graph.call("where", is_zero, 0, rest)
    return quotient, rest if rest.type.ndim else graph.call("scalar", rest)


for _name, _signature, _function, _expand in (
    ("modf", "x, /", np.modf, _modf),
    ("frexp", "x, /", np.frexp, _frexp),
    ("divmod", "x, y, /", np.divmod, _divmod),
):
    define(
        name=_name,
        signature=_signature,
        operands=tuple(_signature.replace(", /", "").split(", ")),
        calls=(_function,),
        expand=_expand,
    )


# Rounding: integers are whole already ---------------------------------------------------------------------------
def _whole(name: str) -> Callable[..., Any]:
    def element(s: Any, x: Any) -> Any:
        return x if x.dtype.kind in "biu" else getattr(s, name)(x)

    return element


for _ufunc in (np.floor, np.ceil, np.trunc, np.rint):
    ufunc_record(_ufunc, _whole(_ufunc.__name__), tags=QUIET)


# Angles: a product with a constant that is rounded in the element's own dtype -----------------------------------
def _scaled(numerator: float, denominator: float) -> Callable[..., Any]:
    def element(s: Any, x: Any) -> Any:
        wide = s.cast(x, np.dtype("f4")) if x.dtype == np.float16 else x
        factor = wide.dtype.type(numerator) / wide.dtype.type(denominator)
        return s.multiply(wide, s.constant(factor, wide.dtype))

    return element


for _ufunc in (np.deg2rad, np.radians):
    ufunc_record(_ufunc, _scaled(np.pi, 180.0))
for _ufunc in (np.rad2deg, np.degrees):
    ufunc_record(_ufunc, _scaled(180.0, np.pi))


# Powers -----------------------------------------------------------------------------------------------------------
def _may_be_negative(exponent: Any) -> bool:
    if is_literal(exponent):
        return exponent < 0
    if isinstance(exponent, NumberType):
        return not (isinstance(exponent.size, Expr) and exponent.size.range[0] >= 0)
    return exponent.dtype.kind == "i"


def _infer_power(base: Any, exponent: Any) -> Any:
    dtype = resolve(np.power, base, exponent)[-1]
    if dtype.kind in "iu" and _may_be_negative(exponent):
        raise CannotInfer("integers to negative integer powers are not allowed")
    return like_ufunc(np.power)(base, exponent)


ufunc_record(np.power, infer=_infer_power)
ufunc_record(np.float_power, lambda s, x, y: s.power(x, y))


# clip -------------------------------------------------------------------------------------------------------------
# NumPy has two loops, which differ in what they make of a zero that equals a bound: where the bounds are the same for
# all elements, x is replaced when it is out of bounds (clip); else it is min(max(x, low), high) (clip_each), NaN first.
# The bounds are not swapped when they cross. NumPy 2.0 has the second rule in both.
_clip_ufunc: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]


_REPLACES = bool(np.signbit(np.clip(np.array([-0.0]), 0.0, 1.0))[0])


def _clip_element(s: Any, x: Any, low: Any, high: Any) -> Any:
    if x.dtype.kind == "f" and not _REPLACES:
        return s.minimum(s.maximum(x, low), high)
    raised = s.where(s.less(x, low), low, x)
    clipped = s.where(s.greater(raised, high), high, raised)
    if x.dtype.kind != "f":
        return clipped
    return s.where(s.isnan(low), low, s.where(s.isnan(high), high, clipped))


def _bounds_move(x: Any, low: Any, high: Any) -> bool:
    """Whether a bound differs from element to element in NumPy's inner loop, along whichever axis that runs."""
    result = like_ufunc(_clip_ufunc)(x, low, high)
    if result.dtype.kind != "f" or not (shape_of(low) or shape_of(high)):
        return False
    if not any(_moves_along_all_axes(bound, result) for bound in (low, high)):
        raise CannotInfer("whether NumPy's inner loop sees one bound or many is not known")
    return True


def _moves_along_all_axes(bound: Any, result: ArrayType) -> bool:
    if shape_of(bound) != result.shape or not all(surely_more(size, 0) for size in result.shape):
        return False
    ranks = known_layout(bound).ranks
    moving = [rank for rank, size in zip(ranks, result.shape, strict=True) if size != 1]
    return bool(moving) and all(moving)


def _infer_clip(moves: bool) -> Callable[..., ArrayType]:
    def infer(x: Any, low: Any, high: Any) -> ArrayType:
        result = like_ufunc(_clip_ufunc)(x, low, high)
        if result.dtype.kind == "f" and _bounds_move(x, low, high) != moves:
            raise CannotInfer("NumPy runs the other loop of clip")
        return result

    return infer


CLIPPED = (([-2.0, -0.0, 0.5, np.nan, 9.0], -1, 3), ([-2.0, -0.0, 0.0, 9.0], 0, 0.0))
ufunc_record(
    _clip_ufunc,
    _clip_element,
    infer=_infer_clip(False),
    tags=QUIET,
    samples=CLIPPED,
    source="np.clip({0}, {1}, {2})",
)
ufunc_record(
    _clip_ufunc,
    lambda s, x, low, high: s.minimum(s.maximum(x, low), high),
    name="clip_each",
    calls=(),
    infer=_infer_clip(True),
    tags=QUIET,
    samples=(([-0.0, 0.0, np.nan, 3.0], [0.0, -0.0, 1.0, np.nan], 2),),
    source="np.clip({0}, {1}, {2})",
)


def _expand_clip(graph: Any, a: Any, *bounds: Any) -> Any:
    """np.clip: a bound that is None is left out; each bound has two names."""
    given = [bound for bound in bounds if bound is not ...]
    if len(given) != 2:
        raise CannotInfer("clip needs both bounds")
    if not isinstance(getattr(a, "type", a), ArrayType):
        raise CannotInfer("clip of a Python number")
    low, high = given
    if low is None and high is None:
        raise CannotInfer("clip needs a bound")
    if low is None:
        return graph.call("minimum", a, high)
    if high is None:
        return graph.call("maximum", a, low)
    return graph.call("clip_each" if _bounds_move(*map(operand_type, (a, low, high))) else "clip", a, low, high)


define(
    name="np_clip",
    signature="a, a_min=..., a_max=..., *, min=..., max=...",
    operands=("a", "a_min", "a_max", "min", "max"),
    accepts_out=True,
    calls=(np.clip,),
    expand=_expand_clip,
    tags=NUMBERS,
)
define(
    name="ndarray_clip",
    signature="a, min=None, max=None",
    operands=("a", "min", "max"),
    methods=("clip",),
    accepts_out=True,
    expand=_expand_clip,
    tags=NUMBERS,
)


# round ------------------------------------------------------------------------------------------------------------
def _expand_round(graph: Any, a: Any, decimals: Any = 0) -> Any:
    """np.round of floats: scale by a power of ten, round half to even, scale back.

    With decimals NumPy's result is in Fortran order for Fortran operands and in C order for all others.
    """
    operand = require_value(operand_type(a), "round")
    if type(decimals) is not int or operand.dtype.kind != "f":
        raise CannotInfer("only floats are rounded, to a known number of decimals")
    if decimals == 0:
        return graph.call("rint", a)
    if abs(decimals) > 22:
        raise CannotInfer("powers of ten beyond 1e22 are not exact")
    if operand.ndim > 1 and not (known_layout(operand).is_c or is_only_f(operand)):
        a = graph.call("copy", a, order="C")
    scale, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    factor = float(10 ** abs(decimals))
    return graph.call(back, graph.call("rint", graph.call(scale, a, factor)), factor)


define(
    name="round",
    signature="a, decimals=0",
    operands=("a",),
    calls=(np.round, np.around),
    methods=("round",),
    accepts_out=True,
    expand=_expand_round,
)
