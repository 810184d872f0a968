"""How a handler is written down: its parameters say what it pops, its return annotation what it pushes.

    @opcode("BINARY_OP")
    def binary_op(tracer, left, right, /, *, arg) -> Value:
        return tracer.binary(arg, left, right)

Positional-only parameters after ``tracer`` are popped, the last one from the top of the stack, and looked at
(``lazy=True`` hands them over unseen, for handlers that only move them). A number of pops that depends on the
argument is given as ``pops=``. ``raw=True`` leaves the stack to the handler, which gets the frame instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import Instruction
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer

Handler = Callable[["Tracer", "Frame", Instruction], None]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a handler declares: pops for an argument, and pushes; None where the handler sees to the stack itself."""

    pops: Callable[[Any], int]
    pushes: int


HANDLERS: dict[str, Handler] = {}
EFFECTS: dict[str, Effect | None] = {}


def opcode(
    *names: str, pops: Callable[[Any], int] | None = None, lazy: bool = False, raw: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into the table of handlers."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        effect = None if raw else _declared(function, pops)
        handler = _raw(function) if effect is None else _popping(function, effect, lazy)
        for name in names:
            if name in HANDLERS:
                raise ValueError(f"two handlers for {name}")
            HANDLERS[name] = handler
            EFFECTS[name] = effect
        return function

    return enter


def _declared(function: Callable[..., Any], pops: Callable[[Any], int] | None) -> Effect:
    signature = inspect.signature(function)
    pushes = 0 if signature.return_annotation in (None, "None") else 1
    if pops is None:
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        count = kinds.count(inspect.Parameter.POSITIONAL_ONLY) - 1
        return Effect(lambda arg: count, pushes)
    return Effect(pops, pushes)


def _raw(function: Callable[..., Any]) -> Handler:
    def handle(tracer: Tracer, frame: Frame, instruction: Instruction) -> None:
        function(tracer, frame, instruction.arg)

    return handle


def _popping(function: Callable[..., Any], effect: Effect, lazy: bool) -> Handler:
    def handle(tracer: Tracer, frame: Frame, instruction: Instruction) -> None:
        count = effect.pops(instruction.arg)
        values = frame.stack[len(frame.stack) - count :]
        del frame.stack[len(frame.stack) - count :]
        if not lazy:
            values = [value.real(tracer) for value in values]
        result = function(tracer, *values, arg=instruction.arg)
        if effect.pushes:
            frame.stack.append(result)

    return handle


def unsupported(reasons: dict[str, str]) -> None:
    """Enter handlers for instructions that are left to Python, each with its reason."""
    for name, reason in reasons.items():

        def handle(tracer: Tracer, frame: Frame, instruction: Instruction, reason: str = reason) -> None:
            raise GraphBreak(reason, "instruction")

        HANDLERS[name] = handle
        EFFECTS[name] = None
