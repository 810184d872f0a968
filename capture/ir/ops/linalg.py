"""Products of matrices and vectors, by NumPy (and its BLAS).

In: ``x @ y``, ``np.dot``, ``np.inner``, ``np.outer``, ``np.cross``. Out: extern nodes with exact types; ``outer`` is a
product of reshaped operands, ``cross`` of vectors of three elements is what NumPy computes.

>>> str(graph.call("matmul", x, y).type)   # f64[8, 3, 4] @ f64[4, 5]
'f64[8, 3, 5]'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Node
from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.common import (
    allocated,
    broadcast_shapes,
    lowered,
    one_axis,
    operand_type,
    require_array,
    require_value,
    resolve,
)
from capture.ir.ops.orders import common_order, known_layout, require_visible_order
from capture.ir.ops.places import place_of
from capture.ir.ops.pointwise import UFUNC
from capture.ir.ops.reshaping import in_a_row
from capture.ir.shapes import Size
from capture.ir.sizes import same
from capture.ir.types import ArrayType, Layout, scalar_type

MATRICES = (
    ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]),
    ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 2.0, 3.0]),
    ([1.0, 2.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ([1.0, 2.0], [3.0, 4.0]),
)
STACKED = (([[[1.0, 2.0]], [[3.0, 4.0]]], [[1.0, 2.0], [3.0, 4.0]]),)


def _require_equal(one: Size, other: Size) -> None:
    if not same(one, other):
        raise CannotInfer(f"the inner sizes {one} and {other} of a product differ")


def _infer_matmul(x: Any, y: Any) -> ArrayType:
    a, b = require_array(x, "matmul"), require_array(y, "matmul")
    if not a.ndim or not b.ndim:
        raise CannotInfer("matmul of arrays without axes")
    _require_equal(a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0])
    rows = a.shape[-2:-1]
    columns = b.shape[-1:] if b.ndim > 1 else ()
    stacked = broadcast_shapes((a.shape[:-2], b.shape[:-2]))
    shape = (*stacked, *rows, *columns)
    dtype = resolve(np.matmul, a, b)[-1]
    if not shape:
        return scalar_type(dtype)
    require_visible_order((a, b), stacked)
    order = [*_stacking_order(a, b, len(stacked)), *range(len(stacked), len(shape))]
    return allocated(dtype, shape, order)


def _stacking_order(a: ArrayType, b: ArrayType, ndim: int) -> tuple[int, ...]:
    """The stacked axes nest in K order of the operands, outside of the matrices, which are in C order."""
    if ndim < 2:
        return tuple(range(ndim))
    stacks = [
        ArrayType(operand.dtype, operand.shape[:-2], Layout(known_layout(operand).ranks[:-2], False, False))
        for operand in (a, b)
        if operand.ndim > 2
    ]
    return common_order(stacks, ndim)


define(
    name="matmul",
    signature="x, y, /",
    operands=("x", "y"),
    calls=(np.matmul,),
    infer=_infer_matmul,
    reference=np.matmul,
    lower=Extern(),
    accepts_out=True,
    tags=UFUNC,
    label="matmul",
    samples=(*MATRICES, *STACKED),
)


def _product_type(a: ArrayType, b: ArrayType, shape: tuple[Size, ...]) -> ArrayType:
    dtype = lowered(np.result_type(a.dtype, b.dtype))
    return allocated(dtype, shape) if shape else scalar_type(dtype)


def _infer_dot(a: Any, b: Any) -> ArrayType:
    a, b = require_value(a, "dot"), require_value(b, "dot")
    if not a.ndim or not b.ndim:
        raise CannotInfer("dot with a number is a product")
    _require_equal(a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0])
    rest = (*b.shape[:-2], b.shape[-1]) if b.ndim > 1 else ()
    return _product_type(a, b, (*a.shape[:-1], *rest))


def _infer_inner(a: Any, b: Any) -> ArrayType:
    a, b = require_value(a, "inner"), require_value(b, "inner")
    if not a.ndim or not b.ndim:
        raise CannotInfer("inner with a number is a product")
    _require_equal(a.shape[-1], b.shape[-1])
    return _product_type(a, b, (*a.shape[:-1], *b.shape[:-1]))


def _infer_vdot(a: Any, b: Any) -> ArrayType:
    a, b = require_array(a, "vdot"), require_array(b, "vdot")
    if a.ndim != 1 or b.ndim != 1:
        raise CannotInfer("vdot of anything but vectors")
    _require_equal(a.shape[0], b.shape[0])
    return _product_type(a, b, ())


define(
    name="dot",
    signature="a, b",
    operands=("a", "b"),
    calls=(np.dot,),
    methods=("dot",),
    infer=_infer_dot,
    reference=np.dot,
    lower=Extern(),
    label="dot",
    samples=(*MATRICES, *STACKED),
)
define(
    name="inner",
    signature="a, b, /",
    operands=("a", "b"),
    calls=(np.inner,),
    infer=_infer_inner,
    reference=np.inner,
    lower=Extern(),
    label="inner",
    samples=(([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, 1.0], [5.0, 6.0]]), ([1.0, 2.0], [3.0, 4.0])),
)
define(
    name="vdot",
    signature="a, b, /",
    operands=("a", "b"),
    calls=(np.vdot,),
    infer=_infer_vdot,
    reference=np.vdot,
    lower=Extern(),
    label="vdot",
    samples=(([1.0, 2.0], [3.0, 4.0]),),
)


def _outer(graph: Any, a: Any, b: Any) -> Any:
    """``multiply(a.ravel()[:, newaxis], b.ravel()[newaxis, :])``, as NumPy writes it."""
    column = graph.call("expand", in_a_row(graph, a), axes=(1,))
    row = graph.call("expand", in_a_row(graph, b), axes=(0,))
    with graph.within(place_of("outer")):
        return graph.call("multiply", column, row)


def _ufunc_outer(graph: Any, ufunc: Any, a: Any, b: Any) -> Any:
    """``ufunc(a[..., newaxis, newaxis], b)``, with as many new axes as b has."""
    left, right = (operand if isinstance(operand, Node) else graph.call("asarray", operand) for operand in (a, b))
    ndim = left.type.ndim
    new = tuple(range(ndim, ndim + right.type.ndim))
    return graph.call(ufunc, graph.call("expand", left, axes=new) if new else left, right)


define(name="ufunc_outer", signature="ufunc, a, b, /", operands=("ufunc", "a", "b"), expand=_ufunc_outer)
define(name="outer", signature="a, b", operands=("a", "b"), calls=(np.outer,), expand=_outer)


def _cross(graph: Any, a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """NumPy's operations, for vectors of three elements along the last axes."""
    places = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    arrays = [require_array(operand_type(x), "cross") for x in (a, b)]
    ndims = [array.ndim for array in arrays]
    if not all(ndims) or ndims == [1, 1]:
        raise CannotInfer("cross of two single vectors")
    if any(array.shape[-1] != 3 or array.dtype.kind not in "iufc" for array in arrays):
        raise CannotInfer("cross of other vectors than of three numbers")
    if any(one_axis(place, ndim) != ndim - 1 for place, ndim in zip(places, (*ndims, max(ndims)), strict=True)):
        raise CannotInfer("cross along other axes than the last")
    first, second = ([graph.call("getitem", x, key=(..., k)) for k in range(3)] for x in (a, b))
    parts = []
    for number, (left, right) in enumerate(((1, 2), (2, 0), (0, 1))):
        products = []
        for place, one, other in ((3 * number, left, right), (3 * number + 1, right, left)):
            with graph.within(place_of(f"cross {place}")):
                products.append(graph.call("multiply", first[one], second[other]))
        with graph.within(place_of(f"cross {3 * number + 2}")):
            parts.append(graph.call("subtract", *products))
    result = graph.call("stack", tuple(parts), axis=-1)
    if result.type.layout is None or not result.type.layout.is_c:  # as NumPy's always is
        raise CannotInfer("cross of arrays in other orders")
    return graph.call("getitem", result, key=(slice(None),))  # NumPy moves an axis, and gives a view


define(
    name="cross",
    signature="a, b, axisa=-1, axisb=-1, axisc=-1, axis=None",
    operands=("a", "b"),
    calls=(np.cross,),
    expand=_cross,
)
