"""A list that a loop of the graph has filled: its items are the rows of an array that the loop gives.

In: the array, and what the items are. Out: the array itself, copied, where NumPy makes one of the list; the list, made
behind the graph, where anybody wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import NeedsNative, Value
from capture.frames.values.constants import Constant
from capture.ir import op as ops
from capture.ir.shapes import le

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer

MAKING = frozenset({"array", "asarray", "stack"})
"""Operations that make one array of all items."""

REDUCING = frozenset({"sum", "mean", "max", "min", "std", "var", "prod"})
"""Operations that do the same with a list as with the array of its items."""


class Left(NamedTuple):
    """The loop that has filled a list, and who is told why it is left to Python."""

    loop: str
    note: Callable[[str], None]


class GrownList(Value):
    """``number`` is the type of items that are Python numbers. Where more is wanted of the list than an array, or the
    list itself when it holds ``arrays`` (it would have to be known which are one object), its loop is left to Python.
    """

    __slots__ = ("array", "arrays", "left", "number")
    noun = "list that a loop has filled"

    def __init__(self, array: ArrayValue, number: type | None, arrays: bool, left: Left) -> None:
        super().__init__()
        self.array, self.number, self.arrays, self.left = array, number, arrays, left

    def _leave(self, what: str) -> NoReturn:
        self.left.note(f"{what} a list that grows is needed behind the loop")
        raise NeedsNative(self.left.loop, 1)

    def python_type(self, tracer: Tracer) -> type:
        return list

    def size(self, tracer: Tracer) -> Value:
        return tracer.sizes.value(self.array.type.shape[0])

    def attribute(self, tracer: Tracer, name: str) -> Value:
        self._leave(f"{name!r} of")

    def item(self, tracer: Tracer, key: Value) -> Value:
        self._leave("an item of")

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        self._leave("a place in")

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        self._leave("a place in")

    def iterate(self, tracer: Tracer) -> Value:
        self._leave("an iterator of")

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        self._leave("every item of")

    def listed(self, tracer: Tracer) -> tuple[Value, ...]:
        self._leave("every item of")

    def contains(self, tracer: Tracer, item: Value) -> bool:
        self._leave("every item of")

    def length(self, tracer: Tracer) -> int:
        self._leave("the length of")

    def concrete(self, tracer: Tracer) -> Any:
        self._leave("the value of")

    def truth(self, tracer: Tracer) -> bool:
        self.require_items(tracer)
        return True

    def require_items(self, tracer: Tracer) -> None:
        """Without items Python goes on by itself."""
        tracer.graph.known.answer(le(1, self.array.type.shape[0]))

    def in_graph(self, tracer: Tracer) -> Any:
        self._leave("an operation on")

    def require_rebuildable(self) -> None:
        if self.arrays:
            self._leave("the object of")

    def rebuild(self, build: Builder) -> None:
        build.call(list if self.number is None else np.ndarray.tolist, (self.array,))


def as_arrays(
    tracer: Tracer, op: ops.Op | None, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[ops.Op | None, Sequence[Value]]:
    """The operation and its operands, with the array of its items for a list."""
    if op is None or not args or not isinstance(args[0], GrownList):
        return op, args
    array, axis = args[0].array, kwargs.get("axis", Constant(0))
    if op.name in (*REDUCING, *MAKING):
        args[0].require_items(tracer)
    if op.name in REDUCING:
        return op, (array, *args[1:])
    first = isinstance(axis, Constant) and type(axis.value) is int and axis.value == 0
    if op.name in MAKING and len(args) == 1 and (not kwargs or (op.name == "stack" and first and len(kwargs) == 1)):
        return ops.get("np_copy"), (array,)
    return op, args
