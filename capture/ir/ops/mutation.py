"""``store``: a value written into a region of an array, in place.

In: ``graph.store(view, value)``, which whoever builds the graph calls for ``x[1:] = y``, ``x += y`` and ``out=``.
Out: the next version of the array, with the type of the one before.

>>> graph.store(graph.call("getitem", x, key=slice(1, None)), 0.0)     # store(%x, 0.0, region=(<slice …>,))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Step
from capture.ir.op import CannotInfer, Store, define, get
from capture.ir.ops.common import broadcast_shapes, is_literal, kind_of, require_array
from capture.ir.ops.creation import literal_as
from capture.ir.sizes import same_shape
from capture.ir.types import ArrayType, NumberType


def _infer_store(version: Any, value: Any, region: tuple[Step, ...]) -> ArrayType:
    target = base = require_array(version, "a store")
    for step in region:
        op = get(step.op)
        if "readonly" in op.tags:
            raise CannotInfer("assignment destination is read-only")
        target = op.infer(target, **dict(step.params))  # type: ignore[misc]
    _require_storable(value, target)
    return base


def _require_storable(value: Any, target: ArrayType) -> None:
    """Refuse what ``target[...] = value`` refuses, or warns of beforehand."""
    if is_literal(value):
        literal_as(value, target.dtype)
        return
    kind_of(value)
    if isinstance(value, NumberType):
        if np.dtype(value.python) != target.dtype and target.dtype != np.float64:
            raise CannotInfer("a number that is not known may not fit the array")
    elif value.scalar and value.dtype.kind == "f" and target.dtype.kind in "iu":
        raise CannotInfer("NumPy converts a float scalar to some integers by way of Python, which may raise")
    elif not same_shape(broadcast_shapes([value.shape, target.shape]), target.shape):
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
