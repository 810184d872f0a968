"""Maps over arrays that every round of a loop would compute alike: they are computed once, before it.

In: a program. Out: the same with such maps, and the views that they read, at the end of the block before the loop:

    for t in range(rounds):
        g = 2.0 * x.T @ (x @ w - y)      # 2.0 * x.T stays the same

A map may be moved if all that it reads is from outside of the loop and not written in it, and if whoever has its result
only reads that, so that one array does for all rounds. It is where it would be in memory anyway, or is dear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capture.inductor.programs.counting import natural_loops
from capture.inductor.programs.facts import Owners, delayed, find_owners, find_users, is_array, is_dear
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import STORES, Block, Jump, Program
from capture.records import replace

_READING = frozenset({"map", "reduce", "matmul", "load", "gather", "pick", "call"})
"""Steps that only read the arrays they are given."""

_STEADY = frozenset({"permute", "part"})
"""Views that cannot leave; as can those without a place that is computed."""


def with_maps_before_loops(program: Program) -> Program:
    """The program whose loops compute what stays the same once."""
    while (moved := _moved(program)) is not program:
        program = moved
    return program


def _moved(program: Program) -> Program:
    """One loop's maps before it; the program itself where there are none."""
    owners = find_owners(program)
    late = delayed(program, owners)
    home = {node: block.name for block in program.blocks for node in (*block.parameters, *block.steps)}
    for head, names in natural_loops(program).items():
        before = _block_before(program, head, names)
        if before is None:
            continue
        inside = [block for block in program.blocks if block.name in names]
        written = frozenset[str]().union(
            *(owners[step.args[0]] for block in inside for step in block.steps if step.target in STORES)
        )
        chosen = _steady_steps(program, inside, home, owners, written, late)
        if chosen:
            return _with_steps_in(program, before, chosen)
    return program


def _block_before(program: Program, head: str, names: frozenset[str]) -> Block | None:
    """The only block from which control comes to a loop, where it goes nowhere else."""
    befores = [block for block in program.blocks for jump in block.jumps if jump.target == head]
    outside = [block for block in befores if block.name not in names]
    return outside[0] if len(outside) == 1 and isinstance(outside[0].end, Jump) else None


def _steady_steps(
    program: Program,
    inside: Sequence[Block],
    home: Mapping[Node, str],
    owners: Owners,
    written: frozenset[str],
    late: set[Node],
) -> list[Node]:
    """The maps to move, each behind the views that it reads."""
    users = find_users(program)
    names = {block.name for block in inside}
    steady: dict[Node, list[Node]] = {}  # views and maps that could be moved, with what must be moved before
    chosen: dict[Node, None] = {}
    for block in inside:
        for step in block.steps:
            if not is_array(step) or step.target not in ("map", "view", *_STEADY) or not _is_certain(step):
                continue
            parts = [value for value in iterate_nodes(step.args) if home[value] in names]
            if not owners[step].isdisjoint(written) or any(part not in steady for part in parts):
                continue
            if any(is_array(value) and not owners[value].isdisjoint(written) for value in step.args):
                continue
            if step.target == "map" and not _is_only_read(step, users):
                continue
            steady[step] = [*(above for part in parts for above in steady[part]), step]
            if step.target == "map" and (step not in late or is_dear(step)):
                chosen.update(dict.fromkeys(steady[step]))
    return list(chosen)


def _is_certain(step: Node) -> bool:
    """Whether the step does not look at places that may not exist."""
    if step.target != "view":
        return True
    return all(item is None or (isinstance(item, tuple) and not any(iterate_nodes(item))) for item in step.args[1])


def _is_only_read(step: Node, users: Mapping[Node, Sequence[tuple[Block, int]]]) -> bool:
    for block, number in users.get(step, ()):
        if number >= len(block.steps):
            return False
        reader = block.steps[number]
        if reader.target not in _READING and not (reader.target == "store" and reader.args[0] is not step):
            return False
    return True


def _with_steps_in(program: Program, before: Block, steps: Sequence[Node]) -> Program:
    moved = set(steps)
    blocks = [
        replace(block, steps=(*block.steps, *steps))
        if block is before
        else replace(block, steps=tuple(step for step in block.steps if step not in moved))
        for block in program.blocks
    ]
    return replace(program, blocks=tuple(blocks))
