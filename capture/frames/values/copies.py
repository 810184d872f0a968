"""``copy.copy`` and ``copy.deepcopy`` of containers, arrays and constants.

In: a value. Out: another one, as the library makes it; what is shared inside a deep copy stays shared. Objects of
people's classes, which may copy themselves, are left to Python.

>>> deep_copy(tracer, ListValue((x, x)), {})     # one copy of x, twice
<list>
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.arrays import ArrayValue, ScalarValue
from capture.frames.values.base import Value
from capture.frames.values.constants import NUMBERS, Constant
from capture.frames.values.containers import DictValue, ListValue, TupleValue
from capture.frames.values.functions import CodeValue
from capture.frames.values.numbers import NumberValue
from capture.frames.values.objects import CallableValue
from capture.ir import op as ops

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

ATOMIC_TYPES = frozenset({*NUMBERS, str, bytes, range, type(None), type(Ellipsis), type(NotImplemented)})


def _is_atomic(value: Value) -> bool:
    """Whether a copy of it is the very object."""
    if isinstance(value, Constant):
        return type(value.value) in ATOMIC_TYPES
    return isinstance(value, CodeValue | NumberValue) or (
        isinstance(value, CallableValue) and type(value.value) in (type, type(len))
    )


def shallow_copy(tracer: Tracer, value: Value) -> Value:
    value = value.real(tracer)
    if _is_atomic(value) or type(value) is TupleValue:
        return value
    if type(value) is ListValue:
        return ListValue(value.values)
    if type(value) is DictValue:
        return DictValue(value.entries)
    return _copied_array(tracer, value, "copy")


def _copied_array(tracer: Tracer, value: Value, name: str) -> Value:
    if isinstance(value, ScalarValue):
        return value
    if not isinstance(value, ArrayValue):
        raise GraphBreak(f"{name} of {value.describe()} is left to Python", "call")
    return tracer.call_op(ops.get("copy"), (value,), {"order": Constant("K")})


def deep_copy(tracer: Tracer, value: Value, made: dict[int, Value | None]) -> Value:
    """``made`` has the copies so far, None for one that is being made."""
    value = value.real(tracer)
    if _is_atomic(value):
        return value
    if id(value) not in made:
        made[id(value)] = None
        made[id(value)] = _deep(tracer, value, made)
    found = made[id(value)]
    if found is None:
        raise GraphBreak("deepcopy of something that is part of itself is left to Python", "call")
    return found


def _deep(tracer: Tracer, value: Value, made: dict[int, Value | None]) -> Value:
    if type(value) is DictValue:
        return DictValue({key: deep_copy(tracer, item, made) for key, item in value.entries.items()})
    if type(value) not in (ListValue, TupleValue):
        return _copied_array(tracer, value, "deepcopy")
    assert isinstance(value, ListValue | TupleValue)
    items = [deep_copy(tracer, item, made) for item in value.values]
    if type(value) is ListValue:
        return ListValue(items)
    same = all(item.real(tracer) is copied for item, copied in zip(value.values, items, strict=True))
    return value if same else TupleValue(items)


def _copy(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    return shallow_copy(tracer, _only(args, kwargs))


def _deepcopy(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    return deep_copy(tracer, _only(args, kwargs), {})


def _only(args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    if len(args) != 1 or kwargs:
        raise GraphBreak("a copy with these arguments is left to Python", "call")
    return args[0]


ROWS: Mapping[Any, Callable[..., Value]] = {copy.copy: _copy, copy.deepcopy: _deepcopy}
