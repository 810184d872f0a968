"""Comparing what is in containers: an ``__eq__`` of the program's may change the very containers.

In: the containers whose items are compared one after the other. Out: whether two items are equal, as containers
compare; a break where that has changed one of the containers, since Python goes on with what is in them then.

>>> items = Unchanging(tracer, left, right)
>>> all(map(items.equal, left.values, right.values))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.containers import DictValue, SequenceValue

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


class Unchanging:
    """Containers that are gone through."""

    def __init__(self, tracer: Tracer, *owners: SequenceValue | DictValue) -> None:
        self.tracer = tracer
        self.owners = owners
        self.before = self._contents()

    def equal(self, one: Value, other: Value) -> bool:
        mark = self.tracer.journal.mark()
        found = self.tracer.equal(one, other)
        if self.tracer.journal.mark() != mark and self._contents() != self.before:
            raise GraphBreak("a container is changed while its items are compared")
        return found

    def _contents(self) -> list[Any]:
        return [tuple(o.entries.items()) if isinstance(o, DictValue) else o.values for o in self.owners]
