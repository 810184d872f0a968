"""Arrays laid side by side.

In: ``np.concatenate((a, b), axis=1)``, ``np.stack``, ``np.hstack`` and their like. Out: ``concatenate`` nodes, whose
operands are the arrays.

>>> graph.call("stack", (x, y))            # concatenate(expand(x, (0,)), expand(y, (0,)), axis=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Join, define
from capture.ir.ops.common import allocated, lowered, one_axis, require_array
from capture.ir.ops.orders import known_layout, new_array, order_over, require_visible_order
from capture.ir.ops.reshaping import in_a_row
from capture.ir.sizes import same, same_shape
from capture.ir.types import ArrayType

SAMPLES = ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])


def _join_order(arrays: Sequence[ArrayType]) -> tuple[int, ...]:
    """The memory order of the result: NumPy's ``PyArray_CreateMultiSortedStridePerm``.

    An insertion sort from C order: an axis moves outward past one with a smaller stride in the first array that can
    tell (axes of size 1 cannot); C order wins conflicts.
    """
    layouts = [(known_layout(array).ranks, array.shape) for array in arrays]
    ndim = arrays[0].ndim
    order = list(range(ndim))
    for start in range(1, ndim):
        position, axis = start, order[start]
        for candidate in range(start - 1, -1, -1):
            verdict = _moves_outward(layouts, axis, order[candidate])
            if verdict is False:
                break
            if verdict:
                position = candidate
        order.insert(position, order.pop(start))
    return tuple(order)


def _moves_outward(layouts: Sequence[tuple[Any, Any]], axis: int, other: int) -> bool | None:
    verdict: bool | None = None
    for ranks, shape in layouts:
        if shape[axis] != 1 and shape[other] != 1:
            if ranks[axis] <= ranks[other]:
                verdict = False
            elif verdict is None:
                verdict = True
    return verdict


def _arrays_of(arrays: Any) -> tuple[Any, ...]:
    if not isinstance(arrays, tuple) or not arrays:
        raise CannotInfer("joining needs a sequence of arrays")
    return arrays


def _canonical_concatenate(*arrays: Any, axis: Any, order: Any) -> dict[str, Any]:
    return {"axis": one_axis(axis, require_array(arrays[0], "concatenate").ndim), "order": order}


def _infer_concatenate(*arrays: Any, axis: int, order: Any = None) -> ArrayType:
    types = [require_array(array, "concatenate") for array in arrays]
    ndim = types[0].ndim
    if ndim == 0 or any(array.ndim != ndim for array in types):
        raise CannotInfer("arrays to concatenate need the same number of axes, at least one")
    dtype = lowered(np.result_type(*(array.dtype for array in types)))
    shape = list(types[0].shape)
    for array in types[1:]:
        for k in range(ndim):
            if k == axis:
                shape[k] = shape[k] + array.shape[k]
            elif not same(shape[k], array.shape[k]):
                raise CannotInfer("all the input array dimensions except for the concatenation axis must match")
    if order is not None:
        return allocated(dtype, shape, order)
    if not _is_surely_c(types):
        require_visible_order(types, shape)
    return allocated(dtype, shape, order_over(types, ndim, _join_order, axis) if ndim > 1 else None)


def _is_surely_c(types: Sequence[ArrayType]) -> bool:
    """Whether one array alone makes C order win: if some have no elements, their strides cannot change that."""
    if not any(0 in array.shape for array in types):
        return False
    full = [array for array in types if 0 not in array.shape]
    return any(known_layout(a).is_c and not any(same(size, 1) for size in a.shape) for a in full)


def _joined(*arrays: np.ndarray, axis: int = 0, order: Any = None) -> np.ndarray:
    """``order`` is None for NumPy's own, else the axes from outermost to innermost."""
    if order is None:
        return np.concatenate(arrays, axis)
    shape = list(arrays[0].shape)
    shape[axis] = sum(array.shape[axis] for array in arrays)
    return np.concatenate(arrays, axis, out=new_array(shape, np.result_type(*arrays), order))


def _concatenate_source(*arrays: str, axis: int, order: Any) -> str:
    if order is not None:
        return f"_op('concatenate').reference({', '.join(arrays)}, axis={axis}, order={order})"
    return f"np.concatenate(({', '.join(arrays)},), {axis})"


define(
    name="concatenate",
    signature="*arrays, axis=0, order=None",
    operands=("arrays",),
    canonical=_canonical_concatenate,
    infer=_infer_concatenate,
    reference=_joined,
    source=_concatenate_source,
    lower=Join(),
    samples=(SAMPLES, (*SAMPLES, {"axis": 1}), (*SAMPLES, *SAMPLES, {"axis": 0}), (*SAMPLES, {"order": (1, 0)})),
)


def _concatenate(graph: Any, arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    nodes = [_node(graph, item) for item in _arrays_of(arrays)]
    if dtype is not None:
        raise CannotInfer("concatenate into another dtype")
    if axis is None:
        nodes, axis = [in_a_row(graph, node) for node in nodes], 0
    return graph.call("concatenate", *nodes, axis=axis)


def _node(graph: Any, item: Any) -> Any:
    """An item of the sequence as an array; a NumPy scalar or number becomes one without axes."""
    return graph.call("asarray", item)


def _stack(graph: Any, arrays: Any, axis: Any = 0) -> Any:
    nodes = [_node(graph, item) for item in _arrays_of(arrays)]
    if not all(same_shape(nodes[0].type.shape, node.type.shape) for node in nodes[1:]):
        raise CannotInfer("all input arrays must have the same shape")
    place = one_axis(axis, nodes[0].type.ndim + 1)
    expanded = [graph.call("expand", node, axes=(place,)) for node in nodes]
    return graph.call("concatenate", *expanded, axis=place)


def _hstack(graph: Any, tup: Any) -> Any:
    nodes = [graph.call("atleast_1d", _node(graph, item)) for item in _arrays_of(tup)]
    return graph.call("concatenate", *nodes, axis=0 if nodes[0].type.ndim == 1 else 1)


def _stacked_at_least(ndim: int, axis: int) -> Any:
    def expand(graph: Any, tup: Any) -> Any:
        nodes = [graph.call(f"atleast_{ndim}d", _node(graph, item)) for item in _arrays_of(tup)]
        return graph.call("concatenate", *nodes, axis=axis)

    return expand


def _column_stack(graph: Any, tup: Any) -> Any:
    nodes = []
    for item in _arrays_of(tup):
        node = _node(graph, item)
        node = graph.call("expand", node, axes=(0, 1)[: 2 - node.type.ndim]) if node.type.ndim < 1 else node
        nodes.append(graph.call("expand", node, axes=(1,)) if node.type.ndim == 1 else node)
    return graph.call("concatenate", *nodes, axis=1)


def _append(graph: Any, arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate(graph, (arr, values), axis)


define(
    name="np_concatenate",
    signature="arrays, /, axis=0, *, dtype=None",
    operands=("arrays",),
    calls=(np.concatenate,),
    expand=_concatenate,
)
define(name="stack", signature="arrays, axis=0", operands=("arrays",), calls=(np.stack,), expand=_stack)
define(name="hstack", signature="tup", operands=("tup",), calls=(np.hstack,), expand=_hstack)
define(name="vstack", signature="tup", operands=("tup",), calls=(np.vstack,), expand=_stacked_at_least(2, 0))
define(name="dstack", signature="tup", operands=("tup",), calls=(np.dstack,), expand=_stacked_at_least(3, 2))
define(name="column_stack", signature="tup", operands=("tup",), calls=(np.column_stack,), expand=_column_stack)
define(
    name="append",
    signature="arr, values, axis=None",
    operands=("arr", "values"),
    calls=(np.append,),
    expand=_append,
)
