"""What each canonical instruction does to symbolic state: one small function each, in a table by operation.

In: ``HANDLERS[instruction.op](tracer, frame, instruction)``. Out: the frame's new stack, variables and next index, or
``GraphBreak``. Instructions without a handler have a reason instead; ``HANDLERS`` has all of them.
"""

from __future__ import annotations

from capture.frames import instructions
from capture.frames.handlers import containers, exceptions, flow, generators, names, operators, patterns, stack
from capture.frames.handlers.table import EFFECTS, HANDLERS, unsupported

__all__ = [
    "EFFECTS",
    "HANDLERS",
    "UNSUPPORTED",
    "can_break",
    "containers",
    "exceptions",
    "flow",
    "generators",
    "names",
    "operators",
    "patterns",
    "stack",
]

_REASONS = {
    "write": "an assignment that outlives the call",
    "exception": "groups of exceptions are left to Python",
    "with": "an asynchronous with block",
    "class": "classes are made by Python",
    "import": "an import",
    "generator": "coroutines are left to Python",
    "name": "a name that may be local or global",
    "rare": "left to Python",
}
_LEFT = {
    "write": "DELETE_GLOBAL STORE_NAME DELETE_NAME DELETE_DEREF",
    "exception": "CHECK_EG_MATCH PREP_RERAISE_STAR CLEANUP_THROW",
    "with": "BEFORE_ASYNC_WITH",
    "class": "LOAD_LOCALS LOAD_CLASSDEREF SETUP_ANNOTATIONS",
    "import": "IMPORT_STAR",
    "generator": "GET_AWAITABLE GET_AITER GET_ANEXT END_ASYNC_FOR ASYNC_GEN_WRAP",
    "name": "LOAD_NAME LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS",
    "rare": "PRINT_EXPR CALL_INTRINSIC_2",
}
UNSUPPORTED = {
    name: _REASONS[reason]
    for reason, names_of in _LEFT.items()
    for name in names_of.split()
    if name in instructions.EFFECTS
}
unsupported(UNSUPPORTED)

PASSING_ON = frozenset(
    {
        *("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "BINARY_OP", "COMPARE_OP", "GET_ITER"),
        *("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT"),
    }
)
"""What special methods raise that these call is what the instruction raises; in-place operators may have begun."""

_NEVER = frozenset({"RESUME", "COPY_FREE_VARS", "MAKE_CELL"})


def can_break(instruction: instructions.Instruction) -> bool:
    """Whether a graph may end before this instruction: the frame's cells have been made."""
    return instruction.op not in _NEVER
