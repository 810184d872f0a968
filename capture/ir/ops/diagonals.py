"""Diagonals, read and written.

In: ``np.diagonal(x)``, ``np.diag(v)``, ``np.fill_diagonal(x, 0)``. Out: read-only views, a store into a slice of the
flattened array.

>>> str(graph.call("diagonal", x, offset=1).type)          # x of shape (3, 4)
'f64[3]{strided<1>}'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import READONLY, CannotInfer, Strided, ViewOf, define
from capture.ir.ops.common import one_axis, operand_type, require_array, static
from capture.ir.ops.strides import dense_strides
from capture.ir.ops.views import viewed
from capture.ir.shapes import Expr, Size, maximum, minimum
from capture.ir.types import ArrayType, Layout, is_static

MATRIX = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0]]


def _canonical_diagonal(a: Any, offset: Any, axis1: Any, axis2: Any) -> dict[str, Any]:
    ndim = require_array(a, "diagonal").ndim
    one, other = one_axis(axis1, ndim), one_axis(axis2, ndim)
    if one == other:
        raise CannotInfer("axis1 and axis2 cannot be the same")
    return {"offset": static(offset, "the offset"), "axis1": one, "axis2": other}


def _diagonal_strided(view: Strided, offset: int, axis1: int, axis2: int) -> Strided:
    """``a[i - min(offset, 0), i + max(offset, 0)]``, the axes put last."""
    rest = [axis for axis in range(len(view.shape)) if axis not in (axis1, axis2)]
    count = diagonal_length(view.shape[axis1], view.shape[axis2], offset)
    start = view.offset + (view.strides[axis2] * offset if offset > 0 else view.strides[axis1] * -offset)
    return Strided(
        view.offset if isinstance(count, int) and count == 0 else start,
        (*(view.shape[axis] for axis in rest), count),
        (*(view.strides[axis] for axis in rest), view.strides[axis1] + view.strides[axis2]),
    )


def _diagonal_index(
    index: tuple[Any, ...], in_shape: tuple[Size, ...], offset: int, axis1: int, axis2: int
) -> tuple[Any, ...]:
    *others, place = index
    rest = iter(others)
    along = {axis1: place + max(-offset, 0), axis2: place + max(offset, 0)}
    return tuple(along[axis] if axis in along else next(rest) for axis in range(len(in_shape)))


def diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    return maximum(0, minimum(rows + min(offset, 0), columns - max(offset, 0)))


def _infer_diagonal(a: Any, offset: int, axis1: int, axis2: int) -> ArrayType:
    base = require_array(a, "diagonal")
    strides = dense_strides(base)
    made = _diagonal_strided(Strided(0, base.shape, strides or (0,) * base.ndim), offset, axis1, axis2)
    layout = None
    if strides is not None and is_static(base.shape):
        layout = Layout.of_strides(made.shape, made.strides, 1)
    elif base.ndim == 2:
        layout = Layout((int(made.shape[0] != 1),), False, False)
    return viewed(base, made.shape, layout)


define(
    name="diagonal",
    signature="a, offset=0, axis1=0, axis2=1",
    operands=("a",),
    calls=(np.diagonal,),
    methods=("diagonal",),
    canonical=_canonical_diagonal,
    infer=_infer_diagonal,
    reference=np.diagonal,
    lower=ViewOf(_diagonal_strided, _diagonal_index),
    tags=frozenset({READONLY}),
    samples=((MATRIX,), (MATRIX, {"offset": 1}), (MATRIX, {"offset": -1}), (MATRIX, {"axis1": 1, "axis2": 0})),
)


def _diag(graph: Any, v: Any, k: Any = 0) -> Any:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    base, offset = require_array(operand_type(v), "diag"), static(k, "k")
    if base.ndim == 2:
        return graph.call("diagonal", v, offset=offset)
    if base.ndim != 1:
        raise CannotInfer("Input must be 1- or 2-d.")
    size = base.shape[0] + abs(offset)
    if isinstance(size, Expr):
        return _matrix_of_open_size(graph, v, size, offset)
    if not size:
        raise CannotInfer("a matrix of nothing")
    zeros = graph.call("full", 0, shape=(size, size), dtype=base.dtype)
    return graph.store(diagonal_of_flat(graph, zeros, offset), v)


def _matrix_of_open_size(graph: Any, v: Any, size: Size, offset: int) -> Any:
    """The same without a step that changes: each row chooses its element, or each column where these are fewer."""
    padded = graph.call("pad", v, (0, abs(offset))) if offset else v
    spread = graph.call("expand", padded, axes=(0,) if offset < 0 else (1,))
    return graph.call("where", graph.call("eye", N=size, k=offset, dtype=bool), spread, v.type.dtype.type(0).item())


def diagonal_of_flat(graph: Any, a: Any, offset: int = 0) -> Any:
    """The diagonal of a matrix in C order as a view that may be written."""
    rows, columns = a.type.shape
    flat = graph.call("reshape", a, shape=(rows * columns,))
    start = offset if offset >= 0 else -offset * columns
    count = diagonal_length(rows, columns, offset)
    return graph.call("slice", flat, starts=(start,), steps=(columns + 1,), sizes=(count,))


define(name="diag", signature="v, k=0", operands=("v",), calls=(np.diag,), expand=_diag)
