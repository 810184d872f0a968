"""Reductions over some axes or all of them.

In: ``x.sum(axis=-1)``, ``np.var(x, axis=(0, 1), ddof=1)``. Out: nodes whose ``axis`` is a tuple of axes counted from
the front. mean, var and std are decomposed as NumPy's own ``_methods.py`` writes them.

>>> graph.call("sum", x, axis=-1)          # sum(%x, axis=(1,)): f64[3]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.op import CannotInfer, Decompose, ListLiteral, Lowering, Reduce, define
from capture.ir.ops.common import (
    QUIET,
    allocated,
    flag,
    given_dtype,
    lowered,
    many_axes,
    one_axis,
    require_value,
    surely_more,
)
from capture.ir.ops.orders import known_layout, require_visible_order
from capture.ir.ops.places import place_of
from capture.ir.shapes import Expr, Size, product
from capture.ir.sizes import UnknownSize, simplified
from capture.ir.types import ArrayType, keep_order, scalar_type

SAMPLES = (
    ([[1.0, -2.0, 3.0], [4.0, 0.0, -6.0]],),
    ([[1.0, np.nan, 3.0], [np.inf, 0.0, -6.0]], {"axis": (1,)}),
    ([[1.0, -2.0, 3.0], [4.0, 0.0, -6.0]], {"axis": (0,), "keepdims": True}),
)


def reduced(a: ArrayType, axis: tuple[int, ...], dtype: Any, keepdims: bool) -> ArrayType:
    """The type of a reduction's result: the axes that remain nest as in the operand."""
    shape: list[Size] = [1 if k in axis else size for k, size in enumerate(a.shape)]
    order = iteration_order(a)
    if not keepdims:
        kept = [k for k in range(a.ndim) if k not in axis]
        shape = [shape[k] for k in kept]
        order = [kept.index(k) for k in order if k in kept]
    require_visible_order((a,), shape)
    return allocated(dtype, shape, order) if shape else scalar_type(dtype)


def iteration_order(a: ArrayType) -> list[int]:
    return list(keep_order((known_layout(a),), a.ndim)) if a.ndim > 1 else list(range(a.ndim))


def count(a: ArrayType, axis: tuple[int, ...]) -> Size:
    """How many elements become one."""
    return product([a.shape[k] for k in axis])


def natural_dtype(name: str, dtype: np.dtype) -> np.dtype:
    """The dtype in which a reduction works when none is asked for."""
    if name in ("any", "all"):
        return np.dtype(bool)
    if name in ("mean", "var", "std"):
        return dtype if dtype.kind in "fc" else np.dtype("f8")
    if name in ("sum", "prod") and dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype("i8")
    if name in ("sum", "prod") and dtype.kind == "u":
        return np.dtype("u8")
    return dtype


def _canonical(name: str) -> Callable[..., dict[str, Any]]:
    def canonical(a: Any, axis: Any, **params: Any) -> dict[str, Any]:
        base = require_value(a, name)
        result: dict[str, Any] = {"axis": many_axes(axis, base.ndim)}
        if "dtype" in params:
            result["dtype"] = working_dtype(name, base.dtype, params["dtype"])
        if "ddof" in params:
            result["ddof"] = params["ddof"]
        result["keepdims"] = flag(params["keepdims"], "keepdims")
        return result

    return canonical


def working_dtype(name: str, dtype: np.dtype, asked: Any) -> np.dtype | None:
    """The dtype asked for, None where it changes nothing."""
    if asked is None:
        return None
    asked = given_dtype(asked)
    if is_complex(asked) != is_complex(dtype):
        raise CannotInfer(f"{name} of {dtype} in {asked}")
    if is_complex(dtype):
        return None if asked == natural_dtype(name, dtype) else asked
    if name in ("mean", "var", "std") and asked.kind != "f":
        raise CannotInfer(f"{name} in {asked}")
    if name == "mean" and dtype == np.float16 == asked:
        raise CannotInfer("a mean that is rounded to float16 on the way")
    if dtype.kind == "f" and asked.kind != "f":
        raise CannotInfer(f"{name} of {dtype} in {asked} casts each element")
    return None if asked == natural_dtype(name, dtype) else asked


def _infer(name: str, empty_is_defined: bool) -> Callable[..., ArrayType]:
    def infer(a: Any, axis: tuple[int, ...], dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> ArrayType:
        base = require_value(a, name)
        items = count(base, axis)
        if not empty_is_defined and not surely_more(items, 0):
            raise CannotInfer(f"{name} of nothing")
        if type(ddof) not in (int, float) or not surely_more(items, ddof or -1):
            raise CannotInfer("degrees of freedom that may not be positive")
        return reduced(base, axis, dtype or natural_dtype(name, lowered(base.dtype)), keepdims)

    return infer


def _reduction(name: str, function: Any, lower: Lowering, signature: str, *, empty: bool = False, **facts: Any) -> None:
    define(
        name=name,
        signature=signature,
        operands=("a",),
        calls=facts.pop("calls", (function,)),
        methods=facts.pop("methods", (name,)),
        canonical=_canonical(name),
        infer=_infer(name, empty),
        reference=function,
        lower=lower,
        accepts_out=True,
        label="reduce",
        samples=SAMPLES,
        **facts,
    )


WITH_DTYPE = "a, axis=None, dtype=None, *, keepdims=False"
WITHOUT_DTYPE = "a, axis=None, *, keepdims=False"

_reduction("sum", np.sum, Reduce("add"), WITH_DTYPE, empty=True)
_reduction("prod", np.prod, Reduce("multiply"), WITH_DTYPE, empty=True)
_reduction("max", np.max, Reduce("maximum"), WITHOUT_DTYPE, calls=(np.max, np.amax), tags=QUIET)
_reduction("min", np.min, Reduce("minimum"), WITHOUT_DTYPE, calls=(np.min, np.amin), tags=QUIET)
_reduction("any", np.any, Reduce("logical_or"), WITHOUT_DTYPE, empty=True, tags=QUIET)
_reduction("all", np.all, Reduce("logical_and"), WITHOUT_DTYPE, empty=True, tags=QUIET)


# argmax, argmin ---------------------------------------------------------------------------------------------------
def _canonical_argument(a: Any, axis: Any, keepdims: Any) -> dict[str, Any]:
    base = require_value(a, "argmax")
    axes = tuple(range(base.ndim)) if axis is None else axis
    if isinstance(axes, ListLiteral):
        raise CannotInfer("the axis is a list")
    if not isinstance(axes, tuple):
        axes = (one_axis(axes, max(base.ndim, 1)),)[: base.ndim]
    return {"axis": axes, "keepdims": flag(keepdims, "keepdims")}


def _infer_argument(a: Any, axis: tuple[int, ...], keepdims: bool) -> ArrayType:
    base = require_value(a, "argmax")
    if axis != tuple(range(base.ndim)) and len(axis) != 1:
        raise CannotInfer("argmax along some of the axes")
    if not surely_more(count(base, axis), 0):
        raise CannotInfer("attempt to get argmax of an empty sequence")
    shape = [1 if k in axis else size for k, size in enumerate(base.shape) if keepdims or k not in axis]
    return allocated(np.intp, shape) if shape else scalar_type(np.intp)


def _argument_reference(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(a: Any, axis: tuple[int, ...], keepdims: bool = False) -> Any:
        return function(a, axis=axis[0] if len(axis) == 1 else None, keepdims=keepdims)

    return reference


def _argument_source(name: str) -> Callable[..., str]:
    def source(a: str, axis: tuple[int, ...], keepdims: bool) -> str:
        given = [a] + [f"axis={axis[0]}"] * (len(axis) == 1) + ["keepdims=True"] * keepdims
        return f"np.{name}({', '.join(given)})"

    return source


for _name, _function in (("argmax", np.argmax), ("argmin", np.argmin)):
    define(
        name=_name,
        signature=WITHOUT_DTYPE,
        operands=("a",),
        calls=(_function,),
        methods=(_name,),
        canonical=_canonical_argument,
        infer=_infer_argument,
        reference=_argument_reference(_function),
        source=_argument_source(_name),
        accepts_out=True,
        lower=Reduce(_name, lambda s, x, **params: x),
        tags=QUIET,
        samples=SAMPLES,
    )


# mean, var, std ---------------------------------------------------------------------------------------------------
def _quotient(graph: Any, total: Any, divisor: Any) -> Any:
    """``true_divide(total, divisor)`` in the dtype of ``total``, rounded as by way of float64 or complex128."""
    dtype = total.type.dtype
    wide = np.dtype("c16" if is_complex(dtype) else "f8")
    if isinstance(divisor, Expr):
        number = graph.call("size_number", size=divisor)
        if dtype == wide:
            return graph.call("divide", total, number)
        exact = graph.call("divide", graph.call("astype", total, dtype=wide), number)
        return graph.call("astype", exact, dtype=dtype)
    if dtype == wide or (not is_complex(dtype) and float(dtype.type(divisor)) == float(divisor)):
        return graph.call("divide", total, float(divisor))
    exact = graph.call("divide", graph.call("astype", total, dtype=wide), float(divisor))
    return graph.call("astype", exact, dtype=dtype)


def _sum(graph: Any, a: Any, axis: tuple[int, ...], dtype: Any, keepdims: bool, place: str) -> Any:
    """A sum in at least the float dtype that mean and var work in."""
    working = dtype or natural_dtype("mean", a.type.dtype)
    with graph.within(place_of(place)):
        return graph.call("sum", a, axis=axis, dtype=working, keepdims=keepdims)


def _expand_mean(graph: Any, a: Any, axis: tuple[int, ...], dtype: Any, keepdims: bool) -> Any:
    if dtype is None and a.type.dtype == np.float16:
        total = _sum(graph, a, axis, np.dtype("f4"), keepdims, "mean")
        return graph.call("astype", _quotient(graph, total, count(a.type, axis)), dtype=np.dtype("f2"))
    total = _sum(graph, a, axis, dtype, keepdims, "mean")
    with graph.within(place_of("mean divide")):
        return _quotient(graph, total, count(a.type, axis))


def _expand_var(graph: Any, a: Any, axis: tuple[int, ...], dtype: Any, ddof: float, keepdims: bool) -> Any:
    items: Any = count(a.type, axis)
    mean = _quotient(graph, _sum(graph, a, axis, dtype, True, "var mean"), items)
    with graph.within(place_of("var subtract")):
        deviation = graph.call("subtract", a, mean)
    with graph.within(place_of("var square")):
        squared = (
            graph.call("square", deviation)
            if _SQUARES and a.type.dtype.kind != "b"
            else graph.call("multiply", deviation, deviation)
        )
    return _quotient(graph, _sum(graph, squared, axis, dtype, keepdims, "var sum"), _degrees(items, ddof))


def _degrees(items: Any, ddof: float) -> Any:
    """``items - ddof``, which inference found to be positive."""
    if isinstance(items, int):
        return max(items - ddof, 0)
    if not float(ddof).is_integer():
        raise UnknownSize("degrees of freedom that are no int", items)
    return simplified(items - int(ddof))


def _expand_std(graph: Any, a: Any, **params: Any) -> Any:
    return graph.call("sqrt", _expand_var(graph, a, **params))


def _squares() -> bool:
    """Whether var calls ``square`` (NumPy 2.4) or ``multiply``: its overflow warnings tell."""

    class Log:
        text = ""

        def write(self, message: str) -> None:
            self.text += message

    log = Log()
    with np.errstate(over="log", call=log):
        np.var(np.array([1e200, -1e200]))
    return "square" in log.text


_SQUARES = _squares()
_reduction("mean", np.mean, Decompose(_expand_mean), WITH_DTYPE)
WITH_DDOF = "a, axis=None, dtype=None, *, ddof=0, keepdims=False"
_reduction("var", np.var, Decompose(_expand_var), WITH_DDOF)
_reduction("std", np.std, Decompose(_expand_std), WITH_DDOF)


# ptp, count_nonzero, cumulative -----------------------------------------------------------------------------------
def _ptp(graph: Any, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    highest, lowest = (graph.call(name, a, axis=axis, keepdims=keepdims) for name in ("max", "min"))
    with graph.within(place_of("ptp")):
        return graph.call("subtract", highest, lowest)


define(name="ptp", signature=WITHOUT_DTYPE, operands=("a",), calls=(np.ptp,), expand=_ptp)
