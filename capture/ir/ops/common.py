"""What the records of many ops need: dtypes by NEP 50, broadcasting, memory order, axes.

In: what ``infer`` sees of an operand, a type or a Python literal. Out: types, canonical axes, or ``CannotInfer``
wherever NumPy would raise, warn, or do something that is not certain beforehand.

>>> f4, f8 = array_type("f4", (3, 1)), array_type("f8", (4,))
>>> str(like_ufunc(np.add)(f4, f8)), str(like_ufunc(np.add)(f4, 2.0))
('f64[3, 4]', 'f32[3, 1]')
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from math import floor, isfinite
from typing import Any

import numpy as np

from capture.ir.complexes import UFUNCS, is_complex, require_loop
from capture.ir.op import CannotInfer, ListLiteral
from capture.ir.ops.orders import common_order
from capture.ir.shapes import Expr, Size
from capture.ir.sizes import UnknownSize, at_least, broadcast_together, simplified
from capture.ir.types import (
    PYTHON_NUMBERS,
    ArrayType,
    NumberType,
    array_type,
    scalar_type,
)

REAL = frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")))
LOWERED = REAL | frozenset(map(np.dtype, ("c8", "c16")))

# Tags of what never warns nor raises, whatever its operands are; and of what warns of integers divided by zero; of
# composed ops whose operands may be Python numbers that change; of what warns of something when it raises anything, but
# what that is only NumPy can tell.
QUIET = frozenset({"quiet"})
DIVIDES = frozenset({"divides"})
NUMBERS = frozenset({"numbers"})
UNSURE = frozenset({"unsure"})


# Operands ---------------------------------------------------------------------------------------------------------
def operand_type(value: Any) -> Any:
    """What inference sees of an operand of a macro: the type of a node; a literal is its own."""
    return getattr(value, "type", value)


def is_array(operand: Any) -> bool:
    """Whether the operand is an ndarray, of any number of axes."""
    return isinstance(operand, ArrayType) and not operand.scalar


def is_literal(operand: Any) -> bool:
    return type(operand) in PYTHON_NUMBERS


def require_array(operand: Any, what: str) -> ArrayType:
    """The operand, when it is an ndarray of a dtype that is compiled."""
    if not is_array(operand):
        raise CannotInfer(f"{what} of {describe(operand)}")
    lowered(operand.dtype)
    return operand


def require_value(operand: Any, what: str) -> ArrayType:
    """The operand, when it is an ndarray or a NumPy scalar of a dtype that is compiled."""
    if not isinstance(operand, ArrayType):
        raise CannotInfer(f"{what} of {describe(operand)}")
    lowered(operand.dtype)
    return operand


def describe(operand: Any) -> str:
    return str(operand) if isinstance(operand, ArrayType | NumberType) else type(operand).__name__


def lowered(dtype: Any) -> np.dtype:
    """``dtype`` itself, when compiled code knows it."""
    dtype = np.dtype(dtype)
    if dtype not in LOWERED:
        raise CannotInfer(f"dtype {dtype} is not compiled")
    return dtype


def given_dtype(value: Any) -> np.dtype:
    """A dtype as users write it (``float``, ``"f4"``, ``np.int64``, a dtype), when compiled code knows it."""
    if isinstance(value, ArrayType | NumberType):
        raise CannotInfer("a dtype that is an array")
    try:
        return lowered(np.dtype(value))
    except TypeError as error:
        raise CannotInfer(str(error)) from None


def kind_of(operand: Any) -> Any:
    """What promotion looks at: a dtype, or ``int``, ``float``, ``complex`` for a weak Python number."""
    if isinstance(operand, ArrayType):
        return lowered(operand.dtype)
    python = operand.python if isinstance(operand, NumberType) else type(operand)
    if python is bool:
        return np.dtype(bool)
    if python in (int, float, complex) and (python is not complex or is_literal(operand)):
        return python
    raise CannotInfer(f"an operand of type {describe(operand)}")


def shape_of(operand: Any) -> tuple[Size, ...]:
    return operand.shape if isinstance(operand, ArrayType) else ()


# Promotion --------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    try:
        return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError as error:
        raise CannotInfer(str(error)) from None


def resolve_any(ufunc: np.ufunc, *operands: Any) -> tuple[np.dtype, ...]:
    """The dtypes of the loop that NumPy runs: one per operand, then one per result."""
    dtypes = _resolve(ufunc, tuple(map(kind_of, operands)))
    for operand, dtype in zip(operands, dtypes, strict=False):
        require_fits(operand, dtype)
    return dtypes


def resolve(ufunc: np.ufunc, *operands: Any) -> tuple[np.dtype, ...]:
    """The same, for a loop that compiled code has too."""
    dtypes = tuple(map(lowered, resolve_any(ufunc, *operands)))
    if any(map(is_complex, dtypes)) and ufunc.__name__ not in UFUNCS:
        raise CannotInfer(f"{ufunc.__name__} of complex numbers")
    return dtypes


def require_fits(operand: Any, dtype: np.dtype) -> None:
    """Refuse a Python number that NumPy could not convert to ``dtype`` without an error or a warning."""
    if isinstance(operand, NumberType):
        if operand.python is int and dtype.kind in "iu" and not _within(operand.size, dtype):
            raise CannotInfer(f"a Python int that may be out of bounds for {dtype}")
    elif is_literal(operand) and not fits(operand, dtype):
        raise CannotInfer(f"Python {type(operand).__name__} {operand} does not fit {dtype}")


def converts_by_python(source: np.dtype, dtype: np.dtype) -> bool:
    """Whether an integer scalar that is written to an element becomes a Python int first, which has to fit."""
    return source.kind in "iu" and dtype.kind == "i" and not np.can_cast(source, dtype)


def fits(value: Any, dtype: np.dtype) -> bool:
    """Whether the Python number converts to ``dtype`` without an error or a warning."""
    if dtype.kind == "c":
        return all(fits(part, np.finfo(dtype).dtype) for part in (value.real, value.imag))
    if isinstance(value, complex):
        return False
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return not isinstance(value, float) and info.min <= value <= info.max
    if dtype.kind == "f":
        try:
            number = float(value)
        except OverflowError:
            return False
        return not isfinite(number) or abs(number) <= float(np.finfo(dtype).max)
    return isinstance(value, bool)


def _within(size: Size | None, dtype: np.dtype) -> bool:
    info = np.iinfo(dtype)
    if size is None:
        return dtype == np.int64  # a Python int in a graph is guarded to be one
    low, high = size.range if isinstance(size, Expr) else (size, size)
    return (dtype == np.int64) or (info.min <= low and high <= info.max)


def promoted(operands: Sequence[Any]) -> np.dtype:
    """``np.result_type`` of arrays and Python numbers, refusing literals that do not fit."""
    kinds = [
        kind if isinstance(kind, np.dtype) else kind(0) for kind in map(kind_of, operands)
    ]  # result_type takes weak numbers by example
    dtype = lowered(np.result_type(*kinds))
    for operand in operands:
        require_fits(operand, dtype)
    return dtype


# Shapes -----------------------------------------------------------------------------------------------------------
def broadcast_sizes(a: Size, b: Size) -> Size:
    try:
        return broadcast_together(a, b)
    except ValueError:
        raise CannotInfer(f"operands could not be broadcast together: {a} and {b}") from None


def broadcast_shapes(shapes: Iterable[Sequence[Size]]) -> tuple[Size, ...]:
    return reduce(_broadcast, map(tuple, shapes), ())


def _broadcast(a: tuple[Size, ...], b: tuple[Size, ...]) -> tuple[Size, ...]:
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
    return tuple(map(broadcast_sizes, a, b))


def static(size: Any, what: str) -> int:
    """``size`` as a plain int, when it is known."""
    if isinstance(size, Expr):
        raise UnknownSize(f"{what} must be known", size)
    if isinstance(size, ArrayType | NumberType):
        raise CannotInfer(f"{what} is not known while compiling")
    if isinstance(size, bool | np.bool):
        raise CannotInfer(f"{what} is a bool")
    try:
        return operator.index(size)
    except TypeError:
        raise CannotInfer(f"{what} is no int") from None


def given_shape(shape: Any) -> tuple[Size, ...]:
    """A shape as users write it: an int or a tuple of ints, none negative."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    sizes = tuple(size_or_int(size, "a size") for size in sizes)
    if not all(at_least(size, 0) for size in sizes):
        raise CannotInfer("negative dimensions are not allowed")
    return sizes


def size_or_int(value: Any, what: str) -> Size:
    """An int that may be a size."""
    return simplified(value) if isinstance(value, Expr) else static(value, what)


def number_of_elements(shape: Sequence[Size]) -> Size:
    return reduce(operator.mul, shape, 1)


def surely_more(size: Size, than: float) -> bool:
    """Whether a size is larger than a number."""
    return size > than if isinstance(size, int) else at_least(size, floor(than) + 1)


# Axes -------------------------------------------------------------------------------------------------------------
def one_axis(axis: Any, ndim: int) -> int:
    """``axis`` counted from the front."""
    axis = static(axis, "the axis")
    if not -ndim <= axis < ndim:
        raise CannotInfer(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def many_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """None, an int or a tuple of ints as a tuple of different axes, in order."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, ListLiteral):
        raise CannotInfer("the axis is a list")
    axes = tuple(one_axis(item, ndim) for item in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise CannotInfer("duplicate value in 'axis'")
    return tuple(sorted(axes))


def flag(value: Any, name: str) -> bool:
    if type(value) not in (bool, int, np.bool):
        raise CannotInfer(f"{name} is {describe(value)}, not a bool")
    return bool(value)


# Results ----------------------------------------------------------------------------------------------------------
def allocated(dtype: Any, shape: Sequence[Size], order: Sequence[int] | None = None) -> ArrayType:
    """The type of a new array whose axes nest in ``order``; without elements the order cannot be told."""
    return array_type(dtype, shape, None if 0 in shape else order)


def elementwise(dtype: Any, operands: Iterable[Any]) -> ArrayType:
    """The type of a ufunc's new result: broadcast shape, K order, a NumPy scalar where there is no axis."""
    arrays = [operand for operand in operands if shape_of(operand)]
    shape = broadcast_shapes(operand.shape for operand in arrays)
    if not shape:
        return scalar_type(dtype)
    return allocated(dtype, shape, common_order(arrays, len(shape)))


def like_ufunc(ufunc: np.ufunc) -> Callable[..., ArrayType]:
    """Inference of a ufunc with one result: dtype by its own resolution, shape by broadcasting, layout in K order."""

    def infer(*operands: Any) -> ArrayType:
        dtypes = resolve(ufunc, *operands)
        result = elementwise(dtypes[-1], operands)
        require_loop(ufunc, operands, dtypes, result)
        return result

    return infer


def loop_of(ufunc: np.ufunc) -> Callable[..., tuple[np.dtype, ...]]:
    """The dtypes to which operands are cast before the ufunc's loop."""

    def loop(*operands: Any) -> tuple[np.dtype, ...]:
        return resolve(ufunc, *operands)[: ufunc.nin]

    return loop
