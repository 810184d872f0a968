"""Other shapes for the same elements: ``reshape``, ``ravel``, ``flatten``, ``atleast_2d``.

In: ``x.reshape(2, -1, order="F")``, ``np.ravel(x, "K")``. Out: a view where NumPy makes one, else a copy in the order
asked for, of which that is a view. Fortran order is C order of the axes turned around.

>>> str(graph.call("np_reshape", x, (6,), order="F").type)          # x: f64[2, 3] in C order; a copy
'f64[6]'
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Flatten, define
from capture.ir.ops.common import QUIET, is_array, number_of_elements, operand_type, require_array
from capture.ir.ops.orders import copy_order, is_only_f
from capture.ir.ops.strides import contiguity, copies_on_reshape
from capture.ir.ops.views import SAMPLES, canonical_reshape, spread
from capture.ir.types import ArrayType, array_type, is_static

_OF_NUMPY = inspect.signature(np.reshape).parameters
HAS_COPY = "copy" in _OF_NUMPY
"""Whether this NumPy (from 2.1 on) can be told not to copy, or to copy in any case."""
SHAPE = "shape" if "shape" in _OF_NUMPY else "newshape"


def turned(graph: Any, a: Any) -> Any:
    """The axes the other way round: what is in Fortran order is in C order then."""
    return graph.call("permute", a, axes=tuple(reversed(range(a.type.ndim))))


def _named_order(order: Any, base: ArrayType) -> str:
    """``order`` as "C" or "F"; "A" is Fortran order for arrays that are in it and in no other."""
    if order == "A":
        return "F" if is_only_f(base) else "C"
    if order not in ("C", "F"):
        raise CannotInfer(f"order is {order!r}")
    return order


# reshape ----------------------------------------------------------------------------------------------------------
def _reshape(graph: Any, a: Any, shape: Any, order: Any = "C", copy: Any = ...) -> Any:
    """A view where NumPy makes one, else a copy that is then a view in the new shape."""
    base = require_array(operand_type(a), "reshape")
    if copy is not ... and (not HAS_COPY or copy not in (None, True, False)):
        raise CannotInfer("reshape is told whether to copy")
    if _named_order(order, base) == "F":
        sizes = shape if isinstance(shape, tuple) else (shape,)
        return turned(graph, _reshape(graph, turned(graph, a), sizes[::-1], "C", copy))
    sizes = canonical_reshape(base, shape)["shape"]
    copies = copy is True or copies_on_reshape(base, sizes, a)
    if copies and copy is False:
        raise CannotInfer("Unable to avoid creating a copy while reshaping.")
    if copies:
        a = graph.call("copy", a, order="C")
    return graph.call("reshape", a, shape=sizes)


def _reshape_method(graph: Any, a: Any, shape: tuple[Any, ...] = (), order: Any = "C", copy: Any = ...) -> Any:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))``; ``x.reshape()`` is an error."""
    if not shape:
        raise CannotInfer("reshape to no shape")
    return _reshape(graph, a, spread(shape), order, copy)


def _np_reshape(graph: Any, a: Any, *shape: Any, order: Any = "C", copy: Any = ..., **named: Any) -> Any:
    """The shape has another name in NumPy 2.0."""
    (given,) = (*shape, *named.values())
    return _reshape(graph, a, given, order, copy)


define(
    name="np_reshape",
    signature=f"a, {SHAPE}, order='C', *, copy=...",
    operands=("a",),
    calls=(np.reshape,),
    expand=_np_reshape,
)
define(
    name="ndarray_reshape",
    signature="a, *shape, order='C', copy=...",
    operands=("a",),
    methods=("reshape",),
    expand=_reshape_method,
)


# ravel and flatten ------------------------------------------------------------------------------------------------
def _infer_flat(a: Any) -> ArrayType:
    base = require_array(a, "flatten")
    return array_type(base.dtype, (number_of_elements(base.shape),))


define(
    name="flat",
    signature="a",
    operands=("a",),
    infer=_infer_flat,
    reference=lambda a: a.flatten(),
    source="{0}.flatten()",
    lower=Flatten(),
    samples=(SAMPLES,),
    tags=QUIET,
)


def _as_in_memory(graph: Any, a: Any) -> Any:
    """The axes as they nest in memory without gaps, which is the order "K"."""
    base = a.type
    for candidate in (a, turned(graph, a)):
        if contiguity(candidate.type, candidate):
            return candidate
    if base.layout is None or not base.layout.dense or not is_static(base.shape):
        raise CannotInfer("the order of the elements in memory is not known")
    return graph.call("permute", a, axes=copy_order(base))


def _in_order(graph: Any, a: Any, order: Any) -> Any:
    """The array with its axes such that C order is the order asked for."""
    base = require_array(operand_type(a), "ravel")
    if order == "K":
        return _as_in_memory(graph, a)
    return turned(graph, a) if _named_order(order, base) == "F" else a


def raveled(graph: Any, a: Any, order: Any = "C") -> Any:
    a = _in_order(graph, a, order)
    contiguous = contiguity(a.type, a)
    if contiguous is None:
        raise CannotInfer("whether this ravel is a view depends on strides that are not known")
    if not contiguous:
        return graph.call("flat", a)
    return graph.call("reshape", a, shape=(number_of_elements(a.type.shape),))


def in_a_row(graph: Any, a: Any) -> Any:
    """The elements along one axis, to be read only: nobody sees whether they were copied."""
    base = require_array(operand_type(a), "ravel")
    if base.ndim == 1:
        return a
    contiguous = base.layout is not None and base.layout.is_c
    if not contiguous and is_static(base.shape):
        contiguous = bool(contiguity(base, a))
    return graph.call("reshape", a, shape=(number_of_elements(base.shape),)) if contiguous else graph.call("flat", a)


def _flatten(graph: Any, a: Any, order: Any = "C") -> Any:
    return graph.call("flat", _in_order(graph, a, order))


define(
    name="ravel",
    signature="a, order='C'",
    operands=("a",),
    calls=(np.ravel,),
    methods=("ravel",),
    expand=raveled,
)
define(name="in_a_row", signature="a", operands=("a",), expand=in_a_row)
define(name="flatten", signature="a, order='C'", operands=("a",), methods=("flatten",), expand=_flatten)


# At least so many axes --------------------------------------------------------------------------------------------
NEW_AXES: Mapping[Any, tuple[int, Mapping[int, tuple[int, ...]]]] = {
    np.atleast_1d: (1, {0: (0,)}),
    np.atleast_2d: (2, {0: (0, 1), 1: (0,)}),
    np.atleast_3d: (3, {0: (0, 1, 2), 1: (0, 2), 2: (2,)}),
}
"""For each function how many axes there are at least, and where an array of fewer gets them."""


def _at_least(ndim: int, new_axes: Mapping[int, tuple[int, ...]]) -> Any:
    """The same array when it has ``ndim`` axes; else it gets the new ones. Several arrays are given in a tuple."""

    def one(graph: Any, a: Any) -> Any:
        array = a if is_array(operand_type(a)) else graph.call("asarray", a)
        base = require_array(array.type, f"atleast_{ndim}d")
        return array if base.ndim >= ndim else graph.call("expand", array, axes=new_axes[base.ndim])

    def expand(graph: Any, *arrays: Any) -> Any:
        if not arrays:
            raise CannotInfer("at least one array")
        found = tuple(one(graph, a) for a in arrays)
        return found[0] if len(found) == 1 else found

    return expand


for _function, (_ndim, _new_axes) in NEW_AXES.items():
    define(
        name=f"atleast_{_ndim}d",
        signature="*arrays",
        operands=("arrays",),
        calls=(_function,),
        expand=_at_least(_ndim, _new_axes),
    )
