"""NumPy's functions that write their first argument, and ``ufunc.at``.

In: ``np.put(x, i, v)``, ``np.copyto(x, y, where=m)``, ``np.add.at(x, i, v)``. Out: stores in the graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values import numbers
from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.ir.ops import assigning
from capture.ir.ops.mutation import COMBINING

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


def _writer(name: str, rule: Callable[..., Any], combine: str = "") -> Callable[..., Value]:
    signature = inspect.signature(rule)

    def write(tracer: Tracer, array: Value, *operands: Value, **named: Value) -> Value:
        if not isinstance(array, ArrayValue):
            raise GraphBreak(f"{name} writes {array.describe()}", "call")
        for operand in (*operands, *named.values()):
            numbers.require_constant(tracer, operand)
        try:
            signature.bind(None, array, *operands, **named)
        except TypeError as error:
            raise GraphBreak(f"{name}: {error}", "call") from None
        tracer.memory.assign(rule, array, *operands, combine=combine, **named)
        return Constant(None)

    return write


WRITERS: Mapping[Any, Callable[..., Value]] = {
    **{
        function: _writer(f"np.{function.__name__}", rule)
        for function, rule in (
            (np.put, assigning.put),
            (np.place, assigning.place),
            (np.putmask, assigning.putmask),
            (np.copyto, assigning.copyto),
            (np.put_along_axis, assigning.put_along_axis),
            (np.fill_diagonal, assigning.fill_diagonal),
        )
    },
    **{getattr(np, name).at: _writer(f"np.{name}.at", assigning.combined_at, name) for name in COMBINING},
}
"""Bound methods of ufuncs are equal when the ufuncs are the same."""
