"""Advanced indexing: keys with arrays of integers or of truth values, and lists of these.

In: ``x[rows]``, ``x[:, i, None, j]``, ``x[mask]``, ``x[[0, 2]]``. Out: a basic view, and the places in some of its
axes: a ``gather`` when they are read. A mask stands for the places where it is true.

>>> graph.call("getitem", x, key=(slice(1, None), rows))      # permute(gather(slice(x, …), rows, axes=(1,)), …)

The axes of the places come where the indices stand, if they stand side by side, else in front. Where they come behind
other axes, NumPy gives a transposed view of a new array, and so does the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, ListLiteral, define
from capture.ir.ops.common import broadcast_shapes, is_array, operand_type, require_array
from capture.ir.ops.gathering import index_types, literal_array
from capture.ir.ops.indexing import region_of
from capture.ir.ops.masks import picked, true_places
from capture.ir.sizes import same_shape
from capture.ir.types import ArrayType
from capture.records import dataclass


@dataclass(frozen=True, slots=True)
class Places:
    """An advanced key: ``indices`` are the places along ``axes`` of ``view``; the axes of the places come behind
    ``place`` other axes of the result.
    """

    view: Any
    indices: tuple[Any, ...]
    axes: tuple[int, ...]
    place: int


def is_advanced(key: Any) -> bool:
    """Whether a key has arrays or lists in it; single numbers that the graph computes count as arrays."""
    items = key if type(key) is tuple else (key,)
    return any(isinstance(item, ListLiteral) or isinstance(operand_type(item), ArrayType) for item in items)


def places_of_key(graph: Any, a: Any, key: Any) -> Places:
    """What an advanced key means for an array."""
    base = require_array(operand_type(a), "indexing")
    items = [_as_index(graph, item) for item in (key if type(key) is tuple else (key,))]
    items = _filled(items, base)
    items = [place for item in items for place in (true_places(graph, item) if is_mask(item) else (item,))]
    _require_copy(items)
    basic = tuple(slice(None) if _is_index(item) else item for item in items)
    view, _ = region_of(graph, a, basic)
    axes, axis = [], 0
    for item in items:
        if _is_index(item):
            axes.append(axis)
        axis += type(item) is not int
    indices = tuple(item for item in items if _is_index(item))
    broadcast_shapes(index.type.shape for index in indices)
    return Places(view, indices, tuple(axes), _place(items))


def _as_index(graph: Any, item: Any) -> Any:
    """A list as a constant array; everything else as it is."""
    if isinstance(item, ListLiteral):
        item = graph.constant(literal_array(item))
    type_ = operand_type(item)
    if isinstance(type_, ArrayType):
        if type_.dtype.kind != "b":
            index_types((type_,))
        elif not type_.ndim:
            raise CannotInfer("an index that is a truth value")
    elif isinstance(item, bool | np.bool):
        raise CannotInfer("an index that is a truth value")
    return item


def _is_index(item: Any) -> bool:
    return isinstance(operand_type(item), ArrayType)


def is_mask(item: Any) -> bool:
    return _is_index(item) and operand_type(item).dtype.kind == "b"


def _filled(items: list[Any], base: ArrayType) -> list[Any]:
    """The key with full slices for what it leaves out; masks are of the shape of the axes that they stand for."""
    axes = [0 if item is None or item is Ellipsis else item.type.ndim if is_mask(item) else 1 for item in items]
    taken = sum(axes)
    if taken > base.ndim:
        raise CannotInfer("too many indices for array")
    ndim = base.ndim
    _require_shapes(items, axes, base)
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise CannotInfer("an index can only have a single ellipsis")
    rest = [slice(None)] * (ndim - taken)
    if not places:
        return [*items, *rest]
    if not rest and 0 < places[0] < len(items) - 1:
        raise CannotInfer("an ellipsis of no axes between indices")
    return [*items[: places[0]], *rest, *items[places[0] + 1 :]]


def _require_shapes(items: list[Any], axes: list[int], base: ArrayType) -> None:
    for place, item in enumerate(items):
        if is_mask(item):
            before = sum(axes[:place])
            if Ellipsis in [each if each is Ellipsis else None for each in items[:place]]:
                before += base.ndim - sum(axes)
            if not same_shape(item.type.shape, base.shape[before : before + axes[place]]):
                raise CannotInfer("boolean index did not match indexed array")


def _require_copy(items: list[Any]) -> None:
    """Refuse a key of single numbers that leaves axes: NumPy gives a view, of a place that is not known."""
    if all(operand_type(item).shape == () for item in items if _is_index(item)):
        if not all(_is_index(item) or type(item) is int for item in items):
            raise CannotInfer("a view at a place that is not known while compiling")
        if any(is_array(operand_type(item)) for item in items):
            raise CannotInfer("an index that is an array without axes")


def _place(items: list[Any]) -> int:
    """How many axes of the result come before those of the places; ints stand with the arrays."""
    advanced = [_is_index(item) or type(item) is int for item in items]
    first = advanced.index(True)
    last = len(items) - advanced[::-1].index(True)
    return first if all(advanced[first:last]) else 0


def truth_in(key: Any) -> bool | None:
    """The known truth value in a key without other indices: ``x[True]``, ``x[..., False]``; None without one."""
    items = key if type(key) is tuple else (key,)
    found = [truth for item in items if (truth := _known_truth(item)) is not None]
    others = [item for item in items if not (item is None or item is Ellipsis or isinstance(item, slice))]
    return found[0] if len(found) == len(others) == 1 else None


def _known_truth(item: Any) -> bool | None:
    return bool(item) if isinstance(item, bool | np.bool) else None


def truth_view(graph: Any, a: Any, key: Any) -> tuple[Any, int]:
    """The elements that such a key means, with the axis that it adds: of one element, or of none."""
    base, truth = require_array(operand_type(a), "indexing"), truth_in(key)
    items = list(key) if type(key) is tuple else [key]
    rest = [slice(None)] * (base.ndim - sum(isinstance(item, slice) for item in items))
    place = next((place for place, item in enumerate(items) if item is Ellipsis), None)
    items = [*items, *rest] if place is None else [*items[:place], *rest, *items[place + 1 :]]
    axis = next(place for place, item in enumerate(items) if _known_truth(item) is not None)
    view, _ = region_of(graph, a, tuple(None if place == axis else item for place, item in enumerate(items)))
    if not truth:
        view, _ = region_of(graph, view, (*[slice(None)] * axis, slice(0, 0)))
    return view, axis


def _getitem(graph: Any, a: Any, key: Any) -> Any:
    if truth_in(key) is not None:
        view, axis = truth_view(graph, a, key)
        index = graph.constant(np.arange(view.type.shape[axis]))
        return behind(graph, graph.call("gather", view, index, axes=(axis,)), Places(view, (index,), (axis,), axis))
    if not is_advanced(key):
        view, is_element = region_of(graph, a, key)
        return graph.call("scalar", view) if is_element else view
    if (mask := whole_mask(graph, a, key)) is not None:
        return picked(graph, a, mask)
    places = places_of_key(graph, a, key)
    found = graph.call("gather", places.view, *places.indices, axes=places.axes)
    return behind(graph, found, places)


def whole_mask(graph: Any, a: Any, key: Any) -> Any:
    """The mask of a key that is one mask of all axes, else None."""
    mask = _as_index(graph, key[0] if type(key) is tuple and len(key) == 1 else key)
    whole = is_mask(mask) and same_shape(mask.type.shape, operand_type(a).shape)
    return mask if whole else None


def behind(graph: Any, found: Any, places: Places) -> Any:
    """What was gathered, with the axes of the places where the key has them."""
    if not places.place or found.type.scalar:
        return found
    count = len(broadcast_shapes(index.type.shape for index in places.indices))
    rest = range(count, found.type.ndim)
    axes = (*rest[: places.place], *range(count), *rest[places.place :])
    return graph.call("permute", found, axes=axes)


define(name="getitem", signature="a, key", operands=("a",), expand=_getitem)
