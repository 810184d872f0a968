"""Elements where a mask is true: ``pick`` and ``nonzero``, whose sizes depend on data.

In: ``x[mask]``, ``np.nonzero(x)``, ``np.argwhere``, ``np.compress``. Out: nodes of a size that is a symbol of its own,
which stands for the number of true elements: ``count`` names it. Nodes with equal masks have the same symbol, so that
``x[mask] * y[mask]`` is one loop.

>>> str(graph.call("pick", x, mask, count="trues").type)
'f64[trues[0..12]]'

A ``count`` that is a number is a promise that so many elements are true; a graph for which it does not hold is left to
plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Node
from capture.ir.op import CannotInfer, Measure, Pack, define
from capture.ir.ops.common import QUIET, allocated, one_axis, operand_type, require_array, require_value
from capture.ir.ops.gathering import INT64, literal_array
from capture.ir.ops.reshaping import in_a_row
from capture.ir.passes.aliasing import is_late, repeats
from capture.ir.shapes import Expr, Size, Symbol, le, product
from capture.ir.sizes import same, same_shape
from capture.ir.types import ArrayType, NumberType

MATRIX = [[1.0, 0.0, 3.0], [0.0, 0.0, 6.0]]
MASK = np.array([[True, False, True], [False, False, True]])


MOST = 1 << 47
"""No array has more elements."""


def counted(mask: ArrayType, count: Any) -> Size:
    """The size that ``count`` means: a symbol by its name, or the number that is promised."""
    if not isinstance(count, str):
        return count
    most = product(mask.shape)
    return Symbol(count, 0, most if isinstance(most, int) else MOST)


def _require_axes(mask: ArrayType) -> None:
    if not mask.ndim:
        raise CannotInfer("a mask without axes")


def _infer_pick(a: Any, mask: Any, count: Any) -> ArrayType:
    base, chosen = require_array(a, "indexing"), require_array(mask, "a mask")
    _require_axes(chosen)
    if chosen.dtype.kind != "b" or not same_shape(base.shape, chosen.shape):
        raise CannotInfer("boolean index did not match indexed array")
    return allocated(base.dtype, (counted(chosen, count),))


define(
    name="pick",
    signature="a, mask, count",
    operands=("a", "mask"),
    infer=_infer_pick,
    reference=lambda a, mask, count: a[mask],
    source="{0}[{1}]",
    lower=Pack(),
    tags=QUIET,
    samples=((MATRIX, MASK, {"count": 3}),),
)


def _infer_nonzero(a: Any, count: Any) -> ArrayType:
    base = require_array(a, "nonzero")
    _require_axes(base)
    return allocated(INT64, (counted(base, count), base.ndim))


define(
    name="nonzero",
    signature="a, count",
    operands=("a",),
    infer=_infer_nonzero,
    reference=lambda a, count: np.stack(np.nonzero(a), axis=1),
    lower=Pack(),
    tags=QUIET,
    samples=((MASK, {"count": 3}), (np.array([0, 3, -1]), {"count": 2})),
)


def _infer_measure(total: Any, size: Size) -> NumberType:
    if require_value(total, "a count").dtype != INT64 or total.shape:
        raise CannotInfer("a count is one int64")
    return NumberType(int, size)


define(
    name="measure",
    signature="total, count, most=None",
    operands=("total",),
    infer=lambda total, count, most: _infer_measure(total, Symbol(count, 0, most)),
    reference=lambda total, count, most=None: int(total),
    lower=Measure(),
    samples=((np.int64(3), {"count": "trues"}),),
)


# Equal masks have one size ----------------------------------------------------------------------------------------
def count_of(graph: Any, mask: Node) -> str:
    """The name of the size of ``x[mask]``: that of an equal mask, or a new one."""
    for node in reversed(graph.nodes):
        names = node.kind == "call" and isinstance(node.op.lower, Pack) and isinstance(node.params["count"], str)
        if names and are_equal(node.args[-1], mask):
            return str(node.params["count"])
    name = graph.new_name("trues")
    size, most = counted(mask.type, name), product(mask.type.shape)
    _note(graph, size, most, is_late(mask))
    return name


def _note(graph: Any, size: Size, most: Size, late: bool) -> None:
    if not late:
        graph.known.testable.add(size)
    if isinstance(most, Expr):
        graph.known.facts = graph.known.facts.assume(le(size, most))


def count_told(graph: Any, total: Node, most: Size) -> Symbol:
    """The size that an int64 tells when it has been computed."""
    bound = most if isinstance(most, int) else MOST
    size = Symbol(graph.new_name("items"), 0, bound)
    graph.call("measure", total, count=size.name, most=bound)
    _note(graph, size, most, is_late(total))
    return size


def are_equal(one: Any, other: Any) -> bool:
    """Whether two values are computed in the same way from the same versions of the same arrays."""
    if one is other:
        return True
    if not (isinstance(one, Node) and isinstance(other, Node)):
        return type(one) is type(other) and repr(one) == repr(other)
    if one.kind != "call" or one.target != other.target or one.target == "store" or not repeats(one.op):
        return False
    if len(one.args) != len(other.args) or one.params.keys() != other.params.keys():
        return False
    pairs = zip((*one.args, *one.params.values()), (*other.args, *other.params.values()), strict=True)
    return all(are_equal(*pair) for pair in pairs)


def picked(graph: Any, a: Any, mask: Any) -> Any:
    """``a[mask]`` for a mask of the whole array."""
    if mask.kind == "constant":
        return graph.call("gather", a, *true_places(graph, mask), axes=tuple(range(mask.type.ndim)), order="C")
    return graph.call("pick", a, mask, count=count_of(graph, mask))


def true_places(graph: Any, mask: Any, promised: Size | None = None) -> tuple[Any, ...]:
    """``np.nonzero(mask)``: views of the columns of one array, as in NumPy; constants of a mask that is one.

    ``promised``: how many there have to be.
    """
    if mask.kind == "constant":
        found = np.nonzero(mask.args[0])
        if promised is not None and not same(promised, len(found[0])):
            raise CannotInfer("assignment of more or fewer values than elements")
        return tuple(map(graph.constant, found))
    count: Any = count_of(graph, mask)
    if promised is not None and not (isinstance(promised, Symbol) and promised.name == count):
        if is_late(mask):
            raise CannotInfer("how many elements are true depends on what was written")
        count = promised
    rows = graph.call("nonzero", mask, count=count)
    size, ndim = rows.type.shape
    columns = [
        graph.call("slice", rows, starts=(0, axis), steps=(1, 1), sizes=(size, 1)) for axis in range(ndim)
    ]
    return tuple(graph.call("squeeze", column, axes=(1,)) for column in columns)


def mask_of(graph: Any, condition: Any) -> Any:
    """What a user gives as a condition, an array or a list, as a node of truth values."""
    if isinstance(condition, tuple):
        condition = graph.constant(literal_array(condition))
    type_ = require_array(operand_type(condition), "a condition")
    return condition if type_.dtype.kind == "b" else graph.call("not_equal", condition, 0)


# NumPy's functions ------------------------------------------------------------------------------------------------
def _nonzero(graph: Any, a: Any) -> Any:
    _require_axes(require_array(operand_type(a), "nonzero"))
    return true_places(graph, a)


def _flatnonzero(graph: Any, a: Any) -> Any:
    return _nonzero(graph, in_a_row(graph, a))[0]


def _argwhere(graph: Any, a: Any) -> Any:
    """``np.transpose(np.nonzero(a))``: a transposed view of the places along one axis after the other."""
    _nonzero(graph, a)
    rows = graph.call("nonzero", a, count=count_of(graph, a))
    copy = graph.call("copy", graph.call("permute", rows, axes=(1, 0)), order="C")
    return graph.call("permute", copy, axes=(1, 0))


def _extract(graph: Any, condition: Any, arr: Any) -> Any:
    """Over both arrays raveled; NumPy takes the condition as far as the array goes."""
    mask, base = mask_of(graph, condition), require_array(operand_type(arr), "extract")
    if not same_shape(mask.type.shape, base.shape):
        raise CannotInfer("extract with a condition of another shape")
    return picked(graph, in_a_row(graph, arr), in_a_row(graph, mask))


def _compress(graph: Any, condition: Any, a: Any, axis: Any = None) -> Any:
    mask = mask_of(graph, condition)
    if axis is None:
        a, axis = in_a_row(graph, a), 0
    base = require_array(operand_type(a), "compress")
    axis = one_axis(axis, base.ndim)
    if not same_shape(mask.type.shape, (base.shape[axis],)):
        raise CannotInfer("compress with a condition of another size than the axis")
    if base.ndim == 1:
        return picked(graph, a, mask)
    return graph.call("gather", a, *true_places(graph, mask), axes=(axis,), place=axis, order="C")


def _where(graph: Any, condition: Any, x: Any = ..., y: Any = ...) -> Any:
    if x is ... and y is ...:
        return _nonzero(graph, condition)
    if x is ... or y is ...:
        raise CannotInfer("either both or neither of x and y should be given")
    return graph.call("where", condition, x, y)


define(
    name="np_where",
    signature="condition, x=..., y=..., /",
    operands=("condition", "x", "y"),
    calls=(np.where,),
    expand=_where,
)
define(
    name="np_nonzero",
    signature="a",
    operands=("a",),
    calls=(np.nonzero,),
    methods=("nonzero",),
    expand=_nonzero,
)
define(name="flatnonzero", signature="a", operands=("a",), calls=(np.flatnonzero,), expand=_flatnonzero)
define(name="argwhere", signature="a", operands=("a",), calls=(np.argwhere,), expand=_argwhere)
define(
    name="extract",
    signature="condition, arr",
    operands=("condition", "arr"),
    calls=(np.extract,),
    expand=_extract,
)
define(
    name="compress",
    signature="condition, a, axis=None",
    operands=("condition", "a"),
    calls=(np.compress,),
    expand=_compress,
)


def _compress_method(graph: Any, a: Any, condition: Any, axis: Any = None) -> Any:
    return _compress(graph, condition, a, axis)


define(
    name="method_compress",
    signature="a, condition, axis=None",
    operands=("a", "condition"),
    methods=("compress",),
    expand=_compress_method,
)
