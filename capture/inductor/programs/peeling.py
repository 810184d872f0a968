"""First and last rounds of loops that go round at the ends of an array, apart from the others.

In: a program. Out: the same, in which the first round of a loop that counts from 0 and reads at ``i - 1``, and the last
one where ``(i + 1) % n`` is 0, stand before and behind it; in between nothing is counted from the other end:

    for i in range(n):                          i = 0: left = x[-1] …
        left = x[i - 1]                   →     for i in range(1, n - 1): left = x[i - 1]; right = x[i + 1] …
        right = x[(i + 1) % n]                  i = n - 1: right = x[0] …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from capture.inductor.programs.copying import Landing, copied, landing_behind
from capture.inductor.programs.counting import Counted, find_counted
from capture.inductor.programs.ranges import affine
from capture.inductor.programs.repeating import with_same
from capture.ir.graph import Node
from capture.ir.program import Block, Branch, Finish, Jump, Program
from capture.records import dataclass, replace

MOST = 48
"""Steps of a round: they stand there three times."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop to be taken apart: its blocks, the block before it, whether its first or last round is another, and
    remainders that are nothing but what they are of in all rounds but the last."""

    head: Block
    blocks: tuple[Block, ...]
    before: Block
    counted: Counted
    first: bool
    whole: tuple[Node, ...]


def with_ends_apart(program: Program) -> Program:
    while True:
        found = (_loop(program, program.block(head), counted) for head, counted in find_counted(program).items())
        loop = next((loop for loop in found if loop is not None), None)
        if loop is None:
            return program
        program = _apart(program, loop)


# What to take apart ---------------------------------------------------------------------------------------------------
def _loop(program: Program, head: Block, counted: Counted) -> _Loop | None:
    blocks = tuple(block for block in program.blocks if block.name in counted.blocks)
    steps = [step for block in blocks for step in block.steps]
    entries = [block for block in program.blocks if any(jump.target == head.name for jump in block.jumps)]
    outside = [block for block in entries if block.name not in counted.blocks]
    if len(outside) != 1 or not isinstance(outside[0].end, Jump) or len(steps) > MOST or not counted.rises:
        return None
    if any(isinstance(block.end, Finish) or _leaves(block, counted) for block in blocks if block is not head):
        return None
    place = head.parameters.index(counted.counter)
    backs = [jump.args[place] for block in blocks for jump in block.jumps if jump.target == head.name]
    start = outside[0].end.args[place]
    if any(affine(value)[1] != 1 for value in backs) or type(start) is not int or start < 0:
        return None
    first = any(_is_behind(part, counted.counter, start) for step in steps for part in _places(step))
    whole = tuple(step for step in steps if _ends_with_last(step, counted))
    return _Loop(head, blocks, outside[0], counted, first, whole) if first or whole else None


def _leaves(block: Block, counted: Counted) -> bool:
    return any(jump.target not in counted.blocks for jump in block.jumps)


def _places(step: Node) -> tuple[Any, ...]:
    return step.args[1] if step.target in ("load", "store_at") else ()


def _is_behind(place: Any, counter: Node, start: int) -> bool:
    """Whether a place is counted from the end in the first round, and in no other."""
    root, offset = affine(place)
    return root is counter and start + offset == -1


def _ends_with_last(step: Node, counted: Counted) -> bool:
    """Whether a remainder is of what is smaller in all rounds but the last."""
    if step.target != "number" or step.params["symbol"] != "%":
        return False
    (root, offset), (other, size), (bound, end) = map(affine, (*step.args, counted.bound))
    return root is counted.counter and other is bound and offset > 0 and size == end - 1 + offset


# Taking apart ---------------------------------------------------------------------------------------------------------
def _apart(program: Program, loop: _Loop) -> Program:
    head, exit = loop.head, loop.head.end
    assert isinstance(exit, Branch) and isinstance(loop.before.end, Jump)
    landing = landing_behind(head, "behind")
    before, other, inside = loop.before, Jump(landing.block.name, head.parameters), dict[Node, Any]()
    condition: Node = exit.condition
    first, last = tuple[Block, ...](), tuple[Block, ...]()
    if loop.whole:
        last = _copies(loop, "last", landing, lambda jump: replace(jump, target=landing.block.name))
        bound, steps = _less(loop.counted.bound)
        before = replace(before, steps=(*before.steps, *steps))
        condition = replace(condition, args=(loop.counted.counter, bound))
        other = Jump(last[0].name, head.parameters)
        inside = {exit.condition: condition, **{step: step.args[0] for step in loop.whole}}
    if loop.first:
        first = _copies(loop, "first", landing, lambda jump: jump)
        before = replace(before, end=replace(loop.before.end, target=first[0].name))
    main = replace(head, steps=(condition,), end=Branch(condition, exit.then, other))
    made: list[Block] = []
    for block in program.blocks:
        if block is head:
            made += (*first, main, *last, landing.block)
        elif block in loop.blocks:
            made.append(with_same(block, inside))
        else:
            made.append(with_same(before if block is loop.before else block, landing.values))
    return replace(program, blocks=tuple(made))


def _copies(loop: _Loop, name: str, landing: Landing, back: Callable[[Jump], Jump]) -> tuple[Block, ...]:
    """A round that is no loop, its head first; what it would go round to is what ``back`` makes of that jump."""
    head = landing.head
    blocks = [head if block is loop.head else block for block in loop.blocks]
    made = copied(blocks, head.name, name, back).blocks
    first = blocks.index(head)
    return (made[first], *made[:first], *made[first + 1 :])


def _less(bound: Any) -> tuple[Any, Sequence[Node]]:
    """One less than a bound."""
    if not isinstance(bound, Node):
        return bound - 1, ()
    step = Node(f"{bound.name}_last", "step", "number", (bound, 1), {"symbol": "-"}, bound.type)
    return step, (step,)
