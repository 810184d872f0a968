"""Search in an array that rises: ``searchsorted``, ``digitize``, ``interp``.

In: the array, of one axis, and what is looked for. Out: a ``search`` node, which halves the array a fixed number of
times, with no branch; behind a test that the array does rise, since what NumPy finds in another depends on the order
of its steps. Where the test would cost more than the search, NumPy is called.

>>> graph.call("np_searchsorted", a, v, side="right")      # search(a, v, side="right", steps=10)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Pointwise, Search, define
from capture.ir.ops.choosing import require
from capture.ir.ops.common import QUIET, flag, operand_type, require_array, require_value
from capture.ir.ops.gathering import INT64
from capture.ir.ops.library import value_or_array
from capture.ir.passes.aliasing import is_late
from capture.ir.shapes import Expr, product
from capture.ir.sizes import at_least, same_shape
from capture.ir.types import ArrayType

DOUBLE = np.dtype(np.float64)
MOST_STEPS = 20
OPEN_STEPS = (10, MOST_STEPS)
"""How often an array is halved whose size is open: for all sizes that this is enough for."""
SIDES = ("left", "right")


# search -----------------------------------------------------------------------------------------------------------
def _infer_search(a: Any, v: Any, side: str, steps: int, has_nan: bool, axes: Any, place: Any) -> ArrayType:
    """``has_nan``: whether elements may be NaN; the parameters behind are those of a gather."""
    base, wanted = require_array(a, "search"), require_value(v, "search")
    if base.ndim != 1 or base.dtype != wanted.dtype or side not in SIDES or (axes, place) != ((0,), 0):
        raise CannotInfer("search needs an array of one axis, and numbers like its elements")
    if not at_least(2**steps - 1, base.shape[0]):
        raise CannotInfer("search in too few steps")
    return value_or_array(INT64, wanted.shape)


def _search(a: Any, v: Any, side: Any, steps: int, has_nan: Any = True, axes: Any = (0,), place: Any = 0) -> Any:
    return np.searchsorted(a, v, side)


define(
    name="search",
    signature="a, v, side, steps, has_nan=True, axes=(0,), place=0",
    operands=("a", "v"),
    infer=_infer_search,
    reference=_search,
    source="np.searchsorted({0}, {1}, {side!r})",
    lower=Search(),
    tags=QUIET,
    samples=(
        ([1.0, 2.0, 2.0, 3.0, np.nan], [[0.0, 2.0], [np.nan, 9.0]], {"side": "right", "steps": 3}),
        ([1.0, 2.0, 2.0, 3.0], [[0.0, 2.0], [3.0, 9.0]], {"side": "left", "steps": 4}),
        ([1.0, 2.0, 2.0, 3.0], [[0.0, 2.0], [np.nan, 9.0]], {"side": "left", "steps": 3, "has_nan": False}),
        (np.array([-3, 4], "i2"), np.array([4, 5, -9], "i2"), {"side": "left", "steps": 2}),
    ),
)


def _steps(a: ArrayType, v: ArrayType) -> int:
    """How often an array is halved; ``CannotInfer`` where the test that it rises costs more than is saved."""
    size, count = a.shape[0], product(v.shape)
    is_open = isinstance(size, Expr)
    if isinstance(count, int) and (is_open or not at_least(4 * count, size)):  # sizes that change are taken to be large
        raise CannotInfer("a search for a few numbers")
    if not at_least(size, 1):
        raise CannotInfer("a search in nothing")
    for steps in OPEN_STEPS if is_open else range(1, MOST_STEPS):
        if at_least(2**steps - 1, size):
            return steps
    raise CannotInfer("a search in a large array")


def _require_rising(graph: Any, a: Any, with_nan: bool) -> None:
    """NaNs come last, where any are let in."""
    if a.type.shape[0] == 1:
        return
    before, behind = (graph.call("getitem", a, key=key) for key in (slice(None, -1), slice(1, None)))
    if not with_nan:
        require(graph, graph.call("logical_not", graph.call("less_equal", before, behind)))
        return
    falls = graph.call("less", behind, before)
    if a.type.dtype.kind == "f":
        only_before = graph.call("greater", graph.call("isnan", before), graph.call("isnan", behind))
        falls = graph.call("logical_or", falls, only_before)
    require(graph, falls)


def searched(graph: Any, a: Any, v: Any, side: Any, with_nan: bool = False) -> Any:
    base, wanted = require_array(operand_type(a), "searchsorted"), require_value(operand_type(v), "searchsorted")
    if side not in SIDES or base.ndim != 1 or is_late(a):
        raise CannotInfer("searchsorted needs an array of one axis, and a side")
    dtype = np.promote_types(base.dtype, wanted.dtype)
    if dtype.kind not in "iuf" or not wanted.shape:
        raise CannotInfer(f"a search for {dtype}")
    steps = _steps(base, wanted)
    a, v = (graph.call("astype", x, dtype=dtype) if x.type.dtype != dtype else x for x in (a, v))
    _require_rising(graph, a, with_nan)
    return graph.call("search", a, v, side=side, steps=steps, has_nan=with_nan)


def _searchsorted(graph: Any, a: Any, v: Any, side: Any = "left") -> Any:
    try:
        return searched(graph, a, v, side, with_nan=True)
    except CannotInfer:
        return graph.call("searchsorted", a, v, side=side)


define(
    name="np_searchsorted",
    signature="a, v, side='left'",
    operands=("a", "v"),
    calls=(np.searchsorted,),
    methods=("searchsorted",),
    expand=_searchsorted,
)


def _digitize(graph: Any, x: Any, bins: Any, right: Any = False) -> Any:
    """Bins that fall are left to NumPy by the test that they rise."""
    if isinstance(bins, tuple):
        bins = graph.call("asarray", bins)
    return searched(graph, bins, x, "left" if flag(right, "right") else "right")


define(name="digitize", signature="x, bins, right=False", operands=("x", "bins"), calls=(np.digitize,),
       expand=_digitize)  # fmt: skip


# interp -----------------------------------------------------------------------------------------------------------
def _infer_between(x: Any, j: Any, *points: Any, last: int) -> ArrayType:
    if any(point.dtype != DOUBLE for point in (x, *points)):
        raise CannotInfer("interpolation of other numbers than float64")
    return value_or_array(DOUBLE, x.shape)


def _between(s: Any, x: Any, j: Any, x0: Any, x1: Any, y0: Any, y1: Any, last: Any) -> Any:
    """On the line through both points, from the one that does not give NaN; a point itself where x is there or beyond.

    ``j`` counts the points up to x.
    """
    slope = s.divide(s.subtract(y1, y0), s.subtract(x1, x0))
    one = s.add(s.multiply(slope, s.subtract(x, x0)), y0)
    other = s.add(s.multiply(slope, s.subtract(x, x1)), y1)
    level = s.where(s.logical_and(s.isnan(other), s.equal(y0, y1)), y0, other)
    inside = s.where(s.equal(x0, x), y0, s.where(s.isnan(one), level, one))
    at_ends = s.where(s.less(j, 1), y0, s.where(s.greater(j, s.position(last)), y1, inside))
    return s.where(s.isnan(x), x, at_ends)


def _between_reference(x: Any, j: Any, x0: Any, x1: Any, y0: Any, y1: Any, last: int) -> Any:
    with np.errstate(all="ignore"):
        slope = (y1 - y0) / (x1 - x0)
        one, other = slope * (x - x0) + y0, slope * (x - x1) + y1
    level = np.where(np.isnan(other) & (y0 == y1), y0, other)
    inside = np.where(x0 == x, y0, np.where(np.isnan(one), level, one))
    return np.where(np.isnan(x), x, np.where(j < 1, y0, np.where(j > last, y1, inside)))


define(
    name="between",
    signature="x, j, x0, x1, y0, y1, last",
    operands=("x", "j", "x0", "x1", "y0", "y1"),
    infer=_infer_between,
    reference=_between_reference,
    lower=Pointwise(_between),
    tags=QUIET,
    samples=(([0.5, 2.5], np.array([1, 2]), [0.0, 1.0], [1.0, 2.0], [3.0, 4.0], [4.0, 6.0], {"last": 2}),),
)


def _interpolated(graph: Any, x: Any, xp: Any, fp: Any) -> Any:
    points, values = require_array(operand_type(xp), "interp"), require_array(operand_type(fp), "interp")
    require_value(operand_type(x), "interp")
    if any(isinstance(size, Expr) for size in points.shape):
        raise CannotInfer("places whose number is not known")
    if points.ndim != 1 or not same_shape(values.shape, points.shape) or not at_least(points.shape[0], 2):
        raise CannotInfer("interp needs as many points as values, and two")
    x, xp, fp = (graph.call("astype", a, dtype=DOUBLE) if a.type.dtype != DOUBLE else a for a in (x, xp, fp))
    j = searched(graph, xp, x, "right")
    last = points.shape[0] - 1
    low = graph.call("clip", graph.call("subtract", j, 1), 0, last - 1)
    high = graph.call("clip", j, 1, last)
    pairs = [[graph.call("gather", a, place, axes=(0,)) for place in (low, high)] for a in (xp, fp)]
    return graph.call("between", x, j, *pairs[0], *pairs[1], last=last)


def _interp(graph: Any, x: Any, xp: Any, fp: Any) -> Any:
    try:
        return _interpolated(graph, x, xp, fp)
    except CannotInfer:
        return graph.call("interp", x, xp, fp)


define(name="np_interp", signature="x, xp, fp", operands=("x", "xp", "fp"), calls=(np.interp,), expand=_interp)
