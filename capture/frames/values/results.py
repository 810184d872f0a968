"""What a loop leaves behind: Python numbers that the graph computes, and one of several arrays.

In: a node whose type is a Python number. Out: a value that is returned, stored or goes into another loop as it is; a
float, a bool and a size go into operations on arrays. What else Python does with it ends the region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import Value
from capture.ir.graph import Node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class ComputedNumber(GraphValue):
    """A Python int, float or bool."""

    __slots__ = ()
    noun = "number"

    def __init__(self, node: Node) -> None:
        super().__init__(node.type, node)

    def python_type(self, tracer: Tracer) -> Any:
        return self.type.python

    def attribute(self, tracer: Tracer, name: str) -> Value:
        raise GraphBreak(f"attribute {name!r} of {self.describe()}, which a loop has computed", "number")

    def item(self, tracer: Tracer, key: Value) -> Value:
        raise GraphBreak(f"an item of {self.describe()}", "python")

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        raise GraphBreak(f"method {name!r} of {self.describe()}, which a loop has computed", "number")

    def in_graph(self, tracer: Tracer) -> Any:
        """As an operand of array operations, which must know what ints may be: sizes do."""
        if self.type.python is int and self.type.size is None:
            raise GraphBreak(f"{self.describe()}, which a loop has computed, meets an array", "number")
        return super().in_graph(tracer)


class ChosenValue(Value):
    """One of several objects, the one with a number that a loop has found: arrays after ``u, v = v, u``, results."""

    __slots__ = ("number", "options")
    noun = "one of several objects"

    def __init__(self, number: ComputedNumber, options: Sequence[Value]) -> None:
        super().__init__()
        self.number, self.options = number, tuple(options)

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_tuple", self.options)
        build.value(self.number)
        build.subscript()
