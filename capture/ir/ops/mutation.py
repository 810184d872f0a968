"""Writes into arrays: ``store``, and what users write in terms of it.

In: ``x[1:] = y``, ``x += y``, ``np.add(x, y, out=z)``, ``np.copyto(z, x)``. Out: a ``store`` node, the next version
of the array. Macros of this file are tagged ``mutates``: what they return is the new version of the buffer of
their first operand (an in-place operator gives Python that operand, the others give it ``None``).

>>> graph.call("setitem", x, 0.0, key=slice(1, None))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Step
from capture.ir.op import CannotInfer, Store, define, for_operator, get
from capture.ir.ops.common import broadcast_shapes, is_array, is_literal, kind_of, require_array, shape_of
from capture.ir.ops.creation import literal_as
from capture.ir.ops.indexing import region_of
from capture.ir.types import ArrayType, NumberType

MUTATES = frozenset({"mutates"})


# store ------------------------------------------------------------------------------------------------------------
def _infer_store(version: Any, value: Any, region: tuple[Step, ...]) -> ArrayType:
    target = base = require_array(version, "a store")
    for step in region:
        target = get(step.op).infer(target, **dict(step.params))  # type: ignore[misc]
    require_storable(value, target)
    return base


def require_storable(value: Any, target: ArrayType) -> None:
    """Refuse what ``target[...] = value`` would refuse, or warn of beforehand."""
    if is_literal(value):
        literal_as(value, target.dtype)
        return
    kind_of(value)
    if isinstance(value, NumberType):
        if np.dtype(value.python) != target.dtype and target.dtype != np.float64:
            raise CannotInfer("a number that is not known may not fit the array")
    elif value.scalar and value.dtype.kind == "f" and target.dtype.kind in "iu":
        raise CannotInfer("NumPy converts a float scalar to some integers by way of Python, which may raise")
    elif broadcast_shapes([value.shape, target.shape]) != target.shape:
        raise CannotInfer(f"could not broadcast input array from shape {value.shape} into shape {target.shape}")


def _store(version: np.ndarray, value: Any, region: tuple[Step, ...]) -> np.ndarray:
    target = version
    for step in region:
        target = get(step.op).reference(target, **dict(step.params))  # type: ignore[misc]
    target[...] = value
    return version


define(
    name="store",
    signature="version, value, region",
    operands=("version", "value"),
    infer=_infer_store,
    reference=_store,
    lower=Store(),
    label="cast",
    samples=(([1.0, 2.0, 3.0], 5, {"region": ()}), ([[1.0, 2.0], [3.0, 4.0]], [7.0, 8.0], {"region": ()})),
)


# Item assignment, fill, copyto --------------------------------------------------------------------------------------
def write(graph: Any, target: Any, value: Any) -> Any:
    """``target[...] = value``: axes of size one in front of the value are dropped, as NumPy does."""
    type = require_array(target.type, "a store")
    value_type = getattr(value, "type", value)
    extra = value_type.ndim - type.ndim if isinstance(value_type, ArrayType) else 0
    if extra > 0:
        value = graph.call("squeeze", value, axes=tuple(range(extra)))
        value_type = value.type
    require_storable(value_type, type)
    return graph.store(target, value)


def _setitem(graph: Any, a: Any, key: Any, value: Any) -> Any:
    view, is_element = region_of(graph, a, key)
    if is_element and _has_axes(value):
        raise CannotInfer("setting an array element with a sequence.")
    return write(graph, view, value)


def _has_axes(value: Any) -> bool:
    return bool(shape_of(getattr(value, "type", value)))


def _copyto(graph: Any, dst: Any, src: Any, casting: Any = "same_kind") -> Any:
    require_same_kind(getattr(src, "type", src), dst.type, casting)
    return write(graph, dst, src)


def require_same_kind(value: Any, target: ArrayType, casting: Any = "same_kind") -> None:
    """Refuse values that NumPy would not cast to the target's dtype by this rule."""
    kind = kind_of(value)
    if isinstance(kind, np.dtype):
        allowed = np.can_cast(kind, target.dtype, casting)
    else:
        allowed = target.dtype.kind in ("iuf" if kind is int else "f")
    if not allowed:
        raise CannotInfer(f"cannot cast {kind} to {target.dtype} according to the rule {casting!r}")


define(
    name="setitem",
    signature="a, key, value",
    operands=("a", "value"),
    expand=lambda graph, a, value, key: _setitem(graph, a, key, value),
    tags=MUTATES,
)
define(
    name="fill",
    signature="a, value",
    operands=("a", "value"),
    methods=("fill",),
    expand=lambda graph, a, value: _fill(graph, a, value),
    tags=MUTATES,
)
define(
    name="copyto",
    signature="dst, src, casting='same_kind'",
    operands=("dst", "src"),
    calls=(np.copyto,),
    expand=_copyto,
    tags=MUTATES,
)


def _fill(graph: Any, a: Any, value: Any) -> Any:
    if _has_axes(value):
        raise CannotInfer("fill takes one value")
    return write(graph, a, value)


# out= and in-place operators --------------------------------------------------------------------------------------
def write_out(graph: Any, out: Any, result: Any) -> Any:
    """``out=``: the result of an op that ``accepts_out``, stored into ``out``; gives the next version of it."""
    target = require_array(out.type, "out")
    require_same_kind(result.type, target)
    if result.type.shape != target.shape:
        raise CannotInfer("out has another shape than the result")
    return write(graph, out, result)


def _in_place(symbol: str) -> Any:
    def expand(graph: Any, x: Any, y: Any) -> Any:
        result = graph.call(for_operator(symbol), x, y)
        if not is_array(getattr(x, "type", x)):
            return result  # numbers and NumPy scalars are rebound, not written
        return write_out(graph, x, result)

    return expand


for _name, _symbol in {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "power": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<",
    "right_shift": ">>",
}.items():  # fmt: skip
    define(
        name=f"inplace_{_name}",
        signature="x, y, /",
        operands=("x", "y"),
        operators=(f"{_symbol}=",),
        expand=_in_place(_symbol),
        tags=MUTATES,
    )
