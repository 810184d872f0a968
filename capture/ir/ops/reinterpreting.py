"""Memory under another dtype: ``x.view(dtype)``, of arrays and of NumPy scalars.

In: ``x.view(np.int32)``. Out: for an array ``bits``, a view whose elements have the same bits and the same places, or
``cells``, the parts of complex numbers where these are neighbours; for a NumPy scalar ``scalar_bits``, a new one. Bools
can be read as integers, but never be written as such, nor made of them: whoever reads a bool takes for certain that it
is 0 or 1.

>>> str(graph.call("bits", x, dtype=np.dtype("i4")).type)          # x: f32[3, 4]
'i32[3, 4]'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.complexes import CELLS, is_complex
from capture.ir.op import CannotInfer, Pointwise, Strided, ViewOf, define
from capture.ir.ops.common import QUIET, given_dtype, is_array, operand_type, require_array, require_value
from capture.ir.ops.views import viewed
from capture.ir.shapes import floordiv
from capture.ir.types import ArrayType, Layout, scalar_type
from capture.records import replace

SAMPLES = (
    (np.array([[1.0, -0.0], [np.nan, 3.5]]), {"dtype": np.dtype("i8")}),
    (np.array([1, -2, 1 << 30], np.int32), {"dtype": np.dtype("f4")}),
    (np.array([1, -2, 3], np.int8), {"dtype": np.dtype("u1")}),
    (np.array([True, False]), {"dtype": np.dtype("u1")}),
    (np.array([1.5, -2.0], np.float16), {"dtype": np.dtype("u2")}),
)


def _require_bits(of: np.dtype, dtype: np.dtype) -> None:
    """Refuse dtypes of other sizes, and what is none of single numbers."""
    if of.itemsize != dtype.itemsize:
        raise CannotInfer(f"{of} seen as {dtype}, which has elements of another size")
    if dtype.kind not in "iuf" or of.kind not in "biuf":
        raise CannotInfer(f"{of} seen as {dtype}")


def _canonical(a: Any, dtype: Any) -> dict[str, Any]:
    return {"dtype": given_dtype(dtype)}


def _infer_bits(a: Any, dtype: np.dtype) -> ArrayType:
    base = require_array(a, "another dtype")
    _require_bits(base.dtype, dtype)
    return replace(viewed(base, base.shape, base.layout), dtype=dtype)


def _infer_scalar_bits(a: Any, dtype: np.dtype) -> ArrayType:
    base = require_value(a, "another dtype")
    if not base.scalar:
        raise CannotInfer("a scalar of what is none")
    _require_bits(base.dtype, dtype)
    return scalar_type(dtype)


def _source(a: str, dtype: np.dtype) -> str:
    return f"{a}.view(np.dtype({dtype.str!r}))"


define(
    name="bits",
    signature="a, dtype",
    operands=("a",),
    canonical=_canonical,
    infer=_infer_bits,
    reference=lambda a, dtype: a.view(dtype),
    source=_source,
    lower=ViewOf(lambda view, dtype: view, lambda index, in_shape, dtype: index),
    samples=SAMPLES,
)
define(
    name="scalar_bits",
    signature="a, dtype",
    operands=("a",),
    canonical=_canonical,
    infer=_infer_scalar_bits,
    reference=lambda a, dtype: a.view(dtype),
    source=_source,
    lower=Pointwise(lambda s, x, dtype: s.bits(x, dtype)),
    tags=QUIET,
    samples=tuple((value.flat[0], params) for value, params in SAMPLES),
)


def _infer_cells(a: Any) -> ArrayType:
    base = require_array(a, "another dtype")
    if not is_complex(base.dtype) or not base.ndim:
        raise CannotInfer("the parts of numbers that have none")
    if base.layout is None or not base.layout.is_c:
        raise CannotInfer("whether parts of numbers are neighbours depends on strides")
    shape = (*base.shape[:-1], base.shape[-1] * 2)
    return ArrayType(np.empty(0, base.dtype).real.dtype, shape, Layout.contiguous(shape))


def _cells_strided(view: Strided) -> Strided:
    *outer, last = view.shape
    return Strided(view.offset * 2, (*outer, last * 2), (*(stride * 2 for stride in view.strides[:-1]), 1))


define(
    name=CELLS,
    signature="a, /",
    operands=("a",),
    infer=_infer_cells,
    reference=lambda a: a.view(a.real.dtype),
    source="{0}.view({0}.real.dtype)",
    lower=ViewOf(_cells_strided, lambda index, in_shape: (*index[:-1], floordiv(index[-1], 2))),
    samples=((np.array([[1 + 2j, -1j], [3, 0]]),), (np.array([1 + 2j], np.complex64),)),
)


def _view(graph: Any, a: Any, dtype: Any = ..., type: Any = ...) -> Any:
    """``x.view()``, ``x.view(dtype)``, and ``x.view(np.ndarray)``, which is what an array is anyway."""
    base = require_value(operand_type(a), "a view")
    if dtype is np.ndarray and type is ...:
        dtype, type = ..., np.ndarray
    if dtype is None or type not in (..., np.ndarray):
        raise CannotInfer("a view of another class")
    if dtype is ... and not is_array(base):
        raise CannotInfer("a view of a scalar without a dtype")
    wanted = base.dtype if dtype is ... else given_dtype(dtype)
    if not is_array(base):
        return graph.call("astype" if wanted == base.dtype else "scalar_bits", a, dtype=wanted)
    if is_complex(base.dtype) and base.dtype.itemsize == 2 * wanted.itemsize:
        a = graph.call(CELLS, a)
        return a if a.type.dtype == wanted else graph.call("bits", a, dtype=wanted)
    if wanted == base.dtype:
        return graph.call("permute", a, axes=tuple(range(base.ndim)))
    return graph.call("bits", a, dtype=wanted)


define(name="ndarray_view", signature="a, dtype=..., type=...", operands=("a",), methods=("view",), expand=_view)
