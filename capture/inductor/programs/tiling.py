"""Loops over whole arrays, element by element: all rounds for a tile of the elements, then for the next one.

In: a program. Out: the same, with such loops twice. Where the arrays are larger than a tile, and alike, rows of them go
through all rounds while they are in the nearest cache:

    for _ in range(20):                    z_out = empty like z
        z = where(inside, z * z + c, z)    for t in range(0, rows, step):
        count += inside                        z_t, c_t, count_t = z[t : t + step], c[t : t + step], …
                                               for _ in range(20):
                                                   z_t = where(inside, z_t * z_t + c_t, z_t)
                                                   count_t += inside
                                               z_out[t : t + step] = z_t

In such a loop an element is made of the elements at its own place, and numbers of numbers; each array that is another
after a round is a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.inductor.programs.copying import copied, entering, landing_behind, with_values
from capture.inductor.programs.counting import natural_loops
from capture.inductor.programs.facts import find_owners, is_array
from capture.inductor.programs.repeating import with_same
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import DENSE, Block, Branch, Jump, Program, RankedType
from capture.ir.types import NumberType
from capture.records import dataclass, replace

TILE = 24 * 1024
"""Bytes of a tile: of all arrays of a round together."""

_OF_NUMBERS = frozenset({"number", "scalar", "integer", "complex", "select", "map"})
_OF_ARRAYS = frozenset({"map", "copy", "part"})


@dataclass(frozen=True, slots=True)
class _Loop:
    """Its head and its other blocks; arrays of the head that are new ones in each round, and those that stay; arrays
    from outside; all these have ``ndim`` axes, of which the first is divided."""

    head: Block
    body: tuple[Block, ...]
    new: tuple[Node, ...]
    same: tuple[Node, ...]
    outside: tuple[Node, ...]
    ndim: int
    step: int  # elements of a tile


def with_tiles(program: Program) -> Program:
    for name, names in natural_loops(program).items():
        loop = _loop(program, program.block(name), names)
        if loop is not None:
            program = _tiled(program, loop)
    return program


# What to divide ---------------------------------------------------------------------------------------------------
def _loop(program: Program, head: Block, names: frozenset[str]) -> _Loop | None:
    body = tuple(block for block in program.blocks if block.name in names and block is not head)
    if not _is_straight(head, body):
        return None
    (back,) = [jump for block in body for jump in block.jumps if jump.target == head.name]
    steps = [step for block in body for step in block.steps]
    arrays = [node for node in head.parameters if is_array(node)]
    given = dict(zip(head.parameters, back.args, strict=True))
    same = tuple(node for node in arrays if given[node] is node)
    new = tuple(node for node in arrays if node not in same)
    made = [given[node] for node in new]
    if len(set(made)) < len(made) or not all(each in steps and each.target in ("map", "copy") for each in made):
        return None
    known = {*head.parameters, *head.steps, *steps}
    read = [value for step in steps for value in iterate_nodes(step.args) if is_array(value)]
    stored = [step.args[0] for step in steps if step.target.startswith("store")]
    ndim = max((value.type.ndim for value in (*read, *new, *stored)), default=0)
    outside = tuple(dict.fromkeys(value for value in read if value not in known and value.type.ndim == ndim))
    loop = _Loop(head, body, new, same, outside, ndim, _elements(new, same, outside))
    if not ndim or not (new or stored) or not all(_is_of_elements(step, ndim) for step in steps):
        return None
    whole = (*arrays, *outside, *made)
    if any(0 in node.type.ones or node.type.ndim < ndim for node in whole):
        return None
    if any(node.type.layout != DENSE for node in new) or not _are_apart(program, loop, steps):
        return None
    return loop


def _is_straight(head: Block, body: Sequence[Block]) -> bool:
    """Whether a round is one way: the head decides by numbers whether there is another."""
    if not isinstance(head.end, Branch) or any(is_array(step) or step.target not in _OF_NUMBERS for step in head.steps):
        return False
    names = {block.name for block in body}
    if head.end.then.target not in names or head.end.other.target in {head.name, *names}:
        return False
    return all(isinstance(block.end, Jump) and not _arrays(block.parameters) for block in body) and len(body) <= 4


def _arrays(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if is_array(node)]


def _is_of_elements(step: Node, ndim: int) -> bool:
    arrays = [value for value in iterate_nodes(step.args) if is_array(value)]
    if step.target == "store":
        return step.args[0].type.ndim == ndim
    if step.target == "store_picked":
        target, mask, value = step.args
        return mask.type.ndim == target.type.ndim == ndim and (not is_array(value) or bool(step.params.get("whole")))
    if is_array(step):
        return step.target in _OF_ARRAYS
    return step.target in _OF_NUMBERS and not arrays


def _are_apart(program: Program, loop: _Loop, steps: Sequence[Node]) -> bool:
    """Whether what is written is seen by no other name."""
    owners = find_owners(program)
    seen = (*loop.new, *loop.same, *loop.outside)
    for step in steps:
        if step.target.startswith("store"):
            target = step.args[0].args[0] if step.args[0].target == "part" else step.args[0]
            if target not in (*loop.same, *loop.outside):
                return False
            if any(not owners[target].isdisjoint(owners[other]) for other in seen if other is not target):
                return False
    return True


def _elements(new: Sequence[Node], same: Sequence[Node], outside: Sequence[Node]) -> int:
    """The elements of a tile whose arrays, with the new ones of a round, are in the nearest cache."""
    width = sum(node.type.dtype.itemsize for node in (*new, *new, *same, *outside))
    return max(64, TILE // max(1, width))


# Tiles ------------------------------------------------------------------------------------------------------------
class _Writer:
    """Steps of a block."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Node] = []

    def step(self, target: str, *args: Any, type: Any, name: str = "", **params: Any) -> Node:
        made = Node(f"{name or target}_{self.name}_{len(self.steps)}", "step", target, args, params, type)
        self.steps.append(made)
        return made

    def whole(self, symbol: str, *args: Any) -> Node:
        return self.step("number", *args, type=NumberType(int), symbol=symbol, wraps=True)

    def truth(self, symbol: str, *args: Any) -> Node:
        return self.step("number", *args, type=NumberType(bool), symbol=symbol)

    def size(self, array: Node, axis: int) -> Node:
        return self.step("size", array, axis, type=NumberType(int))

    def rows(self, array: Node, start: Any, stop: Any) -> Node:
        return self.step("view", array, (("slice", start, stop, None),), type=array.type, name=array.name)


def _tiled(program: Program, loop: _Loop) -> Program:
    head, landing = loop.head, landing_behind(loop.head, "done")
    made: list[Block] = []
    for block in program.blocks:
        if block is head:
            made += (*_tiles(loop, landing.block.name), landing.head, landing.block)
        elif block in loop.body:
            made.append(block)
        else:
            made.append(entering(with_same(block, landing.values), head.name, f"{head.name}_size"))
    return replace(program, blocks=tuple(made))


def _tiles(loop: _Loop, landing: str) -> Sequence[Block]:
    """Blocks: whether to divide, what comes before the tiles, whether there is another one, its rows, its rounds, what
    becomes of them."""
    head = loop.head
    begun = {node: replace(node) for node in head.parameters}
    sizes, start, tile, end = (_Writer(f"{head.name}_{name}") for name in ("size", "start", "tile", "end"))
    # whether to divide
    arrays = [begun.get(node, node) for node in (*loop.new, *loop.same, *loop.outside)]
    lengths = [[sizes.size(array, axis) for axis in range(loop.ndim)] for array in arrays]
    rows, *others = lengths[0]
    each: Any = 1
    for length in others:
        each = sizes.whole("*", each, length)
    equal = [
        sizes.truth("==", length, first)
        for array, found in zip(arrays[1:], lengths[1:], strict=True)
        for axis, (length, first) in enumerate(zip(found, lengths[0], strict=True))
        if axis not in array.type.ones
    ]
    entered = _entered(sizes, head, begun)
    large = sizes.truth(">", sizes.whole("*", rows, each), loop.step)
    divides = entered
    for condition in (large, *equal):
        divides = sizes.truth("&", divides, condition)
    parameters = tuple(begun.values())
    asking = Block(
        sizes.name, parameters, tuple(sizes.steps), Branch(divides, Jump(start.name), Jump(head.name, parameters))
    )
    # before the tiles
    outs = {
        node: start.step("new", *lengths[number], type=_new_type(node), name=node.name, dtype=node.type.dtype)
        for number, node in enumerate(loop.new)
    }
    count = start.whole("max", start.whole("//", loop.step, start.whole("max", each, 1)), 1)
    tiles = start.whole("//", start.whole("+", rows, start.whole("-", count, 1)), count)
    numbers = tuple(node for node in head.parameters if node not in outs and node not in loop.same)
    number = Node(f"t_{tile.name}", "parameter", "", (), {}, NumberType(int))
    found = {node: replace(node, name=f"{node.name}_{tile.name}") for node in numbers}
    before = Block(start.name, (), tuple(start.steps), Jump(tile.name, (0, *(begun[node] for node in numbers))))
    # whether there is another one
    more = tile.truth("<", number, tiles)
    results = tuple(outs.get(node, begun[node] if node in loop.same else found.get(node)) for node in head.parameters)
    end_of_all = Branch(more, Jump(f"{tile.name}_rows"), Jump(landing, results))
    next_one = Block(tile.name, (number, *found.values()), tuple(tile.steps), end_of_all)
    # the rows of a tile
    part = _Writer(f"{tile.name}_rows")
    first = part.whole("*", number, count)
    last = part.whole("min", part.whole("+", first, count), rows)
    parts = {node: part.rows(begun.get(node, node), first, last) for node in (*loop.new, *loop.same, *loop.outside)}
    given = tuple(parts.get(node, begun[node]) for node in head.parameters)
    rounds = _rounds(loop, end.name, {node: parts[node] for node in loop.outside})
    dividing = Block(part.name, (), tuple(part.steps), Jump(rounds[0].name, given))
    # what becomes of them
    own = dict(zip(head.parameters, rounds[0].parameters, strict=True))
    for node, out in outs.items():
        end.step("store", end.rows(out, first, last), own[node], type=None)
    following = end.whole("+", number, 1)
    ending = Block(end.name, (), tuple(end.steps), Jump(tile.name, (following, *(own[node] for node in numbers))))
    return asking, before, next_one, dividing, *rounds, ending


def _entered(writer: _Writer, head: Block, begun: dict[Node, Any]) -> Node:
    """Whether the loop has a first round."""
    values: dict[Node, Any] = dict(begun)
    for step in head.steps:
        values[step] = replace(step, name=f"{step.name}_{writer.name}", args=with_values(step.args, values))
        writer.steps.append(values[step])
    assert isinstance(head.end, Branch)
    return with_values(head.end.condition, values)  # type: ignore[no-any-return]


def _rounds(loop: _Loop, end: str, parts: dict[Node, Node]) -> Sequence[Block]:
    """The loop over rows of its arrays."""
    head, exit = loop.head, loop.head.end
    assert isinstance(exit, Branch)
    whole = replace(head, end=replace(exit, other=Jump(end)))
    made = copied((whole, *loop.body), head.name, "tiled", lambda jump: replace(jump, target=f"{head.name}_tiled"))
    return [with_same(block, dict(parts)) for block in made.blocks]


def _new_type(node: Node) -> RankedType:
    return RankedType(node.type.dtype, node.type.ndim, DENSE, node.type.ones)
