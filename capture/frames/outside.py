"""Objects from outside that can change: one value for each, what has been written, and what must not be one object.

In: objects as the tracer looks at them, and writes to them. Out: the same value wherever an object is met again, under
a guard that the two ways still lead to one object; the list of stores; and, once something is written, guards that
what is known of other objects is not of this one.

>>> outside.write(ListValue(a), MethodCall(ListValue(a), list.append, (x,)))     # when b, a list too, has been read
>>> tracer.guards
(Guard(a, DifferentObject(b)), ...)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.pairs import DifferentObject, NotItsDict, SameObject
from capture.frames.peek import class_attribute, class_lacks, is_instance_dict, is_own_dict
from capture.frames.sources import Constant as KnownObject
from capture.frames.sources import Source
from capture.frames.stores import Store
from capture.frames.values.base import Value
from capture.frames.values.containers import DictValue, ListValue
from capture.frames.values.functions import CellValue
from capture.frames.values.instances import ObjectValue
from capture.frames.values.sets import SetValue

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


class NamespaceValue(Value):
    """The globals of a module in whose variables the trace has looked: as a dict they are left to Python."""

    __slots__ = ()
    noun = "namespace"


class Outside:
    """What one trace knows of objects from outside by their identity."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.stores: list[Store] = []
        self._values: dict[int, Value] = {}  # by the object's id
        self._written: dict[int, Value] = {}  # by the value's id

    def known(self, source: Source, example: Any) -> Value | None:
        """The value of an object that has been met, under the guard that it is met again."""
        found = self._values.get(id(example))
        if found is not None and place_of(found) != source:
            self.tracer.guard(source, SameObject(place_of(found)))
        return found

    def enter(self, example: Any, value: Value) -> None:
        """An object is met for the first time."""
        self._values[id(example)] = value
        for written in self._written.values():
            self._tell_apart(written, value)

    def enter_namespace(self, namespace: dict[str, Any]) -> None:
        """A variable of a module is read or written."""
        found = self._values.get(id(namespace))
        if found is None:
            self.enter(namespace, NamespaceValue(KnownObject(namespace)))
        elif not isinstance(found, NamespaceValue):
            raise GraphBreak("the globals are used as a dict, too", "write")

    def write(self, owner: Value, store: Store) -> None:
        """Note a write: what is known of other objects must not be of this one."""
        for other in self._values.values():
            self._tell_apart(owner, other)
        journal = self.tracer.journal
        journal.put(self._written, id(owner), owner)
        journal.append(self.stores, store)

    def write_global(self, namespace: dict[str, Any], store: Store) -> None:
        self.enter_namespace(namespace)
        self.write(self._values[id(namespace)], store)

    def is_written(self, owner: Value) -> bool:
        return id(owner) in self._written

    def _tell_apart(self, one: Value, other: Value) -> None:
        if one is other:
            return
        for kind, kind_of_other, row in APART:
            if isinstance(one, kind) and isinstance(other, kind_of_other):
                row(self.tracer, one, other)
            elif isinstance(other, kind) and isinstance(one, kind_of_other):
                row(self.tracer, other, one)


def place_of(value: Value) -> Source:
    """Where the object itself is read; a cell's source is that of what it contains."""
    found = value.place if isinstance(value, CellValue) else value.source
    assert found is not None
    return found


def _two_objects(tracer: Tracer, one: Any, other: Any) -> None:
    tracer.guard(place_of(one), DifferentObject(place_of(other)))


def _two_of_a_class(tracer: Tracer, one: ObjectValue, other: ObjectValue) -> None:
    if one.cls is other.cls:
        _two_objects(tracer, one, other)


def _not_its_dict(tracer: Tracer, one: DictValue, owner: ObjectValue) -> None:
    assert one.source is not None and owner.source is not None
    if class_lacks(owner.cls, "__dict__"):
        return
    if not is_own_dict(class_attribute(owner.cls, "__dict__"), owner.cls):
        raise GraphBreak(f"{owner.describe()} has a __dict__ of its own", "write")
    if is_instance_dict(one.example, owner.example):
        raise GraphBreak(f"{one.describe()} holds the attributes of {owner.describe()}", "write")
    tracer.guard(one.source, NotItsDict(owner.source))


APART: tuple[tuple[type, type, Callable[[Tracer, Any, Any], None]], ...] = (
    (ListValue, ListValue, _two_objects),
    (DictValue, DictValue, _two_objects),
    (SetValue, SetValue, _two_objects),
    (CellValue, CellValue, _two_objects),
    (DictValue, NamespaceValue, _two_objects),
    (ObjectValue, ObjectValue, _two_of_a_class),
    (DictValue, ObjectValue, _not_its_dict),
)
"""Families of which two values may stand for one object, or for one and its attributes, and what rules that out."""
