"""``np.histogram`` in loops: which bin each number is in, and a count, or a sum of weights, for each bin.

In: numbers, and how many bins there are, between which bounds, or their edges. Out: the edges, computed as ``linspace``
does or as given; the place of each number, by division, put right where rounding has taken it beyond an edge, or by a
search; a store that adds one, or a weight, there. NumPy's own steps, in its own dtypes, so that equal bins have equal
counts.

>>> counts, edges = graph.call("np_histogram", x, 20)      # store(full(0, (20,)), 1, bin_of(x, …))

What NumPy raises for or may warn of (numbers that are not finite, too many bins, edges that fall) is tested in front.
Left to it: densities, float16, weights that are not float64, and weights with given edges, whose sums NumPy takes to be
differences of sums over all that is less.
"""

from __future__ import annotations

from math import frexp, isfinite
from typing import Any

import numpy as np

from capture.ir.op import TALLY, CannotInfer, Pointwise, define
from capture.ir.ops.choosing import require
from capture.ir.ops.common import (
    QUIET,
    allocated,
    is_literal,
    operand_type,
    require_array,
    require_value,
    static,
    surely_more,
)
from capture.ir.ops.creation import LINSPACE_IS_VIEW
from capture.ir.ops.gathering import INT64
from capture.ir.ops.reshaping import in_a_row
from capture.ir.ops.searching import searched
from capture.ir.passes.aliasing import is_late
from capture.ir.shapes import Expr, floordiv
from capture.ir.sizes import at_least, same_shape
from capture.ir.types import ArrayType

DOUBLE, UNSIGNED = np.dtype(np.float64), np.dtype(np.uint64)
MOST_BINS = 1 << 20
BLOCK = 65536
"""Weights that NumPy adds one after the other before it adds what is in each bin to the rest."""

LARGEST = 2.0**53
"""Bounds up to which ints are floats."""


# Edges ------------------------------------------------------------------------------------------------------------
def _infer_edges(first: Any, last: Any, count: int) -> ArrayType:
    dtype = require_value(first, "a bound").dtype
    if dtype.kind != "f" or last.dtype != dtype or first.shape or last.shape:
        raise CannotInfer("bounds that are no floats")
    return allocated(dtype, (count + 1,))


def _edge(s: Any, first: Any, last: Any, count: int) -> Any:
    """``linspace(first, last, count + 1)``."""
    delta, index = s.subtract(last, first), s.index(0)
    place = s.cast(index, first.dtype)
    step = s.divide(delta, count)
    moved = s.where(s.equal(step, 0), s.multiply(s.divide(place, count), delta), s.multiply(place, step))
    return s.where(s.equal(index, count), last, s.add(moved, first))


def _edges(first: Any, last: Any, count: int) -> np.ndarray:
    return np.linspace(first, last, count + 1, dtype=first.dtype)


define(
    name="edges",
    signature="first, last, count",
    operands=("first", "last"),
    infer=_infer_edges,
    reference=_edges,
    lower=Pointwise(_edge, loop=lambda first, last, count: (first.dtype, last.dtype)),
    tags=QUIET,
    samples=((np.float64(-0.3), np.float64(7.1), {"count": 7}), (np.float32(1.0), np.float32(1.5), {"count": 3})),
)


# Bins -------------------------------------------------------------------------------------------------------------
def _infer_place(x: Any, first: Any, width: Any, count: int) -> ArrayType:
    numbers = require_array(x, "a histogram")
    known = is_literal(first) and is_literal(width)
    if not known and (is_literal(first) or first.dtype != numbers.dtype or width.dtype.kind != "f"):
        raise CannotInfer("bounds of other dtypes")
    if numbers.dtype.kind != "f" or not count >= 1:
        raise CannotInfer("numbers that are no floats")
    return allocated(INT64, numbers.shape)


def _place(s: Any, x: Any, first: Any, width: Any, count: int) -> Any:
    """A bin that exists, whatever x is."""
    share = s.divide(s.cast(s.subtract(x, first), width.dtype), width)
    return _inside(s, s.multiply(share, count), count)


def _inside(s: Any, place: Any, count: int) -> Any:
    lowest, highest = (s.cast(s.position(number), place.dtype) for number in (0, count - 1))
    inside = s.where(s.greater(place, 0), s.where(s.less(place, count), place, highest), lowest)
    return s.cast(inside, INT64)


def _loop_of_place(x: Any, first: Any, width: Any, count: int) -> tuple[np.dtype, ...]:
    return (x.dtype, x.dtype, DOUBLE if is_literal(width) else width.dtype)


def _place_reference(x: Any, first: Any, width: Any, count: int) -> Any:
    with np.errstate(all="ignore"):
        place = (x - x.dtype.type(first)).astype(np.result_type(width)) / width * count
        return np.where(place > 0, np.where(place < count, place, count - 1), 0).astype(np.int64)


define(
    name="bin_place",
    signature="x, first, width, count",
    operands=("x", "first", "width"),
    infer=_infer_place,
    reference=_place_reference,
    lower=Pointwise(_place, loop=_loop_of_place),
    tags=QUIET,
    samples=(([-1.0, 0.0, 1.0, 2.9, 3.0, 4.0, np.nan], np.float64(0.0), np.float64(3.0), {"count": 3}),),
)


def _infer_exact_place(x: Any, scale: float, count: int) -> ArrayType:
    if require_array(x, "a histogram").dtype.kind != "f" or x.dtype == np.float16:
        raise CannotInfer("numbers that are no floats")
    return allocated(INT64, x.shape)


def _exact_place(s: Any, x: Any, scale: float, count: int) -> Any:
    return _inside(s, s.multiply(x, scale), count)


def _exact_place_reference(x: Any, scale: float, count: int) -> Any:
    with np.errstate(all="ignore"):
        place = x * x.dtype.type(scale)
        return np.where(place > 0, np.where(place < count, place, count - 1), 0).astype(np.int64)


define(
    name="exact_bin",
    signature="x, scale, count",
    operands=("x",),
    infer=_infer_exact_place,
    reference=_exact_place_reference,
    lower=Pointwise(_exact_place),
    tags=QUIET,
    samples=(([-1.0, 0.0, 1.0, 2.9, 3.0, 4.0, np.nan], {"scale": 2.0, "count": 4}),),
)


def _infer_bin(x: Any, place: Any, low: Any, high: Any, count: int) -> ArrayType:
    return allocated(INT64, require_array(place, "a histogram").shape)


def _bin(s: Any, x: Any, place: Any, low: Any, high: Any, count: int) -> Any:
    """The neighbour of the bin at ``place``, between the edges ``low`` and ``high``, where x is beyond one of them."""
    is_above = s.logical_and(s.greater_equal(x, high), s.less(place, count - 1))
    above = s.where(is_above, s.add(place, 1), place)
    return s.where(s.less(x, low), s.maximum(s.subtract(place, 1), 0), above)


def _bin_reference(x: Any, place: Any, low: Any, high: Any, count: int) -> Any:
    above = place + ((x >= high) & (place < count - 1))
    return np.where(x < low, np.maximum(place - 1, 0), above)


define(
    name="bin_of",
    signature="x, place, low, high, count",
    operands=("x", "place", "low", "high"),
    infer=_infer_bin,
    reference=_bin_reference,
    lower=Pointwise(_bin),
    tags=QUIET,
    samples=(([0.0, 1.0, 2.0], np.array([1, 1, 1]), [0.5, 0.5, 0.5], [1.5, 1.5, 1.5], {"count": 3}),),
)


def _counted(graph: Any, bins: Any, count: Any, kept: Any, weights: Any) -> Any:
    """One, or a weight, added for each number that is ``kept``, in blocks as NumPy adds weights."""
    if weights is None:
        counts = graph.call("full", 0, shape=(count,), dtype=INT64)
        return graph.store(counts, 1 if kept is None else graph.call("where", kept, 1, 0), (bins,), (0,), TALLY)
    size = bins.type.shape[0]
    added = weights if kept is None else graph.call("where", kept, weights, 0.0)
    blocks = graph.call("full", 0, shape=(floordiv(size - 1, BLOCK) + 1, count), dtype=DOUBLE)
    block = graph.call("floor_divide", graph.call("arange", start=size), BLOCK)
    sums = graph.call("sum", graph.store(blocks, added, (block, bins), (0, 1), TALLY), axis=0)
    require(graph, graph.call("logical_not", graph.call("isfinite", sums)))  # NumPy may warn of them
    return sums


# Bins of equal width ----------------------------------------------------------------------------------------------
def _between_extremes(graph: Any, x: Any, count: int) -> tuple[Any, Any, Any]:
    """The edges, the first of them, and the width of all, in the dtypes in which NumPy computes them."""
    low, high = (graph.call(name, x, axis=None) for name in ("min", "max"))
    dtype = x.type.dtype
    single = graph.call("equal", low, high)
    if dtype.kind == "f":
        first = graph.call("where", single, graph.call("subtract", low, 0.5), low)
        last = graph.call("where", single, graph.call("add", high, 0.5), high)
        width = graph.call("subtract", last, first)
        finite = [graph.call("isfinite", number) for number in (low, high, width)]
        all_finite = graph.call("logical_and", graph.call("logical_and", finite[0], finite[1]), finite[2])
        require(graph, graph.call("logical_not", all_finite))
    else:
        wide = graph.call("subtract", *(graph.call("astype", number, dtype=UNSIGNED) for number in (high, low)))
        low, high, wide = (graph.call("astype", number, dtype=DOUBLE) for number in (low, high, wide))
        first = graph.call("where", single, graph.call("subtract", low, 0.5), low)
        last = graph.call("where", single, graph.call("add", high, 0.5), high)
        width = graph.call("where", single, 1.0, wide)
    edges = graph.call("edges", first, last, count=count)
    before, behind = (graph.call("slice", edges, starts=(k,), sizes=(count,), steps=(1,)) for k in (0, 1))
    require(graph, graph.call("greater_equal", before, behind))
    return _as_linspace_gives_it(graph, edges, edges.type.dtype), first, width


def _as_linspace_gives_it(graph: Any, edges: Any, computed: np.dtype) -> Any:
    """A view where NumPy's is one: where it is not converted from the dtype in which it is computed."""
    if not LINSPACE_IS_VIEW or edges.type.dtype != computed:
        return edges
    return graph.call("slice", edges, starts=(0,), steps=(1,), sizes=edges.type.shape)


def _between_bounds(graph: Any, x: Any, count: int, bounds: Any) -> tuple[Any, Any, Any, Any]:
    """The same for bounds that are known, and which numbers lie between them."""
    first, last = _known_bounds(bounds)
    if first == last:
        first, last = first - 0.5, last + 0.5
    kept = graph.call("logical_and", graph.call("greater_equal", x, first), graph.call("less_equal", x, last))
    dtype = x.type.dtype if x.type.dtype.kind == "f" else DOUBLE
    edges = np.linspace(first, last, count + 1, dtype=dtype)
    if not isfinite(last - first) or (edges[:-1] >= edges[1:]).any():
        raise CannotInfer("Too many bins for data range.")
    numbers = float(dtype.type(first)), float(last - first)
    copied = graph.call("copy", graph.constant(edges), order="C")
    return _as_linspace_gives_it(graph, copied, DOUBLE), *numbers, kept


def _known_bounds(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, tuple) or len(bounds) != 2 or any(type(bound) not in (int, float) for bound in bounds):
        raise CannotInfer("bounds of a histogram that are no known numbers")
    first, last = bounds
    if not (isfinite(first) and isfinite(last)) or first > last or max(abs(first), abs(last)) > LARGEST:
        raise CannotInfer("max must be larger than min in range parameter.")
    return first, last


def _equal_bins(graph: Any, x: Any, bins: Any, bounds: Any, weights: Any) -> tuple[Any, Any]:
    count = static(bins, "the number of bins")
    if not 1 <= count <= MOST_BINS or not surely_more(x.type.shape[0], 0):
        raise CannotInfer("a histogram of nothing, or with as many bins")
    kept = None
    if bounds is None:
        edges, first, width = _between_extremes(graph, x, count)
    else:
        edges, first, width, kept = _between_bounds(graph, x, count, bounds)
    numbers = x if x.type.dtype.kind == "f" else graph.call("astype", x, dtype=DOUBLE)
    if is_literal(first) and _are_exact(numbers.type.dtype, first, width, count):
        place = graph.call("exact_bin", numbers, scale=count / width, count=count)
        return _counted(graph, place, count, kept, weights), edges
    place = graph.call("bin_place", numbers, first, width, count=count)
    sides = [graph.call("slice", edges, starts=(k,), sizes=(count,), steps=(1,)) for k in (0, 1)]
    low, high = (graph.call("gather", side, place, axes=(0,)) for side in sides)
    return _counted(graph, graph.call("bin_of", numbers, place, low, high, count=count), count, kept, weights), edges


def _are_exact(dtype: np.dtype, first: float, width: float, count: int) -> bool:
    """Whether edges are what they are meant to be, and a product is the place of a number among them: from zero on to a
    power of two, as many bins as another one.
    """
    scale = count / width
    are_powers = frexp(count)[0] == 0.5 and frexp(width)[0] == 0.5
    limits = np.finfo(dtype)
    return first == 0 and are_powers and float(limits.tiny) <= scale <= float(limits.max)


# Bins between given edges -----------------------------------------------------------------------------------------
def _given_bins(graph: Any, x: Any, bins: Any, weights: Any) -> tuple[Any, Any]:
    edges = graph.call("asarray", bins) if isinstance(bins, tuple) else bins
    type_ = require_array(operand_type(edges), "a histogram")
    if type_.ndim != 1 or weights is not None or not at_least(type_.shape[0], 2):
        raise CannotInfer("a histogram with such bins")
    count = type_.shape[0] - 1
    before = searched(graph, edges, x, "right")
    last = graph.call("getitem", edges, key=-1)
    is_last = graph.call("equal", x, last)
    end = graph.call("size_number", size=type_.shape[0]) if isinstance(count, Expr) else count + 1
    is_below = graph.call("logical_or", graph.call("less", before, end), is_last)
    kept = graph.call("logical_and", graph.call("greater", before, 0), is_below)
    highest = graph.call("subtract", end, 2) if isinstance(count, Expr) else count - 1
    place = graph.call("minimum", graph.call("maximum", graph.call("subtract", before, 1), 0), highest)
    return _counted(graph, place, count, kept, None), edges


def _histogram(graph: Any, a: Any, bins: Any, weights: Any, range: Any = None, density: Any = None) -> Any:
    base = require_array(operand_type(a), "histogram")
    if density not in (None, False) or base.dtype.kind not in "iuf" or base.dtype == np.float16 or is_late(a):
        raise CannotInfer("a density, or a histogram of such numbers")
    if weights is not None:
        type_ = require_array(operand_type(weights), "weights")
        if not same_shape(type_.shape, base.shape) or type_.dtype != DOUBLE:
            raise CannotInfer("weights of a histogram that are not float64")
        weights = in_a_row(graph, weights)
    x = in_a_row(graph, a)
    if is_literal(bins):
        return _equal_bins(graph, x, bins, range, weights)
    return _given_bins(graph, x, bins, weights)


define(
    name="np_histogram",
    signature="a, bins=10, range=None, density=None, weights=None",
    operands=("a", "bins", "weights"),
    calls=(np.histogram,),
    expand=_histogram,
)
