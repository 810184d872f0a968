"""Canonical instructions: what they are, what they do to the operand stack, which variables they read and write.

>>> stack_effect(instruction)  # BINARY_OP +
-1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from capture.frames.versions import DIALECT, Position, Raw, words


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


def peak(instruction: Instruction) -> int:
    """Slots above the depth before it that an instruction's physical form uses on the way."""
    names_on_stack = len(instruction.raws) > 1 and instruction.raws[0].name == "LOAD_CONST"
    return int(names_on_stack)


# ---------------------------------------------------------------------------------- variables
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
