"""Elements at computed places: ``gather``, and the test that the places exist.

In: an array and integer operands, one for each of the ``axes`` that they index, broadcast together. Out: a new array:
the axes of the places, then those axes of the array that are not indexed, ``place`` of them in front.

>>> graph.call("gather", x, rows, axes=(0,))       # x[rows]
>>> graph.call("gather", x, i, j, axes=(0, 2))     # x[i, :, j]

Places count from the end where they are negative. One that does not exist is NumPy's IndexError: before a graph is
compiled, ``check_bounds`` puts a test in front of each gather, and a graph whose test fails is left to plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import array as new_array  # users may replace np.array while this module is loaded

from capture.ir.op import CannotInfer, Gather, Leave, Reduce, define
from capture.ir.ops.common import (
    QUIET,
    allocated,
    broadcast_shapes,
    is_array,
    one_axis,
    operand_type,
    require_array,
    require_value,
)
from capture.ir.ops.orders import common_order, copy_order
from capture.ir.ops.reshaping import in_a_row
from capture.ir.shapes import Size
from capture.ir.sizes import same
from capture.ir.types import ArrayType, Layout, scalar_type

MATRIX = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]
INT64 = np.dtype(np.int64)


# gather -----------------------------------------------------------------------------------------------------------
def index_types(indices: Sequence[Any]) -> list[ArrayType]:
    """The types of operands that are places."""
    types = [require_value(index, "an index") for index in indices]
    if not types or any(type.dtype.kind not in "iu" for type in types):
        raise CannotInfer("an index that is no integer")
    return types


def rest_of(base: ArrayType, axes: Sequence[int]) -> ArrayType:
    """The axes that are not indexed."""
    kept = [axis for axis in range(base.ndim) if axis not in axes]
    layout = base.layout and Layout(tuple(base.layout.ranks[axis] for axis in kept), False, False)
    return ArrayType(base.dtype, tuple(base.shape[axis] for axis in kept), layout)


def gathered_shape(base: ArrayType, places: Sequence[Size], axes: Sequence[int], place: int) -> tuple[Size, ...]:
    rest = rest_of(base, axes).shape
    return (*rest[:place], *places, *rest[place:])


def _infer_gather(a: Any, *indices: Any, axes: tuple[int, ...], place: int, order: str) -> ArrayType:
    base, types = require_array(a, "indexing"), index_types(indices)
    if len(types) != len(axes) or len(set(axes)) != len(axes) or not all(0 <= axis < base.ndim for axis in axes):
        raise CannotInfer("each index needs an axis of its own")
    places = broadcast_shapes(type.shape for type in types)
    shape = gathered_shape(base, places, axes, place)
    if not shape:
        return scalar_type(base.dtype)
    if order != "K":
        return allocated(base.dtype, shape, range(len(shape)) if order == "C" else range(len(shape))[::-1])
    if place:
        raise CannotInfer("axes in front of the places have no order of their own")
    return allocated(base.dtype, shape, _gathered_order(base, types, len(places), axes))


def _gathered_order(base: ArrayType, types: Sequence[ArrayType], ndim: int, axes: Sequence[int]) -> list[int]:
    """The memory order of NumPy's own result: that of the indices where there is one element for each place; else the
    places outermost in C order, around the order of the other axes."""
    rest = rest_of(base, axes)
    if all(same(size, 1) for size in rest.shape):
        return [*common_order([type for type in types if type.shape], ndim), *range(ndim, ndim + rest.ndim)]
    inner = copy_order(rest) if rest.ndim > 1 else range(rest.ndim)
    return [*range(ndim), *(ndim + axis for axis in inner)]


def _gather(a: np.ndarray, *indices: Any, axes: tuple[int, ...], place: int = 0, order: Any = "K") -> Any:
    first = np.moveaxis(a, axes, range(len(axes)))
    result = first[tuple(np.asarray(index) for index in indices)]
    ndim = np.broadcast(*indices).ndim
    if place:
        result = np.moveaxis(result, range(ndim), range(place, place + ndim))
    if order != "K" and result.ndim:
        result = np.asarray(result, order=order)
    return result if isinstance(result, np.generic) or result.flags.owndata else result.copy(order="K")


def _gather_source(a: str, *indices: str, axes: tuple[int, ...], place: int, order: str) -> str:
    if axes == tuple(range(len(axes))) and not place and order == "K":
        return f"{a}[{', '.join(indices)}]"
    return f"_op('gather').reference({a}, {', '.join(indices)}, axes={axes}, place={place}, order={order!r})"


define(
    name="gather",
    signature="a, *indices, axes, place=0, order='K'",
    operands=("a", "indices"),
    infer=_infer_gather,
    reference=_gather,
    source=_gather_source,
    lower=Gather(),
    samples=(
        (MATRIX, np.array([2, 0, -1]), {"axes": (0,)}),
        (MATRIX, np.array([[2, 0], [1, 1]]), np.array([3, -4], "i1"), {"axes": (0, 1)}),
        (MATRIX, np.array([[2, 0], [1, 1]]).T, np.array([[2, 0], [1, 1]]).T, {"axes": (1, 0)}),
        (MATRIX, np.array([2, 0], "u2"), {"axes": (1,), "place": 1, "order": "C"}),
        (MATRIX, np.int64(1), np.int32(2), {"axes": (0, 1)}),
    ),
)


# The test of places -----------------------------------------------------------------------------------------------
def _infer_outside(index: Any, axis: tuple[int, ...], size: Size) -> ArrayType:
    (type,) = index_types((index,))
    if axis != tuple(range(type.ndim)):
        raise CannotInfer("the places of some axes only")
    return scalar_type(bool)


def is_outside(s: Any, index: Any, size: Size) -> Any:
    """Not ``-size <= index < size``, in one comparison: below zero is far above as an unsigned number."""
    count = s.position(size)
    shifted = s.cast(s.add(s.cast(index, INT64), count), np.dtype(np.uint64))
    return s.greater_equal(shifted, s.cast(s.add(count, count), np.dtype(np.uint64)))


def _outside(index: Any, axis: tuple[int, ...], size: int) -> np.bool:
    return np.any((np.asarray(index, INT64) < -size) | (np.asarray(index, INT64) >= size))


define(
    name="outside",
    signature="index, axis, size",
    operands=("index",),
    infer=_infer_outside,
    reference=_outside,
    lower=Reduce("logical_or", lambda s, index, axis, size: is_outside(s, index, size)),
    tags=QUIET,
    samples=((np.array([[2, 0], [1, -3]]), {"axis": (0, 1), "size": 3}), (np.int64(3), {"axis": (), "size": 3})),
)


def _infer_leave(condition: Any) -> ArrayType:
    type = require_value(condition, "a test")
    if type.shape or type.dtype.kind != "b":
        raise CannotInfer("a test is one truth value")
    return type


def _leave(condition: Any) -> Any:
    if condition:
        raise IndexError("an index is out of bounds")
    return condition


define(
    name="leave_if",
    signature="condition, /",
    operands=("condition",),
    infer=_infer_leave,
    reference=_leave,
    lower=Leave(),
    samples=((np.bool(False),),),
)


# take -------------------------------------------------------------------------------------------------------------
def places_of(graph: Any, indices: Any) -> Any:
    """What a user gives as indices, an array or scalar or number or a list of numbers, as a node."""
    if isinstance(indices, tuple):
        indices = literal_array(indices)
    if type(indices) is int:
        indices = np.int64(indices)
    if isinstance(indices, np.ndarray | np.generic):
        return graph.constant(indices)
    index_types((operand_type(indices),))
    return indices


def literal_array(items: tuple[Any, ...]) -> np.ndarray:
    """The array that NumPy makes of a list of numbers as an index."""
    if not _is_plain(items):
        raise CannotInfer("an index that is a list of other things than numbers")
    try:
        array = new_array(_as_list(items))
    except (ValueError, OverflowError) as error:
        raise CannotInfer(str(error)) from None
    if not array.size:
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise CannotInfer("an index that is a list of other things than integers")
    return array


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else type(value) in (int, bool)


def _as_list(value: Any) -> Any:
    return list(map(_as_list, value)) if isinstance(value, tuple) else value


def _take(graph: Any, a: Any, indices: Any, axis: Any = None, *, mode: Any = "raise") -> Any:
    base, index = require_array(operand_type(a), "take"), places_of(graph, indices)
    if axis is None:
        a, axis = in_a_row(graph, a), 0
        base = a.type
    axis = one_axis(axis, base.ndim)
    if not np.can_cast(index.type.dtype, np.intp, "safe"):
        raise CannotInfer(f"take at indices of {index.type.dtype}")
    size = base.shape[axis]
    if mode != "raise":
        index = _brought_inside(graph, index, size, mode)
    return graph.call("gather", a, index, axes=(axis,), place=axis, order="C")


def _brought_inside(graph: Any, index: Any, size: Size, mode: Any) -> Any:
    if mode not in ("wrap", "clip") or not isinstance(size, int) or not size:
        raise CannotInfer(f"take with mode={mode!r}")
    index = graph.call("astype", index, dtype=INT64)
    if mode == "wrap":
        return graph.call("remainder", index, size)
    return graph.call("clip", index, 0, size - 1)


define(
    name="take",
    signature="a, indices, axis=None, *, mode='raise'",
    operands=("a", "indices"),
    calls=(np.take,),
    methods=("take",),
    expand=_take,
)


# take_along_axis --------------------------------------------------------------------------------------------------
def places_along(graph: Any, shape: Sequence[Size], index: Any, axis: int) -> list[Any]:
    """For each axis of an array the places that ``index`` means: its own along ``axis``, else their positions."""
    ndim = len(shape)
    if index.type.ndim != ndim:
        raise CannotInfer("`indices` and `arr` must have the same number of dimensions")
    places = []
    for number, size in enumerate(shape):
        if number == axis:
            places.append(index)
            continue
        positions = graph.call("arange", start=0, stop=size)
        places.append(graph.call("reshape", positions, shape=(1,) * number + (size,) + (1,) * (ndim - number - 1)))
    return places


def _take_along_axis(graph: Any, arr: Any, indices: Any, axis: Any = -1) -> Any:
    base, index = require_array(operand_type(arr), "take_along_axis"), places_of(graph, indices)
    if not is_array(index.type):
        raise CannotInfer("`indices` must be an array")
    if axis is None:
        if index.type.ndim != 1:
            raise CannotInfer("when axis=None, `indices` must have a single dimension.")
        arr, axis = in_a_row(graph, arr), 0
        base = arr.type
    axis = one_axis(axis, base.ndim)
    return graph.call("gather", arr, *places_along(graph, base.shape, index, axis), axes=tuple(range(base.ndim)))


define(
    name="take_along_axis",
    signature="arr, indices, axis=-1",
    operands=("arr", "indices"),
    calls=(np.take_along_axis,),
    expand=_take_along_axis,
)
