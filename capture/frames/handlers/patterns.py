"""The instructions of ``match``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.handlers.table import opcode
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import Value
from capture.frames.values.constants import PLAIN, Constant
from capture.frames.values.containers import DictValue, SequenceValue, TupleValue
from capture.frames.values.keys import plain_key
from capture.frames.values.numbers import NumberValue
from capture.frames.values.objects import CallableValue
from capture.frames.values.sets import SetValue

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer

IS_SEQUENCE, IS_MAPPING = 1 << 5, 1 << 6
"""Flags of types, as CPython numbers them."""

MATCHED_WHOLE = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Builtin types whose patterns take the subject itself: ``int(n)``."""


def _flags(tracer: Tracer, value: Value) -> int:
    known = isinstance(value, SequenceValue | DictValue | SetValue | GraphValue | NumberValue)
    if not known and not (isinstance(value, Constant) and type(value.value) in {*PLAIN, range, frozenset}):
        raise GraphBreak(f"{value.describe()} is matched")
    return value.python_type(tracer).__flags__


@opcode("GET_LEN", raw=True)
def get_len(tracer: Tracer, frame: Frame, arg: None) -> None:
    frame.push(Constant(frame.stack[-1].real(tracer).length(tracer)))


@opcode("MATCH_SEQUENCE", raw=True)
def match_sequence(tracer: Tracer, frame: Frame, arg: None) -> None:
    frame.push(Constant(bool(_flags(tracer, frame.stack[-1].real(tracer)) & IS_SEQUENCE)))


@opcode("MATCH_MAPPING", raw=True)
def match_mapping(tracer: Tracer, frame: Frame, arg: None) -> None:
    frame.push(Constant(bool(_flags(tracer, frame.stack[-1].real(tracer)) & IS_MAPPING)))


@opcode("MATCH_KEYS", raw=True)
def match_keys(tracer: Tracer, frame: Frame, arg: None) -> None:
    """[subject, keys] -> and the tuple of their values, or None"""
    subject, keys = (value.real(tracer) for value in frame.stack[-2:])
    if not isinstance(subject, DictValue):
        raise GraphBreak(f"{subject.describe()} is matched as a mapping")
    names = [plain_key(tracer, key) for key in keys.items(tracer)]
    if len(set(names)) < len(names):
        raise GraphBreak("a mapping pattern checks a key twice")
    found = all(name in subject.entries for name in names)
    frame.push(TupleValue([subject.entries[name] for name in names]) if found else Constant(None))


@opcode("MATCH_CLASS")
def match_class(tracer: Tracer, subject: Value, kind: Value, names: Value, /, *, arg: int) -> Value:
    """``kind(pattern, ...)``: the tuple of what the patterns take, or None."""
    whole = isinstance(kind, CallableValue) and kind.value in MATCHED_WHOLE and arg <= 1
    if not whole or names.length(tracer):
        raise GraphBreak(f"{subject.describe()} is matched with {kind.describe()}")
    assert isinstance(kind, CallableValue)
    if not issubclass(subject.python_type(tracer), kind.value):
        return Constant(None)
    return TupleValue((subject,) * arg)
