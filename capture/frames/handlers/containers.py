"""Building and taking apart tuples, lists, dicts and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.handlers.table import opcode
from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import DictValue, ListValue, TupleValue
from capture.frames.values.keys import SliceValue, plain_key
from capture.frames.values.sets import SetValue, make_set

if TYPE_CHECKING:
    from capture.frames.bytecode import UnpackEx
    from capture.frames.tracer import Frame, Tracer


@opcode("BUILD_TUPLE", pops=lambda count: count, lazy=True)
def build_tuple(tracer: Tracer, *values: Value, arg: int) -> Value:
    return TupleValue(values)


@opcode("BUILD_LIST", pops=lambda count: count, lazy=True)
def build_list(tracer: Tracer, *values: Value, arg: int) -> Value:
    return ListValue(values)


@opcode("BUILD_SET", pops=lambda count: count)
def build_set(tracer: Tracer, *values: Value, arg: int) -> Value:
    return SetValue([plain_key(tracer, value) for value in values])


@opcode("SET_ADD", raw=True)
def set_add(tracer: Tracer, frame: Frame, arg: int) -> None:
    value = frame.pop()
    frame.stack[-arg].real(tracer).call_method(tracer, "add", (value.real(tracer),), {})


@opcode("SET_UPDATE", raw=True)
def set_update(tracer: Tracer, frame: Frame, arg: int) -> None:
    """A display of constants is filled from a frozenset, which gives the table that one has."""
    values = frame.pop().real(tracer)
    owner = _set_below(frame, arg)
    if not owner.added and isinstance(values, Constant) and type(values.value) is frozenset:
        frame.stack[-arg] = make_set(tracer, values)
    else:
        SetValue.call_method(owner, tracer, "update", (values,), {})


def _set_below(frame: Frame, depth: int) -> SetValue:
    owner = frame.stack[-depth]
    if not isinstance(owner, SetValue):
        raise GraphBreak("a set display is not known")
    return owner


@opcode("BUILD_SLICE", pops=lambda count: count)
def build_slice(tracer: Tracer, start: Value, stop: Value, step: Value | None = None, *, arg: int) -> Value:
    return SliceValue(start, stop, step if step is not None else Constant(None))


@opcode("BUILD_MAP", pops=lambda count: 2 * count, lazy=True)
def build_map(tracer: Tracer, *values: Value, arg: int) -> Value:
    keys = [plain_key(tracer, key) for key in values[::2]]
    return DictValue(dict(zip(keys, values[1::2], strict=True)))


@opcode("BUILD_CONST_KEY_MAP", pops=lambda count: count + 1, lazy=True)
def build_const_key_map(tracer: Tracer, *values: Value, arg: int) -> Value:
    keys = values[-1].real(tracer).concrete(tracer)
    return DictValue(dict(zip(keys, values[:-1], strict=True)))


@opcode("LIST_TO_TUPLE")
def list_to_tuple(tracer: Tracer, values: Value, /, *, arg: None) -> Value:
    return TupleValue(values.items(tracer))


@opcode("LIST_APPEND", raw=True)
def list_append(tracer: Tracer, frame: Frame, arg: int) -> None:
    value = frame.pop()
    owner = frame.stack[-arg].real(tracer)
    if tracer.inside is not None and tracer.inside.is_inside(owner):
        owner.call_method(tracer, "append", (value,), {})
        return
    if not isinstance(owner, ListValue):
        raise GraphBreak("a comprehension's list is not known")
    owner.append(tracer, value)


@opcode("LIST_EXTEND", raw=True)
def list_extend(tracer: Tracer, frame: Frame, arg: int) -> None:
    values = frame.pop().real(tracer).listed(tracer)
    owner = frame.stack[-arg].real(tracer)
    if not isinstance(owner, ListValue):
        raise GraphBreak("a list display is not known")
    owner.extend(tracer, values)


@opcode("MAP_ADD", raw=True)
def map_add(tracer: Tracer, frame: Frame, arg: int) -> None:
    value, key = frame.pop(), frame.pop()
    owner = frame.stack[-arg].real(tracer)
    if not isinstance(owner, DictValue):
        raise GraphBreak("a comprehension's dict is not known")
    owner.store_item(tracer, key, value)


@opcode("DICT_UPDATE", "DICT_MERGE", raw=True)
def dict_update(tracer: Tracer, frame: Frame, arg: int) -> None:
    other = frame.pop().real(tracer)
    owner = frame.stack[-arg].real(tracer)
    if not isinstance(owner, DictValue) or not isinstance(other, DictValue):
        raise GraphBreak("a dict is built from something that is no known dict")
    if frame.instruction.op == "DICT_MERGE" and owner.entries.keys() & other.entries.keys():
        raise GraphBreak("a keyword argument is given twice")
    owner.update(tracer, other.entries)


def _unpacked(tracer: Tracer, value: Value, fits: bool) -> None:
    if not fits:
        raise GraphBreak(f"{value.describe()} has another number of items than there are targets")


@opcode("UNPACK_SEQUENCE", raw=True)
def unpack_sequence(tracer: Tracer, frame: Frame, arg: int) -> None:
    value = frame.pop().real(tracer)
    if isinstance(value, ArrayValue):
        _unpacked(tracer, value, value.length(tracer) == arg)
    items = value.items(tracer)
    _unpacked(tracer, value, len(items) == arg)
    frame.stack.extend(reversed(items))


@opcode("UNPACK_EX", raw=True)
def unpack_ex(tracer: Tracer, frame: Frame, arg: UnpackEx) -> None:
    value = frame.pop().real(tracer)
    items = value.items(tracer)
    _unpacked(tracer, value, len(items) >= arg.before + arg.after)
    end = len(items) - arg.after
    middle = ListValue(items[arg.before : end])
    frame.stack.extend(reversed((*items[: arg.before], middle, *items[end:])))
