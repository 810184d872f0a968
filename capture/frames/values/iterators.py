"""Iterators over what is known: their items come one by one while a loop is unrolled.

In: a sequence value, or other iterators. Out: ``advance``: the next item or None at the end. A half-used iterator
is rebuilt by making a new one and setting its position, which is what a copy of it by pickle does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.stores import MethodCall, Store
from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import NeedsNative, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


FORWARD: Any = type(iter([]))
BACKWARD: Any = type(reversed([]))


class IteratorValue(Value):
    """What all iterators share."""

    __slots__ = ()
    noun = "iterator"

    def truth(self, tracer: Tracer) -> bool:
        return True

    def iterate(self, tracer: Tracer) -> Value:
        return self

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        found = []
        while (item := self.advance(tracer)) is not None:
            found.append(item)
            if len(found) > tracer.settings.options.unroll_limit:
                raise GraphBreak("an iterator with too many items", "loop")
        return tuple(found)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        """Up to the item that is found."""
        while (found := self.advance(tracer)) is not None:
            if tracer.equal(found, item):
                return True
        return False

    def advance(self, tracer: Tracer) -> Value | None:
        """The next item; None when there is none."""
        raise NotImplementedError

    def remaining(self, tracer: Tracer) -> int:
        """How many items are left at this call; of a list from outside no guard says so."""
        raise NotImplementedError

    def late(self) -> Store | None:
        """What is left to do with a new iterator when everything else has been changed."""
        return None


class SequenceIterator(IteratorValue):
    """``iter`` of a tuple, list, range, string or array, at a position.

    One that has come to its end stays there, though its list may grow. The position in a list from outside that is
    changed is ``late``: it is set when the changes have been carried out.
    """

    __slots__ = ("ended", "index", "over")

    def __init__(self, over: Value) -> None:
        super().__init__()
        self.over = over
        self.index = 0
        self.ended = False

    def remaining(self, tracer: Tracer) -> int:
        over = self.over
        return 0 if self.ended else (over.count if isinstance(over, ListValue) else over.length(tracer)) - self.index

    def advance(self, tracer: Tracer) -> Value | None:
        item = None if self.ended else self._item(tracer)
        if item is None:
            tracer.journal.set(self, "ended", True)
            return None
        tracer.journal.set(self, "index", self.index + 1)
        return item

    def _item(self, tracer: Tracer) -> Value | None:
        if isinstance(self.over, ListValue):
            return self.over.find(self.index)
        return self.over.item(tracer, Constant(self.index)) if self.remaining(tracer) > 0 else None

    def late(self) -> Store | None:
        late = bool(self.index) and not self.ended and _is_changed(self.over)
        return MethodCall(self, FORWARD.__setstate__, (Constant(self.index),)) if late else None

    def rebuild(self, build: Builder) -> None:
        over = self.over
        if self.ended and isinstance(over, ListValue):
            build.call(iter, (ListValue(()),))
        elif isinstance(over, Constant) and type(over.value) is range:
            build.constant(over.value[self.index :])
            build.iterate()
        elif isinstance(over, ArrayValue) and self.index:
            build.value(over)
            build.constant(slice(self.index, None))
            build.subscript()
            build.iterate()
        else:
            build.value(over)
            build.iterate()
            if self.index and not _is_changed(over):
                build.set_state(self.index)


class CountedIterator(IteratorValue):
    """``iter`` of a known dict, of its keys, values or items, or of a set, at a position.

    ``made`` is the number of the instruction that made it, where the dict's changes had to be done before it.
    """

    __slots__ = ("index", "made", "over")

    def __init__(self, over: Value, made: int | None = None) -> None:
        super().__init__()
        self.over = over
        self.made = made
        self.index = 0

    def require_rebuildable(self) -> None:
        if self.made is not None:
            raise NeedsNative("iterator", self.made)

    def remaining(self, tracer: Tracer) -> int:
        return self.over.length(tracer) - self.index

    def advance(self, tracer: Tracer) -> Value | None:
        if self.remaining(tracer) <= 0:
            return None
        item = self.over.items(tracer)[self.index]
        tracer.journal.set(self, "index", self.index + 1)
        return item

    def rebuild(self, build: Builder) -> None:
        """Such iterators have no state that could be set, and notice when what they go over grows."""
        build.constant(advanced)
        build.value(self.over)
        build.iterate()
        build.constant(self.index)
        build.finish_call(2)


def advanced(iterator: Iterator[Any], count: int) -> Iterator[Any]:
    """The iterator, after ``count`` items."""
    for _ in range(count):
        next(iterator)
    return iterator


class ReversedIterator(IteratorValue):
    """``reversed`` of a tuple or list; ``left`` items are still to come."""

    __slots__ = ("left", "over")

    def __init__(self, over: Value, left: int) -> None:
        super().__init__()
        self.over = over
        self.left = left

    def remaining(self, tracer: Tracer) -> int:
        return self.left

    def advance(self, tracer: Tracer) -> Value | None:
        if self.left > self.over.length(tracer):  # of a list that has become shorter
            tracer.journal.set(self, "left", 0)
        if self.left <= 0:
            return None
        item = self.over.item(tracer, Constant(self.left - 1))
        tracer.journal.set(self, "left", self.left - 1)
        return item

    def late(self) -> Store | None:
        if not isinstance(self.over, ListValue) or not self.over.changed_outside:
            return None
        place = self.left - 1 if self.left <= len(self.over.values) else -1
        return MethodCall(self, BACKWARD.__setstate__, (Constant(place),))

    def rebuild(self, build: Builder) -> None:
        build.call(reversed, (self.over,))
        if not _is_changed(self.over):
            build.set_state(self.left - 1)


def _is_changed(over: Value) -> bool:
    return isinstance(over, ListValue) and over.changed_outside


class EnumerateIterator(IteratorValue):
    """``enumerate`` of an iterator, at a count."""

    __slots__ = ("count", "inner")

    def __init__(self, inner: IteratorValue, count: int) -> None:
        super().__init__()
        self.inner = inner
        self.count = count

    def remaining(self, tracer: Tracer) -> int:
        return self.inner.remaining(tracer)

    def advance(self, tracer: Tracer) -> Value | None:
        item = self.inner.advance(tracer)
        if item is None:
            return None
        pair = TupleValue((Constant(self.count), item))
        tracer.journal.set(self, "count", self.count + 1)
        return pair

    def rebuild(self, build: Builder) -> None:
        build.call(enumerate, (self.inner, Constant(self.count)))


class ZipIterator(IteratorValue):
    """``zip`` of iterators."""

    __slots__ = ("inners", "strict")

    def __init__(self, inners: Sequence[IteratorValue], strict: bool = False) -> None:
        super().__init__()
        self.inners = tuple(inners)
        self.strict = strict

    def remaining(self, tracer: Tracer) -> int:
        return min((inner.remaining(tracer) for inner in self.inners), default=0)

    def advance(self, tracer: Tracer) -> Value | None:
        items = []
        for inner in self.inners:
            item = inner.advance(tracer)
            if item is not None:
                items.append(item)
            elif not self.strict:
                return None
        if self.strict and items and len(items) < len(self.inners):
            raise GraphBreak("zip of iterators that are not of one length")
        return TupleValue(items) if items else None

    def rebuild(self, build: Builder) -> None:
        build.call(zip, self.inners, {"strict": Constant(True)} if self.strict else {})
