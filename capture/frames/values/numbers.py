"""Python numbers that change from call to call.

A number is a constant of its variant at first. When another value of it made that variant miss, it is captured as an
*input*: the graph takes it as a placeholder, and arithmetic on it alone (``t + dt``) is left to a small Python function
that runs before the graph. Where a number decides something (a shape, an index, a branch) it is settled after all,
under a guard, or, after a few different values, left to Python.

>>> NumberValue(3, Argument(1, "n")).fixed(tracer)
<3>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import EqualsConstant
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant, compute
from capture.frames.values.containers import ListValue, TupleValue
from capture.ir.types import NumberType

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer

LARGEST = 1 << 62
"""Ints beyond are constants: graphs carry 64 bits."""
MOST_SETTLED = 3
"""Values of one number that become constants of a variant each."""
LATER = frozenset({"+", "-", "*", "/", "//", "%", "unary -", "unary +"})
"""Operators whose result has a type that the operands' types tell, and that may be applied before the graph runs."""


class NumberValue(GraphValue):
    """An int or float that may be another one at the next call. ``parts`` is how it is computed, without a source."""

    __slots__ = ("parts",)
    noun = "number"

    def __init__(
        self, example: Any, source: Source | None = None, parts: tuple[str, tuple[Value, ...]] | None = None
    ) -> None:
        super().__init__(NumberType(type(example)), None, source, example)
        self.parts = parts

    def describe(self) -> str:
        return f"number {self.source.name()}" if self.source is not None else "number"

    def python_type(self, tracer: Tracer) -> Any:
        return type(self.example)

    def fixed(self, tracer: Tracer) -> Constant:
        """This number as a constant, under a guard."""
        if self.parts is not None:
            symbol, operands = self.parts
            return Constant(compute(symbol, *(settled(tracer, operand).value for operand in operands)))
        assert self.source is not None
        if tracer.varying.get(self.source, 0) > MOST_SETTLED:
            raise GraphBreak(f"{self.describe()} decides what is computed, and keeps changing", "number")
        tracer.guard(self.source, EqualsConstant(self.example))
        return Constant(self.example, self.source)

    def truth(self, tracer: Tracer) -> bool:
        return self.fixed(tracer).truth(tracer)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return self.fixed(tracer).attribute(tracer, name)

    def concrete(self, tracer: Tracer) -> Any:
        return self.fixed(tracer).value

    def rebuild(self, build: Builder) -> None:
        build.number(self)

    def template(self, build: Any) -> Any:
        return None


def may_vary(example: Any) -> bool:
    """Whether a number of this value can be an input of a graph."""
    return type(example) is float or (type(example) is int and -LARGEST < example < LARGEST)


def settled(tracer: Tracer, value: Value) -> Any:
    """The value with all numbers in it fixed, also in tuples and lists."""
    if isinstance(value, NumberValue):
        return value.fixed(tracer)
    if isinstance(value, TupleValue | ListValue):
        items = [settled(tracer, item.real(tracer)) for item in value.values]
        if any(new is not old.real(tracer) for new, old in zip(items, value.values, strict=True)):
            return type(value)(items)
    return value


def arithmetic(tracer: Tracer, symbol: str, operands: Sequence[Value]) -> Value | None:
    """An operator on numbers of which some vary, to be applied before the graph runs; None where it must not wait."""
    values = [operand.example if isinstance(operand, NumberValue) else operand.value for operand in operands]  # type: ignore[attr-defined]
    if symbol not in LATER or not all(map(may_vary, values)):
        return None
    example = compute(symbol, *values)
    return NumberValue(example, None, (symbol, tuple(operands))) if may_vary(example) else None


# The function that runs before the graph --------------------------------------------------------------------------
_SPELLING = {"unary -": "(-{})", "unary +": "(+{})"}


def number_function(numbers: Sequence[NumberValue]) -> tuple[Callable[..., Any], list[Value]]:
    """A function from numbers that have a source to the tuple of ``numbers``, and those it takes.

    It answers None where Python would raise: then the region runs as plain Python, which raises in its place.
    """
    names: dict[int, str] = {}
    inputs: list[Value] = []
    lines: list[str] = []
    constants: dict[str, Any] = {}

    def name_of(value: Value) -> str:
        if id(value) in names:
            return names[id(value)]
        if isinstance(value, Constant):
            name = names[id(value)] = f"c{len(constants)}"
            constants[name] = value.value
            return name
        if value.source is not None:
            name = names[id(value)] = f"a{len(inputs)}"
            inputs.append(value)
            return name
        assert isinstance(value, NumberValue) and value.parts is not None
        symbol, operands = value.parts
        spelling = _SPELLING.get(symbol, f"{{}} {symbol} {{}}")
        text = spelling.format(*map(name_of, operands))
        name = names[id(value)] = f"n{len(lines)}"
        lines.append(f"{name} = {text}")
        return name

    results = [name_of(value) for value in numbers]
    body = "".join(f"        {line}\n" for line in lines)
    source = (
        f"def numbers({', '.join(f'a{index}' for index in range(len(inputs)))}):\n"
        f"    try:\n{body}    except ArithmeticError:\n        return None\n    return ({', '.join(results)},)\n"
    )
    namespace: dict[str, Any] = dict(constants)
    exec(compile(source, __file__, "exec"), namespace)
    return namespace["numbers"], inputs


Varying = Mapping[Any, int]
"""Sources of numbers that made variants miss, and how often."""
