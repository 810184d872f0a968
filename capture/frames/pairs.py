"""Facts about two values: that they are one object, or two, or share nothing.

In: ``Guard(source, check)`` whose check names a second source. Out: what holds, in Python and in C, as in ``guards``.

>>> str(Guard(Argument(0, "x"), SameObject(Argument(1, "y"))))
'x: is y'
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from capture.frames.guards import Check
from capture.frames.peek import is_instance_dict
from capture.frames.sources import Source
from capture.records import dataclass


@dataclass(frozen=True, slots=True)
class PairCheck(Check):
    """A fact about the guarded value and one other."""

    other: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.other,)


@dataclass(frozen=True, slots=True)
class SameObject(PairCheck):
    """Both are one object."""

    def __str__(self) -> str:
        return f"is {self.other.name()}"

    def holds(self, value: Any, *others: Any) -> bool:
        return value is others[0]

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("same", slots[0])

    def why(self, value: Any, *others: Any) -> str:
        return f"expected the same object as {self.other.name()}, got another"


@dataclass(frozen=True, slots=True)
class DifferentObject(PairCheck):
    """They are two objects."""

    def __str__(self) -> str:
        return f"is not {self.other.name()}"

    def holds(self, value: Any, *others: Any) -> bool:
        return value is not others[0]

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("different", slots[0])

    def why(self, value: Any, *others: Any) -> str:
        return f"expected another object than {self.other.name()}, got the same"


@dataclass(frozen=True, slots=True)
class NoOverlap(PairCheck):
    """Both are arrays, and the stretches of memory their elements lie in do not meet."""

    cost: ClassVar[int] = 8

    def __str__(self) -> str:
        return f"shares no memory with {self.other.name()}"

    def holds(self, value: Any, *others: Any) -> bool:
        if type(value) is not np.ndarray or type(others[0]) is not np.ndarray:
            return False
        return not np.may_share_memory(value, others[0])

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("apart", slots[0])

    def why(self, value: Any, *others: Any) -> str:
        return f"expected no overlap with {self.other.name()}, got overlapping memory"


@dataclass(frozen=True, slots=True)
class NotItsDict(PairCheck):
    """The value is not what the other object keeps its attributes in."""

    def __str__(self) -> str:
        return f"is not {self.other.name()}.__dict__"

    def holds(self, value: Any, *others: Any) -> bool:
        return not is_instance_dict(value, others[0])

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("not_dict_of", slots[0])

    def why(self, value: Any, *others: Any) -> str:
        return f"expected another dict than {self.other.name()}.__dict__, got it"
