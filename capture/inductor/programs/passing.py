"""Parameters that hold one value whichever way control comes: whoever reads them has that value.

In: a program, and parameters among which such ones may be. Out: the same without them:

    head(i, first): …                            head(i): …
      inner(…, first): …                     →     inner(…): …
      jump head(i + 1, first)                      jump head(i + 1)

What no round changes does not make a round wait for the one before, or take part in what rounds have to do with each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from capture.ir.graph import Node
from capture.ir.program import Block, Branch, Jump, Program
from capture.records import replace


def passed_on(program: Program, among: Collection[Node], value: Callable[[Any], Any]) -> dict[Node, Node]:
    """Such parameters, and what they hold; ``value`` gives what stands for another value."""
    given: dict[Node, list[Any]] = {node: [] for node in among}
    by_name = {block.name: block for block in program.blocks}
    for block in program.blocks:
        for jump in block.jumps:
            for node, arg in zip(by_name[jump.target].parameters, jump.args, strict=True):
                if node in given:
                    given[node].append(value(arg))
    found: dict[Node, Node | None] = dict.fromkeys(given)  # None: nothing is known yet; itself: several values
    changed = True
    while changed:
        changed = False
        for node, args in given.items():
            now = _only(node, args, found)
            if found[node] is not node and now is not found[node]:
                found[node], changed = (now if found[node] is None else node), True
    return {node: held for node, held in found.items() if held is not None and held is not node}


def _only(node: Node, args: list[Any], found: dict[Node, Node | None]) -> Node | None:
    """What all of these are, but for the parameter itself; itself where there are several."""
    held: Node | None = None
    for arg in args:
        if not isinstance(arg, Node):
            return node
        one = found.get(arg, arg)
        if one is None or one is node:
            continue
        if held is not None and one is not held:
            return node
        held = one
    return held


def without_parameters(program: Program, dropped: Collection[Node]) -> Program:
    """The program without parameters that nobody reads but jumps that pass them on."""
    kept = {
        block.name: [place for place, node in enumerate(block.parameters) if node not in dropped]
        for block in program.blocks
    }

    def less(jump: Jump) -> Jump:
        return replace(jump, args=tuple(jump.args[place] for place in kept[jump.target]))

    def renewed(block: Block) -> Block:
        end = block.end
        if isinstance(end, Branch):
            end = replace(end, then=less(end.then), other=less(end.other))
        elif isinstance(end, Jump):
            end = less(end)
        return replace(block, parameters=tuple(block.parameters[place] for place in kept[block.name]), end=end)

    return replace(program, blocks=tuple(map(renewed, program.blocks)))
