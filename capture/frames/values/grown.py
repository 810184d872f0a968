"""A list that a loop of the graph has filled: its items are the rows of an array that the loop gives.

In: the array, and what the items are. Out: the array itself, copied, where NumPy makes one of the list; the list, made
behind the graph, where anybody wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values.arrays import ArrayValue, graph_value
from capture.frames.values.base import NeedsNative, NotConcrete, Value
from capture.frames.values.constants import Constant
from capture.ir import op as ops
from capture.ir.shapes import le

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer

MAKING = frozenset({"array", "asarray"})
"""Operations that make one array of all items."""

JOINING = frozenset({"stack", "vstack", "hstack", "np_concatenate", "column_stack"})
"""Operations that put all items into one array side by side."""

REDUCING = frozenset({"sum", "mean", "max", "min", "std", "var", "prod"})
"""Operations that do the same with a list as with the array of its items."""


class Left(NamedTuple):
    """The loop that has filled a list, and who is told why it is left to Python."""

    loop: str
    note: Callable[[str], None]


class Arrays(NamedTuple):
    """Items that are arrays: whether each of them is another object."""

    distinct: bool


class GrownList(Value):
    """``number`` is the type of items that are Python numbers. Where more is wanted of the list than an array, or the
    list itself when it holds ``arrays`` of which some may be one object, its loop is left to Python.
    """

    __slots__ = ("array", "arrays", "left", "number")
    noun = "list that a loop has filled"

    def __init__(self, array: ArrayValue, number: type | None, arrays: Arrays | None, left: Left) -> None:
        super().__init__()
        self.array, self.number, self.arrays, self.left = array, number, arrays, left

    def _leave(self, what: str) -> NoReturn:
        self.left.note(f"{what} a list that grows is needed behind the loop")
        raise NeedsNative(self.left.loop, 1)

    def _stop(self, tracer: Tracer, what: str) -> NoReturn:
        """Python does it, with the list; where a graph without breaks may come of the loop, put there round by round,
        the loop is left to that."""
        count, settings = self.array.type.shape[0], tracer.settings
        is_short = isinstance(count, int) and count <= settings.options.unroll_limit
        if settings.fullgraph or is_short or (self.arrays is not None and not self.arrays.distinct):
            self._leave(what)
        raise GraphBreak(f"{what} a list that a loop has filled", "python")

    def python_type(self, tracer: Tracer) -> type:
        return list

    def size(self, tracer: Tracer) -> Value:
        return tracer.sizes.value(self.array.type.shape[0])

    def attribute(self, tracer: Tracer, name: str) -> Value:
        self._stop(tracer, f"{name!r} of")

    def item(self, tracer: Tracer, key: Value) -> Value:
        """The first or last ones of numbers or scalars, where so many are sure to be there."""
        index = key.real(tracer)
        is_int = isinstance(index, Constant) and type(index.value) is int
        if self.arrays is not None or not is_int or not self._has(tracer, index.value):  # type: ignore[attr-defined]
            self._stop(tracer, "an item of")
        found = tracer.call_op(ops.get("getitem"), (self.array, index), {})
        return found if self.number is None else tracer.call(tracer.constant(self.number), (found,), {})

    def _has(self, tracer: Tracer, index: int) -> bool:
        count = self.array.type.shape[0]
        least = index + 1 if index >= 0 else -index
        if isinstance(count, int):
            return count >= least
        known = tracer.graph.known
        return known.facts.implied(le(least, count)) or known.tests(le(least, count))  # type: ignore[no-any-return]

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        self._stop(tracer, "a place in")

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        self._stop(tracer, "a place in")

    def iterate(self, tracer: Tracer) -> Value:
        """For another loop of the graph, which goes through the rows."""
        if self.arrays is not None and not self.arrays.distinct:
            self._stop(tracer, "an iterator of")
        return tracer.iterator(self)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        self._stop(tracer, "every item of")

    def listed(self, tracer: Tracer) -> tuple[Value, ...]:
        self._stop(tracer, "every item of")

    def contains(self, tracer: Tracer, item: Value) -> bool:
        self._stop(tracer, "every item of")

    def length(self, tracer: Tracer) -> int:
        self._stop(tracer, "the length of")

    def concrete(self, tracer: Tracer) -> Any:
        self._stop(tracer, "the value of")

    def truth(self, tracer: Tracer) -> bool:
        self.require_items(tracer)
        return True

    def require_items(self, tracer: Tracer) -> None:
        """Without items Python goes on by itself."""
        tracer.graph.known.answer(le(1, self.array.type.shape[0]))

    def in_graph(self, tracer: Tracer) -> Any:
        self._stop(tracer, "an operation on")

    def require_rebuildable(self) -> None:
        if self.arrays is not None and not self.arrays.distinct:
            self._leave("the object of")

    def rebuild(self, build: Builder) -> None:
        how = list if self.number is None else np.ndarray.tolist
        build.call(_own_arrays if self.arrays is not None else how, (self.array,))

    def joined(self, tracer: Tracer, name: str, axis: int) -> ArrayValue | None:
        """What a joining operation makes of the items, as a view of their array; None if that is none."""
        graph, items = tracer.graph, self.array.in_graph(tracer)
        count, *shape = items.type.shape
        rank = len(shape)
        if name == "stack":
            axis += rank + 1 if axis < 0 else 0
            if not 0 <= axis <= rank:
                return None
            axes = [*range(1, rank + 1)]
            axes.insert(axis, 0)
            return graph_value(graph.call("permute", items, axes=tuple(axes)))  # type: ignore[return-value]
        if name in ("vstack", "column_stack") and rank <= 1:
            if rank == 0:
                sizes = (count, 1) if name == "vstack" else (1, count)
                return graph_value(graph.call("reshape", items, shape=sizes))  # type: ignore[return-value]
            return self.joined(tracer, "stack", int(name == "column_stack"))
        if name == "hstack" and rank == 0:
            return self.array
        axis = {"vstack": 0, "hstack": int(rank > 1), "column_stack": 1}.get(name, axis)
        axis += rank if axis < 0 else 0
        if not 0 <= axis < rank:
            return None
        axes = [*range(1, rank + 1)]
        axes.insert(axis, 0)
        turned = graph.call("copy", graph.call("permute", items, axes=tuple(axes)), order="C")
        sizes = (*shape[:axis], count * shape[axis], *shape[axis + 1 :])
        return graph_value(graph.call("reshape", turned, shape=sizes))  # type: ignore[return-value]


def _own_arrays(items: np.ndarray) -> list[np.ndarray]:
    """An array of its own for each item."""
    return [np.array(item) for item in items]


Call = tuple[ops.Op | None, "Sequence[Value]", "Mapping[str, Value]"]


def as_arrays(tracer: Tracer, op: ops.Op | None, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Call:
    """An operation and its operands, with the array of its items for a list."""
    if op is None or not args or not isinstance(args[0], GrownList):
        return op, args, kwargs
    found = args[0]
    if op.name in REDUCING:
        found.require_items(tracer)
        return op, (found.array, *args[1:]), kwargs
    if op.name in MAKING and len(args) + len(kwargs) <= 2 and kwargs.keys() <= {"dtype"}:
        dtype = kwargs.get("dtype", args[1] if len(args) == 2 else None)
        if _keeps_items(tracer, found, dtype):
            found.require_items(tracer)
            return ops.get("array"), (found.array, *args[1:]), kwargs
    axis = kwargs.get("axis", args[1] if len(args) == 2 else Constant(0))
    takes_axis = op.name in ("stack", "np_concatenate")
    plain = len(args) + len(kwargs) == 1 or (takes_axis and len(args) + (kwargs.keys() == {"axis"}) == 2)
    if op.name in JOINING and plain and isinstance(axis, Constant) and type(axis.value) is int:
        joined = found.joined(tracer, op.name, axis.value)
        if joined is not None:
            found.require_items(tracer)
            return ops.get("np_copy"), (joined,), {"order": Constant("C")}
    return op, args, kwargs


def _keeps_items(tracer: Tracer, found: GrownList, dtype: Value | None) -> bool:
    """Whether an array of a dtype is made of the items as it is of their array: none changes much."""
    if dtype is None:
        return True
    try:
        wanted = np.dtype(dtype.concrete(tracer))
    except (NotConcrete, TypeError):
        return False
    return wanted.kind in "biufc" and wanted.char not in "gG" and np.can_cast(found.array.type.dtype, wanted, "safe")
