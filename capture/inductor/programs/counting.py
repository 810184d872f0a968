"""Loops of single elements that count: what the C compiler may vectorise, once nothing else stands in them.

In: a program. Out: its innermost loops that count up or down to a number by a constant, and do nothing but compute with
numbers, scalars and single elements. They look at signals not in each turn but after very many: turns up to a ``limit``
go round by themselves.

    head:      if (i >= n) goto behind;
               limit = n - i > CHUNK ? i + CHUNK : n;
    head_turn: …
               if (++i < limit) goto head_turn;
               goto head;
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capture.inductor.programs.ranges import affine, find_dominators, is_int
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import Block, Branch, Program, RankedType
from capture.records import dataclass

CHUNK = 1 << 20
"""Turns after which such a loop looks at signals."""

FEW = 64
"""Turns of which nothing is counted: loops around them look at signals."""

SINGLE = frozenset(
    {"number", "scalar", "integer", "map", "load", "store_at", "size", "select", "view", "permute", "exist"}
)
"""Steps that do not loop themselves."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop: its blocks, its counter, what that is compared with, and whether it rises."""

    blocks: frozenset[str]
    counter: Node
    bound: Any
    rises: bool


def find_counted(program: Program) -> Mapping[str, Counted]:
    """The loops, by the name of the block that tests the counter."""
    loops = natural_loops(program)
    found: dict[str, Counted] = {}
    for name, blocks in loops.items():
        is_innermost = not any(other in blocks for other in loops if other != name)
        if is_innermost and (counted := _counted(program, program.block(name), blocks)) is not None:
            found[name] = counted
    return found


def natural_loops(program: Program) -> dict[str, frozenset[str]]:
    """For each block that control comes back to from blocks it dominates: all blocks on the way."""
    dominators = find_dominators(program)
    before: dict[str, list[str]] = {block.name: [] for block in program.blocks}
    for block in program.blocks:
        for jump in block.jumps:
            before[jump.target].append(block.name)
    loops: dict[str, frozenset[str]] = {}
    for head in before:
        inside = {head}
        waiting = [name for name in before[head] if head in dominators[name]]
        if not waiting:
            continue
        while waiting:
            name = waiting.pop()
            if name not in inside:
                inside.add(name)
                waiting.extend(before[name])
        loops[head] = frozenset(inside)
    return loops


def find_left_over(program: Program) -> frozenset[Node]:
    """The steps of loops whose values nothing computes with in the innermost of these: a compiler computes them once,
    behind the last round."""
    loops = sorted(natural_loops(program).items(), key=lambda item: len(item[1]))
    found: set[Node] = set()
    seen: set[str] = set()
    for _, names in loops:
        blocks = [block for block in program.blocks if block.name in names]
        used = _used_in(blocks)
        found |= {step for block in blocks if block.name not in seen for step in block.steps if step not in used}
        seen |= names
    return frozenset(found)


def _used_in(blocks: Sequence[Block]) -> set[Node]:
    """What steps and decisions of these blocks are made of, by whatever jumps between them."""
    by_name = {block.name: block for block in blocks}
    steps = [step for block in blocks for step in block.steps]
    used = {value for step in steps for value in iterate_nodes((step.args, tuple(step.params.values())))}
    used |= {block.end.condition for block in blocks if isinstance(block.end, Branch)}
    moves = [
        (given, parameter)
        for block in blocks
        for jump in block.jumps
        if jump.target in by_name
        for parameter, given in zip(by_name[jump.target].parameters, jump.args, strict=True)
        if isinstance(given, Node)
    ]
    while more := {given for given, parameter in moves if parameter in used} - used:
        used |= more
    return used


def _counted(program: Program, head: Block, blocks: frozenset[str]) -> Counted | None:
    condition = head.end.condition if isinstance(head.end, Branch) else None
    if (
        not isinstance(condition, Node)
        or head.steps != (condition,)
        or condition.params.get("symbol") not in ("<", ">")
    ):
        return None
    counter, bound = condition.args
    if counter not in head.parameters or not is_int(bound) or not is_int(counter):
        return None
    assert isinstance(head.end, Branch)
    if head.end.then.target not in blocks or head.end.other.target in blocks:
        return None
    steps = [step for block in program.blocks if block.name in blocks for step in block.steps]
    if not all(map(is_single, steps)) or bound in steps:
        return None
    if any(bound in block.parameters for block in program.blocks if block.name in blocks):
        return None
    place, rises = head.parameters.index(counter), condition.params["symbol"] == "<"
    backs = [j.args[place] for b in program.blocks if b.name in blocks for j in b.jumps if j.target == head.name]
    changes = [affine(value) for value in backs]
    if any(root is not counter or (offset > 0) != rises or not offset for root, offset in changes):
        return None
    return Counted(blocks, counter, bound, rises)


def is_single(step: Node) -> bool:
    """Whether a step does not loop itself."""
    return step.target in SINGLE and not (step.target == "map" and isinstance(step.type, RankedType))
