"""Windows that slide over an array: read-only views that show elements several times.

In: ``np.lib.stride_tricks.sliding_window_view(x, 3, axis=0)``. Out: a ``windows`` node, whose last axes are those of a
window. A window and its place move along one axis of the array: their strides are equal.

>>> str(graph.call("windows", x, window_shape=3, axis=0).type)          # x of shape (8, 4)
'f64[6, 4, 3]{strided<2,1,2>}'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capture.ir.op import READONLY, CannotInfer, Strided, ViewOf, define
from capture.ir.ops.common import flag, one_axis, require_array, size_or_int
from capture.ir.ops.strides import dense_strides
from capture.ir.ops.views import viewed
from capture.ir.shapes import Size
from capture.ir.sizes import at_least, simplified
from capture.ir.types import ArrayType, Layout, is_static

MATRIX = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0]]


def _canonical_windows(x: Any, window_shape: Any, axis: Any, subok: Any, writeable: Any) -> dict[str, Any]:
    base = require_array(x, "sliding_window_view")
    if flag(subok, "subok") or flag(writeable, "writeable"):
        raise CannotInfer("windows of a subclass, or that are written")
    window = window_shape if isinstance(window_shape, tuple) else (window_shape,)
    axes = axis if isinstance(axis, tuple) else range(base.ndim) if axis is None else (axis,)
    axes = tuple(one_axis(each, base.ndim) for each in axes)
    if len(window) != len(axes):
        raise CannotInfer("window_shape and axis differ in length")
    window = tuple(size_or_int(size, "a size of a window") for size in window)
    if not all(at_least(size, 0) for size in window):
        raise CannotInfer("`window_shape` cannot contain negative values")
    return {"window_shape": window, "axis": axes, "subok": False, "writeable": False}


def _windows_shape(shape: Sequence[Size], window: Sequence[Size], axes: Sequence[int]) -> tuple[Size, ...]:
    places = list(shape)
    for axis, size in zip(axes, window, strict=True):
        places[axis] = places[axis] - size + 1
    return (*places, *window)


def _windows_strided(view: Strided, window_shape: Any, axis: Any, **_: Any) -> Strided:
    shape = _windows_shape(view.shape, window_shape, axis)
    return Strided(view.offset, shape, (*view.strides, *(view.strides[each] for each in axis)))


def _windows_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], window_shape: Any, axis: Any, **_: Any) -> Any:
    places = list(index[: len(in_shape)])
    for each, inside in zip(axis, index[len(in_shape) :], strict=True):
        places[each] = places[each] + inside
    return tuple(places)


def _infer_windows(x: Any, window_shape: Any, axis: Any, **_: Any) -> ArrayType:
    base = require_array(x, "sliding_window_view")
    for each, size in zip(axis, window_shape, strict=True):
        if not at_least(base.shape[each], size):
            raise CannotInfer("window shape cannot be larger than input array shape")
    shape = tuple(map(simplified, _windows_shape(base.shape, window_shape, axis)))
    return viewed(base, shape, _windows_layout(base, shape, axis))


def _windows_layout(base: ArrayType, shape: Sequence[Size], axes: Sequence[int]) -> Layout | None:
    if base.layout is None:
        return None
    strides = dense_strides(base)
    if strides is not None and is_static(base.shape) and is_static(shape):
        return Layout.of_strides(shape, (*strides, *(strides[axis] for axis in axes)), 1)  # type: ignore[arg-type]
    ranks = (*base.layout.ranks, *(base.layout.ranks[axis] for axis in axes))
    return Layout(ranks, False, False).settled(shape)


define(
    name="windows",
    signature="x, window_shape, axis=None, *, subok=False, writeable=False",
    operands=("x",),
    calls=(np.lib.stride_tricks.sliding_window_view,),
    canonical=_canonical_windows,
    infer=_infer_windows,
    reference=np.lib.stride_tricks.sliding_window_view,
    source="np.lib.stride_tricks.sliding_window_view({0}, {window_shape}, {axis})",
    lower=ViewOf(_windows_strided, _windows_index),
    tags=frozenset({READONLY}),
    samples=(
        (MATRIX, {"window_shape": 2, "axis": 1}),
        (MATRIX, {"window_shape": (2, 1)}),
        (MATRIX, {"window_shape": (2, 2), "axis": (1, 1)}),
    ),
)
