"""Tuples, lists, dicts and slices: their items are values, each known on its own.

In: the items. Out: items, lengths, and containers made of these. A list or dict made inside the frame may be
changed while tracing; one that comes from outside may be read under guards, a change of it is a break.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.sources import brief
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import PLAIN, Constant
from capture.frames.values.numbers import require_constant
from capture.ir.op import ListLiteral

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer


def plain_key(tracer: Tracer, key: Value) -> Any:
    """A dict key or index that Python hashes and compares without user code."""
    require_constant(tracer, key)
    try:
        value = key.real(tracer).concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{key.describe()} as a key is left to Python") from None
    if type(value) in PLAIN or (type(value) is tuple and all(type(item) in PLAIN for item in value)):
        return value
    raise GraphBreak(f"{key.describe()} as a key is left to Python")


class Lacks(GraphBreak):
    """A container has no item for a key; where it is subscripted Python raises ``error(*args_of_error)``."""

    def __init__(self, reason: str, error: type[LookupError], *args: Any) -> None:
        super().__init__(reason)
        self.error = error
        self.args_of_error = args


class SequenceValue(Value):
    """What tuples and lists share. ``values`` is a tuple of values; a list's is replaced when it changes."""

    __slots__ = ("values",)
    python: type = tuple

    def __init__(self, values: Sequence[Value], source: Source | None = None) -> None:
        super().__init__(source)
        self.values = tuple(values)

    def python_type(self, tracer: Tracer) -> type:
        return self.python

    def truth(self, tracer: Tracer) -> bool:
        return bool(self.values)

    def length(self, tracer: Tracer) -> int:
        return len(self.values)

    def item(self, tracer: Tracer, key: Value) -> Value:
        if isinstance(key, SliceValue):
            values = operator.getitem(self.values, key.concrete_or_break(tracer))
            if isinstance(self, TupleValue) and values == self.values:
                return self  # as CPython does
            return type(self)(values)
        index = plain_key(tracer, key)
        if not isinstance(index, int):
            raise GraphBreak(f"index {brief(index)} of a {self.noun}")
        if not -len(self.values) <= index < len(self.values):
            raise Lacks(f"{self.noun} index out of range", IndexError, f"{self.noun} index out of range")
        return self.values[index]

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return any(tracer.equal(value, item) for value in self.values)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return self.values

    def iterate(self, tracer: Tracer) -> Value:
        return tracer.iterator(self)

    def concrete(self, tracer: Tracer) -> Any:
        return self.python(value.real(tracer).concrete(tracer) for value in self.values)

    def in_graph(self, tracer: Tracer) -> Any:
        return tuple(value.real(tracer).in_graph(tracer) for value in self.values)


class TupleValue(SequenceValue):
    __slots__ = ()
    noun = "tuple"
    python = tuple

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in ("index", "count"):
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return call_row(tracer, self, {"index": _index, "count": _count}, name, args, kwargs)

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_tuple", self.values)

    def template(self, build: Any) -> Any:
        return build.sequence_template("tuple", self.values)


class ListValue(SequenceValue):
    __slots__ = ()
    noun = "list"
    python = list

    def in_graph(self, tracer: Tracer) -> Any:
        return ListLiteral(super().in_graph(tracer))

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in LIST_METHODS or name == "sort":
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "sort" and not args:
            require_own(self)
            self.change(tracer, tracer.sorted(self.values, kwargs))
            return Constant(None)
        return call_row(tracer, self, LIST_METHODS, name, args, kwargs)

    def change(self, tracer: Tracer, values: Sequence[Value]) -> None:
        require_own(self)
        tracer.require_no_circle(self, values)
        tracer.journal.set(self, "values", tuple(values))

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        if isinstance(key, SliceValue):
            self._store_slice(tracer, key, value.items(tracer))
            return
        index = plain_key(tracer, key)
        if not isinstance(index, int) or not -len(self.values) <= index < len(self.values):
            raise GraphBreak(f"index {brief(index)} of a list")
        values = list(self.values)
        values[index] = value
        self.change(tracer, values)

    def _store_slice(self, tracer: Tracer, key: SliceValue, new: Sequence[Value]) -> None:
        values = list(self.values)
        where = key.concrete_or_break(tracer)
        if where.step not in (None, 1) and len(range(*where.indices(len(values)))) != len(new):
            raise GraphBreak("a slice of a list is assigned something of another length")
        values[where] = new
        self.change(tracer, values)

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        values = list(self.values)
        if isinstance(key, SliceValue):
            del values[key.concrete_or_break(tracer)]
        else:
            index = plain_key(tracer, key)
            if not isinstance(index, int) or not -len(values) <= index < len(values):
                raise GraphBreak(f"index {brief(index)} of a list is deleted")
            del values[index]
        self.change(tracer, values)

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_list", self.values)

    def template(self, build: Any) -> Any:
        return build.sequence_template("list", self.values)


class DictValue(Value):
    """A dict with plain keys. ``entries`` maps keys to values; it is replaced when the dict changes."""

    __slots__ = ("entries", "iterated")
    noun = "dict"

    def __init__(self, entries: Mapping[Any, Value], source: Source | None = None) -> None:
        super().__init__(source)
        self.entries = dict(entries)
        self.iterated = False  # an iterator may be under way, which would notice other keys

    def python_type(self, tracer: Tracer) -> type:
        return dict

    def truth(self, tracer: Tracer) -> bool:
        return bool(self.entries)

    def length(self, tracer: Tracer) -> int:
        return len(self.entries)

    def item(self, tracer: Tracer, key: Value) -> Value:
        name = plain_key(tracer, key)
        if name not in self.entries:
            raise Lacks(f"a dict has no key {brief(name)}", KeyError, name)
        return self.entries[name]

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return plain_key(tracer, item) in self.entries

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in DICT_METHODS:
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "update" and kwargs:
            given = entries_of(tracer, args[0].real(tracer)) if args else {}
            return _update(tracer, self, DictValue({**given, **kwargs}))
        return call_row(tracer, self, DICT_METHODS, name, args, kwargs)

    def change(self, tracer: Tracer, entries: Mapping[Any, Value]) -> None:
        require_own(self)
        if self.iterated and entries.keys() != self.entries.keys():
            raise GraphBreak("a dict gets or loses keys after a loop over it has begun")
        tracer.require_no_circle(self, entries.values())
        tracer.journal.set(self, "entries", dict(entries))

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        self.change(tracer, {**self.entries, plain_key(tracer, key): value})

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        require_own(self)
        name = plain_key(tracer, key)
        if name not in self.entries:
            raise Lacks(f"a dict has no key {brief(name)}", KeyError, name)
        self.change(tracer, {each: value for each, value in self.entries.items() if each != name})

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return tuple(map(Constant, self.entries))

    def iterate(self, tracer: Tracer) -> Value:
        return tracer.dict_iterator(self, self)

    def concrete(self, tracer: Tracer) -> Any:
        return {key: value.real(tracer).concrete(tracer) for key, value in self.entries.items()}

    def rebuild(self, build: Builder) -> None:
        build.mapping(self.entries)

    def template(self, build: Any) -> Any:
        return build.mapping_template(self.entries)


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


# Methods of lists and dicts ---------------------------------------------------------------------------------------
def require_own(value: Value) -> None:
    if value.source is not None:
        raise GraphBreak(f"{value.describe()} outlives the call and is changed", "write")


def call_row(
    tracer: Tracer,
    owner: Any,
    rows: Mapping[str, Callable[..., Value]],
    name: str,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    """Call a row of a method table; wrong arguments are left to Python, which says so."""
    if kwargs or name not in rows:
        raise GraphBreak(f"call of {owner.noun}.{name} with keywords")
    row = rows[name]
    allowed = row.__code__.co_argcount - 2
    required = allowed - len(row.__defaults__ or ())
    if not required <= len(args) <= allowed:
        raise GraphBreak(f"call of {owner.noun}.{name} with {len(args)} arguments")
    return row(tracer, owner, *args)


def _append(tracer: Tracer, owner: ListValue, value: Value) -> Value:
    owner.change(tracer, (*owner.values, value))
    return Constant(None)


def _extend(tracer: Tracer, owner: ListValue, values: Value) -> Value:
    require_own(owner)
    owner.change(tracer, (*owner.values, *values.real(tracer).items(tracer)))
    return Constant(None)


def _insert(tracer: Tracer, owner: ListValue, index: Value, value: Value) -> Value:
    values = list(owner.values)
    position = plain_key(tracer, index)
    if type(position) is not int:
        raise GraphBreak("list.insert at something that is no int")
    values.insert(position, value)
    owner.change(tracer, values)
    return Constant(None)


def _pop(tracer: Tracer, owner: ListValue, index: Value = Constant(-1)) -> Value:  # noqa: B008 (immutable)
    found = owner.item(tracer, index)
    position = plain_key(tracer, index) % len(owner.values)
    owner.change(tracer, owner.values[:position] + owner.values[position + 1 :])
    return found


def _reverse(tracer: Tracer, owner: ListValue) -> Value:
    owner.change(tracer, tuple(reversed(owner.values)))
    return Constant(None)


def _clear(tracer: Tracer, owner: ListValue) -> Value:
    owner.change(tracer, ())
    return Constant(None)


def _copy(tracer: Tracer, owner: ListValue) -> Value:
    return ListValue(owner.values)


def _place(tracer: Tracer, owner: SequenceValue, value: Value, start: Value, stop: Value) -> int:
    """The index of the first item that is or equals ``value``; a break if there is none."""
    bounds = [plain_key(tracer, bound) for bound in (start, stop)]
    if not all(type(bound) in (int, bool) for bound in bounds):
        raise GraphBreak(f"{owner.noun}.index between bounds that are no ints")
    for index in range(*slice(*bounds).indices(len(owner.values))):
        if tracer.equal(owner.values[index], value):
            return index
    raise GraphBreak(f"a {owner.noun} lacks what is looked for")


def _index(
    tracer: Tracer, owner: SequenceValue, value: Value, start: Value = Constant(0), stop: Value = Constant(sys.maxsize)  # noqa: B008
) -> Value:
    return Constant(_place(tracer, owner, value, start, stop))


def _count(tracer: Tracer, owner: SequenceValue, value: Value) -> Value:
    return Constant(sum(tracer.equal(item, value) for item in owner.values))


def _remove(tracer: Tracer, owner: ListValue, value: Value) -> Value:
    require_own(owner)
    place = _place(tracer, owner, value, Constant(0), Constant(sys.maxsize))
    owner.change(tracer, owner.values[:place] + owner.values[place + 1 :])
    return Constant(None)


LIST_METHODS: Mapping[str, Callable[..., Value]] = {
    "index": _index,
    "count": _count,
    "remove": _remove,
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "reverse": _reverse,
    "clear": _clear,
    "copy": _copy,
}


def _get(tracer: Tracer, owner: DictValue, key: Value, default: Value = Constant(None)) -> Value:  # noqa: B008
    return owner.entries.get(plain_key(tracer, key), default)


def _pairs(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "items")


def _keys(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "keys")


def _values(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "values")


def _copy_dict(tracer: Tracer, owner: DictValue) -> Value:
    return DictValue(owner.entries)


def _set_default(tracer: Tracer, owner: DictValue, key: Value, default: Value = Constant(None)) -> Value:  # noqa: B008
    name = plain_key(tracer, key)
    if name not in owner.entries:
        owner.change(tracer, {**owner.entries, name: default})
    return owner.entries[name]


def _pop_entry(tracer: Tracer, owner: DictValue, key: Value, default: Value | None = None) -> Value:
    require_own(owner)
    name = plain_key(tracer, key)
    if name in owner.entries:
        found = owner.entries[name]
        owner.delete_item(tracer, key)
        return found
    if default is None:
        raise GraphBreak(f"a dict has no key {brief(name)}")
    return default


def _pop_last(tracer: Tracer, owner: DictValue) -> Value:
    require_own(owner)
    if not owner.entries:
        raise GraphBreak("popitem of an empty dict")
    name = next(reversed(owner.entries))
    return TupleValue((Constant(name), _pop_entry(tracer, owner, Constant(name))))


def _clear_dict(tracer: Tracer, owner: DictValue) -> Value:
    owner.change(tracer, {})
    return Constant(None)


def _update(tracer: Tracer, owner: DictValue, other: Value) -> Value:
    require_own(owner)
    owner.change(tracer, {**owner.entries, **entries_of(tracer, other.real(tracer))})
    return Constant(None)


def entries_of(tracer: Tracer, values: Value) -> dict[Any, Value]:
    """What ``dict`` takes from a dict or from pairs."""
    if isinstance(values, DictValue):
        return values.entries
    found: dict[Any, Value] = {}
    for item in values.items(tracer):
        pair = item.real(tracer).items(tracer)
        if len(pair) != 2:
            raise GraphBreak("a dict of something that is no pairs")
        found[plain_key(tracer, pair[0])] = pair[1]
    return found


DICT_METHODS: Mapping[str, Callable[..., Value]] = {
    "get": _get,
    "setdefault": _set_default,
    "pop": _pop_entry,
    "popitem": _pop_last,
    "clear": _clear_dict,
    "items": _pairs,
    "keys": _keys,
    "values": _values,
    "copy": _copy_dict,
    "update": _update,
}


class ViewValue(Value):
    """``d.items()``, ``d.keys()`` or ``d.values()`` of a known dict."""

    __slots__ = ("name", "owner")
    noun = "view of a dict"

    def __init__(self, owner: DictValue, name: str) -> None:
        super().__init__()
        self.owner = owner
        self.name = name

    def length(self, tracer: Tracer) -> int:
        return len(self.owner.entries)

    def truth(self, tracer: Tracer) -> bool:
        return bool(self.owner.entries)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        pairs = self.owner.entries.items()
        rows = {
            "items": lambda: (TupleValue((Constant(key), value)) for key, value in pairs),
            "keys": lambda: (Constant(key) for key, _ in pairs),
            "values": lambda: (value for _, value in pairs),
        }
        return tuple(rows[self.name]())

    def iterate(self, tracer: Tracer) -> Value:
        return tracer.dict_iterator(self.owner, self)

    def rebuild(self, build: Builder) -> None:
        build.method_call(self.owner, self.name)
