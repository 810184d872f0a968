"""Search in an array that rises, without a branch.

In: how to read the element at a place, the number of elements, and what is looked for. Out: how many elements come
before it. The steps are as many as the largest array needs that the graph is for; those too many change nothing.

    found = 0;  for left in 9, 5, 3, 2:  found = found + left / 2 if a[found + left / 2 - 1] < value else found
    found = found + 1 if a[found] < value else found
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capture.inductor.loops import Builder, Value
from capture.ir.shapes import Size

Read = Callable[[Value], Value]


def halve(
    s: Builder, read: Read, value: Value, size: Size, side: str, steps: int, has_nan: bool = True, **_: Any
) -> Value:
    """``has_nan``: whether there may be NaNs among the elements, all of them last. What is NaN comes behind others."""
    comes_before, count = _BEFORE[side] if has_nan else _BEFORE_WITHOUT_NAN[side], s.position(size)

    def is_before(element: Value) -> Value:
        return comes_before(s, element, value)

    if isinstance(size, int):
        found = _halved_known(s, read, is_before, size)
    else:
        found = _halved(s, read, is_before, count, steps)
    return found if has_nan or value.dtype.kind != "f" else s.where(s.isnan(value), count, found)


def _halved_known(s: Builder, read: Read, is_before: Callable[[Value], Value], left: int) -> Value:
    found = s.constant(0, np.int64)
    if not left:
        return found
    while left > 1:
        further = s.add(found, left // 2)
        found = s.where(is_before(read(s.subtract(further, 1))), further, found)
        left -= left // 2
    return s.where(is_before(read(found)), s.add(found, 1), found)


def _halved(s: Builder, read: Read, is_before: Callable[[Value], Value], left: Value, steps: int) -> Value:
    """Where less than two elements are left, a step adds nothing to what is found."""
    found, size = s.constant(0, np.int64), left
    for _ in range(steps):
        half = s.right_shift(left, 1)
        further = s.add(found, half)
        found = s.where(is_before(read(s.maximum(s.subtract(further, 1), 0))), further, found)
        left = s.subtract(left, half)
    is_last = s.logical_and(s.greater(size, 0), is_before(read(found)))
    return s.where(is_last, s.add(found, 1), found)


def _less(s: Builder, a: Value, b: Value) -> Value:
    """NaNs come last."""
    if a.dtype.kind != "f":
        return s.less(a, b)
    return s.logical_or(s.less(a, b), s.greater(s.isnan(b), s.isnan(a)))


_BEFORE: Mapping[str, Callable[[Builder, Value, Value], Value]] = {
    "left": _less,
    "right": lambda s, element, value: s.logical_not(_less(s, value, element)),
}
"""Whether an element comes before what is looked for, by side."""

_BEFORE_WITHOUT_NAN: Mapping[str, Callable[[Builder, Value, Value], Value]] = {
    "left": lambda s, element, value: s.less(element, value),
    "right": lambda s, element, value: s.less_equal(element, value),
}
"""The same where no element is NaN, nor what is looked for."""
