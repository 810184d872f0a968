"""Between which numbers the elements of an integer node lie, where the graph tells.

In: a node. Out: the lowest and the highest number that an element may be, or None.

>>> index_range(graph.call("remainder", i, 10))
(0, 9)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capture.ir.graph import Node
from capture.ir.ops.creation import arange_length
from capture.ir.shapes import product

Range = tuple[int, int]


def index_range(node: Any) -> Range | None:
    """The range of a node, or of an integer literal."""
    if type(node) is int:
        return node, node
    if not isinstance(node, Node):
        return None
    if node.kind == "constant":
        return _of_constant(np.asarray(node.args[0]))
    if node.kind != "call":
        return _of_type(node)
    if node.target == "bits":
        return _of_type(node)
    if node.op.is_view:
        return _of_column(node) or index_range(node.args[0])
    rule = _RULES.get(node.target)
    return (rule(node) if rule else None) or _of_type(node)


def _of_constant(value: np.ndarray) -> Range | None:
    return (int(value.min()), int(value.max())) if value.size and value.dtype.kind in "iu" else None


def _of_type(node: Node) -> Range | None:
    """All numbers of the dtype, where that helps."""
    dtype = getattr(node.type, "dtype", None)
    if dtype is None or dtype.kind not in "iu" or dtype.itemsize == 8:
        return None
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _of_column(node: Node) -> Range | None:
    """A column of the places where a mask is true."""
    source = node.args[0]
    if node.target != "slice" or source.target != "nonzero" or node.params["sizes"][1] != 1:
        return None
    size = source.args[0].type.shape[node.params["starts"][1]]
    return (0, size - 1) if isinstance(size, int) else None


def _of_nonzero(node: Node) -> Range | None:
    """Places along any of the axes: of a single one, a column is all there is, and no slice of it."""
    shape = node.args[0].type.shape
    sizes = [size for size in shape if isinstance(size, int)]
    return (0, max(sizes) - 1) if len(sizes) == len(shape) and 0 not in sizes else None


def _of_arange(node: Node) -> Range | None:
    start, stop, step = (node.params[name] for name in ("start", "stop", "step"))
    length = arange_length(start, stop, step)
    if not isinstance(length, int) or not length or not all(type(number) is int for number in (start, step)):
        return None
    last = start + (length - 1) * step
    return min(start, last), max(start, last)


def _of_position(node: Node) -> Range | None:
    """argmax and argmin: a place along what is searched."""
    shape = node.args[0].type.shape
    count = product(shape[axis] for axis in node.params["axis"])
    return (0, count - 1) if isinstance(count, int) else None


def _of_remainder(node: Node) -> Range | None:
    divisor = node.args[1]
    return (0, divisor - 1) if type(divisor) is int and divisor > 0 else None


def _of_clip(node: Node) -> Range | None:
    low, high = node.args[1:]
    return (low, high) if type(low) is type(high) is int and low <= high else None


def _of_cast(node: Node) -> Range | None:
    """The operand's, where the dtype holds it."""
    known = index_range(node.args[0])
    if known is None or node.type.dtype.kind not in "iu":
        return None
    limits = np.iinfo(node.type.dtype)
    return known if limits.min <= known[0] and known[1] <= limits.max else None


def _of_bin(node: Node) -> Range | None:
    return 0, node.params["count"] - 1


def _of_spread(node: Node) -> Range | None:
    size = node.args[0].type.shape[0]
    return (0, size - 1) if isinstance(size, int) and size else None


_RULES: Mapping[str, Callable[[Node], Range | None]] = {
    "arange": _of_arange,
    "argmax": _of_position,
    "argmin": _of_position,
    "nonzero": _of_nonzero,
    "bin_place": _of_bin,
    "spread_places": _of_spread,
    "remainder": _of_remainder,
    "clip": _of_clip,
    "astype": _of_cast,
    "copy": _of_cast,
    "flat": _of_cast,
    "scalar": _of_cast,
}
