"""Values that are known only when a program runs, and those that are one thing or another.

In: nodes of a program. Out: steps of it (``computing``, ``indexing``). They appear only while a loop is evaluated; what
is left of them behind the loop are results of its node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.numbers import NumberValue
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.program import ANY, DENSE, INNER, RankedType
from capture.ir.shapes.extremes import maximum
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.loops.evaluating import Inside
    from capture.frames.tracer import Tracer


class InsideValue(Value):
    """What a node of the program stands for. ``outer`` is the value outside that it is, if it is one."""

    __slots__ = ("node", "outer", "type")

    def __init__(self, node: Node, outer: Value | None = None) -> None:
        super().__init__()
        self.node = node
        self.type: Any = node.type
        self.outer = outer

    def describe(self) -> str:
        return f"{self.noun} {self.node.name}"

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak(f"a decision on {self.describe()} inside a loop", "branch")


class InsideNumber(InsideValue):
    """A Python int, float or bool."""

    __slots__ = ()
    noun = "number"

    @property
    def python(self) -> type:
        return self.type.python  # type: ignore[no-any-return]

    def python_type(self, tracer: Tracer) -> type:
        return self.python

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if self.python is complex and name in ("real", "imag"):
            return _inside(tracer).part(self, name)
        if self.python is complex and name == "conjugate":
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return _inside(tracer).call_method(self, name, args, kwargs)


class InsideScalar(InsideValue):
    """A NumPy scalar."""

    __slots__ = ()
    noun = "NumPy scalar"

    def python_type(self, tracer: Tracer) -> type:
        return self.type.dtype.type  # type: ignore[no-any-return]

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in ("real", "imag"):
            return _inside(tracer).part(self, name)
        if name in _OF_SCALARS:
            return _OF_SCALARS[name](self)
        return tracer.method(self, name) if ops.for_method(name) or name == "item" else super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return _inside(tracer).call_method(self, name, args, kwargs)


class InsideArray(InsideValue):
    """An array. ``sizes`` are what is known of its shape: an int for each axis, or None."""

    __slots__ = ("sizes",)
    noun = "array"

    def __init__(self, node: Node, sizes: Sequence[int | None] = (), outer: Value | None = None) -> None:
        super().__init__(node, outer)
        known = tuple(sizes) or (None,) * self.type.ndim
        self.sizes = tuple(1 if axis in self.type.ones else size for axis, size in enumerate(known))

    def python_type(self, tracer: Tracer) -> type:
        return np.ndarray

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in _OF_ARRAYS:
            return _OF_ARRAYS[name](tracer, self)
        if ops.for_method(name) is not None or name in ("fill", "item", "copy"):
            return tracer.method(self, name)
        raise GraphBreak(f"attribute {name!r} of an array inside a loop", "attribute")

    def item(self, tracer: Tracer, key: Value) -> Value:
        return _inside(tracer).item(self, key)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        _inside(tracer).store_item(self, key, value)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return _inside(tracer).call_method(self, name, args, kwargs)

    def size(self, tracer: Tracer, axis: int) -> Value:
        known = self.sizes[axis]
        return Constant(known) if known is not None else _inside(tracer).size(self, axis)

    def iterate(self, tracer: Tracer) -> Value:
        if not self.type.ndim:
            raise GraphBreak("iteration over an array without axes", "loop")
        return Rows(self)


class GrowingList(Value):
    """A list that the program appends to: the first ``count`` rows of a buffer. It is another value after each time."""

    __slots__ = ("buffer", "count", "type")
    noun = "list"

    def __init__(self, type: GrowingType, buffer: InsideArray, count: Value) -> None:
        super().__init__()
        self.type, self.buffer, self.count = type, buffer, count

    def python_type(self, tracer: Tracer) -> type:
        return list

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name == "append":
            return tracer.method(self, name)
        raise GraphBreak(f"{name!r} of a list that grows in a loop", "loop")

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name != "append" or len(args) != 1 or kwargs:
            raise GraphBreak(f"{name!r} of a list that grows in a loop", "loop")
        _inside(tracer).append(self, args[0])
        return Constant(None)

    def item(self, tracer: Tracer, key: Value) -> Value:
        return _inside(tracer).item_of_list(self, key)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        _inside(tracer).store_item_of_list(self, key, value)

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak("a decision on a list that grows in a loop", "branch")


class EitherValue(Value):
    """A Python number, or the NumPy scalar that it turned into: ``total = 0`` and then ``total += x[i]``.

    ``node`` is its value as a scalar, ``weak`` a bool: it is still the number, of type ``python``.
    """

    __slots__ = ("node", "python", "type", "weak")
    noun = "number or NumPy scalar"

    def __init__(self, node: Any, weak: Any, python: type, type: ArrayType) -> None:
        super().__init__()
        self.node, self.weak, self.python, self.type = node, weak, python, type

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if self.python is complex and name in ("real", "imag"):
            return _inside(tracer).part(self, name)
        return super().attribute(tracer, name)

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak(f"a decision on a {self.noun} inside a loop", "branch")


class UnboundValue(Value):
    """What a variable without a value holds."""

    __slots__ = ()
    noun = "unbound variable"


UNBOUND = UnboundValue()


class MaybeValue(Value):
    """A variable that has a value or, where ``unbound`` holds, none: what a loop binds that may go round no time.

    It is not looked at before that is certain: the program leaves where it has none.
    """

    __slots__ = ("unbound", "value")
    noun = "variable"

    def __init__(self, value: Value, unbound: Any) -> None:
        super().__init__()
        self.value, self.unbound = value, unbound

    def real(self, tracer: Tracer) -> Value:
        _inside(tracer).leave_if(self.unbound)
        return self.value.real(tracer)


def nodes_of(value: Value) -> list[Any]:
    """The nodes that make up a value of the program."""
    if isinstance(value, MaybeValue):
        return [*nodes_of(value.value), value.unbound]
    if isinstance(value, EitherValue):
        return [value.node, value.weak]
    if isinstance(value, GrowingList):
        return [value.buffer.node, getattr(value.count, "node", None)]
    return [value.node] if isinstance(value, InsideValue) else []


class UnknownValue(Value):
    """What is one object on one way through the loop and another on another."""

    __slots__ = ("why",)
    noun = "variable"

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def real(self, tracer: Tracer) -> Value:
        raise GraphBreak(self.why, "loop")


class OneOfValue(Value):
    """What a function returns: one of several unlike things, the one with a number; no more is known of it."""

    __slots__ = ("number", "options")
    noun = "result"

    def __init__(self, number: InsideNumber, options: Sequence[Value]) -> None:
        super().__init__()
        self.number, self.options = number, tuple(options)

    def real(self, tracer: Tracer) -> Value:
        raise GraphBreak("what a function returns is one thing or another, depending on the way through a loop", "loop")


# Iterators --------------------------------------------------------------------------------------------------------
class RangeValue(Value):
    """``range`` of numbers that are known when the program runs; the step is an int, or a number above zero."""

    __slots__ = ("start", "step", "stop")
    noun = "range"

    def __init__(self, start: Value, stop: Value, step: int | Value) -> None:
        super().__init__()
        self.start, self.stop, self.step = start, stop, step

    def python_type(self, tracer: Tracer) -> type:
        return range

    def iterate(self, tracer: Tracer) -> Value:
        return Counting(self.start, self.stop, self.step)


class Stream(Value):
    """An iterator of a loop: ``parts`` change from round to round; ``more`` says whether there is a next item."""

    __slots__ = ()
    noun = "iterator"

    @property
    def parts(self) -> tuple[Value, ...]:
        raise NotImplementedError

    def at(self, parts: Sequence[Value]) -> Stream:
        """The same iterator at another place."""
        raise NotImplementedError

    def more(self, inside: Inside) -> Value:
        raise NotImplementedError

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        """The next item, and the iterator behind it."""
        raise NotImplementedError

    def iterate(self, tracer: Tracer) -> Value:
        return self


class Counting(Stream):
    """Over a range: ``next`` is the number that comes next."""

    __slots__ = ("next", "step", "stop")

    def __init__(self, next: Value, stop: Value, step: int | Value) -> None:
        super().__init__()
        self.next, self.stop, self.step = next, stop, step

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.next,)

    def at(self, parts: Sequence[Value]) -> Stream:
        return Counting(parts[0], self.stop, self.step)

    def more(self, inside: Inside) -> Value:
        rising = not isinstance(self.step, int) or self.step > 0
        return inside.binary("<" if rising else ">", self.next, self.stop)

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        return self.next, Counting(inside.advanced(self.next, self.step), self.stop, self.step)


class Rows(Stream):
    """Over the first axis of an array; ``number`` is what its elements are where they are the items of a list."""

    __slots__ = ("array", "number", "place")

    def __init__(self, array: InsideArray, place: Value | None = None, number: type | None = None) -> None:
        super().__init__()
        self.array, self.place, self.number = array, Constant(0) if place is None else place, number

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.place,)

    def at(self, parts: Sequence[Value]) -> Stream:
        return Rows(self.array, parts[0], self.number)

    def more(self, inside: Inside) -> Value:
        return inside.binary("<", self.place, self.array.size(inside.tracer, 0))

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        item = inside.item(self.array, self.place)
        following = Rows(self.array, inside.advanced(self.place, 1), self.number)
        return item if self.number is None else inside.number(self.number.__name__, item), following


class Enumerating(Stream):
    """``enumerate``."""

    __slots__ = ("count", "over")

    def __init__(self, over: Stream, count: Value) -> None:
        super().__init__()
        self.over, self.count = over, count

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.count, *self.over.parts)

    def at(self, parts: Sequence[Value]) -> Stream:
        return Enumerating(self.over.at(parts[1:]), parts[0])

    def more(self, inside: Inside) -> Value:
        return self.over.more(inside)

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        item, over = self.over.take(inside)
        return TupleValue((self.count, item)), Enumerating(over, inside.advanced(self.count, 1))


class Zipped(Stream):
    """``zip`` of iterators of which none has an effect."""

    __slots__ = ("over",)

    def __init__(self, over: Sequence[Stream]) -> None:
        super().__init__()
        self.over = tuple(over)

    @property
    def parts(self) -> tuple[Value, ...]:
        return tuple(part for stream in self.over for part in stream.parts)

    def at(self, parts: Sequence[Value]) -> Stream:
        rest = list(parts)
        return Zipped([stream.at([rest.pop(0) for _ in stream.parts]) for stream in self.over])

    def more(self, inside: Inside) -> Value:
        found = self.over[0].more(inside)
        for stream in self.over[1:]:
            found = inside.both(found, stream.more(inside))
        return found

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        items, streams = zip(*(stream.take(inside) for stream in self.over), strict=True)
        return TupleValue(items), Zipped(streams)


@dataclass(frozen=True, eq=False)
class Table:
    """A constant sequence of numbers, or of tuples of them: an array for each column, with the type of its items."""

    columns: tuple[tuple[InsideArray, str], ...]
    length: int
    is_flat: bool


class Tabled(Stream):
    """Over a constant sequence."""

    __slots__ = ("place", "table")

    def __init__(self, table: Table, place: Value) -> None:
        super().__init__()
        self.table, self.place = table, place

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.place,)

    def at(self, parts: Sequence[Value]) -> Stream:
        return Tabled(self.table, parts[0])

    def more(self, inside: Inside) -> Value:
        return inside.binary("<", self.place, Constant(self.table.length))

    def take(self, inside: Inside) -> tuple[Value, Stream]:
        return inside.row(self.table, self.place), Tabled(self.table, inside.advanced(self.place, 1))


def trips_of(stream: Stream, operands: Mapping[Node, Any]) -> Any:
    """How many items come, as a size, where that is known before the loop; ``operands`` are the program's."""
    if isinstance(stream, Enumerating):
        return trips_of(stream.over, operands)
    if isinstance(stream, Zipped):
        found = [trips_of(over, operands) for over in stream.over]
        return found[0] if all(each == found[0] for each in found) else None
    if isinstance(stream, Rows):
        outer = operands.get(stream.array.node)
        size = stream.array.sizes[0] if outer is None else outer.type.shape[0]
        start = _known_size(stream.place, operands)
        return None if size is None or start is None else maximum(0, size - start)
    if not isinstance(stream, Counting) or not isinstance(stream.step, int):
        return None
    start, stop = _known_size(stream.next, operands), _known_size(stream.stop, operands)
    if isinstance(start, int) and isinstance(stop, int):
        return len(range(start, stop, stream.step))
    if start is None or stop is None or stream.step not in (1, -1):
        return None
    return maximum(0, stop - start if stream.step == 1 else start - stop)


def _known_size(value: Value, operands: Mapping[Node, Any]) -> Any:
    outer = operands.get(value.node) if isinstance(value, InsideNumber) else value
    if isinstance(outer, Constant):
        return outer.value if type(outer.value) is int else None
    return outer.size if isinstance(outer, NumberValue) and outer.python is int else None


# Kinds: what a parameter of a block may be --------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class EitherType:
    """Of an ``EitherValue``."""

    python: type
    scalar: ArrayType


@dataclass(frozen=True, slots=True)
class MaybeType:
    """Of a ``MaybeValue``; None where nothing has been bound on any way."""

    kind: Any


@dataclass(frozen=True, slots=True)
class GrowingType:
    """Of a ``GrowingList``: what its items are and where they lie; ``number`` tells lists apart."""

    item: NumberType | ArrayType | RankedType
    buffer: RankedType
    number: int


Kind = NumberType | ArrayType | RankedType | EitherType | MaybeType | GrowingType


def joined(one: Kind | None, other: Kind | None) -> Kind | None:
    """The narrowest kind that is both."""
    if one is None or other is None or one == other:
        return one if one == other else None
    if isinstance(one, MaybeType) or isinstance(other, MaybeType):
        kinds = [kind.kind if isinstance(kind, MaybeType) else kind for kind in (one, other)]
        found = kinds[0] or kinds[1] if None in kinds else joined(*kinds)
        return None if found is None else MaybeType(found)
    if isinstance(one, RankedType) and isinstance(other, RankedType):
        if (one.dtype, one.ndim) != (other.dtype, other.ndim):
            return None
        layout = max(one.layout, other.layout, key=(DENSE, INNER, ANY).index)
        return RankedType(one.dtype, one.ndim, layout, one.ones & other.ones)
    python = [kind.python for kind in (one, other) if isinstance(kind, NumberType | EitherType)]
    scalars = [kind for kind in (one, other) if isinstance(kind, ArrayType)]
    scalars += [kind.scalar for kind in (one, other) if isinstance(kind, EitherType)]
    if len(set(python)) == 1 and len(set(scalars)) == 1 and _turns_into(python[0], scalars[0].dtype):
        return EitherType(python[0], scalars[0])
    return None


def _turns_into(python: type, dtype: np.dtype) -> bool:
    """Whether a Python number may be kept as a scalar of the dtype: what computes with both cannot tell them apart."""
    return dtype.kind in {bool: "b", int: "iuf", float: "f", complex: "c"}[python]


def _inside(tracer: Tracer) -> Inside:
    if tracer.inside is None:
        raise GraphBreak("a value of a loop that has ended", "loop")
    return tracer.inside


# Attributes ---------------------------------------------------------------------------------------------------------
def _shape(tracer: Tracer, array: InsideArray) -> Value:
    return TupleValue([array.size(tracer, axis) for axis in range(array.type.ndim)])


def _count(tracer: Tracer, array: InsideArray) -> Value:
    found: Value = Constant(1)
    for axis in range(array.type.ndim):
        found = tracer.binary("*", found, array.size(tracer, axis))
    return found


_OF_ARRAYS = {
    "shape": _shape,
    "size": _count,
    "ndim": lambda tracer, array: Constant(array.type.ndim),
    "dtype": lambda tracer, array: Constant(array.type.dtype),
    "itemsize": lambda tracer, array: Constant(array.type.dtype.itemsize),
    "real": lambda tracer, array: _inside(tracer).part(array, "real"),
    "imag": lambda tracer, array: _inside(tracer).part(array, "imag"),
    "T": lambda tracer, array: _inside(tracer).permuted(array, range(array.type.ndim)[::-1]),
}
_OF_SCALARS = {
    "dtype": lambda scalar: Constant(scalar.type.dtype),
    "ndim": lambda scalar: Constant(0),
    "shape": lambda scalar: TupleValue(()),
    "size": lambda scalar: Constant(1),
}
