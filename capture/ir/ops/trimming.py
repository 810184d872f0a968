"""Arrays without the zeros at their ends: ``trim_zeros``, ``polytrim``.

In: a vector. Out: a view whose bounds the graph computes (``measure`` makes sizes of them), as NumPy gives one; of
coefficients a new vector, which NumPy makes and whose size is known when it returns.

>>> graph.call("trim_zeros", x)      # slice(x, starts=(front,), sizes=(max(0, until - front),))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.polyutils import trimcoef

from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.common import allocated, is_literal, operand_type, require_array, surely_more
from capture.ir.ops.gathering import INT64
from capture.ir.ops.masks import MOST, mask_of
from capture.ir.passes.aliasing import is_late
from capture.ir.shapes import Size, Symbol, maximum


# trim_zeros -------------------------------------------------------------------------------------------------------
def _measured(graph: Any, place: Any, wish: str, size: Size) -> Symbol:
    """A place in an array of a size, as a size."""
    name, most = graph.new_name(wish), size if isinstance(size, int) else MOST
    graph.call("measure", place, count=name, most=most)
    return Symbol(name, 0, most)


def _trim_zeros(graph: Any, filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    base = require_array(operand_type(filt), "trim_zeros")
    sides = trim.lower() if isinstance(trim, str) else ""
    if base.ndim != 1 or axis not in (None, 0, -1) or sides not in ("fb", "bf", "f", "b"):
        raise CannotInfer("trim_zeros of anything but a vector")
    size = base.shape[0]
    if not surely_more(size, 0) or is_late(filt):
        raise CannotInfer("trim_zeros of nothing, or of what was written")
    kept = mask_of(graph, filt)
    some, front = graph.call("any", kept, axis=None), graph.call("argmax", kept, axis=None)
    backwards = graph.call("argmax", graph.call("flip", kept), axis=None)
    length = graph.call("full", graph.call("size_number", size=size), shape=(), dtype=INT64)
    none = graph.constant(np.int64(0))
    if "f" not in sides:
        front = none
    end = length if "b" not in sides else graph.call("subtract", length, backwards)
    first, last = (graph.call("where", some, place, none) for place in (front, end))
    start = _measured(graph, graph.call("getitem", first, ()), "zeros_in_front", size)
    stop = _measured(graph, graph.call("getitem", last, ()), "kept_until", size)
    return graph.call("slice", filt, starts=(start,), steps=(1,), sizes=(maximum(0, stop - start),))


define(
    name="trim_zeros",
    signature="filt, trim='fb', axis=None",
    operands=("filt",),
    calls=(np.trim_zeros,),
    expand=_trim_zeros,
)


# polytrim ---------------------------------------------------------------------------------------------------------
def _infer_trimmed(c: Any, tol: Any, count: Any) -> Any:
    base = require_array(c, "polytrim")
    if base.ndim != 1 or base.dtype.kind not in "iufc" or not is_literal(tol):
        raise CannotInfer("polytrim of such coefficients")
    size = base.shape[0]
    if not surely_more(size, 0):
        raise CannotInfer("Coefficient array is empty")
    length = Symbol(count, 1, size if isinstance(size, int) else MOST) if isinstance(count, str) else count
    return allocated(np.common_type(np.empty(0, base.dtype)), (length,))


define(
    name="polytrim_found",
    signature="c, tol, count",
    operands=("c",),
    infer=_infer_trimmed,
    reference=lambda c, tol, count: trimcoef(c, tol),
    source="np.polynomial.polynomial.polytrim({0}, {tol})",
    lower=Extern(),
    samples=(([1.0, 0.0, 2.0, 0.0], {"tol": 0, "count": 3}),),
)
define(
    name="polytrim",
    signature="c, tol=0",
    operands=("c",),
    calls=(trimcoef,),
    expand=lambda graph, c, tol=0: graph.call("polytrim_found", c, tol=tol, count=graph.new_name("terms")),
)
