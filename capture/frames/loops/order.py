"""Arrays whose axes are not nested in C order: what NumPy makes of them is not, either.

In: the blocks of a program and the operands that are *turned*. Out: all arrays that may be. Programs make new arrays in
C order, so one that comes out of a loop must not be among them:

    for _ in range(n):
        m = m * 2          # of a transposed m; its elements would be nested as those of m
    return m
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import VIEWS, AnyBlock, RankedType, jumps_of
from capture.ir.types import ArrayType

_KEEPING = VIEWS | {"map", "reduce"}
"""Steps whose result is nested as what it is made of."""


def is_turned(type: Any) -> bool:
    """Whether an array of the graph may have its axes nested in another order than C's."""
    if not isinstance(type, ArrayType) or type.ndim < 2:
        return False
    if type.layout is None:
        return True
    moving = [rank for rank in type.layout.ranks if rank]
    return moving != sorted(moving, reverse=True)


def turned_arrays(blocks: Sequence[AnyBlock], turned: Iterable[Node]) -> set[Node]:
    """The operands given, and all that shows their memory or is made of them element by element."""
    by_name = {block.name: block for block in blocks}
    flows: list[tuple[Node, Node]] = []
    found = set(turned)
    for block in blocks:
        for step in block.steps:
            if not _has_axes(step):
                continue
            if step.target == "permute":
                found.add(step)
            elif step.target in _KEEPING:
                flows += [(step, value) for value in iterate_nodes(step.args) if _has_axes(value)]
        for jump in jumps_of(block.end):
            pairs = zip(by_name[jump.target].parameters, jump.args, strict=True)
            flows += [(parameter, value) for parameter, value in pairs if _has_axes(parameter)]
    changed = True
    while changed:
        more = {node for node, source in flows if source in found} - found
        found |= more
        changed = bool(more)
    return found


def _has_axes(value: Any) -> bool:
    """Whether a value is an array with an order of axes."""
    return isinstance(value, Node) and isinstance(value.type, RankedType) and value.type.ndim > 1
