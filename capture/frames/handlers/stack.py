"""Instructions that only move things: constants, stack slots, local variables, cells."""

from __future__ import annotations

from itertools import islice
from types import CodeType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import Present
from capture.frames.handlers.table import opcode
from capture.frames.peek import class_lacks
from capture.frames.rebuild import PARTS
from capture.frames.sources import Argument, Cell, CellOf, Contents, ancestry
from capture.frames.values.base import NULL, Lazy, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import DictValue, ListValue, TupleValue
from capture.frames.values.exceptions import ExceptionValue, Raised
from capture.frames.values.functions import CellValue

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


@opcode("RESUME", "NOP", raw=True)
def nop(tracer: Tracer, frame: Frame, arg: Any) -> None:
    """Nothing to do."""


@opcode("COPY_FREE_VARS", raw=True)
def copy_free_vars(tracer: Tracer, frame: Frame, arg: int) -> None:
    frame.locals.update(tracer.free_cells(frame))


@opcode("MAKE_CELL", raw=True)
def make_cell(tracer: Tracer, frame: Frame, arg: str) -> None:
    """Those of the prologue exist when the graph runs; one of an inlined comprehension is made where it is needed."""
    cell = frame.locals[arg] = CellValue(frame.locals.get(arg))
    if frame is tracer.root and not frame.instruction.resumable:
        tracer.cells[arg] = cell


@opcode("LOAD_CONST")
def load_const(tracer: Tracer, /, *, arg: Any) -> Value:
    return tracer.code_constant(arg)


@opcode("PUSH_NULL")
def push_null(tracer: Tracer, /, *, arg: None) -> Value:
    return NULL


@opcode("POP_TOP", "END_FOR", raw=True)
def pop_top(tracer: Tracer, frame: Frame, arg: None) -> None:
    let_go(tracer, frame.pop())


@opcode("COPY", raw=True)
def copy(tracer: Tracer, frame: Frame, arg: int) -> None:
    frame.push(frame.stack[-arg])


@opcode("SWAP", raw=True)
def swap(tracer: Tracer, frame: Frame, arg: int) -> None:
    stack = frame.stack
    stack[-arg], stack[-1] = stack[-1], stack[-arg]


# Local variables --------------------------------------------------------------------------------------------------
@opcode("LOAD_FAST", raw=True)
def load_fast(tracer: Tracer, frame: Frame, arg: str) -> None:
    value = frame.locals.get(arg)
    if value is None:
        raise unbound(arg)
    frame.push(value)


def unbound(name: str) -> Raised:
    words = f"cannot access local variable '{name}' where it is not associated with a value"
    return Raised(ExceptionValue(UnboundLocalError, (Constant(words),)), f"the variable {name!r} is not bound")


@opcode("LOAD_FAST_AND_CLEAR", raw=True)
def load_fast_and_clear(tracer: Tracer, frame: Frame, arg: str) -> None:
    frame.push(frame.locals.pop(arg, NULL))


@opcode("STORE_FAST", raw=True)
def store_fast(tracer: Tracer, frame: Frame, arg: str) -> None:
    value = frame.pop()
    old = frame.locals.get(arg)
    if value is NULL:
        frame.locals.pop(arg, None)
    else:
        frame.locals[arg] = value
    let_go(tracer, old)


@opcode("DELETE_FAST", raw=True)
def delete_fast(tracer: Tracer, frame: Frame, arg: str) -> None:
    if arg not in frame.locals:
        raise GraphBreak(f"the variable {arg!r} is not bound")
    let_go(tracer, frame.locals.pop(arg))


def let_go(tracer: Tracer, old: Value | None) -> None:
    """A variable or the stack held this. If it ends here, and that is an event, Python does it: what is read behind it
    may be what a ``__del__`` has written.
    """
    if old is None or not may_finalize(old):
        return
    held = (value for frame in tracer.frames for value in (*frame.stack, *frame.locals.values()))
    if not any(value is old or (value.source is not None and value.source == old.source) for value in held):
        raise GraphBreak(f"{old.describe()} may end here, with a __del__", "write")


def may_finalize(value: Value) -> bool:
    """Whether a value, or one that it is made of, is from an argument and has a ``__del__``."""
    if value.source is None and isinstance(value, TupleValue | ListValue | DictValue):
        return any(part is not None and may_finalize(part) for part in PARTS[type(value)](value))
    if not _has_finalizer(getattr(value, "example", None)) or value.source is None:
        return False
    return any(isinstance(place, Argument) for place in ancestry(value.source))


MOST_OBJECTS = 300
"""So many objects in lists, tuples and dicts are looked at, and in those in them."""


def _has_finalizer(example: Any) -> bool:
    waiting, seen = [example], 0
    while waiting and seen < MOST_OBJECTS:
        found, seen = waiting.pop(), seen + 1
        if type(found) in (list, tuple, dict):
            waiting.extend(islice(found.values() if type(found) is dict else found, MOST_OBJECTS))
        elif not class_lacks(type(found), "__del__"):
            return True
    return False


# Cells ------------------------------------------------------------------------------------------------------------
def cell_of(frame: Frame, name: str) -> CellValue:
    cell = frame.locals.get(name)
    if not isinstance(cell, CellValue):
        raise GraphBreak(f"the cell of {name!r} is not known")
    return cell


@opcode("LOAD_CLOSURE", raw=True)
def load_closure(tracer: Tracer, frame: Frame, arg: str) -> None:
    frame.push(cell_of(frame, arg))


@opcode("LOAD_DEREF", raw=True)
def load_deref(tracer: Tracer, frame: Frame, arg: str) -> None:
    content = cell_of(frame, arg).content
    if content is None:
        raise GraphBreak(f"what the closure variable {arg!r} holds is not known")
    if isinstance(content, Lazy) and isinstance(content.source, Cell | CellOf | Contents):
        tracer.guard(content.source, Present())
    frame.push(content)


@opcode("STORE_DEREF", raw=True)
def store_deref(tracer: Tracer, frame: Frame, arg: str) -> None:
    cell_of(frame, arg).write(tracer, frame.pop())


@opcode("MAKE_FUNCTION", pops=lambda parts: len(parts) + 1)
def make_function(tracer: Tracer, *values: Value, arg: tuple[str, ...]) -> Value:
    code = values[-1].concrete(tracer)
    assert isinstance(code, CodeType)
    return tracer.make_function(tracer.frames[-1], code, dict(zip(arg, values, strict=False)))
