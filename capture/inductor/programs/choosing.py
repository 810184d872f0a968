"""Short decisions that are made without a jump.

In: a program. Out: the same program, in which both ways of a decision that only choose between a few integers are
computed one after the other, and then a ``select`` chooses; the processor has nothing to guess:

    branch %odd then() other()              %a: int = number(%k, 3, symbol='*')     only tested where %odd
    then():   %a = number(%k, 3, '*')       %b: int = number(%k, 2, symbol='//')
              jump both(%a)           →     %c: int = select(%odd, %a, %b)
    other():  %b = number(%k, 2, '//')      jump both(%c)
              jump both(%b)

Where both ways do the same with other operands (``u * (u - left)`` or ``u * (right - u)``), of whatever type, operands
are chosen instead, and it is done once.

What keeps the largest or smallest so far, with where it was, is rarely another after a few rounds: there a jump that is
guessed right stays (``find_records``).

What leaves on one of the ways leaves only where control would have gone that way: ``Chosen.supposed`` knows such steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from capture.inductor.programs.counting import find_counted
from capture.inductor.programs.intervals import is_integer
from capture.ir.graph import Node, map_nodes
from capture.ir.program import STORES, Block, Branch, Jump, Program, RankedType
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass, replace

MOST = 4
"""Steps on both ways together."""

_NUMBERS = frozenset(
    {"+", "-", "*", "&", "|", "^", "<<", ">>", "unary -", "unary ~", "<", "<=", "==", "!=", ">", ">=",
     "not", "bool", "int", "abs", "min", "max", "//", "%"}
)  # fmt: skip
_MAPS = frozenset(
    {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "equal", "not_equal", "less", "less_equal", "greater",
     "greater_equal"}
)  # fmt: skip
_SLOW = frozenset({"//", "%"})
"""These are cheap only where they divide by a power of two."""

_ORDERS = frozenset({"<", "<=", ">", ">=", "less", "less_equal", "greater", "greater_equal"})

Supposition = tuple[Any, bool]
"""A condition, and what it must be."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A program without short decisions; ``supposed`` are the steps that stood on one way only, with what led there."""

    program: Program
    supposed: Mapping[Node, tuple[Supposition, ...]]


def without_short_decisions(program: Program) -> Chosen:
    supposed: dict[Node, tuple[Supposition, ...]] = {}
    blocks = {block.name: block for block in program.blocks}
    records = find_records(program)
    changed = True
    while changed:
        changed = False
        entries = Counter(jump.target for block in blocks.values() for jump in block.jumps)
        for name in list(blocks):
            found = _ways(blocks[name], blocks, entries) if name in blocks and name not in records else None
            if found is not None:
                made = _merged(blocks[name], found)
                if made is None and not _is_short(found):
                    continue
                blocks[name] = made or _chosen(blocks[name], found, blocks[found.both].parameters, supposed)
                for way in found.blocks:
                    del blocks[way.name]
                entries[found.both] -= 1
                changed = True
    return Chosen(replace(program, blocks=tuple(blocks.values())), supposed)


@dataclass(frozen=True, slots=True)
class _Ways:
    """Where both sides of a branch come together, with what, and the blocks in between."""

    both: str
    then: tuple[Any, ...]
    other: tuple[Any, ...]
    then_block: Block | None
    other_block: Block | None

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for block in (self.then_block, self.other_block) if block is not None)


def _ways(block: Block, blocks: Mapping[str, Block], entries: Mapping[str, int]) -> _Ways | None:
    """The ways of a block's decision, where these are short."""
    if not isinstance(block.end, Branch):
        return None
    sides = [_side(jump, blocks, entries) for jump in (block.end.then, block.end.other)]
    plain: list[tuple[Jump, Block | None]] = [(block.end.then, None), (block.end.other, None)]
    for then in (sides[0], plain[0]):
        for other in (sides[1], plain[1]):
            if then is None or other is None or (then[1] is None and other[1] is None):
                continue
            (one, then_block), (two, other_block) = then, other
            found = _Ways(one.target, one.args, two.args, then_block, other_block)
            if one.target == two.target and one.target != block.name and (_is_short(found) or _are_alike(found)):
                return found
    return None


def _side(jump: Jump, blocks: Mapping[str, Block], entries: Mapping[str, int]) -> tuple[Jump, Block | None] | None:
    """The jump at the end of a block that only this one leads to."""
    block = blocks[jump.target]
    if entries[block.name] != 1 or block.parameters or not isinstance(block.end, Jump):
        return None
    return block.end, block


def _is_short(ways: _Ways) -> bool:
    steps = [step for block in ways.blocks for step in block.steps]
    if len(steps) > MOST or not all(map(_is_cheap, steps)):
        return False
    pairs = [(one, two) for one, two in zip(ways.then, ways.other, strict=True) if one is not two]
    return len(pairs) <= MOST and not any(_is_array(value) for pair in pairs for value in pair)


def _is_array(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.type, RankedType)


def _is_cheap(step: Node) -> bool:
    if not is_integer(step) or not all(map(is_integer, step.args)):
        return False
    if step.target == "map":
        return step.params["op"] in _MAPS
    if step.target == "number" or step.target == "integer":
        symbol = step.params["symbol"]
        return symbol in _NUMBERS and (symbol not in _SLOW or _is_power(step.args[1]))
    return step.target in ("scalar", "select")


def _is_power(value: Any) -> bool:
    return type(value) is int and value > 0 and value & (value - 1) == 0


def _does_the_same(one: Node, other: Node) -> bool:
    return (one.target, one.args, one.params, one.type) == (other.target, other.args, other.params, other.type)


def _chosen(
    block: Block, ways: _Ways, parameters: Sequence[Node], supposed: dict[Node, tuple[Supposition, ...]]
) -> Block:
    """The block that computes both ways and chooses."""
    assert isinstance(block.end, Branch)
    condition = block.end.condition
    steps = list(block.steps)
    same: dict[Node, Node] = {}  # a step, and the one that does the same on the other way
    for way, holds in ((ways.then_block, True), (ways.other_block, False)):
        for step in way.steps if way is not None else ():
            args = map_nodes(step.args, lambda value: same.get(value, value))
            own = step if args == step.args else replace(step, args=args)
            twin = next((other for other in steps[len(block.steps) :] if _does_the_same(other, own)), None)
            if twin is not None:
                same[step] = twin
                supposed.pop(twin, None)  # it leaves on either way
                continue
            same[step] = own
            inner = [(same.get(other, other), must) for other, must in supposed.pop(step, ())]
            supposed[own] = ((condition, holds), *inner)
            steps.append(own)
    given: list[Any] = []
    for parameter, *both in zip(parameters, ways.then, ways.other, strict=True):
        one, two = (map_nodes(value, lambda node: same.get(node, node)) for value in both)
        if one is two:
            given.append(one)
            continue
        position = steps[-1].position if steps else None
        choice = (condition, one, two)
        steps.append(Node(f"{parameter.name}_chosen", "step", "select", choice, {}, parameter.type, position))
        given.append(steps[-1])
    return replace(block, steps=tuple(steps), end=Jump(ways.both, tuple(given)))


# Records ------------------------------------------------------------------------------------------------------------
LONG = 32
"""Rounds of a loop after which a record is rare."""


def find_records(program: Program) -> frozenset[str]:
    """The blocks, in long loops that count, that compare something with the best of the rounds before, and keep that
    and something else where it is better."""
    found = set[str]()
    for head, counted in find_counted(program).items():
        if isinstance(counted.bound, Node) or counted.bound < LONG:
            continue
        best = program.block(head).parameters
        for block in program.blocks:
            if block.name in counted.blocks and isinstance(block.end, Branch):
                pair = compared(block.end.condition)
                others = [one for one, other in (pair, pair[::-1]) if other in best and one not in best]
                kept = _brought(program, block.end.then)
                if others and others[0] in kept and len(kept) > 1:
                    found.add(block.name)
    return frozenset(found)


def compared(condition: Any) -> tuple[Any, Any]:
    """The two values of which a condition asks which is larger."""
    while isinstance(condition, Node) and condition.params.get("symbol") == "bool":
        condition = condition.args[0]
    name = condition.params.get("symbol", condition.params.get("op")) if isinstance(condition, Node) else None
    return condition.args if name in _ORDERS else (None, None)


def _brought(program: Program, jump: Jump) -> tuple[Any, ...]:
    """What comes out of a way: where its first block does no more than go on, what that gives."""
    block = program.block(jump.target)
    return block.end.args if not jump.args and isinstance(block.end, Jump) else jump.args


# Ways that do the same ----------------------------------------------------------------------------------------------
MOST_ALIKE = 8
"""Steps on each way."""


class _Unlike(Exception):
    """The ways do different things."""


class _Merging:
    """The steps of both ways as one: where they differ in a number or scalar, that is chosen."""

    def __init__(self, condition: Any, block: Block) -> None:
        self.condition = condition
        self.steps = list(block.steps)
        self.known: dict[tuple[Any, Any], Any] = {}  # of the ways, and what both have become
        self.own: set[Node] = set()  # what one way alone has made

    def merge(self, one: Any, two: Any) -> Any:
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            return tuple(map(self.merge, one, two))
        if one is two or (not isinstance(one, Node) and type(one) is type(two) and one == two):
            return one
        if (one, two) not in self.known:
            self.known[one, two] = self.choose(one, two)
        return self.known[one, two]

    def choose(self, one: Any, two: Any) -> Any:
        kinds = {getattr(value, "type", None) for value in (one, two)}
        if len(kinds) > 1 or not isinstance(one, Node) or not isinstance(one.type, NumberType | ArrayType):
            raise _Unlike
        if one in self.own or two in self.own:
            raise _Unlike
        choice = (self.condition, one, two)
        self.steps.append(Node(f"{one.name}_or", "step", "select", choice, {}, one.type, one.position))
        return self.steps[-1]

    def step(self, one: Node, two: Node) -> None:
        if (one.target, one.params, one.type) != (two.target, two.params, two.type) or one.target in STORES:
            raise _Unlike
        made = replace(one, name=f"{one.name}_both", args=self.merge(one.args, two.args))
        self.known[one, two] = made
        self.own |= {one, two}
        self.steps.append(made)


def _are_alike(ways: _Ways) -> bool:
    steps = [block.steps if block is not None else () for block in (ways.then_block, ways.other_block)]
    kinds = [[(step.target, step.params) for step in way] for way in steps]
    return kinds[0] == kinds[1] and 0 < len(kinds[0]) <= MOST_ALIKE


def _merged(block: Block, ways: _Ways) -> Block | None:
    """The block with what both ways do; None where they are not alike."""
    assert isinstance(block.end, Branch)
    if not _are_alike(ways) or ways.then_block is None or ways.other_block is None:
        return None
    merging = _Merging(block.end.condition, block)
    try:
        for one, two in zip(ways.then_block.steps, ways.other_block.steps, strict=True):
            merging.step(one, two)
        given = [merging.merge(one, two) for one, two in zip(ways.then, ways.other, strict=True)]
    except _Unlike:
        return None
    choices = sum(step.target == "select" for step in merging.steps[len(block.steps) :])
    if choices > MOST:
        return None
    return replace(block, steps=tuple(merging.steps), end=Jump(ways.both, tuple(given)))
