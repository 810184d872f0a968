"""Iterators that compute their items: ``map``, ``filter`` and those of ``itertools``.

In: known iterators and callables. Out: the items one by one, computed when they are asked for, as Python does. One that
is needed as an object is made anew from what is left of the iterators below it.

>>> MapIterator(double, (iterator,)).advance(tracer)
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.exceptions import Raised
from capture.frames.values.instances import Instance
from capture.frames.values.iterators import IteratorValue, SequenceIterator, advanced
from capture.frames.values.objects import CallableValue

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer

ENDLESS = sys.maxsize
NONE = Constant(None)


class Stream(IteratorValue):
    """An iterator over others; ``inners`` are what it takes its items from, and ``function`` what it calls."""

    __slots__ = ("function", "inners")
    python: Any = None

    def __init__(self, inners: Sequence[IteratorValue], function: Value | None = None) -> None:
        super().__init__()
        self.inners = tuple(inners)
        self.function = function

    @property
    def parts(self) -> tuple[Value, ...]:
        return self.inners if self.function is None else (self.function, *self.inners)

    def remaining(self, tracer: Tracer) -> int:
        """At most so many."""
        return min((inner.remaining(tracer) for inner in self.inners), default=0)

    def rebuild(self, build: Builder) -> None:
        build.call(self.python, self.parts)

    def advance_all(self, tracer: Tracer) -> list[Value] | None:
        items = []
        for inner in self.inners:
            item = inner.advance(tracer)
            if item is None:
                return None
            items.append(item)
        return items


class MapIterator(Stream):
    __slots__ = ()
    python = map

    def advance(self, tracer: Tracer) -> Value | None:
        items = self.advance_all(tracer)
        return None if items is None else tracer.call(self.function, items, {})  # type: ignore[arg-type]


class StarMapIterator(Stream):
    __slots__ = ()
    python = itertools.starmap

    def advance(self, tracer: Tracer) -> Value | None:
        item = self.inners[0].advance(tracer)
        if item is None:
            return None
        return tracer.call(self.function, item.real(tracer).items(tracer), {})  # type: ignore[arg-type]


class FilterIterator(Stream):
    """``filter`` and ``filterfalse``, by what is ``wanted`` of the answer."""

    __slots__ = ("python", "wanted")

    def __init__(self, inner: IteratorValue, function: Value, python: Any, wanted: bool) -> None:
        super().__init__((inner,), function)
        self.python = python
        self.wanted = wanted

    def advance(self, tracer: Tracer) -> Value | None:
        while (item := self.inners[0].advance(tracer)) is not None:
            if answer(tracer, self.function, item) == self.wanted:
                return item
        return None


def answer(tracer: Tracer, function: Value | None, item: Value) -> bool:
    if function is None or (isinstance(function, Constant) and function.value is None):
        return item.real(tracer).truth(tracer)
    return tracer.call(function, (item,), {}).real(tracer).truth(tracer)


class TakeWhileIterator(Stream):
    __slots__ = ("ended",)
    python = itertools.takewhile

    def __init__(self, inner: IteratorValue, function: Value) -> None:
        super().__init__((inner,), function)
        self.ended = False

    def advance(self, tracer: Tracer) -> Value | None:
        item = None if self.ended else self.inners[0].advance(tracer)
        if item is not None and not answer(tracer, self.function, item):
            tracer.journal.set(self, "ended", True)
            return None
        return item

    def rebuild(self, build: Builder) -> None:
        assert self.function is not None
        inner = SequenceIterator(TupleValue(())) if self.ended else self.inners[0]
        build.call(self.python, (self.function, inner))


class CompressIterator(Stream):
    __slots__ = ()
    python = itertools.compress

    def advance(self, tracer: Tracer) -> Value | None:
        while (pair := self.advance_all(tracer)) is not None:
            if pair[1].real(tracer).truth(tracer):
                return pair[0]
        return None


class ChainIterator(IteratorValue):
    """``chain``: what is left of the iterator in use, and the iterables that follow, as an iterator over these."""

    __slots__ = ("current", "rest")

    def __init__(self, rest: IteratorValue) -> None:
        super().__init__()
        self.rest = rest
        self.current: IteratorValue | None = None

    @property
    def parts(self) -> tuple[Value | None, ...]:
        return self.current, self.rest

    def remaining(self, tracer: Tracer) -> int:
        following = self.rest.remaining(tracer)
        return following + (0 if self.current is None else self.current.remaining(tracer))

    def advance(self, tracer: Tracer) -> Value | None:
        while True:
            item = None if self.current is None else self.current.advance(tracer)
            if item is not None:
                return item
            following = self.rest.advance(tracer)
            if following is None:
                return None
            tracer.journal.set(self, "current", known_iterator(tracer, following.real(tracer)))

    def rebuild(self, build: Builder) -> None:
        build.call(_chained, (self.rest,) if self.current is None else (self.rest, self.current))


def _chained(rest: Iterator[Any], *current: Iterator[Any]) -> Iterator[Any]:
    return itertools.chain.from_iterable(itertools.chain(current, rest))


class RepeatIterator(IteratorValue):
    __slots__ = ("item_", "left")

    def __init__(self, item: Value, left: int) -> None:
        super().__init__()
        self.item_ = item
        self.left = left

    def remaining(self, tracer: Tracer) -> int:
        return self.left

    def advance(self, tracer: Tracer) -> Value | None:
        if self.left <= 0:
            return None
        if self.left != ENDLESS:
            tracer.journal.set(self, "left", self.left - 1)
        return self.item_

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.item_,)

    def rebuild(self, build: Builder) -> None:
        build.call(itertools.repeat, (self.item_,) if self.left == ENDLESS else (self.item_, Constant(self.left)))


class CountIterator(IteratorValue):
    """``count`` of ints."""

    __slots__ = ("number", "step")

    def __init__(self, number: int, step: int) -> None:
        super().__init__()
        self.number = number
        self.step = step

    def remaining(self, tracer: Tracer) -> int:
        return ENDLESS

    @property
    def parts(self) -> tuple[Value, ...]:
        return ()

    def advance(self, tracer: Tracer) -> Value | None:
        number = self.number
        tracer.journal.set(self, "number", number + self.step)
        return Constant(number)

    def rebuild(self, build: Builder) -> None:
        build.call(itertools.count, (Constant(self.number), Constant(self.step)))


class AccumulateIterator(Stream):
    """``accumulate``; ``total`` is the last item it gave."""

    __slots__ = ("pending", "total")

    def __init__(self, inner: IteratorValue, function: Value, initial: Value | None) -> None:
        super().__init__((inner,), function)
        self.total = initial
        self.pending = initial is not None  # the initial value is the first item

    @property
    def parts(self) -> tuple[Value, ...]:
        return super().parts if self.total is None else (*super().parts, self.total)

    def remaining(self, tracer: Tracer) -> int:
        return self.inners[0].remaining(tracer) + self.pending

    def advance(self, tracer: Tracer) -> Value | None:
        if self.pending:
            tracer.journal.set(self, "pending", False)
            return self.total
        item = self.inners[0].advance(tracer)
        if item is None:
            return None
        if self.total is not None:
            item = tracer.call(self.function, (self.total, item), {})  # type: ignore[arg-type]
        tracer.journal.set(self, "total", item)
        return item

    def rebuild(self, build: Builder) -> None:
        build.call(_accumulated, (Constant(self.pending), *self.parts))


def _accumulated(pending: bool, function: Any, inner: Iterator[Any], *total: Any) -> Iterator[Any]:
    if not total:
        return itertools.accumulate(inner, function)
    made = itertools.accumulate(itertools.chain(total, inner), function)  # initial=None would be none
    return made if pending else advanced(made, 1)


class PairwiseIterator(Stream):
    __slots__ = ("last",)

    def __init__(self, inner: IteratorValue) -> None:
        super().__init__((inner,))
        self.last: Value | None = None

    @property
    def parts(self) -> tuple[Value, ...]:
        return self.inners if self.last is None else (*self.inners, self.last)

    def advance(self, tracer: Tracer) -> Value | None:
        first = self.inners[0].advance(tracer) if self.last is None else self.last
        second = None if first is None else self.inners[0].advance(tracer)
        if first is None or second is None:
            return None
        tracer.journal.set(self, "last", second)
        return TupleValue((first, second))

    def rebuild(self, build: Builder) -> None:
        build.call(_paired, self.parts)


def _paired(inner: Iterator[Any], *last: Any) -> Iterator[Any]:
    return itertools.pairwise(itertools.chain(last, inner))


class SliceIterator(Stream):
    """``islice``, with the state that CPython's has: items taken so far, the place of the next, the end, the step."""

    __slots__ = ("ended", "next", "step", "stop", "taken")

    def __init__(self, inner: IteratorValue, start: int, stop: int | None, step: int) -> None:
        super().__init__((inner,))
        self.taken = 0
        self.next = start
        self.stop = ENDLESS if stop is None else stop
        self.step = step
        self.ended = False

    def remaining(self, tracer: Tracer) -> int:
        return 0 if self.ended else min(len(range(self.next, self.stop, self.step)), super().remaining(tracer))

    def advance(self, tracer: Tracer) -> Value | None:
        item: Value | None = NONE
        while not self.ended and item is not None and self.taken < self.next:
            item = self._take(tracer)
        if not self.ended and item is not None and self.taken < self.stop:
            item = self._take(tracer)
            if item is not None:
                tracer.journal.set(self, "next", min(self.next + self.step, self.stop))
                return item
        tracer.journal.set(self, "ended", True)
        return None

    def _take(self, tracer: Tracer) -> Value | None:
        tracer.journal.set(self, "taken", self.taken + 1)
        return self.inners[0].advance(tracer)

    def rebuild(self, build: Builder) -> None:
        if self.ended:
            build.call(itertools.islice, (TupleValue(()), Constant(0)))
            return
        bounds = self.next - self.taken, None if self.stop == ENDLESS else self.stop - self.taken, self.step
        build.call(itertools.islice, (*self.inners, *map(Constant, bounds)))


class LongestIterator(Stream):
    """``zip_longest``."""

    __slots__ = ("fill",)

    def __init__(self, inners: Sequence[IteratorValue], fill: Value) -> None:
        super().__init__(inners)
        self.fill = fill

    @property
    def parts(self) -> tuple[Value, ...]:
        return (*self.inners, self.fill)

    def remaining(self, tracer: Tracer) -> int:
        return max((inner.remaining(tracer) for inner in self.inners), default=0)

    def advance(self, tracer: Tracer) -> Value | None:
        items = [inner.advance(tracer) for inner in self.inners]
        if all(item is None for item in items):
            return None
        return TupleValue([self.fill if item is None else item for item in items])

    def rebuild(self, build: Builder) -> None:
        build.call(itertools.zip_longest, self.inners, {"fillvalue": self.fill})


class PoolIterator(IteratorValue):
    """``product``, ``combinations`` and the like: all items are known once the pools are."""

    __slots__ = ("arguments", "found", "function", "index")

    def __init__(self, function: Any, arguments: Sequence[Value], found: Sequence[Value]) -> None:
        super().__init__()
        self.function = function
        self.arguments = tuple(arguments)
        self.found = tuple(found)
        self.index = 0

    @property
    def parts(self) -> tuple[Value, ...]:
        return self.arguments

    def remaining(self, tracer: Tracer) -> int:
        return len(self.found) - self.index

    def advance(self, tracer: Tracer) -> Value | None:
        if self.index >= len(self.found):
            return None
        tracer.journal.set(self, "index", self.index + 1)
        return self.found[self.index - 1]

    def rebuild(self, build: Builder) -> None:
        build.constant(advanced)
        build.call(self.function, self.arguments)
        build.constant(self.index)
        build.finish_call(2)


class UserIterator(IteratorValue):
    """An object whose class has a ``__next__`` of its own, as an iterator."""

    __slots__ = ("owner",)

    def __init__(self, owner: Instance) -> None:
        super().__init__()
        self.owner = owner

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.owner,)

    def remaining(self, tracer: Tracer) -> int:
        return 1

    def advance(self, tracer: Tracer) -> Value | None:
        depth = len(tracer.frames)
        try:
            item = self.owner.special(tracer, "__next__")
        except Raised as stop:
            if tracer.unwinding is not None or not issubclass(stop.value.kind, StopIteration):
                raise
            del tracer.frames[depth:]
            return None
        if item is None:
            raise GraphBreak(f"iteration over {self.owner.describe()} is left to Python", "loop")
        return item

    def rebuild(self, build: Builder) -> None:
        build.value(self.owner)


def known_iterator(tracer: Tracer, value: Value) -> IteratorValue:
    found = value.real(tracer).iterate(tracer)
    if isinstance(found, Instance):
        return UserIterator(found)
    if not isinstance(found, IteratorValue):
        raise GraphBreak(f"iteration over {value.describe()}", "loop")
    return found


# Rows ---------------------------------------------------------------------------------------------------------------
MOST_ITEMS = 1024
ADD = CallableValue(operator.add)


def _map(tracer: Tracer, function: Value, *values: Value) -> Value:
    if not values:
        raise GraphBreak("map of nothing")
    return MapIterator([known_iterator(tracer, value) for value in values], function)


def _filter(tracer: Tracer, function: Value, values: Value) -> Value:
    return FilterIterator(known_iterator(tracer, values), function, filter, True)


def _filter_false(tracer: Tracer, function: Value, values: Value) -> Value:
    return FilterIterator(known_iterator(tracer, values), function, itertools.filterfalse, False)


def _star_map(tracer: Tracer, function: Value, values: Value) -> Value:
    return StarMapIterator((known_iterator(tracer, values),), function)


def _take_while(tracer: Tracer, function: Value, values: Value) -> Value:
    return TakeWhileIterator(known_iterator(tracer, values), function)


def _compress(tracer: Tracer, data: Value, selectors: Value) -> Value:
    return CompressIterator((known_iterator(tracer, data), known_iterator(tracer, selectors)))


def _chain(tracer: Tracer, *iterables: Value) -> Value:
    return ChainIterator(SequenceIterator(TupleValue(iterables)))


def _repeat(tracer: Tracer, object: Value, times: Value | None = None) -> Value:
    return RepeatIterator(object, ENDLESS if times is None else max(whole(tracer, times), 0))


def _count(tracer: Tracer, start: Value = Constant(0), step: Value = Constant(1)) -> Value:  # noqa: B008 (immutable)
    return CountIterator(whole(tracer, start), whole(tracer, step))


def _accumulate(tracer: Tracer, iterable: Value, func: Value = ADD, *, initial: Value = NONE) -> Value:
    function = ADD if _is_none(func) else func
    return AccumulateIterator(known_iterator(tracer, iterable), function, None if _is_none(initial) else initial)


def _zip_longest(tracer: Tracer, *values: Value, fillvalue: Value = NONE) -> Value:
    return LongestIterator([known_iterator(tracer, value) for value in values], fillvalue)


def _pairwise(tracer: Tracer, values: Value) -> Value:
    return PairwiseIterator(known_iterator(tracer, values))


def _slice(tracer: Tracer, values: Value, *bounds: Value) -> Value:
    given = [None if _is_none(bound) else whole(tracer, bound) for bound in bounds]
    if not 1 <= len(given) <= 3 or any(bound is not None and bound < 0 for bound in given):
        raise GraphBreak("islice with these arguments is left to Python")
    start, stop, step = (None, given[0], None) if len(given) == 1 else (*given, None)[:3]
    if step == 0:
        raise GraphBreak("islice with these arguments is left to Python")
    return SliceIterator(known_iterator(tracer, values), start or 0, stop, step or 1)


_ARGUMENTS: Mapping[Any, tuple[int, int, bool]] = {
    itertools.product: (0, MOST_ITEMS, True),
    itertools.permutations: (1, 2, False),
    itertools.combinations: (2, 2, False),
    itertools.combinations_with_replacement: (2, 2, False),
}
"""How many arguments are taken, and whether they are repeated."""


def _pools(function: Any) -> Callable[..., Value]:
    """Items are chosen by numbers, so that values need not be known."""

    def row(tracer: Tracer, *arguments: Value, repeat: Value | None = None) -> Value:
        least, most, repeats = _ARGUMENTS[function]
        pools = arguments if repeats else arguments[:1]
        rest = [whole(tracer, argument) for argument in arguments[len(pools) :]]
        if not least <= len(arguments) <= most or (repeat is not None and not repeats) or any(n < 0 for n in rest):
            raise GraphBreak(f"{function.__name__} with these arguments is left to Python")
        known = [tuple(value.items(tracer)) for value in pools]
        if repeat is not None:
            known *= max(whole(tracer, repeat), 0)
        numbered = [[(place, index) for index in range(len(pool))] for place, pool in enumerate(known)]
        chosen = list(itertools.islice(function(*numbered, *rest), MOST_ITEMS + 1))
        if len(chosen) > MOST_ITEMS:
            raise GraphBreak(f"{function.__name__} gives more than {MOST_ITEMS} items", "loop")
        found = [TupleValue([known[place][index] for place, index in item]) for item in chosen]
        return PoolIterator(function, [*map(TupleValue, known), *map(Constant, rest)], found)

    return row


def whole(tracer: Tracer, value: Value) -> int:
    found = value.real(tracer).concrete(tracer)
    if type(found) is not int:
        raise GraphBreak(f"{value.describe()} where an int is wanted")
    return found


def _is_none(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


STREAMS = (
    *(MapIterator, StarMapIterator, FilterIterator, TakeWhileIterator, CompressIterator, ChainIterator, RepeatIterator),
    *(CountIterator, AccumulateIterator, PairwiseIterator, SliceIterator, LongestIterator, PoolIterator, UserIterator),
)
"""All of them; what each is made of is in its ``parts``."""

ROWS: Mapping[Any, Callable[..., Value]] = {
    map: _map,
    filter: _filter,
    itertools.filterfalse: _filter_false,
    itertools.starmap: _star_map,
    itertools.takewhile: _take_while,
    itertools.compress: _compress,
    itertools.chain: _chain,
    itertools.repeat: _repeat,
    itertools.count: _count,
    itertools.accumulate: _accumulate,
    itertools.pairwise: _pairwise,
    itertools.zip_longest: _zip_longest,
    itertools.islice: _slice,
    itertools.product: _pools(itertools.product),
    itertools.combinations: _pools(itertools.combinations),
    itertools.permutations: _pools(itertools.permutations),
    itertools.combinations_with_replacement: _pools(itertools.combinations_with_replacement),
}


def chain_from_iterable(tracer: Tracer, iterables: Value) -> Value:
    return ChainIterator(known_iterator(tracer, iterables))
