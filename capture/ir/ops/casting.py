"""Copies and casts: ``copy``, ``astype``, and the functions that make arrays of arrays.

In: ``x.astype(np.float32)``, ``np.asarray(x)``, ``np.float32(x)``, ``x.copy()``. Out: a copy or a cast with the memory
order NumPy gives it, or the very same array where NumPy returns its argument.

>>> graph.call("astype", x, dtype=np.dtype("f4"))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.op import CannotInfer, Pointwise, define
from capture.ir.ops.common import (
    LOWERED,
    QUIET,
    allocated,
    converts_by_python,
    given_dtype,
    is_array,
    is_literal,
    kind_of,
    lowered,
    operand_type,
    require_array,
    require_value,
)
from capture.ir.ops.orders import given_order, is_only_f
from capture.ir.ops.strides import contiguity
from capture.ir.types import ArrayType, NumberType, scalar_type
from capture.ir.warned import raised

SAMPLES = ([[1.0, -2.0, 3.0], [4.0, 0.0, 6.0]],)


def _canonical_order(a: Any, order: Any) -> str:
    """``order`` as "C", "F" or "K"; "A" becomes what it means for this array."""
    base = require_value(a, "a copy")
    if order == "A":
        order = "F" if is_only_f(base) else "C"
    if order not in ("C", "F", "K"):
        raise CannotInfer(f"order is {order!r}")
    return order


# copy -------------------------------------------------------------------------------------------------------------
def _infer_copy(a: Any, order: str) -> ArrayType:
    base = require_array(a, "a copy")
    return allocated(base.dtype, base.shape, given_order(order, base))


def _copy_source(a: str, order: str) -> str:
    return f"{a}.copy({'' if order == 'C' else repr(order)})"


define(
    name="copy",
    signature="a, order='C'",
    operands=("a",),
    methods=("copy",),
    canonical=lambda a, order: {"order": _canonical_order(a, order)},
    infer=_infer_copy,
    reference=lambda a, order="C": a.copy(order),
    source=_copy_source,
    lower=Pointwise(lambda s, x, **params: x),
    tags=QUIET,
    samples=(SAMPLES, (*SAMPLES, {"order": "F"}), (*SAMPLES, {"order": "K"})),
)


# astype -----------------------------------------------------------------------------------------------------------
def _infer_astype(a: Any, dtype: np.dtype, order: str) -> ArrayType:
    base = require_value(a, "a cast")
    if is_complex(base.dtype) and dtype.kind not in "bc":
        raise CannotInfer("a cast that discards imaginary parts, which NumPy warns of")
    if base.scalar:
        return scalar_type(dtype)
    return allocated(dtype, base.shape, given_order(order, base))


def _canonical_astype(a: Any, dtype: Any, order: Any) -> dict[str, Any]:
    return {"dtype": given_dtype(dtype), "order": _canonical_order(a, order)}


def _astype_source(a: str, dtype: np.dtype, order: str) -> str:
    return f"{a}.astype(np.dtype({dtype.str!r}){'' if order == 'K' else f', {order!r}'})"


define(
    name="astype",
    signature="a, dtype, order='K'",
    operands=("a",),
    canonical=_canonical_astype,
    infer=_infer_astype,
    reference=lambda a, dtype, order="K": a.astype(dtype, order),
    source=_astype_source,
    lower=Pointwise(lambda s, x, dtype, **params: s.cast(x, dtype)),
    label="cast",
    samples=tuple(
        (values, {"dtype": dtype})
        for values in ([-2.5, 0.0, 1.0, 3.7, 100.0], [np.nan, 0.0])
        for dtype in sorted(LOWERED, key=str)
        if dtype.kind in "bf" or np.nan not in values
    ),
)


def _astype_method(
    graph: Any, a: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    """``x.astype``: without ``copy`` the very same array when it is as asked already."""
    base = require_value(operand_type(a), "a cast")
    dtype = given_dtype(dtype)
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe") or not np.can_cast(base.dtype, dtype, casting):
        raise CannotInfer(f"cannot cast from {base.dtype} to {dtype} according to the rule {casting!r}")
    if not copy and base.dtype == dtype and not base.scalar:
        return _as_ordered(graph, a, order)
    if copy is not True and copy is not False:
        raise CannotInfer("copy is no bool")
    return graph.call("astype", a, dtype=dtype, order=order)


define(
    name="ndarray_astype",
    signature="a, dtype, order='K', casting='unsafe', subok=True, copy=True",
    operands=("a",),
    methods=("astype",),
    expand=_astype_method,
)


def _as_ordered(graph: Any, a: Any, order: Any) -> Any:
    """The array itself when its memory is in the order asked for, else a copy."""
    if order in (None, "K"):
        return a
    base = require_array(a.type, "asarray")
    if order not in ("C", "F"):
        raise CannotInfer(f"asarray with order {order!r}")
    turned = a if order == "C" or base.ndim < 2 else graph.call("permute", a, axes=tuple(reversed(range(base.ndim))))
    contiguous = contiguity(turned.type, turned)
    if contiguous is None:
        raise CannotInfer("whether this copies depends on strides that are not known")
    return a if contiguous else graph.call("copy", a, order=order)


# Arrays of arrays -------------------------------------------------------------------------------------------------
def _new_array(graph: Any, value: Any, dtype: np.dtype | None, order: Any = None) -> Any:
    """An array that NumPy makes of what is none, in the memory order asked for."""
    made = _in_c_order(graph, value, dtype)
    if order in (None, "K", "A", "C") or made.type.ndim < 2:
        return made
    return graph.call("copy", made, order=order)


def _in_c_order(graph: Any, value: Any, dtype: np.dtype | None) -> Any:
    """An array of a scalar, a number, or nested lists of numbers."""
    type = operand_type(value)
    if (isinstance(type, ArrayType) and type.scalar) or is_literal(value):
        return graph.call("full", value, shape=(), dtype=dtype)
    if not isinstance(value, tuple):
        raise CannotInfer("an array of these objects")
    if not _all_literal(value):
        return _joined(graph, value, dtype or lowered(np.result_type(*map(_leaf_dtype, _leaves(value)))))
    with raised():
        try:
            array = np.array(value, dtype)
        except (ValueError, TypeError, OverflowError, RuntimeWarning) as error:
            raise CannotInfer(str(error)) from None
    given_dtype(array.dtype)
    return graph.call("copy", graph.constant(array), order="C")


def _leaves(value: Any) -> list[Any]:
    """Everything inside nested tuples."""
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


def _leaf_dtype(leaf: Any) -> np.dtype:
    """The dtype that ``np.array`` finds for an item: Python numbers are not weak there."""
    kind = kind_of(operand_type(leaf))
    return kind if isinstance(kind, np.dtype) else np.dtype(kind)


def _joined(graph: Any, items: tuple[Any, ...], dtype: np.dtype) -> Any:
    """``np.array([x, [y, 1]])`` of scalars, numbers and arrays of one shape: a new array in C order."""
    rows = [_joined(graph, item, dtype) if isinstance(item, tuple) else _row(graph, item, dtype) for item in items]
    if not rows or len({row.type.shape for row in rows}) != 1 or (rows[0].type.ndim > 1 and not _all_c(rows)):
        raise CannotInfer("an array of rows that differ in shape or are not in C order")
    expanded = [graph.call("expand", row, axes=(0,)) for row in rows]
    return graph.call("concatenate", *expanded, axis=0)


def _row(graph: Any, item: Any, dtype: np.dtype) -> Any:
    type = operand_type(item)
    if not is_array(type):
        require_converted(graph, item, dtype)
        return graph.call("full", item, shape=(), dtype=dtype)
    if type.dtype.kind == "f" and dtype.kind in "iu":
        raise CannotInfer("floats in an array of integers")
    return item if type.dtype == dtype else graph.call("astype", item, dtype=dtype)


def require_converted(graph: Any, value: Any, dtype: np.dtype) -> None:
    """Leave where NumPy makes an element of a scalar by way of a Python int, and raises, since it is too big."""
    type = operand_type(value)
    if not isinstance(type, ArrayType) or not type.scalar or not converts_by_python(type.dtype, dtype):
        return
    info = np.iinfo(dtype)
    fails = graph.call("greater", value, int(info.max))
    if type.dtype.kind == "i":
        fails = graph.call("logical_or", fails, graph.call("less", value, int(info.min)))
    graph.call("leave_if", fails)


def _all_c(rows: list[Any]) -> bool:
    return all(row.type.layout is not None and row.type.layout.is_c for row in rows)


def _all_literal(value: Any) -> bool:
    return all(_all_literal(item) if isinstance(item, tuple) else is_literal(item) for item in value)


def _given(dtype: Any) -> np.dtype | None:
    return None if dtype is None else given_dtype(dtype)


def _array(
    graph: Any, object: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: Any = False, ndmin: Any = 0
) -> Any:
    """``subok`` is for subclasses, of which there are none here."""
    if copy is not True and copy is not None:
        raise CannotInfer("np.array with copy=False")
    if copy is None:
        found = _asarray(graph, object, dtype, None if order == "K" else order)
    else:
        found = _new(graph, object, _given(dtype), order or "K")
    missing = ndmin - found.type.ndim if type(ndmin) is int else 0
    if missing > 0 and order == "F":
        raise CannotInfer("np.array with ndmin and order='F'")
    return graph.call("reshape", found, shape=(1,) * missing + found.type.shape) if missing > 0 else found


def _new(graph: Any, object: Any, dtype: np.dtype | None, order: str) -> Any:
    if not is_array(operand_type(object)):
        return _new_array(graph, object, dtype, order)
    if dtype is None or dtype == object.type.dtype:  # None compares equal to float64
        return graph.call("copy", object, order=order)
    return graph.call("astype", object, dtype=dtype, order=order)


def _asarray(graph: Any, a: Any, dtype: Any = None, order: Any = None, device: Any = None, copy: Any = None) -> Any:
    if copy or device not in (None, "cpu"):
        return _array(graph, a, dtype, True, order or "K")
    dtype = _given(dtype)
    if not is_array(operand_type(a)):
        return _new_array(graph, a, dtype, order)
    if dtype is None or dtype == a.type.dtype:
        require_array(a.type, "asarray")
        return _as_ordered(graph, a, order)
    return graph.call("astype", a, dtype=dtype, order=order or "K")


def _contiguous(order: str) -> Callable[..., Any]:
    """As ``asarray`` in C or Fortran order, but with at least one axis."""

    def expand(graph: Any, a: Any, dtype: Any = None) -> Any:
        array = _asarray(graph, a, dtype, order)
        return array if array.type.ndim else graph.call("reshape", array, shape=(1,))

    return expand


define(
    name="array",
    signature="object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0",
    operands=("object",),
    calls=(np.array,),
    expand=_array,
)
define(
    name="asarray",
    signature="a, dtype=None, order=None, *, device=None, copy=None",
    operands=("a",),
    calls=(np.asarray, np.asanyarray),
    expand=_asarray,
)
define(
    name="ascontiguousarray",
    signature="a, dtype=None",
    operands=("a",),
    calls=(np.ascontiguousarray,),
    expand=_contiguous("C"),
)
define(
    name="asfortranarray",
    signature="a, dtype=None",
    operands=("a",),
    calls=(np.asfortranarray,),
    expand=_contiguous("F"),
)
define(
    name="np_copy",
    signature="a, order='K'",
    operands=("a",),
    calls=(np.copy,),
    expand=lambda graph, a, order="K": _array(graph, a, None, True, order),
)


# Scalar types as functions: np.float32(x) ---------------------------------------------------------------------------
def _scalar_call(dtype: np.dtype) -> Any:
    """A scalar of a scalar, a cast array of an array; an array that has the dtype already stays itself."""

    def expand(graph: Any, x: Any) -> Any:
        if is_literal(x):
            with raised():
                try:
                    return graph.constant(dtype.type(x))
                except (ValueError, OverflowError, RuntimeWarning) as error:
                    raise CannotInfer(str(error)) from None
        if isinstance(operand_type(x), NumberType):
            return graph.call("scalar", graph.call("full", x, shape=(), dtype=dtype))
        base = require_value(operand_type(x), f"{dtype} of")
        if not base.ndim:
            cast = graph.call("astype", x, dtype=dtype)
            return cast if base.scalar else graph.call("scalar", cast)
        return x if base.dtype == dtype else graph.call("astype", x, dtype=dtype)

    return expand


for _dtype in sorted(LOWERED, key=str):
    define(
        name=f"call_{_dtype}",
        signature="x, /",
        operands=("x",),
        calls=(_dtype.type,),
        expand=_scalar_call(_dtype),
    )
