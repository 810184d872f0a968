"""Elements that are read again, though nothing has written there since.

In: a program. Out: the same without these loads; whoever reads them has what was loaded, or stored, before:

    flow = un[i] * (un[i] - left) if un[i] > 0 else …        # un[i] is loaded once

What was loaded at the end of a block is known in those to which control comes only from there.
"""

from __future__ import annotations

from typing import Any

from capture.inductor.programs.facts import Owners, find_owners
from capture.ir.graph import Node, map_nodes
from capture.ir.program import STORES, Block, Branch, End, Finish, Jump, Program
from capture.ir.types import scalar_type
from capture.records import replace

Known = dict[tuple[Node, Any], Any]
"""The elements that are in variables, by array and places."""


def without_repeated_loads(program: Program) -> Program:
    owners = find_owners(program)
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
            _note(step, known, same, owners)
        ends[block.name] = known
    return replace(program, blocks=tuple(_with(block, same) for block in program.blocks)) if same else program


def _note(step: Node, known: Known, same: dict[Node, Any], owners: Owners) -> None:
    if step.target == "load":
        key = step.args[0], step.args[1]
        if key in known:
            same[step] = known[key]
        else:
            known[key] = step
    elif step.target in STORES:
        array = step.args[0]
        for key in [key for key in known if not owners[key[0]].isdisjoint(owners[array])]:
            del known[key]
        value = same.get(step.args[-1], step.args[-1]) if isinstance(step.args[-1], Node) else None
        if step.target == "store_at" and isinstance(value, Node) and value.type == scalar_type(array.type.dtype):
            known[array, step.args[1]] = value


def _with(block: Block, same: dict[Node, Any]) -> Block:
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
