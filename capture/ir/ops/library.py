"""Functions that NumPy computes in C and whose result types are certain: they stay in the graph and call NumPy.

In: ``np.searchsorted(x, v)``, ``np.einsum("ij,jk", x, y)``, ``np.linalg.solve(a, b)``. Out: extern nodes. What may
raise on some values (a singular matrix) raises inside the extern call, and plain Python
takes over.

>>> str(graph.call("einsum", "ij,j->i", x, y).type)
'f64[3]'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.polynomial.polynomial

from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.common import (
    allocated,
    broadcast_sizes,
    flag,
    given_dtype,
    is_literal,
    lowered,
    one_axis,
    operand_type,
    require_array,
    require_value,
)
from capture.ir.ops.orders import known_layout
from capture.ir.ops.places import place_of
from capture.ir.ops.reductions import natural_dtype
from capture.ir.ops.strides import contiguity
from capture.ir.shapes import Size, maximum, minimum, product
from capture.ir.sizes import UnknownSize, at_least, same, same_shape
from capture.ir.types import ArrayType, Layout, keep_order, scalar_type

MATRIX = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]
VECTOR = [3.0, 1.0, 2.0]


def value_or_array(dtype: Any, shape: Sequence[Size]) -> ArrayType:
    """A new array in C order, or a scalar where there is no axis."""
    return allocated(dtype, shape) if shape else scalar_type(dtype)


def extern(name: str, function: Any, signature: str, operands: tuple[str, ...], infer: Any, **facts: Any) -> None:
    define(
        name=name,
        signature=signature,
        operands=operands,
        calls=facts.pop("calls", (function,)),
        infer=infer,
        reference=function,
        lower=Extern(),
        **facts,
    )


# searchsorted ---------------------------------------------------------------------------------------------------------
def _infer_searchsorted(a: Any, v: Any, side: str) -> ArrayType:
    if require_array(a, "searchsorted").ndim != 1 or side not in ("left", "right"):
        raise CannotInfer("searchsorted needs an array of one axis, and a side")
    return value_or_array(np.intp, () if is_literal(v) else require_value(v, "searchsorted").shape)


extern(
    "searchsorted",
    np.searchsorted,
    "a, v, side='left'",
    ("a", "v"),
    _infer_searchsorted,
    calls=(),
    samples=(([1.0, 2.0, 3.0], [[0.0, 2.5]], {"side": "right"}), ([1.0, 2.0, 3.0], 2.0)),
)


# interp, convolve, correlate --------------------------------------------------------------------------------------
def _infer_interp(x: Any, xp: Any, fp: Any) -> ArrayType:
    points, values = require_array(xp, "interp"), require_array(fp, "interp")
    if points.ndim != 1 or not same_shape(values.shape, points.shape) or not at_least(points.shape[0], 1):
        raise CannotInfer("interp needs as many points as values")
    return value_or_array(np.float64, () if is_literal(x) else require_value(x, "interp").shape)


extern(
    "interp",
    np.interp,
    "x, xp, fp",
    ("x", "xp", "fp"),
    _infer_interp,
    calls=(),
    samples=(([0.5, 1.5], [0.0, 1.0, 2.0], VECTOR),),
)


def _infer_convolve(a: Any, v: Any, mode: str) -> ArrayType:
    one, other = require_array(a, "convolve"), require_array(v, "convolve")
    if one.ndim != 1 or other.ndim != 1 or mode not in ("full", "same", "valid"):
        raise CannotInfer("convolve needs two vectors and a mode")
    long, short = one.shape[0], other.shape[0]
    if not at_least(long, 1) or not at_least(short, 1):
        raise CannotInfer("convolve of nothing")
    longer, shorter = maximum(long, short), minimum(long, short)
    length = {"full": long + short - 1, "same": longer, "valid": longer - shorter + 1}[mode]
    return allocated(lowered(np.result_type(one.dtype, other.dtype)), (length,))


for _name, _function, _mode in (("convolve", np.convolve, "full"), ("correlate", np.correlate, "valid")):
    extern(
        _name,
        _function,
        f"a, v, mode={_mode!r}",
        ("a", "v"),
        _infer_convolve,
        samples=((VECTOR, [1.0, -1.0]), (VECTOR, [1.0, -1.0], {"mode": "same"})),
    )


# trace, einsum ----------------------------------------------------------------------------------------------------
def _infer_trace(a: Any, offset: int) -> ArrayType:
    base = require_array(a, "trace")
    if base.ndim != 2 or type(offset) is not int:
        raise CannotInfer("trace of anything but a matrix")
    return scalar_type(natural_dtype("sum", base.dtype))


extern("trace", np.trace, "a, offset=0", ("a",), _infer_trace, methods=("trace",), samples=((MATRIX, {"offset": 1}),))


def infer_einsum(subscripts: Any, *operands: Any) -> ArrayType:
    """Iteration is over the labels of the output, then the others; the output nests as the operands do."""
    arrays = [require_array(operand, "einsum") for operand in operands]
    labels, output = _parse_subscripts(subscripts, arrays)
    sizes: dict[str, Size] = {}
    for array, names in zip(arrays, labels, strict=True):
        for name, size in zip(names, array.shape, strict=True):
            sizes[name] = broadcast_sizes(sizes.get(name, 1), size)
    dtype = lowered(np.result_type(*(array.dtype for array in arrays)))
    axes = [*output, *(name for name in sorted(sizes) if name not in output)]
    if len(arrays) == 1 and len(axes) == len(output):
        raise CannotInfer("einsum that gives a view")
    if len(output) < 2:
        return value_or_array(dtype, [sizes[name] for name in output])
    layouts = [_spread_layout(array, names, axes) for array, names in zip(arrays, labels, strict=True)]
    order = [axis for axis in keep_order(layouts, len(axes)) if axis < len(output)]
    for size in sizes.values() if order != sorted(order) else ():
        if not isinstance(size, int) and not at_least(size, 2):
            raise UnknownSize("the memory order depends on whether {} is 1", size)
    return allocated(dtype, [sizes[name] for name in output], order)


def _parse_subscripts(subscripts: Any, arrays: Sequence[ArrayType]) -> tuple[list[str], str]:
    if not isinstance(subscripts, str) or "." in subscripts:
        raise CannotInfer("einsum with an ellipsis, or without a string")
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if not arrow:
        output = "".join(sorted(name for name in set(inputs) - {","} if inputs.count(name) == 1))
    if len(labels) != len(arrays) or not ("a" + inputs.replace(",", "") + output).isalpha():
        raise CannotInfer(f"einsum cannot parse {subscripts!r}")
    if any(
        len(names) != array.ndim or len(set(names)) != len(names) for names, array in zip(labels, arrays, strict=True)
    ):
        raise CannotInfer("einsum with diagonals, or other numbers of labels than axes")
    if len(set(output)) != len(output) or not set(output) <= set(inputs):
        raise CannotInfer("einsum with an output label that is repeated or new")
    if any(0 in array.shape for array in arrays):
        raise CannotInfer("einsum of an array without elements")
    return labels, output


def _spread_layout(array: ArrayType, names: str, axes: Sequence[str]) -> Layout:
    ranks = dict(zip(names, known_layout(array).ranks, strict=True))
    return Layout(tuple(ranks.get(name, 0) for name in axes), False, False)


extern(
    "einsum",
    np.einsum,
    "subscripts, /, *operands",
    ("subscripts", "operands"),
    infer_einsum,
    calls=(),
    samples=(("ij,jk->ik", MATRIX, MATRIX), ("ij,j", MATRIX, VECTOR), ("i,i", VECTOR, VECTOR), ("ij->j", MATRIX)),
)


# polyfit ----------------------------------------------------------------------------------------------------------
def _infer_polyfit(x: Any, y: Any, deg: Any) -> ArrayType:
    one, other = require_array(x, "polyfit"), require_array(y, "polyfit")
    if one.ndim != 1 or not 1 <= other.ndim <= 2 or not same(one.shape[0], other.shape[0]):
        raise CannotInfer("expected x and y to have same length")
    if type(deg) is not int or deg < 0 or any(type.dtype.kind not in "iuf" for type in (one, other)):
        raise CannotInfer("polyfit of this degree, or of such numbers")
    if any(type.dtype not in (np.dtype(np.float64), np.dtype(np.int64)) for type in (one, other)):
        raise CannotInfer("polyfit of other numbers than float64")
    return allocated(np.float64, (deg + 1, *other.shape[1:]))


class PoorlyConditioned(np.linalg.LinAlgError):
    """NumPy warns of these points: plain Python shall."""


def _polyfit(x: Any, y: Any, deg: int) -> Any:
    """As NumPy fits, which warns where the rank is too low, unless it gives the rank."""
    found, _, rank, *_ = np.polyfit(x, y, deg, full=True)
    if rank != deg + 1:
        raise PoorlyConditioned
    return found


def _fit(x: Any, y: Any, deg: int) -> Any:
    found, (_, rank, *_) = np.polynomial.polynomial.polyfit(x, y, deg, full=True)
    if rank != deg + 1:
        raise PoorlyConditioned
    return found


for _name, _fitted, _reference in (
    ("polyfit", np.polyfit, _polyfit),
    ("polynomial_polyfit", np.polynomial.polynomial.polyfit, _fit),
):
    define(
        name=_name,
        signature="x, y, deg",
        operands=("x", "y"),
        calls=(_fitted,),
        infer=_infer_polyfit,
        reference=_reference,
        lower=Extern(),
        samples=((VECTOR, [1.0, 2.0, 5.0], {"deg": 1}),),
    )


# linalg -----------------------------------------------------------------------------------------------------------
def _matrices(a: Any, what: str) -> tuple[ArrayType, np.dtype]:
    """Square matrices, one or a row of them, and the dtype of the computation."""
    base = require_array(a, what)
    if base.ndim not in (2, 3) or not same(base.shape[-1], base.shape[-2]):
        raise CannotInfer(f"{what} of anything but square matrices")
    return base, base.dtype if base.dtype.kind == "f" else np.dtype("f8")


def _infer_same_matrices(a: Any) -> ArrayType:
    base, dtype = _matrices(a, "linalg")
    return allocated(dtype, base.shape)


def _infer_det(a: Any) -> ArrayType:
    base, dtype = _matrices(a, "det")
    return value_or_array(dtype, base.shape[:-2])


def _infer_solve(a: Any, b: Any) -> ArrayType:
    base, dtype = _matrices(a, "solve")
    right = require_array(b, "solve")
    if base.ndim != 2 or right.ndim not in (1, 2) or not same(right.shape[0], base.shape[0]):
        raise CannotInfer("solve with stacked or unequal operands")
    other = right.dtype if right.dtype.kind == "f" else np.dtype("f8")
    return allocated(np.result_type(dtype, other), right.shape)


extern("inv", np.linalg.inv, "a", ("a",), _infer_same_matrices, samples=((MATRIX,),))
extern("cholesky", np.linalg.cholesky, "a, /", ("a",), _infer_same_matrices, samples=((np.array(MATRIX),),))
extern("det", np.linalg.det, "a", ("a",), _infer_det, samples=((MATRIX,),))
extern("solve", np.linalg.solve, "a, b", ("a", "b"), _infer_solve, samples=((MATRIX, VECTOR), (MATRIX, MATRIX)))


def _norm(graph: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The 2-norm as NumPy computes it: by ``dot`` over all of the array, by a sum of squares along an axis."""
    base = require_array(operand_type(x), "norm")
    if ord not in (None, 2) or (ord == 2 and axis is None and base.ndim != 1):
        raise CannotInfer(f"norm of order {ord!r}")
    if base.dtype.kind != "f":
        x = graph.call("astype", x, dtype=given_dtype(float))
    if axis is not None:
        with graph.within(place_of("norm square")):
            squares = graph.call("multiply", x, x)
        with graph.within(place_of("norm sum")):
            total = graph.call("sum", squares, axis=one_axis(axis, base.ndim), keepdims=keepdims)
        return graph.call("sqrt", total)
    if not contiguity(x.type, x):
        raise CannotInfer("norm of an array that is not contiguous")
    flat = graph.call("reshape", x, shape=(product(base.shape),))
    root = graph.call("sqrt", graph.call("dot", flat, flat))
    if not flag(keepdims, "keepdims"):
        return root
    return graph.call("full", root, shape=(1,) * base.ndim)


define(
    name="norm",
    signature="x, ord=None, axis=None, keepdims=False",
    operands=("x",),
    calls=(np.linalg.norm,),
    expand=_norm,
)


# nan_to_num -------------------------------------------------------------------------------------------------------
def _nan_to_num(graph: Any, x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    base = require_array(operand_type(x), "nan_to_num")
    if copy is not True or not base.ndim or not all(is_literal(value) for value in (nan, posinf or 0, neginf or 0)):
        raise CannotInfer("nan_to_num in place, or of what has no axes")
    if base.dtype.kind != "f":
        return graph.call("copy", x, order="K")
    limits = np.finfo(base.dtype)
    rows = (
        (np.inf, float(limits.max) if posinf is None else float(posinf)),
        (-np.inf, float(limits.min) if neginf is None else float(neginf)),
    )
    result = graph.call("where", graph.call("isnan", x), float(nan), x)
    for infinite, finite in rows:
        result = graph.call("where", graph.call("equal", x, infinite), finite, result)
    return result


define(
    name="nan_to_num",
    signature="x, copy=True, nan=0.0, posinf=None, neginf=None",
    operands=("x",),
    calls=(np.nan_to_num,),
    expand=_nan_to_num,
)
