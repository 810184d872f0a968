"""Between which bounds the integers of a program are, so that few of them need a test of whether they fit.

In: a program, and what is known of its operands. Out: the lowest and the highest value of each integer, by block:

    state = 12345
    for i in range(n):                                      # 0 <= i < n
        state = (1103515245 * state + 12345) % 2147483648   # 0 <= state < 2**31: the product fits
        if state % 2 == 0:
            even += 1                                       # counts

Intervals of parameters grow round after round until nothing changes, in large steps after the first few; then what
the branches say makes them smaller again. What is only *counted*, by small steps from small numbers, cannot come to
``COUNT`` within the life of a machine; it is taken to stay below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from capture.inductor.programs.ranges import affine, entered_by, find_dominators, is_int
from capture.ir.graph import Node
from capture.ir.program import Block, Branch, Jump, Program, jumps_of
from capture.ir.types import ArrayType, NumberType

Interval = tuple[int, int]

LOWEST, HIGHEST = -(2**63), 2**63 - 1
ALL: Interval = (LOWEST, HIGHEST)
COUNT = 2**62 - 57
"""What counting does not reach; no sum or product of other bounds, so that it means just this."""
STEP = 16
"""The most that is added at a time where something is counted."""

_HIGH = (2**8 - 1, 2**31 - 1, 2**32 - 1, 2**53, COUNT, HIGHEST)
_LOW = (0, -1, -(2**31), -(2**53), -COUNT, LOWEST)
_PATIENCE = 2
"""Rounds in which an interval grows by just as much as it must."""
_NARROWING = 2
_ROUNDS = 200
"""After so many, which no program needs, nothing is known."""

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_COMPARING = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

Condition = tuple[str, Any, Any]


def is_integer(value: Any) -> bool:
    """Whether a value is a Python int or bool, or an integer scalar."""
    if not isinstance(value, Node):
        return isinstance(value, int | np.integer | np.bool)
    if isinstance(value.type, NumberType):
        return value.type.python in (int, bool)
    return isinstance(value.type, ArrayType) and value.type.dtype.kind in "iub"


def bounds_of(dtype: np.dtype) -> Interval:
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def fits(interval: Interval, dtype: np.dtype = np.dtype(np.int64)) -> bool:  # noqa: B008
    low, high = bounds_of(dtype)
    return low <= interval[0] and interval[1] <= high


class Intervals:
    """``of`` a value where a block is; before that, everything is found out."""

    def __init__(
        self,
        program: Program,
        known: Mapping[Node, Interval],
        sizes: Mapping[Node, Sequence[Any]],
        supposed: Mapping[Node, Sequence[tuple[Any, bool]]],
        certain: Mapping[Node, Interval] = MappingProxyType({}),
    ) -> None:
        """``certain``: between which bounds some values are, as has been found before."""
        self.program, self.sizes, self.supposed = program, sizes, supposed
        dominators = find_dominators(program)
        self.conditions = {
            block.name: [fact for name in dominators[block.name] for fact in _holding(program, name)]
            for block in program.blocks
        }
        self.values: dict[Node, Interval] = {}
        self.here: dict[Node, Interval] = {}  # what the conditions of the block say
        self.growths: dict[Node, int] = {}
        for operand in program.operands:
            if is_integer(operand):
                self.values[operand] = known.get(operand, _default(operand))
        self.grow()
        for _ in range(_NARROWING):
            self.narrow()
        for node, bounds in certain.items():
            self.values[node] = _common(bounds, self.values.get(node, bounds))

    def enter(self, block: Block) -> None:
        """From here on ``of`` speaks of this block."""
        self.here = {}
        for _ in range(2):
            for symbol, left, right in self.conditions[block.name]:
                self.suppose(symbol, left, right)

    def of(self, value: Any) -> Interval:
        """The bounds of an integer; all numbers where nothing is known."""
        return self.find(value) or _default(value)

    def find(self, value: Any) -> Interval | None:
        """The bounds; None of what is not computed yet."""
        if not isinstance(value, Node):
            return int(value), int(value)
        found = self.values.get(value)
        if found is None:
            return None
        if value in self.here:
            found = _common(found, self.here[value])
        root, offset = affine(value) if is_int(value) else (value, 0)
        if isinstance(root, Node) and root is not value and root in self.here and root in self.values:
            low, high = _common(self.values[root], self.here[root])
            found = _common(found, (low + offset, high + offset))
        return found

    # conditions -------------------------------------------------------------------------------------------------
    def suppose(self, symbol: str, left: Any, right: Any) -> None:
        """That a comparison holds, from here on in the block."""
        (one, p), (other, q) = affine(left), affine(right)
        for root, offset, sign, value in ((one, p, symbol, right), (other, q, _SWAPPED[symbol], left)):
            if not isinstance(root, Node) or not is_integer(root):
                continue
            bounds, current = self.find(value), self.find(root)
            if bounds is None or current is None:
                continue
            low, high = bounds[0] - offset, bounds[1] - offset
            self.here[root] = _common(current, _compared(sign, current, (low, high)))

    @contextmanager
    def under(self, suppositions: Iterable[tuple[Any, bool]]) -> Iterator[None]:
        """Conditions hold, or do not, inside."""
        mark = dict(self.here)
        for condition, holds in suppositions:
            for symbol, left, right in _parts(condition, holds):
                self.suppose(symbol, left, right)
        yield
        self.here = mark

    # the fixed point --------------------------------------------------------------------------------------------
    def grow(self) -> None:
        changed, rounds = True, 0
        while changed:
            changed, rounds = False, rounds + 1
            if rounds > _ROUNDS:
                self.values.clear()
                return
            for block in self.program.blocks:
                changed |= self.evaluate(block)
                for node, found in self.given_by(block):
                    known = self.values.get(node)
                    joined = found if known is None else _joined(known, found)
                    if joined != known:
                        self.growths[node] = self.growths.get(node, 0) + 1
                        self.values[node] = _widened(known, joined) if self.growths[node] > _PATIENCE else joined
                        changed = True

    def narrow(self) -> None:
        """Everything once more, from what is known to hold."""
        given: dict[Node, Interval] = {}
        for block in self.program.blocks:
            self.evaluate(block)
            for node, found in self.given_by(block, again=False):
                given[node] = _joined(given[node], found) if node in given else found
        for node, found in given.items():
            self.values[node] = _common(self.values[node], found)

    def evaluate(self, block: Block) -> bool:
        """The steps of a block; whether any gives something else than before."""
        self.enter(block)
        changed = False
        for step in block.steps:
            if is_integer(step) and (found := self.result(step)) is not None:
                changed |= self.values.get(step) != found
                self.values[step] = found
        return changed

    def given_by(self, block: Block, again: bool = True) -> Iterator[tuple[Node, Interval]]:
        """What the jumps of an evaluated block give to parameters; or else, where they give one its own value raised
        (lowered), only the end towards which it goes: it began at the other end, or nearer."""
        for jump in jumps_of(block.end):
            with self.under(_taken(block, jump)):
                for node, value in zip(self.program.block(jump.target).parameters, jump.args, strict=True):
                    if is_integer(node) and (found := self.find(value)) is not None:
                        yield node, found if again else _towards(node, value, found)

    # steps ------------------------------------------------------------------------------------------------------
    def result(self, step: Node) -> Interval | None:
        """The bounds of what a step gives, where it does not leave."""
        if step.target == "size":
            array, axis = step.args
            size = self.sizes[array][axis] if array in self.sizes else None
            return (size, size) if isinstance(size, int) else (0, HIGHEST)
        if step.target == "reduce" and step.params["op"] in ("argmax", "argmin"):
            return (0, COUNT)  # a place
        if step.target == "select":
            condition, one, other = step.args
            with self.under(((condition, True),)):
                parts = [self.find(one)]
            with self.under(((condition, False),)):
                parts.append(self.find(other))
            known = [part for part in parts if part is not None]
            return _joined(known[0], known[-1]) if known else None
        if step.target == "scalar" and is_integer(step.args[0]):
            found = self.find(step.args[0])
            return found and _common(found, bounds_of(step.type.dtype))
        if step.target in ("number", "integer") and all(map(is_integer, step.args)):
            found = self.natural(step)
            return found and _common(found, _multiples(step) if is_int(step) else _default(step))
        return _default(step)

    def natural(self, step: Node) -> Interval | None:
        """The bounds of what arithmetic gives before it is asked whether that fits; None of what is not known yet."""
        with self.under(self.supposed.get(step, ())):
            operands = [self.find(value) for value in step.args]
        if any(operand is None for operand in operands):
            return None
        rule = _RULES.get(step.params["symbol"])
        return _default(step) if rule is None else rule(*operands)


def _holding(program: Program, name: str) -> list[Condition]:
    """What is certain in a block for the only branch that leads to it."""
    found = entered_by(program, name)
    return [] if found is None else list(_parts(*found))


def _taken(block: Block, jump: Jump) -> list[tuple[Any, bool]]:
    """What is certain where a block's jump is taken."""
    end = block.end
    return [(end.condition, jump is end.then)] if isinstance(end, Branch) and end.then is not end.other else []


def _parts(condition: Any, holds: bool) -> Iterator[Condition]:
    """The comparisons of integers that a condition is made of."""
    if not isinstance(condition, Node):
        return
    if condition.target == "map" and condition.params["op"] in _COMPARING and all(map(is_integer, condition.args)):
        symbol = _COMPARING[condition.params["op"]]
        yield (symbol if holds else _OPPOSITE[symbol]), *condition.args
    if condition.target != "number":
        return
    symbol, args = condition.params["symbol"], condition.args
    if symbol in ("not", "bool"):
        if is_int(args[0]) and isinstance(args[0], Node):
            yield ("!=" if (symbol == "bool") == holds else "=="), args[0], 0
        else:
            yield from _parts(args[0], holds != (symbol == "not"))
    elif symbol == "&" and holds:
        for arg in args:
            yield from _parts(arg, True)
    elif symbol in _OPPOSITE and all(map(is_int, args)):
        yield (symbol if holds else _OPPOSITE[symbol]), *args


# Intervals --------------------------------------------------------------------------------------------------------
def _default(value: Any) -> Interval:
    if not isinstance(value, Node):
        return int(value), int(value)
    if isinstance(value.type, NumberType):
        return (0, 1) if value.type.python is bool else ALL
    return bounds_of(value.type.dtype)


def _multiples(step: Node) -> Interval:
    """The bounds of what an int may be: where it is a multiple of a number, those of multiples."""
    factors = [arg for arg in step.args if type(arg) is int and arg > 1 and step.params["symbol"] == "*"]
    factor = factors[0] if factors else 1
    return -(-LOWEST // factor) * factor, HIGHEST // factor * factor


def _joined(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])


def _common(one: Interval, other: Interval) -> Interval:
    """What both allow; where that is nothing, no value comes here and either will do."""
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else one


def _towards(node: Node, value: Any, found: Interval) -> Interval:
    """The bounds of what a parameter gets, where that is not just what it was, on the side to which it goes."""
    root, offset = affine(value) if is_int(value) else (value, 0)
    if root is not node:
        return found
    return (found[1], found[1]) if offset > 0 else (found[0], found[0])


def _widened(known: Interval | None, found: Interval) -> Interval:
    if known is None:
        return found
    low, high = found
    if low < known[0]:
        low = next(limit for limit in (*_LOW, low) if limit <= low)
    if high > known[1]:
        high = next(limit for limit in (*_HIGH, high) if limit >= high)
    return low, high


def _compared(symbol: str, current: Interval, other: Interval) -> Interval:
    """What is left of an interval that compares so with another."""
    low, high = current
    if symbol in ("<", "<="):
        return low, other[1] - (symbol == "<")
    if symbol in (">", ">="):
        return other[0] + (symbol == ">"), high
    if symbol == "==":
        return other
    if other[0] == other[1]:
        return low + (low == other[0]), high - (high == other[0])
    return current


def _sum(a: Interval, b: Interval) -> Interval:
    low, high = a[0] + b[0], a[1] + b[1]
    for one, other in ((a, b), (b, a)):
        if other[0] >= -STEP and other[1] <= STEP:  # counting
            low = -COUNT if one[0] == -COUNT else low
            high = COUNT if one[1] == COUNT else high
    return low, high


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _corners(rule: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    def found(a: Interval, b: Interval) -> Interval:
        results = [rule(x, y) for x in a for y in b]
        return min(results), max(results)

    return found


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        b = (1, b[1]) if b[0] == 0 < b[1] else (b[0], -1) if b[1] == 0 > b[0] else b
    if b[0] <= 0 <= b[1]:
        size = max(abs(a[0]), abs(a[1]))
        return -size, size
    return _corners(lambda x, y: x // y)(a, b)


def _rest(a: Interval, b: Interval) -> Interval:
    low, high = min(b[0] + 1, 0), max(b[1] - 1, 0)
    if b[0] > 0 and a[0] >= 0:
        return (a if a[1] < b[0] else (0, min(high, a[1])))
    return low, high


def _mask(*intervals: Interval) -> int:
    """A number of ones that covers all bits of numbers that are not negative."""
    return (1 << max(high for _, high in intervals).bit_length()) - 1


def _size(*intervals: Interval) -> Interval:
    """Bounds of what has no more bits than any of these."""
    bits = max(max(low ^ (low >> 64), high ^ (high >> 64)) for low, high in intervals).bit_length()
    return -(1 << bits), (1 << bits) - 1


def _and(a: Interval, b: Interval) -> Interval:
    highs = [high for low, high in (a, b) if low >= 0]
    return (0, min(highs)) if highs else _size(a, b)


def _or(a: Interval, b: Interval) -> Interval:
    if a[0] >= 0 and b[0] >= 0:
        return max(a[0], b[0]), _mask(a, b)
    return _size(a, b)


def _xor(a: Interval, b: Interval) -> Interval:
    return (0, _mask(a, b)) if a[0] >= 0 and b[0] >= 0 else _size(a, b)


def _left(a: Interval, b: Interval) -> Interval:
    return _corners(lambda x, y: x << min(max(y, 0), 62))(a, b)


def _right(a: Interval, b: Interval) -> Interval:
    return _corners(lambda x, y: x >> min(max(y, 0), 63))(a, b)


def _absolute(a: Interval) -> Interval:
    high = max(abs(a[0]), abs(a[1]))
    return (min(abs(a[0]), abs(a[1])) if a[0] > 0 or a[1] < 0 else 0), high


def _same(a: Interval) -> Interval:
    return a


def _least(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), min(high for _, high in intervals)


def _most(*intervals: Interval) -> Interval:
    return max(low for low, _ in intervals), max(high for _, high in intervals)


_RULES: Mapping[str, Callable[..., Interval]] = {
    "+": _sum,
    "-": lambda a, b: _sum(a, _negative(b)),
    "*": _corners(lambda x, y: x * y),
    "//": _quotient,
    "%": _rest,
    "&": _and,
    "|": _or,
    "^": _xor,
    "<<": _left,
    ">>": _right,
    "unary -": _negative,
    "unary ~": lambda a: (~a[1], ~a[0]),
    "abs": _absolute,
    "min": _least,
    "max": _most,
    "int": _same,
    "round": _same,
    "math.floor": _same,
    "math.ceil": _same,
    "math.trunc": _same,
}
"""Bounds of results from bounds of operands, by symbol, in Python's unbounded integers."""
