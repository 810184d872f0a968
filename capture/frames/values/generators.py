"""Generators whose frames are evaluated inline, from one item to the next, while tracing.

In: a call of a generator function. Out: items, when somebody asks for them; the frame waits in between as a
``Suspended``. One that is needed as an object before it has begun is made by the same call; one that has begun cannot
be made, so the trace starts again with a break at the call that makes it (``NeedsNative``).

>>> squares = tracer.call_function(function, (TupleValue((x, y)),), {})
>>> squares.advance(tracer), squares.advance(tracer), squares.advance(tracer)
(<array mul>, <array mul_1>, None)
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values import exceptions
from capture.frames.values.base import NeedsNative, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import call_row
from capture.frames.values.exceptions import ExceptionValue, Raised
from capture.frames.values.functions import CodeValue
from capture.frames.values.iterators import IteratorValue
from capture.frames.zones import is_stop_iteration
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.bytecode import Code
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Frame, Tracer

NONE = Constant(None)
NEW, SUSPENDED, RUNNING, ENDED = "new", "suspended", "running", "ended"


@dataclass(frozen=True)
class Suspended:
    """A frame that has yielded; ``index`` is the instruction behind the yield."""

    code: Code
    index: int
    stack: tuple[Value, ...]
    locals: Mapping[str, Value]
    handling: tuple[ExceptionValue, ...]
    rounds: Mapping[int, int]

    @property
    def delegates(self) -> bool:
        """Whether it waits in a ``yield from``."""
        return self.index > 1 and self.code.instructions[self.index - 2].op == "SEND"

    @property
    def is_covered(self) -> bool:
        """Whether something of the user's happens where the generator is closed here."""
        region = self.code.region_at(self.index - 1)
        if region is None:
            return self.delegates
        return self.delegates or not is_stop_iteration(self.code, region.target)


class GeneratorValue(IteratorValue):
    """A generator made inside the frame. ``number`` says as which one of the trace."""

    __slots__ = ("args", "bound", "function", "kwargs", "number", "phase", "returned", "state")
    noun = "generator"

    def __init__(
        self, function: CodeValue, args: Sequence[Value], kwargs: Mapping[str, Value], bound: Mapping[str, Value],
        number: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.bound = bound
        self.number = number
        self.phase = NEW
        self.state: Suspended | None = None
        self.returned: Value = NONE

    @property
    def parts(self) -> tuple[Value, ...]:
        if self.state is not None:
            return (self.function, *self.state.stack, *self.state.locals.values())
        return (self.function, *self.args, *self.kwargs.values(), *self.bound.values())

    def describe(self) -> str:
        return f"generator {self.function.name}"

    def python_type(self, tracer: Tracer) -> type:
        return types.GeneratorType

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in METHODS:
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return call_row(tracer, self, METHODS, name, args, kwargs)

    def remaining(self, tracer: Tracer) -> int:
        """Not known before; a loop counts its rounds."""
        return 0 if self.phase == ENDED else 1

    def advance(self, tracer: Tracer) -> Value | None:
        return self.resume(tracer, NONE)

    def resume(
        self, tracer: Tracer, sent: Value, thrown: ExceptionValue | None = None, direct: bool = False
    ) -> Value | None:
        """The next item; None at the end, when ``returned`` has what the frame returned.

        ``direct`` says that whatever it raises is raised by the instruction that asks, and nothing else happens.
        """
        if self.phase == RUNNING:
            raise GraphBreak(f"{self.describe()} asks itself for its next item")
        if self.phase == ENDED:
            if thrown is not None:
                raise GraphBreak(f"an exception is thrown into {self.describe()}, which has ended")
            tracer.journal.set(self, "returned", NONE)
            return None
        if self.phase == NEW and not (isinstance(sent, Constant) and sent.value is None and thrown is None):
            raise GraphBreak(f"{self.describe()} has not begun")
        frame = tracer.generator_frame(self, sent, thrown, direct)
        tracer.journal.set(self, "phase", RUNNING)
        try:
            result = tracer.run(frame)
        except GraphBreak:
            tracer.journal.set(self, "phase", ENDED)
            raise
        return self._leave(tracer, frame, result)

    def _leave(self, tracer: Tracer, frame: Frame, result: Value) -> Value | None:
        if not frame.yields:
            tracer.journal.set(self, "phase", ENDED)
            tracer.journal.set(self, "state", None)
            tracer.journal.set(self, "returned", result)
            return None
        state = Suspended(
            frame.code, frame.index, tuple(frame.stack), dict(frame.locals), frame.handling, dict(frame.rounds)
        )
        if state.handling:
            raise GraphBreak(f"{self.describe()} yields while it handles an exception", "generator")
        tracer.journal.set(self, "phase", SUSPENDED)
        tracer.journal.set(self, "state", state)
        return result

    def require_finished(self) -> None:
        """Raises what starts the trace again if the generator may be closed unseen, and something happens then."""
        if self.phase == RUNNING or (self.state is not None and self.state.is_covered):
            raise NeedsNative("generator", self.number)

    def require_rebuildable(self) -> None:
        if self.phase != NEW:
            raise NeedsNative("generator", self.number)

    def rebuild(self, build: Builder) -> None:
        build.call_value(self.function, self.args, self.kwargs)


# Methods ------------------------------------------------------------------------------------------------------------
def _stopped(generator: GeneratorValue) -> Raised:
    """StopIteration with what the generator returned."""
    returned = generator.returned
    args = () if isinstance(returned, Constant) and returned.value is None else (returned,)
    return Raised(ExceptionValue(StopIteration, args), f"{generator.describe()} has ended", late=True)


def _send(tracer: Tracer, generator: GeneratorValue, value: Value) -> Value:
    item = generator.resume(tracer, value, direct=True)
    if item is None:
        raise _stopped(generator)
    return item


def _next(tracer: Tracer, generator: GeneratorValue) -> Value:
    return _send(tracer, generator, NONE)


def _throw(tracer: Tracer, generator: GeneratorValue, error: Value) -> Value:
    thrown = exceptions.as_exception(error)
    if generator.state is None or generator.state.delegates or thrown.number is not None:
        raise GraphBreak(f"an exception is thrown into {generator.describe()}", "generator")
    item = generator.resume(tracer, NONE, thrown, direct=True)
    if item is None:
        raise _stopped(generator)
    return item


def _close(tracer: Tracer, generator: GeneratorValue) -> Value:
    state, depth = generator.state, len(tracer.frames)
    if state is None or not state.is_covered:
        if generator.phase == RUNNING:
            raise GraphBreak(f"{generator.describe()} closes itself", "generator")
        tracer.journal.set(generator, "phase", ENDED)
        tracer.journal.set(generator, "state", None)
        return NONE
    if state.delegates:
        raise GraphBreak(f"{generator.describe()} is closed in a yield from", "generator")
    try:
        item = generator.resume(tracer, NONE, ExceptionValue(GeneratorExit, ()))
    except Raised as stop:
        if stop.value.kind is not GeneratorExit or tracer.unwinding is not None:
            raise
        del tracer.frames[depth:]
        tracer.journal.set(generator, "state", None)
        return NONE
    returned = generator.returned
    if item is not None or not (isinstance(returned, Constant) and returned.value is None):
        raise GraphBreak(f"{generator.describe()} goes on though it is closed", "generator")
    return NONE


METHODS: Mapping[str, Callable[..., Value]] = {
    "__next__": _next,
    "__iter__": lambda tracer, generator: generator,
    "send": _send,
    "throw": _throw,
    "close": _close,
}


def next_item(tracer: Tracer, iterator: IteratorValue) -> Value | None:
    """The next item for an instruction that asks for nothing else."""
    if isinstance(iterator, GeneratorValue):
        return iterator.resume(tracer, NONE, direct=True)
    return iterator.advance(tracer)


def stop_of(iterator: Any) -> Raised:
    """What ``next`` raises at the end."""
    if isinstance(iterator, GeneratorValue):
        return _stopped(iterator)
    return Raised(ExceptionValue(StopIteration, ()), "next of an iterator at its end")
