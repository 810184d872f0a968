"""Operators, comparisons, subscripts and strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.handlers.table import opcode
from capture.frames.values import operations
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import PLAIN, Constant

if TYPE_CHECKING:
    from capture.frames.bytecode import Format
    from capture.frames.tracer import Tracer


@opcode("BINARY_OP", "COMPARE_OP")
def binary_op(tracer: Tracer, left: Value, right: Value, /, *, arg: str) -> Value:
    return tracer.binary(arg, left, right)


@opcode("UNARY_NEGATIVE")
def unary_negative(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return operations.unary(tracer, "unary -", value)


@opcode("UNARY_POSITIVE")
def unary_positive(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return operations.unary(tracer, "unary +", value)


@opcode("UNARY_INVERT")
def unary_invert(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return operations.unary(tracer, "unary ~", value)


@opcode("UNARY_NOT")
def unary_not(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return Constant(not value.truth(tracer))


@opcode("TO_BOOL")
def to_bool(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return Constant(value.truth(tracer))


@opcode("IS_OP")
def is_op(tracer: Tracer, left: Value, right: Value, /, *, arg: bool) -> Value:
    return Constant(operations.identical(tracer, left, right) != arg)


@opcode("CONTAINS_OP")
def contains_op(tracer: Tracer, item: Value, container: Value, /, *, arg: bool) -> Value:
    return Constant(operations.contains(tracer, container, item) != arg)


@opcode("BINARY_SUBSCR")
def binary_subscr(tracer: Tracer, container: Value, key: Value, /, *, arg: None) -> Value:
    return container.item(tracer, key)


@opcode("STORE_SUBSCR")
def store_subscr(tracer: Tracer, value: Value, container: Value, key: Value, /, *, arg: None) -> None:
    container.store_item(tracer, key, value)


def _text(tracer: Tracer, value: Value) -> Any:
    """A constant of a type that formats itself without user code."""
    try:
        found = value.concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{value.describe()} is formatted as a string") from None
    if type(found) not in PLAIN:
        raise GraphBreak(f"{value.describe()} is formatted as a string")
    return found


CONVERSIONS: Mapping[str | None, Callable[[Any], Any]] = {
    None: lambda value: value,
    "str": str,
    "repr": repr,
    "ascii": ascii,
}


@opcode("FORMAT_VALUE", pops=lambda arg: 1 + arg.has_spec)
def format_value(tracer: Tracer, *values: Value, arg: Format) -> Value:
    value, *spec = (_text(tracer, value) for value in values)
    converted = Constant(CONVERSIONS[arg.conversion](value))
    return tracer.evaluate(format, (converted, *map(Constant, spec)), {})


@opcode("CONVERT_VALUE")
def convert_value(tracer: Tracer, value: Value, /, *, arg: str) -> Value:
    return Constant(CONVERSIONS[arg](_text(tracer, value)))


@opcode("BUILD_STRING", pops=lambda count: count)
def build_string(tracer: Tracer, *parts: Value, arg: int) -> Value:
    return Constant("".join(_text(tracer, part) for part in parts))
