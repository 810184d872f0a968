"""Lists that a loop appends to: in a program, a buffer with room for more items, and how many there are.

In: a list made before the loop that nobody else refers to, and what is appended. Out: steps that make room, a buffer of
twice the size, and write the item; behind the loop the items are the rows of one array (``GrownList``).

    outs = []
    for i in range(n):
        outs.append(x[i] * 2)     # buffer, count -> buffer or a larger one, count + 1

Arrays are copied where they are appended. That is what Python does only if nobody writes them later and nobody else has
them, so each is new in its round, and is not written behind the ``append`` (``require_own_items``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.values import GrowingList, GrowingType, InsideArray, InsideNumber, Stream, trips_of
from capture.frames.rebuild import every_part
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue
from capture.ir.graph import Node
from capture.ir.program import DENSE, STORES, VIEWS, Branch, Jump, RankedType, jumps_of
from capture.ir.shapes import Size, maximum, minimum
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.loops.evaluating import Inside
    from capture.frames.loops.flow import Part
    from capture.frames.loops.writing import OpenBlock
    from capture.frames.tracer import Frame

ROOM = 16
"""Items for which the first buffer has room."""

MOST_ITEMS, MOST_ARRAYS, MOST_UNKNOWN = 1 << 24, 1 << 16, 1 << 20
"""Numbers, and arrays, for which there is room in a result of which nobody knows before how many there will be; and
numbers where not even a bound is known. Memory that nothing is written to costs nothing."""

_DTYPES = {int: np.dtype(np.int64), float: np.dtype(float), bool: np.dtype(bool)}


@dataclass(frozen=True, eq=False)
class Appended:
    """An array that is appended: the steps written before, and the heads of the loops around."""

    item: Node
    number: int  # of the list
    before: frozenset[Node]
    heads: tuple[OpenBlock, ...]


@dataclass(frozen=True, eq=False)
class Round:
    """A loop: how often it goes round, and how often at most; None where that is not known beforehand."""

    trips: Size | None
    most: Size | None


# Before the loop ----------------------------------------------------------------------------------------------------
def take_lists(inside: Inside, frame: Frame) -> None:
    """Lists in the frame's variables, or below a comprehension's loop, that it is known to append to become lists of
    the program."""

    def taken(value: Value) -> Value:
        found = value.looked_at
        known = isinstance(found, ListValue) and ("list", id(found)) in inside.guesses
        return _grown_from(inside, found, inside.guesses["list", id(found)]) if known else value  # type: ignore[arg-type]

    frame.locals = {name: taken(value) for name, value in frame.locals.items()}
    frame.stack[:] = [taken(value) for value in frame.stack]


def learn(inside: Inside, owner: ListValue, value: Value) -> None:
    """A list from before the loop is appended to: the evaluation starts again, with room for such items."""
    from capture.frames.loops.evaluating import Restart

    if inside.tracer.frames[inside.depth].locals is None or owner.outside is not None:
        return
    names = [each for frame in inside.tracer.frames for each in (*frame.locals.values(), *frame.stack)]
    held = [each for each in names if each.looked_at is owner]
    base = inside.tracer.frames[inside.depth]
    if len(held) != 1 or not any(each.looked_at is owner for each in (*base.locals.values(), *base.stack)):
        raise GraphBreak("a list that has two names grows in a loop", "loop")
    if ("list", id(owner)) in inside.guesses or id(owner) not in inside.lists:
        raise GraphBreak("a list that is made in a loop grows", "loop")
    _require_alone(inside, owner)
    inside.guesses["list", id(owner)] = _item_kind(inside, value)
    raise Restart


def lists_of(frame: Frame) -> frozenset[int]:
    """The lists that the variables of a frame hold, and those that comprehensions make."""
    held = (value.looked_at for value in (*frame.locals.values(), *frame.stack))
    return frozenset(id(value) for value in held if isinstance(value, ListValue))


def _require_alone(inside: Inside, owner: ListValue) -> None:
    """No container, closure or store refers to the list."""
    tracer = inside.tracer
    stores = [operand for store in tracer.outside.stores for operand in store.operands]
    frames = [each for frame in tracer.frames for each in (*frame.locals.values(), *frame.stack)]
    others = [each for each in frames if each.looked_at is not owner]
    if any(part is owner for part in every_part([*stores, *others])):
        raise GraphBreak("a list that something else refers to grows in a loop", "loop")


def _item_kind(inside: Inside, value: Value) -> Any:
    kind = inside.kind(value)
    if isinstance(kind, NumberType) and kind.python in _DTYPES:
        return NumberType(kind.python)
    if isinstance(kind, ArrayType) and kind.scalar and kind.dtype != np.float16:
        return kind
    if isinstance(kind, RankedType):
        return RankedType(kind.dtype, kind.ndim)
    raise GraphBreak("a list whose items are no arrays or numbers of one kind grows in a loop", "loop")


def _grown_from(inside: Inside, found: ListValue, kind: Any) -> GrowingList:
    items = [value.real(inside.tracer) for value in found.values]
    if items and isinstance(kind, RankedType):
        raise GraphBreak("a list that holds arrays already grows in a loop", "loop")
    if any(_item_kind(inside, item) != kind for item in items):
        raise GraphBreak("a list of unlike items grows in a loop", "loop")
    dtype = _DTYPES[kind.python] if isinstance(kind, NumberType) else kind.dtype
    rank = kind.ndim if isinstance(kind, RankedType) else 0
    type = GrowingType(kind, RankedType(dtype, rank + 1, DENSE), id(found))
    node = inside.step("new", len(items), *[1] * rank, type=type.buffer, name="items", dtype=dtype, value=None)
    for place, item in enumerate(items):
        inside.step("store_at", node, (place,), inside.arg(item), type=None)
    return GrowingList(type, inside.array(node), Constant(len(items)))


# In the loop --------------------------------------------------------------------------------------------------------
def append(inside: Inside, owner: GrowingList, value: Value) -> None:
    """Write an item behind the others; every variable that holds the list holds the longer one from now on."""
    found = value.real(inside.tracer)
    if _item_kind(inside, found) != owner.type.item:
        raise GraphBreak("items of several kinds are appended to a list in a loop", "loop")
    if isinstance(found, InsideArray):
        steps = frozenset(step for block in inside.blocks for step in block.steps)
        heads = tuple(block for _, block, _ in inside.loops.values())
        inside.appended.append(Appended(found.node, owner.type.number, steps, heads))
        _require_shape(inside, owner, found)
    buffer = _with_room(inside, owner, found)
    place = inside.arg(owner.count)
    if isinstance(found, InsideArray) and found.type.ndim:
        inside.step("store", inside.view(buffer, (place,)).node, found.node, type=None)
    else:
        stored = inside.element(found, ()) if isinstance(found, InsideArray) else found
        inside.step("store_at", buffer.node, (place,), inside.arg(stored), type=None)
    longer = GrowingList(owner.type, buffer, inside.number("+", owner.count, Constant(1), wraps=True))
    _replace(inside, owner, longer)


def item(inside: Inside, owner: GrowingList, key: Value) -> Value:
    """``list[key]``, of a number or scalar."""
    return of_kind(inside, owner.type.item, inside.element(owner.buffer, (_place(inside, owner, key),)))


def of_kind(inside: Inside, kind: Any, element: Value) -> Value:
    """An element of the array of a list's items as the item that it is."""
    return inside.number(kind.python.__name__, element) if isinstance(kind, NumberType) else element


def store_item(inside: Inside, owner: GrowingList, key: Value, value: Value) -> None:
    """``list[key] = value`` of a number or scalar of the items' kind."""
    place, found = _place(inside, owner, key), value.real(inside.tracer)
    if _item_kind(inside, found) != owner.type.item:
        raise GraphBreak("items of several kinds are put into a list in a loop", "loop")
    inside.step("store_at", owner.buffer.node, (place,), inside.arg(found), type=None)


def _place(inside: Inside, owner: GrowingList, key: Value) -> Any:
    """Where an item is; the program leaves where there is none."""
    if isinstance(owner.type.item, RankedType):
        raise GraphBreak("an array in a list is asked for in a loop in which it grows", "loop")
    index = key.real(inside.tracer)
    is_known = isinstance(index, Constant) and type(index.value) is int
    if not is_known and not (isinstance(index, InsideNumber) and index.python is int):
        raise GraphBreak("an item of a list that grows in a loop, at what is no int", "loop")
    below = inside.number("<", index, Constant(0))
    place = inside.selected(below, inside.number("+", owner.count, index), index)
    inside.leave_if(inside.arg(inside.number("<", place, Constant(0))))
    inside.leave_if(inside.arg(inside.number(">=", place, owner.count)))
    return inside.arg(place)


def _require_shape(inside: Inside, owner: GrowingList, item: InsideArray) -> None:
    """Go on only where the item is as large as those before it."""
    filled = inside.number(">", owner.count, Constant(0))
    for axis in range(item.type.ndim):
        size = inside.size(owner.buffer, axis + 1)
        other = inside.number("!=", item.size(inside.tracer, axis), size)
        inside.leave_if(inside.arg(inside.both(filled, other)))


def _with_room(inside: Inside, owner: GrowingList, item: Value) -> InsideArray:
    """The buffer, or a larger one with the same items."""
    full = inside.number(">=", owner.count, inside.size(owner.buffer, 0))
    before, larger = inside.current, inside.open("larger")
    copying, ready = inside.open("copying"), inside.open("room")
    before.end = Branch(inside.arg(full), Jump(larger.name), Jump(ready.name, (owner.buffer.node,)))
    inside.current = larger
    twice = inside.number("*", owner.count, Constant(2), wraps=True)
    sizes = [inside.number("+", twice, Constant(ROOM), wraps=True)]
    if isinstance(item, InsideArray):
        sizes += [item.size(inside.tracer, axis) for axis in range(item.type.ndim)]
    type = owner.type.buffer
    made = inside.array(
        inside.step("new", *map(inside.arg, sizes), type=type, name="items", dtype=type.dtype, value=None)
    )
    filled = inside.number(">", owner.count, Constant(0))  # the first buffer, of no items, is of other sizes
    larger.end = Branch(inside.arg(filled), Jump(copying.name), Jump(ready.name, (made.node,)))
    inside.current = copying
    items = (("slice", 0, inside.arg(owner.count), None), *[("slice", None, None, None)] * (type.ndim - 1))
    source, target = inside.view(owner.buffer, items), inside.view(made, items)
    inside.step("store", target.node, source.node, type=None)
    copying.end = Jump(ready.name, (made.node,))
    inside.current = ready
    return inside.array(inside.new_node(ready, "items", type))


def _replace(inside: Inside, old: GrowingList, new: GrowingList) -> None:
    """Variables and operands hold the longer list; nothing else may hold the shorter one."""
    frame, others = inside.tracer.frames[-1], inside.tracer.frames[:-1]
    frame.locals = {name: new if value is old else value for name, value in frame.locals.items()}
    frame.stack[:] = [new if value is old else value for value in frame.stack]
    left = [*frame.locals.values(), *frame.stack]
    left += [each for other in others for each in (*other.locals.values(), *other.stack)]
    if any(isinstance(part, GrowingList) and part.type == old.type and part is not new for part in every_part(left)):
        raise GraphBreak("a list that has two names grows in a loop", "loop")


# How often a loop goes round ----------------------------------------------------------------------------------------
def rounds(inside: Inside, code: Any, part: Part, head: int, stream: Value) -> Round:
    """How often the loop goes round, if it is left only where its iterator ends."""
    from capture.frames.loops.flow import ways_of

    if not isinstance(stream, Stream):
        return Round(None, None)
    body, ways = part.bodies[head], ways_of(code)
    inner = (index for index in body if index != head and index not in part.doomed)
    is_left = any(after not in body and after not in part.doomed for index in inner for after in ways[index])
    most = trips_of(stream, inside.operands)
    return Round(None if is_left else most, most)


def count_of(inside: Inside, count: Any) -> Size | None:
    """How many items there are behind the loop, as far as that is known before it. The program looks."""
    return _Rising(inside, at_most=False).rise(count, None, frozenset())


def most_of(inside: Inside, count: Any, item: Any) -> Size:
    """How many there may be, but no more than there is room for."""
    found = _Rising(inside, at_most=True).rise(count, None, frozenset())
    if isinstance(item, RankedType):
        return MOST_ARRAYS if found is None else minimum(found, MOST_ARRAYS)
    return MOST_UNKNOWN if found is None else minimum(found, MOST_ITEMS)


class _Rising:
    """How much larger counts of items are than others."""

    def __init__(self, inside: Inside, at_most: bool) -> None:
        self.inside, self.at_most = inside, at_most
        self.known: dict[Any, Size | None] = {}

    def rise(self, value: Any, base: Node | None, seen: frozenset[Node]) -> Size | None:
        """How much larger a count is than another one, or than nothing."""
        if value is base:
            return 0
        if not isinstance(value, Node):
            return int(value) if base is None else None
        if value in seen:
            return None
        if (value, base) not in self.known:
            self.known[value, base] = self._rise(value, base, seen | {value})
        return self.known[value, base]

    def _rise(self, value: Node, base: Node | None, seen: frozenset[Node]) -> Size | None:
        inside = self.inside
        if value.target == "number" and value.params["symbol"] == "+" and isinstance(value.args[1], int):
            before = self.rise(value.args[0], base, seen)
            return None if before is None else before + value.args[1]
        if value.kind != "parameter" or value in inside.operands:
            return None
        block = next(block for block in inside.blocks if value in block.parameters)
        ways = list(_ways_to(inside, block, block.parameters.index(value)))
        loop = inside.rounds.get(block.name)
        if loop is None:
            return self._of_all([self.rise(given, base, seen) for _, given in ways])
        place = inside.blocks.index(block)
        entered = self._of_all([self.rise(given, base, seen) for before, given in ways if before < place])
        added = self._of_all([self.rise(given, value, seen - {value}) for before, given in ways if before >= place])
        trips = loop.most if self.at_most else loop.trips
        if added == 0:
            return entered
        if entered is None or added is None or trips is None:
            return None
        return entered + added * trips

    def _of_all(self, found: Sequence[Size | None]) -> Size | None:
        """What several ways give: the same, or the most of them."""
        if not found or any(each is None for each in found):
            return None
        if all(each == found[0] for each in found):
            return found[0]
        return functools.reduce(maximum, found) if self.at_most else None  # type: ignore[arg-type]


def _ways_to(inside: Inside, block: OpenBlock, place: int) -> Iterator[tuple[int, Any]]:
    """What jumps to a block give for a parameter, with the number of the block that each comes from."""
    for number, before in enumerate(inside.blocks):
        for jump in jumps_of(before.end):
            if jump.target == block.name:
                yield number, jump.args[place]


# Behind the loop ----------------------------------------------------------------------------------------------------
def require_own_items(
    inside: Inside, roots: Mapping[Any, frozenset[Node]], results: Sequence[Any], turned: set[Node]
) -> None:
    """Arrays in lists are new in their rounds, nobody else has them behind the loop, and nothing writes them there."""
    for appended in inside.appended:
        owners = roots.get(appended.item, frozenset())
        around = {owner for head in appended.heads for each in head.parameters for owner in roots.get(each, ())}
        if not owners or any(owner.kind == "parameter" or owner.target in VIEWS for owner in owners):
            raise GraphBreak("an array from outside is appended to a list in a loop", "loop")
        if appended.item in turned:
            raise GraphBreak("an array that is not in C order is appended to a list in a loop", "loop")
        for block in inside.blocks:
            for step in block.steps:
                writes = step.target in STORES and not owners.isdisjoint(roots.get(step.args[0], ()))
                if writes and (step not in appended.before or not owners.isdisjoint(around)):
                    raise GraphBreak("an array in a list is written in a loop", "loop")
        if any(not owners.isdisjoint(roots.get(value, ())) for value in results):
            raise GraphBreak("an array in a list has another name behind a loop", "loop")


def are_distinct(inside: Inside, number: int) -> bool:
    """Whether no two items of a list of arrays are one object: each is appended once, in the round that makes it."""
    items = [each for each in inside.appended if each.number == number]
    nodes = [each.item for each in items]
    return len(set(nodes)) == len(nodes) and all(
        each.item.kind != "parameter"
        and each.item.target not in VIEWS
        and _is_made_in(inside, each.item, each.heads)
        and sum(each.item is other.item for other in inside.appended) == 1
        for each in items
    )


def _is_made_in(inside: Inside, item: Node, heads: tuple[OpenBlock, ...]) -> bool:
    """Whether a step stands in the innermost of the loops: behind its head, which control passes before each round."""
    made = next(number for number, block in enumerate(inside.blocks) if item in block.steps)
    return not heads or made > max(inside.blocks.index(head) for head in heads)
