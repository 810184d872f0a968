"""Raising and handling exceptions, and ``with``.

An exception that is known and handled in a frame that is being evaluated goes there at once (``Tracer.handle``). The
stack of a handler is CPython's: ``PUSH_EXC_INFO`` puts what was handled before below the exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.handlers.table import opcode
from capture.frames.values import exceptions
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.exceptions import ExceptionValue, OnStack, Raised
from capture.frames.values.objects import CallableValue

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


@opcode("LOAD_ASSERTION_ERROR")
def load_assertion_error(tracer: Tracer, /, *, arg: None) -> Value:
    return CallableValue(AssertionError)


@opcode("RAISE_VARARGS", raw=True)
def raise_varargs(tracer: Tracer, frame: Frame, arg: int) -> None:
    if arg == 0:
        if not frame.handling:
            raise GraphBreak("what is handled here is not known", "instruction")
        value = frame.handling[-1]
    else:
        operands = [frame.pop().real(tracer) for _ in range(arg)]
        value = exceptions.as_exception(operands[-1])
        cause = operands[0]
        if arg == 2 and not (isinstance(cause, Constant) and cause.value is None):
            exceptions.as_exception(cause)
    raise Raised(value, f"{value.kind.__qualname__} is raised", "instruction")


@opcode("RERAISE", raw=True)
def reraise(tracer: Tracer, frame: Frame, arg: int) -> None:
    raise Raised(_known(frame.pop()), "an exception is raised again", "instruction")


def _known(value: Value) -> ExceptionValue:
    if not isinstance(value, ExceptionValue):
        raise GraphBreak("an exception that is not known is handled", "instruction")
    return value


@opcode("PUSH_EXC_INFO", raw=True)
def push_exc_info(tracer: Tracer, frame: Frame, arg: None) -> None:
    value = _known(frame.pop())
    assert value.number is not None
    frame.push(OnStack(value.number))
    frame.push(value)
    frame.handling = (*frame.handling, value)


@opcode("POP_EXCEPT", raw=True)
def pop_except(tracer: Tracer, frame: Frame, arg: None) -> None:
    if not isinstance(frame.pop(), OnStack):
        raise GraphBreak("the end of a handler that is not known", "instruction")
    frame.handling = frame.handling[:-1]


@opcode("CHECK_EXC_MATCH", raw=True)
def check_exc_match(tracer: Tracer, frame: Frame, arg: None) -> None:
    wanted = frame.pop().real(tracer)
    for part in getattr(wanted, "values", ()):
        part.real(tracer)
    frame.push(Constant(exceptions.matches(frame.stack[-1], wanted)))


# with ---------------------------------------------------------------------------------------------------------------
@opcode("BEFORE_WITH", raw=True)
def before_with(tracer: Tracer, frame: Frame, arg: None) -> None:
    manager = frame.pop().real(tracer)
    leave, entered = manager.enter(tracer)
    frame.push(leave)
    frame.push(entered)


@opcode("WITH_EXCEPT_START", raw=True)
def with_except_start(tracer: Tracer, frame: Frame, arg: None) -> None:
    """[exit, place, what was handled before, exception] -> and what the exit answers"""
    value = _known(frame.stack[-1])
    kind, traceback = CallableValue(value.kind), OnStack(value.number or 0)
    frame.push(tracer.call(frame.stack[-4], (kind, value, traceback), {}))
