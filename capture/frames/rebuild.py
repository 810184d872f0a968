"""From values back to objects: the code that loads, makes or computes what a frame needs after its graph has run.

In: an assembler and values. Out: instructions that leave the objects on the operand stack. A value with a source is
loaded from there, an array that the graph computed is taken from the tuple of results, a container is built. An
object that is needed in several places is made once.

While this code runs, what it needs again and again (the tuple of results, shared containers, new cells) lies in one
block on the stack, the *base*; finished operands are slid below it:

    [results] -> build an operand -> [results, operand] -> SWAP 2 -> [operand, results] -> ... -> POP_TOP
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from capture.errors import InternalError
from capture.frames import sources
from capture.frames.assemble import Assembler
from capture.frames.peek import class_attribute, is_fixed, super_attribute
from capture.frames.sources import Source
from capture.frames.stores import Store
from capture.frames.values.array_parts import FlagsValue, FlatValue
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import NULL, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import DictValue, ListValue, TupleValue, ViewValue
from capture.frames.values.exceptions import ExceptionValue
from capture.frames.values.functions import BoundMethodValue, CellValue, ClosureValue, MethodValue
from capture.frames.values.generators import GeneratorValue
from capture.frames.values.grown import GrownList
from capture.frames.values.instances import NamedTupleValue, NewValue, SuperValue
from capture.frames.values.iterators import (
    CountedIterator,
    EnumerateIterator,
    IteratorValue,
    ReversedIterator,
    SequenceIterator,
    ZipIterator,
)
from capture.frames.values.keys import SliceValue
from capture.frames.values.library import GetterValue, NullContextValue, PartialValue
from capture.frames.values.numbers import NumberValue
from capture.frames.values.ranges import OpenRange, OpenRangeIterator
from capture.frames.values.results import ChosenValue
from capture.frames.values.sets import SetValue
from capture.frames.values.streams import STREAMS
from capture.ir import op as ops
from capture.ir.graph import Node, region

PARTS: Mapping[type, Callable[[Any], Iterable[Value | None]]] = {
    TupleValue: lambda value: value.values,
    ListValue: lambda value: value.known,
    DictValue: lambda value: value.known,
    SliceValue: lambda value: value.parts,
    ViewValue: lambda value: (value.owner,),
    MethodValue: lambda value: (value.owner,),
    FlagsValue: lambda value: (value.owner,),
    FlatValue: lambda value: (value.owner,),
    SequenceIterator: lambda value: (value.over,),
    CountedIterator: lambda value: (value.over,),
    ReversedIterator: lambda value: (value.over,),
    GrownList: lambda value: (value.array,),
    ChosenValue: lambda value: (value.number, *value.options),
    OpenRange: lambda value: value.bounds,
    OpenRangeIterator: lambda value: (value.over,),
    EnumerateIterator: lambda value: (value.inner,),
    ZipIterator: lambda value: value.inners,
    ClosureValue: lambda value: (value.defaults, value.kwdefaults, value.closure, value.annotations),
    CellValue: lambda value: (value.content,),
    NumberValue: lambda value: value.parts,
    ExceptionValue: lambda value: value.args,
    **dict.fromkeys(
        (SetValue, PartialValue, GetterValue, NullContextValue, GeneratorValue, *STREAMS), operator.attrgetter("parts")
    ),
    BoundMethodValue: lambda value: (value.function, value.owner),
    SuperValue: lambda value: (value.after, value.owner),
    NewValue: lambda value: (value.made_of, *value.own.values()),
    NamedTupleValue: lambda value: (value.made_of, *value.values),
}
"""What a value is made of, for families that are."""


def every_part(values: Iterable[Value | None]) -> Iterator[Value]:
    """The values, as far as they were looked at, and all that they are made of, each once."""
    waiting, seen = list(values), set[int]()
    while waiting:
        value = waiting.pop()
        if value is not None and id(value) not in seen:
            seen.add(id(value))
            real = value.looked_at
            yield real
            waiting.extend(PARTS.get(type(real), lambda _: ())(real))


HELD = (GraphValue, CellValue)
"""Families whose objects are there before the others are made, each once. All others are made once, for identity."""


class Needs:
    """What a set of values takes: arrays from the graph, new cells, containers needed more than once."""

    def __init__(self, root_cells: Mapping[int, str], stores: Sequence[Store] = ()) -> None:
        self.arrays: list[GraphValue] = []
        self.cells: list[CellValue] = []
        self.own: list[CellValue] = []  # those of root_cells that something refers to
        self.shared: list[Value] = []
        self._counts: dict[int, int] = {}
        self.root_cells = root_cells  # by id: the traced function's own cells, and what they are called
        self._alive: list[Value] = []
        self.stores: list[Store] = []
        self._late: list[Store] = []
        for store in stores:
            self._add_store(store)

    def finish(self) -> None:
        """All values have been added: what is done to iterators comes behind all that they may run over."""
        while self._late:
            self._add_store(self._late.pop())

    def _add_store(self, store: Store) -> None:
        self.stores.append(store)
        for operand in store.operands:
            self.add(operand)

    def add(self, value: Value | None) -> None:
        if value is None or value.source is not None or value is NULL or isinstance(value, Constant):
            return
        value.require_rebuildable()
        count = self._counts[id(value)] = self._counts.get(id(value), 0) + 1
        if count == 2 and not isinstance(value, HELD):
            self.shared.append(value)
        if count > 1:
            return
        self._alive.append(value)
        if isinstance(value, IteratorValue) and (store := value.late()) is not None:
            self._late.append(store)
        if isinstance(value, GraphValue):
            self.arrays.append(value)
        elif isinstance(value, CellValue):
            if value.free:
                return
            (self.own if id(value) in self.root_cells else self.cells).append(value)
        for part in PARTS.get(type(value), lambda _: ())(value):
            self.add(part)

    def in_order(self) -> Iterator[Value]:
        """The shared values, parts before what is made of them."""
        wanted = {id(value) for value in self.shared}
        done: set[int] = set()

        def visit(value: Value | None) -> Iterator[Value]:
            if value is None or value.source is not None or id(value) in done:
                return
            done.add(id(value))
            if not isinstance(value, CellValue):  # cells exist before all else; what they hold comes last
                for part in PARTS.get(type(value), lambda _: ())(value):
                    yield from visit(part)
            if id(value) in wanted:
                yield value

        for value in self.shared:
            yield from visit(value)


class Builder:
    """Emits the code for values, and knows where on the stack the base lies."""

    def __init__(self, assembler: Assembler, namespace: dict[str, Any], outputs: Mapping[int, int], needs: Needs):
        self.cell_names: Mapping[int, str] = needs.root_cells
        self.assembler = assembler
        self.namespace = namespace
        self.outputs = outputs  # id of an array value -> its place among the graph's results
        self.needs = needs
        self.loaded: dict[Source, None] = {}  # where the code reads, in order
        self._places: dict[Any, int] = {}  # what the base holds -> its position, or index once it is one tuple
        self._base = 0  # position of the base on the stack, counted from 1; 0: none
        self._packed = False

    # the base -----------------------------------------------------------------------------------------------------
    def hold_results(self) -> None:
        """The tuple of results has just been pushed."""
        self._places["results"] = self._depth
        self._base = self._depth

    @property
    def _depth(self) -> int:
        depth = self.assembler.depth
        if depth is None:
            raise InternalError("code is written where control does not come")
        return depth

    def prepare(self) -> None:
        """Make new cells and shared containers, and one block of all that will be needed again."""
        for cell in self.needs.cells:
            self.assembler.load_const(CellType)
            self.assembler.call(0)
            self._hold(id(cell))
        for value in self.needs.in_order():
            value.rebuild(self)
            self._hold(id(value))
        for store in self.needs.stores:
            for index, operand in enumerate(store.operands):
                self.value(operand)
                self._hold((store, index))
        if len(self._places) > 1:
            self.assembler.build_tuple(len(self._places))
            self._places = {key: index for index, key in enumerate(self._places)}
            self._base, self._packed = self._depth, True
        for cell in self.needs.cells:
            if cell.content is not None:
                self.value(cell.content)
                self._fetch(id(cell))
                self.assembler.store_attr("cell_contents")

    def store(self) -> None:
        """Carry out the writes that outlive the frame; whatever is loaded from a source has been loaded."""
        for store in self.needs.stores:
            store.emit(self, lambda index, store=store: self._fetch((store, index)))  # type: ignore[misc]

    def _hold(self, key: Any) -> None:
        self._places[key] = self._depth
        self._base = self._depth

    def _fetch(self, key: Any) -> None:
        place = self._places[key]
        if self._packed:
            self.assembler.copy(self._depth - self._base + 1)
            self.assembler.load_const(place)
            self.assembler.binary_subscr()
        else:
            self.assembler.copy(self._depth - place + 1)

    def slide(self) -> None:
        """Put the object that was pushed last below the base."""
        if self._base:
            if self._depth != self._base + 1:
                raise InternalError("something lies between an operand and the base")
            self.assembler.swap(2)
            self._base = self._depth
            if not self._packed:
                self._places = dict.fromkeys(self._places, self._base)

    def drop_base(self) -> None:
        if self._base:
            self.assembler.pop_top()
            self._base = 0

    # values -------------------------------------------------------------------------------------------------------
    def value(self, value: Value) -> None:
        """Push the object that ``value`` stands for."""
        if value is NULL:
            self.assembler.push_null()
        elif id(value) in self._places:
            self._fetch(id(value))
        elif value.source is not None:
            value.reload(self)
        else:
            value.rebuild(self)

    def constant(self, value: Any) -> None:
        """Push this very object. Code refers weakly to classes and functions, which the guards keep: their methods or
        cells may lead to that code, and the garbage collector does not see through it."""
        if type(value) is FunctionType or (isinstance(value, type) and not is_fixed(value)):
            self.assembler.load_const(weakref.ref(value))
            self.assembler.call(0)
        else:
            self.assembler.load_const(value)

    def output(self, value: GraphValue) -> None:
        warns = is_tagged(value.node, ops.WARNED)
        if warns:
            self.assembler.load_const(warning_when_written)
        self._fetch("results")
        self.assembler.load_const(self.outputs[id(value)])
        self.assembler.binary_subscr()
        if warns:
            self.assembler.call(1)
        if is_tagged(value.node, ops.READONLY):
            self.assembler.copy(1)
            self.assembler.load_attr("setflags")
            self.assembler.load_const(False)
            self.assembler.call(1)
            self.assembler.pop_top()

    def sequence(self, how: str, values: Sequence[Value]) -> None:
        for value in values:
            self.value(value)
        getattr(self.assembler, how)(len(values))

    def mapping(self, entries: Mapping[Any, Value]) -> None:
        for key, value in entries.items():
            self.constant(key)
            self.value(value)
        self.assembler.build_map(len(entries))

    def call(self, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value] = MappingProxyType({})) -> None:
        self.assembler.load_const(function)
        for arg in (*args, *kwargs.values()):
            self.value(arg)
        self.assembler.call(len(args) + len(kwargs), tuple(kwargs))

    def call_value(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        for value in (function, *args, *kwargs.values()):
            self.value(value)
        self.assembler.call(len(args) + len(kwargs), tuple(kwargs))

    def finish_call(self, count: int) -> None:
        """[function, argument, ...] -> [result]"""
        self.assembler.call(count)

    def attribute(self, owner: Value, name: str) -> None:
        self.value(owner)
        self.assembler.load_attr(name)

    def method_call(self, owner: Value, name: str) -> None:
        self.attribute(owner, name)
        self.assembler.call(0)

    def iterate(self) -> None:
        """[object] -> [its iterator]"""
        self.assembler.load_const(iter)
        self.assembler.swap(2)
        self.assembler.call(1)

    def subscript(self) -> None:
        self.assembler.binary_subscr()

    def set_state(self, index: int) -> None:
        """Move the iterator on top of the stack to a position."""
        self.assembler.copy(1)
        self.assembler.load_attr("__setstate__")
        self.assembler.load_const(index)
        self.assembler.call(1)
        self.assembler.pop_top()

    def cell(self, cell: CellValue) -> None:
        """A cell of the traced function itself; others are held in the base."""
        self.assembler.load_cell(cell.free or self.cell_names[id(cell)])

    def cell_object(self, source: sources.CellOf) -> None:
        """The cell itself of another function's closure."""
        self.load(source.whole)
        self.assembler.load_attr("__closure__")
        self.assembler.load_const(source.index)
        self.assembler.binary_subscr()

    def function(self, value: ClosureValue) -> None:
        self.assembler.load_const(FunctionType)
        self.constant(value.code)
        self.constant(value.globals)
        self.constant(value.code.co_name)
        for part in (value.defaults, value.closure):
            if part is None:
                self.constant(None)
            else:
                self.value(part)
        self.assembler.call(5)
        for part, name in ((value.kwdefaults, "__kwdefaults__"), (value.annotations, "__annotations__")):
            if part is not None:
                self._set_attribute(part, name)

    def load_own_cells(self) -> list[str]:
        """Push what goes into cells that the frame has already; give their names, to be stored last one first."""
        names = []
        for cell in self.needs.own:
            name = self.cell_names[id(cell)]
            if cell.content is not None and not is_in_place(name, cell.content):
                self.value(cell.content)
                names.append(name)
        return names

    def _set_attribute(self, part: Value, name: str) -> None:
        if name == "__annotations__":  # a tuple of names and values
            self.assembler.load_const(_pairs_to_dict)
            self.value(part)
            self.assembler.call(1)
        else:
            self.value(part)
        self.assembler.copy(2)
        self.assembler.store_attr(name)

    # sources ------------------------------------------------------------------------------------------------------
    def load(self, source: Source) -> None:
        """Push what is at a source, as it was when the call began."""
        self.loaded[source] = None
        LOADS[type(source)](self, source)


def _pairs_to_dict(items: tuple[Any, ...]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


def is_in_place(name: str, value: Value | None) -> bool:
    """Whether the variable holds the value from the start."""
    return value is not None and isinstance(value.source, sources.Argument) and value.source.argument == name


def is_tagged(node: Node | None, *tags: str) -> bool:
    """Whether a view is, or is a view of, one that has one of the tags."""
    return node is not None and any(not ops.get(step.op).tags.isdisjoint(tags) for step in region(node))


def warning_when_written(view: np.ndarray) -> np.ndarray:
    """What ``np.broadcast_arrays`` gives: a view that warns when it is written, or is asked whether it may be."""
    flags: Any = view.flags
    if flags._writeable_no_warn:
        flags._warn_on_write = True
    return view


# Loading sources ----------------------------------------------------------------------------------------------------
def _argument(build: Builder, source: sources.Argument) -> None:
    if source.argument in build.assembler.source.cells:
        build.assembler.load_deref(source.argument)
    else:
        build.assembler.load_local(source.argument)


def _global(build: Builder, source: sources.Global) -> None:
    if source.namespace is build.namespace:
        build.assembler.load_global(source.variable)
    else:
        build.assembler.load_const(source.namespace)
        build.assembler.load_const(source.variable)
        build.assembler.binary_subscr()


def _part(emit: Callable[[Builder, Any], None]) -> Callable[[Builder, Any], None]:
    def load(build: Builder, source: Any) -> None:
        build.load(source.parent)
        emit(build, source)

    return load


def _contents(build: Builder, source: sources.Contents) -> None:
    """Of a cell that a resume function takes: its variable."""
    assert isinstance(source.whole, sources.Argument)
    build.assembler.load_deref(source.whole.argument)


def _item(build: Builder, source: sources.Item) -> None:
    build.assembler.load_const(source.key)
    build.assembler.binary_subscr()


def _dimension(build: Builder, source: sources.Dimension) -> None:
    build.assembler.load_attr("shape")
    build.assembler.load_const(source.axis)
    build.assembler.binary_subscr()


def _len(build: Builder, source: sources.Len) -> None:
    build.assembler.load_const(len)
    build.assembler.swap(2)
    build.assembler.call(1)


def _cell_of(build: Builder, source: sources.CellOf) -> None:
    build.cell_object(source)
    build.assembler.load_attr("cell_contents")


def _default(build: Builder, source: sources.Default) -> None:
    build.assembler.load_attr("__defaults__")
    build.assembler.load_const(source.index)
    build.assembler.binary_subscr()


def _keyword_default(build: Builder, source: sources.KeywordDefault) -> None:
    build.assembler.load_attr("__kwdefaults__")
    build.assembler.load_const(source.parameter)
    build.assembler.binary_subscr()


def _class_attribute(build: Builder, source: sources.ClassAttribute) -> None:
    build.assembler.load_const(_reader(class_attribute, build, source.whole, source.attribute))
    build.assembler.call(0)


def _super_attribute(build: Builder, source: sources.SuperAttribute) -> None:
    build.assembler.load_const(_reader(super_attribute, build, source.whole, source.after, source.attribute))
    build.assembler.call(0)


def _reader(read: Callable[..., Any], build: Builder, owner: Source, *parts: Any) -> Callable[[], Any]:
    """A function that reads what a class holds, unbound; it refers weakly to classes, as ``Builder.constant`` does."""
    assert isinstance(owner, sources.Constant)
    found = [weakref.ref(part) if isinstance(part, type) else part for part in (owner.value, *parts)]
    return lambda: read(*(part() if isinstance(part, weakref.ref) else part for part in found))


LOADS: Mapping[type[Source], Callable[[Builder, Any], None]] = {
    sources.Argument: _argument,
    sources.Global: _global,
    sources.Constant: lambda build, source: build.constant(source.value),
    sources.Cell: lambda build, source: build.assembler.load_deref(source.variable),
    sources.CellOf: _cell_of,
    sources.Contents: _contents,
    sources.Attribute: _part(lambda build, source: build.assembler.load_attr(source.attribute)),
    sources.FunctionPart: _part(lambda build, source: build.assembler.load_attr(source.NAMES[source.index])),
    sources.ClassPart: _part(lambda build, source: build.assembler.load_attr(source.NAMES[source.index])),
    sources.InstanceAttribute: _part(lambda build, source: build.assembler.load_attr(source.attribute)),
    sources.Member: _part(lambda build, source: build.assembler.load_attr(source.member.__name__)),
    sources.Bound: _part(lambda build, source: build.assembler.load_attr(("__func__", "__self__")[source.index])),
    sources.ClassAttribute: _class_attribute,
    sources.SuperAttribute: _super_attribute,
    sources.Item: _part(_item),
    sources.Dimension: _part(_dimension),
    sources.Len: _part(_len),
    sources.Default: _part(_default),
    sources.KeywordDefault: _part(_keyword_default),
}
"""How each kind of source is read by the traced function's own code."""


# Results without a frame --------------------------------------------------------------------------------------------
class Templates:
    """The template that builds a result in C, for results made of arrays, sources, constants and containers.

    ``held`` are the sources it reads, in the order of the slots it names as ``("held", i)``.
    """

    def __init__(self, outputs: Mapping[int, int], needs: Needs) -> None:
        self.outputs = outputs
        self.needs = needs
        self.held: list[Source] = []

    def value(self, value: Value) -> Any:
        if isinstance(value.source, sources.Dimension):
            return None
        if value.source is not None:
            if value.source not in self.held:
                self.held.append(value.source)
            return ("held", self.held.index(value.source))
        return value.template(self)

    def output_template(self, value: GraphValue) -> Any:
        return None if is_tagged(value.node, *ops.UNWRITTEN) else ("item", self.outputs[id(value)])

    def sequence_template(self, kind: str, values: Sequence[Value]) -> Any:
        parts = [self.value(value) for value in values]
        return None if None in parts else (kind, parts)

    def mapping_template(self, entries: Mapping[Any, Value]) -> Any:
        parts = [(key, self.value(value)) for key, value in entries.items()]
        return None if any(part is None for _, part in parts) else ("dict", tuple(parts))


def with_slots(template: Any, slots: Sequence[int]) -> Any:
    """The template with the numbers of the guard program's slots filled in."""
    kind, content = template
    if kind == "held":
        return ("slot", slots[content])
    if kind in ("tuple", "list"):
        return (kind, tuple(with_slots(part, slots) for part in content))
    if kind == "dict":
        return (kind, tuple((key, with_slots(part, slots)) for key, part in content))
    return template
