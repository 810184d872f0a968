"""Sizes as NumPy's scalars: what ``np.prod(x.shape)`` gives, and what of it is a size again.

In: ``np.int64`` of a size, NumPy's reductions of tuples and lists of sizes. Out: an np.int64 in the graph of which the
trace remembers which size it is (``Sizes.scalars``), so that it goes where sizes go.

    features = int(np.prod(x.shape[1:]))     # the size x.shape[1] * x.shape[2]
    y = np.zeros(np.prod(x.shape))           # f64[x.shape[0] * x.shape[1] * x.shape[2]]
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.values.arrays import ScalarValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.frames.values.numbers import EXACT_INTS, NumberValue
from capture.frames.values.results import ComputedNumber
from capture.ir import op as ops
from capture.ir.shapes import Expr, Size, TooComplex, add, maximum, minimum, multiply

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

REDUCTIONS: Mapping[Any, Callable[[Sequence[Size]], Size]] = {
    np.sum: add,
    np.prod: lambda sizes: reduce(multiply, sizes),
    np.max: lambda sizes: reduce(maximum, sizes),
    np.amax: lambda sizes: reduce(maximum, sizes),
    np.min: lambda sizes: reduce(minimum, sizes),
    np.amin: lambda sizes: reduce(minimum, sizes),
}
"""Functions that give an np.int64 of several Python ints."""

ALIKE = frozenset({int, float, bool, range, operator.index, math.sqrt})
"""Builtins that make the same of an np.int64 as of the int that it is."""


def call(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """A call that makes a scalar of sizes; None for all others."""
    if len(args) != 1 or kwargs:
        return None
    if function is np.int64:
        size = _size_of(tracer, args[0])
        return None if not isinstance(size, Expr) else _scalar(tracer, size)
    if function not in REDUCTIONS or not isinstance(args[0], TupleValue | ListValue):
        return None
    sizes = [_size_of(tracer, item.real(tracer)) for item in args[0].values]
    if not sizes or any(size is None for size in sizes):
        return None
    try:
        return _scalar(tracer, REDUCTIONS[function](sizes))  # type: ignore[arg-type]
    except TooComplex:
        return None


def as_ints(tracer: Tracer, function: Any, args: Sequence[Value]) -> Sequence[Value]:
    """The arguments of a builtin, ints in place of scalars that are sizes where that is the same."""
    if not any(function is each for each in ALIKE):
        return args
    sizes = [tracer.sizes.of_scalar(arg.looked_at) for arg in args]
    return [arg if size is None else tracer.sizes.value(size) for arg, size in zip(args, sizes, strict=True)]


def _size_of(tracer: Tracer, value: Value) -> Size | None:
    if isinstance(value, NumberValue):
        return value.size if value.python is int else None  # type: ignore[no-any-return]
    if isinstance(value, ComputedNumber):
        return value.type.size if value.type.python is int else None  # type: ignore[no-any-return]
    if not isinstance(value, Constant) or type(value.value) is not int:
        return None
    return value.value if EXACT_INTS[0] <= value.value <= EXACT_INTS[1] else None


def _scalar(tracer: Tracer, size: Size) -> Value | None:
    """The np.int64; None for an int that may be none."""
    number = tracer.sizes.value(size)
    if isinstance(number, Constant):
        exact = EXACT_INTS[0] <= number.value <= EXACT_INTS[1]
        return tracer.constant(np.int64(number.value)) if exact else None
    found = tracer.call_op(ops.for_call(np.int64), (number,), {}, np.int64)
    if isinstance(found, ScalarValue):
        tracer.journal.put(tracer.sizes.scalars, found.node, size)
    return found
