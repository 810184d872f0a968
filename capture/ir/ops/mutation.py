"""``store``: a value written into a region of an array, in place.

In: ``graph.store(view, value)``, which whoever builds the graph calls for ``x[1:] = y``, ``x += y`` and ``out=``; with
``indices`` for ``x[rows] = y``, and with ``combine`` for ``np.add.at(x, rows, y)``. Out: the next version of the array,
with the type of the one before.

>>> graph.store(graph.call("getitem", x, key=slice(1, None)), 0.0)     # store(%x, 0.0, region=(<slice …>,))
>>> graph.store(x, y, (rows,), (0,))                                   # store(%x, %y, %rows, axes=(0,))

Indexed elements are written one after the other, in C order of the indices: of several values for one place the last
one stays. With ``combine``, a ufunc's name or ``TALLY``, each is computed from what is there at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.graph import Step
from capture.ir.op import TALLY, UNWRITTEN, CannotInfer, Part, Store, define, get
from capture.ir.ops.common import (
    broadcast_shapes,
    is_literal,
    kind_of,
    require_array,
    require_fits,
    resolve,
    shape_of,
)
from capture.ir.ops.creation import literal_as
from capture.ir.ops.gathering import gathered_shape, index_types
from capture.ir.ops.orders import common_order
from capture.ir.sizes import same_shape
from capture.ir.types import ArrayType, NumberType

COMBINING = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
"""Ufuncs whose ``at`` is compiled."""


def _infer_part(values: Any, index: int) -> Any:
    if not isinstance(values, tuple):
        raise CannotInfer("a part of what is no tuple")
    return values[index]


define(
    name="part",
    signature="values, index",
    operands=("values",),
    infer=_infer_part,
    reference=lambda values, index: values[index],
    source="{0}[{index}]",
    lower=Part(),
    samples=(),
)


def target_of(version: Any, region: tuple[Step, ...]) -> ArrayType:
    """The type of the view that a store writes to."""
    target = require_array(version, "a store")
    for step in region:
        op = get(step.op)
        if op.tags & UNWRITTEN:
            raise CannotInfer("assignment destination is read-only, or warns")
        if step.op == "bits" and target.dtype.kind == "b":
            raise CannotInfer("bools are written as other numbers")
        target = op.infer(target, **dict(step.params))  # type: ignore[misc]
    return target


def _infer_store(
    version: Any, value: Any, *indices: Any, region: tuple[Step, ...], axes: tuple[int, ...], combine: str
) -> ArrayType:
    target = target_of(version, region)
    if indices:
        target = _indexed(target, value, indices, axes)
    if combine:
        _require_combinable(value, target.dtype, combine)
    _require_storable(value, target)
    return version


def _indexed(base: ArrayType, value: Any, indices: tuple[Any, ...], axes: tuple[int, ...]) -> ArrayType:
    """The elements at the places, as an array; refused where NumPy walks over the places in another order than C's."""
    types = index_types(indices)
    places = broadcast_shapes(type.shape for type in types)
    if len(places) > 1:
        layouts = [type for type in types if type.shape]
        if isinstance(value, ArrayType) and len(value.shape) > base.ndim - len(axes):
            layouts.append(value)
        if not all(type.layout is not None and type.layout.dense for type in layouts):
            raise CannotInfer("the order in which NumPy assigns is not known")
        if common_order([type for type in layouts if len(type.shape) == len(places)], len(places)) != tuple(
            range(len(places))
        ):
            raise CannotInfer("NumPy assigns in the order of the memory of the indices")
    return ArrayType(base.dtype, gathered_shape(base, places, axes, 0))


def _require_combinable(value: Any, dtype: np.dtype, combine: str) -> None:
    """The ufunc's loop must be that of the array's dtype, to which the value is cast safely."""
    if combine not in (*COMBINING, TALLY) or is_complex(dtype):
        raise CannotInfer(f"{combine}.at of {dtype} has no loop")
    array = ArrayType(dtype, ())
    if resolve(getattr(np, ufunc_of(combine)), array, value) != (dtype,) * 3:
        raise CannotInfer(f"{combine}.at in another dtype than the array's")
    require_fits(value, dtype)


def label_of_at(args: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    """The name that NumPy's warnings give ``ufunc.at``: its own where NumPy has a loop for this very case."""
    version, value, *indices = args
    target, type = target_of(version.type, params["region"]), getattr(value, "type", value)
    dtype = np.asarray(type).dtype if is_literal(type) else type.dtype
    simple = target.ndim == len(indices) == 1 and len(shape_of(type)) <= 1 and dtype == target.dtype
    return ufunc_of(params["combine"]) if simple else "at"


def ufunc_of(combine: str) -> str:
    """The ufunc that computes each element."""
    return "add" if combine == TALLY else combine


def _require_storable(value: Any, target: ArrayType) -> None:
    """Refuse what ``target[...] = value`` refuses, or warns of beforehand."""
    if is_literal(value):
        literal_as(value, target.dtype)
        return
    kind_of(value)
    if is_complex(value.dtype) and not is_complex(target.dtype):
        raise CannotInfer("an assignment that discards imaginary parts, which NumPy warns of")
    if isinstance(value, NumberType):
        if np.dtype(value.python) != target.dtype and target.dtype != np.float64:
            raise CannotInfer("a number that is not known may not fit the array")
    elif value.scalar and value.dtype.kind == "f" and target.dtype.kind in "iu":
        raise CannotInfer("NumPy converts a float scalar to some integers by way of Python, which may raise")
    elif not same_shape(broadcast_shapes([value.shape, target.shape]), target.shape):
        raise CannotInfer(f"could not broadcast input array from shape {value.shape} into shape {target.shape}")


def _store(
    version: np.ndarray,
    value: Any,
    *indices: Any,
    region: tuple[Step, ...],
    axes: tuple[int, ...] = (),
    combine: str = "",
) -> np.ndarray:
    target = version
    for step in region:
        target = get(step.op).reference(target, **dict(step.params))  # type: ignore[misc]
    key: Any = ...
    if indices:
        target = np.moveaxis(target, axes, range(len(axes)))
        key = tuple(np.asarray(index) for index in indices)
    if combine:
        with np.errstate(all="ignore" if combine == TALLY else None):
            getattr(np, ufunc_of(combine)).at(target, key, value)
    else:
        target[key] = value
    return version


define(
    name="store",
    signature="version, value, *indices, region, axes=(), combine=''",
    operands=("version", "value", "indices"),
    infer=_infer_store,
    reference=_store,
    lower=Store(),
    label="cast",
    samples=(
        ([1.0, 2.0, 3.0], 5, {"region": ()}),
        ([[1.0, 2.0], [3.0, 4.0]], [7.0, 8.0], {"region": ()}),
        ([[1.0, 2.0], [3.0, 4.0]], [7.0, 8.0], np.array([1, 0, 1]), {"region": (), "axes": (0,)}),
        ([1.0, 2.0, 3.0], 2, np.array([1, 0, 1]), {"region": (), "axes": (0,), "combine": "add"}),
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], np.array([1, 0, 1]), {"region": (), "axes": (0,), "combine": TALLY}),
    ),
)
