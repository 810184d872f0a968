"""Rounds of a loop side by side, where each of them is a chain of steps that wait for one another.

In: a program. Out: the same, in which a loop whose rounds have nothing to do with each other (``rounds``), and which
hold a loop of their own, has ``LANES`` of them at once. A lane has what a round carries through the inner loop; each
turn does one turn of every lane, and a lane whose round is over begins the next one:

    for k in range(n):                        strip(k): limit = min(k + STRIP, n)
        low, high = 0, m                      ring(next, alive_0, k_0, low_0, high_0, alive_1, …):
        while low < high:                        lane 0:  if alive_0: a turn of the inner loop
            …                        →                    where that was the last: found[k_0] = low_0
        found[k] = low                                    where there is none: next round, if next < limit
                                                 lane 1:  …
                                                 jump ring(…) if any lane is alive else strip(k + STRIP)

Processors wait for what a step needs, not for what stands before it: while one lane waits for memory or a division,
the others go on. What a round does is the same as before, and in the same order; only rounds overlap. No lane computes
for nothing, so whether the program leaves does not change either: it does if one of the rounds does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.inductor.programs.choosing import Chosen
from capture.inductor.programs.contents import anything
from capture.inductor.programs.copying import with_values
from capture.inductor.programs.counting import is_single, natural_loops
from capture.inductor.programs.facts import find_users, is_array
from capture.inductor.programs.intervals import is_integer
from capture.inductor.programs.latencies import gains
from capture.inductor.programs.ranges import affine, is_int
from capture.inductor.programs.rounds import Rounds, rounds_of
from capture.ir.graph import Node, iterate_nodes, map_nodes
from capture.ir.program import Block, Branch, Finish, Jump, Program
from capture.ir.types import NumberType
from capture.records import dataclass, field, replace

if TYPE_CHECKING:
    from capture.inductor.programs.function import Function
    from capture.inductor.programs.intervals import Interval

LANES = 4
"""Rounds at once: more of them do not fit in registers."""
STRIP = 16
"""Rounds after which all lanes are waited for: threads share out strips."""
MOST_STEPS = 48
"""Steps of a round: they stand there once for each lane."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """What is known of a program with lanes. ``strips``: by counters of lanes, those of their strips. ``heads``: the
    first blocks of the loops in which each turn is one of every lane. ``blocks``: those of lanes. ``bounds``: between
    which bounds integers of lanes are.
    """

    strips: Mapping[Node, Node] = field(default_factory=dict)
    heads: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()
    bounds: Mapping[Node, Interval] = field(default_factory=dict)


NONE = Lanes()


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that gets lanes: its blocks but the first, where its inner loop begins, what each block reads of what
    others of its round have made."""

    head: Block
    blocks: tuple[Block, ...]
    inner: Block
    rounds: Rounds
    needs: Mapping[str, tuple[Node, ...]]

    @property
    def counters(self) -> tuple[Node, ...]:
        return tuple(self.rounds.steps)

    @property
    def state(self) -> tuple[Node, ...]:
        """What a lane keeps from turn to turn."""
        return (*self.inner.parameters, *self.needs[self.inner.name])


def with_lanes(chosen: Chosen, function: Function) -> tuple[Chosen, Lanes]:
    """``function`` is the one in which the program has been written: it tells what is certain."""
    lanes = NONE
    for loop in _loops(chosen.program, function):
        made = _Lanes(chosen, loop, function)
        chosen = Chosen(made.program(), {**chosen.supposed, **made.supposed})
        lanes = Lanes(
            {**lanes.strips, **made.strips},
            lanes.heads | {made.ring},
            lanes.blocks | {block.name for block in made.blocks},
            {**lanes.bounds, **made.bounds},
        )
    return chosen, lanes


# Which loops ------------------------------------------------------------------------------------------------------
def _loops(program: Program, function: Function) -> Iterator[_Loop]:
    loops = natural_loops(program)
    for name, names in loops.items():
        inside = [other for other in loops if other != name and other in names]
        outermost = [other for other in inside if all(each in loops[other] for each in inside)]
        if len(outermost) != 1:
            continue
        rounds = rounds_of(program, function.owners, program.block(name), names)
        if rounds is None or not _may_overlap(program, function, rounds, names):
            continue
        loop = _loop(rounds, program.block(outermost[0]), names)
        if loop is not None and _is_worth_it(function, loop, loops[outermost[0]]):
            yield loop


def _may_overlap(program: Program, function: Function, rounds: Rounds, names: frozenset[str]) -> bool:
    """Whether it is certain now, and not only when the program runs, that rounds do not meet."""
    head = rounds.blocks[0]
    if rounds.apart or rounds.last or rounds.runs_last or rounds.tile is not None:
        return False
    function.ranges.enter(head)
    function.intervals.enter(head)
    if not all(function.at_most(0, counter, lowest) for counter, lowest in rounds.lowest):
        return False
    users = find_users(program)
    own = {*rounds.steps, *head.steps}
    return all(block.name in names for node in own for block, _ in users.get(node, ()))


def _loop(rounds: Rounds, inner: Block, names: frozenset[str]) -> _Loop | None:
    head, *others = rounds.blocks
    blocks = tuple(block for block in others if block.name in names)
    steps = [step for block in blocks for step in block.steps]
    if len(steps) > MOST_STEPS or not all(map(is_single, steps)):
        return None
    if any(isinstance(block.end, Finish) for block in blocks):
        return None
    made = [node for block in blocks for node in (*block.parameters, *block.steps)]
    needs = _needs(blocks, head, [*rounds.steps, *made])
    if any(map(is_array, (*inner.parameters, *(node for needed in needs.values() for node in needed)))):
        return None
    return _Loop(head, blocks, inner, rounds, needs)


def _needs(blocks: Sequence[Block], head: Block, own: Sequence[Node]) -> dict[str, tuple[Node, ...]]:
    """What blocks read that others of the same round have made."""
    made = set(own)
    needs: dict[str, set[Node]] = {block.name: set() for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            jumps = [jump for jump in block.jumps if jump.target != head.name]
            read = set(iterate_nodes(tuple((step.args, tuple(step.params.values())) for step in block.steps)))
            read |= set(iterate_nodes(tuple(jump.args for jump in jumps)))
            if isinstance(block.end, Branch):
                read |= set(iterate_nodes((block.end.condition,)))
            read |= set[Node]().union(*(needs.get(jump.target, ()) for jump in jumps))
            found = (read & made) - {*block.parameters, *block.steps}
            changed |= found != needs[block.name]
            needs[block.name] = found
    return {name: tuple(node for node in own if node in found) for name, found in needs.items()}


def _is_worth_it(function: Function, loop: _Loop, names: frozenset[str]) -> bool:
    """Whether a round of the inner loop waits long, and nothing in it is to be guessed but its end."""
    blocks = [block for block in loop.blocks if block.name in names]
    if names.isdisjoint(function.chains):
        return False
    if loop.inner.name in function.counted and _may_be_vectors(function, loop, blocks):
        return False
    for block in blocks:
        if isinstance(block.end, Branch) and all(jump.target in names for jump in block.jumps):
            return False
    return gains(loop.inner, blocks, LANES, functools.partial(_size, function))


def _may_be_vectors(function: Function, loop: _Loop, blocks: Sequence[Block]) -> bool:
    """Whether compilers may make vectors of an inner loop that counts, across the rounds around it: they do not where
    it writes elements that have no neighbours in these."""
    stores = [step for block in blocks for step in block.steps if step.target == "store_at"]
    return not any(_is_apart(function, loop, step) for step in stores)


def _is_apart(function: Function, loop: _Loop, store: Node) -> bool:
    strides = function.in_memory(store.args[0]).strides
    return not any(
        stride == "1" and is_int(place) and affine(place)[0] in loop.rounds.steps
        for stride, place in zip(strides, store.args[1], strict=True)
    )


def _size(function: Function, array: Node) -> int | None:
    """The bytes of an array, where they are known."""
    sizes = function.in_memory(array).sizes
    return math.prod(map(int, sizes)) * array.type.dtype.itemsize if all(size.isdigit() for size in sizes) else None


# Lanes ------------------------------------------------------------------------------------------------------------
class _Lanes:
    """Makes the blocks of one loop."""

    def __init__(self, chosen: Chosen, loop: _Loop, function: Function) -> None:
        self.chosen, self.loop, self.function = chosen, loop, function
        self.strips: dict[Node, Node] = {}
        self.bounds: dict[Node, Interval] = {}
        self.supposed: dict[Node, Any] = {}
        self.ring = f"{loop.head.name}_ring"
        self.alive = [self.parameter(f"alive_{lane}", NumberType(bool)) for lane in range(LANES)]
        self.states = [self.parameters(loop.state) for _ in range(LANES)]
        self.steps: list[Node] = []
        begin, self.limit, self.behind = self.begin()
        next = self.parameters(loop.counters)
        ring = Block(self.ring, (*next, *self.all_lanes(self.alive, self.states)), (), self.turn(0, next))
        self.blocks = [begin, ring]
        kept: list[tuple[Node, tuple[Node, ...]]] = []
        for lane in range(LANES):
            self.blocks += self.lane(lane)
            alive, *state = self.parameters((self.alive[lane], *loop.state))
            next = self.parameters(loop.counters)
            kept.append((alive, tuple(state)))
            turned = Block(self.turned(lane), (*next, alive, *state), (), self.turn(lane + 1, next))
            self.blocks.append(turned if lane + 1 < LANES else self.last(turned, next, kept))

    def program(self) -> Program:
        """The whole program, with lanes instead of the blocks of the loop."""
        made: list[Block] = []
        for block in self.chosen.program.blocks:
            if block is self.loop.head:
                assert isinstance(block.end, Branch)
                made += (replace(block, end=replace(block.end, then=Jump(self.blocks[0].name))), *self.blocks)
            elif block not in self.loop.blocks:
                made.append(block)
        return replace(self.chosen.program, blocks=tuple(made))

    # values -----------------------------------------------------------------------------------------------------
    def parameter(self, name: str, type: Any) -> Node:
        return Node(name, "parameter", "", (), {}, type)

    def parameters(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """New parameters for these values of a round."""
        made = tuple(
            self.parameter(node.name, NumberType(node.type.python) if isinstance(node.type, NumberType) else node.type)
            for node in nodes
        )
        for node, new in zip(nodes, made, strict=True):
            self.note(node, new)
        return made

    def note(self, node: Node, new: Node) -> None:
        """What is certain of a value is certain of the one that stands for it in a lane."""
        if node in self.loop.rounds.steps:
            self.strips[new] = node
        if is_integer(node) and node in self.function.intervals.values:
            self.bounds[new] = self.function.intervals.values[node]

    def step(self, symbol: str, *args: Any, type: type = int, **params: Any) -> Node:
        made = Node(f"lanes_{len(self.steps)}", "step", "number", args, {"symbol": symbol, **params}, NumberType(type))
        self.steps.append(made)
        return made

    def taken(self) -> tuple[Node, ...]:
        """The steps since this was last asked."""
        made, self.steps = tuple(self.steps), []
        return made

    # blocks -----------------------------------------------------------------------------------------------------
    def turned(self, lane: int) -> str:
        return f"{self.ring}_{lane}"

    def refill(self, lane: int) -> str:
        return f"{self.ring}_{lane}_next"

    def all_lanes(self, alive: Sequence[Any], states: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        return tuple(value for one, state in zip(alive, states, strict=True) for value in (one, *state))

    def begin(self) -> tuple[Block, Node, dict[Node, Node]]:
        """A strip: its limit, where the next one begins; all lanes are without a round."""
        rounds = self.loop.rounds
        behind = {node: self.step("+", node, STRIP * by) for node, by in rounds.steps.items()}
        limit = self.step("min", behind[rounds.counter], rounds.bound)
        nothing = [
            node.type.python(0) if isinstance(node.type, NumberType) else anything(node.type.dtype)
            for node in self.loop.state
        ]
        to = Jump(self.ring, (*rounds.steps, *self.all_lanes([False] * LANES, [nothing] * LANES)))
        return Block(f"{self.loop.head.name}_strip", (), self.taken(), to), limit, behind

    def turn(self, lane: int, next: Sequence[Node]) -> Branch | Jump:
        """Go on with the round of a lane, or with another one."""
        if lane == LANES:
            return Jump(self.ring)
        state = self.states[lane]
        resumed = Jump(self.copy(self.loop.inner.name, lane), (*state, *next))
        return Branch(self.alive[lane], resumed, Jump(self.refill(lane), tuple(next)))

    def last(self, block: Block, next: Sequence[Node], kept: Sequence[tuple[Node, tuple[Node, ...]]]) -> Block:
        """Where all lanes have had their turn."""
        head = self.loop.head
        any_alive = kept[0][0]
        for alive, _ in kept[1:]:
            any_alive = self.step("|", any_alive, alive, type=bool)
        again = Jump(self.ring, (*next, *self.all_lanes(*zip(*kept, strict=True))))
        over = Jump(head.name, tuple(self.behind.get(node, node) for node in head.parameters))
        return replace(block, steps=self.taken(), end=Branch(any_alive, again, over))

    def copy(self, name: str, lane: int) -> str:
        return f"{name}_lane_{lane}"

    def lane(self, lane: int) -> list[Block]:
        """The blocks of a round, what comes before its inner loop last."""
        loop, entry = self.loop, self.loop.head.end
        assert isinstance(entry, Branch)
        maps = {block.name: self.names(block, lane) for block in loop.blocks}
        copies = {block.name: self.copied(block, lane, maps[block.name]) for block in loop.blocks}
        behind = _reached(loop)
        next = self.parameters(loop.counters)
        more = self.step("<", next[loop.counters.index(loop.rounds.counter)], self.limit, type=bool)
        none = Jump(self.turned(lane), (*next, False, *self.states[lane]))
        refill = Block(
            self.refill(lane), next, self.taken(), Branch(more, Jump(f"{self.refill(lane)}_first"), none)
        )
        own: dict[Node, Any] = dict(zip(loop.counters, next, strict=True))
        then = [self.step("+", own[node], by, wraps=True) for node, by in loop.rounds.steps.items()]
        first = Block(
            f"{self.refill(lane)}_first", (), self.taken(), self.jump(entry.then, lane, own, then)
        )
        return [
            *(copies[block.name] for block in loop.blocks if block.name in behind),
            refill,
            first,
            *(copies[block.name] for block in loop.blocks if block.name not in behind),
        ]

    def names(self, block: Block, lane: int) -> tuple[dict[Node, Any], tuple[Node, ...], tuple[Node, ...]]:
        """The parameters of a copy: what stands for values in it, all of them, and where the next round is."""
        given = (*block.parameters, *self.loop.needs[block.name])
        own, next = self.parameters(given), self.parameters(self.loop.counters)
        return dict(zip(given, own, strict=True)), (*own, *next), next

    def copied(
        self, block: Block, lane: int, given: tuple[dict[Node, Any], tuple[Node, ...], tuple[Node, ...]]
    ) -> Block:
        values, parameters, next = given
        steps: list[Node] = []
        for step in block.steps:
            params = {**step.params, **self.certain(step)}
            name = f"{step.name}_{lane}" if is_array(step) else step.name
            values[step] = replace(step, name=name, args=with_values(step.args, values), params=params)
            steps.append(values[step])
            self.note(step, values[step])
            if step in self.chosen.supposed:
                supposed = self.chosen.supposed[step]
                self.supposed[values[step]] = map_nodes(supposed, lambda node: values.get(node, node))
        return Block(self.copy(block.name, lane), parameters, tuple(steps), self.end(block, lane, values, next))

    def certain(self, step: Node) -> dict[str, Any]:
        """What a step of a lane need not ask."""
        found: dict[str, Any] = {}
        sure = tuple(axis for each, axis in self.function.certain if each is step)
        if sure:
            found["sure"] = (*step.params.get("sure", ()), *sure)
        if step in self.function.fitting:
            found["wraps"] = True
        return found

    def end(self, block: Block, lane: int, values: Mapping[Node, Any], next: Sequence[Node]) -> Any:
        end = block.end
        if isinstance(end, Branch):
            sides = (self.jump(jump, lane, values, next) for jump in (end.then, end.other))
            return Branch(with_values(end.condition, values), *sides)
        return self.jump(end, lane, values, next) if isinstance(end, Jump) else end

    def jump(self, jump: Jump, lane: int, values: Mapping[Node, Any], next: Sequence[Any]) -> Jump:
        if jump.target == self.loop.head.name:
            return Jump(self.refill(lane), tuple(next))
        if jump.target not in self.loop.needs:
            return with_values(jump, values)  # type: ignore[no-any-return]
        given = with_values((*jump.args, *self.loop.needs[jump.target]), values)
        if jump.target == self.loop.inner.name:
            return Jump(self.turned(lane), (*next, True, *given))
        return Jump(self.copy(jump.target, lane), (*given, *next))


def _reached(loop: _Loop) -> frozenset[str]:
    """The blocks to which control comes from the inner loop, that included."""
    by_name = {block.name: block for block in loop.blocks}
    found, waiting = set[str](), [loop.inner.name]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in found:
            found.add(name)
            waiting += (jump.target for jump in by_name[name].jumps)
    return frozenset(found)
