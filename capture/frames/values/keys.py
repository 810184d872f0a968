"""Keys and indices: what containers are asked for.

In: the key of a subscript. Out: the plain constant that it is (``plain_key``), or the parts of a slice; ``Lacks`` where
a container has nothing for it.

>>> plain_key(tracer, Constant("lr"))
'lr'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.peek import class_lacks
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import PLAIN, Constant
from capture.frames.values.numbers import require_constant

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer


def plain_key(tracer: Tracer, key: Value) -> Any:
    """A dict key or index that Python hashes and compares without user code."""
    found = key.real(tracer)
    for part in found.items(tracer) if found.python_type(tracer) is tuple else (found,):
        require_constant(tracer, part)
    try:
        value = found.concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{key.describe()} as a key is left to Python") from None
    parts = value if type(value) is tuple else (value,)
    if all(type(part) in PLAIN and part == part for part in parts):  # a NaN is found by its identity
        return value
    raise GraphBreak(f"{key.describe()} as a key is left to Python")


class Lacks(GraphBreak):
    """A container has no item for a key; where it is subscripted Python raises ``error(*args_of_error)``."""

    def __init__(self, reason: str, error: type[LookupError], *args: Any) -> None:
        super().__init__(reason)
        self.error = error
        self.args_of_error = args


class SliceValue(Value):
    """``start:stop:step``."""

    __slots__ = ("start", "step", "stop")
    noun = "slice"

    def __init__(self, start: Value, stop: Value, step: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.start, self.stop, self.step = start, stop, step

    @property
    def parts(self) -> tuple[Value, ...]:
        return self.start, self.stop, self.step

    def python_type(self, tracer: Tracer) -> type:
        return slice

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in ("start", "stop", "step"):
            return getattr(self, name)
        return super().attribute(tracer, name)

    def concrete(self, tracer: Tracer) -> slice:
        return slice(*(part.real(tracer).concrete(tracer) for part in self.parts))

    def concrete_or_break(self, tracer: Tracer) -> slice:
        for part in self.parts:
            require_constant(tracer, part)
        try:
            found = self.concrete(tracer)
        except NotConcrete:
            raise GraphBreak("a slice with bounds that are not known") from None
        if all(part is None or type(part) in (int, bool) for part in (found.start, found.stop, found.step)):
            return found
        raise GraphBreak("a slice with bounds that are no ints")

    def in_graph(self, tracer: Tracer) -> slice:
        """Bounds that change from call to call are sizes."""
        parts = [part.real(tracer) for part in self.parts]
        sizes = {place: tracer.sizes.of(part) for place, part in enumerate(parts)}
        start, stop, step = (part if sizes[place] is None else Constant(None) for place, part in enumerate(parts))
        found = SliceValue(start, stop, step).concrete_or_break(tracer)
        rest = (found.start, found.stop, found.step)
        return slice(*(part if sizes[place] is None else sizes[place] for place, part in enumerate(rest)))

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_slice", self.parts)


def require_no_finalizer(old: Any, where: str) -> None:
    """What a change removes may end, which must not be noticed later than it happens in plain Python."""
    old = getattr(old, "example", None) if isinstance(old, Value) else old
    if not class_lacks(type(old), "__del__"):
        raise GraphBreak(f"an object with a __del__ may end where {where} is changed", "write")
