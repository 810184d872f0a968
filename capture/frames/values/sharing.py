"""Whose memory is whose: ``np.shares_memory``, ``np.may_share_memory``, ``np.frombuffer`` of constant bytes.

In: arrays. Out: constants. Views of one buffer are compared by their places in it; new arrays share nothing with
others; two arrays of the caller's that lie apart are guarded to do so again. All else is a break.

>>> ROWS[np.shares_memory](tracer, x, graph_value(add))        # add = x + 1
<constant False>
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.pairs import NoOverlap
from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant, attempt
from capture.ir import op as ops
from capture.ir.graph import Node, buffer, region, root
from capture.ir.op import Strided
from capture.ir.ops.strides import dense_strides
from capture.ir.shapes import is_static
from capture.ir.sizes import asking, at_least

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

LARGEST_BLOCK = 1 << 24
"""Bytes of a buffer whose views are laid out to be compared."""


def _sharing(function: Callable[..., bool]) -> Callable[..., Value]:
    """``np.shares_memory`` or ``np.may_share_memory``, without a bound on its work."""

    def shares(tracer: Tracer, a: Value, b: Value) -> Value:
        if not isinstance(a, ArrayValue) or not isinstance(b, ArrayValue):
            raise GraphBreak(f"memory of {a.describe()} and {b.describe()} is left to Python", "call")
        with asking(tracer.graph.known):
            if not all(at_least(size, 1) for size in (*a.type.shape, *b.type.shape)):
                return Constant(False)
        nodes = [tracer.memory.current(value) for value in (a, b)]
        owners = [buffer(node) for node in nodes]
        if owners[0] is owners[1]:
            return Constant(_in_one_buffer(function, *nodes))
        _require_apart(tracer, *owners)
        return Constant(False)

    return shares


def _in_one_buffer(function: Callable[..., bool], one: Node, other: Node) -> bool:
    """Whether two views with elements share some of them."""
    if region(one) == region(other):
        return True
    places, whole = (_place(one), _place(other)), root(one).type
    size = math.prod(whole.shape) * whole.dtype.itemsize if is_static(whole.shape) else math.inf
    if None in places or size > LARGEST_BLOCK:
        raise GraphBreak("views share memory or not, as strides say that are not known", "call")
    memory = np.empty(int(size), np.uint8)
    return function(*(_laid_out(memory, node.type, place) for node, place in zip((one, other), places, strict=True)))


def _place(node: Node) -> Strided | None:
    """Where a view is in a buffer without gaps, if sizes are known."""
    owner = root(node)
    strides = dense_strides(owner.type)
    if strides is None:
        return None
    found = Strided(0, owner.type.shape, strides)
    for step in region(node):
        found = ops.get(step.op).lower.strided(found, **dict(step.params))  # type: ignore[union-attr]
    return found if is_static((found.offset, *found.shape, *found.strides)) else None


def _laid_out(memory: np.ndarray, type: Any, place: Any) -> np.ndarray:
    itemsize = type.dtype.itemsize
    strides = [stride * itemsize for stride in place.strides]
    return np.ndarray(place.shape, type.dtype, memory, place.offset * itemsize, strides)


def _require_apart(tracer: Tracer, *owners: Node) -> None:
    """Two buffers of which one is new share nothing; of two inputs that is a guard."""
    memory = tracer.memory
    if memory.late or any(owner.kind == "constant" for owner in owners):
        raise GraphBreak("whether memory is shared that is not the caller's own or new", "call")
    inputs = [memory.inputs[owner] for owner in owners if owner in memory.inputs]
    for one, other in itertools.combinations(inputs, 2):
        if one.source is None or other.source is None or np.may_share_memory(one.example, other.example):
            raise GraphBreak(f"{one.describe()} and {other.describe()} may share memory", "overlap")
        tracer.guard(one.source, NoOverlap(other.source))


def _frombuffer(
    tracer: Tracer,
    buffer: Value,
    dtype: Value = Constant(float),  # noqa: B008 (immutable)
    count: Value = Constant(-1),  # noqa: B008
    offset: Value = Constant(0),  # noqa: B008
) -> Value:
    """An array that nobody may write, over bytes that never change."""
    if not isinstance(buffer, Constant) or type(buffer.value) is not bytes:
        raise GraphBreak(f"np.frombuffer of {buffer.describe()}", "call")
    given = [value.concrete(tracer) for value in (buffer, dtype, count, offset)]
    found = attempt(np.frombuffer, tuple(given), {}, "np.frombuffer")
    node = tracer.graph.constant(found.copy())
    return tracer.call_op(ops.get("broadcast_to"), (tracer.result(node), Constant(found.shape)), {})


ROWS: Mapping[Any, Callable[..., Value]] = {
    np.shares_memory: _sharing(np.shares_memory),
    np.may_share_memory: _sharing(np.may_share_memory),
    np.frombuffer: _frombuffer,
}
