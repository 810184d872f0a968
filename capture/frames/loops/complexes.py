"""Complex numbers in a program.

In: symbols and values of which one is complex. Out: values of ``complex`` and ``part`` steps; a break where it is not
known how NumPy rounds.

>>> scalar_arithmetic(inside, "*", (z, z))      # %z_1: c128() = complex(%z, %z, symbol='*', dtype=c128)

NumPy rounds products of scalars, of arrays, and of single elements in their place in ways of their own
(``ir.complexes``). Products of arrays are computed where all rows of them are dense; scalars have steps of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.values import EitherValue, InsideArray, InsideNumber, InsideScalar
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.ir import op as ops
from capture.ir.complexes import OTHER, ROUNDED, is_complex, lone_rounding, rounding, scalar_rounding
from capture.ir.graph import Node
from capture.ir.program import ANY, DENSE, INNER, RankedType
from capture.ir.types import ArrayType, scalar_type

if TYPE_CHECKING:
    from capture.frames.loops.computing import Computing

PARTS = {"real": 0, "imag": 1}
ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "==": "equal", "!=": "not_equal"}
"""What complex scalars compute by steps of their own, and the ufunc that tells the dtype."""


def cell_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts."""
    return np.finfo(dtype).dtype


def is_complex_value(value: Value) -> bool:
    """Whether a value is a complex number, scalar or array."""
    if isinstance(value, Constant):
        return isinstance(value.value, complex | np.complexfloating)
    if isinstance(value, InsideNumber):
        return value.python is complex
    return isinstance(value, InsideScalar | InsideArray | EitherValue) and is_complex(value.type.dtype)


# Scalars ----------------------------------------------------------------------------------------------------------
def scalar_arithmetic(inside: Computing, symbol: str, operands: Sequence[Value]) -> Value | None:
    """Arithmetic of scalars, or of scalars and numbers, of which one is complex; None for other things."""
    if not any(map(is_complex_value, operands)) or any(isinstance(value, InsideArray) for value in operands):
        return None
    if symbol == "**":
        return _square(inside, *operands)
    if symbol not in ARITHMETIC:
        raise GraphBreak(f"{symbol} of complex scalars inside a loop", "op")
    types = [inside.operand(value).type for value in operands]
    dtype = inside._inferred(ops.get("add"), types, {}).dtype
    _require_scalar_loop(types, dtype)
    kind = np.dtype(bool) if symbol in ("==", "!=") else dtype
    if kind == np.dtype(bool) and any(_is_int(type) for type in types):
        raise GraphBreak("a complex scalar is compared with an int inside a loop", "op")
    return _step(inside, symbol, operands, kind, dtype)


def _step(inside: Computing, symbol: str, operands: Sequence[Value], kind: np.dtype, dtype: np.dtype) -> Value:
    args = map(inside.arg, operands)
    return InsideScalar(inside.step("complex", *args, type=scalar_type(kind), symbol=symbol, dtype=dtype))


def _is_int(type: Any) -> bool:
    if isinstance(type, ArrayType):
        return type.dtype.kind in "iu"
    return not isinstance(type, bool | float | complex) and getattr(type, "python", int) is int


def _require_scalar_loop(types: Sequence[Any], dtype: np.dtype) -> None:
    """Scalars are computed with as such where one has the dtype to which the others are safely cast."""
    scalars = [type.dtype for type in types if isinstance(type, ArrayType)]
    if dtype not in scalars or scalars[0].kind == "b" or not all(np.can_cast(each, dtype, "safe") for each in scalars):
        raise GraphBreak("complex scalars of these types inside a loop", "op")
    _require_known(scalar_rounding(dtype))


def _require_known(found: str) -> None:
    if found == OTHER:
        raise GraphBreak("complex products are rounded in a way that is not known", "op")


def _square(inside: Computing, base: Value, exponent: Value) -> Value:
    """``z ** 2``: the product, but that of a zero, whatever its signs, is zero."""
    if not isinstance(base, InsideScalar) or not isinstance(exponent, Constant) or exponent.value != 2:
        raise GraphBreak("a power of complex scalars inside a loop", "op")
    if type(exponent.value) not in (int, float):
        raise GraphBreak("a power of complex scalars inside a loop", "op")
    product = scalar_arithmetic(inside, "*", (base, base))
    assert product is not None
    return inside.selected(base, product, Constant(base.type.dtype.type(0)))


def negated(inside: Computing, value: InsideScalar) -> Value:
    return _step(inside, "unary -", (value,), value.type.dtype, value.type.dtype)


def absolute(inside: Computing, value: Value) -> Value:
    """``abs`` of a scalar: what ``hypot`` gives."""
    assert isinstance(value, InsideScalar | EitherValue)
    dtype = value.type.dtype
    found = _step(inside, "abs", (InsideScalar(value.node),), cell_of(dtype), dtype)
    if isinstance(value, EitherValue):
        return EitherValue(found.node, value.weak, float, found.type)  # type: ignore[attr-defined]
    return found


def part_of(inside: Computing, value: Value, name: str) -> Value:
    """``z.real`` or ``z.imag`` of a complex number, scalar or array; of others ``real`` is the value."""
    if not is_complex_value(value):
        if name == "real" and isinstance(value, InsideArray | InsideScalar):
            return value
        raise GraphBreak(f"{name} of {value.describe()} inside a loop", "attribute")
    if isinstance(value, InsideNumber):
        return inside.number(name, value)
    if isinstance(value, InsideArray):
        dtype, ndim = cell_of(value.type.dtype), value.type.ndim
        type = RankedType(dtype, ndim, ANY, value.type.ones)
        return inside.array(inside.step("part", value.node, type=type, index=PARTS[name]), value.sizes)
    assert isinstance(value, InsideScalar | EitherValue)
    found = _step(inside, name, (InsideScalar(value.node),), cell_of(value.type.dtype), value.type.dtype)
    if isinstance(value, EitherValue):
        return EitherValue(found.node, value.weak, float, found.type)  # type: ignore[attr-defined]
    return found


def conjugated(inside: Computing, value: Value) -> Value:
    if isinstance(value, InsideNumber):
        return inside.number("conjugate", value)
    assert isinstance(value, InsideScalar)
    return _step(inside, "conjugate", (value,), value.type.dtype, value.type.dtype)


# Numbers ----------------------------------------------------------------------------------------------------------
def number_kind(symbol: str) -> type:
    """What Python computes with numbers of which one is complex."""
    if symbol in ("==", "!="):
        return bool
    if symbol in ("abs", "real", "imag"):
        return float
    if symbol not in ("+", "-", "*", "/", "unary -", "conjugate"):
        raise GraphBreak(f"{symbol} of complex numbers inside a loop", "loop")
    _require_known(scalar_rounding(np.dtype(complex)))
    return complex


def number_power(inside: Computing, base: Value, exponent: Value) -> Value:
    """``z ** n`` for small n: the products that Python makes, from one on."""
    power = exponent.value if isinstance(exponent, Constant) else None
    if type(power) is not int or not 0 < power <= 100 or not isinstance(base, InsideNumber):
        raise GraphBreak("a power of complex numbers inside a loop", "loop")
    found: Value = Constant(1 + 0j)
    factor: Value = base
    while power:
        if power & 1:
            found = inside.number("*", found, factor)
        power >>= 1
        if power:
            factor = inside.number("*", factor, factor)
    inside.leave_if(inside.arg(inside.number("not", _is_finite(inside, found))))
    return found


def _is_finite(inside: Computing, value: Value) -> Value:
    """Whether Python does not raise: it does where a power is infinite."""
    tests = [inside.number("math.isfinite", inside.number(name, value)) for name in PARTS]
    return inside.number("&", *tests)


# Arrays -----------------------------------------------------------------------------------------------------------
def require_known_rounding(name: str, args: Sequence[Any]) -> None:
    """Refuse products and absolute values of arrays that NumPy may round in another way than compiled code."""
    operands = [arg for arg in args if is_complex(getattr(getattr(arg, "type", arg), "dtype", None))]
    if name not in ROUNDED or not operands or (name == "multiply" and len(operands) < 2):
        return
    kind = np.result_type(*(each.type.dtype if isinstance(each, Node) else each.dtype for each in operands))
    _require_known(rounding(kind))
    if lone_rounding(kind) != rounding(kind):
        raise GraphBreak("products of single complex elements are rounded in another way", "op")
    arrays = [arg.type for arg in args if isinstance(arg, Node) and isinstance(arg.type, RankedType)]
    for type in arrays:
        if not type.ndim or not (type.layout == DENSE or (type.layout == INNER and type.ndim == 1)):
            raise GraphBreak("complex products over strides are rounded as their signs say", "op")


def leave_where_alone(inside: Computing, target: InsideArray) -> None:
    """NumPy rounds a product in another way where it goes into the place of a single element."""
    count: Value = Constant(1)
    for axis in range(target.type.ndim):
        count = inside.tracer.binary("*", count, target.size(inside.tracer, axis))
    if isinstance(count, Constant):
        if count.value == 1:
            raise GraphBreak("a product of complex numbers in the place of a single element", "op")
        return
    inside.leave_if(inside.arg(inside.number("==", count, Constant(1))))

