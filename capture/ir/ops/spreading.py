"""Each element as often as a count of its own says: ``spread``, whose size depends on data.

In: ``np.repeat(x, counts, axis=0)``. Out: the elements one after the other, or, of an array of several axes, those at
places that are spread. Their number is a symbol, as that of the elements under a mask.

>>> str(graph.call("spread", x, counts, count="repeats").type)
'f64[repeats]'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Node
from capture.ir.op import CannotInfer, Pack, define
from capture.ir.ops.choosing import require
from capture.ir.ops.common import QUIET, allocated, one_axis, operand_type, require_array
from capture.ir.ops.gathering import INT64, places_of
from capture.ir.ops.masks import are_equal
from capture.ir.ops.reshaping import in_a_row
from capture.ir.passes.aliasing import is_late
from capture.ir.shapes import Size, Symbol
from capture.ir.sizes import same
from capture.ir.types import ArrayType

MOST = 1 << 30
"""Counts above it are left to NumPy, so that their sum is an int64."""


def _size_of(count: Any) -> Size:
    return Symbol(count, 0, None) if isinstance(count, str) else count


def _require_counts(counts: Any) -> ArrayType:
    type_ = require_array(counts, "counts")
    if type_.dtype.kind not in "iu" or type_.ndim != 1:
        raise CannotInfer("counts are integers in a row")
    return type_


def _infer_spread(a: Any, counts: Any, count: Any) -> ArrayType:
    base, often = require_array(a, "repeat"), _require_counts(counts)
    if base.ndim != 1 or not same(base.shape[0], often.shape[0]):
        raise CannotInfer("operands could not be broadcast together")
    return allocated(base.dtype, (_size_of(count),))


define(
    name="spread",
    signature="a, counts, count",
    operands=("a", "counts"),
    infer=_infer_spread,
    reference=lambda a, counts, count: np.repeat(a, counts),
    source="np.repeat({0}, {1})",
    lower=Pack(repeats=True),
    tags=QUIET,
    samples=(([1.0, 2.0, 3.0], np.array([2, 0, 1]), {"count": 3}),),
)
define(
    name="spread_places",
    signature="counts, count",
    operands=("counts",),
    infer=lambda counts, count: allocated(INT64, (_size_of(count),)) if _require_counts(counts) else None,
    reference=lambda counts, count: np.repeat(np.arange(len(counts)), counts),
    source="np.repeat(np.arange(len({0})), {0})",
    lower=Pack(repeats=True),
    tags=QUIET,
    samples=((np.array([2, 0, 1], "i4"), {"count": 3}),),
)


def repeated(graph: Any, a: Any, repeats: Any, axis: Any) -> Any:
    """``np.repeat`` with an array of counts."""
    if axis is None:
        a, axis = in_a_row(graph, a), 0
    base = require_array(operand_type(a), "repeat")
    axis = one_axis(axis, base.ndim)
    counts = _counts(graph, repeats, base.shape[axis])
    if same(base.shape[axis], 0):
        return graph.call("copy", a, order="C")
    name = _name_of(graph, counts)
    if base.ndim == 1:
        return graph.call("spread", a, counts, count=name)
    places = graph.call("spread_places", counts, count=name)
    return graph.call("gather", a, places, axes=(axis,), place=axis, order="C")


def _counts(graph: Any, repeats: Any, size: Size) -> Any:
    """One for each place, none of them negative."""
    counts = places_of(graph, repeats) if isinstance(repeats, tuple) else repeats
    type_ = operand_type(counts)
    if not isinstance(type_, ArrayType) or not np.can_cast(type_.dtype, np.intp, "safe") or is_late(counts):
        raise CannotInfer("repeats that are no integers, or that were written")
    if type_.ndim > 1:
        raise CannotInfer("object too deep for desired array")
    if counts.type.dtype.kind != "i" or counts.type.dtype.itemsize < INT64.itemsize:
        counts = graph.call("astype", counts, dtype=INT64)
    below = graph.call("less", counts, 0)
    require(graph, graph.call("logical_or", below, graph.call("greater", counts, MOST)))
    if type_.ndim and same(type_.shape[0], size):
        return counts
    if type_.ndim and not same(type_.shape[0], 1):
        raise CannotInfer("operands could not be broadcast together")
    if not type_.ndim:
        return graph.call("full", counts, shape=(size,), dtype=INT64)
    return graph.call("copy", graph.call("broadcast_to", counts, shape=(size,)), order="C")


def _name_of(graph: Any, counts: Node) -> str:
    """The symbol of the sum of these counts: that of equal ones, or a new one."""
    for node in reversed(graph.nodes):
        spreads = node.kind == "call" and isinstance(node.op.lower, Pack) and node.op.lower.repeats
        if spreads and isinstance(node.params["count"], str) and are_equal(node.args[-1], counts):
            return str(node.params["count"])
    name = graph.new_name("repeats")
    graph.known.testable.add(Symbol(name, 0, None))
    return str(name)
