"""Python numbers that the graph computes, what loops leave behind or sizes from data, and one of several arrays.

In: a node whose type is a Python number. Out: a value that is returned, stored or goes into another loop as it is; a
float, a bool and a size go into operations on arrays. What else Python does with it ends the region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values import numbers
from capture.frames.values.arrays import GraphValue, graph_value
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.ir.graph import Node
from capture.ir.shapes import Expr, Size, TooComplex
from capture.ir.types import NumberType

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


def computed(node: Node) -> GraphValue:
    """The value of a node that was just computed: an array, a scalar of NumPy's, or a Python number."""
    return ComputedNumber(node) if isinstance(node.type, NumberType) else graph_value(node)


# Sizes ------------------------------------------------------------------------------------------------------------
def computed_size(tracer: Tracer, size: Expr) -> ComputedNumber:
    """A size that depends on what arrays hold, as a Python int: known when the graph has run."""
    return ComputedNumber(tracer.graph.call("size_number", size=size))


def binary_of_sizes(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value | None:
    """Python's operator on sizes of which one depends on what arrays hold; None where no size comes of it.

    A comparison is answered where the facts about sizes tell.
    """
    a, b = _size_of(left), _size_of(right)
    if a is None or b is None:
        return None
    if symbol in numbers.COMPARISONS:
        verdict = tracer.sizes.facts.decide(numbers.COMPARISONS[symbol](a, b))
        return None if verdict is None else Constant(verdict)
    plain = symbol.removesuffix("=")
    if plain not in ("+", "-", "*", "//", "%") or (plain in ("//", "%") and not (isinstance(b, int) and b > 0)):
        return None
    try:
        size = numbers.SIZES[plain](a, b)
    except TooComplex:
        return None
    low, high = size.range if isinstance(size, Expr) else (size, size)
    least, most = numbers.EXACT_INTS
    return tracer.sizes.value(size) if least <= low and high <= most else None


def _size_of(value: Value) -> Size | None:
    if isinstance(value, ComputedNumber):
        return value.type.size if value.type.python is int else None  # type: ignore[no-any-return]
    if isinstance(value, numbers.NumberValue):
        return value.size if value.python is int else None  # type: ignore[no-any-return]
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


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
