"""Bytecode as one language on every supported CPython.

``decode(code)`` takes a code object and gives a ``Code``: canonical instructions, exception regions, and what the
tracer and the assembler need to know about them (stack depths, live variables, jump targets)::

    >>> [f"{i.op} {i.arg}" for i in decode((lambda x: x + 1).__code__).instructions]
    ['RESUME 0', 'LOAD_FAST x', "LOAD_CONST 1", 'BINARY_OP +', 'RETURN_VALUE None']

The canonical language

* Arguments are what they stand for: names, constants, operator symbols, instruction indices for jump targets.
* Every canonical instruction is exactly one or more *physical* instructions that could stand alone (``raws``), and
  the canonical operand stack is the physical one, slot by slot, NULLs included. So a frame can be stopped before
  any canonical instruction and rebuilt there.
* A call is ``CALL CallShape`` with the stack ``[first, second, argument, …]``. Who is called follows from the pair:
  NULL and callable in the order ``CallShape.null_first`` says, or (any version) callable and first argument; see
  ``callee`` and ``null_pair``. ``LOAD_METHOD`` pushes such a pair. Keyword names are in the shape, never on the
  stack. ``CALL_FUNCTION_EX`` has the same pair below its tuple.
* Every conditional jump and ``UNARY_NOT`` takes the truth of any object.
* An exhausted ``FOR_ITER`` pops its iterator and jumps.
* ``LOAD_FAST`` raises when the variable is unbound; ``LOAD_FAST_AND_CLEAR`` pushes NULL then, and ``STORE_FAST`` of
  NULL unbinds. Cells live in slots of the same name: ``LOAD_CLOSURE`` pushes the cell itself, ``*_DEREF`` work on
  what is in it, ``MAKE_CELL`` wraps what is in the slot. A name that is in ``Code.free`` is a free variable.
* ``MAKE_FUNCTION`` names its extra operands in stack order, code object on top.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from types import CodeType
from typing import Any, NamedTuple, TypeVar, overload

from capture.errors import InternalError
from capture.frames import flows
from capture.frames._hook import spare
from capture.frames.instructions import (
    JUMPS,
    NEEDS_CELL,
    READS,
    TERMINATORS,
    WRITES,
    Instruction,
    Region,
    callee,
    null_pair,
    operands,
    popped,
    stack_effect,
)
from capture.frames.reading import anchor, fold, indices, loop_end, read_exception_table, read_raws, split
from capture.frames.versions import (
    DIALECT,
    SLOT_ARGUMENTS,
    CallExShape,
    CallShape,
    Format,
    Position,
    Raw,
    SuperAttr,
    Tables,
    UnpackEx,
    words,
)
from capture.records import dataclass, replace

__all__ = [
    "JUMPS",
    "TERMINATORS",
    "CallExShape",
    "CallShape",
    "Code",
    "Format",
    "Instruction",
    "Position",
    "Raw",
    "Region",
    "SuperAttr",
    "UnpackEx",
    "callee",
    "decode",
    "null_pair",
    "operands",
    "popped",
    "slots_of",
    "stack_effect",
]


# -------------------------------------------------------------------------------------------- Code
SEES_LOCALS = frozenset(
    words("locals vars dir eval exec _getframe currentframe inspect f_locals evaluate query set_trace breakpoint")
)
"""Names through which code may read variables that it does not mention (numexpr.evaluate and DataFrame.query do)."""

NAMESPACES = frozenset(words("locals vars dir eval exec"))
"""Builtins that work in the namespace of the frame; ``vars`` and ``dir`` only without an argument."""


class Tail(NamedTuple):
    """The code that another one ends with, and what stands before it there."""

    kept: Code
    ahead: int  # instructions
    shift: int  # bytes
    numbers: tuple[int, ...]  # of its slots, there
    returns: tuple[tuple[int, int], ...] = ()  # instructions that control comes back to, and from which of ``kept``


class SlotUse(NamedTuple):
    """A byte that is the number of a slot, or of two."""

    at: int
    arg: int
    pair: bool


@dataclass(frozen=True, eq=False)
class Code:
    """A decoded code object."""

    original: CodeType
    raws: Sequence[Raw]
    instructions: Sequence[Instruction]
    regions: tuple[Region, ...]
    slots: tuple[str, ...]  # name of each frame slot: locals, cells, free variables
    cells: frozenset[str]  # slots that hold cells of this frame's own
    free: dict[str, int]  # free variable's slot name -> index into the function's closure
    tail: Tail | None = None

    @cached_property
    def found(self) -> dict[Any, Any]:
        """What others have found out about the code, to be found out once: it dies with it."""
        return {}

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.instructions))

    @property
    def own(self) -> int:
        """How many instructions there are without those of the tail."""
        return len(self) if self.tail is None else self.tail.ahead

    @cached_property
    def body(self) -> int:
        """Index of the first instruction behind what makes a frame's cells and the RESUME."""
        return next((i.index for i in self.instructions if i.resumable), 0)

    @cached_property
    def jump_targets(self) -> frozenset[int]:
        """Indices that a jump or an exception leads to."""
        jumps = (i.arg for i in self.instructions if i.op in JUMPS)
        return frozenset(jumps).union(region.target for region in self.regions)

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        firsts = [i for i in self.instructions if i.part == 0]
        return [i.offset for i in firsts], [i.index for i in firsts]

    def raw_index(self, offset: int) -> int:
        """Index of the instruction that the byte at ``offset`` belongs to (``frame.f_lasti``, say)."""
        offsets, indices = self._starts
        at = bisect_right(offsets, offset) - 1
        if at < 0 or offset >= self.instructions[-1].end:
            raise InternalError(f"{self.original.co_qualname} has no instruction at offset {offset}")
        return indices[at]

    @cached_property
    def entrances(self) -> dict[int, int]:
        """Index of the instruction that a jump to an offset leads to."""
        found = {i.offset: i.index for i in self.instructions if i.part == 0}
        return {**found, len(self.original.co_code): len(self)}

    @cached_property
    def slot_uses(self) -> tuple[SlotUse, ...]:
        """Where the bytes have numbers of slots: at the last argument byte of these instructions."""
        tail = self.tail
        own = self.raws if tail is None else self.raws[: len(self.raws) - len(tail.kept.raws)]
        found = [
            SlotUse(raw.end - 2 * DIALECT.caches.get(raw.name, 0) - 1, raw.arg, raw.name not in SLOT_ARGUMENTS)
            for raw in own
            if raw.name in SLOT_ARGUMENTS or raw.name in DIALECT.pairs
        ]
        for at, arg, pair in () if tail is None else tail.kept.slot_uses:
            numbers = tail.numbers  # type: ignore[union-attr]
            moved = numbers[arg >> 4] << 4 | numbers[arg & 15] if pair else numbers[arg]
            found.append(SlotUse(at + tail.shift, moved, pair))  # type: ignore[union-attr]
        return tuple(found)

    @cached_property
    def _region_of(self) -> list[Region | None]:
        table: list[Region | None] = [None] * len(self.instructions)
        for region in self.regions:
            table[region.start : region.end] = [region] * (region.end - region.start)
        return table

    def region_at(self, index: int) -> Region | None:
        """The region that handles exceptions raised at ``index``: the innermost one."""
        return self._region_of[index]

    def successors(self, index: int) -> Iterator[tuple[int, bool]]:
        """Where control goes without an exception, and whether that is by a jump."""
        instruction = self.instructions[index]
        if instruction.op not in TERMINATORS:
            yield index + 1, False
        if instruction.op in JUMPS:
            yield instruction.arg, True

    @cached_property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        """Where control goes from each instruction, exceptions included."""
        return flows.ways(self)

    def depths(self) -> flows.Depths:
        """Depth of the operand stack before each instruction; None where it is never reached."""
        return self._depths

    @cached_property
    def _depths(self) -> flows.Depths:
        return flows.depths(self)

    @cached_property
    def max_depth(self) -> int:
        """Deepest physical stack, or more: that of the tail counts wherever it is entered."""
        return flows.max_depth(self)

    @cached_property
    def sees_locals(self) -> bool:
        """Whether the code may read variables it does not mention, through locals() and the like."""
        return not SEES_LOCALS.isdisjoint(self.original.co_names)

    @cached_property
    def sees_locals_again(self) -> bool:
        """Whether the code may look a second time at a namespace into which it has put something by name."""
        if not DIALECT.one_namespace or NAMESPACES.isdisjoint(self.original.co_names):
            return False
        looks = [found.index for found in self.instructions if self._looks_at_namespace(found)]
        if not looks:
            return False
        back = [(jump.arg, jump.index) for jump in self.instructions if jump.op in JUMPS and jump.arg <= jump.index]
        return len(looks) > 1 or any(target <= looks[0] <= index for target, index in back)

    def _looks_at_namespace(self, found: Instruction) -> bool:
        if found.op != "LOAD_GLOBAL" or found.arg not in NAMESPACES:
            return False
        call = next(later for later in self.instructions[found.index + 1 :] if later.op != "PUSH_NULL")
        return found.arg not in ("vars", "dir") or (call.op == "CALL" and call.arg.total == 0)

    def live_locals(self, index: int) -> frozenset[str]:
        """Locals and cells whose value may be read at or after ``index``; free variables are not among them."""
        return self.live_variables(index) - self.free.keys()

    def live_variables(self, index: int) -> frozenset[str]:
        """The same with the free variables that may be needed."""
        if self.sees_locals:
            return frozenset(self.slots)
        live = self._unpack(self._live[index])
        if "super" in self.original.co_names and "__class__" in self.free:
            live |= {self.slots[0], "__class__"}  # super() looks at the frame's first slot
        return live

    def required_locals(self, index: int) -> frozenset[str]:
        """Slots that must be filled when the body is entered at ``index``: it reads them without a check."""
        return self._unpack(self._required[index]) - self.free.keys()

    @cached_property
    def bits(self) -> dict[str, int]:
        """The bit of each slot in the masks of variables; those of the tail are as there."""
        names = self.slots if self.tail is None else dict.fromkeys((*self.tail.kept.bits, *self.slots))
        return {name: 1 << i for i, name in enumerate(names)}

    def _unpack(self, mask: int) -> frozenset[str]:
        return frozenset(name for name, bit in self.bits.items() if mask & bit)

    @cached_property
    def _live(self) -> list[int]:
        known = [] if self.tail is None else self.tail.kept._live
        return flows.liveness(self, known, self._reads, lambda i: i.op in WRITES)

    def _reads(self, instruction: Instruction) -> bool:
        """Whether an instruction needs what a slot holds: not if it is only kept for the sake of its end."""
        return instruction.op in READS and self.instructions[instruction.index - 1].arg is not spare

    @cached_property
    def _required(self) -> list[int]:
        def unchecked(instruction: Instruction) -> bool:
            return instruction.op in NEEDS_CELL or instruction.raws[0].name in DIALECT.unchecked

        def settles(instruction: Instruction) -> bool:
            """Behind a store, or a load that has checked, the slot is known to be filled."""
            return instruction.op in WRITES or (instruction.op == "LOAD_FAST" and not unchecked(instruction))

        return flows.liveness(self, [] if self.tail is None else self.tail.kept._required, unchecked, settles)


# ------------------------------------------------------------------------------------------ decode
class _Same:
    """Key of a cache by identity: code objects compare by value, and may hold constants without a hash."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.code is other.code


def decode(code: CodeType) -> Code:
    """The canonical form of ``code``; the most recent ones are kept alive, and what their constants own with them."""
    return _PREPARED.get(id(code)) or _decode(_Same(code))


MOST = 512


@lru_cache(maxsize=MOST)
def _decode(key: _Same) -> Code:
    _, kept, numbers = _TAILS.get(id(key.code), (None, None, ()))
    return decode_once(key.code) if kept is None else decode_behind(key.code, decode(kept), numbers)


_PREPARED: OrderedDict[int, Code] = OrderedDict()
"""By their ids: code that was decoded when it was made. Most of it is looked at once, and soon."""


_TAILS: dict[int, tuple[weakref.ref[CodeType], CodeType, tuple[int, ...]]] = {}
"""By the id of code that was prepared: itself, the code it ends with, and the numbers of its slots."""


def prepare(decoded: Code) -> None:
    """Have ``decode`` give this for its code object, for a while, and later find it with less effort."""
    code, key = decoded.original, id(decoded.original)
    _PREPARED[key] = decoded
    if decoded.tail is not None:
        gone = weakref.ref(code, lambda _: _TAILS.pop(key, None))
        _TAILS[key] = gone, decoded.tail.kept.original, decoded.tail.numbers
    if len(_PREPARED) > MOST:
        _PREPARED.popitem(last=False)


def forget() -> None:
    """Let go of all code that has been decoded."""
    _PREPARED.clear()
    _decode.cache_clear()


def decode_once(code: CodeType) -> Code:
    """The canonical form of code that is not looked at again: replacements, whose constants are kernels."""
    try:
        return _decode_new(code)
    except (IndexError, KeyError, TypeError) as fault:
        raise InternalError(f"cannot decode {code.co_qualname} ({DIALECT.name}): {fault!r}") from fault


def _decode_new(code: CodeType) -> Code:
    raws = tuple(read_raws(code))
    entries = tuple(read_exception_table(code.co_exceptiontable))
    size = len(code.co_code)
    targets = {raw.target for raw in raws if raw.target is not None}.union(entry[2] for entry in entries)
    bounds = {offset for entry in entries for offset in entry[:2]}
    if not targets | bounds <= {raw.offset for raw in raws} | {size}:
        raise InternalError(f"{code.co_qualname}: a jump or handler leads into the middle of an instruction")
    groups = list(fold(split(raws), targets))
    index_at, bound_at = indices(groups, size)
    instructions = _instructions(code, groups, index_at.__getitem__, lambda index: loop_end(groups[index:]))
    regions = tuple(_regions(entries, bound_at, index_at.__getitem__))
    return _with_slots(code, raws, instructions, regions)


Find = Callable[[int], int]


def decode_behind(code: CodeType, kept: Code, numbers: Sequence[int]) -> Code:
    """``decode_once`` of code that ends with the bytes of ``kept``, which are not read again.

    ``numbers`` are those that the slots of ``kept`` have in ``code``.
    """
    while kept.tail is not None:
        numbers = [numbers[number] for number in kept.tail.numbers]
        kept = kept.tail.kept
    shift = len(code.co_code) - len(kept.original.co_code)
    try:
        return _before(code, kept, shift, tuple(numbers), lambda offset: kept.entrances[offset - shift])
    except KeyError:  # what is one instruction in the original is entered in its middle
        return decode_once(code)


def decode_before(
    code: CodeType, kept: Code, shift: int, entrances: Mapping[int, int], back: Mapping[int, int]
) -> Code:
    """The same of code whose end, from byte ``shift`` on, is ``kept`` but for places where it leaves for elsewhere.

    ``entrances`` are those of ``kept``, by offsets in ``code``. To the offsets in ``back`` control may come from its
    instructions. Only what stands before ``kept`` is right in the answer, and what is known of that.
    """
    decoded = _before(code, kept, shift, tuple(range(len(kept.slots))), entrances.__getitem__)
    assert decoded.tail is not None
    index_at = {i.offset: i.index for i in decoded.instructions[: decoded.own] if i.part == 0}
    returns = tuple((index_at[offset], index) for offset, index in back.items())
    return replace(decoded, tail=decoded.tail._replace(returns=returns))


def _before(code: CodeType, kept: Code, shift: int, numbers: tuple[int, ...], entrance: Find) -> Code:
    """Decode what stands before byte ``shift``; ``entrance`` says to which instruction of ``kept`` a jump leads."""
    head = tuple(read_raws(code, shift))
    groups = list(fold(split(head), {raw.target for raw in head if raw.target is not None}))
    tail = Tail(kept, len(groups), shift, numbers)
    index_at, bound_at = indices(groups, shift)

    def target(offset: int) -> int:
        return index_at[offset] if offset < shift else entrance(offset) + tail.ahead

    def end_of_loop(index: int) -> int:
        return loop_end(groups[index:] or [i.raws for i in kept.instructions[index - tail.ahead :]])

    entries = [entry for entry in read_exception_table(code.co_exceptiontable) if entry[0] < shift]
    instructions = _instructions(code, groups, target, end_of_loop)
    regions = _regions(entries, bound_at, target)
    return _with_slots(
        code,
        Behind(head, kept.raws, partial(_moved, tail=tail)),
        Behind(instructions, kept.instructions, partial(_moved_instruction, tail=tail)),
        (*regions, *(_moved_region(region, tail.ahead) for region in kept.regions)),
        tail,
    )


Item = TypeVar("Item")


class Behind(Sequence[Item]):
    """Items, and behind them those of another sequence, each of which is moved when it is asked for."""

    def __init__(self, head: Sequence[Item], kept: Sequence[Item], move: Callable[[Item], Item]) -> None:
        self.items: list[Item | None] = [*head, *[None] * len(kept)]
        self.kept = kept
        self.ahead = len(head)
        self.move = move

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(*index.indices(len(self.items)))))
        found = self.items[index]
        if found is None:
            index %= len(self.items)
            found = self.items[index] = self.move(self.kept[index - self.ahead])
        return found

    def __iter__(self) -> Iterator[Item]:
        return map(self.__getitem__, range(len(self.items)))


def _moved(raw: Raw, tail: Tail) -> Raw:
    name, arg, offset, end, target, position, part = raw
    shift, numbers = tail.shift, tail.numbers
    if name in SLOT_ARGUMENTS:
        arg = numbers[arg]
    elif name in DIALECT.pairs:
        arg = numbers[arg >> 4] << 4 | numbers[arg & 15]
    return Raw(name, arg, offset + shift, end + shift, None if target is None else target + shift, position, part)


def _moved_instruction(instruction: Instruction, tail: Tail) -> Instruction:
    op, arg, index, offset, end, position, raws, part, _ = instruction
    return Instruction(
        op,
        arg + tail.ahead if op in JUMPS else arg,
        index + tail.ahead,
        offset + tail.shift,
        end + tail.shift,
        position,
        tuple(_moved(raw, tail) for raw in raws),
        part,
        raws[0].part == 0,
    )


def _moved_region(region: Region, ahead: int) -> Region:
    start, end, target, depth, lasti = region
    return Region(start + ahead, end + ahead, target + ahead, depth, lasti)


def _instructions(
    code: CodeType, groups: Sequence[tuple[Raw, ...]], target: Find, end_of_loop: Find
) -> tuple[Instruction, ...]:
    """What groups of physical instructions mean."""
    prologue = next((i for i, group in enumerate(groups) if group[0].name == "RESUME"), 0)
    slots = slots_of(code)
    own = len(slots) - len(code.co_freevars)
    cells = tuple(i >= own or name in code.co_cellvars for i, name in enumerate(slots))
    tables = Tables(code.co_consts, code.co_names, slots, cells)
    found = []
    for index, group in enumerate(groups):
        op, arg = DIALECT.rows[group[-1].name](tables, group)
        if op in JUMPS:
            arg = target(arg)
            arg += end_of_loop(arg) if op == "FOR_ITER" else 0
        first = anchor(group)
        resumable = group[0].part == 0 and index >= prologue
        found.append(
            Instruction(op, arg, index, first.offset, group[-1].end, group[0].position, group, first.part, resumable)
        )
    return tuple(found)


def _regions(
    entries: Iterable[tuple[int, int, int, int, bool]], bound_at: dict[int, int], target: Find
) -> Iterator[Region]:
    for start, end, handler, depth, lasti in entries:
        if bound_at[start] < bound_at[end]:
            yield Region(bound_at[start], bound_at[end], target(handler), depth, lasti)


def _with_slots(
    code: CodeType,
    raws: Sequence[Raw],
    instructions: Sequence[Instruction],
    regions: tuple[Region, ...],
    tail: Tail | None = None,
) -> Code:
    slots = slots_of(code)
    free = {name: i for i, name in enumerate(slots[len(slots) - len(code.co_freevars) :])}
    return Code(code, raws, instructions, regions, slots, frozenset(code.co_cellvars), free, tail)


def slot_names(varnames: Sequence[str], cellvars: Sequence[str], freevars: Sequence[str]) -> tuple[str, ...]:
    """Names of a frame's slots in order, each once; a cell variable that is also a local has the local's slot.

    An inlined comprehension may have a variable of the same name as a free variable of its function; the free one
    is then called ``name.free``, which no identifier can be.
    """
    own = (*varnames, *(name for name in cellvars if name not in varnames))
    return own + tuple(f"{name}.free" if name in own else name for name in freevars)


def slots_of(code: CodeType) -> tuple[str, ...]:
    return slot_names(code.co_varnames, code.co_cellvars, code.co_freevars)
