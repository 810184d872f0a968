"""Evaluates a part of the bytecode into a program: once for each block, from a state that stands for all rounds.

In: a frame before the head of a loop. Out: the blocks of a ``Program``, and the state of the frame behind the loop.
A variable that differs between the ways to a block becomes a parameter of it. What the head of a loop is entered with
is a guess: numbers stay numbers, arrays keep dtype and rank. Where a round gives something wider the evaluation starts
again with that (``Restart``), as long as there is something that is both; else the variable is an ``UnknownValue``,
which is a break if it is used.

Nothing here touches what outlives the program: a change of an object, a guard that would decide by this call's values
or a node in the graph that is no operand is a break, and then the loop is left to what handled loops before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.errors import InternalError
from capture.frames import handlers
from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import Code
from capture.frames.loops import growing
from capture.frames.loops.calling import Calling
from capture.frames.loops.flow import RAISING, Part, part_from
from capture.frames.loops.values import (
    UNBOUND,
    EitherType,
    EitherValue,
    GrowingList,
    GrowingType,
    InsideArray,
    InsideNumber,
    InsideScalar,
    Kind,
    MaybeType,
    MaybeValue,
    OneOfValue,
    Stream,
    UnknownValue,
    joined,
    nodes_of,
)
from capture.frames.loops.worth import COMPREHENDED
from capture.frames.loops.writing import OpenBlock
from capture.frames.rebuild import every_part
from capture.frames.values.base import Value
from capture.frames.values.binding import is_generator
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.frames.values.iterators import IteratorValue
from capture.ir.graph import Node
from capture.ir.program import Branch, Jump, Leave
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass, field

if TYPE_CHECKING:
    from capture.frames.tracer import Frame

RESULT = "result"
MOST_STARTS = 40
"""Evaluations of one loop; each widens what is guessed of some variable."""


class Restart(Exception):
    """A guess was too narrow; a wider one has been noted."""


@dataclass(eq=False)
class State:
    """What the frame holds where control comes to a block."""

    stack: tuple[Value, ...]
    locals: Mapping[str, Value]


@dataclass(eq=False)
class Arrival:
    """One way to a block: from the end of ``block`` (its ``then`` or ``other`` side, or its jump), in a state."""

    block: OpenBlock
    side: str
    state: State
    args: list[Any] = field(default_factory=list)


Way = tuple[Any, ...]
"""Where something is in a state: ("stack", place, …) or ("local", name, …)."""


class Inside(Calling):
    """A program while it is written; ``tracer.inside`` while a loop is evaluated."""

    def __init__(self, tracer: Any, guesses: dict[Any, Any]) -> None:
        super().__init__(tracer)
        self.depth = len(tracer.frames) - 1  # of the frame whose loop it is
        self.guesses = guesses  # (place of the head, way) -> kind, or None: nothing can be said

    # blocks -------------------------------------------------------------------------------------------------------
    def evaluate(self, frame: Frame, part: Part) -> State | Value:
        """Write what the part does behind the current block; afterwards the block behind it is the current one.

        Gives the state there, or what the function returns where the part goes on to its end.
        """
        code = frame.code
        arrivals: dict[int | None, list[Arrival]] = {leader: [] for leader in part.leaders}
        arrivals[part.end] = []
        before = self.current
        arrivals[part.start].append(Arrival(before, "jump", State(tuple(frame.stack), dict(frame.locals))))
        for leader in part.leaders:
            if arrivals[leader]:
                self._block(frame, part, leader, arrivals)
        for head in part.heads:
            self._close(head, arrivals[head])
        if not arrivals[part.end]:
            raise GraphBreak("a loop that ends only by an exception", "loop")
        state = self._enter(code, part.end, arrivals[part.end], "after")
        self._finish_ways(arrivals[part.end])
        return state if part.end is not None else state.stack[0]

    def _block(self, frame: Frame, part: Part, leader: int, arrivals: dict[int | None, list[Arrival]]) -> None:
        code = frame.code
        ways = arrivals[leader]
        if leader in part.heads:
            state = self._enter_loop(frame, part, leader, ways)
        else:
            state = self._enter(code, leader, ways, f"at_{code.instructions[leader].line or leader}")
            self._finish_ways(ways)
        frame.stack[:] = state.stack
        frame.locals = {name: value for name, value in state.locals.items() if value is not UNBOUND}
        frame.index = leader
        while True:
            following = self._step(frame, part, arrivals)
            if following is None:
                return
            if following in arrivals or following == part.end:
                arrivals[following].append(self._arrival(frame))
                return
            frame.index = following

    def _arrival(self, frame: Frame, side: str = "jump") -> Arrival:
        return Arrival(self.current, side, State(tuple(frame.stack), dict(frame.locals)))

    def _step(self, frame: Frame, part: Part, arrivals: dict[int | None, list[Arrival]]) -> int | None:
        """Evaluate the frame's instruction; gives the one that follows in the same block, if any."""
        tracer = self.tracer
        instruction = frame.code.instructions[frame.index]
        tracer.graph.position = self.position = tracer._position(frame, instruction)
        unbound = instruction.op == "LOAD_FAST" and instruction.arg not in frame.locals
        if unbound or frame.index in part.doomed or instruction.op in RAISING:
            self._require_not_handled()
            self.current.end = Leave()
            return None
        if tracer.settings.force_break is not None and handlers.can_break(instruction):
            tracer._force_break(tracer.settings.force_break, frame)
        tracer.evaluated += 1
        self.budget -= 1
        if self.budget < 0:
            raise GraphBreak("a loop of very many instructions", "size")
        frame.next = frame.index + 1
        frame.saved_stack, frame.saved_locals = tuple(frame.stack), dict(frame.locals)
        special = _SPECIAL.get(instruction.op)
        if special is None or not special(self, frame, instruction.arg, arrivals):
            if instruction.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
                frame.stack[-1] = frame.stack[-1].real(tracer)
            handlers.HANDLERS[instruction.op](tracer, frame, instruction)
        if self.current.end is not None:
            return None
        return frame.next

    def _require_not_handled(self) -> None:
        """What is raised, and handled in the loop, is not rare enough to be left to Python."""
        if any(frame.code.region_at(frame.index) is not None for frame in self.tracer.frames[self.depth :]):
            raise GraphBreak("an exception that is handled inside a loop", "python")

    # ways to a block ----------------------------------------------------------------------------------------------
    def _enter(self, code: Code, leader: int | None, ways: Sequence[Arrival], name: str) -> State:
        """Begin a block that no loop goes back to."""
        block = self.open(name)
        first = ways[0].state
        depth = len(first.stack)
        if any(len(way.state.stack) != depth for way in ways):
            raise GraphBreak("a loop that is left with different stacks", "loop")
        live = code.live_variables(leader) if leader is not None else frozenset[str]()
        is_result = leader is None and len(self.tracer.frames) - 1 == self.depth
        stack = [
            self._merged(
                block, ways, [way.state.stack[place] for way in ways], RESULT if is_result else f"stack_{place}"
            )
            for place in range(depth)
        ]
        names = _names(ways, live) if len(ways) > 1 else list(first.locals)
        local = {
            name: self._merged(block, ways, [way.state.locals.get(name, UNBOUND) for way in ways], name)
            for name in names
        }
        self.current = block
        return State(tuple(stack), local)

    def _merged(self, block: OpenBlock, ways: Sequence[Arrival], values: Sequence[Value], name: str) -> Value:
        """One value for several ways: itself where it is the same one, else a parameter."""
        first = values[0]
        if all(value is first for value in values) or _all_equal(values):
            return first
        if all(isinstance(value, TupleValue) for value in values):
            lengths = {len(value.values) for value in values}  # type: ignore[attr-defined]
            if len(lengths) == 1:
                columns = zip(*(value.values for value in values), strict=True)  # type: ignore[attr-defined]
                return TupleValue([self._merged(block, ways, column, name) for column in columns])
        kind = self.kinds(values)
        if kind == MaybeType(None):
            return UNBOUND
        if kind is None and name == RESULT and all(map(self._may_be_option, values)):
            return self._one_of(block, ways, values)
        if kind is None:
            return UnknownValue(f"{name} is one thing or another, depending on the way through the loop")
        return self._parameter(block, name, kind, ways, values)

    def _may_be_option(self, value: Value) -> bool:
        """Whether a value can be one of several results: constants, numbers, scalars, tuples of these."""
        if isinstance(value, TupleValue):
            return all(map(self._may_be_option, value.values))
        found = value.looked_at
        return isinstance(found, Constant | InsideNumber | InsideScalar | EitherValue)

    def _one_of(self, block: OpenBlock, ways: Sequence[Arrival], values: Sequence[Value]) -> Value:
        """A number, and for each way what it returns; the others hand over anything for that."""
        number = self.new_node(block, "way", NumberType(int))
        for place, way in enumerate(ways):
            way.args.append(place)
        return OneOfValue(
            InsideNumber(number), [self._option(block, ways, place, value) for place, value in enumerate(values)]
        )

    def _option(self, block: OpenBlock, ways: Sequence[Arrival], chosen: int, value: Value) -> Value:
        if isinstance(value, TupleValue):
            return TupleValue([self._option(block, ways, chosen, item) for item in value.values])
        found = value.looked_at
        kind = self.kind(found)
        if isinstance(found, Constant) or kind is None:
            return found
        for place, way in enumerate(ways):
            way.args.extend(self._given(way, found, kind) if place == chosen else self._anything(way, kind))
        return self._new_parameter(block, "result", kind)

    def _parameter(
        self, block: OpenBlock, name: str, kind: Kind, ways: Sequence[Arrival], values: Sequence[Value]
    ) -> Value:
        value = self._new_parameter(block, name, kind)
        for way, given in zip(ways, values, strict=True):
            way.args.extend(self._given(way, given, kind))
        return value

    def _new_parameter(self, block: OpenBlock, name: str, kind: Kind) -> Value:
        """A value that is one or more parameters of ``block``."""
        if isinstance(kind, MaybeType):
            value = self._new_parameter(block, name, kind.kind)
            return MaybeValue(value, self.new_node(block, f"{name}_unbound", NumberType(bool)))
        if isinstance(kind, EitherType):
            node = self.new_node(block, name, kind.scalar)
            return EitherValue(node, self.new_node(block, f"{name}_weak", NumberType(bool)), kind.python, kind.scalar)
        if isinstance(kind, GrowingType):
            buffer = self.array(self.new_node(block, name, kind.buffer))
            return GrowingList(kind, buffer, InsideNumber(self.new_node(block, f"{name}_count", NumberType(int))))
        return self.value_of(self.new_node(block, name, kind))

    def new_node(self, block: OpenBlock, name: str, kind: Any) -> Node:
        node = Node(self.fresh(name), "parameter", "", (), {}, kind)
        block.parameters.append(node)
        return node

    def _given(self, way: Arrival, value: Value, kind: Kind) -> list[Any]:
        """What a way hands over for parameters; conversions are steps at the end of the block that it comes from."""
        if isinstance(kind, MaybeType):
            if value is UNBOUND:
                return [*self._anything(way, kind.kind), True]
            if isinstance(value, MaybeValue):
                return [*self._given(way, value.value, kind.kind), value.unbound]
            return [*self._given(way, value, kind.kind), False]
        found = value.real(self.tracer)
        if isinstance(found, GrowingList):
            return [found.buffer.node, self.arg(found.count)]
        return [*self.either_parts(found, kind, way.block)] if isinstance(kind, EitherType) else [self.arg(found)]

    def _anything(self, way: Arrival, kind: Any) -> list[Any]:
        """What stands for a variable that has no value."""
        if isinstance(kind, EitherType):
            return [kind.scalar.dtype.type(0), False]
        if isinstance(kind, NumberType):
            return [kind.python(0)]
        if isinstance(kind, ArrayType):
            return [kind.dtype.type(0)]
        if isinstance(kind, GrowingType):
            raise GraphBreak("a list that grows in a loop has no value on some way", "loop")
        sizes = [int(axis in kind.ones) for axis in range(kind.ndim)]
        return [self.step("new", *sizes, type=kind, block=way.block, dtype=kind.dtype)]

    def _finish_ways(self, ways: Sequence[Arrival]) -> None:
        """The blocks before learn with what they come to the current one."""
        for way in ways:
            _connect(way, Jump(self.current.name, tuple(way.args)))

    # loops --------------------------------------------------------------------------------------------------------
    def _enter_loop(self, frame: Frame, part: Part, head: int, ways: list[Arrival]) -> State:
        """Begin the block of a loop's head: what the loop may change is a parameter."""
        place = (self.place(frame), head)
        block = self.open(f"loop_{frame.code.instructions[head].line or head}")
        changing = part.assigned(frame.code, head)
        live = frame.code.live_variables(head)
        first = ways[0].state
        stack: list[Value] = []
        entered: Value = UNBOUND  # the iterator, as it is before the first round
        for position in range(len(first.stack)):
            values = [way.state.stack[position] for way in ways]
            top = position == len(first.stack) - 1 and frame.code.instructions[head].op == "FOR_ITER"
            if top:
                entered = self._stream_before(ways, values)
                stack.append(self._entered_stream(block, place, ways, entered))
            elif any(isinstance(value, GrowingList) for value in values):
                stack.append(self._guessed(block, place, ("stack", position), ways, values, "items"))
            else:
                stack.append(self._merged(block, ways, values, f"stack_{position}"))
        local: dict[str, Value] = {}
        for name in (*_names(ways, live), *sorted(live & changing)):
            if name in local:
                continue
            values = [way.state.locals.get(name, UNBOUND) for way in ways]
            if name in changing or any(isinstance(value, GrowingList) for value in values):
                local[name] = self._guessed(block, place, ("local", name), ways, values, name)
            else:
                local[name] = self._merged(block, ways, values, name)
        self.current = block
        self._finish_ways(ways)
        ways.clear()  # from here on those that go back
        self.rounds[block.name] = growing.rounds(self, frame.code, part, head, entered)
        self.loops[head, id(ways)] = (place, block, State(tuple(stack), local))
        return State(tuple(stack), dict(local))

    def _guessed(
        self, block: OpenBlock, place: Any, way: Way, ways: Sequence[Arrival], values: Sequence[Value], name: str
    ) -> Value:
        """A variable that the loop changes, as it is guessed to be in every round."""
        if all(isinstance(value, TupleValue) for value in values):
            lengths = {len(value.values) for value in values}  # type: ignore[attr-defined]
            if len(lengths) == 1 and (place, way) not in self.guesses:
                columns = zip(*(value.values for value in values), strict=True)  # type: ignore[attr-defined]
                return TupleValue(
                    [self._guessed(block, place, (*way, k), ways, column, name) for k, column in enumerate(columns)]
                )
        kind = self.kinds(values)
        if (place, way) in self.guesses:
            guess = self.guesses[place, way]
            kind = joined(guess, kind) if guess is not None and kind is not None else None
        if kind == MaybeType(None):
            return UNBOUND
        if kind is None:
            return UnknownValue(f"{name} is one thing or another from round to round")
        return self._parameter(block, name, kind, ways, values)

    def _stream_before(self, ways: Sequence[Arrival], values: Sequence[Value]) -> Stream:
        """The iterator of a ``for`` loop, as it is before the first round."""
        if any(value is not values[0] for value in values):
            raise GraphBreak("a loop whose iterator comes in several ways", "loop")
        if isinstance(values[0], Stream):
            return values[0]
        if len(ways) > 1 or ways[0].side != "jump":
            raise GraphBreak("a loop that begins in several ways", "loop")
        self.current = ways[0].block
        stream = self.own_stream(values[0])
        ways[0].block = self.current  # whether the loop may begin, as by a step that is not zero, was asked on the way
        return stream

    def _entered_stream(self, block: OpenBlock, place: Any, ways: Sequence[Arrival], stream: Stream) -> Value:
        """The iterator in any round, its position being a parameter."""
        parts = [
            self._guessed(block, place, ("stream", number), ways, [part] * len(ways), "i")
            for number, part in enumerate(stream.parts)
        ]
        return stream.at(parts)

    def own_stream(self, iterator: Value) -> Stream:
        """``stream`` of an iterator of Python's with which nobody else goes on, nor with those that it goes on with."""
        if isinstance(iterator, Stream):
            return iterator
        own = {id(part) for part in every_part([iterator]) if isinstance(part, IteratorValue)}
        stores = [operand for store in self.tracer.outside.stores for operand in store.operands]
        named = [value for frame in self.tracer.frames for value in _named(frame)]
        held = [*named, *(value for frame in self.tracer.frames for value in frame.stack if value is not iterator)]
        if any(id(part) in own for part in every_part([*stores, *held])):
            raise GraphBreak("an iterator that something else has, too", "loop")
        return self.stream(iterator)

    def _close(self, head: int, backs: list[Arrival]) -> None:
        """The ways back to a head hand over the next round's values; a guess that is too narrow is widened."""
        if (head, id(backs)) not in self.loops:
            return  # no way leads there
        place, block, entered = self.loops.pop((head, id(backs)))
        own = frozenset(block.parameters)
        for way in backs:
            for number, value in enumerate(entered.stack):
                given = way.state.stack[number]
                if isinstance(value, Stream):
                    if not isinstance(given, Stream):
                        raise GraphBreak("the iterator of a loop is changed", "loop")
                    for part, (old, new) in enumerate(zip(value.parts, given.parts, strict=True)):
                        self._hand_over(own, place, ("stream", part), way, old, new)
                elif isinstance(value, GrowingList):
                    self._hand_over(own, place, ("stack", number), way, value, given)
                elif given is not value:
                    raise GraphBreak("a loop that changes what is below it on the stack", "loop")
            for name, value in entered.locals.items():
                self._hand_over(own, place, ("local", name), way, value, way.state.locals.get(name, UNBOUND))
            if len(way.args) != len(block.parameters):
                raise InternalError(f"{len(way.args)} values for {len(block.parameters)} parameters of a loop")
            _connect(way, Jump(block.name, tuple(way.args)))

    def _hand_over(self, own: frozenset[Node], place: Any, way: Way, back: Arrival, value: Value, given: Value) -> None:
        if isinstance(value, UnknownValue):
            return
        if value is given:
            self._hand_over_same(own, back, value)
            return
        tuples = isinstance(value, TupleValue) and isinstance(given, TupleValue)
        if tuples and len(value.values) == len(given.values):  # type: ignore[attr-defined]
            for number, (old, item) in enumerate(zip(value.values, given.values, strict=True)):  # type: ignore[attr-defined]
                self._hand_over(own, place, (*way, number), back, old, item)
            return
        kind = None if isinstance(value, TupleValue) else self.kind(value)
        new = None if isinstance(given, UnknownValue) else self.kind(given)
        wide = joined(kind, new) if kind is not None and new is not None else None
        is_parameter = not own.isdisjoint(nodes_of(value))
        if wide is None or wide != kind or not is_parameter:
            self.guesses[place, way] = wide if is_parameter or wide is not None else None
            raise Restart
        back.args.extend(self._given(back, given, kind))  # type: ignore[arg-type]

    def _hand_over_same(self, own: frozenset[Node], back: Arrival, value: Value) -> None:
        """A variable that a round leaves as it is."""
        if isinstance(value, TupleValue):
            for item in value.values:
                self._hand_over_same(own, back, item)
        elif not own.isdisjoint(nodes_of(value)):
            back.args.extend(nodes_of(value))

    # lists ----------------------------------------------------------------------------------------------------------
    def append(self, owner: GrowingList, value: Value) -> None:
        """``list.append`` of a list that the program has."""
        growing.append(self, owner, value)

    def item_of_list(self, owner: GrowingList, key: Value) -> Value:
        return growing.item(self, owner, key)

    def store_item_of_list(self, owner: GrowingList, key: Value, value: Value) -> None:
        growing.store_item(self, owner, key, value)

    def learn(self, owner: ListValue, value: Value) -> None:
        """``list.append`` of another list: it is to become one of the program's."""
        growing.learn(self, owner, value)

    def learn_filled(self, owner: Value, key: Value, value: Value) -> None:
        """``owner[key] = value``: so is a list from before the loop of whose places only the program knows which."""
        found = owner.looked_at
        if isinstance(found, ListValue) and isinstance(key.real(self.tracer), InsideNumber | InsideScalar):
            growing.learn(self, found, value)

    # calls --------------------------------------------------------------------------------------------------------
    def run_frame(self, frame: Frame) -> Value:
        """Evaluate a call of a function of the user's inside the program."""
        if is_generator(frame.code.original):
            raise GraphBreak("a generator inside a loop", "generator")
        self.tracer.frames.append(frame)
        found = self.evaluate(frame, part_from(frame.code, frame.index, True))
        assert isinstance(found, Value)
        self.tracer.frames.pop()
        return found


def _named(frame: Frame) -> list[Value]:
    """What the variables of a frame hold; nobody reads what a comprehension was given."""
    return [value for name, value in frame.locals.items() if name != COMPREHENDED]


def _names(ways: Sequence[Arrival], live: frozenset[str]) -> list[str]:
    """Variables that are still needed and have a value on some way."""
    return list(dict.fromkeys(name for way in ways for name in way.state.locals if name in live))


def _connect(way: Arrival, jump: Jump) -> None:
    """Set the end of a block, or one side of it."""
    if way.side == "jump":
        way.block.end = jump
        return
    end = way.block.end
    assert isinstance(end, Branch)
    then, other = (jump, end.other) if way.side == "then" else (end.then, jump)
    way.block.end = Branch(end.condition, then, other)


def _all_equal(values: Sequence[Value]) -> bool:
    first = values[0]
    if not isinstance(first, Constant):
        return False
    return all(
        isinstance(value, Constant) and type(value.value) is type(first.value) and value.value is first.value
        for value in values
    )


# Instructions that decide where control goes ------------------------------------------------------------------------
def _conditional(wanted: bool) -> Any:
    def pop_jump_if(inside: Inside, frame: Frame, target: int, arrivals: dict[int | None, list[Arrival]]) -> bool:
        value = frame.stack[-1].real(inside.tracer)
        if not isinstance(value, InsideNumber | InsideScalar | InsideArray | EitherValue):
            return False
        frame.pop()
        condition = inside.truth(value)
        block = inside.current
        targets = (target, frame.next) if wanted else (frame.next, target)
        block.end = Branch(condition, Jump(""), Jump(""))
        for side, goal in zip(("then", "other"), targets, strict=True):
            arrivals.setdefault(goal, []).append(inside._arrival(frame, side))
        return True

    return pop_jump_if


def _for_iter(inside: Inside, frame: Frame, target: int, arrivals: dict[int | None, list[Arrival]]) -> bool:
    stream = inside.own_stream(frame.stack[-1])
    more = inside.truth(stream.more(inside))
    head = inside.current
    head.end = Branch(more, Jump(""), Jump(""))
    below, local = tuple(frame.stack[:-1]), dict(frame.locals)
    arrivals[target].append(Arrival(head, "other", State(below, local)))
    body = inside.open("round")
    head.end = Branch(more, Jump(body.name), Jump(""))
    inside.current = body
    item, following = stream.take(inside)
    arrivals[frame.next].append(Arrival(body, "jump", State((*below, following, item), local)))
    body.end = Jump("")
    return True


def _return(inside: Inside, frame: Frame, arg: Any, arrivals: dict[int | None, list[Arrival]]) -> bool:
    block = inside.current
    block.end = Jump("")
    arrivals[None].append(Arrival(block, "jump", State((frame.stack[-1],), {})))
    return True


def _to_bool(inside: Inside, frame: Frame, arg: Any, arrivals: Any) -> bool:
    value = frame.stack[-1].real(inside.tracer)
    if not isinstance(value, InsideNumber | InsideScalar | InsideArray | EitherValue):
        return False
    frame.stack[-1] = inside.number_of(inside.truth(value))
    return True


def _not(inside: Inside, frame: Frame, arg: Any, arrivals: Any) -> bool:
    if not _to_bool(inside, frame, arg, arrivals):
        return False
    frame.stack[-1] = inside.number("not", frame.stack[-1])
    return True


_SPECIAL = {
    "POP_JUMP_IF_TRUE": _conditional(True),
    "POP_JUMP_IF_FALSE": _conditional(False),
    "FOR_ITER": _for_iter,
    "RETURN_VALUE": _return,
    "TO_BOOL": _to_bool,
    "UNARY_NOT": _not,
}
