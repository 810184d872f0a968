"""Containers that are changed without a look at them: sets, deques and other dicts from outside.

In: a method that changes its object whatever is in it, cannot fail, and gives None. Out: a store, carried out behind
the graph. Everything else that is asked of such an object is a break, before which the stores are carried out.

>>> UnseenValue(queue, source).call_method(tracer, "append", (value,), {})
<constant None>
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.stores import MethodCall
from capture.frames.values.base import Opaque, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.keys import plain_key, require_no_finalizer

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

Row = Callable[..., tuple[Value, ...]]
"""What the method is called with: its arguments, of which none makes it fail."""


def _nothing(tracer: Tracer) -> tuple[Value, ...]:
    return ()


def _anything(tracer: Tracer, value: Value) -> tuple[Value, ...]:
    return (value,)


def _key(tracer: Tracer, key: Value) -> tuple[Value, ...]:
    plain_key(tracer, key)
    return (key,)


def _pair(tracer: Tracer, key: Value, value: Value) -> tuple[Value, ...]:
    plain_key(tracer, key)
    return (key, value)


def _items(tracer: Tracer, values: Value) -> tuple[Value, ...]:
    return (TupleValue(values.real(tracer).items(tracer)),)


def _keys(tracer: Tracer, values: Value) -> tuple[Value, ...]:
    items = values.real(tracer).items(tracer)
    for item in items:
        plain_key(tracer, item)
    return (TupleValue(items),)


CHANGES: Mapping[type, Mapping[str, Row]] = {
    collections.deque: {
        **dict.fromkeys(("append", "appendleft"), _anything),
        **dict.fromkeys(("extend", "extendleft"), _items),
        **dict.fromkeys(("clear", "reverse"), _nothing),
    },
    set: {**dict.fromkeys(("add", "discard"), _key), "update": _keys, "clear": _nothing},
    collections.OrderedDict: {"__setitem__": _pair, "clear": _nothing},
    collections.defaultdict: {"__setitem__": _pair, "clear": _nothing},
}
"""Methods by type, and what they take. A dict of ``Counter`` has a class of Python's, whose methods are found there."""


REMOVING = frozenset({"clear", "discard", "__setitem__"})


class UnseenValue(Opaque):
    """An object of one of these types, from outside."""

    __slots__ = ()

    @property
    def _rows(self) -> Mapping[str, Row]:
        return CHANGES[type(self.example)]

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return tracer.method(self, name) if name in self._rows else super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        row = self._rows.get(name)
        if row is None or kwargs or len(args) != row.__code__.co_argcount - 1:
            return super().call_method(tracer, name, args, kwargs)
        if name in REMOVING or getattr(self.example, "maxlen", None) is not None:
            for old in dict.values(self.example) if isinstance(self.example, dict) else self.example:
                require_no_finalizer(old, self.describe())
        tracer.write(self, MethodCall(self, getattr(type(self.example), name), row(tracer, *args)))
        return Constant(None)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        if "__setitem__" not in self._rows:
            raise GraphBreak(f"an item of {self.describe()} is assigned", "write")
        self.call_method(tracer, "__setitem__", (key, value), {})
