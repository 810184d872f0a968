"""What is known of a list or dict from outside: a question looks at as little of it as it takes.

In: the object and its source. Out: lengths, single items, or all of them, each under the guard that it needs and no
other: a list that is only appended to may have any length, a dict in which one key is looked up may have any others.

``ends`` does the same for a list that is changed.

>>> OutsideEntries(tracer, Argument(0, "cache"), {"a": 1}).find("b")      # None, as long as the dict has no key "b"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import Guard, KeysAre, Length, LengthAtLeast, Missing, Present
from capture.frames.peek import is_plain_constant
from capture.frames.sources import Item, Len, Source

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.base import Value

MOST_LENGTHS = 4
"""So many lengths of a list, or numbers of keys of a dict, have variants of their own."""
MOST_ITEMS = 1024
"""Containers from outside with more items are not taken apart: a guard on each would cost more than it brings."""


class Outside:
    """A container from outside, as it was when the call began."""

    __slots__ = ("example", "source", "tracer")

    def __init__(self, tracer: Tracer, source: Source, example: Any) -> None:
        self.tracer = tracer
        self.source = source
        self.example = example

    def length(self) -> int:
        self._require_settled()
        count = len(self.example)
        self.tracer.guard(self.source, Length(count))
        return count

    def _require_settled(self) -> None:
        """A break where there are variants for many lengths: the next call would need another one."""
        often = self.tracer.changing.values(Len(self.source)) >= MOST_LENGTHS
        if often and not self.tracer.settings.fullgraph:
            raise GraphBreak(f"the length of {self.source.name()}, which keeps changing, is needed", "number")

    def open_length(self) -> Value | None:
        """The length as a number that may be another one at the next call; None where it is not left open."""
        place, count = Len(self.source), len(self.example)
        return self.tracer.lazy(place, count).real(self.tracer) if place in self.tracer.changing else None

    def has(self, count: int) -> bool:
        """Whether there are so many items or more, under a guard if so."""
        found = len(self.example) >= count
        if found and count:
            self.tracer.guard(self.source, LengthAtLeast(count))
        return found

    def filled(self) -> bool:
        """Whether there is anything in it."""
        return self.has(1) or self.length() > 0

    def _require_few(self) -> None:
        if len(self.example) > MOST_ITEMS:
            name = type(self.example).__name__
            raise GraphBreak(f"{self.source.name()} is a {name} with more than {MOST_ITEMS} items", "loop")

    def item(self, key: Any) -> Value:
        """What is at an index or under a key, which is there."""
        return self.tracer.lazy(Item(self.source, key), self.example[key])


class OutsideItems(Outside):
    """A list."""

    __slots__ = ()

    def load(self) -> tuple[Value, ...]:
        self._require_few()
        return tuple(map(self.item, range(self.length())))


class OutsideEntries(Outside):
    """A dict of which all keys are plain constants."""

    __slots__ = ()

    def load(self) -> dict[Any, Value]:
        self._require_few()
        self._require_settled()
        self.tracer.guard(self.source, KeysAre(tuple(self.example)))
        return {key: self.item(key) for key in self.example}

    def find(self, key: Any) -> Value | None:
        """What a key leads to; None if the dict lacks it."""
        if key not in self.example:
            self.tracer.guard(self.source, Missing(key))
            return None
        self.tracer.guard(Item(self.source, key), Present())
        return self.item(key)


def without_weaker(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Guards without those on lengths that follow from another one on the length of the same object."""
    guards = tuple(guards)
    exact = {guard.source for guard in guards if isinstance(guard.check, Length | KeysAre)}
    most: dict[Source, int] = {}
    for guard in guards:
        if isinstance(guard.check, LengthAtLeast):
            most[guard.source] = max(guard.check.count, most.get(guard.source, 0))

    def says_more(guard: Guard) -> bool:
        check, place = guard.check, guard.source
        return not isinstance(check, LengthAtLeast) or (place not in exact and check.count == most[place])

    return tuple(filter(says_more, guards))


def has_plain_keys(value: dict[Any, Any]) -> bool:
    return all(map(is_plain_constant, value))
