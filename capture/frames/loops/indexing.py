"""Views, elements and stores of arrays in a program.

In: an array and the key of a subscript: ints and slices, constant or not, ``None`` and ``...``, or one array. Out:
``view``, ``load``, ``store``, ``store_at`` steps, and for arrays ``pick``, ``gather`` and their stores.

>>> inside.item(array, TupleValue([i, SliceValue(None, j, None)]))     # view(%a, (%i, ('slice', None, %j, None)))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.numbers import Numbers
from capture.frames.loops.values import EitherValue, InsideArray, InsideNumber, InsideScalar
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.keys import SliceValue
from capture.ir.program import ANY, DENSE, INNER, RankedType
from capture.ir.types import NumberType, scalar_type


class Indexing(Numbers):
    """What is done to the memory of arrays."""

    def size(self, array: InsideArray, axis: int) -> Value:
        node = self.step("size", array.node, axis, type=NumberType(int))
        return InsideNumber(node)

    # keys ---------------------------------------------------------------------------------------------------------
    def key(self, array: InsideArray, key: Value) -> tuple[Any, ...]:
        """One item for each axis of the array, and None for each new one."""
        found = key.real(self.tracer)
        parts = [part.real(self.tracer) for part in found.values] if isinstance(found, TupleValue) else [found]
        items: list[Any] = [self._part(part) for part in parts]
        taken = sum(item is not None and item is not Ellipsis for item in items)
        rest = [_ALL] * (array.type.ndim - taken)
        if taken > array.type.ndim:
            raise GraphBreak("too many indices for an array inside a loop", "op")
        if any(item is Ellipsis for item in items):
            place = next(place for place, item in enumerate(items) if item is Ellipsis)
            items[place : place + 1] = rest
            if any(item is Ellipsis for item in items):
                raise GraphBreak("an index with two ellipses", "op")
            return tuple(items)
        return (*items, *rest)

    def _part(self, part: Value) -> Any:
        if isinstance(part, SliceValue):
            return ("slice", *(self._bound(bound) for bound in part.parts))
        if isinstance(part, Constant):
            value = part.value
            if value is None or value is Ellipsis:
                return value
            if isinstance(value, slice):
                return ("slice", value.start, value.stop, value.step)
            if type(value) is int or (isinstance(value, np.integer)):
                return int(value)
        return self._index(part)

    def _bound(self, bound: Value) -> Any:
        found = bound.real(self.tracer)
        if isinstance(found, Constant) and (found.value is None or type(found.value) is int):
            return found.value
        return self._index(found)

    def _index(self, part: Value) -> Any:
        """An int as a node."""
        if isinstance(part, EitherValue) and part.python is int and part.type.dtype.kind in "iu":
            part = InsideScalar(part.node)
        if isinstance(part, InsideArray) and not part.type.ndim and part.type.dtype.kind in "iu":
            part = self.element(part, ())
        if isinstance(part, InsideScalar) and part.type.dtype.kind in "iu":
            part = self.number("int", part)
        if isinstance(part, InsideNumber) and part.python is int:
            return part.node
        raise GraphBreak(f"an index that is {part.describe()} inside a loop", "op")

    def _places(self, array: InsideArray, key: Value) -> InsideArray | None:
        """A key that is an array: a mask of the array's first axes, or integers along its first axis."""
        found = key.real(self.tracer)
        if isinstance(found, TupleValue) and len(found.values) == 1:
            found = found.values[0].real(self.tracer)
        if not isinstance(found, InsideArray) or (not found.type.ndim and found.type.dtype.kind != "b"):
            return None
        is_mask = found.type.dtype.kind == "b"
        if (
            not array.type.ndim
            or (is_mask and not 0 < found.type.ndim <= array.type.ndim)
            or found.type.dtype.kind not in "biu"
        ):
            raise GraphBreak("an index that is an array of this kind inside a loop", "op")
        return found

    def _chosen(self, array: InsideArray, places: InsideArray) -> InsideArray:
        """The elements at places that are computed, in a new array."""
        dtype = array.type.dtype
        if places.type.dtype.kind == "b":
            ndim = 1 + array.type.ndim - places.type.ndim
            return self.array(self.step("pick", array.node, places.node, type=RankedType(dtype, ndim, DENSE)))
        type = RankedType(dtype, places.type.ndim + array.type.ndim - 1, DENSE)
        if array.type.ndim > 1 and places.type.ndim > 1:
            raise GraphBreak("an index of several dimensions inside a loop", "op")
        return self.array(self.step("gather", array.node, places.node, type=type))

    # reading ------------------------------------------------------------------------------------------------------
    def item(self, array: InsideArray, key: Value) -> Value:
        """``array[key]``."""
        places = self._places(array, key)
        if places is not None:
            return self._chosen(array, places)
        items = self.key(array, key)
        if _is_element(array, items, key, self.tracer):
            return self.element(array, items)
        return self.view(array, items)

    def element(self, array: InsideArray, items: Sequence[Any]) -> InsideScalar:
        node = self.step("load", array.node, tuple(items), type=scalar_type(array.type.dtype))
        return InsideScalar(node)

    def view(self, array: InsideArray, items: tuple[Any, ...]) -> InsideArray:
        """The array that shows a part of another."""
        if all(item == _ALL for item in items):
            return array
        ones, sizes = set[int](), list[int | None]()
        axis = 0
        for item in items:
            if item is None:
                ones.add(len(sizes))
                sizes.append(1)
                continue
            if isinstance(item, tuple):
                sizes.append(_sliced_size(item, array.sizes[axis]))
                if sizes[-1] == 1:
                    ones.add(len(sizes) - 1)
            axis += 1
        type = RankedType(array.type.dtype, len(sizes), _layout(array.type, items), frozenset(ones))
        return self.array(self.step("view", array.node, items, type=type), sizes)

    def permuted(self, array: InsideArray, axes: Iterable[int]) -> InsideArray:
        order = tuple(axes)
        if order == tuple(range(array.type.ndim)):
            return array
        ones = frozenset(place for place, axis in enumerate(order) if axis in array.type.ones)
        type = RankedType(array.type.dtype, array.type.ndim, ANY, ones)
        node = self.step("permute", array.node, type=type, axes=order)
        return self.array(node, [array.sizes[axis] for axis in order])

    # writing ------------------------------------------------------------------------------------------------------
    def store_item(self, array: InsideArray, key: Value, value: Value) -> None:
        """``array[key] = value``."""
        found = value.real(self.tracer)
        places = self._places(array, key)
        if places is not None:
            if isinstance(found, InsideArray) and not np.can_cast(found.type.dtype, array.type.dtype, "safe"):
                raise GraphBreak("values of another dtype are assigned to computed places inside a loop", "op")
            is_mask = places.type.dtype.kind == "b"
            if is_mask and places.type.ndim < array.type.ndim and isinstance(found, InsideArray):
                raise GraphBreak("arrays are assigned to places that a mask chooses inside a loop", "op")
            target = "store_picked" if is_mask else "store_gathered"
            stored = found.node if isinstance(found, InsideArray) else self._stored(array, found)
            self.step(target, array.node, places.node, stored, type=None)
            return
        items = self.key(array, key)
        if _is_element(array, items, key, self.tracer):
            if isinstance(found, InsideArray):
                if found.type.ndim:
                    raise GraphBreak("an array is assigned to one element", "op")
                found = self.element(found, ())
            self.step("store_at", array.node, tuple(items), self._stored(array, found), type=None)
            return
        self.write(self.view(array, items), found)

    def write(self, target: InsideArray, value: Value) -> None:
        """``target[...] = value``."""
        found = value.real(self.tracer)
        if isinstance(found, InsideArray):
            if found.node is target.node:
                return
            if found.type.ndim > target.type.ndim:
                raise GraphBreak("an array of higher rank is assigned", "op")
            if found.type.dtype.kind == "c" != target.type.dtype.kind:
                raise GraphBreak("complex numbers are assigned to others inside a loop", "op")
            self.step("store", target.node, found.node, type=None)
            return
        self.step("store", target.node, self._stored(target, found), type=None)

    def _stored(self, array: InsideArray, value: Value) -> Any:
        """A number or scalar that is written to elements, where NumPy converts it as compiled code does."""
        dtype = array.type.dtype
        if isinstance(value, EitherValue):
            if value.type.dtype != dtype:
                raise GraphBreak("a number that may have turned into a scalar is assigned to another dtype", "op")
            return value.node
        arg = self.arg(value)
        kind = arg.type.dtype if hasattr(arg, "type") else np.asarray(arg).dtype
        if kind.kind == "f" and dtype.kind in "iub":
            raise GraphBreak("a float is assigned to an integer inside a loop", "op")
        if kind.kind == "c" != dtype.kind:
            raise GraphBreak("complex numbers are assigned to others inside a loop", "op")
        return arg


_ALL = ("slice", None, None, None)


def _is_element(array: InsideArray, items: Sequence[Any], key: Value, tracer: Any) -> bool:
    """Whether a key gives one element: an int for each axis, and no ``...``, which would give an array."""
    if any(item is None or isinstance(item, tuple) for item in items):
        return False
    found = key.real(tracer)
    parts = found.values if isinstance(found, TupleValue) else [found]
    return not any(isinstance(part, Constant) and part.value is Ellipsis for part in parts)


def _sliced_size(item: tuple[Any, ...], size: int | None) -> int | None:
    """The number of elements of a slice, where it is known."""
    bounds = item[1:]
    if item == _ALL:
        return size
    if size is None or not all(bound is None or type(bound) is int for bound in bounds) or bounds[2] == 0:
        return None
    return len(range(size)[slice(*bounds)])


def _layout(base: RankedType, items: Sequence[Any]) -> str:
    """What is certain of the strides of a view."""
    axes = [item for item in items if item is not None]
    last = axes[-1] if axes else None
    if base.layout == ANY or not isinstance(last, tuple) or last[3] not in (None, 1) or items[-1] is None:
        return ANY
    first = next((place for place, item in enumerate(axes) if isinstance(item, tuple)), len(axes))
    cut = [item != _ALL for item in axes[first + 1 :]]
    is_dense = base.layout == DENSE and not any(cut) and axes[first][3] in (None, 1)
    return DENSE if is_dense else INNER
