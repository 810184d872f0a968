"""Which instructions of a generator can run outside of its frame, and where control goes in and out of these.

In: the code of a generator. Out: its ``Zones``. Yields, returns, handlers and loops with a yield in them stay in the
frame, *native*; what is between them may be captured. Control passes from one zone to the other only where the operand
stack holds nothing but objects:

    for x in xs:                # FOR_ITER: native, since it goes on behind a yield
        y = np.exp(x) * total   # captured: entered with [iterator, x], left with [iterator, y]
        yield y                 # native
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from capture.frames.bytecode import Code, popped, stack_effect
from capture.records import dataclass

SUSPENDING = frozenset({"YIELD_VALUE", "SEND"})
NATIVE = SUSPENDING | {
    *("RETURN_GENERATOR", "RESUME", "RETURN_VALUE", "GET_YIELD_FROM_ITER", "END_SEND", "CLEANUP_THROW"),
    *("PUSH_EXC_INFO", "IMPORT_STAR", "LOAD_LOCALS"),
}
WORK = frozenset(
    {
        *("BINARY_OP", "BINARY_SUBSCR", "STORE_SUBSCR", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT"),
        *("CALL", "CALL_FUNCTION_EX"),
    }
)
"""A piece without any of these is not worth leaving the frame for, unless all of a program is to be captured."""
WRITES = frozenset({"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"})
STOP_ITERATION = "STOPITERATION_ERROR"
"""What covers the whole body of a generator: a StopIteration becomes a RuntimeError."""


@dataclass(frozen=True, eq=False)
class Zones:
    """A generator's code, split in two."""

    code: Code
    native: frozenset[int]
    everything: bool = False
    """Whether pieces without work count."""

    def is_captured(self, index: int) -> bool:
        return index not in self.native and self.code.depths()[index] is not None

    def piece(self, entry: int) -> frozenset[int]:
        """The captured instructions that follow ``entry`` without anything native in between."""
        return _reached(self.code, entry, self.is_captured)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Captured instructions that native ones lead to, where there is work behind them."""
        start = self.code.body + 1
        found = {start} if self.is_captured(start) else set()
        for index in self.native:
            if self.code.depths()[index] is not None:
                found.update(after for after, _ in self.code.successors(index) if self.is_captured(after))
        return tuple(sorted(filter(self._is_worth_it, found)))

    def _is_worth_it(self, entry: int) -> bool:
        """A jump alone is none: no signal may arrive between a value passed on and the way back for the next."""
        found = {self.code.instructions[index].op for index in self.piece(entry)}
        if self.everything and self.exits(entry):
            return found != {"JUMP"}
        return not found.isdisjoint(WORK)

    def exits(self, entry: int) -> tuple[int, ...]:
        """Native instructions that the piece behind ``entry`` leads to: those of handlers last."""
        piece = self.piece(entry)
        after = {after for index in piece for after, _ in self.code.successors(index) if after in self.native}
        regions = (self.code.region_at(index) for index in piece)
        handlers = {region.target for region in regions if region and region.target in self.native}
        caught = sorted(index for index in handlers - after if not is_stop_iteration(self.code, index))
        return (*sorted(after), *caught)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """Local variables that captured instructions bind or unbind, in the order of their slots."""
        found = {i.arg for i in self.code.instructions if i.op in WRITES and self.is_captured(i.index)}
        return tuple(name for name in self.code.slots if name in found)


def is_stop_iteration(code: Code, index: int) -> bool:
    instruction = code.instructions[index]
    return instruction.op == "CALL_INTRINSIC_1" and instruction.arg == STOP_ITERATION


def zones_of(code: Code, everything: bool = False) -> Zones:
    """Start with what is native by itself, and add what would be entered or left where it cannot be."""
    native = set(_native_by_themselves(code))
    crossable = _crossable(code)
    reached = [index for index, depth in enumerate(code.depths()) if depth is not None]
    changed = True
    while changed:
        changed = False
        for index in (*reached, *reversed(reached)):
            ways = [after for after, _ in code.successors(index)]
            region = code.region_at(index)
            if region is not None and region.target in native and index not in native:
                ways.append(region.target)
            for after in ways:
                if (index in native) != (after in native) and not crossable[after]:
                    native |= {index, after}
                    changed = True
    return Zones(code, frozenset(native), everything)


def _native_by_themselves(code: Code) -> Iterator[int]:
    handling = handled(code)
    for instruction in code.instructions:
        index, op = instruction.index, instruction.op
        waits = op == "FOR_ITER" and any(code.instructions[i].op in SUSPENDING for i in _loop(code, index))
        if waits or index <= code.body or op in NATIVE or handling[index] or is_stop_iteration(code, index):
            yield index


def _loop(code: Code, index: int) -> frozenset[int]:
    """The instructions of a loop: while its iterator is on the stack."""
    depths, least = code.depths(), code.depths()[index] or 0
    return _reached(code, index + 1, lambda i: (depths[i] or 0) >= least)


def _reached(code: Code, start: int, within: Callable[[int], bool]) -> frozenset[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        index = waiting.pop()
        if index in found or not within(index):
            continue
        found.add(index)
        waiting.extend(after for after, _ in code.successors(index))
        region = code.region_at(index)
        if region is not None:
            waiting.append(region.target)
    return frozenset(found)


def _crossable(code: Code) -> list[bool]:
    """Before which instructions the stack holds only objects, and control can be moved elsewhere."""
    stacks: list[tuple[bool, ...] | None] = [None] * len(code)
    waiting: list[tuple[int, tuple[bool, ...]]] = [(0, ())]
    while waiting:
        index, stack = waiting.pop()
        known = stacks[index]
        merged = stack if known is None else tuple(a and b for a, b in zip(known, stack, strict=True))
        if merged == known:
            continue
        stacks[index] = merged
        region = code.region_at(index)
        if region is not None:
            waiting.append((region.target, (*merged[: region.depth], *[True] * (region.lasti + 1))))
        for after, jumps in code.successors(index):
            waiting.append((after, _objects_after(code, index, merged, jumps)))
    return [
        stack is not None and all(stack) and instruction.resumable
        for stack, instruction in zip(stacks, code.instructions, strict=True)
    ]


PAIRS = frozenset({"LOAD_METHOD", "LOAD_SUPER_METHOD"})


def _objects_after(code: Code, index: int, before: tuple[bool, ...], jumps: bool) -> tuple[bool, ...]:
    """Which slots certainly hold an object behind an instruction."""
    instruction, stack = code.instructions[index], list(before)
    op, arg = instruction.op, instruction.arg
    if op == "COPY":
        return (*stack, stack[-arg])
    if op == "SWAP":
        stack[-arg], stack[-1] = stack[-1], stack[-arg]
        return tuple(stack)
    if op in ("PUSH_NULL", "LOAD_FAST_AND_CLEAR"):
        return (*stack, False)
    depth = len(stack) + stack_effect(instruction, jumps)
    if op in PAIRS:
        return (*stack[: depth - 2], False, False)
    kept = stack[: min(len(stack) - popped(instruction), depth)]
    return (*kept, *[True] * (depth - len(kept)))


def handled(code: Code) -> list[frozenset[int] | None]:
    """Before each instruction the stack slots that hold what was handled before; None where control never comes."""
    depths = code.depths()
    found: list[frozenset[int] | None] = [None] * len(code)
    waiting: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while waiting:
        index, slots = waiting.pop()
        known, depth = found[index], depths[index]
        if depth is None or (known is not None and slots <= known):
            continue
        slots = found[index] = slots | (known or frozenset())
        instruction = code.instructions[index]
        region = code.region_at(index)
        if region is not None and instruction.op != "PUSH_EXC_INFO":
            waiting.append((region.target, frozenset(slot for slot in slots if slot < region.depth)))
        if instruction.op == "PUSH_EXC_INFO":
            slots |= {depth - 1}
        elif instruction.op == "POP_EXCEPT":
            slots -= {max(slots, default=-1)}
        waiting.extend((after, slots) for after, _ in code.successors(index))
    return found


def certainly_bound(code: Code) -> list[frozenset[str]]:
    """The local variables that have a value before each instruction, whichever way control came there."""
    original = code.original
    arguments = original.co_argcount + original.co_kwonlyargcount
    arguments += bool(original.co_flags & 0x04) + bool(original.co_flags & 0x08)
    found: list[frozenset[str] | None] = [None] * len(code)
    waiting: list[tuple[int, frozenset[str]]] = [(0, frozenset(original.co_varnames[:arguments]))]
    while waiting:
        index, bound = waiting.pop()
        known = found[index]
        merged = bound if known is None else known & bound
        if merged == known:
            continue
        found[index] = merged
        region = code.region_at(index)
        if region is not None:
            waiting.append((region.target, merged))
        instruction = code.instructions[index]
        if instruction.op == "STORE_FAST" and not _restores(code, index):
            merged |= {instruction.arg}
        elif instruction.op in WRITES:
            merged -= {instruction.arg}
        waiting.extend((after, merged) for after, _ in code.successors(index))
    return [bound or frozenset() for bound in found]


def _restores(code: Code, index: int) -> bool:
    """Whether a STORE_FAST gives a variable back what LOAD_FAST_AND_CLEAR took, which may be nothing."""
    name = code.instructions[index].arg
    return any(i.op == "LOAD_FAST_AND_CLEAR" and i.arg == name for i in code.instructions)
