"""A list from outside of which only what is near its ends is known, whatever its length is.

In: a list outside, and what is asked of it or done to it at an index. Out: the item there, or the list after the
change, under the guard that the list is long enough; None where the answer takes the length itself. So a list that is
used as a stack or as a queue is one variant, however full it is.

>>> ends = Ends(items)                      # items of l, which has three at this call
>>> ends.insert(1, v).replace(-1, ())       # l[:1] + [v] + l[1:-1], guarded: l has 2 elements or more
Ends(items, head=(l[0], v), front=1, back=1, tail=())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.values.looking import MOST_ITEMS
from capture.records import dataclass, replace

if TYPE_CHECKING:
    from capture.frames.values.base import Value
    from capture.frames.values.looking import OutsideItems


@dataclass(frozen=True, eq=False)
class Ends:
    """``[*head, *items[front : len(items) - back], *tail]``."""

    items: OutsideItems
    head: tuple[Value, ...] = ()
    front: int = 0
    back: int = 0
    tail: tuple[Value, ...] = ()

    @property
    def known(self) -> tuple[Value, ...]:
        return self.head + self.tail

    @property
    def count(self) -> int:
        """How many items it has at this call; no guard says so."""
        return len(self.items.example) + self.added

    @property
    def added(self) -> int:
        """How much longer it is than it was outside."""
        return len(self.known) - self.front - self.back

    def all(self) -> tuple[Value, ...]:
        """All items, under a guard on the length."""
        middle = self.items.load()[self.front :]
        return (*self.head, *(middle[: -self.back] if self.back else middle), *self.tail)

    def filled(self) -> bool:
        """Whether there is anything in it."""
        if self.known:
            return True
        wanted = self.front + self.back + 1
        return self.items.has(wanted) or self.items.length() >= wanted

    def item(self, index: int) -> Value | None:
        """The item at an index, which may be negative."""
        if -len(self.tail) <= index < len(self.head):
            return self.head[index] if index >= 0 else self.tail[index]
        place = index - len(self.head) + self.front if index >= 0 else index + len(self.tail) - self.back
        beyond = place + 1 + self.back if index >= 0 else self.front - place
        return self.items.item(place) if self.items.has(beyond) else None

    # changes ------------------------------------------------------------------------------------------------------
    def append(self, values: tuple[Value, ...]) -> Ends:
        return replace(self, tail=(*self.tail, *values))

    def replace(self, index: int, values: tuple[Value, ...]) -> Ends | None:
        """The item at an index makes room for others, or goes."""
        return self._splice(index, 1, values)

    def insert(self, index: int, value: Value) -> Ends | None:
        """``list.insert``: in front of the item at an index."""
        if index < 0:
            return self._splice(index, 0, (value,))
        found = self.reach(index - 1) if index else self
        return found and replace(found, head=(*found.head[:index], value, *found.head[index:]))

    def _splice(self, index: int, count: int, values: tuple[Value, ...]) -> Ends | None:
        """``count`` items from an index on make room for others."""
        found = self.reach(index)
        if found is None:
            return None
        side = found.head if index >= 0 else found.tail
        place = index if index >= 0 else len(side) + index
        side = (*side[:place], *values, *side[place + count :])
        return replace(found, head=side) if index >= 0 else replace(found, tail=side)

    def reach(self, index: int) -> Ends | None:
        """The same list, of which all items from its near end up to an index are known one by one."""
        missing = index + 1 - len(self.head) if index >= 0 else -index - len(self.tail)
        if missing <= 0:
            return self
        if missing > MOST_ITEMS or not self.items.has(self.front + self.back + missing):
            return None
        if index >= 0:
            more = tuple(self.items.item(self.front + place) for place in range(missing))
            return replace(self, head=self.head + more, front=self.front + missing)
        more = tuple(self.items.item(-self.back - place) for place in range(missing, 0, -1))
        return replace(self, tail=more + self.tail, back=self.back + missing)
