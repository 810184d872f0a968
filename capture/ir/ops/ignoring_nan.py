"""Reductions that leave NaN out, as NumPy's ``_nanfunctions_impl.py`` writes them.

In: ``np.nansum(x, axis=0)``, ``np.nanmax(x)``, ``np.nanmean(x)``. Out: the reductions of ``where(isnan(x), …, x)``.
Where nothing but NaN is left NumPy warns or raises: a test leaves such a call to plain Python.

>>> graph.call("nansum", x)          # sum(where(isnan(x), 0.0, x))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, define
from capture.ir.ops.choosing import require
from capture.ir.ops.common import operand_type, require_array
from capture.ir.ops.places import place_of, place_of_call

WITH_DTYPE = "a, axis=None, dtype=None, *, keepdims=False"
WITHOUT_DTYPE = "a, axis=None, *, keepdims=False"


def _replaced(graph: Any, a: Any, value: float) -> tuple[Any, Any]:
    """The array with a number in place of NaN, and where it was; (a, None) where there is no NaN."""
    base = require_array(operand_type(a), "a reduction")
    if not base.ndim:
        raise CannotInfer("a reduction of an array without axes")
    if base.dtype.kind != "f":
        return a, None
    missing = graph.call("isnan", a)
    return graph.call("where", missing, value, a), missing


def _ignoring(name: str, neutral: float, some_left: bool) -> Callable[..., Any]:
    """``name`` of what is no NaN; ``some_left``: it is not defined where everything is."""

    def expand(graph: Any, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
        values, missing = _replaced(graph, a, neutral)
        if missing is not None and some_left:
            require(graph, graph.call("all", missing, axis=axis))
        given = {} if dtype is None else {"dtype": dtype}
        with graph.within(place_of_call(getattr(np, name))):
            return graph.call(name, values, axis=axis, keepdims=keepdims, **given)

    return expand


def _running(name: str, neutral: float) -> Callable[..., Any]:
    def expand(graph: Any, a: Any, axis: Any = None, dtype: Any = None) -> Any:
        values, _ = _replaced(graph, a, neutral)
        with graph.within(place_of_call(getattr(np, name))):
            return graph.call(name, values, axis=axis, dtype=dtype)

    return expand


def _nanmean(graph: Any, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    """A sum divided by a count, through float64."""
    values, missing = _replaced(graph, a, 0.0)
    if missing is None or dtype is not None:
        raise CannotInfer("nanmean of integers, or in a given dtype")
    present = graph.call("logical_not", missing)
    count = graph.call("sum", present, axis=axis, dtype=np.dtype(np.intp), keepdims=keepdims)
    with graph.within(place_of("sum")):
        total = graph.call("sum", values, axis=axis, keepdims=keepdims)
    require(graph, graph.call("less", count, 1))
    quotient = graph.call("divide", total, count)
    return quotient if quotient.type.dtype == a.type.dtype else graph.call("astype", quotient, dtype=a.type.dtype)


def _nanvar(graph: Any, a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    """Squares of distances from the mean, divided as there; NumPy's warnings where the result is not finite."""
    values, missing = _replaced(graph, a, 0.0)
    if missing is None:
        return graph.call("var", a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    if dtype is not None or type(ddof) is not int:
        raise CannotInfer("nanvar in a given dtype")
    mean = _nanmean(graph, a, axis, None, True)
    deviation = graph.call("where", missing, 0.0, graph.call("subtract", values, mean))
    total = graph.call("sum", graph.call("multiply", deviation, deviation), axis=axis, keepdims=keepdims)
    present = graph.call("logical_not", missing)
    count = graph.call("sum", present, axis=axis, dtype=np.dtype(np.intp), keepdims=keepdims)
    degrees = graph.call("subtract", count, ddof)
    require(graph, graph.call("less", degrees, 1))
    found = graph.call("divide", total, degrees)
    found = found if found.type.dtype == a.type.dtype else graph.call("astype", found, dtype=a.type.dtype)
    require(graph, graph.call("logical_not", graph.call("isfinite", found)))
    return found


def _nanstd(graph: Any, a: Any, **params: Any) -> Any:
    return graph.call("sqrt", _nanvar(graph, a, **params))


def _by_numpy(name: str) -> Callable[..., Any]:
    """A call of NumPy's function, where there is something left to find a quantile of."""

    def expand(graph: Any, a: Any, *args: Any, axis: Any = None, **params: Any) -> Any:
        missing = _replaced(graph, a, 0.0)[1]
        if missing is not None:
            require(graph, graph.call("all", missing, axis=axis))
        return graph.call(f"guarded_{name}", a, *args, axis=axis, **params)

    return expand


WITH_DDOF = "a, axis=None, dtype=None, *, ddof=0, keepdims=False"
WITH_Q = "a, q, axis=None, *, method='linear', keepdims=False"
_ROWS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("nansum", WITH_DTYPE, _ignoring("sum", 0.0, False)),
    ("nanprod", WITH_DTYPE, _ignoring("prod", 1.0, False)),
    ("nanmax", WITHOUT_DTYPE, _ignoring("max", -np.inf, True)),
    ("nanmin", WITHOUT_DTYPE, _ignoring("min", np.inf, True)),
    ("nanargmax", WITHOUT_DTYPE, _ignoring("argmax", -np.inf, True)),
    ("nanargmin", WITHOUT_DTYPE, _ignoring("argmin", np.inf, True)),
    ("nancumsum", "a, axis=None, dtype=None", _running("cumsum", 0.0)),
    ("nancumprod", "a, axis=None, dtype=None", _running("cumprod", 1.0)),
    ("nanmean", WITH_DTYPE, _nanmean),
    ("nanvar", WITH_DDOF, _nanvar),
    ("nanstd", WITH_DDOF, _nanstd),
    ("nanmedian", WITHOUT_DTYPE, _by_numpy("nanmedian")),
    ("nanpercentile", WITH_Q, _by_numpy("nanpercentile")),
    ("nanquantile", WITH_Q, _by_numpy("nanquantile")),
)
for _name, _signature, _expand in _ROWS:
    _operands = ("a", "q") if _signature is WITH_Q else ("a",)
    define(name=_name, signature=_signature, operands=_operands, calls=(getattr(np, _name),), expand=_expand)
