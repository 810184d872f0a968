"""Functions, bound methods and cells.

In: function objects, or the parts that MAKE_FUNCTION has. Out: ``signature facts`` for inlining: code, globals,
defaults and cells as values. A Python function that is called is evaluated inline; one that was made inside the
frame is built only if it escapes.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from capture.frames.guards import InstanceLacks, IsObject
from capture.frames.peek import class_lacks
from capture.frames.sources import CellOf, ClosureCell, Default, FunctionPart, InstanceAttribute, KeywordDefault, Source
from capture.frames.stores import CellStore
from capture.frames.values.base import Lazy, MissingAttribute, Opaque, Value
from capture.frames.values.constants import Constant

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class CellValue(Value):
    """A closure cell. ``content`` is None while the variable is unbound.

    A cell with a source, or with ``free``, existed before the call: a write is carried out behind the graph. The
    source is that of its contents, ``place`` that of the cell itself.
    """

    __slots__ = ("content", "free", "place")
    noun = "cell"

    def __init__(
        self, content: Value | None, source: Source | None = None, free: str = "", place: Source | None = None
    ) -> None:
        super().__init__(source)
        self.content = content
        self.free = free  # the slot of the traced function that holds it
        self.place = place

    def write(self, tracer: Tracer, content: Value) -> None:
        if self.place is not None:
            tracer.write(self, CellStore(self, content))
        tracer.journal.set(self, "content", content)

    def rebuild(self, build: Builder) -> None:
        build.cell(self)

    def reload(self, build: Builder) -> None:
        assert isinstance(self.source, CellOf)
        build.cell_object(self.source)


class CodeValue(Value):
    """What is common to functions that can be evaluated inline."""

    __slots__ = ()
    noun = "function"

    @property
    def code(self) -> CodeType:
        raise NotImplementedError

    @property
    def globals(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self.code.co_qualname

    def positional_defaults(self) -> tuple[Value, ...]:
        raise NotImplementedError

    def keyword_defaults(self) -> Mapping[str, Value]:
        raise NotImplementedError

    def cell(self, tracer: Tracer, index: int) -> CellValue:
        raise NotImplementedError

    def python_type(self, tracer: Tracer) -> type:
        return FunctionType

    def truth(self, tracer: Tracer) -> bool:
        return True

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return tracer.call_function(self, args, kwargs)


class FunctionValue(CodeValue):
    """A function that exists: its code is guarded, its defaults and cells are read where they are used.

    Where more is asked of it than to be called, it is ``fixed``: guarded to be this very function.
    """

    __slots__ = ("cells", "fixed", "function")

    def __init__(self, function: FunctionType, source: Source) -> None:
        super().__init__(source)
        self.function = function
        self.fixed = False
        self.cells: dict[int, CellValue] = {}

    def fix(self, tracer: Tracer) -> None:
        assert self.source is not None
        tracer.guard(self.source, IsObject(self.function))
        self.fixed = True

    @property
    def code(self) -> CodeType:
        return self.function.__code__

    @property
    def globals(self) -> dict[str, Any]:
        return self.function.__globals__

    def describe(self) -> str:
        return f"function {self.function.__qualname__}"

    def positional_defaults(self) -> tuple[Value, ...]:
        defaults = self.function.__defaults__ or ()
        return tuple(Lazy(Default(self.source, index - len(defaults)), value) for index, value in enumerate(defaults))

    def keyword_defaults(self) -> Mapping[str, Value]:
        defaults = self.function.__kwdefaults__ or {}
        return {name: Lazy(KeywordDefault(self.source, name), value) for name, value in defaults.items()}

    def cell(self, tracer: Tracer, index: int) -> CellValue:
        if index not in self.cells:
            assert self.function.__closure__ is not None and self.source is not None
            cell, name = self.function.__closure__[index], self.code.co_freevars[index]
            place = ClosureCell(self.source, index, name)
            self.cells[index] = tracer.cell(cell, CellOf(self.source, index, name), place)
        return self.cells[index]

    def attribute(self, tracer: Tracer, name: str) -> Value:
        assert self.source is not None
        if name in FunctionPart.NAMES:
            index = FunctionPart.NAMES.index(name)
            return tracer.lazy(FunctionPart(self.source, index), getattr(self.function, name))
        own = self.function.__dict__
        if not class_lacks(FunctionType, name):
            return super().attribute(tracer, name)
        if name in own:
            return tracer.lazy(InstanceAttribute(self.source, name), own[name])
        tracer.guard(self.source, InstanceLacks(name))
        text = f"'function' object has no attribute {name!r}"
        raise MissingAttribute(f"{self.describe()} has no attribute {name!r}", text)

    def concrete(self, tracer: Tracer) -> Any:
        self.fix(tracer)
        return self.function

    def rebuild(self, build: Builder) -> None:
        build.constant(self.function)


class EntryValue(Opaque):
    """A compiled function that another one calls: its plain function is evaluated inline."""

    __slots__ = ("plain",)
    noun = "compiled function"

    def __init__(self, entry: Any, source: Source, plain: FunctionValue) -> None:
        super().__init__(entry, source)
        self.plain = plain

    def describe(self) -> str:
        return self.plain.describe()

    def truth(self, tracer: Tracer) -> bool:
        return True


class ClosureValue(CodeValue):
    """A function made inside the frame by MAKE_FUNCTION."""

    __slots__ = ("_code", "_globals", "annotations", "closure", "defaults", "kwdefaults")

    def __init__(self, code: CodeType, namespace: dict[str, Any], parts: Mapping[str, Value]) -> None:
        super().__init__()
        self._code = code
        self._globals = namespace
        self.defaults = parts.get("defaults")
        self.kwdefaults = parts.get("kwdefaults")
        self.closure = parts.get("closure")
        self.annotations = parts.get("annotations")

    @property
    def code(self) -> CodeType:
        return self._code

    @property
    def globals(self) -> dict[str, Any]:
        return self._globals

    def describe(self) -> str:
        return f"function {self._code.co_qualname}"

    def positional_defaults(self) -> tuple[Value, ...]:
        return self.defaults.values if self.defaults is not None else ()  # type: ignore[attr-defined]

    def keyword_defaults(self) -> Mapping[str, Value]:
        return self.kwdefaults.entries if self.kwdefaults is not None else {}  # type: ignore[attr-defined]

    def cell(self, tracer: Tracer, index: int) -> CellValue:
        return self.closure.values[index]  # type: ignore[union-attr]

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return Constant(self._code.co_name if name == "__name__" else self._code.co_qualname)
        return super().attribute(tracer, name)

    def rebuild(self, build: Builder) -> None:
        build.function(self)


class MethodValue(Value):
    """``owner.name`` of a value whose methods are known; made into a bound method only if it escapes."""

    __slots__ = ("name", "owner")
    noun = "method"

    def __init__(self, owner: Value, name: str) -> None:
        super().__init__()
        self.owner = owner
        self.name = name

    def describe(self) -> str:
        return f"{self.owner.describe()}.{self.name}"

    def python_type(self, tracer: Tracer) -> type:
        return types.BuiltinMethodType

    def truth(self, tracer: Tracer) -> bool:
        return True

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return self.owner.call_method(tracer, self.name, args, kwargs)

    def rebuild(self, build: Builder) -> None:
        build.attribute(self.owner, self.name)


def bind(function: Any, owner: Any) -> Any:
    return function.__get__(owner, type(owner))  # some methods in C must be told the type


class BoundMethodValue(Value):
    """A function bound to an object of a class; made into a bound method only if it escapes."""

    __slots__ = ("function", "kind", "owner")
    noun = "method"

    def __init__(
        self, function: Value, owner: Value, source: Source | None = None, kind: type = types.MethodType
    ) -> None:
        super().__init__(source)
        self.function = function
        self.owner = owner
        self.kind = kind  # of methods of builtin classes another one

    def describe(self) -> str:
        return f"method {self.function.describe()}"

    def python_type(self, tracer: Tracer) -> type:
        return self.kind

    def truth(self, tracer: Tracer) -> bool:
        return True

    def called(self, tracer: Tracer, args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        return self.function, (self.owner, *args)

    def rebuild(self, build: Builder) -> None:
        build.call(types.MethodType if self.kind is types.MethodType else bind, (self.function, self.owner))
