"""Globals and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.bytecode import null_pair
from capture.frames.handlers.table import opcode
from capture.frames.values.base import NULL, Value

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


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
