"""Which loops and decisions are tried as nodes of the graph, and where from.

In: the traced frame before an instruction. Out: whether to try what begins there; the frame may then stand before the
head of the loop around it. Loops over Python containers and very short ones differ from round to round, or are better
without control flow: they are unrolled, or left to Python round by round. Whether a ``while`` loop is short is seen
when it goes on: then the tracer goes back to where it was entered. A decision on what the graph computes would end it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from capture.frames.loops.flow import heads_of, part_from
from capture.frames.values.arrays import ArrayValue, ScalarValue
from capture.frames.values.base import Value
from capture.frames.values.binding import is_generator
from capture.frames.values.constants import Constant
from capture.frames.values.grown import GrownList
from capture.frames.values.iterators import EnumerateIterator, SequenceIterator, ZipIterator
from capture.frames.values.ranges import OpenRangeIterator
from capture.frames.values.results import ComputedNumber

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer

FEW = 4
"""Rounds of a loop that are put into the graph one by one."""

DEEPEST_UNROLLED = 2
"""Loops within one that is put into the graph round by round, itself included."""

COMPREHENDED = ".0"
"""What a comprehension goes over; in a function of its own (before Python 3.12) nothing else reads it."""

DECISIONS = frozenset({"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "TO_BOOL", "UNARY_NOT"})


class Entrance(NamedTuple):
    """The state in which a frame came to the head of a ``while`` loop."""

    marks: tuple[int, int, int, int]
    stack: tuple[Value, ...]
    locals: dict[str, Value]
    evaluated: int
    rounds: int


def is_worth(tracer: Tracer, frame: Frame) -> bool:
    """Whether to try what begins with the frame's current instruction."""
    code, index = frame.code, frame.index
    is_head = index in heads_of(code)
    if not (is_head or frame.instruction.op in DECISIONS) or not tracer.settings.options.loops:
        return False
    if is_generator(code.original):
        return False
    if not is_head:
        if not isinstance(frame.stack[-1].looked_at, ScalarValue | ComputedNumber):
            return False
        _go_back(tracer, frame)
        return not _is_left(tracer, frame)
    is_for = frame.instruction.op == "FOR_ITER"
    if _is_left(tracer, frame) or frame.instruction.op == "SEND" or (is_for and _rounds(frame.stack[-1]) is None):
        return False
    if index not in part_from(code, index).heads:
        return False  # what the way back leads to is elsewhere, as in a resume function
    return _is_worth_tracing(tracer, frame) if is_for else _goes_on(tracer, frame)


def _is_left(tracer: Tracer, frame: Frame) -> bool:
    return (id(frame.code), frame.index) in tracer.loops_left


def _goes_on(tracer: Tracer, frame: Frame) -> bool:
    """Whether a ``while`` loop has gone round a few times; the frame is then where it was before."""
    head, rounds = frame.index, frame.rounds.get(frame.index, 0)
    if frame.came_from not in part_from(frame.code, head).bodies[head]:
        _note_entrance(tracer, frame)
        return False
    entrance = frame.entrances.get(head)
    if entrance is None or rounds - entrance.rounds < FEW:
        return False
    _restore(tracer, frame, head, entrance)
    return True


def _note_entrance(tracer: Tracer, frame: Frame) -> None:
    head, rounds = frame.index, frame.rounds.get(frame.index, 0)
    frame.entrances[head] = Entrance(tracer.mark(), tuple(frame.stack), dict(frame.locals), tracer.evaluated, rounds)


def _go_back(tracer: Tracer, frame: Frame) -> None:
    """Before a decision in a ``while`` loop: to where the outermost one was entered that is still to be tried."""
    for head in sorted(frame.entrances):
        is_inside = frame.index in part_from(frame.code, head).bodies[head]
        if is_inside and (id(frame.code), head) not in tracer.loops_left:
            _restore(tracer, frame, head, frame.entrances[head])
            return


def _restore(tracer: Tracer, frame: Frame, head: int, entrance: Entrance) -> None:
    tracer.undo(entrance.marks, len(tracer.frames))
    tracer.evaluated = entrance.evaluated
    frame.stack[:], frame.locals = entrance.stack, dict(entrance.locals)
    frame.index, frame.next, frame.moved = head, head + 1, True
    frame.rounds[head] = entrance.rounds
    frame.entrances = {inner: known for inner, known in frame.entrances.items() if inner <= head}


def _is_worth_tracing(tracer: Tracer, frame: Frame) -> bool:
    """Whether a ``for`` loop goes over numbers or rows, more often than a few times, or one in it does.

    A short loop around another is begun round by round; where that one turns out to be long, the frame goes back.
    """
    head, iterator = frame.index, frame.stack[-1]
    rounds = _rounds(iterator)
    names = ((name, value) for each in tracer.frames for name, value in each.locals.items())
    if rounds is None or any(value is iterator for name, value in names if name != COMPREHENDED):
        return False
    if rounds > FEW:
        _go_back(tracer, frame)
        return not _is_left(tracer, frame)
    body = part_from(frame.code, head).bodies[head]
    loops = [frame.code.instructions[index].op for index in body & heads_of(frame.code)]
    if len(loops) > 1 and (len(loops) > DEEPEST_UNROLLED or set(loops) != {"FOR_ITER"}):
        return rounds > 1
    if len(loops) > 1 and frame.came_from not in body:
        _note_entrance(tracer, frame)
    return False


def _rounds(iterator: Value) -> int | None:
    """How many rounds there are this time; None for loops over other things than numbers and arrays."""
    if isinstance(iterator, EnumerateIterator):
        return _rounds(iterator.inner)
    if isinstance(iterator, ZipIterator):
        counts = [_rounds(inner) for inner in iterator.inners]
        return None if None in counts or not counts else min(counts)  # type: ignore[type-var]
    if isinstance(iterator, OpenRangeIterator):
        return FEW + 1
    if isinstance(iterator, SequenceIterator):
        over = iterator.over.looked_at
        if isinstance(over, Constant) and type(over.value) is range:
            return len(over.value) - iterator.index
        over = over.array if isinstance(over, GrownList) else over
        if isinstance(over, ArrayValue) and over.type.shape:
            size = over.type.shape[0]
            return (size if isinstance(size, int) else FEW + 1) - iterator.index
    return None
