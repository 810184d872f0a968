"""What is known of a program before its C is written.

In: a program. Out: which memory each array may show (``owners``), who reads each value (``users``), and which maps over
arrays need no memory (``delayed``), since their elements are computed where their only reader wants them:

>>> delayed(program)               # y = (a * 2 + b).sum()
{%multiply, %add}
"""

from __future__ import annotations

from collections.abc import Mapping

from capture.inductor.vocabulary import DEAR, RULES
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import STORES, Block, Branch, Finish, Program, RankedType, owners_of

Owners = Mapping[Node, frozenset[str]]

MOST_DELAYED = 128
"""Maps that are computed in one loop nest."""


def is_array(value: object) -> bool:
    return isinstance(value, Node) and isinstance(value.type, RankedType)


def find_owners(program: Program) -> Owners:
    """The memory that arrays may show: that of an operand, or what a step has made; by name."""
    operands = frozenset(program.operands)

    def name(owner: Node) -> str:
        return f"operand {owner.name}" if owner in operands else owner.name

    return {node: frozenset(map(name, owners)) for node, owners in owners_of(program.blocks).items()}


def find_needed(program: Program, results: frozenset[int]) -> frozenset[Node]:
    """The values that decide where control goes, what is written, or one of the ``results`` that are read; others may
    be left out by a compiler."""
    made_of = {step: tuple(iterate_nodes((step.args, tuple(step.params.values())))) for step in program.steps}
    waiting: list[Node] = [value for step in program.steps if step.target in STORES for value in made_of[step]]
    for block in program.blocks:
        if isinstance(block.end, Branch):
            waiting += iterate_nodes((block.end.condition,))
        elif isinstance(block.end, Finish):
            waiting += iterate_nodes(tuple(value for n, value in enumerate(block.end.values) if n in results))
        for jump in block.jumps:
            for node, value in zip(program.block(jump.target).parameters, jump.args, strict=True):
                made_of[node] = made_of.get(node, ()) + tuple(iterate_nodes((value,)))
    found: set[Node] = set()
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting.extend(made_of.get(value, ()))
    return frozenset(found)


def find_users(program: Program) -> dict[Node, list[tuple[Block, int]]]:
    """Where each value is read: block, number of the step; the end of a block comes behind its last step."""
    users: dict[Node, list[tuple[Block, int]]] = {}
    for block in program.blocks:
        for number, step in enumerate(block.steps):
            for value in set(iterate_nodes((step.args, tuple(step.params.values())))):
                users.setdefault(value, []).append((block, number))
        for value in set(iterate_nodes(block.reads)):
            users.setdefault(value, []).append((block, len(block.steps)))
    return users


def delayed(program: Program, owners: Owners) -> set[Node]:
    """The maps over arrays whose elements are computed in the loops of another step of their block, the only one that
    reads them, before anything that they read may be overwritten."""
    users = find_users(program)
    found: set[Node] = set()
    for block in program.blocks:
        found |= _delayed_in(block, owners, users)
    return found


def _delayed_in(block: Block, owners: Owners, users: Mapping[Node, list[tuple[Block, int]]]) -> set[Node]:
    reads = _memory_read(block, owners)
    roots: dict[Node, int] = {}
    sizes: dict[int, int] = {}
    for number in range(len(block.steps) - 1, -1, -1):
        step = block.steps[number]
        if step.target != "map" or not is_array(step):
            continue
        found: set[int | None] = set()
        for where, user in users.get(step, []):
            inside = where is block and user < len(block.steps)
            found.add(_root(block, user, step, roots) if inside else None)
        if len(found) != 1 or None in found:
            continue
        (root,) = found
        assert root is not None
        overwritten = frozenset[str]().union(
            *(owners[other.args[0]] for other in block.steps[number + 1 : root] if other.target in STORES)
        )
        if overwritten.isdisjoint(reads[step]) and sizes.get(root, 0) < MOST_DELAYED:
            roots[step] = root
            sizes[root] = sizes.get(root, 0) + 1
    return set(roots)


def _root(block: Block, number: int, value: Node, roots: Mapping[Node, int]) -> int | None:
    """The step in whose loops a reader of ``value`` computes; None where it wants it in memory."""
    reader = block.steps[number]
    if reader.target == "map" and not is_array(reader):
        return None
    if reader.target == "map":
        repeats = reader.type.ndim > value.type.ndim or len(reader.type.ones) < len(value.type.ones)
        return None if repeats and is_dear(value) else roots.get(reader, number)
    is_stored = reader.target == "store" or bool(reader.params.get("whole"))
    if reader.target == "reduce" or (is_stored and reader.args[0] is not value and reader.args[-1] is value):
        return number
    return None


def is_dear(step: Node) -> bool:
    rule = RULES.get(step.params["op"])
    return rule is None or rule.cost >= DEAR


def _memory_read(block: Block, owners: Owners) -> dict[Node, frozenset[str]]:
    """For each map the memory that its elements are made of, those of maps before it in the block included."""
    reads: dict[Node, frozenset[str]] = {}
    for step in block.steps:
        if step.target == "map" and is_array(step):
            parts = (reads.get(value, owners[value]) | owners[value] for value in step.args if is_array(value))
            reads[step] = frozenset[str]().union(*parts)
    return reads
