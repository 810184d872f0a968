"""Builtins and functions of the standard library that take, order and call values: one row each.

In: argument values that have been looked at. Out: a value; functions that are passed in are evaluated inline. What
depends on more than types, lengths and constants is a break.

>>> ROWS[sorted](tracer, ListValue([Constant(2), Constant(1)]))
<list>
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import CodeIs, IsObject
from capture.frames.sources import Constant as KnownObject
from capture.frames.sources import TypeAttribute
from capture.frames.values import abstract, number_calls, streams
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import Constant, attempt
from capture.frames.values.containers import DictValue, ListValue, TupleValue, entries_of
from capture.frames.values.functions import BoundMethodValue, CodeValue, MethodValue
from capture.frames.values.keys import plain_key
from capture.frames.values.objects import CallableValue
from capture.frames.values.operations import EXACT, identical, unary
from capture.frames.values.sets import make_set

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer

Row = Callable[..., Value]
NONE = Constant(None)
FALSE = Constant(False)


# Order --------------------------------------------------------------------------------------------------------------
def _keys(tracer: Tracer, items: Sequence[Value], key: Value) -> list[Any]:
    """What each item is ordered by: constants whose comparison runs no user code."""
    if not (isinstance(key, Constant) and key.value is None):
        items = [tracer.call(key, (item,), {}) for item in items]
    return [plain(tracer, item) for item in items]


def plain(tracer: Tracer, value: Value) -> Any:
    """A constant, or tuples and lists of these."""
    try:
        found = value.real(tracer).concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{value.describe()} is compared by Python") from None
    if not _is_plain(found):
        raise GraphBreak(f"{value.describe()} is compared by Python")
    return found


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if type(value) in (tuple, list) else type(value) in EXACT


MOST_SORTED = 64
"""Of more items from outside each would have to be what it is now, which costs more than sorting them."""


def sort_order(tracer: Tracer, items: Sequence[Value], key: Value, reverse: Value) -> list[int]:
    if len(items) > MOST_SORTED and any(item.source is not None for item in items):
        raise GraphBreak(f"more than {MOST_SORTED} items from outside are put in order", "loop")
    keys = _keys(tracer, items, key)
    order = {"key": keys.__getitem__, "reverse": reverse.truth(tracer)}
    return attempt(sorted, (range(len(keys)),), order, "sorted")


def _sorted(tracer: Tracer, values: Value, *, key: Value = NONE, reverse: Value = FALSE) -> Value:
    items = values.listed(tracer)
    return ListValue([items[index] for index in sort_order(tracer, items, key, reverse)])


def _name(name: Value) -> str:
    if isinstance(name, Constant) and type(name.value) is str:
        return name.value
    raise GraphBreak("an attribute whose name is no known string", "attribute")


def _extreme(function: Callable[..., Any]) -> Row:
    def extreme(tracer: Tracer, *values: Value, key: Value = NONE, default: Value | None = None) -> Value:
        if not values:
            raise GraphBreak("min or max of nothing", "python")
        items = values if len(values) > 1 else values[0].items(tracer)
        if not items and default is not None and len(values) == 1:
            return default
        if isinstance(key, Constant) and key.value is None:
            found = number_calls.call(tracer, function, [item.real(tracer) for item in items], {})
            if found is not None:
                return found
        keys = _keys(tracer, items, key)
        index = attempt(function, (range(len(keys)),), {"key": keys.__getitem__}, function.__name__)
        return items[index]

    return extreme


# Questions ----------------------------------------------------------------------------------------------------------
def _known_type(value: Value) -> type:
    if not isinstance(value, CallableValue) or type(value.value) is not type:
        raise GraphBreak(f"{value.describe()} may decide itself what its subclasses are")
    return value.value


def _is_subclass(tracer: Tracer, value: Value, kinds: Value) -> Value:
    wanted = kinds.values if isinstance(kinds, TupleValue) else (kinds,)
    known = [kind.real(tracer).concrete(tracer) for kind in wanted]
    if all(type(kind) is type for kind in known):
        return Constant(issubclass(_known_type(value), tuple(known)))
    return Constant(any(abstract.is_subclass(tracer, _known_type(value), kind) for kind in known))


CAN_BE_CALLED = (CodeValue, CallableValue, MethodValue, BoundMethodValue)


# Containers ---------------------------------------------------------------------------------------------------------
def _dict(tracer: Tracer, values: Value | None = None, **entries: Value) -> Value:
    return DictValue(entries if values is None else {**entries_of(tracer, values), **entries})


def dict_from_keys(tracer: Tracer, keys: Value, value: Value = NONE) -> Value:
    return DictValue(dict.fromkeys([plain_key(tracer, key) for key in keys.items(tracer)], value))


# functools and operator ---------------------------------------------------------------------------------------------
class PartialValue(Value):
    """``functools.partial`` made inside the frame."""

    __slots__ = ("args", "function", "kwargs")
    noun = "partial"

    def __init__(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        super().__init__()
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.function, *self.args, *self.kwargs.values())

    def python_type(self, tracer: Tracer) -> type:
        return functools.partial

    def truth(self, tracer: Tracer) -> bool:
        return True

    def attribute(self, tracer: Tracer, name: str) -> Value:
        rows = {"func": lambda: self.function, "args": lambda: TupleValue(self.args)}
        return rows[name]() if name in rows else super().attribute(tracer, name)

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return tracer.call(self.function, (*self.args, *args), {**self.kwargs, **kwargs})

    def rebuild(self, build: Builder) -> None:
        build.call(functools.partial, (self.function, *self.args), self.kwargs)


def _partial(tracer: Tracer, *args: Value, **kwargs: Value) -> Value:
    if not args or not isinstance(args[0], (*CAN_BE_CALLED, PartialValue)):
        raise GraphBreak("partial of something that may not be called")
    function, *rest = args
    if isinstance(function, PartialValue):  # which partial takes apart
        return PartialValue(function.function, (*function.args, *rest), {**function.kwargs, **kwargs})
    return PartialValue(function, rest, kwargs)


def _reduce(tracer: Tracer, function: Value, values: Value, initial: Value | None = None) -> Value:
    items = list(values.items(tracer))
    if initial is not None:
        items.insert(0, initial)
    if not items:
        raise GraphBreak("reduce of nothing")
    total = items[0]
    for item in items[1:]:
        total = tracer.call(function, (total, item), {})
    return total


def _item(tracer: Tracer, value: Value, key: Value) -> Value:
    return value.item(tracer, key)


def _store_item(tracer: Tracer, container: Value, key: Value, value: Value) -> Value:
    container.store_item(tracer, key, value)
    return NONE


def _delete_item(tracer: Tracer, container: Value, key: Value) -> Value:
    container.delete_item(tracer, key)
    return NONE


def _count_of(tracer: Tracer, values: Value, item: Value) -> Value:
    return Constant(sum(tracer.equal(each, item) for each in values.items(tracer)))


def _contains(tracer: Tracer, container: Value, item: Value) -> Value:
    return Constant(container.contains(tracer, item))


class GetterValue(Value):
    """``operator.itemgetter``, ``attrgetter`` or ``methodcaller`` of constants."""

    __slots__ = ("args", "kind", "kwargs")
    noun = "getter"

    def __init__(self, kind: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        super().__init__()
        self.kind = kind
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    @property
    def parts(self) -> tuple[Value, ...]:
        return (*self.args, *self.kwargs.values())

    def python_type(self, tracer: Tracer) -> type:
        return self.kind

    def truth(self, tracer: Tracer) -> bool:
        return True

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if len(args) != 1 or kwargs:
            raise GraphBreak(f"call of {self.describe()}", "call")
        return GETTERS[self.kind](self, tracer, args[0].real(tracer))

    def rebuild(self, build: Builder) -> None:
        build.call(self.kind, self.args, self.kwargs)


def _get_items(getter: GetterValue, tracer: Tracer, value: Value) -> Value:
    found = [value.item(tracer, key.real(tracer)) for key in getter.args]
    return found[0] if len(found) == 1 else TupleValue(found)


def _get_attributes(getter: GetterValue, tracer: Tracer, value: Value) -> Value:
    found = []
    for path in getter.args:
        owner = value
        for name in _name(path).split("."):
            owner = owner.real(tracer).attribute(tracer, name)
        found.append(owner)
    return found[0] if len(found) == 1 else TupleValue(found)


def _call_method(getter: GetterValue, tracer: Tracer, value: Value) -> Value:
    name, *args = getter.args
    return tracer.call(value.attribute(tracer, _name(name)), args, getter.kwargs)


GETTERS: Mapping[Any, Callable[[GetterValue, Any, Value], Value]] = {
    operator.itemgetter: _get_items,
    operator.attrgetter: _get_attributes,
    operator.methodcaller: _call_method,
}


def _getter(kind: Any) -> Row:
    def row(tracer: Tracer, *args: Value, **kwargs: Value) -> Value:
        if not args or (kwargs and kind is not operator.methodcaller):
            raise GraphBreak(f"{kind.__name__} with these arguments is left to Python")
        for name in args[: 1 if kind is operator.methodcaller else None]:
            if kind is not operator.itemgetter:
                _name(name)
        return GetterValue(kind, args, kwargs)

    return row


# with ---------------------------------------------------------------------------------------------------------------
class NullContextValue(Value):
    """``contextlib.nullcontext(entered)``, made inside the frame."""

    __slots__ = ("entered",)
    noun = "nullcontext"

    def __init__(self, entered: Value) -> None:
        super().__init__()
        self.entered = entered

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.entered,)

    def python_type(self, tracer: Tracer) -> type:
        return contextlib.nullcontext

    def enter(self, tracer: Tracer) -> tuple[Value, Value]:
        return MethodValue(self, "__exit__"), self.entered

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        assert name == "__exit__"
        return NONE

    def rebuild(self, build: Builder) -> None:
        build.call(contextlib.nullcontext, (self.entered,))


_SAMPLE = contextlib.nullcontext()
_METHODS: Mapping[str, FunctionType] = {
    name: vars(contextlib.nullcontext)[name]  # type: ignore[misc]
    for name in ("__init__", "__enter__", "__exit__")
}
_CODES = {name: method.__code__ for name, method in _METHODS.items()}


def _null_context(tracer: Tracer, enter_result: Value = NONE) -> Value:
    for name, method in _METHODS.items():
        if vars(contextlib.nullcontext).get(name) is not method or method.__code__ is not _CODES[name]:
            raise GraphBreak("contextlib.nullcontext is not the one of the library")
        source = TypeAttribute(KnownObject(_SAMPLE), name)
        tracer.guard(source, IsObject(method))
        tracer.guard(source, CodeIs(method.__code__))
    return NullContextValue(enter_result)


ROWS: Mapping[Any, Row] = {
    **streams.ROWS,
    **{kind: _getter(kind) for kind in GETTERS},
    sorted: _sorted,
    min: _extreme(min),
    max: _extreme(max),
    issubclass: _is_subclass,
    dict: _dict,
    set: make_set,
    functools.partial: _partial,
    functools.reduce: _reduce,
    contextlib.nullcontext: _null_context,
    dict.fromkeys: dict_from_keys,
    itertools.chain.from_iterable: streams.chain_from_iterable,
    operator.getitem: _item,
    operator.contains: _contains,
    operator.setitem: _store_item,
    operator.delitem: _delete_item,
    operator.countOf: _count_of,
    operator.truth: lambda tracer, value: Constant(value.truth(tracer)),
    operator.not_: lambda tracer, value: Constant(not value.truth(tracer)),
    operator.is_: lambda tracer, left, right: Constant(identical(tracer, left, right)),
    operator.is_not: lambda tracer, left, right: Constant(not identical(tracer, left, right)),
    operator.neg: lambda tracer, value: unary(tracer, "unary -", value),
    operator.pos: lambda tracer, value: unary(tracer, "unary +", value),
    operator.invert: lambda tracer, value: unary(tracer, "unary ~", value),
}


