"""Attributes as ``object.__getattribute__`` and ``type.__getattribute__`` find them, by hand: no user code runs.

In: an object's class, known by a guard on the object's type, and a name. Out: what stands there, bound as Python binds
it: a bound method, what a property's function gives when it is evaluated inline, a value under a source. Each step of
the look-up is a guard: what the class and its bases hold, or that they hold nothing, and that the object has no
attribute of its own that hides it.

>>> read(tracer, model, "forward")      # a function in type(model), no attribute of that name in the object itself
<bound method forward of model>
"""

from __future__ import annotations

import enum
import functools
import types
from collections import namedtuple
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import ClassLacks, IsObject, Present, TypeIs
from capture.frames.hook import Entry
from capture.frames.peek import Absent, is_fixed, is_own_dict, order_of, super_attribute, type_name
from capture.frames.sources import ClassAttribute, Source, SuperAttribute
from capture.frames.sources import Constant as KnownObject
from capture.frames.values.base import MissingAttribute, Value
from capture.frames.values.constants import Constant
from capture.frames.values.functions import BoundMethodValue, CodeValue, EntryValue
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.instances import Instance

OWN: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
MISSING = object()


def is_class(value: Any) -> bool:
    return issubclass(type(value), type)


def find(cls: type, name: str) -> Any:
    """What a class or one of its bases holds under a name, unbound; MISSING if none does."""
    for base in order_of(cls):
        if name in OWN(base):
            return OWN(base)[name]
    return MISSING


BUILT_IN = (object, tuple, list, dict, set, frozenset, int, float, complex, str, bytes, types.SimpleNamespace)
GENERIC = frozenset(id(find(kind, "__getattribute__")) for kind in BUILT_IN)
"""Ways to read attributes that are all ``PyObject_GenericGetAttr``."""


def class_source(cls: type, name: str) -> ClassAttribute:
    return ClassAttribute(KnownObject(cls), name)


def lacks(tracer: Tracer, cls: type, name: str) -> bool:
    """Whether a class has nothing under a name, under a guard."""
    require_unchanged(tracer, cls, name)
    if find(cls, name) is not MISSING:
        if not is_fixed(cls) and name not in OWN(object):
            tracer.guard(class_source(cls, name), Present())
        return False
    if not is_fixed(cls):
        tracer.guard(KnownObject(cls), ClassLacks(name))
    return True


def holds(tracer: Tracer, cls: type, name: str, wanted: Any) -> bool:
    """Whether a class holds this very object under a name, under a guard if so."""
    require_unchanged(tracer, cls, name)
    if find(cls, name) is not wanted:
        return False
    if not is_fixed(cls):
        tracer.guard(class_source(cls, name), IsObject(wanted))
    return True


def special(tracer: Tracer, cls: type, name: str) -> Value | None:
    """The Python function that a class has as a special method; None if it has nothing of the name."""
    if lacks(tracer, cls, name):
        return None
    found = find(cls, name)
    if type(found) is not FunctionType:
        raise GraphBreak(f"{name} of {type_name(cls)} is no plain function", "attribute")
    return tracer.lazy(class_source(cls, name), found).real(tracer)


# What is found in a class ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Found:
    """An attribute of a class, unbound. ``cls`` is where the look-up began."""

    raw: Any
    source: Source
    name: str
    cls: type
    data: bool  # it goes before the object's own attributes
    bind: Binder

    def of(self, tracer: Tracer, owner: Instance) -> Value:
        """As an attribute of an object."""
        return self.bind(tracer, self, owner)

    def of_class(self, tracer: Tracer) -> Value:
        """As an attribute of the class itself."""
        return self.bind(tracer, self, None)


Binder = Callable[["Tracer", Found, "Instance | None"], Value]


def class_value(tracer: Tracer, cls: type) -> Value:
    return tracer.lazy(KnownObject(cls), cls).real(tracer)


def known(tracer: Tracer, value: Any) -> Value:
    """Something that a guarded object holds for ever: a property's function, a static method's."""
    return tracer.lazy(KnownObject(value), value).real(tracer)


def _function(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    function = tracer.lazy(found.source, found.raw).real(tracer)
    return function if owner is None else BoundMethodValue(function, owner)


def _static(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    return known(tracer, found.raw.__func__)


def _class_method(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    function = known(tracer, found.raw.__func__)
    if not isinstance(function, CodeValue | EntryValue):
        return _refuse(tracer, found, owner)  # of a descriptor, which versions of Python bind in different ways
    return BoundMethodValue(function, class_value(tracer, found.cls))


def _property(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    if owner is None:
        return _plain(tracer, found, owner)
    if type(found.raw.fget) is not FunctionType:
        raise GraphBreak(f"the property {found.name!r} is no plain function", "attribute")
    return tracer.call(known(tracer, found.raw.fget), (owner,), {})


def _member(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    if owner is None:
        return _plain(tracer, found, owner)
    if not is_own_slot(found, owner.cls):
        return _refuse(tracer, found, owner)
    return owner.slot(tracer, found.raw)


def is_own_slot(found: Found, cls: type) -> bool:
    """Whether a member is a slot that a class statement made, found under its own name."""
    member = found.raw
    by_name = member.__name__ == found.name and find(cls, found.name) is member
    return by_name and "__slots__" in OWN(member.__objclass__)


def _tuple_field(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    if owner is None:
        return _plain(tracer, found, owner)
    index = found.raw.__reduce__()[1][0]
    return owner.field(tracer, index)


def _plain(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    return tracer.lazy(found.source, found.raw)


def _own_attribute_of_enum(name: str) -> Binder:
    def bind(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
        if owner is None:
            raise GraphBreak(f"attribute {found.name!r} of an Enum", "attribute")
        return read(tracer, owner, name)

    return bind


def _method_of_c(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    method = tracer.lazy(found.source, found.raw).real(tracer)
    return method if owner is None else BoundMethodValue(method, owner, kind=BOUND_IN_C[type(found.raw)])


BOUND_IN_C: Mapping[type, type] = {
    types.MethodDescriptorType: types.BuiltinMethodType,
    types.WrapperDescriptorType: types.MethodWrapperType,
}


def _refuse(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    where = owner.describe() if owner is not None else type_name(found.cls)
    raise GraphBreak(f"attribute {found.name!r} of {where} is left to Python", "attribute")


def _user_descriptor(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    """``type(raw).__get__(raw, owner, cls)``, evaluated inline."""
    get = special(tracer, type(found.raw), "__get__")
    if get is None:
        return _refuse(tracer, found, owner)
    descriptor = tracer.lazy(found.source, found.raw)
    instance = owner if owner is not None else Constant(None)
    return tracer.call(get, (descriptor, instance, class_value(tracer, found.cls)), {})


CACHED = {name: OWN(functools.cached_property)[name] for name in ("__get__", "__set_name__")}


def _cached_property(tracer: Tracer, found: Found, owner: Instance | None) -> Value:
    """What its function gives, which the object keeps under the same name."""
    if not all(holds(tracer, functools.cached_property, name, method) for name, method in CACHED.items()):
        return _refuse(tracer, found, owner)
    if owner is None:
        return _plain(tracer, found, owner)
    if type(found.raw.func) is not FunctionType or found.raw.attrname != found.name:
        return _refuse(tracer, found, owner)
    if not is_own_dict(find(owner.cls, "__dict__"), owner.cls):
        return _refuse(tracer, found, owner)
    value = tracer.call(known(tracer, found.raw.func), (owner,), {})
    owner.keep(tracer, found.name, value)
    return value


DESCRIPTORS: Mapping[type, tuple[bool, Binder]] = {
    FunctionType: (False, _function),
    Entry: (False, _function),
    staticmethod: (False, _static),
    classmethod: (False, _class_method),
    property: (True, _property),
    functools.cached_property: (False, _cached_property),
    types.MemberDescriptorType: (True, _member),
    types.GetSetDescriptorType: (True, _refuse),
    types.WrapperDescriptorType: (False, _method_of_c),
    types.MethodDescriptorType: (False, _method_of_c),
    type(OWN(namedtuple("Pair", "first second"))["first"]): (True, _tuple_field),
}
"""Kinds of attributes of classes that bind: whether they go before the object's own, and how."""

ENUM_PROPERTIES = (OWN(enum.Enum)["value"], OWN(enum.Enum)["name"])
KNOWN_DESCRIPTORS: Mapping[int, tuple[bool, Binder]] = {
    id(ENUM_PROPERTIES[0]): (True, _own_attribute_of_enum("_value_")),
    id(ENUM_PROPERTIES[1]): (True, _own_attribute_of_enum("_name_")),
}
"""Single descriptors whose meaning is known, by identity."""


def _classify(tracer: Tracer, raw: Any, source: Source, name: str, cls: type) -> Found:
    kind = type(raw)
    row = KNOWN_DESCRIPTORS.get(id(raw)) or DESCRIPTORS.get(kind)
    if row is not None:
        tracer.guard(source, IsObject(raw))
        return Found(raw, source, name, cls, *row)
    tracer.guard(source, TypeIs(kind))
    gets, *changes = (not lacks(tracer, kind, method) for method in ("__get__", "__set__", "__delete__"))
    if not gets and not any(changes):
        return Found(raw, source, name, cls, False, _plain)
    return Found(raw, source, name, cls, any(changes), _refuse if is_fixed(kind) else _user_descriptor)


def class_attribute(tracer: Tracer, cls: type, name: str) -> Found | None:
    """What a class holds under a name, under guards; None if nothing."""
    assigned = tracer.class_attributes.get((id(cls), name))
    if assigned is not None:
        return Found(assigned, class_source(cls, name), name, cls, False, lambda tracer, found, owner: found.raw)
    if lacks(tracer, cls, name):
        return None
    return _classify(tracer, find(cls, name), class_source(cls, name), name, cls)


# Assigned attributes of classes -------------------------------------------------------------------------------------
def require_unchanged(tracer: Tracer, cls: type, name: str) -> None:
    """A break where the class or one of its bases has got another attribute of a name while tracing."""
    if tracer.class_attributes and any((id(base), name) in tracer.class_attributes for base in order_of(cls)):
        raise GraphBreak(f"attribute {name!r} of the class {type_name(cls)} has been assigned", "write")


# Reading -----------------------------------------------------------------------------------------------------------
def require_generic(tracer: Tracer, cls: type, what: str = "__getattribute__") -> None:
    """Attributes are read as ``object`` does."""
    found = find(cls, what)
    if id(found) not in GENERIC or not holds(tracer, cls, what, found):
        raise GraphBreak(f"{type_name(cls)} has a {what} of its own", "attribute")


def read(tracer: Tracer, owner: Instance, name: str) -> Value:
    """``owner.name``."""
    cls = owner.cls
    require_generic(tracer, cls)
    if name == "__class__" and holds(tracer, cls, name, OWN(object)[name]):
        return class_value(tracer, cls)
    found = class_attribute(tracer, cls, name)
    if found is not None and found.data:
        return found.of(tracer, owner)
    own = owner.own_attribute(tracer, name)
    if own is not None:
        return own
    if found is not None:
        return found.of(tracer, owner)
    fallback = special(tracer, cls, "__getattr__")
    if fallback is None:
        text = f"{type_name(cls)!r} object has no attribute {name!r}"
        raise MissingAttribute(f"{owner.describe()} has no attribute {name!r}", text)
    return tracer.call(fallback, (owner, Constant(name)), {})


def read_of_class(tracer: Tracer, cls: type, name: str) -> Value:
    """``cls.name`` of a class that Python code made."""
    meta = type(cls)
    if not holds(tracer, meta, "__getattribute__", OWN(type)["__getattribute__"]):
        raise GraphBreak(f"{type_name(meta)} has a __getattribute__ of its own", "attribute")
    of_meta = class_attribute(tracer, meta, name)
    if of_meta is not None and of_meta.data:
        raise GraphBreak(f"attribute {name!r} of the class {type_name(cls)} is left to Python", "attribute")
    found = class_attribute(tracer, cls, name)
    if found is not None:
        return found.of_class(tracer)
    if of_meta is None and lacks(tracer, meta, "__getattr__"):
        raise MissingAttribute(
            f"the class {type_name(cls)} has no attribute {name!r}",
            f"type object {type_name(cls)!r} has no attribute {name!r}",
        )
    raise GraphBreak(f"attribute {name!r} of the class {type_name(cls)} is left to Python", "attribute")


def read_super(tracer: Tracer, after: type, cls: type, owner: Instance | None, name: str) -> Value:
    """``super(after, owner).name``; without an owner that of the class ``cls`` itself."""
    source = SuperAttribute(KnownObject(cls), after, name)
    try:
        raw = super_attribute(cls, after, name)
    except Absent:
        raise GraphBreak(f"super() has no attribute {name!r}", "attribute") from None
    if tracer.class_attributes:
        raise GraphBreak("super() where an attribute of a class has been assigned", "write")
    if name == "__class__":
        raise GraphBreak("super().__class__ is left to Python", "attribute")
    found = _classify(tracer, raw, source, name, cls)
    return found.of(tracer, owner) if owner is not None else found.of_class(tracer)
