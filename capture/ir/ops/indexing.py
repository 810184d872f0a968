"""Basic indexing: ints, slices, ``None`` and ``...``.

In: ``x[1:, None, ::-1]`` and ``x[i, j]``. Out: one ``slice``, then ``squeeze`` for ints and ``expand`` for ``None``;
an index that leaves no axis and has no ``...`` gives a NumPy scalar: ``scalar``, a copy. An int out of range is
refused; keys with arrays are the matter of ``advanced``.

>>> graph.call("getitem", x, key=(0, slice(None, None, 2)))  # squeeze(slice(x, (0, 0), (1, 2), (1, 2)), (0,))
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, ListLiteral, Pointwise, Strided, ViewOf, define
from capture.ir.ops.common import QUIET, operand_type, require_array, size_or_int
from capture.ir.ops.strides import sliced_layout
from capture.ir.ops.views import viewed
from capture.ir.shapes import Expr, Size, floordiv, is_static, maximum, minimum
from capture.ir.sizes import at_least, negative_means_none, simplified
from capture.ir.types import ArrayType, scalar_type
from capture.records import dataclass

SAMPLES = ([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],)


# slice ------------------------------------------------------------------------------------------------------------
def _infer_slice(a: Any, starts: tuple[Size, ...], steps: tuple[Size, ...], sizes: tuple[Size, ...]) -> ArrayType:
    base = require_array(a, "indexing")
    if not len(starts) == len(steps) == len(sizes) == base.ndim:
        raise CannotInfer(f"a slice of {base.ndim} axes needs as many starts, steps and sizes")
    for start, step, size, old in zip(starts, steps, sizes, base.shape, strict=True):
        if is_static((start, step, size, old)):
            last = start + step * (size - 1)  # type: ignore[operator]
            if size < 0 or (size > 0 and not (0 <= start < old and 0 <= last < old)):  # type: ignore[operator]
                raise CannotInfer(f"slice {start}:{last} of an axis of size {old}")
    return viewed(base, sizes, sliced_layout(base, steps, sizes, starts))


def _slice_strided(
    view: Strided, starts: tuple[Size, ...], steps: tuple[Size, ...], sizes: tuple[Size, ...]
) -> Strided:
    offset = view.offset
    for start, stride in zip(starts, view.strides, strict=True):
        offset = offset + start * stride
    strides = tuple(stride * step for stride, step in zip(view.strides, steps, strict=True))
    return Strided(offset, sizes, strides)


def _slice_index(
    index: tuple[Any, ...],
    in_shape: tuple[Size, ...],
    starts: tuple[Size, ...],
    steps: tuple[Size, ...],
    sizes: tuple[Size, ...],
) -> tuple[Any, ...]:
    return tuple(start + position * step for position, start, step in zip(index, starts, steps, strict=True))


def _key(starts: tuple[int, ...], steps: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The key that NumPy needs for the same slice; a stop before the first element is written None."""
    stops = [start + step * size for start, step, size in zip(starts, steps, sizes, strict=True)]
    return tuple(
        slice(start, stop if size and stop >= 0 else None if size else start, step)
        for start, stop, step, size in zip(starts, stops, steps, sizes, strict=True)
    )


def _slice_source(a: str, starts: tuple[Any, ...], steps: tuple[Any, ...], sizes: tuple[Any, ...]) -> str:
    key = ", ".join(
        ":".join(["" if part is None else str(part) for part in (item.start, item.stop)])
        + ("" if item.step == 1 else f":{item.step}")
        for item in _key(starts, steps, sizes)
    )
    return f"{a}[{key}]" if key else f"{a}[...]"


define(
    name="slice",
    signature="a, starts, steps, sizes",
    operands=("a",),
    infer=_infer_slice,
    reference=lambda a, starts, steps, sizes: a[_key(starts, steps, sizes)] if starts else a[...],
    source=_slice_source,
    lower=ViewOf(_slice_strided, _slice_index),
    samples=(
        (*SAMPLES, {"starts": (0, 1), "steps": (2, 1), "sizes": (2, 2)}),
        (*SAMPLES, {"starts": (2, 3), "steps": (-1, -2), "sizes": (3, 2)}),
        (*SAMPLES, {"starts": (1, 0), "steps": (1, 1), "sizes": (1, 4)}),
        (*SAMPLES, {"starts": (3, 0), "steps": (1, 1), "sizes": (0, 4)}),
    ),
)


# scalar -----------------------------------------------------------------------------------------------------------
def _infer_scalar(a: Any) -> ArrayType:
    base = require_array(a, "a scalar")
    if base.ndim:
        raise CannotInfer("only arrays without axes become scalars")
    return scalar_type(base.dtype)


define(
    name="scalar",
    signature="a, /",
    operands=("a",),
    infer=_infer_scalar,
    reference=lambda a: a[()],
    source="{0}[()]",
    lower=Pointwise(lambda s, x: x),
    tags=QUIET,
    samples=((np.array(2.5),), (np.array(3, np.int8),)),
)


# getitem ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Basic:
    """A basic key sorted out: a slice of every axis, axes to squeeze, then axes to insert."""

    starts: tuple[Size, ...]
    steps: tuple[Size, ...]
    sizes: tuple[Size, ...]
    dropped: tuple[int, ...]
    inserted: tuple[int, ...]
    is_element: bool  # every axis has an int, and there is no ``...``: NumPy gives a scalar


def basic_key(shape: tuple[Size, ...], key: Any) -> Basic:
    """What a key means for an array of this shape; CannotInfer for advanced or invalid keys."""
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, ListLiteral) for item in (key, *items)):
        raise CannotInfer("an index that is a list")
    if sum(item is Ellipsis for item in items) > 1:
        raise CannotInfer("an index can only have a single ellipsis")
    taken = sum(item is not None and item is not Ellipsis for item in items)
    if taken > len(shape):
        raise CannotInfer("too many indices for array")
    rest = (slice(None),) * (len(shape) - taken)
    full: list[Any] = []
    for item in items:
        full.extend(rest if item is Ellipsis else (item,))
    if Ellipsis not in [item if item is Ellipsis else None for item in items]:
        full.extend(rest)
    parts: list[tuple[Size, Size, Size]] = []
    dropped, inserted, place = [], [], 0
    for item in full:
        if item is None:
            inserted.append(place)
            place += 1
            continue
        axis = len(parts)
        if isinstance(item, slice):
            parts.append(_sliced(item, shape[axis]))
            place += 1
        else:
            parts.append((_position(item, shape[axis]), 1, 1))
            dropped.append(axis)
    starts, steps, sizes = zip(*parts, strict=True) if parts else ((), (), ())
    is_element = len(dropped) == len(shape) and not inserted and not any(item is Ellipsis for item in items)
    return Basic(starts, steps, sizes, tuple(dropped), tuple(inserted), is_element)


def _sliced(item: slice, size: Size) -> tuple[Size, Size, Size]:
    if item.start is item.stop is item.step is None:
        return 0, 1, size
    start, stop = (None if part is None else size_or_int(part, "a slice bound") for part in (item.start, item.stop))
    step = 1 if item.step is None else size_or_int(item.step, "a slice step")
    is_forwards = at_least(step, 1)
    if not is_forwards and not at_least(-1, step):
        raise CannotInfer("slice step cannot be zero")
    if all(part is None or isinstance(part, int) for part in (start, stop, step, size)):
        span = range(size)[slice(start, stop, step)]  # type: ignore[arg-type, misc]
        return (span.start if len(span) else 0), step, len(span)
    return (_forwards if is_forwards else _backwards)(start, stop, step, size)


def _forwards(start: Size | None, stop: Size | None, step: Size, size: Size) -> tuple[Size, Size, Size]:
    """``start:stop:step`` of an axis whose size, or whose bounds, are not constant; nothing need be in bounds."""
    low = 0 if start is None else _from_front(start, size)
    high = size if stop is None else minimum(_from_front(stop, size), size)
    span = simplified(maximum(high - low, 0))
    return simplified(minimum(low, size)), step, simplified(floordiv(span + step - 1, step))


def _from_front(bound: Size, size: Size) -> Size:
    """A bound of a slice, of which negative ones count from the end. Of ``x[: len(x) - 1]`` nobody need know whether it
    is negative: then there is no element.
    """
    if negative_means_none(bound, size):
        return maximum(bound, 0)
    return bound if at_least(bound, 0) else maximum(size + bound, 0)


def _backwards(start: Size | None, stop: Size | None, step: Size, size: Size) -> tuple[Size, Size, Size]:
    """The same for a negative step: from the last element down to behind ``stop``."""
    high = size - 1 if start is None else minimum(start, size - 1) if at_least(start, 0) else size + start
    low = -1 if stop is None else stop if at_least(stop, 0) else maximum(size + stop, -1)
    span = simplified(maximum(high - low, 0))
    return simplified(maximum(high, 0)), step, simplified(floordiv(span - step - 1, -step))


def _position(item: Any, size: Size) -> Size:
    if isinstance(item, bool | np.bool) or not (isinstance(item, Expr) or hasattr(item, "__index__")):
        raise CannotInfer(f"an index of type {type(item).__name__}")
    if isinstance(item, np.ndarray):
        raise CannotInfer("an index that is an array")
    index: Size = item if isinstance(item, Expr) else operator.index(item)
    if at_least(index, 0) and at_least(size, index + 1):
        return index
    if not at_least(index, 0) and at_least(size + index, 0):
        return simplified(size + index)
    raise CannotInfer(f"index {index} is out of bounds for axis with size {size}")


def region_of(graph: Any, a: Any, key: Any) -> tuple[Any, bool]:
    """The view that ``a[key]`` reads or writes, and whether reading it gives a scalar."""
    base = require_array(operand_type(a), "indexing")
    basic = basic_key(base.shape, key)
    view = graph.call("slice", a, starts=basic.starts, steps=basic.steps, sizes=basic.sizes)
    if basic.dropped:
        view = graph.call("squeeze", view, axes=basic.dropped)
    if basic.inserted:
        view = graph.call("expand", view, axes=basic.inserted)
    return view, basic.is_element
