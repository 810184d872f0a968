"""Exceptions that are made, raised and caught while tracing, all of which is known.

In: ``ValueError("x")``, ``raise``, an operation on constants that raises. Out: ``Raised``, which the tracer takes to
the handler, if one of the frames it evaluates has any; the exception itself need not exist. Without a handler the break
is at the ``raise``, so that Python raises it.

>>> ExceptionValue(ValueError, (Constant("x"),)).text(tracer)
'x'

A raised exception has a traceback, which is made only by raising: if the object is needed after all, because it is
stored or something breaks while it is handled, ``NeedsNative`` starts the trace again with a break at the ``raise``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import MissingAttribute, NeedsNative, NotConcrete, Value
from capture.frames.values.constants import PLAIN, Constant, Failed
from capture.frames.values.containers import TupleValue
from capture.frames.values.objects import CallableValue

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer

KINDS: frozenset[type[BaseException]] = frozenset(
    {
        *(BaseException, Exception, ArithmeticError, FloatingPointError, OverflowError, ZeroDivisionError),
        *(AssertionError, AttributeError, BufferError, EOFError, LookupError, IndexError, KeyError, MemoryError),
        *(NameError, UnboundLocalError, ReferenceError, RuntimeError, NotImplementedError, RecursionError),
        *(TypeError, ValueError, StopIteration, StopAsyncIteration, KeyboardInterrupt, GeneratorExit, SystemExit),
        *(Warning, UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning),
    }
)
"""Builtin exceptions that are nothing but their type and arguments."""

TELLING = frozenset(KINDS - {TypeError, FloatingPointError} - {kind for kind in KINDS if issubclass(kind, Warning)})
"""Of these, what an operation on constants raises is what Python raises at its place, word for word.

The text of a TypeError names the operator as it was written, and the others stand for warnings while tracing.
"""


class ExceptionValue(Value):
    """An exception made inside; ``number`` says that it was raised, and as which one."""

    __slots__ = ("args", "kind", "number")
    noun = "exception"

    def __init__(self, kind: type[BaseException], args: Sequence[Value]) -> None:
        super().__init__()
        self.kind = kind
        self.args = tuple(args)
        self.number: int | None = None

    def describe(self) -> str:
        return f"exception {self.kind.__qualname__}"

    def python_type(self, tracer: Tracer) -> type:
        return self.kind

    def truth(self, tracer: Tracer) -> bool:
        return True

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name == "args":
            return TupleValue(self.args)
        if name == "value" and self.kind is StopIteration:
            return self.args[0] if self.args else Constant(None)
        return super().attribute(tracer, name)

    def text(self, tracer: Tracer, how: Callable[[Any], str] = str) -> str:
        """``str`` or ``repr`` of it."""
        try:
            concrete = [arg.real(tracer).concrete(tracer) for arg in self.args]
        except NotConcrete:
            raise GraphBreak(f"{self.describe()} as a string") from None
        if not all(type(arg) in PLAIN for arg in concrete):
            raise GraphBreak(f"{self.describe()} as a string")
        return how(self.kind(*concrete))

    def require_rebuildable(self) -> None:
        if self.number is not None:
            raise NeedsNative("raise", self.number)

    def rebuild(self, build: Builder) -> None:
        build.call(self.kind, self.args)


class OnStack(Value):
    """What the interpreter keeps on the stack while exception number ``number`` is handled."""

    __slots__ = ("number",)
    noun = "state of a handler"

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def require_rebuildable(self) -> None:
        raise NeedsNative("raise", self.number)


class Raised(GraphBreak):
    """An exception that Python raises here; a break unless a handler is known.

    ``late`` says that what its instruction has done until then remains.
    """

    def __init__(self, value: ExceptionValue, reason: str, kind: str = "python", late: bool = False) -> None:
        super().__init__(reason, kind)
        self.value = value
        self.late = late


def raised(kind: type[BaseException], *args: Any) -> Raised:
    """What an operation raises whose text is known."""
    value = ExceptionValue(kind, tuple(map(Constant, args)))
    return Raised(value, f"{kind.__qualname__} is raised: {', '.join(map(str, args))}")


def exception_of(stop: GraphBreak) -> ExceptionValue | None:
    """What Python raises where the trace has stopped, if that is known."""
    if isinstance(stop, Raised):
        return stop.value
    if isinstance(stop, MissingAttribute) and stop.text:
        return ExceptionValue(AttributeError, (Constant(stop.text),))
    if not isinstance(stop, Failed) or not (stop.exact or type(stop.error) in TELLING):
        return None
    if all(type(arg) in PLAIN for arg in stop.error.args):
        return ExceptionValue(type(stop.error), tuple(map(Constant, stop.error.args)))
    return None


def make(kind: type[BaseException], args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    if kwargs:
        raise GraphBreak(f"{kind.__qualname__} with keywords")
    return ExceptionValue(kind, args)


def as_exception(value: Value) -> ExceptionValue:
    """The operand of ``raise``: an exception, or a type of which it makes one."""
    if isinstance(value, ExceptionValue):
        return value
    if isinstance(value, CallableValue) and type(value.value) is type and value.value in KINDS:
        return ExceptionValue(value.value, ())
    raise GraphBreak(f"{value.describe()} is raised", "instruction")


def matches(value: Value, wanted: Value) -> bool:
    """``except wanted`` for an exception."""
    kinds = wanted.values if isinstance(wanted, TupleValue) else (wanted,)
    known = [kind.looked_at for kind in kinds]
    if not isinstance(value, ExceptionValue) or not all(isinstance(kind, CallableValue) for kind in known):
        raise GraphBreak("an exception is compared with something that is not known", "instruction")
    types = [kind.value for kind in known]  # type: ignore[attr-defined]
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in types):
        raise GraphBreak("an exception is compared with something that is no exception", "instruction")
    return any(kind in value.kind.__mro__ for kind in types)
