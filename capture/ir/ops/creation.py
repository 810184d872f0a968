"""New arrays from shapes and numbers, and ``where``.

In: ``np.zeros((3, 4))``, ``np.arange(n)``, ``np.ones_like(x)``. Out: ``full``, ``empty``, ``arange``, ``eye``, ``tri``,
``linspace``: loops over indices, fused like any other element-wise op.

>>> graph.call("zeros", shape=(3, 4))      # full(0, shape=(3, 4), dtype=@f64)
"""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.op import CannotInfer, Pointwise, define
from capture.ir.ops.common import (
    NUMBERS,
    QUIET,
    allocated,
    broadcast_shapes,
    fits,
    given_dtype,
    given_shape,
    is_literal,
    kind_of,
    operand_type,
    promoted,
    require_array,
    require_value,
    shape_of,
    size_or_int,
)
from capture.ir.ops.orders import common_order, given_order, new_array
from capture.ir.shapes import Expr, Size, floordiv, is_static, maximum
from capture.ir.sizes import UnknownSize, at_least, simplified
from capture.ir.types import ArrayType, NumberType
from capture.ir.warned import raised


# full, empty ------------------------------------------------------------------------------------------------------
def _canonical_allocation(shape: Any, dtype: Any, order: Any) -> dict[str, Any]:
    """``order`` is None for C, else the axes from outermost to innermost."""
    shape = given_shape(shape)
    order = None if order is None or tuple(order) == tuple(range(len(shape))) else tuple(order)
    if order is not None and sorted(order) != list(range(len(shape))):
        raise CannotInfer(f"order {order} is no order of {len(shape)} axes")
    return {"shape": shape, "dtype": given_dtype(dtype), "order": order}


def _canonical_full(fill_value: Any, shape: Any, dtype: Any, order: Any) -> dict[str, Any]:
    if dtype is None:
        kind = kind_of(fill_value)
        dtype = kind if isinstance(kind, np.dtype) else np.dtype(kind)
    return _canonical_allocation(shape, dtype, order)


def _infer_full(fill_value: Any, shape: Any, dtype: np.dtype, order: Any) -> ArrayType:
    kind_of(fill_value)
    if shape_of(fill_value):
        raise CannotInfer("full takes one value")
    if is_literal(fill_value):
        literal_as(fill_value, dtype)
    elif isinstance(fill_value, ArrayType) and fill_value.dtype.kind == "f" and dtype.kind in "iu":
        raise CannotInfer("a float as the fill value of integers may not fit")
    elif isinstance(fill_value, ArrayType) and is_complex(fill_value.dtype) and not is_complex(dtype):
        raise CannotInfer("a complex fill value of real numbers")
    elif isinstance(fill_value, NumberType) and dtype not in (fill_value.python, float):
        raise CannotInfer("a number that is not known may not fit")
    return allocated(dtype, shape, order)


def literal_as(value: Any, dtype: np.dtype) -> Any:
    """A Python number stored into an array of ``dtype``, as Python; CannotInfer where NumPy raises or warns."""
    with raised():
        try:
            array = np.empty((), dtype)
            array[...] = value
        except (ValueError, OverflowError, TypeError, RuntimeWarning, DeprecationWarning) as error:
            raise CannotInfer(str(error)) from None
    return array.item()


def _filled(fill_value: Any, shape: Any, dtype: Any = None, order: Any = None) -> np.ndarray:
    array = new_array(shape, dtype, order)
    array[...] = fill_value
    return array


def _full_source(fill_value: str, shape: Any, dtype: np.dtype, order: Any) -> str:
    if order is not None:
        return f"_op('full').reference({fill_value}, {shape}, np.dtype({dtype.str!r}), {order})"
    return f"np.full({shape}, {fill_value}, np.dtype({dtype.str!r}))"


def _empty_source(shape: Any, dtype: np.dtype, order: Any) -> str:
    if order is not None:
        return f"_op('empty').reference({shape}, np.dtype({dtype.str!r}), {order})"
    return f"np.empty({shape}, np.dtype({dtype.str!r}))"


define(
    name="full",
    signature="fill_value, shape, dtype=None, order=None",
    operands=("fill_value",),
    canonical=_canonical_full,
    infer=_infer_full,
    reference=_filled,
    source=_full_source,
    lower=Pointwise(lambda s, value, **params: value, loop=lambda value, dtype, **params: (dtype,)),
    label="cast",
    samples=(
        (2, {"shape": (2, 3)}),
        (2.5, {"shape": (2, 3, 4), "dtype": np.float32, "order": (1, 2, 0)}),
        (True, {"shape": ()}),
    ),
)
define(
    name="empty",
    signature="shape, dtype=float, order=None",
    operands=(),
    canonical=lambda shape, dtype, order: _canonical_allocation(shape, dtype, order),
    infer=lambda shape, dtype, order: allocated(dtype, shape, order),
    reference=new_array,
    source=_empty_source,
    lower=Pointwise(lambda s, dtype, **params: s.constant(0, dtype)),
    samples=(({"shape": (2, 3)},), ({"shape": (2, 3), "order": (1, 0)},)),
    tags=QUIET | {"uninitialised"},
)


def _axes_of(order: Any, ndim: int) -> tuple[int, ...] | None:
    if order not in ("C", "F", None):
        raise CannotInfer(f"order is {order!r}")
    return tuple(reversed(range(ndim))) if order == "F" else None


def _creator(fill_value: Any) -> Any:
    def expand(graph: Any, shape: Any, dtype: Any = float, order: Any = "C") -> Any:
        shape = given_shape(shape)
        dtype = given_dtype(float if dtype is None else dtype)
        axes = _axes_of(order, len(shape))
        if fill_value is None:
            return graph.call("empty", shape=shape, dtype=dtype, order=axes)
        return graph.call("full", fill_value, shape=shape, dtype=dtype, order=axes)

    return expand


def _like(fill_value: Any) -> Any:
    def expand(graph: Any, a: Any, dtype: Any = None, order: Any = "K", *, shape: Any = None) -> Any:
        return _filled_like(graph, a, fill_value, dtype, order, shape)

    return expand


def _filled_like(graph: Any, a: Any, fill_value: Any, dtype: Any, order: Any, shape: Any) -> Any:
    base = require_value(operand_type(a), "an array like it")
    axes = given_order(order, base)
    if shape is not None:
        shape = given_shape(shape)
        if len(shape) != base.ndim:
            axes = _axes_of("C" if order == "K" else order, len(shape)) or tuple(range(len(shape)))
    params = {
        "shape": base.shape if shape is None else shape,
        "dtype": base.dtype if dtype is None else given_dtype(dtype),
        "order": axes,
    }
    return graph.call("empty", **params) if fill_value is None else graph.call("full", fill_value, **params)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", None)):
    define(
        name=_name if _value is not None else "np_empty",
        signature="shape, dtype=float, order='C'",
        operands=(),
        calls=(getattr(np, _name),),
        expand=_creator(_value),
    )
    define(
        name=f"{_name}_like",
        signature="a, dtype=None, order='K', *, shape=None",
        operands=("a",),
        calls=(getattr(np, f"{_name}_like"),),
        expand=_like(_value),
    )


def _full(graph: Any, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    shape = given_shape(shape)
    return _fill(graph, fill_value, shape, dtype, _axes_of(order, len(shape)))


def _fill(graph: Any, fill_value: Any, shape: Any, dtype: Any, order: Any) -> Any:
    operand = operand_type(fill_value)
    if not shape_of(operand):
        return graph.call("full", fill_value, shape=shape, dtype=dtype, order=order)
    values = fill_value
    if dtype is not None and given_dtype(dtype) != operand.dtype:
        values = graph.call("astype", fill_value, dtype=dtype)
    if order is not None:
        raise CannotInfer("an array as fill value in another order than C")
    return graph.call("copy", graph.call("broadcast_to", values, shape=shape), order="C")


def _full_like(graph: Any, a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", *, shape: Any = None) -> Any:
    if shape_of(operand_type(fill_value)):
        raise CannotInfer("an array as fill value")
    return _filled_like(graph, a, fill_value, dtype, order, shape)


define(
    name="np_full",
    signature="shape, fill_value, dtype=None, order='C'",
    operands=("fill_value",),
    calls=(np.full,),
    expand=lambda graph, fill_value, shape, dtype=None, order="C": _full(graph, shape, fill_value, dtype, order),
    tags=NUMBERS,
)
define(
    name="full_like",
    signature="a, fill_value, dtype=None, order='K', *, shape=None",
    operands=("a", "fill_value"),
    calls=(np.full_like,),
    expand=_full_like,
    tags=NUMBERS,
)


# arange -----------------------------------------------------------------------------------------------------------
def _canonical_arange(start: Any, stop: Any, step: Any, dtype: Any) -> dict[str, Any]:
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    for number in (start, stop, step):
        if not isinstance(number, Expr) and (type(number) not in (int, float) or not isfinite(number)):
            raise CannotInfer("the bounds of arange are not known numbers")
    if not is_static((start, stop, step)):
        _require_whole(start, stop, step)
    elif step == 0:
        raise CannotInfer("Maximum allowed size exceeded")
    if dtype is None:
        dtype = np.result_type(*(0 if isinstance(number, Expr) else number for number in (start, stop, step)))
    dtype = given_dtype(dtype)
    if dtype.kind == "b":
        raise CannotInfer("arange of bool")
    return {"start": start, "stop": stop, "step": step, "dtype": dtype}


def _require_whole(start: Any, stop: Any, step: Any) -> None:
    """Bounds that are sizes go with whole numbers, and a step that is one or one over a power of two."""
    known = not isinstance(step, Expr) and step != 0 and (_is_whole(step) or _halves(step))
    if not known or not all(map(_is_whole, (start, stop))):
        unknown = [number for number in (start, stop, step) if isinstance(number, Expr)]
        raise UnknownSize("arange from sizes in steps that are no known int", *unknown)


def _is_whole(number: Any) -> bool:
    return isinstance(number, Expr | int) or number.is_integer()


def _halves(step: Any) -> int:
    """How many steps make up one, where it is a small power of two: then the length is exact. 0 for other steps."""
    parts = 1 / abs(step) if type(step) is float and step else 0
    return int(parts) if parts in HALVES else 0


HALVES = frozenset(2**bits for bits in range(1, 11))


def _arange_ends(start: Any, step: Any, dtype: np.dtype) -> tuple[Any, Any, Any]:
    """The first two elements, and their difference, which NumPy multiplies by the index."""
    first, second = literal_as(start, dtype), literal_as(start + step, dtype)
    with np.errstate(all="ignore"):
        difference = (np.array(second, dtype) - np.array(first, dtype)).item()
    return first, second, difference


def arange_length(start: Any, stop: Any, step: Any) -> Size:
    """NumPy's own: the quotient as a double, rounded up."""
    if not is_static((start, stop)):
        start, stop = (number if isinstance(number, Expr) else int(number) for number in (start, stop))
        span = stop - start if step > 0 else start - stop
        if parts := _halves(step):
            return simplified(maximum(span * parts, 0))
        step = int(step)
        return simplified(maximum(floordiv(span + abs(step) - 1, abs(step)), 0))
    quotient = float((stop - start) / step)
    if not isfinite(quotient) or (quotient == 0.0 and stop != start):
        raise CannotInfer("arange whose length is not certain")
    return max(ceil(quotient), 0)


def _infer_arange(start: Any, stop: Any, step: Any, dtype: np.dtype) -> ArrayType:
    length = arange_length(start, stop, step)
    if not is_static((start, length)):
        _require_bounds(start, stop, dtype)
    elif length:
        _arange_ends(start, step, dtype)
    return allocated(dtype, (length,))


def _require_bounds(start: Size, stop: Size, dtype: np.dtype) -> None:
    """Refuse elements that may not fit their dtype; doubles hold them exactly, singles may round each differently."""
    if dtype in (np.float64, np.int64):
        return
    if dtype == np.float32 and is_static((start,)):
        return  # each element is computed as NumPy does it
    if dtype.kind not in "iu":
        raise UnknownSize(f"arange of unknown length as {dtype}", start, stop)
    limits = np.iinfo(dtype)
    if not all(at_least(end, int(limits.min)) and at_least(int(limits.max), end) for end in (start, stop)):
        raise CannotInfer(f"arange beyond the range of {dtype}")


def _arange_element(s: Any, start: Any, stop: Any, step: Any, dtype: np.dtype) -> Any:
    if not is_static((start,)) and dtype.kind == "f" and type(step) is float:
        moved = s.multiply(s.cast(s.index(0), dtype), s.constant(step, dtype))
        return s.add(s.cast(s.position(start), dtype), moved)
    if not is_static((start,)) or (dtype.kind != "f" and not is_static((stop,))):
        step_value = s.constant(int(step), np.dtype("i8"))
        return s.cast(s.add(s.position(start), s.multiply(s.index(0), step_value)), dtype)
    first, second, difference = _arange_ends(start, step, dtype)
    index = s.index(0)
    product = s.multiply(s.cast(index, dtype), s.constant(difference, dtype))
    value = s.add(s.constant(first, dtype), product)
    with np.errstate(all="ignore"):
        if (np.array(first, dtype) + np.array(difference, dtype)).item() == second:
            return value
    return s.where(s.equal(index, s.constant(1, np.dtype("i8"))), s.constant(second, dtype), value)


define(
    name="arange",
    signature="start, stop=None, step=None, dtype=None",
    operands=(),
    calls=(np.arange,),
    canonical=_canonical_arange,
    infer=_infer_arange,
    reference=np.arange,
    source="np.arange({start}, {stop}, {step}, {dtype})",
    lower=Pointwise(_arange_element),
    samples=(
        ({"start": 5},),
        ({"start": 2, "stop": 11, "step": 3},),
        ({"start": 5, "stop": -2, "step": -2, "dtype": np.int8},),
        ({"start": 0.1, "stop": 1, "step": 0.3},),
        ({"start": 0.1, "stop": 1, "step": 0.3, "dtype": np.float32},),
        ({"start": 3, "stop": 1},),
    ),
)


# eye, tri, linspace -----------------------------------------------------------------------------------------------
def _known_int(value: Any, what: str) -> Size:
    number = size_or_int(value, what)
    if what != "k" and not at_least(number, 0):
        raise CannotInfer(f"{what} is negative")
    return number


def _canonical_matrix(N: Any, M: Any, k: Any, dtype: Any) -> dict[str, Any]:
    rows = _known_int(N, "N")
    columns = rows if M is None else _known_int(M, "M")
    return {"N": rows, "M": columns, "k": _known_int(k, "k"), "dtype": given_dtype(dtype)}


def _matrix_record(name: str, function: Any, comparison: str) -> None:
    def element(s: Any, N: Size, M: Size, k: Size, dtype: np.dtype) -> Any:
        place = s.add(s.index(0), s.position(k))
        return s.cast(getattr(s, comparison)(place, s.index(1)), dtype)

    define(
        name=name,
        signature="N, M=None, k=0, dtype=float",
        operands=(),
        calls=(function,),
        canonical=_canonical_matrix,
        infer=lambda N, M, k, dtype: allocated(dtype, (N, M)),
        reference=function,
        lower=Pointwise(element),
        tags=QUIET,
        samples=(({"N": 3},), ({"N": 3, "M": 4, "k": 1, "dtype": np.int8},), ({"N": 3, "M": 2, "k": -1},)),
    )


_matrix_record("eye", np.eye, "equal")
_matrix_record("tri", np.tri, "greater_equal")
define(
    name="identity",
    signature="n, dtype=None",
    operands=(),
    calls=(np.identity,),
    expand=lambda graph, n, dtype=None: graph.call("eye", N=n, dtype=float if dtype is None else dtype),
)


def _canonical_linspace(start: Any, stop: Any, num: Any, endpoint: Any, dtype: Any) -> dict[str, Any]:
    if any(type(number) not in (int, float) or not isfinite(number) for number in (start, stop)):
        raise CannotInfer("the bounds of linspace are not known numbers")
    dtype = np.dtype("f8") if dtype is None else given_dtype(dtype)
    if dtype.kind != "f":
        raise CannotInfer("linspace of integers")
    num = _known_int(num, "num")
    return {"start": float(start), "stop": float(stop), "num": num, "endpoint": bool(endpoint), "dtype": dtype}


def _linspace_element(s: Any, start: float, stop: float, num: int, endpoint: bool, dtype: np.dtype) -> Any:
    double = np.dtype("f8")
    divisions = num - 1 if endpoint else num
    delta = stop - start
    index = s.index(0)
    value = s.cast(index, double)
    if isinstance(divisions, Expr):
        return _linspace_of_unknown(s, start, stop, divisions, endpoint, dtype)
    if divisions > 0 and delta / divisions == 0:
        value = s.multiply(s.divide(value, s.constant(float(divisions), double)), s.constant(delta, double))
    else:
        value = s.multiply(value, s.constant(delta / divisions if divisions > 0 else delta, double))
    value = s.add(value, s.constant(start, double))
    if endpoint and num > 1:
        last = s.equal(index, s.constant(num - 1, np.dtype("i8")))
        value = s.where(last, s.constant(stop, double), value)
    return s.cast(value, dtype)


def _linspace_of_unknown(s: Any, start: float, stop: float, divisions: Expr, endpoint: bool, dtype: np.dtype) -> Any:
    """The same with ``divisions`` a size: the step is computed with the elements. A single element is the first."""
    double = np.dtype("f8")
    intervals = maximum(divisions, 1)
    delta, index = s.constant(stop - start, double), s.index(0)
    count, value = s.cast(s.position(intervals), double), s.cast(index, double)
    step = s.divide(delta, count)
    tiny = s.multiply(s.divide(value, count), delta)
    value = s.where(s.equal(step, s.constant(0.0, double)), tiny, s.multiply(value, step))
    value = s.add(value, s.constant(start, double))
    if endpoint:
        value = s.where(s.equal(index, s.position(intervals)), s.constant(stop, double), value)
    return s.cast(value, dtype)


def _infer_linspace(start: float, stop: float, num: int, endpoint: bool, dtype: np.dtype) -> ArrayType:
    if not isfinite(stop - start):
        raise CannotInfer("the span of linspace overflows")
    if not (fits(start, dtype) and fits(stop, dtype)):
        raise CannotInfer(f"numbers of linspace overflow {dtype}, which NumPy warns of where it casts them")
    return allocated(dtype, (num,))


def _linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None) -> Any:
    return np.linspace(start, stop, num, endpoint, dtype=dtype)


LINSPACE_IS_VIEW = not np.linspace(0.0, 1.0, 3).flags.owndata
"""Whether this NumPy gives a view of what it computed in place, where there is an interval to compute with."""


def _expand_linspace(graph: Any, start: Any, stop: Any, **params: Any) -> Any:
    whole = graph.call("linspace", start=start, stop=stop, **params)
    intervals = whole.type.shape[0] - (1 if params.get("endpoint", True) else 0)
    if not LINSPACE_IS_VIEW or whole.type.dtype != np.float64 or not at_least(intervals, 1):
        return whole
    return graph.call("slice", whole, starts=(0,), steps=(1,), sizes=whole.type.shape)


define(
    name="np_linspace",
    signature="start, stop, num=50, endpoint=True, *, dtype=None",
    operands=("start", "stop"),
    calls=(np.linspace,),
    expand=_expand_linspace,
)


define(
    name="linspace",
    signature="start, stop, num=50, endpoint=True, *, dtype=None",
    operands=(),
    canonical=_canonical_linspace,
    infer=_infer_linspace,
    reference=_linspace,
    source="np.linspace({start}, {stop}, {num}, {endpoint}, dtype={dtype})",
    lower=Pointwise(_linspace_element),
    samples=(
        ({"start": 0, "stop": 1, "num": 7},),
        ({"start": -1.5, "stop": 3, "num": 4, "endpoint": False, "dtype": np.float32},),
        ({"start": 2, "stop": 2, "num": 3},),
        ({"start": 1, "stop": 2, "num": 1},),
    ),
)


# where, tril, triu ------------------------------------------------------------------------------------------------
def _infer_where(condition: Any, x: Any, y: Any) -> ArrayType:
    kind_of(condition)
    operands = (condition, x, y)
    arrays = [operand for operand in operands if shape_of(operand)]
    shape = broadcast_shapes(operand.shape for operand in arrays)
    return allocated(promoted((x, y)), shape, common_order(arrays, len(shape)))


def _where_loop(condition: Any, x: Any, y: Any) -> tuple[np.dtype, ...]:
    dtype = promoted((x, y))
    return np.dtype(bool), dtype, dtype


define(
    name="where",
    signature="condition, x, y, /",
    operands=("condition", "x", "y"),
    infer=_infer_where,
    reference=np.where,
    lower=Pointwise(lambda s, condition, x, y: s.where(condition, x, y), loop=_where_loop),
    tags=QUIET,
    samples=(
        ([1.0, 0.0, np.nan, -1.0], [1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, np.nan, 0.0]),
        ([1.0, 0.0], 1, 2.5),
    ),
)


def _triangle(keeps_lower: bool) -> Any:
    def expand(graph: Any, m: Any, k: Any = 0) -> Any:
        base = require_array(operand_type(m), "a triangle")
        if base.ndim < 2:
            raise CannotInfer("a triangle of fewer than two axes")
        mask = graph.call(
            "tri", N=base.shape[-2], M=base.shape[-1], k=k if keeps_lower else size_or_int(k, "k") - 1, dtype=bool
        )
        zero = base.dtype.type(0).item()
        return graph.call("where", mask, m, zero) if keeps_lower else graph.call("where", mask, zero, m)

    return expand


for _name, _keeps_lower in (("tril", True), ("triu", False)):
    define(
        name=_name,
        signature="m, k=0",
        operands=("m",),
        calls=(getattr(np, _name),),
        expand=_triangle(_keeps_lower),
    )
