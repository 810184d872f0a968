"""What every symbolic value answers, and the values that stand for nothing looked at yet.

In: questions of the handlers ("your truth?", "your attribute ``shape``?", "item 3?"). Out: another value or a
Python answer; ``GraphBreak`` where a family does not know, so that Python runs the instruction.

A value with a ``source`` exists before the frame runs and is reloaded from there when it is needed again; a value
without one was made inside and is rebuilt. One value stands for one object: identity of values is identity.

>>> x = Lazy(Argument(0, "x"), np.ones(3))     # nothing is guarded yet
>>> x.real(tracer)                             # now it is: an array of this type
<array x>
"""

from __future__ import annotations

import itertools
import weakref
from types import GeneratorType, MethodDescriptorType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.peek import class_attribute, class_lacks, is_fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer


class NotConcrete(Exception):
    """The value is not a constant through and through."""


class NeedsNative(Exception):
    """What was made as number ``number`` of its kind in the trace must exist. The trace starts again."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__()
        self.what = what
        self.number = number


class MissingAttribute(GraphBreak):
    """It is certain, under guards, that there is no such attribute; Python raises AttributeError, with ``text``."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(reason, "attribute")
        self.text = text


class Value:
    """A Python object, as far as it is known. Subclasses answer what they can."""

    __slots__ = ("source",)
    noun = "object"
    source: Source | None

    def __init__(self, source: Source | None = None) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def describe(self) -> str:
        return f"{self.noun} {self.source.name()}" if self.source is not None else self.noun

    def real(self, tracer: Tracer) -> Value:
        """The value itself; ``Lazy`` ones are looked at, and guarded, first."""
        return self

    @property
    def looked_at(self) -> Value:
        """The value itself; of ``Lazy`` ones what they turned out to be, if they were looked at."""
        return self

    # questions of Python ------------------------------------------------------------------------------------------
    def python_type(self, tracer: Tracer) -> type:
        raise GraphBreak(f"the type of {self.describe()} is not known")

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak(f"whether {self.describe()} is true is left to Python", "python")

    def length(self, tracer: Tracer) -> int:
        raise GraphBreak(f"the length of {self.describe()} is left to Python")

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name == "__class__" and _says_its_class(self.python_type(tracer)):
            return tracer.constant(self.python_type(tracer))
        if has_method(self.python_type(tracer), name):
            return tracer.method(self, name)
        raise GraphBreak(f"attribute {name!r} of {self.describe()} is left to Python", "attribute")

    def store_attribute(self, tracer: Tracer, name: str, value: Value) -> None:
        raise GraphBreak(f"attribute {name!r} of {self.describe()} is assigned", "write")

    def delete_attribute(self, tracer: Tracer, name: str) -> None:
        raise GraphBreak(f"attribute {name!r} of {self.describe()} is deleted", "write")

    def called(self, tracer: Tracer, args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        """What a call of this value calls, and with which arguments: a bound method calls its function."""
        return self, args

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        raise GraphBreak(f"call of {self.describe()}", "call")

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        raise GraphBreak(f"call of {self.describe()}.{name}", "call")

    def item(self, tracer: Tracer, key: Value) -> Value:
        raise GraphBreak(f"an item of {self.describe()} is left to Python")

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        raise GraphBreak(f"an item is assigned to {self.describe()}", "write")

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        raise GraphBreak(f"an item of {self.describe()} is deleted", "write")

    def contains(self, tracer: Tracer, item: Value) -> bool:
        raise GraphBreak(f"membership in {self.describe()} is left to Python")

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        """The items that iteration gives, when all are known."""
        raise GraphBreak(f"iteration over {self.describe()} is left to Python", "loop")

    def listed(self, tracer: Tracer) -> tuple[Value, ...]:
        """The items, for what makes a list of them: where a class has a say in its length it is asked for that, too."""
        return self.items(tracer)

    def iterate(self, tracer: Tracer) -> Value:
        raise GraphBreak(f"iteration over {self.describe()} is left to Python", "loop")

    def enter(self, tracer: Tracer) -> tuple[Value, Value]:
        """What ``with`` does with a context manager: its bound ``__exit__``, and what ``__enter__`` gives."""
        raise GraphBreak("a with block is entered by Python", "instruction")

    # questions of the compiler ------------------------------------------------------------------------------------
    def concrete(self, tracer: Tracer) -> Any:
        """The Python object, when it is constant through and through; a fresh one if it is mutable."""
        raise NotConcrete(self.describe())

    def in_graph(self, tracer: Tracer) -> Any:
        """The value as an argument of a graph's call: a node, a literal, or a tuple of these."""
        raise GraphBreak(f"{self.describe()} is no operand of an array operation", "op")

    def require_rebuildable(self) -> None:
        """Raises what starts the trace again if no code can make the object."""

    def rebuild(self, build: Builder) -> None:
        """Emit code that pushes the object; only asked of values without a source."""
        raise NotImplementedError(f"{type(self).__name__} cannot be rebuilt")

    def reload(self, build: Builder) -> None:
        """Emit code that pushes the object from where it was when the call began."""
        assert self.source is not None
        build.load(self.source)

    def template(self, build: Any) -> Any:
        """The result template for a call without a frame; None where code is needed."""
        return None


def _says_its_class(kind: type) -> bool:
    """Whether ``value.__class__`` of a builtin type is that type: proxies give that of another object."""
    return is_fixed(kind) and kind not in weakref.ProxyTypes and class_attribute(kind, "__class__") is CLASS_OF_OBJECT


CLASS_OF_OBJECT = vars(object)["__class__"]


def has_method(kind: type, name: str) -> bool:
    """Whether objects of a builtin type have a method of this name for certain: only its call may be left to Python."""
    if not is_fixed(kind) or class_lacks(kind, name) or not class_lacks(kind, "__dict__"):
        return False
    return type(class_attribute(kind, name)) is MethodDescriptorType


class Null(Value):
    """The NULL that calls have on the stack, and what an unbound variable holds."""

    __slots__ = ()
    noun = "NULL"


NULL = Null()


class Opaque(Value):
    """An object of which only the type is known: it can be passed on, and is used natively at a break."""

    __slots__ = ("example",)

    def __init__(self, example: Any, source: Source) -> None:
        super().__init__(source)
        self.example = example

    def describe(self) -> str:
        name = self.source.name() if self.source is not None else ""
        return f"{name or 'an object'} (of type {type(self.example).__qualname__})"

    def python_type(self, tracer: Tracer) -> type:
        return type(self.example)

    def iterate(self, tracer: Tracer) -> Value:
        return self if type(self.example) in THEIR_OWN_ITERATORS else super().iterate(tracer)


THEIR_OWN_ITERATORS = frozenset(
    {
        *(GeneratorType, map, filter, zip, enumerate, reversed),
        *(type(iter(kind())) for kind in (list, tuple, dict, set, str, bytes)),
        *(type(iter(range(0))), type(reversed([])), type(iter({}.values())), type(iter({}.items()))),
        *(value for value in vars(itertools).values() if type(value) is type and not class_lacks(value, "__next__")),
    }
)
"""Builtin iterators: ``iter`` gives them back."""


class Lazy(Value):
    """A value that nobody has looked at: an argument, global, cell or item, and the object it was this time.

    ``real`` wraps the object in its family and installs the guards that the family needs.
    """

    __slots__ = ("_real", "example")

    def __init__(self, source: Source, example: Any) -> None:
        super().__init__(source)
        self.example = example
        self._real: Value | None = None

    def describe(self) -> str:
        return f"{self.source.name()}" if self.source is not None else "a value"

    @property
    def looked_at(self) -> Value:
        return self if self._real is None else self._real

    def real(self, tracer: Tracer) -> Value:
        if self._real is None:
            assert self.source is not None
            self._real = tracer.wrap(self.source, self.example)
        return self._real if tracer.inside is None else self._real.real(tracer)
