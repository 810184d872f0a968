"""Counts: ``bincount``, ``histogram``, ``count_nonzero``.

In: numbers, with weights or without. Out: zeros, to which ones or weights are added one after the other at computed
places (``TALLY``), as NumPy does; with a test in front of what NumPy would raise for, or warn of.

>>> graph.call("bincount", x)      # store(full(0, (bins,)), 1, x, combine="tally"); bins is max(x) + 1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import TALLY, CannotInfer, define
from capture.ir.ops.choosing import require
from capture.ir.ops.common import operand_type, require_array, static, surely_more
from capture.ir.ops.gathering import INT64, places_of
from capture.ir.ops.masks import mask_of
from capture.ir.passes.aliasing import is_late
from capture.ir.shapes import Symbol
from capture.ir.sizes import same_shape

DOUBLE = np.dtype(np.float64)
MOST_BINS = 1 << 31
"""More are left to NumPy, which may lack the memory."""


# bincount ---------------------------------------------------------------------------------------------------------
def _bincount(graph: Any, x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """As many as the largest number says."""
    x = places_of(graph, x) if isinstance(x, tuple) else x
    base, least = require_array(operand_type(x), "bincount"), static(minlength, "minlength")
    if base.ndim != 1 or not np.can_cast(base.dtype, np.intp, "safe") or least < 0:
        raise CannotInfer("bincount of these numbers")
    added = 1 if weights is None else _weights(graph, weights, base)
    dtype = INT64 if weights is None else DOUBLE
    if base.shape == (0,):
        return graph.call("full", 0, shape=(least,), dtype=INT64)
    if not surely_more(base.shape[0], 0) or is_late(x):
        raise CannotInfer("bincount whose size depends on what may be nothing, or on what was written")
    if base.dtype.kind in "bu" and least > _largest(base.dtype):
        counts = graph.call("full", 0, shape=(least,), dtype=dtype)
        return graph.store(counts, added, (_as_places(graph, x),), (0,), TALLY)
    if base.dtype.kind == "i":
        require(graph, graph.call("less", x, 0))
    largest = graph.call("astype", graph.call("max", x, axis=None), dtype=INT64)
    most = graph.call("maximum", graph.call("add", largest, 1), least)
    require(graph, graph.call("greater", most, MOST_BINS))
    name = graph.new_name("bins")
    graph.call("measure", most, count=name, most=MOST_BINS)
    counts = graph.call("full", 0, shape=(Symbol(name, 0, MOST_BINS),), dtype=dtype)
    return graph.store(counts, added, (_as_places(graph, x),), (0,), TALLY)


def _largest(dtype: np.dtype) -> int:
    """The largest number of an unsigned dtype: with as many places for it no number is too large."""
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _as_places(graph: Any, x: Any) -> Any:
    return graph.call("astype", x, dtype=INT64) if x.type.dtype.kind == "b" else x


def _weights(graph: Any, weights: Any, base: Any) -> Any:
    """One for each number, as float64."""
    given = graph.call("asarray", weights) if isinstance(weights, tuple) else weights
    type_ = require_array(operand_type(given), "weights")
    if not same_shape(type_.shape, base.shape) or not np.can_cast(type_.dtype, DOUBLE, "safe"):
        raise CannotInfer("The weights and list don't have the same length.")
    return graph.call("astype", given, dtype=DOUBLE) if type_.dtype != DOUBLE else given


define(
    name="bincount",
    signature="x, /, weights=None, minlength=0",
    operands=("x", "weights"),
    calls=(np.bincount,),
    expand=_bincount,
)


# count_nonzero ----------------------------------------------------------------------------------------------------
_COUNTS_ALL_IN_PYTHON = type(np.count_nonzero([True])) is int
"""Before NumPy 2.4."""


def _count_nonzero(graph: Any, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Along axes; the count of all is a Python int in older versions."""
    require_array(operand_type(a), "count_nonzero")
    if _COUNTS_ALL_IN_PYTHON and axis is None and not keepdims:
        raise CannotInfer("count_nonzero of all gives a Python int")
    return graph.call("sum", mask_of(graph, a), axis=axis, dtype=INT64, keepdims=keepdims)


define(
    name="count_nonzero",
    signature="a, axis=None, *, keepdims=False",
    operands=("a",),
    calls=(np.count_nonzero,),
    expand=_count_nonzero,
)
