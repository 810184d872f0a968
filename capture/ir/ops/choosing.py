"""Choices between arrays, and the arithmetic of places.

In: ``np.choose(i, (x, y))``, ``np.select``, ``np.ravel_multi_index``, ``np.unravel_index``, ``np.tril_indices``,
``np.ix_``. Out: ``where`` nodes, integer arithmetic, constants; with a test in front of what NumPy would raise for.

>>> graph.call("np_choose", i, (x, y))       # where(equal(i, 0), x, y), unless some i is neither 0 nor 1
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, define
from capture.ir.ops.common import (
    broadcast_shapes,
    is_literal,
    operand_type,
    promoted,
    require_array,
    require_value,
    shape_of,
    static,
)
from capture.ir.ops.gathering import INT64, literal_array, places_of
from capture.ir.ops.masks import true_places
from capture.ir.ops.orders import known_layout
from capture.ir.passes.index_range import index_range
from capture.ir.types import ArrayType


def require(graph: Any, fails: Any) -> None:
    """Leave the call to plain Python where an element of ``fails`` is true."""
    graph.call("leave_if", graph.call("any", fails, axis=None) if fails.type.shape else fails)


def require_below(graph: Any, index: Any, size: int) -> None:
    """Leave where not ``0 <= index < size``."""
    bad = graph.call("logical_or", graph.call("less", index, 0), graph.call("greater_equal", index, size))
    require(graph, bad)


def _in_c_order(node: Any) -> Any:
    """A result that NumPy would lay out in C order, when this one is."""
    if not node.type.shape or not known_layout(node.type).is_c:
        raise CannotInfer("a choice in another memory order")
    return node


def _choose(graph: Any, a: Any, choices: Any) -> Any:
    index = require_array(operand_type(a), "choose")
    if not isinstance(choices, tuple) or not choices or index.dtype.kind not in "iu":
        raise CannotInfer("choose of anything but a tuple, or with no integers")
    arrays = [operand_type(choice) for choice in choices]
    if not all(isinstance(array, ArrayType) for array in arrays):
        raise CannotInfer("choose between numbers")
    dtype = promoted(arrays)
    require_below(graph, a, len(choices))
    found: Any = graph.call("astype", choices[-1], dtype=dtype)
    for number in reversed(range(len(choices) - 1)):
        is_chosen = graph.call("equal", a, number)
        found = graph.call("where", is_chosen, graph.call("astype", choices[number], dtype=dtype), found)
    if len(choices) == 1 or found.type.shape != broadcast_shapes([index.shape, *(array.shape for array in arrays)]):
        raise CannotInfer("choose that broadcasts what is chosen from")
    return _in_c_order(found)


define(name="np_choose", signature="a, choices", operands=("a", "choices"), calls=(np.choose,), methods=("choose",),
       expand=_choose)  # fmt: skip


def _select(graph: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first condition that holds decides."""
    conditions, choices = (items if isinstance(items, tuple) else () for items in (condlist, choicelist))
    if not conditions or len(conditions) != len(choices):
        raise CannotInfer("list of cases must be same length as list of conditions")
    if any(require_array(operand_type(each), "a condition").dtype.kind != "b" for each in conditions):
        raise CannotInfer("invalid entry in condlist: should be boolean ndarray")
    values = (*choices, default)
    dtype = promoted([operand_type(value) for value in values])
    found: Any = _converted(graph, default, dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = graph.call("where", condition, _converted(graph, choice, dtype), found)
    shape = broadcast_shapes(shape_of(operand_type(value)) for value in (*conditions, *values))
    if found.type.shape != shape or found.type.dtype != dtype:
        raise CannotInfer("select whose last choice broadcasts")
    return _in_c_order(found)


def _converted(graph: Any, value: Any, dtype: np.dtype) -> Any:
    if is_literal(value):
        return graph.constant(np.array(value, dtype)[()])
    return value if operand_type(value).dtype == dtype else graph.call("astype", value, dtype=dtype)


define(
    name="select",
    signature="condlist, choicelist, default=0",
    operands=("condlist", "choicelist", "default"),
    calls=(np.select,),
    expand=_select,
)


# Places as numbers ------------------------------------------------------------------------------------------------
def _dims(shape: Any) -> tuple[int, ...]:
    dims = tuple(static(size, "a size") for size in (shape if isinstance(shape, tuple) else (shape,)))
    if not dims or min(dims) < 1 or prod(dims) > np.iinfo(np.int64).max:
        raise CannotInfer("invalid dims")
    return dims


def _ravel_multi_index(graph: Any, multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    sizes = _dims(dims)
    if not isinstance(multi_index, tuple) or len(multi_index) != len(sizes):
        raise CannotInfer("parameter multi_index must be a sequence of length of dims")
    if mode not in ("raise", "clip", "wrap") or order not in ("C", "F"):
        raise CannotInfer("ravel_multi_index with other modes, or in another order")
    total: Any = None
    pairs = list(zip(multi_index, sizes, strict=True))
    for index, size in pairs if order == "C" else pairs[::-1]:
        place = _within(graph, _as_place(graph, index), size, mode)
        total = place if total is None else graph.call("add", graph.call("multiply", total, size), place)
    return graph.call("copy", total, order="K") if len(sizes) == 1 and total.type.shape else total


def _as_place(graph: Any, index: Any) -> Any:
    """An index, or several, as int64."""
    if type(index) is int:
        return graph.constant(np.int64(index))
    index = places_of(graph, index) if isinstance(index, tuple) else index
    require_value(operand_type(index), "an index")
    if not np.can_cast(index.type.dtype, np.intp, "same_kind"):
        raise CannotInfer("only int indices permitted")
    if not index.type.shape and not index.type.scalar:
        index = graph.call("getitem", index, ())
    return graph.call("astype", index, dtype=INT64) if index.type.dtype != INT64 else index


def _within(graph: Any, index: Any, size: int, mode: str) -> Any:
    if mode == "clip":
        return graph.call("minimum", graph.call("maximum", index, 0), size - 1)
    if mode == "wrap":
        return graph.call("remainder", index, size)
    require_below(graph, index, size)
    return index


define(
    name="ravel_multi_index",
    signature="multi_index, dims, mode='raise', order='C'",
    operands=("multi_index",),
    calls=(np.ravel_multi_index,),
    expand=_ravel_multi_index,
)


def _unravel_index(graph: Any, indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """Of one number that the graph computes, or of an array: then they are columns of one array, as in NumPy."""
    sizes = _dims(shape)
    indices = places_of(graph, indices) if isinstance(indices, tuple) else indices
    type_ = require_value(operand_type(indices), "a place")
    if order not in ("C", "F") or not np.can_cast(type_.dtype, np.intp, "same_kind"):
        raise CannotInfer("unravel_index of these places, or in another order")
    if type_.shape and not known_layout(type_).is_c:
        raise CannotInfer("unravel_index of an array in another memory order")
    if not type_.shape and not type_.scalar:
        indices = graph.call("getitem", indices, ())
    rest = graph.call("astype", indices, dtype=INT64) if type_.dtype != INT64 else indices
    known = index_range(rest)
    if known is None or known[0] < 0 or known[1] >= prod(sizes):
        require_below(graph, rest, prod(sizes))
    places = []
    for size in reversed(sizes) if order == "C" else sizes:
        places.append(graph.call("remainder", rest, size))
        rest = graph.call("floor_divide", rest, size)
    places = places[::-1] if order == "C" else places
    return _as_columns(graph, places) if type_.shape else tuple(places)


def _as_columns(graph: Any, places: list[Any]) -> tuple[Any, ...]:
    """Arrays of one shape as views of one array, that has their elements next to each other."""
    both = graph.call("stack", tuple(places), axis=-1)
    *shape, count = both.type.shape
    starts, steps = (0,) * len(shape), (1,) * (len(shape) + 1)
    columns = [
        graph.call("slice", both, starts=(*starts, k), steps=steps, sizes=(*shape, 1)) for k in range(count)
    ]
    return tuple(graph.call("squeeze", column, axes=(len(shape),)) for column in columns)


define(
    name="unravel_index",
    signature="indices, shape, order='C'",
    operands=("indices",),
    calls=(np.unravel_index,),
    expand=_unravel_index,
)


def _tri_indices(function: Any) -> Any:
    def expand(graph: Any, n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
        sizes = [static(number, "a size") for number in (n, k) + (() if m is None else (m,))]
        return tuple(graph.call("copy", graph.constant(places), order="C") for places in function(*sizes))

    return expand


for _name in ("tril_indices", "triu_indices"):
    _function = getattr(np, _name)
    define(name=_name, signature="n, k=0, m=None", operands=(), calls=(_function,), expand=_tri_indices(_function))


def _ix(graph: Any, *args: Any) -> tuple[Any, ...]:
    found = []
    for number, arg in enumerate(args):
        if isinstance(arg, tuple):
            node = graph.call("copy", graph.constant(literal_array(arg)), order="C")
        else:
            node = places_of(graph, arg) if require_array(operand_type(arg), "ix_").dtype.kind != "b" else arg
        if node.type.ndim != 1:
            raise CannotInfer("Cross index must be 1 dimensional")
        if node.type.dtype.kind == "b":
            (node,) = true_places(graph, node)
        shape = (1,) * number + node.type.shape + (1,) * (len(args) - number - 1)
        found.append(graph.call("reshape", node, shape=shape))
    return tuple(found)


define(name="ix_", signature="*args", operands=("args",), calls=(np.ix_,), expand=_ix)
