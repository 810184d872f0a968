"""What is known before each instruction of a code: the depth of the operand stack, which variables are still read.

In: a ``Code``. Out: a fact for each of its instructions. Code that ends with other code (``Code.tail``) takes over what
is known of that: control never goes back from there, so only the instructions before it are looked at.

>>> depths(decode((lambda x: x + 1).__code__))
(0, 0, 1, 2, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import TYPE_CHECKING

from capture.errors import InternalError
from capture.frames.instructions import JUMPS, READS, TERMINATORS, WRITES, Instruction, peak, stack_effect

if TYPE_CHECKING:
    from capture.frames.bytecode import Code

Depths = tuple[int | None, ...]


def depths(code: Code) -> Depths:
    """Follow every path from the entry. Raises InternalError where two paths disagree, as no valid code does."""
    own, tail = code.own, code.tail
    found: list[int | None] = [None] * own
    entered: dict[int, None] = {}  # instructions of the tail
    waiting = [(0, 0)]
    for back, at in () if tail is None else tail.returns:
        comes = tail.kept.depths()[at]  # type: ignore[union-attr]
        waiting += [] if comes is None else [(back, comes)]

    def fault(index: int, what: str) -> InternalError:
        return InternalError(f"{code.original.co_qualname}, instruction {index}: {what}")

    while waiting:
        index, depth = waiting.pop()
        while True:
            if index >= len(code):
                raise fault(index - 1, "control runs off the end")
            if depth < 0:
                raise fault(index, "stack underflow")
            known = found[index] if tail is None or index < own else tail.kept.depths()[index - own]
            if index >= own and known is not None:
                entered[index - own] = None
            if known is not None:
                if known != depth:
                    raise fault(index, f"stack depth {known} on one path, {depth} on another")
                break
            if index >= own:
                raise fault(index, "control comes where it never comes in the original")
            found[index] = depth
            region = code.region_at(index)
            if region is not None:
                if depth < region.depth:
                    raise fault(index, f"depth {depth} in a region that cuts the stack to {region.depth}")
                waiting.append((region.target, region.entry_depth))
            instruction = code.instructions[index]
            if instruction.op in JUMPS:
                waiting.append((instruction.arg, depth + stack_effect(instruction, jump=True)))
            if instruction.op in TERMINATORS:
                break
            depth += stack_effect(instruction)
            index += 1
    return tuple(found) if tail is None else (*found, *_depths_behind(tail.kept, *entered))


def _depths_behind(code: Code, *starts: int) -> Depths:
    """The depths where control comes to from any of ``starts``."""
    first, *others = [depths_behind(code, start) for start in starts] or [(None,) * len(code)]
    for other in others:
        first = tuple(b if a is None else a for a, b in zip(first, other, strict=True))
    return first


def depths_behind(code: Code, start: int) -> Depths:
    """The depths where control comes to from ``start``."""
    key = "depths behind", start
    if key not in code.found:
        known, reached, waiting = code.depths(), bytearray(len(code)), [start]
        while waiting:
            index = waiting.pop()
            if not reached[index]:
                reached[index] = 1
                waiting.extend(code.ways[index])
        code.found[key] = tuple(depth if there else None for depth, there in zip(known, reached, strict=True))
    return code.found[key]  # type: ignore[no-any-return]


def ways(code: Code) -> tuple[tuple[int, ...], ...]:
    """Where control goes from each instruction, exceptions included."""
    found: list[tuple[int, ...]] = []
    tail = code.tail
    for index in range(code.own):
        region = code.region_at(index)
        handler = () if region is None else (region.target,)
        found.append((*(after for after, _ in code.successors(index)), *handler))
    for after in () if tail is None else tail.kept.ways:
        found.append(tuple(index + tail.ahead for index in after))  # type: ignore[union-attr]
    return tuple(found)


def max_depth(code: Code) -> int:
    """Deepest physical stack: pieces of a split instruction do not count, the parts of a group do."""

    def deepest(instruction: Instruction, depth: int | None) -> int:
        return 0 if depth is None or instruction.part else depth + peak(instruction)

    own = max(starmap(deepest, zip(code.instructions[: code.own], code.depths(), strict=False)), default=0)
    return own if code.tail is None else max(own, code.tail.kept.max_depth)


Picks = Callable[[Instruction], bool]


def liveness(code: Code, known: list[int], reads: Picks, ends: Picks) -> list[int]:
    """Slots as bit masks (see ``Code.bits``), one per instruction: from the reads back to what ends the search.

    ``known`` is the answer for the tail.
    """
    bits, own = code.bits, code.own
    instructions = code.instructions[:own]
    steps: list[tuple[int, int]] = []  # per instruction: bits it reads, bits that survive it
    for instruction in instructions:
        bit = bits[instruction.arg] if instruction.op in READS or instruction.op in WRITES else 0
        steps.append((bit if bit and reads(instruction) else 0, ~bit if bit and ends(instruction) else -1))
    live = [0] * own + (known or [0])
    changed = True
    while changed:
        changed = False
        for index in range(own - 1, -1, -1):
            instruction = instructions[index]
            read, survives = steps[index]
            after = 0 if instruction.op in TERMINATORS else live[index + 1]
            if instruction.op in JUMPS:
                after |= live[instruction.arg]
            region = code.region_at(index)
            before = after & survives | read | (live[region.target] if region else 0)
            if before != live[index]:
                live[index] = before
                changed = True
    return live
