"""``store``: a value written into a region of an array, in place.

In: ``graph.store(view, value)``, which whoever builds the graph calls for ``x[1:] = y``, ``x += y`` and ``out=``; with
``indices`` for ``x[rows] = y``, and with ``combine`` for ``np.add.at(x, rows, y)``. Out: the next version of the array,
with the type of the one before.

>>> graph.store(graph.call("getitem", x, key=slice(1, None)), 0.0)     # store(%x, 0.0, region=(<slice …>,))
>>> graph.store(x, y, (rows,), (0,))                                   # store(%x, %y, %rows, axes=(0,))

Indexed elements are written one after the other, in C order of the indices: of several values for one place the last
one stays. With ``combine``, a ufunc's name or ``TALLY``, each is computed from what is there at that moment. ``said``
is the ufunc that writes here what it has computed in another dtype: NumPy looks at the processor's flags once, behind
the cast, and calls all that it finds by the ufunc's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.graph import Node, Step
from capture.ir.op import TALLY, UNWRITTEN, CannotInfer, Part, Store, define, get
from capture.ir.ops.common import (
    broadcast_shapes,
    fits,
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

NAMED = ("add", "subtract", "multiply", "divide", "floor_divide", "maximum", "minimum")
"""Ufuncs that NumPy has loops of their own for in ``at``, which may warn and do so by their name."""

COMBINING = (
    *NAMED, "fmax", "fmin", "remainder", "fmod", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
    "right_shift", "logical_and", "logical_or", "logical_xor", "gcd", "lcm",
)  # fmt: skip
"""Ufuncs whose ``at`` is compiled."""

WRAPPING = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
"""Those that give the same integers when they compute with wider ones, of which the lower bits are kept."""

ROUNDING = ("add", "subtract", "maximum", "minimum")
"""Those that give the same floats when they compute with float64 and round its result."""


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
    version: Any, value: Any, *indices: Any, region: tuple[Step, ...], axes: tuple[int, ...], combine: str, said: str
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
    """The ufunc's loop must be that of the array's dtype, to which the value is cast safely.

    A Python number is none of the weak ones here: it is an array of its own dtype.
    """
    if combine not in (*COMBINING, TALLY) or is_complex(dtype):
        raise CannotInfer(f"{combine}.at of {dtype} has no loop")
    is_number = is_literal(value) or isinstance(value, NumberType)
    given = np.dtype(type(value) if is_literal(value) else value.python) if is_number else None
    operand = value if given is None else ArrayType(given, ())
    alike = resolve(getattr(np, ufunc_of(combine)), ArrayType(dtype, ()), operand) == (dtype,) * 3
    if not alike and not (is_literal(value) and _computes_alike(value, dtype, combine)):
        raise CannotInfer(f"{combine}.at in another dtype than the array's")
    require_fits(value, dtype)


def _computes_alike(value: Any, dtype: np.dtype, combine: str) -> bool:
    """Whether NumPy, which computes in the wider dtype that it shares with this number, gives what ``dtype`` gives."""
    if dtype.kind in "iu" and dtype != np.uint64:
        return type(value) is int and combine in WRAPPING and fits(value, dtype)
    return dtype.kind == "f" and combine in ROUNDING and fits(value, dtype) and float(dtype.type(value)) == value


@lru_cache(maxsize=16)
def warns_of_nan(name: str, dtype: np.dtype) -> bool:
    """Whether NumPy's own loop for ``at`` finds NaN invalid, as those of maximum and minimum do where it compares them
    with an instruction that does.
    """
    array, nan = np.ones(1, dtype), np.full(1, np.nan).astype(dtype)
    try:
        with np.errstate(invalid="raise"):
            getattr(np, name).at(array, np.zeros(1, np.intp), nan)
    except FloatingPointError:
        return True
    return False


def label_of_store(node: Node) -> str:
    """What NumPy's warnings call a store."""
    return label_of_at(node.args, node.params) if node.params["combine"] else node.params["said"] or "cast"


def said_with(store: Node) -> Node | None:
    """The node of the ufunc that warns together with the store of its result, once for both."""
    value = store.args[1] if store.target == "store" and store.params["said"] else None
    while isinstance(value, Node) and value.kind == "call" and value.target == "where":
        value = value.args[1]  # of ufunc(..., out=, where=)
    return value if isinstance(value, Node) and value.position == store.position else None


def label_of_at(args: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    """The name that NumPy's warnings give ``ufunc.at``: its own where NumPy has a loop for this very case."""
    if ufunc_of(params["combine"]) not in NAMED:
        return "at"
    version, value, *indices = args
    target, type = target_of(version.type, params["region"]), getattr(value, "type", value)
    dtype = np.asarray(type).dtype if is_literal(type) else type.dtype
    simple = target.ndim == len(indices) == 1 and len(shape_of(type)) <= 1 and dtype == target.dtype
    return ufunc_of(params["combine"]) if simple else "at"


def finds_nan_invalid(store: Node) -> bool:
    """Whether NumPy warns of NaN when it combines them."""
    combine, dtype = store.params["combine"], target_of(store.args[0].type, store.params["region"]).dtype
    named = combine in ("maximum", "minimum") and label_of_at(store.args, store.params) == combine
    return named and dtype.kind == "f" and warns_of_nan(combine, dtype)


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
    said: str = "",
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
    signature="version, value, *indices, region, axes=(), combine='', said=''",
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
