"""Assignment to elements: what ``x[key] = value`` writes where.

In: an array, a key of any kind, a value. Out: ``Assigned``: a view, the value to store into it, and the places in it
for keys with arrays of integers.

A mask that takes one value for each of its rows becomes a choice at every element: ``x[x < 0] = 0`` is the store of
``where(x < 0, 0, x)``, in place, in vectors. A mask with an array of values is the places where it is true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import buffer, iterate_nodes
from capture.ir.op import CannotInfer
from capture.ir.ops.advanced import Places, is_advanced, places_of_key, truth_in, truth_view, whole_mask
from capture.ir.ops.casting import require_converted
from capture.ir.ops.common import (
    broadcast_shapes,
    is_array,
    is_literal,
    number_of_elements,
    one_axis,
    operand_type,
    require_array,
)
from capture.ir.ops.creation import literal_as
from capture.ir.ops.diagonals import diagonal_of_flat
from capture.ir.ops.gathering import literal_array, places_along, places_of
from capture.ir.ops.indexing import region_of
from capture.ir.ops.masks import mask_of, true_places
from capture.ir.ops.reshaping import in_a_row
from capture.ir.ops.strides import contiguity
from capture.ir.sizes import at_least, same_shape
from capture.ir.types import ArrayType
from capture.records import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    """``value`` is stored into ``view``, or to ``places`` in it."""

    view: Any
    value: Any
    places: Places | None = None


def _copies_what_overlaps() -> bool:
    """Whether NumPy copies places and values that share memory with what is written (from 2.1 on)."""
    numbers = np.arange(6)
    numbers[numbers[::-1]] = numbers
    return bool((numbers == np.arange(6)[::-1]).all())


COPIES_WHAT_OVERLAPS = _copies_what_overlaps()


def assigned(graph: Any, a: Any, key: Any, value: Any) -> Assigned:
    """What ``a[key] = value`` writes; a list is an array of the dtype of ``a``."""
    if isinstance(value, tuple):
        if not is_advanced(key) and any(_is_part(node, a) for node in iterate_nodes(value)):
            raise CannotInfer("a list of rows of the array that is written, which NumPy reads one after the other")
        value = graph.call("array", value, dtype=require_array(operand_type(a), "assignment").dtype)
    if truth_in(key) is not None:
        return Assigned(truth_view(graph, a, key)[0], value)
    if not is_advanced(key):
        view, _ = region_of(graph, a, key)
        return filled(graph, view, value)
    if (mask := whole_mask(graph, a, key)) is not None:
        return masked(graph, a, mask, value)
    places = places_of_key(graph, a, key)
    return Assigned(places.view, in_front(graph, value, places), places)


def filled(graph: Any, a: Any, value: Any) -> Assigned:
    """``a.fill(value)``, or ``a[...] = value``: a scalar is made an element as Python's numbers are."""
    require_converted(graph, value, require_array(operand_type(a), "assignment").dtype)
    return Assigned(a, value)


def _is_part(node: Any, a: Any) -> bool:
    return is_array(node.type) and buffer(node) is buffer(a)


def masked(graph: Any, a: Any, mask: Any, value: Any) -> Assigned:
    """``a[mask] = value`` for a mask of the whole array."""
    base = require_array(operand_type(a), "assignment")
    type_ = operand_type(value)
    if is_single(type_):
        return Assigned(a, graph.call("where", mask, stored_as(graph, value, base.dtype), a))
    if not isinstance(type_, ArrayType) or type_.ndim != 1:
        raise CannotInfer("assignment of several axes through a mask")
    axes = tuple(range(base.ndim))
    places = Places(a, true_places(graph, mask, type_.shape[0]), axes, 0)
    return Assigned(a, value, places)


def is_single(type_: Any) -> bool:
    """One value for all elements, whose conversion cannot fail."""
    return not isinstance(type_, ArrayType) or type_.scalar


def stored_as(graph: Any, value: Any, dtype: np.dtype) -> Any:
    """One value, converted as an assignment converts it, without a warning."""
    if is_literal(value):
        return literal_as(value, dtype)
    type_ = operand_type(value)
    if not isinstance(type_, ArrayType):
        raise CannotInfer("assignment through a mask of a number that changes")
    if type_.dtype == dtype:
        return value
    if not np.can_cast(type_.dtype, dtype, "safe"):
        raise CannotInfer("assignment through a mask that converts")
    return graph.call("astype", value, dtype=dtype)


def in_front(graph: Any, value: Any, places: Places) -> Any:
    """A value with the axes of the places in front, as stores take it."""
    type_ = operand_type(value)
    if not places.place or not isinstance(type_, ArrayType) or type_.scalar:
        return value
    count = len(broadcast_shapes(index.type.shape for index in places.indices))
    ndim = count + places.view.type.ndim - len(places.axes)
    if type_.ndim > ndim:
        raise CannotInfer("could not broadcast input array")
    if type_.ndim < ndim:
        value = graph.call("expand", value, axes=tuple(range(ndim - type_.ndim)))
    moved = range(places.place, places.place + count)
    axes = (*moved, *(axis for axis in range(ndim) if axis not in moved))
    return graph.call("permute", value, axes=axes)


# NumPy's functions that write their first argument ----------------------------------------------------------------
def flat_view(graph: Any, a: Any) -> Any:
    """All elements along one axis, in the array's own memory."""
    base = require_array(operand_type(a), "assignment")
    if not contiguity(base, a):
        raise CannotInfer("the elements of the array are no row of memory")
    return a if base.ndim == 1 else graph.call("reshape", a, shape=(number_of_elements(base.shape),))


def put(graph: Any, a: Any, ind: Any, v: Any, mode: Any = "raise") -> Assigned:
    """``np.put``: the places are those of the flattened array."""
    index = places_of(graph, ind)
    value = value_of(graph, v)
    if mode != "raise" or not np.can_cast(index.type.dtype, np.intp, "safe"):
        raise CannotInfer(f"put with mode={mode!r} at places of {index.type.dtype}")
    index = in_a_row(graph, index)
    type_ = operand_type(value)
    if isinstance(type_, ArrayType) and type_.shape:
        value = in_a_row(graph, value)
        if not same_shape(value.type.shape, index.type.shape):
            raise CannotInfer("put of values that are repeated or left out")
    view = flat_view(graph, a)
    if index.type.scalar or not index.type.ndim:
        raise CannotInfer("put at one place")
    return Assigned(view, value, Places(view, (index,), (0,), 0))


def value_of(graph: Any, value: Any) -> Any:
    """A value as users give it; a list of numbers is an array, one of a single number that number."""
    if not isinstance(value, tuple):
        return value
    if not value or not all(map(is_literal, value)):
        raise CannotInfer("a value that is a list of other things than numbers")
    return value[0] if len(value) == 1 else graph.constant(np.array(value))


def place(graph: Any, arr: Any, mask: Any, vals: Any) -> Assigned:
    """``np.place``: of several values each place takes the next, or the first again behind the last."""
    value = value_of(graph, vals)
    if any(_is_part(node, arr) for node in iterate_nodes((value, mask))):
        raise CannotInfer("place of the array's own memory, which NumPy reads while it writes")
    if is_single(operand_type(value)):
        return chosen(graph, arr, alike(graph, arr, mask), value)
    base, values = require_array(operand_type(arr), "place"), in_a_row(graph, value)
    mask, size = mask_of(graph, mask), values.type.shape[0]
    if not np.can_cast(values.type.dtype, base.dtype, "safe") or not at_least(size, 1):
        raise CannotInfer("place of values that are converted, or of none")
    if not same_shape(mask.type.shape, base.shape) or mask.kind == "constant":
        raise CannotInfer("place under a mask of another shape")
    found = true_places(graph, mask)
    count = size if isinstance(size, int) else graph.call("size_number", size=size)
    turn = graph.call("remainder", graph.call("arange", start=found[0].type.shape[0]), count)
    taken = graph.call("gather", values, turn, axes=(0,))
    return Assigned(arr, taken, Places(arr, found, tuple(range(base.ndim)), 0))


def sort(graph: Any, a: Any, axis: Any = -1, kind: Any = None) -> Assigned:
    """``a.sort()``: what ``np.sort`` gives is written in its place."""
    return _in_its_place(graph, a, axis, "numpy_sort", kind=kind)


def partition(graph: Any, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Assigned:
    return _in_its_place(graph, a, axis, "numpy_partition", kth, kind=kind)


def _in_its_place(graph: Any, a: Any, axis: Any, name: str, *args: Any, **params: Any) -> Assigned:
    base = require_array(operand_type(a), name)
    return Assigned(a, graph.call(name, a, *args, axis=one_axis(axis, base.ndim), **params))


def putmask(graph: Any, a: Any, mask: Any, values: Any) -> Assigned:
    """``np.putmask``, of one value or of one for each element."""
    value = value_of(graph, values)
    type_ = operand_type(value)
    if not is_single(type_) and not same_shape(type_.shape, operand_type(a).shape):
        raise CannotInfer("putmask of values that are repeated")
    return chosen(graph, a, alike(graph, a, mask), value)


def copyto(graph: Any, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Assigned:
    """``np.copyto``."""
    base, type_ = require_array(operand_type(dst), "copyto"), operand_type(src)
    kind = type_.dtype if isinstance(type_, ArrayType) else np.min_scalar_type(src) if is_literal(src) else None
    if kind is None or casting != "same_kind" or not np.can_cast(kind, base.dtype, "same_kind"):
        raise CannotInfer("copyto that converts, or by another rule")
    if where is True:
        return Assigned(dst, src)
    mask = graph.constant(literal_array(where)) if isinstance(where, tuple) else where
    if require_array(operand_type(mask), "a condition").dtype.kind != "b":
        raise CannotInfer("copyto under what are no truth values")
    return chosen(graph, dst, mask, src)


def alike(graph: Any, a: Any, mask: Any) -> Any:
    """A mask of the array's shape, which does not broadcast."""
    found = mask_of(graph, mask)
    if not same_shape(found.type.shape, require_array(operand_type(a), "assignment").shape):
        raise CannotInfer("a mask of another shape")
    return found


def chosen(graph: Any, a: Any, mask: Any, value: Any) -> Assigned:
    """``value`` where the mask is true, what is there elsewhere."""
    base, mask = require_array(operand_type(a), "assignment"), mask_of(graph, mask)
    if not same_shape(broadcast_shapes([mask.type.shape, base.shape]), base.shape):
        raise CannotInfer("a mask of another shape")
    return Assigned(a, graph.call("where", mask, stored_as(graph, value, base.dtype), a))


def put_along_axis(graph: Any, arr: Any, indices: Any, values: Any, axis: Any) -> Assigned:
    base, index = require_array(operand_type(arr), "put_along_axis"), places_of(graph, indices)
    if axis is None:
        raise CannotInfer("put_along_axis of the flattened array")
    found = places_along(graph, base.shape, index, one_axis(axis, base.ndim))
    return Assigned(arr, value_of(graph, values), Places(arr, tuple(found), tuple(range(base.ndim)), 0))


def fill_diagonal(graph: Any, a: Any, val: Any, wrap: Any = False) -> Assigned:
    """Of a matrix in C order."""
    base = require_array(operand_type(a), "fill_diagonal")
    if base.ndim != 2 or wrap is not False or not contiguity(base, a) or not is_single(operand_type(val)):
        raise CannotInfer("fill_diagonal of this array, or with these values")
    return Assigned(diagonal_of_flat(graph, a), val)


def combined_at(graph: Any, a: Any, indices: Any, b: Any) -> Assigned:
    """``ufunc.at``: the places of a key, the value in front."""
    if not is_advanced(indices):
        raise CannotInfer("ufunc.at of a view")
    if (mask := whole_mask(graph, a, indices)) is not None:
        places = Places(a, true_places(graph, mask), tuple(range(operand_type(a).ndim)), 0)
    else:
        places = places_of_key(graph, a, indices)
    return Assigned(places.view, in_front(graph, value_of(graph, b), places), places)
