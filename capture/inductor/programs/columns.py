"""Columns that inner loops go through again and again: they become rows of a transposed copy.

In: a program, and the sizes of its operands. Out: the same, with the outermost loops of which that is true twice:

    for k in range(n):                        if there are enough rounds for it:
        for j in range(k + 1, n):                 t = a.T.copy()
            a[:, j] -= a[:, k] @ a[:, j]          for k in range(n):
                                                      for j in range(k + 1, n):
                                                          t[j, :] -= t[k, :] @ t[j, :]
                                                  a[...] = t.T
                                              else:
                                                  the loop

What a column holds then stands side by side in memory, where processors compute with several elements at once. An array
that the loop does not write may be read in other ways too, which go on to read the array itself; of one that it writes
all that is read and written are columns and single elements. Where all sizes are known, there is one loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capture.inductor.programs.copying import copied, entering, landing_behind
from capture.inductor.programs.counting import natural_loops
from capture.inductor.programs.facts import Owners, find_owners, find_users, is_array
from capture.inductor.programs.ranges import is_int
from capture.inductor.programs.repeating import with_same
from capture.inductor.programs.rounds import trips
from capture.inductor.programs.versions import leaves_by_head
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import DENSE, NUMBERS, STORES, VIEWS, Block, Branch, Jump, Program, RankedType
from capture.ir.shapes import Size
from capture.ir.types import NumberType
from capture.records import dataclass, replace

ENOUGH = 4
"""How often each column must be gone through, on average, for a copy to pay; twice that where it is copied back."""

MOST_STEPS = 256
"""Steps of a loop, which stands there twice."""

_READING = frozenset({"map", "reduce", "matmul", "load", "size", "store", "store_at"})
"""Steps for which it does not matter where an array is."""

Sizes = Mapping[Node, tuple[Size, ...]]


@dataclass(frozen=True, slots=True)
class _Array:
    """One whose columns are gone through: the steps that become others, and whether it is written; of the loops around
    the columns, within the one that is changed, the rounds."""

    node: Node
    steps: tuple[Node, ...]
    is_written: bool
    rounds: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    head: Block
    blocks: tuple[Block, ...]
    arrays: tuple[_Array, ...]
    trips: tuple[Any, Any, int]


Rounds = tuple[Any, Any, int] | None
"""From where, up to what, by what a loop counts; None where that is not known before."""


def with_columns_as_rows(program: Program, sizes: Sizes) -> Program:
    loops = natural_loops(program)
    seen: set[str] = set()
    for head in sorted(loops, key=lambda head: -len(loops[head])):
        if head in seen:
            continue
        loop = _loop(program, loops, head)
        changed = program if loop is None else _changed(program, loop, sizes)
        if changed is not program:
            program = changed
            seen |= loops[head]
    return program


# What to change -----------------------------------------------------------------------------------------------------
def _loop(program: Program, loops: Mapping[str, frozenset[str]], head: str) -> _Loop | None:
    names = loops[head]
    blocks = tuple(block for block in program.blocks if block.name in names)
    count = trips(program, loops, head)
    if count is None or sum(len(block.steps) for block in blocks) > MOST_STEPS or blocks[0].name != head:
        return None
    if not leaves_by_head(program, blocks[0], blocks):
        return None
    owners, users = find_owners(program), find_users(program)
    inside = {node for block in blocks for node in (*block.parameters, *block.steps)}
    found = []
    for node in dict.fromkeys(step.args[0] for block in blocks for step in block.steps if _is_column(step)):
        if node not in inside and (array := _array(program, loops, head, node, owners, users)) is not None:
            found.append(array)
    return _Loop(blocks[0], blocks, tuple(found), count) if found else None


def _is_column(step: Node) -> bool:
    """``a[first:last, k]``."""
    if step.target != "view" or step.args[0].type.ndim != 2 or len(step.args[1]) != 2:
        return False
    rows, column = step.args[1]
    return isinstance(rows, tuple) and rows[3] in (None, 1) and (is_int(column) or type(column) is int)


def _array(
    program: Program,
    loops: Mapping[str, frozenset[str]],
    head: str,
    node: Node,
    owners: Owners,
    users: Mapping[Node, Sequence[tuple[Block, int]]],
) -> _Array | None:
    """What becomes of an array in a loop, if it is one whose columns become rows."""
    type = node.type
    if type.layout != DENSE or type.ones or type.dtype.kind not in "biuf":
        return None
    names = loops[head]
    blocks = [block for block in program.blocks if block.name in names]
    steps = [step for block in blocks for step in block.steps]
    columns = [step for step in steps if step.target == "view" and step.args[0] is node and _is_column(step)]
    if not all(_is_only_computed_with(step, users, names) for step in columns):
        return None
    mine = owners[node]
    is_written = any(step.target in STORES and not owners[step.args[0]].isdisjoint(mine) for step in steps)
    if is_written and not _is_all_of_columns(blocks, node, mine, owners):
        return None
    nests = [_around(program, loops, head, block) for block in blocks for step in block.steps if step in columns]
    rounds = max(nests, key=len)
    if not rounds:
        return None
    elements = [step for step in steps if is_written and step.target in ("load", "store_at", "size")]
    changed = (*columns, *(step for step in elements if step.args[0] is node))
    return _Array(node, changed, is_written, rounds)


def _is_only_computed_with(
    view: Node, users: Mapping[Node, Sequence[tuple[Block, int]]], names: frozenset[str]
) -> bool:
    """Whether a view is only for steps of the loop that read or write elements: nobody asks what memory it shows."""
    for block, number in users.get(view, ()):
        if block.name not in names or number >= len(block.steps):
            return False
        user = block.steps[number]
        if user.target in VIEWS and not _is_only_computed_with(user, users, names):
            return False
        if user.target not in VIEWS and user.target not in _READING:
            return False
    return True


def _is_all_of_columns(blocks: Sequence[Block], node: Node, mine: frozenset[str], owners: Owners) -> bool:
    """Whether a loop goes to the memory of an array that it writes only by way of its columns and single elements."""
    own = {node}
    for block in blocks:
        for step in block.steps:
            is_view = step.target in VIEWS and step.args[0] in own
            if is_view and (step.args[0] is not node or _is_column(step)):
                own.add(step)
            read = [value for value in iterate_nodes((step.args, tuple(step.params.values()))) if is_array(value)]
            if any(value not in own and not owners[value].isdisjoint(mine) for value in read):
                return False
            if step not in own and node in read and (
                step.target not in ("load", "store_at", "size") or read.count(node) > 1
            ):
                return False
        names = {each.name for each in blocks}
        given = [value for jump in block.jumps if jump.target in names for value in iterate_nodes(jump.args)]
        if any(is_array(value) and not owners[value].isdisjoint(mine) for value in given):
            return False
    return True


def _around(program: Program, loops: Mapping[str, frozenset[str]], head: str, block: Block) -> tuple[Rounds, ...]:
    """The rounds of the loops around a block, within the one that begins at ``head``."""
    inner = [name for name, names in loops.items() if name != head and block.name in names and name in loops[head]]
    inner.sort(key=lambda name: -len(loops[name]))
    inside = {
        node for each in program.blocks if each.name in loops[head] for node in (*each.parameters, *each.steps)
    }
    found = [trips(program, loops, name) for name in inner]
    return tuple(None if each is None or not inside.isdisjoint(iterate_nodes(each)) else each for each in found)


# The other loop -----------------------------------------------------------------------------------------------------
class _Writer:
    """Steps of a block."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Node] = []

    def step(self, target: str, *args: Any, type: Any, **params: Any) -> Node:
        made = Node(f"{target}_{self.name}_{len(self.steps)}", "step", target, args, params, type)
        self.steps.append(made)
        return made

    def number(self, symbol: str, *args: Any) -> Any:
        """A float; literals are computed with here and now."""
        if not any(isinstance(arg, Node) for arg in args):
            return float(NUMBERS[symbol](*args))
        return self.step("number", *args, type=NumberType(float), symbol=symbol)


def _changed(program: Program, loop: _Loop, sizes: Sizes) -> Program:
    """The program in which the loop goes through copies, if there are enough rounds for it."""
    head, landing = loop.head, landing_behind(loop.head, "behind")
    begun: dict[Node, Any] = {node: replace(node) for node in head.parameters}
    asks = _Writer(f"{head.name}_asks")
    enough = _enough(asks, loop, sizes)
    if enough is False:
        return program
    parameters = tuple(begun.values())
    others = _with_copies(loop, landing.block.name)
    old = [landing.head, *loop.blocks[1:]]
    to_others = Jump(others[0].name, parameters)
    end = to_others if enough is True else Branch(enough, to_others, Jump(head.name, parameters))
    asking = Block(asks.name, parameters, tuple(asks.steps), end)
    made: list[Block] = []
    for block in program.blocks:
        if block is head:
            made += (asking, *others, *(old if enough is not True else ()), landing.block)
        elif block not in loop.blocks:
            made.append(entering(with_same(block, landing.values), head.name, asking.name))
    return replace(program, blocks=tuple(made))


def _enough(asks: _Writer, loop: _Loop, sizes: Sizes) -> Any:
    """Whether all columns are gone through often enough: known, or a number that tells it."""
    found: Any = True
    for array in loop.arrays:
        times = each = _count(asks, loop.trips)
        for rounds in array.rounds:  # where nothing is known, as many as in a triangle
            each = asks.number("*", each, 0.5) if rounds is None else _count(asks, rounds)
            times = asks.number("*", times, each)
        known = sizes[array.node][1] if array.node in sizes else None
        width = known if isinstance(known, int) else asks.step("size", array.node, 1, type=NumberType(int))
        least = asks.number("*", width, float(2 * ENOUGH if array.is_written else ENOUGH))
        if not isinstance(times, Node) and not isinstance(least, Node):
            one: Any = times >= least
        else:
            one = asks.step("number", times, least, type=NumberType(bool), symbol=">=")
        if one is False or found is True:
            found = one
        elif found is not False and one is not True:
            found = asks.step("number", found, one, type=NumberType(bool), symbol="&")
    return found


def _count(asks: _Writer, rounds: tuple[Any, Any, int]) -> Any:
    """How often a loop goes round, or less than nothing."""
    start, stop, step = rounds
    return asks.number("/", asks.number("-", asks.number("float", stop), asks.number("float", start)), float(step))


def _with_copies(loop: _Loop, landing: str) -> list[Block]:
    """Blocks: the copies, the loop over their rows, what becomes of them."""
    head, exit = loop.head, loop.head.end
    assert isinstance(exit, Branch)
    start, end = _Writer(f"{head.name}_transposed"), _Writer(f"{head.name}_columns_done")
    instead: dict[Node, Node] = {}
    for array in loop.arrays:
        dtype = array.node.type.dtype
        turned = start.step("permute", array.node, type=RankedType(dtype, 2), axes=(1, 0))
        rows = start.step("copy", turned, type=RankedType(dtype, 2, DENSE))
        instead |= {step: _instead(step, rows) for step in array.steps}
        if array.is_written:
            back = end.step("permute", rows, type=RankedType(dtype, 2), axes=(1, 0))
            end.step("store", array.node, back, type=None)
    begun = tuple(replace(node) for node in head.parameters)
    ended = tuple(replace(node) for node in head.parameters)
    whole = replace(head, end=replace(exit, other=Jump(end.name, head.parameters)))
    name = "columns"
    rounds = copied(
        (whole, *loop.blocks[1:]), head.name, name, lambda jump: replace(jump, target=f"{head.name}_{name}"),
        instead=instead,
    )  # fmt: skip
    return [
        Block(start.name, begun, tuple(start.steps), Jump(rounds.blocks[0].name, begun)),
        *rounds.blocks,
        Block(end.name, ended, tuple(end.steps), Jump(landing, ended)),
    ]


def _instead(step: Node, rows: Node) -> Node:
    """A step on the rows that are columns of an array, for one on these."""
    if step.target == "size":
        return replace(step, args=(rows, 1 - step.args[1]))
    args = (rows, tuple(reversed(step.args[1])), *step.args[2:])
    if step.target == "view":
        return replace(step, args=args, type=replace(step.type, layout=DENSE))
    return replace(step, args=args)
