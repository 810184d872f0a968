"""Integers that overflow: where a loop's rounds do nothing but compute, that is looked at once, behind the loop.

In: a program. Out: the sums and differences that may wrap around in a loop (``find_deferred``): whether one did is
kept in the sign of a variable, and the program leaves behind the last round. A test in each round would be an exit,
with which no compiler makes vectors:

    best[j] = max(best[j], best[j - w] + v)        sum = best[j - w] + v;
                                                   overflow |= (best[j - w] ^ sum) & (v ^ sum);

Nothing that has wrapped may lead anywhere: to a place, a division, a decision or the end of a loop. What is known of
integers elsewhere supposes that they have not.
"""

from __future__ import annotations

from collections.abc import Mapping

from capture.inductor.programs.counting import Counted
from capture.inductor.programs.facts import find_users
from capture.ir.graph import Node
from capture.ir.program import Block, Branch, Program
from capture.ir.types import ArrayType, NumberType

NAME = "overflow"

_HARMLESS = frozenset({"+", "-", "min", "max", "<", "<=", "==", "!=", ">", ">=", "bool", "not", "&", "|", "^", "int"})
_HARMLESS_MAPS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "maximum", "minimum"}
)


def find_deferred(program: Program, counted: Mapping[str, Counted], chains: frozenset[str]) -> frozenset[Node]:
    """The steps that may wrap around."""
    users = find_users(program)
    found: set[Node] = set()
    for head, loop in counted.items():
        blocks = [block for block in program.blocks if block.name in loop.blocks]
        if loop.blocks & chains or any(isinstance(block.end, Branch) for block in blocks if block.name != head):
            continue
        found |= {step for block in blocks for step in block.steps if _wraps(step) and _is_data(step, loop, users)}
    return frozenset(found)


def _wraps(step: Node) -> bool:
    if step.target not in ("number", "integer") or step.params["symbol"] not in ("+", "-") or len(step.args) != 2:
        return False
    if isinstance(step.type, NumberType):
        return step.type.python is int and all(_is_signed(arg) for arg in step.args)
    return _is_signed(step)


def _is_signed(value: object) -> bool:
    type = getattr(value, "type", None)
    if isinstance(type, NumberType):
        return type.python is int
    return type is None or (isinstance(type, ArrayType) and type.dtype.kind == "i")


def _is_data(step: Node, loop: Counted, users: Mapping[Node, list[tuple[Block, int]]]) -> bool:
    """Whether all that is made of a value in its loop is written to memory, or nothing."""
    waiting, seen = [step], {step}
    while waiting:
        node = waiting.pop()
        for block, number in users.get(node, ()):
            if block.name not in loop.blocks or number == len(block.steps):
                return False  # it is carried to the next round, or out of the loop
            user = block.steps[number]
            if user.target == "store_at" and node is user.args[2] and node not in user.args[1]:
                continue
            is_map = user.target == "map" and user.params["op"] in _HARMLESS_MAPS
            is_number = user.target in ("number", "integer") and user.params["symbol"] in _HARMLESS
            if not (is_map or is_number or user.target in ("select", "scalar")):
                return False
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return True


def kept(target: str, symbol: str, left: str, right: str) -> str:
    """C that notes whether a sum or difference has wrapped around."""
    return f"{NAME} |= ({left} ^ {target}) & ({right} ^ {target});" if symbol == "+" else (
        f"{NAME} |= ({left} ^ {right}) & ({left} ^ {target});"
    )
