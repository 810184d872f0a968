"""Jumps, loops, calls and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import CallExShape, CallShape, callee
from capture.frames.handlers.table import opcode
from capture.frames.values.base import NULL, Opaque, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import DictValue
from capture.frames.values.generators import next_item
from capture.frames.values.instances import Instance
from capture.frames.values.iterators import IteratorValue
from capture.frames.values.results import ChosenValue
from capture.frames.values.streams import UserIterator

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


@opcode("RETURN_VALUE", raw=True)
def return_value(tracer: Tracer, frame: Frame, arg: None) -> None:
    frame.result = frame.pop()


# Jumps ------------------------------------------------------------------------------------------------------------
def _go(tracer: Tracer, frame: Frame, target: int) -> None:
    """Jump; a loop that goes on and on is not unrolled for ever."""
    if target <= frame.index and frame.code.instructions[target].op != "FOR_ITER":
        frame.rounds[target] = frame.rounds.get(target, 0) + 1
        if frame.rounds[target] > tracer.settings.options.unroll_limit:
            raise GraphBreak(f"a loop of more than {tracer.settings.options.unroll_limit} rounds", "unroll")
    if target <= frame.index:
        tracer.check_size()
    frame.jump(target)


@opcode("JUMP", raw=True)
def jump(tracer: Tracer, frame: Frame, arg: int) -> None:
    _go(tracer, frame, arg)


def _conditional(name: str, taken: Callable[[Tracer, Value], bool]) -> None:
    @opcode(f"POP_JUMP_IF_{name}", raw=True)
    def pop_jump_if(tracer: Tracer, frame: Frame, arg: int) -> None:
        if taken(tracer, frame.pop().real(tracer)):
            _go(tracer, frame, arg)


def _is_none(value: Value) -> bool:
    if isinstance(value, ChosenValue):
        raise GraphBreak(f"whether {value.describe()} is None is left to Python", "branch")
    return isinstance(value, Constant) and value.value is None


_conditional("TRUE", lambda tracer, value: value.truth(tracer))
_conditional("FALSE", lambda tracer, value: not value.truth(tracer))
_conditional("NONE", lambda tracer, value: _is_none(value))
_conditional("NOT_NONE", lambda tracer, value: not _is_none(value))


# Loops ------------------------------------------------------------------------------------------------------------
@opcode("GET_ITER")
def get_iter(tracer: Tracer, value: Value, /, *, arg: None) -> Value:
    return value.iterate(tracer)


@opcode("FOR_ITER", raw=True)
def for_iter(tracer: Tracer, frame: Frame, arg: int) -> None:
    iterator = frame.stack[-1].real(tracer)
    if isinstance(iterator, Instance):
        iterator = frame.stack[-1] = UserIterator(iterator)
    if not isinstance(iterator, IteratorValue):
        raise GraphBreak(f"a loop over {_words(iterator)}", "loop")
    limit = tracer.settings.options.unroll_limit
    if frame.loops.get(frame.index) is not iterator:
        frame.loops[frame.index] = iterator
        frame.rounds[frame.index] = 0
        if iterator.remaining(tracer) > limit:
            raise GraphBreak(f"a loop over more than {limit} items", "loop")
    frame.rounds[frame.index] += 1
    if frame.rounds[frame.index] > limit + 1:
        raise GraphBreak(f"a loop over more than {limit} items", "loop")
    item = next_item(tracer, iterator)
    if item is None:
        frame.pop()
        frame.jump(arg)
    else:
        frame.push(item)


def _words(value: Value) -> str:
    return f"{type(value.example).__name__} object" if isinstance(value, Opaque) else value.describe()


# Calls ------------------------------------------------------------------------------------------------------------
@opcode("CALL", raw=True)
def call(tracer: Tracer, frame: Frame, arg: CallShape) -> None:
    values = frame.stack[len(frame.stack) - arg.total :]
    del frame.stack[len(frame.stack) - arg.total :]
    second, first = frame.pop(), frame.pop()
    function, extra = callee(first, second, NULL)
    positional = (*extra, *values[: arg.positional])
    keywords = dict(zip(arg.keywords, values[arg.positional :], strict=True))
    frame.push(tracer.call(function, positional, keywords, exact=True))


@opcode("CALL_FUNCTION_EX", raw=True)
def call_function_ex(tracer: Tracer, frame: Frame, arg: CallExShape) -> None:
    keywords: dict[str, Value] = {}
    if arg.has_keywords:
        mapping = frame.pop().real(tracer)
        if not isinstance(mapping, DictValue) or not all(type(key) is str for key in mapping.entries):
            raise GraphBreak("keyword arguments from something that is no known dict", "call")
        keywords = dict(mapping.entries)
    positional = frame.pop().real(tracer).items(tracer)
    second, first = frame.pop(), frame.pop()
    function, _ = callee(first, second, NULL)
    frame.push(tracer.call(function, positional, keywords, exact=True))
