"""A round of a loop, once more: its blocks with values of their own.

In: the blocks of a loop. Out: copies of them, in which the jumps back to its head go elsewhere:

    head(i): …  jump head(i + 1)     →     head_last(i): …  jump behind(i + 1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from capture.ir.graph import Node, map_nodes
from capture.ir.program import Block, Branch, End, Finish, Jump, RankedType
from capture.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Copied:
    """The copies, in the order of the blocks, and what has become of the values of these."""

    blocks: tuple[Block, ...]
    values: Mapping[Node, Any]


@dataclass(frozen=True, slots=True)
class Landing:
    """Where all copies of a loop go on: ``block``, whose parameters stand for the head's from there on (``values``);
    ``head`` is the loop's own, which goes there too.
    """

    block: Block
    values: dict[Node, Any]
    head: Block


def landing_behind(head: Block, name: str) -> Landing:
    """``name``: of its block, behind the head's."""
    assert isinstance(head.end, Branch)
    values: dict[Node, Any] = {node: replace(node) for node in head.parameters}
    block = Block(f"{head.name}_{name}", tuple(values.values()), (), with_values(head.end.other, values))
    return Landing(block, values, replace(head, end=replace(head.end, other=Jump(block.name, head.parameters))))


def copied(
    blocks: Sequence[Block],
    head: str,
    name: str,
    back: Callable[[Jump], Jump],
    more: Mapping[Node, Mapping[str, Any]] = MappingProxyType({}),
    instead: Mapping[Node, Node] = MappingProxyType({}),
) -> Copied:
    """``back`` gives what a jump to the head becomes, ``more`` the parameters that copies of steps have besides,
    ``instead`` the steps that are copied in the place of others. Blocks come behind those that they have values of."""
    names = {block.name: f"{block.name}_{name}" for block in blocks}
    values: dict[Node, Any] = {}
    for block in blocks:
        values.update((node, replace(node, name=_named(node, name))) for node in block.parameters)

    def moved(jump: Jump) -> Jump:
        mapped = with_values(jump, values)
        return back(mapped) if jump.target == head else replace(mapped, target=names.get(jump.target, jump.target))

    steps = {
        block.name: tuple(
            _copy(step, instead.get(step, step), name, values, more.get(step, {})) for step in block.steps
        )
        for block in blocks
    }
    made = tuple(
        Block(names[block.name], tuple(values[node] for node in block.parameters), steps[block.name],
              _end(block.end, moved, values))
        for block in blocks
    )  # fmt: skip
    return Copied(made, values)


def entering(block: Block, head: str, first: str) -> Block:
    """A block whose jumps to a loop go to what comes before it."""

    def to(jump: Jump) -> Jump:
        return replace(jump, target=first) if jump.target == head else jump

    if isinstance(block.end, Branch):
        return replace(block, end=replace(block.end, then=to(block.end.then), other=to(block.end.other)))
    return replace(block, end=to(block.end)) if isinstance(block.end, Jump) else block


def with_values(value: Any, values: Mapping[Node, Any]) -> Any:
    """A jump, or nested tuples of nodes and literals, with other values."""
    if isinstance(value, Jump):
        return replace(value, args=with_values(value.args, values))
    return map_nodes(value, lambda node: values.get(node, node))


def _named(node: Node, name: str) -> str:
    """Arrays have names of their own: they name the memory that they make."""
    return f"{node.name}_{name}" if isinstance(node.type, RankedType) else node.name


def _copy(step: Node, source: Node, name: str, values: dict[Node, Any], more: Mapping[str, Any]) -> Node:
    args, params = with_values(source.args, values), {**source.params, **more}
    values[step] = replace(source, name=_named(step, name), args=args, params=params)
    return values[step]  # type: ignore[no-any-return]


def _end(end: End, moved: Callable[[Jump], Jump], values: Mapping[Node, Any]) -> End:
    if isinstance(end, Branch):
        return Branch(with_values(end.condition, values), moved(end.then), moved(end.other))
    if isinstance(end, Finish):
        return Finish(with_values(end.values, values))
    return moved(end) if isinstance(end, Jump) else end
