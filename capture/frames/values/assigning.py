"""Assignments and deletions of attributes, as ``object.__setattr__`` and ``type.__setattr__`` make them, by hand.

In: an object or class, a name, a value. Out: what the class has to say about it is evaluated inline (``__setattr__``,
properties, descriptors); what is left is an entry of the object itself, which ``Instance.keep`` and ``drop`` take over.
Each step of the look-up is a guard, as in ``lookup``.

>>> store(tracer, model, "level", value)    # a property of the class: its setter is evaluated, under guards
"""

from __future__ import annotations

from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.peek import is_own_dict, type_name
from capture.frames.values import lookup
from capture.frames.values.constants import Constant
from capture.frames.values.keys import require_no_finalizer
from capture.frames.values.lookup import MISSING, OWN, Found, class_attribute, find, holds, is_fixed, special

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.base import Value
    from capture.frames.values.instances import Instance


def store(tracer: Tracer, owner: Instance, name: str, value: Value) -> None:
    """``owner.name = value``."""
    if holds(tracer, owner.cls, "__setattr__", OWN(object)["__setattr__"]):
        store_plainly(tracer, owner, name, value)
    else:
        owner.required(tracer, "__setattr__", Constant(name), value)


def delete(tracer: Tracer, owner: Instance, name: str) -> None:
    """``del owner.name``."""
    if holds(tracer, owner.cls, "__delattr__", OWN(object)["__delattr__"]):
        delete_plainly(tracer, owner, name)
    else:
        owner.required(tracer, "__delattr__", Constant(name))


def store_plainly(tracer: Tracer, owner: Instance, name: str, value: Value) -> None:
    """``object.__setattr__(owner, name, value)``."""
    found = _in_class(tracer, owner, name)
    if found is None:
        owner.keep(tracer, name, value)
    elif type(found.raw) is property and type(found.raw.fset) is FunctionType:
        tracer.call(lookup.known(tracer, found.raw.fset), (owner, value), {})
    else:
        _call_descriptor(tracer, found, owner, "__set__", value)


def delete_plainly(tracer: Tracer, owner: Instance, name: str) -> None:
    """``object.__delattr__(owner, name)``."""
    found = _in_class(tracer, owner, name)
    if found is None:
        owner.drop(tracer, name)
    elif type(found.raw) is property and type(found.raw.fdel) is FunctionType:
        tracer.call(lookup.known(tracer, found.raw.fdel), (owner,), {})
    else:
        _call_descriptor(tracer, found, owner, "__delete__")


def _in_class(tracer: Tracer, owner: Instance, name: str) -> Found | None:
    """What the class has that takes the assignment; None if it goes to the object's own dict or slot."""
    found = class_attribute(tracer, owner.cls, name)
    if found is not None and found.data:
        is_slot = type(found.raw) is MemberDescriptorType and lookup.is_own_slot(found, owner.cls)
        return None if is_slot else found
    if not is_own_dict(find(owner.cls, "__dict__"), owner.cls):
        raise GraphBreak(f"{owner.describe()} has no room for an attribute {name!r}", "write")
    return None


def _call_descriptor(tracer: Tracer, found: Found, owner: Instance, name: str, *args: Value) -> None:
    """``type(raw).__set__(raw, owner, value)``, evaluated inline."""
    kind = type(found.raw)
    function = None if is_fixed(kind) else special(tracer, kind, name)
    if function is None:
        raise GraphBreak(f"attribute {found.name!r} of {owner.describe()} is changed by Python", "write")
    tracer.call(function, (tracer.lazy(found.source, found.raw), owner, *args), {})


# Classes ------------------------------------------------------------------------------------------------------------
def require_plain_store(tracer: Tracer, cls: type, name: str, value: Value) -> None:
    """Whether ``cls.name = value`` is an entry of the class and no more: neither value binds, nothing else notices."""
    meta = type(cls)
    special = name.startswith("__") and name.endswith("__")
    if special or not holds(tracer, meta, "__setattr__", OWN(type)["__setattr__"]):
        raise GraphBreak(f"attribute {name!r} of the class {type_name(cls)} is assigned", "write")
    of_meta = class_attribute(tracer, meta, name)
    old = OWN(cls).get(name)
    require_no_finalizer(old, name)
    kinds = [value.real(tracer).python_type(tracer), type(old)]
    if (of_meta is not None and of_meta.data) or any(map(_may_bind, kinds)):
        raise GraphBreak(f"attribute {name!r} of the class {type_name(cls)} is assigned", "write")


def _may_bind(kind: type) -> bool:
    names = ("__get__", "__set__", "__delete__")
    return not is_fixed(kind) or any(find(kind, name) is not MISSING for name in names)
