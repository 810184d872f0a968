"""Builtins that compute with numbers and arrays: ``sum``, ``math.prod``, ``divmod``, ``abs``.

In: values. Out: what Python's operators give, one after the other, where an array or a number that changes is among
them; of constants, what Python computes.

>>> ROWS[sum](tracer, TupleValue([x.shape[0], x.shape[1]]))
<number x.shape[0] + x.shape[1]>
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.values.arrays import ArrayValue, ScalarValue
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import Constant, attempt
from capture.frames.values.containers import TupleValue
from capture.frames.values.numbers import NumberValue
from capture.frames.values.operations import binary
from capture.ir import op as ops

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


def _sum(tracer: Tracer, values: Value, start: Value = Constant(0)) -> Value:  # noqa: B008 (immutable)
    return _total(tracer, sum, "+", values, start)


def _prod(tracer: Tracer, values: Value, *, start: Value = Constant(1)) -> Value:  # noqa: B008 (immutable)
    return _total(tracer, math.prod, "*", values, start)


def _total(tracer: Tracer, function: Callable[..., Any], symbol: str, values: Value, total: Value) -> Value:
    items = [item.real(tracer) for item in values.items(tracer)]
    concrete = _concrete(tracer, items)
    if concrete is not None:
        return tracer.constant(attempt(function, (concrete,), {"start": total.concrete(tracer)}, function.__name__))
    for item in items:
        total = binary(tracer, symbol, total.real(tracer), item)
    return total


def _concrete(tracer: Tracer, items: Sequence[Value]) -> list[Any] | None:
    """What they are; None if there are arrays among them, or ints that change from call to call.

    A float that changes must be known: Python may add floats up more exactly than its operator does.
    """
    if any(isinstance(item, NumberValue) and item.python is not float for item in items):
        return None
    try:
        return [item.concrete(tracer) for item in items]
    except NotConcrete:
        return None


def _divmod(tracer: Tracer, left: Value, right: Value) -> Value:
    op = ops.for_call(np.divmod)
    if op is not None and (isinstance(left, ArrayValue) or isinstance(right, ArrayValue)):
        return tracer.call_op(op, (left, right), {}, np.divmod)
    if isinstance(left, NumberValue) or isinstance(right, NumberValue):
        return TupleValue([binary(tracer, "//", left, right), binary(tracer, "%", left, right)])
    return tracer.evaluate(divmod, (left, right), {})


def _abs(tracer: Tracer, value: Value) -> Value:
    op = ops.for_call(abs)
    if isinstance(value, ArrayValue | ScalarValue) and op is not None:
        return tracer.call_op(op, (value,), {}, ("operator", "unary abs"))
    return tracer.evaluate(abs, (value,), {})


ROWS: Mapping[Any, Callable[..., Value]] = {sum: _sum, math.prod: _prod, divmod: _divmod, abs: _abs}
