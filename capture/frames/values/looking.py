"""What is known of a list or dict from outside: a question looks at as little of it as it takes.

In: the object and its source. Out: lengths, single items, or all of them, each under the guard that it needs and no
other: a list that is only appended to may have any length, a dict in which one key is looked up may have any others.

>>> OutsideEntries(tracer, Argument(0, "cache"), {"a": 1}).find("b")      # None, as long as the dict has no key "b"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import KeysAre, Length, LengthAtLeast, Missing, Present
from capture.frames.peek import is_plain_constant
from capture.frames.sources import Item, Source

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.base import Value

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
        count = len(self.example)
        self.tracer.guard(self.source, Length(count))
        return count

    def filled(self) -> bool:
        """Whether there is anything in it."""
        found = bool(self.example)
        self.tracer.guard(self.source, LengthAtLeast(1) if found else Length(0))
        return found

    def _require_few(self) -> None:
        if len(self.example) > MOST_ITEMS:
            name = type(self.example).__name__
            raise GraphBreak(f"{self.source.name()} is a {name} with more than {MOST_ITEMS} items", "loop")

    def _item(self, key: Any) -> Value:
        return self.tracer.lazy(Item(self.source, key), self.example[key])


class OutsideItems(Outside):
    """A list."""

    __slots__ = ()

    def load(self) -> tuple[Value, ...]:
        self._require_few()
        return tuple(map(self._item, range(self.length())))

    def find(self, index: int) -> Value | None:
        """The item at an index, which may be negative; None if there is none."""
        if not -len(self.example) <= index < len(self.example):
            self.length()
            return None
        self.tracer.guard(Item(self.source, index), Present())
        return self._item(index)


class OutsideEntries(Outside):
    """A dict of which all keys are plain constants."""

    __slots__ = ()

    def load(self) -> dict[Any, Value]:
        self._require_few()
        self.tracer.guard(self.source, KeysAre(tuple(self.example)))
        return {key: self._item(key) for key in self.example}

    def find(self, key: Any) -> Value | None:
        """What a key leads to; None if the dict lacks it."""
        if key not in self.example:
            self.tracer.guard(self.source, Missing(key))
            return None
        self.tracer.guard(Item(self.source, key), Present())
        return self._item(key)


def has_plain_keys(value: dict[Any, Any]) -> bool:
    return all(map(is_plain_constant, value))
