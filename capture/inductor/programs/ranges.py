"""What is certain of the ints of a program, so that places need no test.

In: a program, and where its writer stands. Out: proofs of differences:

    for i in range(1, n):          # 1 <= i, i <= n - 1 inside the loop
        for j in range(i):         # 0 <= j, j <= i - 1
            a[i - 1, j]            # both are places of a, whose sizes are n

A fact is ``left - right <= bound``, where both are roots: nodes, names of sizes, or None, which is zero. Facts come
from the branches that lead to a block, from counters (which only rise, or only fall), and from what tests have found
before, in the block or on every way to it. A proof adds up facts along the shortest path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from capture.ir.graph import Node
from capture.ir.program import Block, Branch, Program
from capture.ir.types import NumberType

Root = Node | str | None
Term = tuple[Root, int]
Fact = tuple[Root, Root, int]

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def is_int(value: Any) -> bool:
    if isinstance(value, Node):
        return isinstance(value.type, NumberType) and value.type.python is int
    return type(value) is int


def affine(value: Any) -> Term:
    """An int as a root and what is added to it."""
    offset = 0
    while isinstance(value, Node):
        symbol, args = value.params.get("symbol"), value.args
        if value.target != "number" or symbol not in ("+", "-", "int") or not all(map(is_int, args)):
            return value, offset
        if symbol == "int":
            value = args[0]
        elif not isinstance(args[1], Node):
            value, offset = args[0], offset + (args[1] if symbol == "+" else -args[1])
        elif symbol == "+" and not isinstance(args[0], Node):
            value, offset = args[1], offset + args[0]
        else:
            return value, offset
    return None, int(value) + offset


class Ranges:
    """Facts of a program; ``enter`` a block before asking."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dominators = find_dominators(program)
        self.home = {node: block.name for block in program.blocks for node in (*block.parameters, *block.steps)}
        self.always = [fact for facts in (_of_steps(program), _of_counters(program)) for fact in facts]
        self.here: list[Fact] = []
        self.tested: dict[str, list[Fact]] = {}  # what tests have found, by block
        self.new: list[Fact] = []  # those of this block

    def enter(self, block: Block) -> None:
        self.tested[block.name] = self.new = list[Fact]()
        above = self.dominators[block.name]

        def is_defined(root: Root) -> bool:
            return not isinstance(root, Node) or self.home[root] in above

        self.here = [fact for fact in self.always if is_defined(fact[0]) and is_defined(fact[1])]
        for name in above:
            self.here += (*_on_entry(self.program, name), *self.tested.get(name, ()))

    def add(self, left: Term, right: Term, bound: int) -> None:
        """From here on, in the block and where control comes only by way of it, ``left - right <= bound``."""
        self.new.append((left[0], right[0], bound + right[1] - left[1]))
        self.here.append(self.new[-1])

    def equate(self, left: Root, right: Term) -> None:
        """Two names of one value."""
        self.always += [(left, right[0], right[1]), (right[0], left, -right[1])]
        self.here += self.always[-2:]

    def proves(self, left: Term, right: Term, bound: int = 0) -> bool:
        """Whether ``left - right <= bound`` for certain."""
        goal = bound + right[1] - left[1]
        best: dict[Root, int] = {left[0]: 0}
        for _ in range(len(self.here)):
            changed = False
            for one, other, distance in self.here:
                if one in best and best[one] + distance < best.get(other, best[one] + distance + 1):
                    best[other], changed = best[one] + distance, True
            if right[0] in best and best[right[0]] <= goal:
                return True
            if not changed:
                break
        return right[0] in best and best[right[0]] <= goal


# Facts ------------------------------------------------------------------------------------------------------------
def _compared(symbol: str, left: Any, right: Any) -> Iterator[Fact]:
    """What a comparison that holds says."""
    (a, p), (b, q) = affine(left), affine(right)
    if symbol in ("<", "<=", "=="):
        yield a, b, q - p - (symbol == "<")
    if symbol in (">", ">=", "=="):
        yield b, a, p - q - (symbol == ">")


def entered_by(program: Program, name: str) -> tuple[Any, bool] | None:
    """The condition of the only branch that leads to a block, and whether it holds there."""
    befores = [block for block in program.blocks for jump in block.jumps if jump.target == name]
    if len(befores) != 1 or not isinstance(befores[0].end, Branch):
        return None
    end = befores[0].end
    return end.condition, end.then.target == name


def _on_entry(program: Program, name: str) -> Iterator[Fact]:
    """What the only branch that leads to a block says."""
    found = entered_by(program, name)
    if found is None:
        return
    condition, holds = found
    while isinstance(condition, Node) and condition.params.get("symbol") in ("not", "bool"):
        holds ^= condition.params["symbol"] == "not"
        condition = condition.args[0]
    if not isinstance(condition, Node) or condition.target != "number" or not all(map(is_int, condition.args)):
        return
    symbol = condition.params["symbol"]
    if symbol in _OPPOSITE:
        yield from _compared(symbol if holds else _OPPOSITE[symbol], *condition.args)


def _of_steps(program: Program) -> Iterator[Fact]:
    """What steps say of their results."""
    for step in program.steps:
        if step.target == "size":
            yield None, step, 0
        if step.target != "number" or not is_int(step) or not all(map(is_int, step.args)):
            continue
        symbol = step.params["symbol"]
        if symbol in ("min", "max"):
            for value in step.args:
                root, offset = affine(value)
                yield (step, root, offset) if symbol == "min" else (root, step, -offset)
        elif symbol == "%" and not isinstance(step.args[1], Node) and step.args[1] > 0:
            yield None, step, 0
            yield step, None, step.args[1] - 1


def _of_counters(program: Program) -> Iterator[Fact]:
    """Parameters that get their own value back, only raised or only lowered, or else one other value."""
    for block in program.blocks[1:]:
        jumps = [jump for other in program.blocks for jump in other.jumps if jump.target == block.name]
        for place, node in enumerate(block.parameters):
            if not is_int(node):
                continue
            given = [affine(jump.args[place]) for jump in jumps]
            steps = [offset for root, offset in given if root is node]
            starts = {term for term in given if term[0] is not node}
            yield from _counted(node, steps, starts)


def _counted(node: Node, steps: Iterable[int], starts: set[Term]) -> Iterator[Fact]:
    constants = [offset for root, offset in starts if root is None]
    if len(starts) == 1:
        ((root, low),) = starts
        high = low
    elif len(constants) == len(starts) and constants:
        root, low, high = None, min(constants), max(constants)
    else:
        return
    if all(step >= 0 for step in steps):
        yield root, node, -low
    if all(step <= 0 for step in steps):
        yield node, root, high


def find_dominators(program: Program) -> Mapping[str, list[str]]:
    """The blocks by way of which alone control comes to a block; it is one of them."""
    names = [block.name for block in program.blocks]
    before: dict[str, list[str]] = {name: [] for name in names}
    for block in program.blocks:
        for jump in block.jumps:
            before[jump.target].append(block.name)
    found = {name: set(names) for name in names}
    found[names[0]] = {names[0]}
    changed = True
    while changed:
        changed = False
        for name in names[1:]:
            inside = [found[other] for other in before[name]]
            now = {name} | (set.intersection(*inside) if inside else set())
            if now != found[name]:
                found[name], changed = now, True
    return {name: [other for other in names if other in found[name]] for name in names}
