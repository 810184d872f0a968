"""Operators, comparisons, subscripts and strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.handlers.table import opcode
from capture.frames.values import operations, protocols
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import Constant, attempt, formats_itself
from capture.frames.values.exceptions import ExceptionValue, raised
from capture.frames.values.instances import Instance
from capture.frames.values.keys import Lacks
from capture.frames.values.numbers import NumberValue

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
    if tracer.inside is not None:
        found = tracer.inside.looked_up(container, key)
        if found is not None:
            return found
    try:
        return container.item(tracer, key)
    except Lacks as stop:
        raise raised(stop.error, *stop.args_of_error) from None


@opcode("STORE_SUBSCR")
def store_subscr(tracer: Tracer, value: Value, container: Value, key: Value, /, *, arg: None) -> None:
    if tracer.inside is not None:
        tracer.inside.learn_filled(container, key, value)
    container.store_item(tracer, key, value)


@opcode("DELETE_SUBSCR")
def delete_subscr(tracer: Tracer, container: Value, key: Value, /, *, arg: None) -> None:
    try:
        container.delete_item(tracer, key)
    except Lacks as stop:
        raise raised(stop.error, *stop.args_of_error) from None


def _text(tracer: Tracer, value: Value) -> Any:
    """A constant of a type that formats itself without user code."""
    if isinstance(value, NumberValue):
        raise GraphBreak(f"{value.describe()} is formatted as a string")
    try:
        found = value.concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{value.describe()} is formatted as a string") from None
    if not formats_itself(found):
        raise GraphBreak(f"{value.describe()} is formatted as a string")
    return found


CONVERSIONS: Mapping[str | None, Callable[[Any], Any]] = {
    None: lambda value: value,
    "str": str,
    "repr": repr,
    "ascii": ascii,
}


def _converted(tracer: Tracer, value: Value, conversion: str | None) -> Value:
    if isinstance(value, Instance) and conversion in ("str", "repr"):
        found = protocols.call(tracer, CONVERSIONS[conversion], (value,), {})
        if found is not None:
            return found
    if isinstance(value, ExceptionValue) and conversion is not None:
        return Constant(value.text(tracer, CONVERSIONS[conversion]))
    return Constant(attempt(CONVERSIONS[conversion], (_text(tracer, value),), {}, conversion or "format"))


@opcode("FORMAT_VALUE", pops=lambda arg: 1 + arg.has_spec)
def format_value(tracer: Tracer, *values: Value, arg: Format) -> Value:
    spec = [_text(tracer, each) for each in values[1:]]
    if isinstance(values[0], Instance) and arg.conversion is None:
        return protocols.formatted(tracer, values[0], Constant(spec[0] if spec else ""))
    plain = arg.conversion is None and not any(spec)
    converted = _converted(tracer, values[0], "str" if plain else arg.conversion)
    return tracer.evaluate(format, (converted, *map(Constant, spec)), {})


@opcode("CONVERT_VALUE")
def convert_value(tracer: Tracer, value: Value, /, *, arg: str) -> Value:
    return _converted(tracer, value, arg)


@opcode("BUILD_STRING", pops=lambda count: count)
def build_string(tracer: Tracer, *parts: Value, arg: int) -> Value:
    return Constant("".join(_text(tracer, part) for part in parts))
