"""Loops whose rounds have nothing to do with each other, so that they may run at once.

In: a program. Out: its outermost loops that count up to a number, whose rounds carry nothing to the next one, end only
where all are done, and write either memory of their own, or of an array from before the loop only what stands at their
number along one axis, or in their tile of it, where nobody else reads:

    for i in range(n):
        row = x[i]                       # nothing but x[i, …] of x is read and written
        row -= row.max()
        y[i + 1] = row.sum()

That places are not negative (-1 would be the last one) is for the writer to prove: ``Rounds.lowest``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from capture.inductor.programs.counting import natural_loops
from capture.inductor.programs.facts import Owners, find_users, is_array
from capture.inductor.programs.ranges import affine, is_int
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import STORES, VIEWS, Block, Branch, Leave, Program
from capture.records import dataclass

NO_STRIPS: Mapping[Node, Node] = MappingProxyType({})
UNKNOWN = object()
"""What only the last round tells."""

_NOT_SHARED = frozenset({"call", "which"})
"""Steps that call Python, and that ask which array one is."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """A loop: its blocks as they stand in the program, those among them that only leave included; its counter, what
    that is compared with; by what this and other counters change. ``lowest``: counter + distance must not be negative.
    ``apart``: arrays that must not be in one block of memory. ``last``: what is read only behind the loop, there what
    the last round gives it: a literal, or a counter and what is added to it. ``runs_last``: the last round is run where
    the loop stands, since what it gives is not known without. ``tile``: how many places of an axis a round has.
    """

    blocks: tuple[Block, ...]
    counter: Node
    bound: Any
    steps: Mapping[Node, int]
    lowest: tuple[tuple[Node, int], ...]
    apart: tuple[tuple[Node, Node], ...]
    last: Mapping[Node, Any]
    runs_last: bool
    tile: Node | None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(block.name for block in self.blocks)


def find_rounds(program: Program, owners: Owners, strips: Mapping[Node, Node] = NO_STRIPS) -> dict[str, Rounds]:
    """The loops, by their first blocks; none within another one. ``strips``: for counters that go through what is
    between one value of another counter and its next, this other one."""
    loops = natural_loops(program)
    found: dict[str, Rounds] = {}
    for head in sorted(loops, key=lambda head: -len(loops[head])):
        if any(head in rounds.names for rounds in found.values()):
            continue
        rounds = rounds_of(program, owners, program.block(head), loops[head], strips)
        if rounds is not None:
            found[head] = rounds
    return found


def only_leaves(block: Block) -> bool:
    return isinstance(block.end, Leave) and not block.steps


def rounds_of(
    program: Program, owners: Owners, head: Block, names: frozenset[str], strips: Mapping[Node, Node] = NO_STRIPS
) -> Rounds | None:
    """One loop, wherever it stands; None where its rounds have to do with each other."""
    counted = _counter(program, head, names)
    blocks = _as_they_stand(program, head, names)
    if counted is None or blocks is None:
        return None
    counter, bound, _ = counted
    steps = _counters(program, head, names)
    last = _last(program, head, names, steps)
    if not _ends_with_its_counter(program, head, blocks) or last is None:
        return None
    accesses = _Accesses(blocks, owners, steps, strips)
    places = accesses.places_written()
    if places is None:
        return None
    known = {node: value for node, value in last.items() if value is not UNKNOWN}
    tile = next(iter(accesses.tiles), None)
    apart = tuple(accesses.apart)
    return Rounds(blocks, counter, bound, steps, places, apart, known, len(known) < len(last), tile)


def _counter(program: Program, head: Block, names: frozenset[str]) -> tuple[Node, Any, int] | None:
    """What counts, up to what, in which steps."""
    condition = head.end.condition if isinstance(head.end, Branch) else None
    if not isinstance(condition, Node) or head.steps != (condition,) or condition.params.get("symbol") != "<":
        return None
    counter, bound = condition.args
    inside = _defined(program, names)
    if counter not in head.parameters or not is_int(counter) or not is_int(bound) or bound in inside:
        return None
    assert isinstance(head.end, Branch)
    if head.end.then.target not in names or head.end.other.target in names:
        return None
    step = _counters(program, head, names).get(counter, 0)
    return (counter, bound, step) if step > 0 else None


def _counters(program: Program, head: Block, names: frozenset[str]) -> dict[Node, int]:
    """The parameters that each round changes by a constant."""
    found: dict[Node, int] = {}
    for place, node in enumerate(head.parameters):
        steps = {affine(jump.args[place]) for jump in _backs(program, head, names)} if is_int(node) else set()
        if len(steps) == 1:
            ((root, step),) = steps
            if root is node and step:
                found[node] = step
    return found


def _defined(program: Program, names: frozenset[str]) -> set[Any]:
    return {node for block in program.blocks if block.name in names for node in (*block.parameters, *block.steps)}


def _backs(program: Program, head: Block, names: frozenset[str]) -> Iterator[Any]:
    return (
        jump
        for block in program.blocks
        if block.name in names
        for jump in block.jumps
        if jump.target == head.name
    )  # fmt: skip


def _as_they_stand(program: Program, head: Block, names: frozenset[str]) -> tuple[Block, ...] | None:
    """The blocks of the loop, in order, and those between them that only leave; None where the head is not first."""
    places = [number for number, block in enumerate(program.blocks) if block.name in names]
    blocks = program.blocks[places[0] : places[-1] + 1]
    return tuple(b for b in blocks if b.name in names or only_leaves(b)) if blocks[0] is head else None


def _ends_with_its_counter(program: Program, head: Block, blocks: Iterable[Block]) -> bool:
    """Whether control leaves the loop only at its head, but for where the whole program is left."""
    inside = {block.name for block in blocks}
    return all(
        jump.target in inside or only_leaves(program.block(jump.target))
        for block in blocks
        if block is not head
        for jump in block.jumps
    )


def _last(program: Program, head: Block, names: frozenset[str], steps: Mapping[Node, int]) -> dict[Node, Any] | None:
    """What the last round gives to what comes behind the loop; None where a round reads what another one has computed,
    or something behind the loop what is known only in rounds."""
    users = find_users(program)
    found: dict[Node, Any] = {}
    own = _defined(program, names)
    assert isinstance(head.end, Branch)
    going_on = set(iterate_nodes((head.end.then.args, *(step.args for step in head.steps))))
    for place, node in enumerate(head.parameters):
        given = [jump.args[place] for jump in _backs(program, head, names)]
        if node in steps or all(value is node for value in given):
            own.discard(node)
        elif users.get(node):
            alike = len({value if isinstance(value, Node) else repr(value) for value in given}) == 1
            value = given[0] if alike else None
            root = affine(value)[0] if is_int(value) else value
            if is_array(node) or node in going_on:
                return None
            if any(block.name in names and block is not head for block, _ in users[node]):
                return None
            is_unknown = value is None or (isinstance(root, Node) and root not in steps)
            found[node] = UNKNOWN if is_unknown else affine(value) if isinstance(root, Node) else value
            own.discard(node)
    return found if all(block.name in names for node in own for block, _ in users.get(node, ())) else None


Place = tuple[int, Node, Any]
"""What stands at a counter along an axis: the axis, the counter, the distance from it; of a tile what it has."""


class _Accesses:
    """What the rounds of a loop read and write of arrays from before it."""

    def __init__(
        self, blocks: Sequence[Block], owners: Owners, counters: Mapping[Node, int], strips: Mapping[Node, Node]
    ) -> None:
        self.steps = [step for block in blocks for step in block.steps]
        self.made = {step.name for step in self.steps if is_array(step) and step.target not in VIEWS}
        self.inside = set(self.steps) | {node for block in blocks[1:] for node in block.parameters}
        self.owners, self.counters, self.strips = owners, counters, strips
        self.apart: list[tuple[Node, Node]] = []
        self.tiles: set[Node] = set()
        self.entries = _entries(blocks)

    def places_written(self) -> tuple[tuple[Node, int], ...] | None:
        """Which places are written: counters, and the distances from them; None where rounds may meet."""
        if any(step.target in _NOT_SHARED for step in self.steps):
            return None
        written = {name for step in self.steps if step.target in STORES for name in self.owners[step.args[0]]}
        written -= self.made
        places: dict[Node, list[Place]] = {}
        roots: set[Node] = set()  # those that are written
        for step in self.steps:
            for array in self.touched(step):
                if self.owners[array].isdisjoint(written):
                    continue
                root, here = self.place(array, step)
                if root is None:
                    return None
                places[root] = [place for place in places[root] if place in here] if root in places else here
                if step.target in STORES and array is step.args[0]:
                    roots.add(root)
        if not all(places[root] for root in roots):
            return None
        others = [*roots, *(root for root in places if root not in roots)]
        self.apart = [
            (root, other)
            for number, root in enumerate(others)
            if root in roots
            for other in others[number + 1 :]
            if self.owners[root] & self.owners[other]
        ]
        found = [places[root][0] for root in places if root in roots]
        self.tiles = {distance for _, _, distance in found if isinstance(distance, Node)}
        return tuple((counter, 0 if isinstance(distance, Node) else distance) for _, counter, distance in found)

    def touched(self, step: Node) -> Iterator[Node]:
        """The arrays whose elements a step reads or writes; views are looked through where they are used."""
        if step.target in VIEWS or step.target == "size":
            return
        yield from (value for value in iterate_nodes(step.args) if is_array(value))

    def place(self, array: Node, step: Node) -> tuple[Node | None, list[Place]]:
        """The array from before the loop, and where all that is touched stands; None where that is not known."""
        key: Any = step.args[1] if step.target in ("load", "store_at") and step.args[0] is array else ()
        while array in self.inside:
            if array in self.entries:
                array = self.entries[array]
                continue
            if array.target not in VIEWS:
                return None, []
            key = array.args[1] if array.target == "view" else ()
            array = array.args[0]
        found: list[Place] = []
        for axis, item in enumerate(item for item in key if item is not None):
            root, offset = affine(item) if isinstance(item, Node) else (None, 0)
            if isinstance(root, Node):
                root = self.strips.get(root, root)
            if isinstance(root, Node) and root in self.counters:
                found.append((axis, root, offset))
            found += [(axis, counter, size) for counter, size in self.tile(item)]
        return array, found

    def tile(self, item: Any) -> Iterator[tuple[Node, Node]]:
        """Of a slice from ``counter * size`` to ``min(counter * size + size, the size of an axis)``: both. A stop that
        may be negative would be counted from the end."""
        if not isinstance(item, tuple) or item[3] is not None:
            return
        start, stop = item[1:3]
        if not (_is(start, "*") and _is(stop, "min") and _is(stop.args[0], "+") and _is_size(stop.args[1])):
            return
        counter, size = start.args
        is_tile = counter in self.counters and stop.args[0].args == (start, size) and size not in self.inside
        if is_tile and _is(size, "max") and any(type(value) is int and value >= 1 for value in size.args):
            yield counter, size


def _is(value: Any, symbol: str) -> bool:
    return isinstance(value, Node) and value.target == "number" and value.params["symbol"] == symbol and is_int(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, Node) and value.target == "size"


def _entries(blocks: Sequence[Block]) -> dict[Node, Node]:
    """The arrays that inner loops are given, and keep, and what these are."""
    found: dict[Node, Node] = {}
    for block in blocks[1:]:
        for place, node in enumerate(block.parameters):
            jumps = [jump for other in blocks for jump in other.jumps if jump.target == block.name]
            given = {jump.args[place] for jump in jumps} - {node}
            if is_array(node) and len(given) == 1:
                found[node] = given.pop()
    return found


def trips(program: Program, names: Mapping[str, frozenset[str]], head: str) -> tuple[Any, Any, int] | None:
    """Of a loop that counts up: where from, up to what, by what."""
    block = program.block(head)
    counted = _counter(program, block, names[head])
    if counted is None:
        return None
    counter, bound, step = counted
    place = block.parameters.index(counter)
    starts = {
        jump.args[place]
        for other in program.blocks
        if other.name not in names[head]
        for jump in other.jumps
        if jump.target == head
    }
    return (starts.pop(), bound, step) if len(starts) == 1 else None
