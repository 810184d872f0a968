"""Globals, attributes and super()."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.bytecode import null_pair
from capture.frames.effects import GlobalStore
from capture.frames.handlers.table import opcode
from capture.frames.values.base import NULL, Value
from capture.frames.values.instances import require_no_finalizer

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer
    from capture.frames.versions import SuperAttr


@opcode("LOAD_GLOBAL", raw=True)
def load_global(tracer: Tracer, frame: Frame, arg: str) -> None:
    frame.push(tracer.global_value(frame, arg).real(tracer))


@opcode("LOAD_ATTR")
def load_attr(tracer: Tracer, owner: Value, /, *, arg: str) -> Value:
    return owner.attribute(tracer, arg)


@opcode("LOAD_METHOD", raw=True)
def load_method(tracer: Tracer, frame: Frame, arg: str) -> None:
    """Python may push (function, self); the pair with the bound method means the same."""
    owner = frame.pop().real(tracer)
    frame.stack.extend(null_pair(owner.attribute(tracer, arg), NULL))


@opcode("STORE_ATTR", raw=True)
def store_attr(tracer: Tracer, frame: Frame, arg: str) -> None:
    owner, value = frame.pop().real(tracer), frame.pop()
    owner.store_attribute(tracer, arg, value)


@opcode("STORE_GLOBAL", raw=True)
def store_global(tracer: Tracer, frame: Frame, arg: str) -> None:
    require_no_finalizer(frame.globals.get(arg), arg)
    tracer.store(GlobalStore(frame.globals, arg, frame.pop()))


@opcode("LOAD_SUPER_ATTR")
def load_super_attr(tracer: Tracer, function: Value, after: Value, owner: Value, /, *, arg: SuperAttr) -> Value:
    return tracer.call(function, (after, owner), {}).attribute(tracer, arg.name)


@opcode("LOAD_SUPER_METHOD", raw=True)
def load_super_method(tracer: Tracer, frame: Frame, arg: SuperAttr) -> None:
    owner, after, function = (frame.pop().real(tracer) for _ in range(3))
    frame.stack.extend(null_pair(tracer.call(function, (after, owner), {}).attribute(tracer, arg.name), NULL))
