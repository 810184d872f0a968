"""Sorting and other functions that NumPy runs, with types that are certain beforehand.

In: ``np.sort(x, axis=0)``, ``np.argsort(x)``, ``np.roll(x, 1)``. Out: extern nodes, or slices that
are joined.

>>> str(graph.call("argsort", x).type)
'i64[3, 4]'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.common import allocated, one_axis, operand_type, require_array, size_or_int, static
from capture.ir.ops.orders import copy_order
from capture.ir.ops.places import place_of
from capture.ir.ops.reshaping import in_a_row
from capture.ir.shapes import Size, maximum, modulo
from capture.ir.sizes import simplified
from capture.ir.types import ArrayType

SAMPLES = ([[3.0, np.nan, -1.0], [2.0, 2.0, 0.0]],)


def _canonical_sort(a: Any, axis: Any) -> dict[str, Any]:
    base = require_array(a, "sort")
    return {"axis": one_axis(axis, base.ndim)}


def _infer_sort(a: Any, axis: int) -> ArrayType:
    base = require_array(a, "sort")
    return allocated(base.dtype, base.shape, copy_order(base))


def _infer_argsort(a: Any, axis: int) -> ArrayType:
    base = require_array(a, "argsort")
    return allocated(np.intp, base.shape)


for _name, _function, _infer, _methods in (
    ("sort", np.sort, _infer_sort, ()),
    ("argsort", np.argsort, _infer_argsort, ("argsort",)),
):
    define(
        name=_name,
        signature="a, axis=-1",
        operands=("a",),
        calls=(_function,),
        methods=_methods,
        canonical=_canonical_sort,
        infer=_infer,
        reference=_function,
        lower=Extern(),
        samples=(SAMPLES, (*SAMPLES, {"axis": 0})),
    )


# roll, diff -------------------------------------------------------------------------------------------------------
def _cut(graph: Any, a: Any, axis: int, start: int | None, stop: int | None) -> Any:
    """``a[start:stop]`` along one axis."""
    key = tuple(slice(start, stop) if k == axis else slice(None) for k in range(a.type.ndim))
    return graph.call("getitem", a, key=key)


def _part(graph: Any, a: Any, axis: int, start: Size, size: Size) -> Any:
    """``size`` elements from ``start`` on along one axis."""
    ndim = a.type.ndim
    starts = tuple(start if k == axis else 0 for k in range(ndim))
    sizes = (*a.type.shape[:axis], size, *a.type.shape[axis + 1 :])
    return graph.call("slice", a, starts=starts, steps=(1,) * ndim, sizes=sizes)


def _canonical_roll(a: Any, shift: Any, axis: Any) -> dict[str, Any]:
    base = require_array(a, "roll")
    return {"shift": static(shift, "the shift"), "axis": None if axis is None else one_axis(axis, base.ndim)}


def _roll(graph: Any, a: Any, shift: Any, axis: Any = None) -> Any:
    """Two slices of a row, the other way round; the result is laid out like the array."""
    base = require_array(operand_type(a), "roll")
    if isinstance(axis, tuple):
        shifts = shift if isinstance(shift, tuple) else (shift,) * len(axis)
        if len(shifts) != len(axis) or not axis:
            raise CannotInfer("'shift' and 'axis' should be scalars or 1D sequences")
        for each, place in zip(shifts, axis, strict=True):
            a = _roll(graph, a, each, place)
        return a
    if axis is None:
        return graph.call("reshape", _roll(graph, in_a_row(graph, a), shift, 0), shape=base.shape)
    axis = one_axis(axis, base.ndim)
    size = base.shape[axis]
    offset = simplified(modulo(size_or_int(shift, "the shift"), maximum(size, 1)))
    if isinstance(offset, int) and offset == 0:
        return graph.call("copy", a, order="K")
    parts = (_part(graph, a, axis, size - offset, offset), _part(graph, a, axis, 0, size - offset))
    order = copy_order(base)
    return graph.call("concatenate", *parts, axis=axis, order=None if order == tuple(range(base.ndim)) else order)


define(name="roll", signature="a, shift, axis=None", operands=("a",), calls=(np.roll,), expand=_roll)


def _diff(graph: Any, a: Any, n: Any = 1, axis: Any = -1) -> Any:
    """``a[1:] - a[:-1]``, n times; booleans are compared."""
    base = require_array(operand_type(a), "diff")
    axis = one_axis(axis, base.ndim)
    times = static(n, "n")
    if times < 0 or not base.ndim:
        raise CannotInfer("order must be non-negative")
    for _ in range(times):
        after, before = _cut(graph, a, axis, 1, None), _cut(graph, a, axis, None, -1)
        with graph.within(place_of("diff")):
            a = graph.call("not_equal" if base.dtype.kind == "b" else "subtract", after, before)
    return a


define(name="diff", signature="a, n=1, axis=-1", operands=("a",), calls=(np.diff,), expand=_diff)
