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

import dis
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, NamedTuple

from capture.errors import InternalError
from capture.frames._hook import spare
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


class Instruction(NamedTuple):
    """A canonical instruction. Parts of one physical instruction share ``offset`` and ``end``."""

    op: str
    arg: Any
    index: int  # type: ignore[assignment]  # hides tuple.index, of no use here
    offset: int  # where the physical instruction starts, EXTENDED_ARG included
    end: int  # behind its caches
    position: Position
    raws: tuple[Raw, ...]  # the physical instructions it stands for, each valid on its own
    part: int  # which piece of a split physical instruction this is
    resumable: bool  # the original body can be entered at ``offset`` in the state before this instruction

    @property
    def line(self) -> int | None:
        return self.position[0]

    @property
    def backward(self) -> bool:
        """Whether this jumps to itself or before."""
        return self.op in JUMPS and self.arg <= self.index

    def __str__(self) -> str:
        if self.op == "LOAD_CONST":
            return f"{self.index:4} {self.op} {self.arg!r}"
        return f"{self.index:4} {self.op}" + ("" if self.arg is None else f" {self.arg}")


class Region(NamedTuple):
    """Instructions ``start`` to ``end - 1`` are handled at ``target``, with the stack cut to ``depth`` first.

    Then the index of the failing instruction is pushed if ``lasti``, and the exception.
    """

    start: int
    end: int
    target: int
    depth: int
    lasti: bool

    @property
    def entry_depth(self) -> int:
        return self.depth + self.lasti + 1


# ----------------------------------------------------------------------------------- stack effects
def _effects(effect: int, names: str) -> dict[str, int]:
    return dict.fromkeys(words(names), effect)


EFFECTS: dict[str, int | Callable[[Any], int]] = {
    **_effects(
        +1,
        "PUSH_NULL COPY LOAD_CONST LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_CLOSURE LOAD_DEREF LOAD_CLASSDEREF LOAD_GLOBAL"
        " LOAD_NAME LOAD_LOCALS LOAD_METHOD LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR IMPORT_FROM BEFORE_WITH"
        " BEFORE_ASYNC_WITH PUSH_EXC_INFO WITH_EXCEPT_START GET_LEN GET_ANEXT MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS"
        " RETURN_GENERATOR FOR_ITER",
    ),
    **_effects(
        0,
        "NOP RESUME SWAP UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT TO_BOOL DELETE_FAST DELETE_DEREF"
        " DELETE_NAME DELETE_GLOBAL MAKE_CELL COPY_FREE_VARS LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS"
        " LOAD_ATTR LIST_TO_TUPLE CONVERT_VALUE CHECK_EXC_MATCH CHECK_EG_MATCH GET_ITER GET_AITER"
        " GET_YIELD_FROM_ITER GET_AWAITABLE ASYNC_GEN_WRAP YIELD_VALUE JUMP SETUP_ANNOTATIONS CALL_INTRINSIC_1",
    ),
    **_effects(
        -1,
        "POP_TOP BINARY_SUBSCR BINARY_OP COMPARE_OP IS_OP CONTAINS_OP STORE_FAST STORE_DEREF STORE_NAME"
        " STORE_GLOBAL DELETE_ATTR IMPORT_NAME IMPORT_STAR PRINT_EXPR LOAD_SUPER_METHOD LIST_APPEND SET_ADD"
        " LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE RETURN_VALUE RERAISE POP_EXCEPT PREP_RERAISE_STAR"
        " POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE END_SEND CLEANUP_THROW"
        " CALL_INTRINSIC_2",
    ),
    **_effects(-2, "STORE_ATTR DELETE_SUBSCR LOAD_SUPER_ATTR MAP_ADD MATCH_CLASS END_ASYNC_FOR"),
    **_effects(-3, "STORE_SUBSCR"),
    **{op: (lambda n: 1 - n) for op in words("BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_STRING BUILD_SLICE")},
    "BUILD_MAP": lambda n: 1 - 2 * n,
    "BUILD_CONST_KEY_MAP": lambda n: -n,
    "UNPACK_SEQUENCE": lambda n: n - 1,
    "UNPACK_EX": lambda arg: arg.before + arg.after,
    "FORMAT_VALUE": lambda arg: -arg.has_spec,
    "RAISE_VARARGS": lambda n: -n,
    "MAKE_FUNCTION": lambda parts: -len(parts),
    "CALL": lambda shape: -1 - shape.total,
    "CALL_FUNCTION_EX": lambda shape: -2 - shape.has_keywords,
    **DIALECT.effects,
}
"""Every canonical operation and what it does to the depth of the stack."""

JUMP_EFFECTS: dict[str, int] = {"FOR_ITER": -1, **DIALECT.jump_effects}

JUMPS = frozenset(words("JUMP POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE FOR_ITER SEND"))
TERMINATORS = frozenset(words("JUMP RETURN_VALUE RAISE_VARARGS RERAISE"))
"""Operations after which the next instruction is not reached."""


def stack_effect(instruction: Instruction, jump: bool = False) -> int:
    """Change of the stack depth by a canonical instruction, when it falls through or when it jumps."""
    if jump and instruction.op in JUMP_EFFECTS:
        return JUMP_EFFECTS[instruction.op]
    effect = EFFECTS[instruction.op]
    return effect if isinstance(effect, int) else effect(instruction.arg)


def operands(instruction: Instruction) -> int:
    """How many stack slots a call instruction takes, with the pair that says what is called."""
    shape = instruction.arg
    return 3 + shape.has_keywords if instruction.op == "CALL_FUNCTION_EX" else 2 + shape.total


PUSHES_NOTHING = ("STORE_", "DELETE_", "POP_", "LIST_", "MAP_", "SET_", "DICT_", "END_")
"""How the names of operations begin that push no result (LIST_TO_TUPLE replaces its operand: a value either way)."""


def popped(instruction: Instruction) -> int:
    """How many of the topmost slots may be others afterwards."""
    if instruction.op in ("CALL", "CALL_FUNCTION_EX"):
        return operands(instruction)
    pushes = 0 if instruction.op.startswith(PUSHES_NOTHING) else 1
    return max(0, pushes - stack_effect(instruction))


def null_pair(target: Any, null: Any) -> tuple[Any, Any]:
    """The two slots, lower first, that a callable without ``self`` takes before its arguments."""
    return (null, target) if DIALECT.null_first else (target, null)


def callee(first: Any, second: Any, null: Any) -> tuple[Any, tuple[Any, ...]]:
    """From the two slots below a call's arguments: what is called, and its extra leading arguments (0 or 1)."""
    if first is null:
        return second, ()
    return first, (() if second is null else (second,))


# -------------------------------------------------------------------------------------------- Code
SEES_LOCALS = frozenset(
    words("locals vars dir eval exec _getframe currentframe inspect f_locals evaluate query set_trace breakpoint")
)
"""Names through which code may read variables that it does not mention (numexpr.evaluate and DataFrame.query do)."""

NAMESPACES = frozenset(words("locals vars dir eval exec"))
"""Builtins that work in the namespace of the frame; ``vars`` and ``dir`` only without an argument."""

READS = frozenset(
    words(
        "LOAD_FAST LOAD_FAST_AND_CLEAR DELETE_FAST LOAD_CLOSURE MAKE_CELL LOAD_DEREF STORE_DEREF DELETE_DEREF"
        " LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF"
    )
)
WRITES = frozenset(words("STORE_FAST LOAD_FAST_AND_CLEAR DELETE_FAST MAKE_CELL"))
"""Operations that read, and that replace, what a slot holds. A store through a cell reads the slot."""

NEEDS_CELL = frozenset(
    words("LOAD_CLOSURE LOAD_DEREF STORE_DEREF DELETE_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF")
)


@dataclass(frozen=True, eq=False)
class Code:
    """A decoded code object."""

    original: CodeType
    raws: tuple[Raw, ...]
    instructions: tuple[Instruction, ...]
    regions: tuple[Region, ...]
    slots: tuple[str, ...]  # name of each frame slot: locals, cells, free variables
    cells: frozenset[str]  # slots that hold cells of this frame's own
    free: dict[str, int]  # free variable's slot name -> index into the function's closure

    @cached_property
    def found(self) -> dict[Any, Any]:
        """What others have found out about the code, to be found out once: it dies with it."""
        return {}

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.instructions))

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

    def depths(self) -> tuple[int | None, ...]:
        """Depth of the operand stack before each instruction; None where it is never reached."""
        return self._depths

    @cached_property
    def _depths(self) -> tuple[int | None, ...]:
        return tuple(_flow_depths(self))

    @cached_property
    def max_depth(self) -> int:
        """Deepest physical stack: pieces of a split instruction do not count, the parts of a group do."""
        deepest = 0
        for instruction, depth in zip(self.instructions, self._depths, strict=True):
            if depth is not None and instruction.part == 0:
                deepest = max(deepest, depth + peak(instruction))
        return deepest

    @cached_property
    def sees_locals(self) -> bool:
        """Whether the code may read variables it does not mention, through locals() and the like."""
        return not SEES_LOCALS.isdisjoint(self.original.co_names)

    @cached_property
    def sees_locals_again(self) -> bool:
        """Whether the code may look a second time at a namespace into which it has put something by name."""
        looks = [found.index for found in self.instructions if self._looks_at_namespace(found)]
        if not DIALECT.one_namespace or not looks:
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

    def _unpack(self, mask: int) -> frozenset[str]:
        return frozenset(name for i, name in enumerate(self.slots) if mask >> i & 1)

    @cached_property
    def _live(self) -> list[int]:
        return _flow_back(self, self._reads, lambda i: i.op in WRITES)

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

        return _flow_back(self, unchecked, settles)


def peak(instruction: Instruction) -> int:
    """Slots above the depth before it that an instruction's physical form uses on the way."""
    names_on_stack = len(instruction.raws) > 1 and instruction.raws[0].name == "LOAD_CONST"
    return int(names_on_stack)


def _flow_depths(code: Code) -> list[int | None]:
    """Follow every path from the entry. Raises InternalError where two paths disagree, as no valid code does."""
    depths: list[int | None] = [None] * len(code.instructions)
    waiting = [(0, 0)]

    def fault(index: int, what: str) -> InternalError:
        return InternalError(f"{code.original.co_qualname}, instruction {index}: {what}")

    while waiting:
        index, depth = waiting.pop()
        while True:
            if index >= len(depths):
                raise fault(index - 1, "control runs off the end")
            if depth < 0:
                raise fault(index, "stack underflow")
            known = depths[index]
            if known is not None:
                if known != depth:
                    raise fault(index, f"stack depth {known} on one path, {depth} on another")
                break
            depths[index] = depth
            region = code._region_of[index]
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
    return depths


Picks = Callable[[Instruction], bool]


def _flow_back(code: Code, reads: Picks, ends: Picks) -> list[int]:
    """Liveness of slots as bit masks, one per instruction: from the reads back to what ends the search."""
    bits = {name: 1 << i for i, name in enumerate(code.slots)}
    steps: list[tuple[int, int]] = []  # per instruction: bits it reads, bits that survive it
    for instruction in code.instructions:
        bit = bits[instruction.arg] if instruction.op in READS or instruction.op in WRITES else 0
        steps.append((bit if bit and reads(instruction) else 0, ~bit if bit and ends(instruction) else -1))
    live = [0] * (len(steps) + 1)
    changed = True
    while changed:
        changed = False
        for index in range(len(steps) - 1, -1, -1):
            instruction = code.instructions[index]
            read, survives = steps[index]
            after = 0 if instruction.op in TERMINATORS else live[index + 1]
            if instruction.op in JUMPS:
                after |= live[instruction.arg]
            region = code._region_of[index]
            before = after & survives | read | (live[region.target] if region else 0)
            if before != live[index]:
                live[index] = before
                changed = True
    return live


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
    return _decode(_Same(code))


@lru_cache(maxsize=512)
def _decode(key: _Same) -> Code:
    return _PREPARED.pop(id(key.code), None) or decode_once(key.code)


_PREPARED: dict[int, Code] = {}


def prepare(decoded: Code) -> None:
    """Have ``decode`` give this for its code object."""
    _PREPARED[id(decoded.original)] = decoded
    decode(decoded.original)


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
    return _put_together(code, raws, entries, list(_fold(_split(raws), targets)), ())


def decode_behind(code: CodeType, kept: Code, numbers: Sequence[int]) -> Code:
    """``decode_once`` of code that ends with the bytes of ``kept``, which are not read again.

    ``numbers`` are those that the slots of ``kept`` have in ``code``.
    """
    shift = len(code.co_code) - len(kept.original.co_code)
    head = tuple(read_raws(code, shift))
    targets = {raw.target for raw in head if raw.target is not None}
    groups = [*_fold(_split(head), targets), *(_moved(i.raws, shift, numbers) for i in kept.instructions)]
    entries = tuple(read_exception_table(code.co_exceptiontable))
    try:
        return _put_together(code, (*head, *_moved(kept.raws, shift, numbers)), entries, groups, kept.instructions)
    except KeyError:  # what is one instruction in the original is entered in its middle
        return decode_once(code)


def _moved(raws: Iterable[Raw], shift: int, numbers: Sequence[int]) -> tuple[Raw, ...]:
    moved = []
    for name, arg, offset, end, target, position, part in raws:
        if name in SLOT_ARGUMENTS:
            arg = numbers[arg]
        elif name in DIALECT.pairs:
            arg = numbers[arg >> 4] << 4 | numbers[arg & 15]
        target = None if target is None else target + shift
        moved.append(Raw(name, arg, offset + shift, end + shift, target, position, part))
    return tuple(moved)


def _put_together(
    code: CodeType,
    raws: tuple[Raw, ...],
    entries: Sequence[tuple[int, int, int, int, bool]],
    groups: Sequence[tuple[Raw, ...]],
    kept: Sequence[Instruction],
) -> Code:
    """Decoded code, given which physical instructions make up one; of the last ones it is known what they mean."""
    index_at, bound_at = _indices(groups, len(code.co_code))
    ahead = len(groups) - len(kept)
    prologue = next((i for i, group in enumerate(groups) if group[0].name == "RESUME"), 0)
    slots = slots_of(code)
    own = len(slots) - len(code.co_freevars)
    cells = tuple(i >= own or name in code.co_cellvars for i, name in enumerate(slots))
    tables = Tables(code.co_consts, code.co_names, slots, cells)
    instructions = []
    for index, group in enumerate(groups):
        if index >= ahead:
            op, arg = kept[index - ahead][:2]
            arg = arg + ahead if op in JUMPS else arg
        else:
            op, arg = DIALECT.rows[group[-1].name](tables, group)
            if op in JUMPS:
                arg = index_at[arg] + (_loop_end(groups, index_at[arg]) if op == "FOR_ITER" else 0)
        anchor = _anchor(group)
        resumable = group[0].part == 0 and index >= prologue
        instructions.append(
            Instruction(op, arg, index, anchor.offset, group[-1].end, group[0].position, group, anchor.part, resumable)
        )
    regions = tuple(
        Region(bound_at[start], bound_at[end], index_at[target], depth, lasti)
        for start, end, target, depth, lasti in entries
        if bound_at[start] < bound_at[end]
    )
    free = {name: i for i, name in enumerate(slots[own:])}
    return Code(code, raws, tuple(instructions), regions, slots, frozenset(code.co_cellvars), free)


_NAMES = dis.opname
_CACHES = [DIALECT.caches.get(name, 0) for name in _NAMES]
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_DIRECTION = {
    dis.opmap[name]: -2 if "BACKWARD" in name else +2
    for name in (dis.opname[op] for op in dis.hasjrel)
    if dis.opmap[name] < 256
}


def read_raws(code: CodeType, stop: int | None = None) -> Iterator[Raw]:
    """Physical instructions of a code object up to a byte, without specialisation and instrumentation."""
    data = code.co_code[:stop]
    positions = list(code.co_positions())
    start = offset = extension = 0
    while offset < len(data):
        opcode = data[offset]
        arg = extension | data[offset + 1]
        offset += 2
        if opcode == _EXTENDED_ARG:
            extension = arg << 8
            continue
        end = offset + 2 * _CACHES[opcode]
        target = end + _DIRECTION[opcode] * arg if opcode in _DIRECTION else None
        yield Raw(_NAMES[opcode], arg, start, end, target, positions[offset // 2 - 1])
        start = offset = end
        extension = 0


def _split(raws: Iterable[Raw]) -> Iterator[Raw]:
    for raw in raws:
        splitter = DIALECT.splits.get(raw.name)
        pieces = splitter(raw.arg) if splitter else ()
        if not pieces:
            yield raw
            continue
        for part, (name, arg) in enumerate(pieces):
            target = raw.target if "JUMP" in name else None
            yield raw._replace(name=name, arg=arg, target=target, part=part)


def _fold(raws: Iterable[Raw], targets: set[int]) -> Iterator[tuple[Raw, ...]]:
    group: tuple[Raw, ...] = ()
    taken_up_by: Collection[str] = ()
    for raw in raws:
        if raw.name in taken_up_by and (raw.part or raw.offset not in targets):
            group = (*group, raw)
        else:
            if group:
                yield group
            group = (raw,)
        taken_up_by = DIALECT.folds.get(raw.name, ())
    yield group


def _anchor(group: Sequence[Raw]) -> Raw:
    """The first physical instruction of a group that can be addressed: not a later piece of a split one."""
    first = group[0]
    return first if first.part == 0 else next((raw for raw in group if raw.part == 0), first)


def _indices(groups: Sequence[Sequence[Raw]], size: int) -> tuple[dict[int, int], dict[int, int]]:
    """Byte offset -> index of the group, for jumps and for bounds of regions.

    A region may end before the jump that a TO_BOOL is folded with. The jump cannot raise, so the group counts as
    covered where its TO_BOOL is.
    """
    jumps: dict[int, int] = {}
    bounds: dict[int, int] = {}
    for index, group in enumerate(groups):
        anchor = _anchor(group)
        if anchor.part == 0:
            jumps[anchor.offset] = index
        if group[0].part == 0:
            bounds[anchor.offset] = index
        for raw in group[1:]:
            if raw.part == 0 and "JUMP" in raw.name:
                bounds[raw.offset] = index + 1
    jumps[size] = bounds[size] = len(groups)
    return jumps, bounds


def _loop_end(groups: Sequence[Sequence[Raw]], index: int) -> int:
    """How many instructions an exhausted FOR_ITER skips at its target."""
    found = tuple(group[0].name for group in groups[index : index + len(DIALECT.loop_end)])
    if found != DIALECT.loop_end:
        raise InternalError(f"a loop ends with {found}, not with {DIALECT.loop_end}")
    return len(found)


def slot_names(varnames: Sequence[str], cellvars: Sequence[str], freevars: Sequence[str]) -> tuple[str, ...]:
    """Names of a frame's slots in order, each once; a cell variable that is also a local has the local's slot.

    An inlined comprehension may have a variable of the same name as a free variable of its function; the free one
    is then called ``name.free``, which no identifier can be.
    """
    own = (*varnames, *(name for name in cellvars if name not in varnames))
    return own + tuple(f"{name}.free" if name in own else name for name in freevars)


def slots_of(code: CodeType) -> tuple[str, ...]:
    return slot_names(code.co_varnames, code.co_cellvars, code.co_freevars)


def read_exception_table(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """Entries as (start, end, target, depth, lasti), the first three in bytes."""
    values = _read_varints(table)
    for start in values:
        length, target, depth_lasti = next(values), next(values), next(values)
        yield 2 * start, 2 * (start + length), 2 * target, depth_lasti >> 1, bool(depth_lasti & 1)


def _read_varints(table: bytes) -> Iterator[int]:
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            yield value
            value = 0
