"""Writes to what outlives the frame: noted while tracing, carried out once, in order, behind the graph.

In: an object from outside and what is done to it, as the tracer meets it. Out: instructions that do just that, once
every operand lies on the stack; none of them fails where its facts are guarded. ``in_order`` leaves out a write that
a later one to the same place makes void: nobody looks in between.

>>> in_order([ItemStore(d, k, 1), ItemStore(d, k, 2), MethodCall(d, dict.clear), ItemStore(d, k, 3)])
(ItemStore(d, k, 2), MethodCall(d, dict.clear), ItemStore(d, k, 3))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.values.base import Value
    from capture.frames.values.functions import CellValue

Push = Callable[[int], None]
"""Pushes an operand of a store, by its number."""


class Store:
    """A write that outlives the frame."""

    @property
    def subject(self) -> Any:
        """What is written to: the value that stands for it, or the namespace itself."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """Which part of it is given a new value; empty for other changes, after which no part is as before."""
        return ""

    @property
    def operands(self) -> tuple[Value, ...]:
        """What has to be loaded before anything is written."""
        raise NotImplementedError

    def emit(self, build: Builder, push: Push) -> None:
        """[] -> []"""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AttributeStore(Store):
    """``owner.name = value``; ``hidden`` if the owner's class has a ``__setattr__``, which has called ``object``'s."""

    owner: Value
    name: str
    value: Value
    hidden: bool = False

    @property
    def subject(self) -> Value:
        return self.owner

    @property
    def place(self) -> str:
        return self.name

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value, self.owner)

    def emit(self, build: Builder, push: Push) -> None:
        if self.hidden:
            _call(build, object.__setattr__, lambda: push(1), lambda: build.constant(self.name), lambda: push(0))
        else:
            push(0)
            push(1)
            build.assembler.store_attr(self.name)


@dataclass(frozen=True, eq=False)
class AttributeDelete(Store):
    """``del owner.name``; ``hidden`` if the owner's class has a ``__delattr__``."""

    owner: Value
    name: str
    hidden: bool = False

    @property
    def subject(self) -> Value:
        return self.owner

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.owner,)

    def emit(self, build: Builder, push: Push) -> None:
        if self.hidden:
            _call(build, object.__delattr__, lambda: push(0), lambda: build.constant(self.name))
        else:
            push(0)
            build.assembler.delete_attr(self.name)


@dataclass(frozen=True, eq=False)
class GlobalStore(Store):
    """``name = value`` in the globals of the traced function, of one it calls, or of a module."""

    namespace: dict[str, Any]
    name: str
    value: Value

    @property
    def subject(self) -> Any:
        return self.namespace

    @property
    def place(self) -> str:
        return self.name

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    def emit(self, build: Builder, push: Push) -> None:
        push(0)
        if self.namespace is build.namespace:
            build.assembler.store_global(self.name)
        else:
            build.constant(self.namespace)
            build.constant(self.name)
            build.assembler.store_subscr()


@dataclass(frozen=True, eq=False)
class CellStore(Store):
    """``name = value`` for a variable of an enclosing function."""

    cell: CellValue
    value: Value

    @property
    def subject(self) -> Value:
        return self.cell

    @property
    def place(self) -> str:
        return "contents"

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value, self.cell)

    def emit(self, build: Builder, push: Push) -> None:
        push(0)
        push(1)
        build.assembler.store_attr("cell_contents")


@dataclass(frozen=True, eq=False)
class ItemStore(Store):
    """``owner[key] = value`` of a list or dict; ``at`` is the key as a plain constant, None for a slice."""

    owner: Value
    key: Value
    value: Value
    at: Any = None

    @property
    def subject(self) -> Value:
        return self.owner

    @property
    def place(self) -> str:
        return "" if self.at is None else repr(self.at)  # 1 and True are two places: the first may stay as the key

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value, self.owner, self.key)

    def emit(self, build: Builder, push: Push) -> None:
        for index in range(3):
            push(index)
        build.assembler.store_subscr()


@dataclass(frozen=True, eq=False)
class ItemDelete(Store):
    """``del owner[key]`` of a list or dict."""

    owner: Value
    key: Value

    @property
    def subject(self) -> Value:
        return self.owner

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.owner, self.key)

    def emit(self, build: Builder, push: Push) -> None:
        push(0)
        push(1)
        build.assembler.delete_subscr()


@dataclass(frozen=True, eq=False)
class MethodCall(Store):
    """``function(owner, *args)``, for a method of a builtin type whose result is not needed."""

    owner: Value
    function: Callable[..., Any]
    args: Sequence[Value] = ()

    @property
    def subject(self) -> Value:
        return self.owner

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.owner, *self.args)

    def emit(self, build: Builder, push: Push) -> None:
        _call(build, self.function, *(partial(push, index) for index in range(len(self.args) + 1)))


def _call(build: Builder, function: Any, *arguments: Callable[[], None]) -> None:
    build.assembler.load_const(function)
    for argument in arguments:
        argument()
    build.assembler.call(len(arguments))
    build.assembler.pop_top()


def in_order(stores: Iterable[Store]) -> tuple[Store, ...]:
    """The stores without those that are void; the one that stays takes the turn of the first."""
    kept: list[Store] = []
    latest: dict[int, dict[str, int]] = {}  # by subject and place: where in ``kept``
    for store in stores:
        places = latest.setdefault(id(store.subject), {})
        if not store.place:
            places.clear()
            kept.append(store)
        elif store.place in places:
            kept[places[store.place]] = store
        else:
            places[store.place] = len(kept)
            kept.append(store)
    return tuple(kept)
