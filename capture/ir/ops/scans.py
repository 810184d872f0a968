"""Running sums, products and extremes.

In: ``np.cumsum(x, axis=0)``, ``x.cumprod()``, ``np.maximum.accumulate(x)``. Out: ``cumsum`` and ``cumprod`` nodes, of
one axis, or of all axes in C order, ``running_maximum`` and ``running_minimum`` nodes. Elements are added one after the
other, as NumPy does, so that every bit is the same.

>>> str(graph.call("cumsum", x, axis=0).type)
'f64[3, 4]'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.op import Scan, define
from capture.ir.ops.common import QUIET, allocated, one_axis, require_array, require_value
from capture.ir.ops.reductions import iteration_order, natural_dtype, working_dtype
from capture.ir.shapes import product
from capture.ir.types import ArrayType

MATRIX = [[1.0, 2.0], [-0.0, 4.0]]


def _canonical_running(a: Any, axis: Any, dtype: Any) -> dict[str, Any]:
    base = require_value(a, "cumsum")
    if axis is not None:
        axis = one_axis(axis, base.ndim)
    elif base.ndim == 1:
        axis = 0
    return {"axis": axis, "dtype": working_dtype("sum", base.dtype, dtype)}


def _infer_running(a: Any, axis: int | None, dtype: Any) -> ArrayType:
    base = require_value(a, "cumsum")
    result = dtype or natural_dtype("sum", base.dtype)
    if axis is None:
        return allocated(result, (product(base.shape),))
    return allocated(result, base.shape, iteration_order(base))


for _name, _combine in (("cumsum", "add"), ("cumprod", "multiply")):
    define(
        name=_name,
        signature="a, axis=None, dtype=None",
        operands=("a",),
        calls=(getattr(np, _name),),
        methods=(_name,),
        canonical=_canonical_running,
        infer=_infer_running,
        reference=getattr(np, _name),
        accepts_out=True,
        lower=Scan(_combine),
        label="accumulate",
        samples=((MATRIX,), (MATRIX, {"axis": 0}), (MATRIX, {"axis": 1})),
    )


def _infer_extreme(a: Any, axis: int) -> ArrayType:
    base = require_array(a, "accumulate")
    return allocated(base.dtype, base.shape, iteration_order(base))


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda a, axis=0: ufunc.accumulate(a, axis)


for _ufunc in (np.maximum, np.minimum):
    define(
        name=f"running_{_ufunc.__name__}",
        signature="a, axis=0",
        operands=("a",),
        canonical=lambda a, axis: {"axis": one_axis(axis, require_array(a, "accumulate").ndim)},
        infer=_infer_extreme,
        reference=_running(_ufunc),
        source=f"np.{_ufunc.__name__}.accumulate({{0}}, {{axis}})",
        accepts_out=True,
        lower=Scan(_ufunc.__name__),
        tags=QUIET,
        label="accumulate",
        samples=((MATRIX,), (MATRIX, {"axis": 1})),
    )
