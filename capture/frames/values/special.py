"""What calls of marked functions (``frames/marks.py``) are while a frame is captured, instead of being evaluated.

>>> MEANINGS["breaks"](tracer, [Constant("here")], {})
GraphBreak: here
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.marks import meaning_of
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

Meaning = Callable[["Tracer", Sequence[Value], Mapping[str, Value]], Value]


def _disabled(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    raise GraphBreak("call of a function that capture.disable marks", "disabled")


def _breaks(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    message = args[0].real(tracer) if args else None
    words = message.value if isinstance(message, Constant) and type(message.value) is str else ""
    raise GraphBreak(words or "capture.graph_break() was called", "requested")


def _compiling(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    return Constant(True)


MEANINGS: Mapping[str, Meaning] = {"disabled": _disabled, "breaks": _breaks, "compiling": _compiling}


def special_meaning(function: Any) -> Meaning | None:
    """What a call of a marked function gives while capturing; None for all others."""
    meaning = meaning_of(function)
    return None if meaning is None else MEANINGS[meaning]
