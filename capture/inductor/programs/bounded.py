"""Loops that end soon for certain: they look at signals before they begin, and not in their turns.

In: a program, and between which bounds its ints are. Out: the nests of loops, of numbers and single elements, that have
at most ``CHUNK`` turns all together, by their first blocks:

    for i in range(60):                  head_i:    budget -= 60 * (1 + 61 * 101); if (budget < 0) …
        for j in range(60):              head_i_turn:
            while n < 100 and …:         head_j:                         /* nothing here */
                n += 1                   head_n:

A turn of a loop moves a counter by a constant, always up or always down: there are no more turns than numbers between
its bounds.
"""

from __future__ import annotations

from capture.inductor.programs.counting import CHUNK, FEW, is_single, natural_loops
from capture.inductor.programs.intervals import Intervals
from capture.inductor.programs.ranges import affine, is_int
from capture.ir.graph import Node
from capture.ir.program import Block, Program


def find_bounded(program: Program, intervals: Intervals) -> dict[str, int]:
    """The first blocks of loops that end soon; with the turns that are counted before the loop: of one within such a
    loop, and of one that has few, none."""
    loops = natural_loops(program)
    turns = {head: _most_turns(program, intervals, program.block(head), blocks) for head, blocks in loops.items()}
    total: dict[str, int] = {}
    for head in sorted(loops, key=lambda head: len(loops[head])):
        inside = [other for other in loops if other != head and other in loops[head]]
        nearest = [other for other in inside if not any(other in loops[above] for above in inside if above != other)]
        parts = [total.get(other) for other in nearest]
        steps = [step for block in program.blocks if block.name in loops[head] for step in block.steps]
        most = turns[head]
        if most is None or None in parts or not all(map(is_single, steps)):
            continue
        count = most * (1 + sum(part for part in parts if part is not None))
        if count <= CHUNK:
            total[head] = count
    nested = {head for head in total if any(head in loops[other] for other in total if other != head)}
    return {head: 0 if head in nested or count <= FEW else count for head, count in total.items()}


def _most_turns(program: Program, intervals: Intervals, head: Block, blocks: frozenset[str]) -> int | None:
    """The most turns that a loop may have; None where that is not known."""
    inside = [block for block in program.blocks if block.name in blocks]
    backs = [jump for block in inside for jump in block.jumps if jump.target == head.name]
    intervals.enter(head)
    found = [
        _turns(intervals, counter, [affine(jump.args[place]) for jump in backs])
        for place, counter in enumerate(head.parameters)
        if is_int(counter)
    ]
    return min((count for count in found if count is not None), default=None)


def _turns(intervals: Intervals, counter: Node, changes: list[tuple[object, int]]) -> int | None:
    if any(root is not counter for root, _ in changes):
        return None
    if not (all(offset > 0 for _, offset in changes) or all(offset < 0 for _, offset in changes)):
        return None
    low, high = intervals.of(counter)
    return high - low + 1
