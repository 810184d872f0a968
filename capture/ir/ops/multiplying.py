"""Products of vectors and matrices in loops of their own, in place of a call of NumPy's and its BLAS.

In: the operands of ``matmul``, ``dot``, ``inner`` or ``vdot``. Out: what gives the same type::

    matmul(%x, %y)    →    %p = terms(%x[:, None, :], %y.T)
                           %t = sum_of_terms(%p, axis=(2,))
                           %m = not_below_zero(%t)

Float sums are added in pairs: their errors are below those of a BLAS, which adds up to hundreds of products one after
the other. What is left to NumPy: float16 and complex numbers, whose products it rounds in a way of its own, and
products of more than two axes by anything but ``matmul``.

NumPy warns once of what its products and sums raise, as far as the BLAS lets it know: floats are *unsure*, which has
the work done again by NumPy where anything was raised. Integers are quiet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Pointwise, Reduce, define
from capture.ir.ops.common import QUIET, UNSURE, allocated, broadcast_shapes, require_array
from capture.ir.ops.library import value_or_array
from capture.ir.sizes import asking
from capture.ir.types import ArrayType

LOOPED = frozenset({"matmul", "dot", "inner", "vdot"})
"""The functions of two operands that have a form in loops."""


def _infer_terms(x: Any, y: Any) -> ArrayType:
    a, b = require_array(x, "a product"), require_array(y, "a product")
    if a.dtype != b.dtype or a.dtype.kind not in "biuf" or a.dtype == np.float16:
        raise CannotInfer("products in loops are of one dtype, and of no float16 or complex numbers")
    return allocated(a.dtype, broadcast_shapes((a.shape, b.shape)))


def _infer_sum(a: Any, axis: tuple[int, ...]) -> ArrayType:
    base = require_array(a, "a sum")
    return value_or_array(base.dtype, [size for k, size in enumerate(base.shape) if k not in axis])


def _terms(x: Any, y: Any) -> Any:
    return np.multiply(x, y, order="C")


def _sum(a: Any, axis: tuple[int, ...]) -> Any:
    return np.any(a, axis=axis) if a.dtype == bool else np.sum(a, axis=axis, dtype=a.dtype)


def _quietly(function: Any) -> Any:
    def quiet(*args: Any, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **params)

    return quiet


for _prefix, _tags in (("", UNSURE), ("quiet_", QUIET)):
    define(
        name=f"{_prefix}terms",
        signature="x, y",
        operands=("x", "y"),
        infer=_infer_terms,
        reference=_quietly(_terms) if _tags is QUIET else _terms,
        lower=Pointwise(lambda s, x, y: s.multiply(x, y)),
        tags=_tags,
        label="matmul",
        samples=(([[1.0, -2.0], [3.0, 0.0]], [2.0, -0.0]), (np.array([100], "i1"), np.array([3, 4], "i1"))),
    )
    define(
        name=f"{_prefix}sum_of_terms",
        signature="a, axis",
        operands=("a",),
        infer=_infer_sum,
        reference=_quietly(_sum) if _tags is QUIET else _sum,
        lower=Reduce("add", lambda s, x, axis: x),
        tags=_tags,
        label="matmul",
        samples=(([[1.0, -2.0], [3.0, 0.0]], {"axis": (0,)}), (np.array([[100, 100]], "i1"), {"axis": (0, 1)})),
    )


def _infer_same(x: Any) -> ArrayType:
    if not isinstance(x, ArrayType) or x.dtype not in (np.float32, np.float64):
        raise CannotInfer("only floats have a zero below zero")
    return x if x.scalar else allocated(x.dtype, x.shape)


define(
    name="not_below_zero",
    signature="x",
    operands=("x",),
    infer=_infer_same,
    reference=lambda x: x + x.dtype.type(0),
    lower=Pointwise(lambda s, x: s.add(x, s.cast(s.position(0), x.dtype))),
    tags=QUIET,
    samples=(([1.0, -0.0, 0.0, -2.0],),),
)


def in_loops(graph: Any, name: str, x: Any, y: Any, wanted: ArrayType) -> Any:
    """The product, of the type that NumPy's has; CannotInfer where the loops have none."""
    with asking(graph.known):
        if name != "matmul" and max(x.type.ndim, y.type.ndim) > 2:
            raise CannotInfer(f"{name} of more than two axes")
        x, y = (graph.call("astype", a, dtype=wanted.dtype) if a.type.dtype != wanted.dtype else a for a in (x, y))
        by_columns = y.type.ndim > 1 and name != "inner"
        if by_columns:
            ndim = y.type.ndim
            y = graph.call("permute", y, axes=(*range(ndim - 2), ndim - 1, ndim - 2))
        if x.type.ndim > 1 and y.type.ndim > 1:
            x = graph.call("expand", x, axes=(x.type.ndim - 1,))
            y = graph.call("expand", y, axes=(y.type.ndim - 2,))
        prefix = "" if wanted.dtype.kind == "f" else "quiet_"
        terms = graph.call(f"{prefix}terms", x, y)
        found = graph.call(f"{prefix}sum_of_terms", terms, axis=(terms.type.ndim - 1,))
        if wanted.dtype.kind == "f":
            found = graph.call("not_below_zero", found)
        if found.type != wanted and isinstance(found.type, ArrayType) and not found.type.scalar:
            found = graph.call("copy", found, order="K")
    if found.type != wanted:
        raise CannotInfer(f"the product is {found.type} in loops, not {wanted}")
    return found
