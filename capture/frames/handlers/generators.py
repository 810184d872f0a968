"""What generators' frames do: they stop at a yield, with the item as the result, and go on with what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import stack_effect
from capture.frames.handlers.table import opcode
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.exceptions import ExceptionValue
from capture.frames.values.generators import GeneratorValue
from capture.frames.values.iterators import IteratorValue
from capture.frames.zones import STOP_ITERATION

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


@opcode("RETURN_GENERATOR")
def return_generator(tracer: Tracer, /, *, arg: None) -> Value:
    """The generator has been made; its frame begins when the first item is wanted."""
    return Constant(None)


@opcode("YIELD_VALUE", raw=True)
def yield_value(tracer: Tracer, frame: Frame, arg: int) -> None:
    frame.result = frame.pop()
    frame.yields = True


@opcode("GET_YIELD_FROM_ITER")
def get_yield_from_iter(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return value.iterate(tracer)


@opcode("SEND", raw=True)
def send(tracer: Tracer, frame: Frame, arg: int) -> None:
    """[iterator, value to send] -> [iterator, item], or at its end a jump with what it has returned"""
    value, receiver = frame.pop().real(tracer), frame.stack[-1].real(tracer)
    result: Value = Constant(None)
    if isinstance(receiver, GeneratorValue):
        item = receiver.resume(tracer, value, direct=True)
        result = receiver.returned
    elif isinstance(receiver, IteratorValue) and isinstance(value, Constant) and value.value is None:
        item = receiver.advance(tracer)
    else:
        raise GraphBreak(f"yield from {receiver.describe()} is left to Python", "generator")
    if item is not None:
        frame.push(item)
        return
    if stack_effect(frame.instruction, True) < 0:
        frame.pop()
    frame.push(result)
    frame.jump(arg)


@opcode("END_SEND", raw=True)
def end_send(tracer: Tracer, frame: Frame, arg: None) -> None:
    del frame.stack[-2]


@opcode("CALL_INTRINSIC_1", raw=True)
def call_intrinsic_1(tracer: Tracer, frame: Frame, arg: str) -> None:
    value = frame.stack[-1]
    if arg != STOP_ITERATION or not isinstance(value, ExceptionValue) or issubclass(value.kind, StopIteration):
        raise GraphBreak("left to Python", "instruction")
