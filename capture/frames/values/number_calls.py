"""Calls of functions on Python numbers that change from call to call.

In: ``abs``, ``float``, ``math.sqrt``, ``min`` and others with arguments of which one is such a number. Out: the number
that is computed, where the call cannot raise; None where there is no rule.

    scale = math.sqrt(x.shape[-1])      # of a size that is left open: a float of unknown value
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.numbers import EXACT_INTS, NumberValue, Operand, is_within
from capture.ir.shapes import ge, maximum, minimum, multiply

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


def _absolute(value: NumberValue) -> Value:
    bounds = value.range and (0, max(map(abs, value.range)))
    size = value.size
    if size is not None and (value.range is None or value.range[0] < 0):
        size = maximum(size, multiply(size, -1))
    return NumberValue(abs(value.example), bounds, value.single, function=abs, parts=(value,), size=size)


def _float(value: NumberValue) -> Value | None:
    if value.python is float:
        return value
    if value.range is None or not is_within(value.range, EXACT_INTS):
        return None
    return NumberValue(float(value.example), function=float, parts=(value,))


def _int(value: NumberValue) -> Value | None:
    return value if value.python is int else None


def _isqrt(value: NumberValue) -> Value | None:
    """``math.isqrt`` of what is never negative."""
    if value.python is not int or value.range is None or value.range[0] < 0:
        return None
    bounds = math.isqrt(value.range[0]), math.isqrt(value.range[1])
    return NumberValue(math.isqrt(value.example), bounds, function=math.isqrt, parts=(value,))


CALLS: Mapping[Any, Callable[[NumberValue], Value | None]] = {
    abs: _absolute, float: _float, int: _int, round: _int, operator.index: _int, math.floor: _int, math.ceil: _int,
    math.trunc: _int, math.isqrt: _isqrt,
}  # fmt: skip
"""Builtins on one number that cannot raise; None where they can."""


def _root(tracer: Tracer, value: NumberValue) -> Value | None:
    """``math.sqrt`` of a size that is not negative."""
    if value.size is None or value.range is None or not is_within(value.range, EXACT_INTS):
        return None
    if not tracer.sizes.answer(ge(value.size, 0)):
        return None
    return NumberValue(math.sqrt(value.example), function=math.sqrt, parts=(value,))


EXTREMES: Mapping[Any, Callable[..., Any]] = {min: minimum, max: maximum}


def _extreme(function: Any, args: Sequence[Value]) -> Value | None:
    """``min`` and ``max`` of sizes."""
    operands = [Operand(arg) for arg in args]
    if len(args) < 2 or any(operand.size is None or operand.python is not int for operand in operands):
        return None
    size = EXTREMES[function](*(operand.size for operand in operands))
    if isinstance(size, int):
        return Constant(size)
    return NumberValue(function(*(operand.example for operand in operands)), function=function, parts=args, size=size)


def call(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """A call on a number that changes; None if there is no rule for it."""
    numbers = [arg for arg in args if isinstance(arg, NumberValue)]
    if not numbers or kwargs or len(numbers) + sum(isinstance(arg, Constant) for arg in args) < len(args):
        return None
    if function in EXTREMES:
        return _extreme(function, args)
    if function is math.sqrt and len(args) == 1:
        return _root(tracer, numbers[0])
    rule = CALLS.get(function)
    if rule is None or kwargs or len(args) != 1 or not isinstance(args[0], NumberValue) or args[0].python is bool:
        return None
    return rule(args[0])
