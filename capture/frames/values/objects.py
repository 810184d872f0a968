"""Modules, and what is called that is not a Python function: types, builtins, NumPy's functions.

In: the object, guarded by identity. Out: attributes of modules by dict look-up (a module's ``__getattr__`` is user
code), results of calls through the tables of ``calls.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.guards import Missing
from capture.frames.peek import class_lacks
from capture.frames.sources import Attribute, ClassPart, Source
from capture.frames.sources import Constant as KnownObject
from capture.frames.stores import AttributeStore
from capture.frames.values import assigning, lookup
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.instances import METHODS_OF_OBJECT
from capture.frames.values.keys import require_no_finalizer

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


class ModuleValue(Value):
    """A module."""

    __slots__ = ("module",)
    noun = "module"

    def __init__(self, module: ModuleType, source: Source) -> None:
        super().__init__(source)
        self.module = module

    def python_type(self, tracer: Tracer) -> type:
        return ModuleType

    def truth(self, tracer: Tracer) -> bool:
        return True

    def attribute(self, tracer: Tracer, name: str) -> Value:
        namespace = vars(self.module)
        stored = tracer.stored_global(namespace, name)
        if stored is not None:
            return stored
        if name not in namespace:
            self._require_lacks(tracer, name)
            raise lookup.MissingAttribute(f"{self.describe()} has no {name!r} in its namespace")
        assert self.source is not None
        return tracer.there(Attribute(self.source, name), namespace[name])

    def store_attribute(self, tracer: Tracer, name: str, value: Value) -> None:
        namespace = vars(self.module)
        if name.startswith("__"):
            super().store_attribute(tracer, name, value)
        require_no_finalizer(namespace.get(name), name)
        tracer.write_global(namespace, name, value)

    def _require_lacks(self, tracer: Tracer, name: str) -> None:
        """Guard that there is no such attribute; a break where Python looks further."""
        namespace = vars(self.module)
        if "__getattr__" in namespace or not class_lacks(ModuleType, name):
            raise GraphBreak(f"attribute {name!r} of {self.describe()} is left to Python", "attribute")
        tracer.guard(KnownObject(namespace), Missing(name))
        tracer.guard(KnownObject(namespace), Missing("__getattr__"))

    def concrete(self, tracer: Tracer) -> Any:
        return self.module


WITH_METHODS = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset, np.ndarray, itertools.chain)
"""Types whose methods can be read from the type."""


UFUNC_METHODS = frozenset({"reduce", "accumulate", "outer", "reduceat"})


class CallableValue(Value):
    """A builtin, a type or a NumPy function: known by identity, called through tables."""

    __slots__ = ("value",)
    noun = "callable"

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def describe(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "__name__", None)
        module = getattr(self.value, "__module__", None)
        if not isinstance(name, str):
            return super().describe()
        return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name

    def python_type(self, tracer: Tracer) -> type:
        return type(self.value)

    def truth(self, tracer: Tracer) -> bool:
        return True

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return tracer.call_known(self, self.value, args, kwargs)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return tracer.call_ufunc_method(self.value, name, args, kwargs)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if lookup.is_class(self.value) and name in ClassPart.NAMES:
            return self._named(tracer, ClassPart.NAMES.index(name))
        if lookup.is_class(self.value) and not lookup.is_fixed(self.value):
            return lookup.read_of_class(tracer, self.value, name)
        if (self.value is object or self.value is tuple) and id(getattr(self.value, name, None)) in METHODS_OF_OBJECT:
            return CallableValue(getattr(self.value, name))
        if type(self.value) is np.ufunc and name == "at":
            return CallableValue(self.value.at)
        if type(self.value) is np.ufunc and name in UFUNC_METHODS:
            return tracer.method(self, name)
        if any(self.value is kind for kind in WITH_METHODS):  # builtin types, which nobody can change
            found = getattr(self.value, name, None)
            if type(found) in (BuiltinFunctionType, MethodDescriptorType):
                return CallableValue(found)
        return super().attribute(tracer, name)

    def item(self, tracer: Tracer, key: Value) -> Value:
        return self._asks_its_class(tracer, "__getitem__", key) or super().item(tracer, key)

    def length(self, tracer: Tracer) -> int:
        found = self._asks_its_class(tracer, "__len__")
        if found is None:
            return super().length(tracer)
        count = found.real(tracer).concrete(tracer)
        if type(count) is not int:
            raise GraphBreak(f"__len__ of the class of {self.describe()} gives no int")
        return count

    def contains(self, tracer: Tracer, item: Value) -> bool:
        found = self._asks_its_class(tracer, "__contains__", item)
        return super().contains(tracer, item) if found is None else found.real(tracer).truth(tracer)

    def iterate(self, tracer: Tracer) -> Value:
        found = self._asks_its_class(tracer, "__iter__")
        return super().iterate(tracer) if found is None else found.real(tracer).iterate(tracer)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return self.iterate(tracer).items(tracer)

    def _asks_its_class(self, tracer: Tracer, name: str, *args: Value) -> Value | None:
        """A special method of a metaclass that Python code made, as in ``Color["RED"]``."""
        if not lookup.is_class(self.value) or lookup.is_fixed(type(self.value)):
            return None
        function = lookup.special(tracer, type(self.value), name)
        return None if function is None else tracer.call(function, (self, *args), {})

    def _named(self, tracer: Tracer, index: int) -> Value:
        """``__name__`` or ``__qualname__`` of a class."""
        name = ClassPart.NAMES[index]
        descriptor = lookup.find(type(self.value), name)
        if descriptor is not vars(type)[name] or not lookup.holds(tracer, type(self.value), name, descriptor):
            raise GraphBreak(f"attribute {name!r} of {self.describe()} is left to Python", "attribute")
        found = descriptor.__get__(self.value)
        source = ClassPart(KnownObject(self.value), index)
        return Constant(found) if lookup.is_fixed(self.value) else tracer.lazy(source, found)

    def store_attribute(self, tracer: Tracer, name: str, value: Value) -> None:
        if not lookup.is_class(self.value) or lookup.is_fixed(self.value):
            super().store_attribute(tracer, name, value)
        assigning.require_plain_store(tracer, self.value, name, value)
        tracer.write(self, AttributeStore(self, name, value))
        tracer.journal.put(tracer.class_attributes, (id(self.value), name), value)

    def concrete(self, tracer: Tracer) -> Any:
        return self.value

    def in_graph(self, tracer: Tracer) -> Any:
        return self.value  # a dtype given as a type

    def template(self, build: Any) -> Any:
        return ("const", self.value) if self.source is None else None

    def rebuild(self, build: Any) -> None:
        build.constant(self.value)
