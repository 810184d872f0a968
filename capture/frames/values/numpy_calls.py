"""Functions of NumPy's that stay in the graph as they are, and what is tried before that.

In: the key of a record in ``capture.ir.ops.fallback``, and argument values. Out: what the node gives.

>>> first_of(tracer, lambda: inline(...), lambda: call_numpy(tracer, np.kron, args, {}))
<array numpy_kron>
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values import exceptions, lookup, numbers
from capture.frames.values.base import Value
from capture.ir import op as ops

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


def first_of(tracer: Tracer, *ways: Callable[[], Value]) -> Value:
    """What the first way gives that neither breaks nor must know what changes; if none does, the first one counts."""
    first: GraphBreak | numbers.Specialise | None = None
    try:
        for way in ways:
            marks, depth, position = tracer.mark(), len(tracer.frames), tracer.graph.position
            try:
                return way()
            except (GraphBreak, numbers.Specialise) as stop:
                if first is not None:
                    raise first from None
                if isinstance(stop, GraphBreak) and exceptions.exception_of(stop) is not None:
                    raise
                first = stop
                tracer.undo(marks, depth)
                tracer.graph.position = position
        raise AssertionError("there is no way")
    finally:
        del first  # which knows this frame by its traceback: a cycle would keep the values that were looked at


def call_numpy(tracer: Tracer, key: Hashable, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """A call of a function of NumPy's that stays in the graph as it is."""
    op = ops.for_fallback(key)
    if op is None or "out" in kwargs:
        raise GraphBreak("a call that has no graph form", "call")
    args = [arg.real(tracer) for arg in args]
    kwargs = {name: arg.real(tracer) for name, arg in kwargs.items()}
    for arg in (*args, *kwargs.values()):
        numbers.require_constant(tracer, arg)
    operands = [_as_dtype(arg.in_graph(tracer)) for arg in args]
    params = {name: _as_dtype(arg.in_graph(tracer)) for name, arg in kwargs.items()}
    return tracer.result(tracer.add_call(op, *operands, **params))


def _as_dtype(value: Any) -> Any:
    """A type in a call of NumPy's means a dtype."""
    return np.dtype(value) if lookup.is_class(value) and value in DTYPE_CLASSES else value


DTYPE_CLASSES = frozenset({bool, int, float, complex, *(type for type in np.sctypeDict.values())})
