"""``range`` of numbers that change from call to call.

In: the bounds. Out: something to loop over; the loop becomes a node of the graph with the bounds as operands
(``capture/frames/loops``). Whoever wants more needs the numbers: the trace starts again with them as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.iterators import IteratorValue
from capture.frames.values.numbers import NumberValue
from capture.frames.values.results import ComputedNumber

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class OpenRange(Value):
    """``range(*bounds)``, of one to three of them."""

    __slots__ = ("bounds",)
    noun = "range"

    def __init__(self, bounds: Sequence[Value]) -> None:
        super().__init__()
        self.bounds = tuple(bounds)

    def known(self, tracer: Tracer) -> Constant:
        """The range itself, from now on a constant."""
        return Constant(tracer.evaluate(range, self.bounds, {}).value)  # type: ignore[attr-defined]

    def python_type(self, tracer: Tracer) -> type:
        return range

    def truth(self, tracer: Tracer) -> bool:
        return self.known(tracer).truth(tracer)

    def length(self, tracer: Tracer) -> int:
        return self.known(tracer).length(tracer)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return self.known(tracer).attribute(tracer, name)

    def item(self, tracer: Tracer, key: Value) -> Value:
        return self.known(tracer).item(tracer, key)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return self.known(tracer).contains(tracer, item)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return self.known(tracer).items(tracer)

    def concrete(self, tracer: Tracer) -> range:
        return self.known(tracer).value  # type: ignore[no-any-return]

    def iterate(self, tracer: Tracer) -> Value:
        return OpenRangeIterator(self)

    def rebuild(self, build: Builder) -> None:
        build.call(range, self.bounds)


class OpenRangeIterator(IteratorValue):
    """``iter`` of such a range, at its beginning."""

    __slots__ = ("over",)

    def __init__(self, over: OpenRange) -> None:
        super().__init__()
        self.over = over

    def remaining(self, tracer: Tracer) -> int:
        return self.over.length(tracer)

    def advance(self, tracer: Tracer) -> Value | None:
        self.over.known(tracer)
        raise AssertionError("the bounds of the range are known by now")

    def rebuild(self, build: Builder) -> None:
        build.value(self.over)
        build.iterate()


def open_range(tracer: Tracer, bounds: Sequence[Value]) -> OpenRange | None:
    """The range, if one of its bounds is an int that changes and loops over it can be nodes of the graph."""
    if not tracer.settings.options.loops or not all(map(_is_bound, bounds)):
        return None
    return OpenRange(bounds) if any(not isinstance(bound, Constant) for bound in bounds) else None


def _is_bound(bound: Value) -> bool:
    if isinstance(bound, NumberValue):
        return bound.python is int
    if isinstance(bound, ComputedNumber):
        return bound.type.python is int  # type: ignore[no-any-return]
    return isinstance(bound, Constant) and type(bound.value) is int
