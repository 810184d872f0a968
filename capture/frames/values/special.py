"""Functions with a meaning of their own while a frame is captured.

In: functions registered by ``capture.api``. Out: what a call of them does instead of being evaluated inline.

>>> @breaks
... def graph_break(msg=""): ...
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

Function = TypeVar("Function", bound=Callable[..., Any])
Meaning = Callable[["Tracer", Sequence[Value], Mapping[str, Value]], Value]

SPECIAL: weakref.WeakKeyDictionary[Any, Meaning] = weakref.WeakKeyDictionary()
"""What a call of each special function gives while capturing."""


def _disabled(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    raise GraphBreak("call of a function that capture.disable marks", "disabled")


def _breaks(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    message = args[0].real(tracer) if args else None
    words = message.value if isinstance(message, Constant) and type(message.value) is str else ""
    raise GraphBreak(words or "capture.graph_break() was called", "requested")


def _compiling(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    return Constant(True)


def disabled(function: Function) -> Function:
    """Calls of ``function`` run as plain Python."""
    SPECIAL[function] = _disabled
    return function


def breaks(function: Function) -> Function:
    """A call of ``function`` ends the graph."""
    SPECIAL[function] = _breaks
    return function


def compiling(function: Function) -> Function:
    """``function`` is true while capturing."""
    SPECIAL[function] = _compiling
    return function


def is_disabled(function: Any) -> bool:
    return SPECIAL.get(function) is _disabled
