"""Histograms of points of several coordinates: ``histogramdd``, ``histogram2d``.

In: points, bins, weights. Out: one call of NumPy's from inside the graph, that gives counts with a border around them
and the edges; the counts that users see are a view of the middle, as in NumPy.

>>> graph.call("histogram2d", x, y)      # slice(part(histogramdd_found((x, y), …)), …), edges of x, edges of y
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from capture.ir.graph import Node
from capture.ir.op import CannotInfer, Extern, ListLiteral, define
from capture.ir.ops.common import is_literal, operand_type, require_array, static
from capture.ir.ops.trial import by_trial


def _found(sample: Any, bins: Any, range: Any, density: Any, weights: Any) -> tuple[Any, ...]:
    """Counts with their border, or densities, which are new; then the edges that were not given as arrays."""
    counts, edges = np.histogramdd(sample, bins, range, density, weights)
    given = [each for each in bins if isinstance(each, np.ndarray)] if isinstance(bins, tuple) else []
    new = (each for each in edges if not any(each is other for other in given))
    return (counts if density else counts.base, *new)


MOST_BINS = 1 << 20
"""Of a trial; more are left to plain Python."""


def _by_trial(sample: Any, bins: Any, weights: Any, range: Any, density: Any) -> Any:
    count = len(sample) if isinstance(sample, tuple) else static(sample.shape[1], "the number of coordinates")
    each = bins if isinstance(bins, tuple) else (bins,) * count
    sizes = [2 + (number if type(number) is int else _edges(number)) for number in each]
    if prod(sizes) > MOST_BINS:
        raise CannotInfer("a histogram of very many bins")
    return by_trial(_found)(sample, bins, range, density, weights)


POINTS = ([0.0, 1.0, 2.5], [0.5, 1.5, 3.0])

define(
    name="histogramdd_found",
    signature="sample, bins, range, density, weights",
    operands=("sample", "bins", "weights"),
    infer=_by_trial,
    gives=lambda sample, bins, weights, range, density: tuple,
    reference=lambda sample, bins, weights, range, density: _found(sample, bins, range, density, weights),
    lower=Extern(),
    samples=((POINTS, ([0.0, 1.0, 2.0], [0.0, 2.0, 3.0]), None, {"range": None, "density": None}),),
)


def _edges(edges: Any) -> int:
    """How many edges there are: they must be known, since there are so many bins."""
    if isinstance(edges, tuple):
        return len(edges)
    return static(require_array(edges, "edges").shape[0], "the number of edges")


def _counted(graph: Any, sample: Any, bins: Any, range: Any, density: Any, weights: Any) -> tuple[Any, list[Any]]:
    """Counts and edges; edges that are given as an array are that array."""
    if not (density is None or type(density) is bool) or isinstance(bins, Node):
        raise CannotInfer("a density that is no truth value, or numbers of bins that are not known")
    found = graph.call("histogramdd_found", sample, bins, weights, range=range, density=density)
    counts, *new = (graph.call("part", found, index=index) for index, _ in enumerate(found.type))
    if not density:
        sizes = tuple(size - 2 for size in counts.type.shape)
        counts = graph.call("slice", counts, starts=(1,) * len(sizes), steps=(1,) * len(sizes), sizes=sizes)
    wanted = bins if isinstance(bins, tuple) else (bins,) * len(new)
    return counts, [each if isinstance(each, Node) else new.pop(0) for each in wanted]


def _histogramdd(
    graph: Any, sample: Any, bins: Any, weights: Any, range: Any = None, density: Any = None
) -> tuple[Any, Any]:
    if not isinstance(sample, tuple) and require_array(operand_type(sample), "histogramdd").ndim != 2:
        raise CannotInfer("histogramdd of points that are no matrix")
    counts, edges = _counted(graph, sample, bins, range, density, weights)
    return counts, ListLiteral(edges)


def _histogram2d(
    graph: Any, x: Any, y: Any, bins: Any, weights: Any, range: Any = None, density: Any = None
) -> tuple[Any, ...]:
    if any(require_array(operand_type(each), "histogram2d").ndim != 1 for each in (x, y)):
        raise CannotInfer("histogram2d of other things than vectors")
    if isinstance(bins, Node) and not 1 <= static(bins.type.shape[0], "the number of edges") <= 2:
        bins = (bins, bins)
    if not is_literal(bins) and not (isinstance(bins, tuple) and len(bins) == 2):
        raise CannotInfer("histogram2d with edges that may be numbers of bins")
    counts, edges = _counted(graph, (x, y), bins, range, density, weights)
    return counts, *edges


define(
    name="histogramdd",
    signature="sample, bins=10, range=None, density=None, weights=None",
    operands=("sample", "bins", "weights"),
    calls=(np.histogramdd,),
    expand=_histogramdd,
)
define(
    name="histogram2d",
    signature="x, y, bins=10, range=None, density=None, weights=None",
    operands=("x", "y", "bins", "weights"),
    calls=(np.histogram2d,),
    expand=_histogram2d,
)
