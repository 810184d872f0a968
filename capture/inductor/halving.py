"""Search in an array that rises, without a branch.

In: how to read the element at a place, the number of elements, and what is looked for. Out: how many elements come
before it. The steps are as many as the largest array needs that the graph is for; those too far change nothing.

    found = 0;  for step in 4, 2, 1:  found = found + step if a[found + step - 1] < value else found
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capture.inductor.loops import Builder, Value


def halve(
    s: Builder, read: Callable[[Value], Value], value: Value, count: Value, side: str, steps: int, **_: Any
) -> Value:
    comes_before = _BEFORE[side]
    found = s.constant(0, np.int64)
    for step in reversed(range(steps)):
        further = s.add(found, 1 << step)
        is_before = comes_before(s, read(s.subtract(s.minimum(further, count), 1)), value)
        found = s.where(s.logical_and(s.less_equal(further, count), is_before), further, found)
    return found


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
