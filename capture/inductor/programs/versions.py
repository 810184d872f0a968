"""Loops in two versions: in one all places exist, which is asked once before it; the other tests them in every round.

In: a program, and the steps whose places its kernel would test. Out: the same, with such loops twice:

    for room in range(capacity, weight - 1, -1):      if capacity - weight and 0 are places of best:
        best[room] = max(best[room],                      the loop, with ``sure`` places
                         best[room - weight] + value) else:
                                                          the loop

A place is looked at where it is a multiple of the counter and of what no round changes, added up: between the first
and the last round it is between what it is in these. Nothing else than places may be tested in every round of such a
loop, or else asking is not worth it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.inductor.programs.choosing import Chosen
from capture.inductor.programs.copying import copied, entering, landing_behind, with_values
from capture.inductor.programs.counting import Counted, find_counted
from capture.inductor.programs.facts import find_users
from capture.inductor.programs.ranges import is_int
from capture.inductor.programs.repeating import with_same
from capture.ir.graph import Node, map_nodes
from capture.ir.program import Block, Branch, Finish, Jump, Program
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass, field, replace

if TYPE_CHECKING:
    from capture.inductor.programs.function import Function

MOST_STEPS = 64
"""Steps of a round: they stand there twice."""
MOST_ASKED = 8
"""Places that are asked for before a loop."""

Tested = tuple[Node, int]
"""A step that reads or writes an element, and the axis along which it tests a place."""

EXIST = """\
/* Whether all places from the first to the last turn of a loop exist: numbers that may be too large for 64 bits. */
ALWAYS _Bool exist(i64 first, i64 last, i64 factor, __int128 rest, i64 size)
{
    const __int128 one = first * (__int128)factor + rest, other = last * (__int128)factor + rest;
    return one >= 0 && one < size && other >= 0 && other < size;
}
"""


@dataclass(frozen=True, slots=True)
class Linear:
    """``factor`` times the counter, and what no round changes; ``steps`` of the loop compute it."""

    factor: int
    terms: tuple[tuple[int, Node], ...]
    offset: int
    steps: frozenset[Node] = field(default=frozenset(), compare=False)

    def plus(self, other: Linear, sign: int, step: Node) -> Linear:
        factors: dict[Node, int] = {node: factor for factor, node in self.terms}
        for factor, node in other.terms:
            factors[node] = factors.get(node, 0) + sign * factor
        terms = tuple((factor, node) for node, factor in factors.items() if factor)
        steps = self.steps | other.steps | {step}
        return Linear(self.factor + sign * other.factor, terms, self.offset + sign * other.offset, steps)


@dataclass(frozen=True, slots=True)
class _Loop:
    head: Block
    blocks: tuple[Block, ...]
    counted: Counted
    places: Mapping[Tested, Linear]


def with_versions(chosen: Chosen, tested: frozenset[Tested]) -> Chosen:
    """The same program where no loop is worth it."""
    for name, counted in find_counted(chosen.program).items():
        loop = _loop(chosen.program, chosen.program.block(name), counted, tested)
        if loop is not None:
            chosen = _twice(chosen, loop)
    return chosen


# What to have twice -----------------------------------------------------------------------------------------------
def _loop(program: Program, head: Block, counted: Counted, tested: frozenset[Tested]) -> _Loop | None:
    blocks = tuple(block for block in program.blocks if block.name in counted.blocks)
    steps = [step for block in blocks for step in block.steps]
    asked = [(step, axis) for step, axis in tested if step in steps]
    inside = {node for block in blocks for node in (*block.parameters, *block.steps)}
    if not asked or len(steps) > MOST_STEPS or not leaves_by_head(program, head, blocks):
        return None
    places = {
        (step, axis): found
        for step in steps
        if step.target in ("load", "store_at") and step.args[0] not in inside
        for axis, place in enumerate(step.args[1])
        if (found := linear(place, counted.counter, inside)) is not None
    }
    if not all(place in places for place in asked) or len(_asked(places)) > MOST_ASKED:
        return None
    return _Loop(head, blocks, counted, places)


def leaves_by_head(program: Program, head: Block, blocks: Sequence[Block]) -> bool:
    """Whether control leaves a loop only by its head, none of whose steps is read elsewhere."""
    names = {block.name for block in blocks}
    if any(isinstance(block.end, Finish) for block in blocks):
        return False
    if any(jump.target not in names for block in blocks if block is not head for jump in block.jumps):
        return False
    return all(user is head for step in head.steps for user, _ in find_users(program).get(step, ()))


def linear(value: Any, counter: Node, inside: set[Node]) -> Linear | None:
    """A place as a sum; None where it is none."""
    if not isinstance(value, Node):
        return Linear(0, (), int(value))
    if value is counter:
        return Linear(1, (), 0)
    if not _is_wide(value):
        return None
    if value not in inside:
        return Linear(0, ((1, value),), 0)
    if value.target not in ("number", "integer"):
        return None
    symbol, args = value.params["symbol"], value.args
    parts = [linear(arg, counter, inside) for arg in args]
    if symbol == "int" and parts[0] is not None:
        return replace(parts[0], steps=parts[0].steps | {value})
    if symbol not in ("+", "-") or len(parts) != 2 or parts[0] is None or parts[1] is None:
        return None
    return parts[0].plus(parts[1], 1 if symbol == "+" else -1, value)


def _is_wide(value: Node) -> bool:
    """Whether a value is a Python int, or a scalar that counts as far."""
    if isinstance(value.type, NumberType):
        return is_int(value)
    return isinstance(value.type, ArrayType) and value.type.dtype == np.int64


def _asked(places: Mapping[Tested, Linear]) -> dict[tuple[Linear, Node, int], None]:
    return {(place, step.args[0], axis): None for (step, axis), place in places.items()}


# Twice ------------------------------------------------------------------------------------------------------------
def _twice(chosen: Chosen, loop: _Loop) -> Chosen:
    head, landing = loop.head, landing_behind(loop.head, "left")
    tested = landing.head
    blocks = [tested if block is head else block for block in loop.blocks]
    sure = copied(
        blocks, head.name, "sure", lambda jump: replace(jump, target=f"{head.name}_sure"), _certain(chosen, loop)
    )
    first = blocks.index(tested)
    copies = (sure.blocks[first], *sure.blocks[:first], *sure.blocks[first + 1 :])
    asks = _asking(loop)
    made: list[Block] = []
    for block in chosen.program.blocks:
        if block is head:
            made += (asks, *copies, tested, landing.block)
        elif block in loop.blocks:
            made.append(block)
        else:
            made.append(entering(with_same(block, landing.values), head.name, asks.name))
    supposed = dict(chosen.supposed)
    for step, what in chosen.supposed.items():
        if step in sure.values:
            supposed[sure.values[step]] = map_nodes(what, lambda node: sure.values.get(node, node))
    return Chosen(replace(chosen.program, blocks=tuple(made)), supposed)


def _asking(loop: _Loop) -> Block:
    """A block that finds out which of the versions it is to be."""
    head, counted = loop.head, loop.counted
    own = {node: replace(node) for node in head.parameters}
    steps: list[Node] = []

    def step(target: str, args: tuple[Any, ...], python: type, **params: Any) -> Node:
        steps.append(Node(f"{target}_{head.name}_{len(steps)}", "step", target, args, params, NumberType(python)))
        return steps[-1]

    found: Node | None = None
    for place, array, axis in _asked(loop.places):
        size = step("size", (array, axis), int)
        terms = tuple(node for _, node in place.terms)
        factors = (place.factor, *(factor for factor, _ in place.terms))
        args = (own[counted.counter], with_values(counted.bound, own), size, *terms)
        one = step("exist", args, bool, factors=factors, offset=place.offset, rises=counted.rises)
        found = one if found is None else step("number", (found, one), bool, symbol="&")
    assert found is not None
    params = tuple(own.values())
    end = Branch(found, Jump(f"{head.name}_sure", params), Jump(head.name, params))
    return Block(f"{head.name}_asks", params, tuple(steps), end)


def _certain(chosen: Chosen, loop: _Loop) -> dict[Node, dict[str, Any]]:
    """What the steps of the version with sure places have besides."""
    found: dict[Node, dict[str, Any]] = {}
    for step, axis in loop.places:
        found[step] = {"sure": (*found.get(step, {}).get("sure", ()), axis)}
    parts = {step for place in loop.places.values() for step in place.steps}
    users = find_users(chosen.program)

    def is_only_place(node: Node) -> bool:
        """Whether nothing but sure places is made of a value: then it does not matter how it comes about."""
        for block, number in users.get(node, ()):
            user = block.steps[number] if number < len(block.steps) else None
            if user in parts:
                continue
            if user is None or user.target not in ("load", "store_at") or node in (user.args[0], *user.args[2:]):
                return False
            if any(place is node and (user, axis) not in loop.places for axis, place in enumerate(user.args[1])):
                return False
        return True

    kept = {part for part in parts if not is_only_place(part)}
    while more := {arg for part in kept for arg in part.args if arg in parts} - kept:
        kept |= more
    return found | {part: {"wraps": True} for part in parts - kept if part.params["symbol"] in ("+", "-")}


# C ----------------------------------------------------------------------------------------------------------------
def write_exist(function: Function, step: Node) -> None:
    """Whether places exist in the first and the last turn of a loop."""
    first, bound, size, *terms = map(function.text, step.args)
    factor, *factors = step.params["factors"]
    function.help({"1_exist": EXIST})
    last = f"{bound} - 1" if step.params["rises"] else f"{bound} + 1"
    parts = [f"(__int128){term} * {f}" for term, f in zip(terms, factors, strict=True)]
    rest = " + ".join([*parts, f"({step.params['offset']})"])
    function.assign(step, f"exist({first}, {last}, {factor}, {rest}, {size})")
