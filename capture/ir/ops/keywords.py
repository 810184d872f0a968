"""Keywords that all ufuncs and reductions take: ``dtype=``, ``where=``, ``initial=``.

In: the name of an op, the keyword's value, and the operands. Out: the op on operands that are cast or masked first.

>>> graph.call("ufunc_where", "divide", mask, x, y)    # divide(where(mask, x, 1.0), where(mask, y, 1.0))

Where a mask is false nothing may be raised either, so the operands are ones there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capture import config
from capture.ir.op import CannotInfer, define, get
from capture.ir.ops.common import fits, given_dtype, is_literal, kind_of, operand_type, require_array, require_value
from capture.ir.ops.orders import common_order
from capture.ir.types import ArrayType

HARMLESS = {"arctanh": 0}
"""The operand at which a ufunc raises nothing, where that is not one."""

IDENTITIES = {"sum": 0, "prod": 1, "any": 0, "all": 1}


def _ufunc_dtype(graph: Any, name: Any, dtype: Any, *operands: Any) -> Any:
    """``ufunc(..., dtype=dtype)``: the loop is chosen by its result; operands are cast to what it takes."""
    op, dtype = get(name), given_dtype(dtype)
    types = [operand_type(operand) for operand in operands]
    try:
        loop = op.reference.resolve_dtypes(  # type: ignore[union-attr]
            (*map(kind_of, types), None), signature=(*(None,) * len(types), dtype)
        )
    except TypeError as error:
        raise CannotInfer(str(error)) from None
    cast = [_cast(graph, operand, to) for operand, to in zip(operands, loop, strict=False)]
    if all(map(is_literal, cast)):
        raise CannotInfer("numbers in another dtype")
    if _order(types) != _order([operand_type(operand) for operand in cast]):
        raise CannotInfer("operands whose copies in another dtype lie in another order")
    result = graph.call(name, *cast)
    if result.type.dtype != dtype:
        raise CannotInfer(f"{name} that gives {result.type.dtype}, not {dtype}")
    return result


def _order(types: Sequence[Any]) -> tuple[int, ...]:
    """The memory order of what is computed of these operands."""
    arrays = [type for type in types if isinstance(type, ArrayType) and type.shape]
    return common_order(arrays, max((array.ndim for array in arrays), default=0))


def _cast(graph: Any, operand: Any, dtype: np.dtype) -> Any:
    if is_literal(operand):
        if not fits(operand, dtype):
            raise CannotInfer(f"{operand} does not fit {dtype}")
        return operand
    if not isinstance(operand.type, ArrayType) or not np.can_cast(operand.type.dtype, dtype, "safe"):
        raise CannotInfer(f"a cast to {dtype} that may raise")
    return operand if operand.type.dtype == dtype else graph.call("astype", operand, dtype=dtype)


def _ufunc_where(graph: Any, name: Any, mask: Any, *operands: Any) -> Any:
    """A ufunc of the operands, but of ones where the mask is false."""
    _require_mask(mask)
    return graph.call(name, *(_masked(graph, mask, operand, HARMLESS.get(name, 1)) for operand in operands))


def _require_mask(mask: Any) -> None:
    if require_array(operand_type(mask), "where").dtype != np.bool:
        raise CannotInfer("a mask that is not of bools")


def _masked(graph: Any, mask: Any, operand: Any, instead: Any) -> Any:
    if is_literal(operand):
        return operand
    dtype = require_value(operand.type, "a masked operand").dtype
    return graph.call("where", mask, operand, bool(instead) if dtype == np.bool else instead)


def _reduction_where(graph: Any, name: Any, a: Any, mask: Any, initial: Any, **params: Any) -> Any:
    """``np.max(x, where=mask, initial=0)``: elements that do not count are made to change nothing."""
    base = require_array(operand_type(a), name)
    if initial is not None and (not is_literal(initial) or name not in ("max", "min") or not fits(initial, base.dtype)):
        raise CannotInfer(f"{name} from an initial value")
    if name in ("sum", "prod") and base.dtype.kind in "fc" and config.math == "numpy":
        raise CannotInfer(f"{name} of some of the elements, whose order is NumPy's")
    if mask is not None:
        _require_mask(mask)
        neutral = IDENTITIES.get(name, initial)
        if neutral is None:
            raise CannotInfer(f"{name} has no identity, so that a mask needs an initial value")
        if name == "sum" and base.dtype.kind == "f":
            neutral = -0.0
        a = _masked(graph, mask, a, neutral)
        if a.type.shape != base.shape:
            raise CannotInfer("a mask that is larger than what it masks")
    result = graph.call(name, a, **params)
    if initial is None:
        return result
    return graph.call("maximum" if name == "max" else "minimum", result, initial)


define(
    name="ufunc_dtype",
    signature="name, dtype, *operands",
    operands=("name", "dtype", "operands"),
    expand=_ufunc_dtype,
)
define(
    name="ufunc_where",
    signature="name, mask, *operands",
    operands=("name", "mask", "operands"),
    expand=_ufunc_where,
)
define(
    name="reduction_where",
    signature="name, a, mask, initial, **params",
    operands=("name", "a", "mask", "initial"),
    expand=_reduction_where,
)
