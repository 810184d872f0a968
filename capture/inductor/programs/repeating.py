"""Elements that are read again, though nothing has written there since.

In: a program. Out: the same without these loads; whoever reads them has what was loaded, or stored, before:

    flow = un[i] * (un[i] - left) if un[i] > 0 else …        # un[i] is loaded once

What was loaded at the end of a block is known in those to which control comes only from there. A store leaves known
what is at another place for certain.
"""

from __future__ import annotations

from typing import Any

from capture.inductor.programs.contents import Contents, Key, key_of
from capture.ir.graph import Node, map_nodes
from capture.ir.program import STORES, Block, Branch, End, Finish, Jump, Program
from capture.ir.types import scalar_type
from capture.records import replace

Known = dict[Key, Any]
"""The elements that are in variables, by array and places."""


def without_repeated_loads(program: Program) -> Program:
    contents = Contents(program)
    befores: dict[str, list[str]] = {block.name: [] for block in program.blocks}
    for block in program.blocks:
        for jump in block.jumps:
            befores[jump.target].append(block.name)
    ends: dict[str, Known] = {}
    same: dict[Node, Any] = {}
    for block in program.blocks:
        before = befores[block.name]
        known = dict(ends.get(before[0], {})) if len(before) == 1 else {}
        for step in block.steps:
            _note(block, step, known, same, contents)
        ends[block.name] = known
    return with_others(program, same) if same else program


def _note(block: Block, step: Node, known: Known, same: dict[Node, Any], contents: Contents) -> None:
    if step.target == "load":
        key = key_of(step)
        if key in known:
            same[step] = known[key]
        else:
            known[key] = step
    elif step.target in STORES:
        for key in [key for key in known if contents.may_change(block, step, key)]:
            del known[key]
        value = same.get(step.args[-1], step.args[-1]) if isinstance(step.args[-1], Node) else None
        if step.target == "store_at" and isinstance(value, Node) and value.type == scalar_type(step.args[0].type.dtype):
            known[key_of(step)] = value


def with_others(program: Program, same: dict[Node, Any]) -> Program:
    """The program without the steps that are the same as others; readers have those. ``same`` gets the steps that are
    made anew for that."""
    return replace(program, blocks=tuple(with_same(block, same) for block in program.blocks))


def with_same(block: Block, same: dict[Node, Any]) -> Block:
    """One block of ``with_others``."""

    def other(node: Any) -> Any:
        while node in same:
            node = same[node]
        return node

    renewed: list[Node] = []
    for step in block.steps:
        if step in same:
            continue
        args = map_nodes(step.args, other)
        if args != step.args:
            same[step] = step = replace(step, args=args)
        renewed.append(step)
    return replace(block, steps=tuple(renewed), end=_end(block.end, other))


def _end(end: End, other: Any) -> End:
    if isinstance(end, Jump):
        return replace(end, args=map_nodes(end.args, other))
    if isinstance(end, Branch):
        sides = (replace(jump, args=map_nodes(jump.args, other)) for jump in (end.then, end.other))
        return Branch(map_nodes(end.condition, other), *sides)
    return replace(end, values=map_nodes(end.values, other)) if isinstance(end, Finish) else end
