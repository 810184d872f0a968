"""Sets: ``unique`` and what is made of it, whose sizes depend on data.

In: ``np.unique(x)``, with indices, inverse, counts or an axis, ``np.intersect1d`` and its kin. Out: one call of NumPy's
from inside the graph, whose result has a size that is a symbol of its own (``count`` names it), known when it returns.

>>> str(graph.call("np_unique", x).type)
'f64[uniques[1..12]]'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.common import QUIET, allocated, flag, is_literal, operand_type, require_value
from capture.ir.ops.gathering import INT64
from capture.ir.ops.masks import MOST
from capture.ir.passes.aliasing import is_late
from capture.ir.passes.drop_dead import told_size
from capture.ir.shapes import Size, Symbol, product
from capture.ir.types import ArrayType

NUMBERS = np.array([3.0, 1.0, 3.0, 2.0])
OTHERS = np.array([2.0, 3.0, 5.0])


def _as_array(graph: Any, value: Any) -> Any:
    """An array or NumPy scalar as it is; a list as the array that NumPy makes of it."""
    if isinstance(operand_type(value), ArrayType):
        return value
    if not isinstance(value, tuple) and not is_literal(value):
        raise CannotInfer("a set of what is no array")
    return graph.call("asarray", value)


def _size(count: Any, most: Size, some: bool = True) -> Size:
    """The size that ``count`` names: at most so many elements, and at least one if ``some`` of them certainly count."""
    if not isinstance(count, str):
        return count  # type: ignore[no-any-return]
    if not isinstance(most, int):
        return Symbol(count, 0, MOST)
    return Symbol(count, min(1, most) if some else 0, most)


# unique -----------------------------------------------------------------------------------------------------------
PARTS = ("return_index", "return_inverse", "return_counts")
OPTIONS = ("equal_nan", "sorted")


def _infer_unique(ar: Any, count: Any, given: Any) -> Any:
    """The values, then what else is asked for, in NumPy's order."""
    base, options = require_value(ar, "unique"), dict(given)
    axis = options.get("axis")
    if axis is not None and base.ndim > 1:
        size = _size(count, base.shape[axis])
        shape = tuple(size if place == axis else each for place, each in enumerate(base.shape))
        order = (axis, *(place for place in range(base.ndim) if place != axis))
        values = allocated(base.dtype, shape, order)
        inverse = tuple(base.shape[axis] if each < 0 else each for each in _shape_of_inverse(base.ndim, axis))
    else:
        size = _size(count, product(base.shape))
        values, inverse = allocated(base.dtype, (size,)), base.shape
    shapes = {"return_index": (size,), "return_inverse": inverse, "return_counts": (size,)}
    others = [allocated(INT64, shapes[part]) for part in PARTS if options.get(part)]
    return (values, *others) if others else values


@lru_cache(maxsize=64)
def _shape_of_inverse(ndim: int, axis: int) -> tuple[int, ...]:
    """Of an array with several axes, -1 for the size of the axis: NumPy 2.0 has as many axes as the array."""
    found = np.unique(np.zeros((2,) * ndim), axis=axis, return_inverse=True)[1].shape
    return tuple(-1 if size == 2 else size for size in found)


define(
    name="unique",
    signature="ar, count, given=()",
    operands=("ar",),
    infer=_infer_unique,
    gives=lambda ar, count, given: tuple,
    reference=lambda ar, count, given: np.unique(ar, **dict(given)),
    source=lambda ar, count, given: f"np.unique({ar}, **{dict(given)!r})",
    lower=Extern(),
    tags=QUIET,
    samples=((NUMBERS, {"count": 3}),),
)


def _unique(
    graph: Any,
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    **options: Any,
) -> Any:
    array = _as_array(graph, ar)
    base = require_value(array.type, "unique")
    if not options.keys() <= set(OPTIONS):
        raise CannotInfer(f"unique with {', '.join(options)}")
    given = dict(zip(PARTS, (return_index, return_inverse, return_counts), strict=True))
    given = {name: flag(value, name) for name, value in (*given.items(), *options.items())}
    if axis is not None:
        given["axis"] = _one_axis(axis, base)
    return _called(graph, "unique", "uniques", array, given=tuple(given.items()))


def _one_axis(axis: Any, base: ArrayType) -> int:
    if type(axis) is not int or not -base.ndim <= axis < base.ndim:
        raise CannotInfer(f"axis {axis} is out of bounds for array of dimension {base.ndim}")
    axis %= base.ndim
    if any(size == 0 for size in base.shape):
        raise CannotInfer("rows that are unique of no elements")
    return axis  # type: ignore[no-any-return]


def _called(graph: Any, name: str, wish: str, *operands: Any, **params: Any) -> Any:
    """The call, with a new name for the size that it finds out, which may be asked to be 1 or more."""
    node = graph.call(name, *operands, count=graph.new_name(wish), **params)
    symbol = told_size(node)
    if symbol is not None and not is_late(node):
        graph.known.testable.add(symbol)
    return node


define(
    name="np_unique",
    signature="ar, return_index=False, return_inverse=False, return_counts=False, axis=None, **options",
    operands=("ar",),
    calls=(np.unique,),
    expand=_unique,
)


# Two sets ---------------------------------------------------------------------------------------------------------
def _both(ar1: Any, ar2: Any) -> tuple[np.dtype, Size, Size]:
    """The common dtype, and how many elements there are."""
    one, other = require_value(ar1, "a set"), require_value(ar2, "a set")
    return np.result_type(one.dtype, other.dtype), product(one.shape), product(other.shape)


def _infer_union(ar1: Any, ar2: Any, count: Any, given: Any) -> ArrayType:
    dtype, one, other = _both(ar1, ar2)
    return allocated(dtype, (_size(count, one + other),))


def _infer_intersection(ar1: Any, ar2: Any, count: Any, given: Any) -> Any:
    dtype, one, other = _both(ar1, ar2)
    size = _size(count, one + other, some=False)
    values, place = allocated(dtype, (size,)), allocated(INT64, (size,))
    return (values, place, place) if dict(given).get("return_indices") else values


def _infer_difference(ar1: Any, ar2: Any, count: Any, given: Any) -> ArrayType:
    _, one, _ = _both(ar1, ar2)
    return allocated(ar1.dtype, (_size(count, one, some=False),))


def _infer_either(ar1: Any, ar2: Any, count: Any, given: Any) -> ArrayType:
    dtype, one, other = _both(ar1, ar2)
    return allocated(dtype, (_size(count, one + other, some=False),))


def _of_two(
    name: str, function: Callable[..., Any], infer: Callable[..., Any], flags: Mapping[str, bool], count: int
) -> None:
    """A function of two sets, with flags by position or name; ``count`` elements are in that of the sample."""
    define(
        name=f"{name}_found",
        signature="ar1, ar2, count, given=()",
        operands=("ar1", "ar2"),
        infer=infer,
        gives=lambda ar1, ar2, count, given: tuple,
        reference=lambda ar1, ar2, count, given: function(ar1, ar2, **dict(given)),
        source=lambda ar1, ar2, count, given: f"np.{name}({ar1}, {ar2}, **{dict(given)!r})",
        lower=Extern(),
        tags=QUIET,
        samples=((NUMBERS, OTHERS, {"count": count}),),
    )

    def expand(graph: Any, ar1: Any, ar2: Any, **given: Any) -> Any:
        arrays = [_as_array(graph, each) for each in (ar1, ar2)]
        found = tuple((key, flag(value, key)) for key, value in given.items())
        return _called(graph, f"{name}_found", "members", *arrays, given=found)

    define(
        name=name,
        signature=", ".join(["ar1", "ar2", *(f"{key}={value}" for key, value in flags.items())]),
        operands=("ar1", "ar2"),
        calls=(function,),
        expand=expand,
    )


_ASSUMED = {"assume_unique": False}
_OF_TWO: tuple[tuple[Any, ...], ...] = (
    ("union1d", np.union1d, _infer_union, {}, 4),
    ("intersect1d", np.intersect1d, _infer_intersection, {**_ASSUMED, "return_indices": False}, 2),
    ("setdiff1d", np.setdiff1d, _infer_difference, _ASSUMED, 1),
    ("setxor1d", np.setxor1d, _infer_either, _ASSUMED, 2),
)
for _row in _OF_TWO:
    _of_two(*_row)
