"""Where a loop begins and ends: control flow of a code object's instructions.

In: a code object and the index of an instruction. Out: the ``Part`` that begins there: blocks in an order in which all
ways to a block, but those of loops back to their heads, come before it, and where control goes behind it.

>>> part = part_from(code, 12)           # a FOR_ITER
>>> part.end, part.heads
(31, frozenset({12}))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capture.frames.bytecode import Code
from capture.records import dataclass

RAISING = frozenset({"RAISE_VARARGS", "RERAISE"})


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a code object with one entry, ``start``. ``end`` is the instruction that follows it on every way that
    raises nothing, None where it goes on to the end of the function. ``leaders`` begin blocks; ``heads`` are those of
    them to which a loop goes back; ``doomed`` are instructions behind which something is raised on every way.
    """

    start: int
    end: int | None
    leaders: tuple[int, ...]
    heads: frozenset[int]
    doomed: frozenset[int]
    bodies: dict[int, frozenset[int]]  # the instructions of each head's loop

    def assigned(self, code: Code, head: int) -> frozenset[str]:
        """The variables that a loop may bind anew."""
        return frozenset(
            code.instructions[index].arg for index in self.bodies[head] if code.instructions[index].op in _BINDING
        )


_BINDING = frozenset({"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"})


def heads_of(code: Code) -> frozenset[int]:
    """The instructions to which some jump goes back."""
    if "heads" not in code.found:
        code.found["heads"] = _heads(code)
    return code.found["heads"]  # type: ignore[no-any-return]


def _heads(code: Code) -> frozenset[int]:
    tail, own = code.tail, code.depths()[: code.own]
    reached = [index for index, depth in enumerate(own) if depth is not None]
    found = frozenset(after for index in reached for after, _ in code.successors(index) if after <= index)
    return found if tail is None else found.union(head + tail.ahead for head in heads_of(tail.kept))


def part_from(code: Code, start: int, whole: bool = False) -> Part:
    """The part that begins at ``start``: a loop with what follows until its ways meet, or with the ``whole`` rest."""
    if (start, whole) not in code.found:
        code.found[start, whole] = _part_from(code, start, whole)
    return code.found[start, whole]  # type: ignore[no-any-return]


def _part_from(code: Code, start: int, whole: bool) -> Part:
    ways = ways_of(code)
    order = _in_order(ways, start)
    place = {index: number for number, index in enumerate(order)}
    before: dict[int, list[int]] = {index: [] for index in order}
    for index in order:
        for after in ways[index]:
            before[after].append(index)
    bodies = {
        after: _body(before, after, [index for index in before[after] if place[index] >= place[after]])
        for after in order
        if any(place[index] >= place[after] for index in before[after])
    }
    doomed = _doomed(code, order)
    end = None if whole else _end(code, order, start, bodies.get(start, frozenset()), doomed)
    inside = _within(ways, start, end)
    leaders = tuple(
        index for index in order
        if index in inside and (index == start or len(before[index]) != 1 or len(set(ways[before[index][0]])) > 1)
    )  # fmt: skip
    heads = frozenset(head for head in bodies if head in inside)
    return Part(start, end, leaders, heads, doomed, {head: bodies[head] & inside for head in heads})


def ways_of(code: Code) -> Sequence[tuple[int, ...]]:
    """Where control goes from each instruction, if nothing is raised."""
    if "ways" not in code.found:
        code.found["ways"] = [
            () if instruction.op in RAISING else tuple(after for after, _ in code.successors(instruction.index))
            for instruction in code.instructions
        ]
    return code.found["ways"]  # type: ignore[no-any-return]


def _in_order(ways: Sequence[tuple[int, ...]], start: int) -> list[int]:
    """Instructions reachable from ``start``, each before those it leads to, but for the ways back."""
    order: list[int] = []
    seen = {start}
    waiting = [(start, iter(ways[start]))]
    while waiting:
        index, further = waiting[-1]
        after = next(further, None)
        if after is None:
            order.append(index)
            waiting.pop()
        elif after not in seen:
            seen.add(after)
            waiting.append((after, iter(ways[after])))
    return order[::-1]


def _body(before: dict[int, list[int]], head: int, backs: Iterable[int]) -> frozenset[int]:
    """The loop of a head: what leads to the ways back without passing the head."""
    body, waiting = {head}, list(backs)
    while waiting:
        index = waiting.pop()
        if index not in body:
            body.add(index)
            waiting.extend(before[index])
    return frozenset(body)


def _doomed(code: Code, order: list[int]) -> frozenset[int]:
    """Instructions from which every way ends in a ``raise``."""
    ways = ways_of(code)
    alive: set[int] = set()
    changed = True
    while changed:
        changed = False
        for index in reversed(order):
            if index not in alive:
                returns = code.instructions[index].op == "RETURN_VALUE"
                if returns or not alive.isdisjoint(ways[index]):
                    alive.add(index)
                    changed = True
    return frozenset(order) - alive


def _end(code: Code, order: list[int], start: int, body: frozenset[int], doomed: frozenset[int]) -> int | None:
    """The first instruction outside of the loop that all ways from ``start`` pass."""
    alive = [index for index in order if index not in doomed]
    bits = {index: 1 << number for number, index in enumerate(alive)}
    ways = {index: [after for after in ways_of(code)[index] if after in bits] for index in alive}
    every = (1 << len(alive)) - 1
    passed = dict.fromkeys(alive, every)  # sets of instructions, as bits
    changed = True
    while changed:
        changed = False
        for index in reversed(alive):
            found = every if ways[index] else 0
            for after in ways[index]:
                found &= passed[after]
            found |= bits[index]
            if found != passed[index]:
                passed[index] = found
                changed = True
    later = passed.get(start, 0)
    for index in (*body, start):
        later &= ~bits.get(index, 0)
    return next((index for index in alive if later & bits[index] and not later & ~passed[index]), None)


def _within(ways: Sequence[tuple[int, ...]], start: int, end: int | None) -> frozenset[int]:
    """Instructions between ``start`` and ``end``."""
    seen, waiting = {start}, [start]
    while waiting:
        for after in ways[waiting.pop()]:
            if after != end and after not in seen:
                seen.add(after)
                waiting.append(after)
    return frozenset(seen)
