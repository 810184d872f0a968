"""Tuples, lists, dicts and slices: their items are values, each known on its own.

In: the items. Out: items, lengths, and containers made of these. A list or dict may be changed while tracing. What
comes from outside is looked at no further than it is asked for (``looking``), and each change of it is noted as a store
(``stores``), to be carried out behind the graph.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.peek import brief
from capture.frames.sources import Constant as KnownObject
from capture.frames.stores import ItemDelete, ItemStore, MethodCall, Store
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.ends import Ends
from capture.frames.values.keys import Lacks, SliceValue, plain_key, require_no_finalizer
from capture.ir.op import ListLiteral

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer
    from capture.frames.values.looking import OutsideEntries, OutsideItems


class SequenceValue(Value):
    """What tuples and lists share. ``values`` is a tuple of values."""

    __slots__ = ()
    python: type = tuple

    def __init__(self, values: Sequence[Value] = (), source: Source | None = None) -> None:
        super().__init__(source)

    @property
    def values(self) -> tuple[Value, ...]:
        raise NotImplementedError

    def python_type(self, tracer: Tracer) -> type:
        return self.python

    def truth(self, tracer: Tracer) -> bool:
        return bool(self.values)

    def length(self, tracer: Tracer) -> int:
        return len(self.values)

    def item(self, tracer: Tracer, key: Value) -> Value:
        if isinstance(key, SliceValue):
            values = self._slice(key.concrete_or_break(tracer))
            if isinstance(self, TupleValue) and values == self.values:
                return self  # as CPython does
            return type(self)(values)
        index = plain_key(tracer, key)
        if not isinstance(index, int):
            raise GraphBreak(f"index {brief(index)} of a {self.noun}")
        found = self.find(index)
        if found is None:
            raise Lacks(f"{self.noun} index out of range", IndexError, f"{self.noun} index out of range")
        return found

    def find(self, index: int) -> Value | None:
        """The item at an index; None if there is none."""
        return self.values[index] if -len(self.values) <= index < len(self.values) else None

    def _slice(self, where: slice) -> tuple[Value, ...]:
        return self.values[where]

    def each(self) -> Iterator[Value]:
        """The items, of a list from outside no more than are asked for."""
        index = 0
        while (item := self.find(index)) is not None:
            yield item
            index += 1

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return any(tracer.equal(value, item) for value in self.each())

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return self.values

    def iterate(self, tracer: Tracer) -> Value:
        return tracer.iterator(self)

    def concrete(self, tracer: Tracer) -> Any:
        return self.python(value.real(tracer).concrete(tracer) for value in self.values)

    def in_graph(self, tracer: Tracer) -> Any:
        return tuple(value.real(tracer).in_graph(tracer) for value in self.values)


class TupleValue(SequenceValue):
    __slots__ = ("values",)
    noun = "tuple"
    python = tuple
    values: tuple[Value, ...]

    def __init__(self, values: Sequence[Value], source: Source | None = None) -> None:
        super().__init__(source=source)
        self.values = tuple(values)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in ("index", "count"):
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return call_row(tracer, self, {"index": _index, "count": _count}, name, args, kwargs)

    def concrete(self, tracer: Tracer) -> Any:
        """A constant of the code is the very object: as a key it may be asked for its identity."""
        return self.source.value if isinstance(self.source, KnownObject) else super().concrete(tracer)

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_tuple", self.values)

    def template(self, build: Any) -> Any:
        return build.sequence_template("tuple", self.values)


class ListValue(SequenceValue):
    """A list made inside, or one from outside.

    As long as nobody has asked for all of that one, ``ends`` is all there is.
    """

    __slots__ = ("_values", "changed_outside", "ends", "outside")
    noun = "list"
    python = list

    def __init__(self, values: Sequence[Value] = (), outside: OutsideItems | None = None) -> None:
        super().__init__(source=None if outside is None else outside.source)
        self.outside = outside
        self.ends = None if outside is None else Ends(outside)
        self.changed_outside = False  # is it a list from outside, and has it been changed?
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Value, ...]:
        if self.ends is not None:
            self._values = self.ends.all()
            self.ends = None
        return self._values

    @property
    def known(self) -> tuple[Value, ...]:
        """The items of which anything is known."""
        return self._values if self.ends is None else self.ends.known

    @property
    def count(self) -> int:
        """How many items it has at this call; no guard says so."""
        return len(self._values) if self.ends is None else self.ends.count

    def truth(self, tracer: Tracer) -> bool:
        return bool(self._values) if self.ends is None else self.ends.filled()

    def length(self, tracer: Tracer) -> int:
        if self.outside is not None and self.ends is not None:
            self.outside.length()
        return self.count

    def size(self, tracer: Tracer) -> Value:
        """What ``len`` gives: a number that is left open, if it keeps changing."""
        found = None if self.ends is None else self.ends.items.open_length()
        if found is None or self.ends is None:
            return Constant(self.length(tracer))
        return tracer.binary("+", found, Constant(self.ends.added)) if self.ends.added else found

    def find(self, index: int) -> Value | None:
        """The item at an index; None if there is none."""
        found = None if self.ends is None else self.ends.item(index)
        return super().find(index) if found is None else found

    def _slice(self, where: slice) -> tuple[Value, ...]:
        """The first few items of a list that has so many are known without its length."""
        start, stop = where.start or 0, where.stop
        near = stop is not None and 0 <= start <= stop <= self.count and where.step in (None, 1)
        if self.ends is not None and near:
            found = [self.find(index) for index in range(start, stop)]
            return tuple(item for item in found if item is not None)
        return super()._slice(where)

    def in_graph(self, tracer: Tracer) -> Any:
        return ListLiteral(super().in_graph(tracer))

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in LIST_METHODS or name == "sort":
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "sort" and not args:
            self._sort(tracer, kwargs)
            return Constant(None)
        return call_row(tracer, self, LIST_METHODS, name, args, kwargs)

    def _sort(self, tracer: Tracer, kwargs: Mapping[str, Value]) -> None:
        """What gives the keys finds the list empty; if it has put something in, Python raises."""
        values = self.values
        tracer.journal.set(self, "_values", ())
        ordered = tracer.sorted(values, kwargs)
        if self.ends is not None or self._values:
            raise GraphBreak("a list is changed while it is sorted")
        tracer.journal.set(self, "_values", values)
        self.change(tracer, ordered)

    # changes ------------------------------------------------------------------------------------------------------
    def change(self, tracer: Tracer, values: Sequence[Value], store: Store | None = None) -> None:
        """All items are these from now on; ``store`` does that to a list from outside."""
        new = others_than(self.values, values)
        gone = [] if self.outside is None else others_than(values, self.values)
        everything = SliceValue(Constant(None), Constant(None), Constant(None))
        self._write(tracer, new, gone, store or ItemStore(self, everything, TupleValue(values)))
        tracer.journal.set(self, "_values", tuple(values))
        tracer.journal.set(self, "ends", None)

    def _write(self, tracer: Tracer, new: Sequence[Value], gone: Iterable[Any], store: Store) -> None:
        tracer.require_no_circle(self, new)
        if self.outside is not None:
            for value in gone:
                require_no_finalizer(value, self.describe())
            tracer.write(self, store)
            tracer.journal.set(self, "changed_outside", True)

    def append(self, tracer: Tracer, value: Value) -> None:
        if tracer.inside is not None:
            tracer.inside.learn(self, value)
        self._add(tracer, (value,), MethodCall(self, list.append, (value,)))

    def extend(self, tracer: Tracer, values: Sequence[Value]) -> None:
        self._add(tracer, tuple(values), MethodCall(self, list.extend, (TupleValue(values),)))

    def _add(self, tracer: Tracer, values: tuple[Value, ...], store: Store) -> None:
        """Items are added at the end, whatever is before them."""
        if self.ends is None:
            self.change(tracer, (*self.values, *values), store)
        else:
            self._write(tracer, values, (), store)
            tracer.journal.set(self, "ends", self.ends.append(values))

    def insert(self, tracer: Tracer, index: int, value: Value) -> None:
        store = MethodCall(self, list.insert, (Constant(index), value))
        ends = None if self.ends is None else self.ends.insert(index, value)
        if ends is None:
            values = list(self.values)
            values.insert(index, value)
            self.change(tracer, values, store)
        else:
            self._write(tracer, (value,), (), store)
            tracer.journal.set(self, "ends", ends)

    def clear(self, tracer: Tracer) -> None:
        """The items that go need not be known."""
        items = () if self.outside is None else (*self.known, *self.outside.example)
        self._write(tracer, (), items, MethodCall(self, list.clear))
        tracer.journal.set(self, "_values", ())
        tracer.journal.set(self, "ends", None)

    def _index(self, tracer: Tracer, key: Value, what: str) -> int:
        index = plain_key(tracer, key)
        if not isinstance(index, int) or self.find(index) is None:
            raise GraphBreak(f"index {brief(index)} of a list {what}")
        return int(index)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        if isinstance(key, SliceValue):
            self._store_slice(tracer, key, value.items(tracer))
            return
        index = self._index(tracer, key, "is assigned")
        at = index if index >= 0 else None  # the same item may also be written at an index from the start
        self._replace(tracer, index, (value,), ItemStore(self, Constant(index), value, at))

    def _store_slice(self, tracer: Tracer, key: SliceValue, new: Sequence[Value]) -> None:
        values = list(self.values)
        where = key.concrete_or_break(tracer)
        if where.step not in (None, 1) and len(range(*where.indices(len(values)))) != len(new):
            raise GraphBreak("a slice of a list is assigned something of another length")
        values[where] = new
        self.change(tracer, values, ItemStore(self, key, TupleValue(new)))

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        if isinstance(key, SliceValue):
            values = list(self.values)
            del values[key.concrete_or_break(tracer)]
            self.change(tracer, values, ItemDelete(self, key))
        else:
            index = self._index(tracer, key, "is deleted")
            self._replace(tracer, index, (), ItemDelete(self, Constant(index)))

    def _replace(self, tracer: Tracer, index: int, new: tuple[Value, ...], store: Store) -> None:
        """The item at an index makes room for another one or none."""
        old = self.find(index)
        ends = None if self.ends is None else self.ends.replace(index, new)
        if ends is None:
            values = list(self.values)
            values[index : index + 1 or None] = new
            self.change(tracer, values, store)
        else:
            self._write(tracer, new, (old,), store)
            tracer.journal.set(self, "ends", ends)

    def rebuild(self, build: Builder) -> None:
        build.sequence("build_list", self.values)

    def template(self, build: Any) -> Any:
        return build.sequence_template("list", self.values)


class DictValue(Value):
    """A dict with plain keys, made inside or from ``outside``.

    ``entries`` maps keys to values. While those of a dict from outside have not been asked for, ``new`` has what was
    stored and ``gone`` the keys that were deleted; a key in both has been deleted first.
    """

    __slots__ = ("_base", "_changed", "gone", "iterated", "new", "outside")
    noun = "dict"

    def __init__(self, entries: Mapping[Any, Value] = MappingProxyType({}), outside: OutsideEntries | None = None):
        super().__init__(None if outside is None else outside.source)
        self.outside = outside
        self.new: dict[Any, Value] = {}
        self.gone: frozenset[Any] = frozenset()
        self.iterated = False  # an iterator may be under way, which would notice other keys
        self._base = dict(entries) if outside is None else None
        self._changed: dict[Any, Value] | None = None

    @property
    def example(self) -> Any:
        """The dict from outside itself."""
        return None if self.outside is None else self.outside.example

    @property
    def entries(self) -> dict[Any, Value]:
        if self._changed is not None:
            return self._changed
        if self._base is None:
            assert self.outside is not None
            self._base = self.outside.load()
        kept = {key: value for key, value in self._base.items() if key not in self.gone}
        return {**kept, **self.new}

    @property
    def known(self) -> Iterable[Value]:
        """The values of which anything is known."""
        return self._changed.values() if self._changed is not None else {**(self._base or {}), **self.new}.values()

    @property
    def _unseen(self) -> OutsideEntries | None:
        """The dict outside, if its keys have not been asked for."""
        return self.outside if self._changed is None and self._base is None else None

    def python_type(self, tracer: Tracer) -> type:
        return dict

    def truth(self, tracer: Tracer) -> bool:
        unseen = self._unseen
        if unseen is None or (self.gone and not self.new):
            return bool(self.length(tracer))
        return bool(self.new) or unseen.filled()

    def length(self, tracer: Tracer) -> int:
        unseen = self._unseen
        if unseen is None:
            return len(self.entries)
        before = [key for key in {*self.new, *self.gone} if unseen.find(key) is not None]
        return unseen.length() - len(before) + len(self.new)

    def find(self, tracer: Tracer, name: Any) -> Value | None:
        """What a key leads to; None if there is no such key."""
        unseen = self._unseen
        if unseen is None:
            return self.entries.get(name)
        if name in self.new or name in self.gone:
            return self.new.get(name)
        return unseen.find(name)

    def item(self, tracer: Tracer, key: Value) -> Value:
        name = plain_key(tracer, key)
        found = self.find(tracer, name)
        if found is None:
            raise Lacks(f"a dict has no key {brief(name)}", KeyError, name)
        return found

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return self.find(tracer, plain_key(tracer, item)) is not None

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in DICT_METHODS:
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "update" and len(args) <= 1:
            return _update(tracer, self, *args, **kwargs)
        return call_row(tracer, self, DICT_METHODS, name, args, kwargs)

    # changes ------------------------------------------------------------------------------------------------------
    def change(self, tracer: Tracer, entries: Mapping[Any, Value], store: Store) -> None:
        """The entries are these from now on; ``store`` does that to a dict from outside."""
        self._require_keys(entries.keys() != self.entries.keys())
        tracer.require_no_circle(self, others_than(self.entries.values(), entries.values()))
        if self.outside is not None:
            for value in others_than(entries.values(), self.entries.values()):
                require_no_finalizer(value, self.describe())
            tracer.write(self, store)
        tracer.journal.set(self, "_changed", dict(entries))

    def clear(self, tracer: Tracer) -> None:
        """The entries that go need not be known."""
        self._require_keys(bool(self._unseen or self.entries))
        if self.outside is not None:
            for value in (*self.known, *self.outside.example.values()):
                require_no_finalizer(value, self.describe())
            tracer.write(self, MethodCall(self, dict.clear))
        tracer.journal.set(self, "_changed", {})

    def _require_keys(self, changes: bool) -> None:
        if self.iterated and changes:
            raise GraphBreak("a dict gets or loses keys after a loop over it has begun")

    def _change_one(self, tracer: Tracer, name: Any, value: Value | None, store: Store) -> None:
        """A key gets a value, or goes (None); the others need not be known."""
        unseen = self._unseen
        if unseen is None:
            entries = {**self.entries, name: value}
            self.change(tracer, {key: each for key, each in entries.items() if each is not None}, store)
            return
        tracer.require_no_circle(self, (value,))
        if name not in self.gone and name in unseen.example:
            require_no_finalizer(unseen.example[name], self.describe())
        tracer.write(self, store)
        new = {key: each for key, each in {**self.new, name: value}.items() if each is not None}
        tracer.journal.set(self, "new", new)
        if value is None:
            tracer.journal.set(self, "gone", self.gone | {name})

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        name = plain_key(tracer, key)
        self._change_one(tracer, name, value, ItemStore(self, key, value, name))

    def update(self, tracer: Tracer, entries: Mapping[Any, Value]) -> None:
        for name, value in entries.items():
            self.store_item(tracer, Constant(name), value)

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        name = plain_key(tracer, key)
        self.item(tracer, key)
        self._change_one(tracer, name, None, ItemDelete(self, key))

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


# Methods of lists and dicts ---------------------------------------------------------------------------------------
def others_than(known: Iterable[Value], values: Iterable[Value]) -> list[Value]:
    """The values that are not among the known ones."""
    seen = set(map(id, known))
    return [value for value in values if id(value) not in seen]


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
    owner.append(tracer, value)
    return Constant(None)


def _extend(tracer: Tracer, owner: ListValue, values: Value) -> Value:
    owner.extend(tracer, values.real(tracer).listed(tracer))
    return Constant(None)


def _insert(tracer: Tracer, owner: ListValue, index: Value, value: Value) -> Value:
    position = plain_key(tracer, index)
    if type(position) is not int:
        raise GraphBreak("list.insert at something that is no int")
    owner.insert(tracer, position, value)
    return Constant(None)


def _pop(tracer: Tracer, owner: ListValue, index: Value = Constant(-1)) -> Value:  # noqa: B008 (immutable)
    found = owner.item(tracer, index)
    owner.delete_item(tracer, index)
    return found


def _reverse(tracer: Tracer, owner: ListValue) -> Value:
    owner.change(tracer, tuple(reversed(owner.values)))
    return Constant(None)


def _clear(tracer: Tracer, owner: ListValue) -> Value:
    owner.clear(tracer)
    return Constant(None)


def _copy(tracer: Tracer, owner: ListValue) -> Value:
    return ListValue(owner.values)


def _index(
    tracer: Tracer, owner: SequenceValue, value: Value, start: Value = Constant(0), stop: Value = Constant(sys.maxsize)  # noqa: B008
) -> Value:
    """The index of the first item that is or equals ``value``; a break if there is none."""
    bounds = [plain_key(tracer, bound) for bound in (start, stop)]
    if not all(type(bound) in (int, bool) for bound in bounds):
        raise GraphBreak(f"{owner.noun}.index between bounds that are no ints")
    begin, end = (bounds if min(bounds) >= 0 else slice(*bounds).indices(owner.length(tracer))[:2])
    for index, item in enumerate(itertools.islice(owner.each(), begin, max(begin, end)), begin):
        if tracer.equal(item, value):
            return Constant(index)
    raise GraphBreak(f"a {owner.noun} lacks what is looked for")


def _count(tracer: Tracer, owner: SequenceValue, value: Value) -> Value:
    return Constant(sum(tracer.equal(item, value) for item in owner.each()))


def _remove(tracer: Tracer, owner: ListValue, value: Value) -> Value:
    owner.delete_item(tracer, _index(tracer, owner, value))
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
    found = owner.find(tracer, plain_key(tracer, key))
    return default if found is None else found


def _pairs(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "items")


def _keys(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "keys")


def _values(tracer: Tracer, owner: DictValue) -> Value:
    return ViewValue(owner, "values")


def _copy_dict(tracer: Tracer, owner: DictValue) -> Value:
    return DictValue(owner.entries)


def _set_default(tracer: Tracer, owner: DictValue, key: Value, default: Value = Constant(None)) -> Value:  # noqa: B008
    found = owner.find(tracer, plain_key(tracer, key))
    if found is None:
        owner.store_item(tracer, key, default)
    return default if found is None else found


def _pop_entry(tracer: Tracer, owner: DictValue, key: Value, default: Value | None = None) -> Value:
    name = plain_key(tracer, key)
    found = owner.find(tracer, name)
    if found is not None:
        owner.delete_item(tracer, key)
        return found
    if default is None:
        raise Lacks(f"a dict has no key {brief(name)}", KeyError, name)
    return default


def _pop_last(tracer: Tracer, owner: DictValue) -> Value:
    if not owner.entries:
        raise GraphBreak("popitem of an empty dict")
    name = next(reversed(owner.entries))
    return TupleValue((Constant(name), _pop_entry(tracer, owner, Constant(name))))


def _clear_dict(tracer: Tracer, owner: DictValue) -> Value:
    owner.clear(tracer)
    return Constant(None)


def _update(tracer: Tracer, owner: DictValue, other: Value | None = None, /, **kwargs: Value) -> Value:
    if other is not None:
        owner.update(tracer, dict(entries_of(tracer, other.real(tracer))))
    owner.update(tracer, kwargs)
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
        return self.owner.length(tracer)

    def truth(self, tracer: Tracer) -> bool:
        return self.owner.truth(tracer)

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
