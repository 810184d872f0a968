"""What differs between CPython versions, as tables; the only reader of ``sys.version_info``.

In goes the running version, out comes ``DIALECT``: how its physical instructions (``Raw``) are read as canonical
ones, and how the few instructions that the assembler writes on its own are spelled. A new CPython is a new
``Dialect``; nothing else in the package asks which version is running.

Reading has three steps, each a table:

* ``splits``: one physical instruction that does several things becomes several, each of which also exists on its
  own on that version: ``LOAD_FAST_LOAD_FAST 0x12`` is ``LOAD_FAST 1, LOAD_FAST 2``;
* ``folds``: physical instructions that mean something only together form one group: ``KW_NAMES, PRECALL, CALL``;
* ``rows``: the last instruction of a group names the function that gives the canonical name and argument:
  ``LOAD_ATTR 7`` on 3.12 is ``("LOAD_METHOD", names[3])``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from capture.records import dataclass, field

Position = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column, as ``code.co_positions()`` gives them."""


class Raw(NamedTuple):
    """A physical instruction: its name, whole argument, byte offsets (with EXTENDED_ARG, with caches)."""

    name: str
    arg: int
    offset: int
    end: int
    target: int | None  # byte offset of a jump's target
    position: Position
    part: int = 0  # which piece of a split instruction this is


class Tables(NamedTuple):
    """What arguments index: constants, names, and the frame's slots (locals, cells, free variables)."""

    consts: tuple[Any, ...]
    names: tuple[str, ...]
    slots: tuple[str, ...]
    cells: tuple[bool, ...]  # per slot: does it hold a cell


class CallShape(NamedTuple):
    """Arguments of a canonical CALL; below them lie the two slots that say what is called."""

    positional: int
    keywords: tuple[str, ...]
    null_first: bool

    @property
    def total(self) -> int:
        return self.positional + len(self.keywords)


class CallExShape(NamedTuple):
    """Arguments of a canonical CALL_FUNCTION_EX: a tuple, and a dict above it if ``has_keywords``."""

    has_keywords: bool
    null_first: bool


class SuperAttr(NamedTuple):
    """Argument of LOAD_SUPER_ATTR and LOAD_SUPER_METHOD; ``explicit`` means ``super(cls, self)`` was written."""

    name: str
    explicit: bool


class Format(NamedTuple):
    """Argument of FORMAT_VALUE: a conversion ("str", "repr", "ascii") or None; is the format on the stack."""

    conversion: str | None
    has_spec: bool


class UnpackEx(NamedTuple):
    """Argument of UNPACK_EX: targets before and after the starred one."""

    before: int
    after: int


Reader = Callable[[Tables, Sequence[Raw]], tuple[str, Any]]
Splitter = Callable[[int], tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Dialect:
    """One CPython version."""

    name: str
    null_first: bool  # the slot pair of a call is (NULL, callable) rather than (callable, NULL)
    rows: Mapping[str, Reader]
    splits: Mapping[str, Splitter]  # an empty result means: this one is not split
    folds: Mapping[str, frozenset[str]]  # name -> names that take it up when they follow
    caches: Mapping[str, int]  # code units of inline cache after the instruction
    forward: Mapping[str, str]  # canonical jump -> its spelling
    backward: Mapping[str, str]
    loop_end: tuple[str, ...]  # what an exhausted FOR_ITER steps over at its target
    effects: Mapping[str, int]  # stack effects that are not the same everywhere
    jump_effects: Mapping[str, int]  # the same, when the jump is taken
    unchecked: frozenset[str]  # loads that crash on an unbound slot instead of raising
    load_cell: str  # pushes what a slot holds, also if that is a cell
    attr_shift: int  # LOAD_ATTR's argument is the name's index shifted by this
    truth: tuple[str, ...]  # what must precede a conditional jump on an arbitrary object
    call: Callable[[int, int | None], tuple[tuple[str, int], ...]]  # see spell_call_*
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # two slots in one argument
    never: frozenset[str] = frozenset()  # names in dis.opmap that no co_code ever holds
    one_namespace: bool = True  # locals() gives the same dict each time, with what else was put into it


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# ------------------------------------------------------------------------------------------- rows
# In the order of CPython's NB_* numbers.
BINARY_OPERATORS = words("+ & // << @ * % | ** >> - / ^ += &= //= <<= @= *= %= |= **= >>= -= /= ^=")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
CONVERSIONS = (None, "str", "repr", "ascii")
FUNCTION_PARTS = ("defaults", "kwdefaults", "annotations", "closure")  # bit i of MAKE_FUNCTION's argument
INTRINSICS_1 = words(
    "INVALID PRINT IMPORT_STAR STOPITERATION_ERROR ASYNC_GEN_WRAP UNARY_POSITIVE LIST_TO_TUPLE"
    " TYPEVAR PARAMSPEC TYPEVARTUPLE SUBSCRIPT_GENERIC TYPEALIAS"
)
INTRINSICS_2 = words(
    "INVALID PREP_RERAISE_STAR TYPEVAR_WITH_BOUND TYPEVAR_WITH_CONSTRAINTS SET_FUNCTION_TYPE_PARAMS"
    " SET_TYPEPARAM_DEFAULT"
)
FORMER_OPCODES = frozenset({"ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE", "PREP_RERAISE_STAR"})
"""Intrinsics that were opcodes of their own on 3.11, with the same effect: they keep that name."""


def none(tables: Tables, group: Sequence[Raw]) -> None:
    return None


def number(tables: Tables, group: Sequence[Raw]) -> int:
    return group[-1].arg


def flag(tables: Tables, group: Sequence[Raw]) -> bool:
    return bool(group[-1].arg)


def const(tables: Tables, group: Sequence[Raw]) -> Any:
    return tables.consts[group[-1].arg]


def name(tables: Tables, group: Sequence[Raw]) -> str:
    return tables.names[group[-1].arg]


def name_shifted(tables: Tables, group: Sequence[Raw]) -> str:
    return tables.names[group[-1].arg >> 1]


def slot(tables: Tables, group: Sequence[Raw]) -> str:
    return tables.slots[group[-1].arg]


def target(tables: Tables, group: Sequence[Raw]) -> int | None:
    return group[-1].target


def operator(tables: Tables, group: Sequence[Raw]) -> str:
    return BINARY_OPERATORS[group[-1].arg]


def comparison(shift: int) -> Callable[[Tables, Sequence[Raw]], str]:
    return lambda tables, group: COMPARISONS[group[-1].arg >> shift]


def unpack_ex(tables: Tables, group: Sequence[Raw]) -> UnpackEx:
    return UnpackEx(group[-1].arg & 0xFF, group[-1].arg >> 8)


def format_flags(tables: Tables, group: Sequence[Raw]) -> Format:
    return Format(CONVERSIONS[group[-1].arg & 3], bool(group[-1].arg & 4))


def function_flags(tables: Tables, group: Sequence[Raw]) -> tuple[str, ...]:
    return tuple(part for i, part in enumerate(FUNCTION_PARTS) if group[-1].arg >> i & 1)


def function_attributes(tables: Tables, group: Sequence[Raw]) -> tuple[str, ...]:
    """3.13 sets one part an instruction, topmost first; the answer is in stack order on every version."""
    return tuple(FUNCTION_PARTS[raw.arg.bit_length() - 1] for raw in reversed(group[1:]))


def call_with_names_before(tables: Tables, group: Sequence[Raw]) -> CallShape:
    """``[KW_NAMES] [PRECALL] CALL`` of 3.11 and 3.12."""
    keywords = tables.consts[group[0].arg] if group[0].name == "KW_NAMES" else ()
    return CallShape(group[-1].arg - len(keywords), keywords, True)


def call_null_last(tables: Tables, group: Sequence[Raw]) -> CallShape:
    return CallShape(group[-1].arg, (), False)


def call_kw(tables: Tables, group: Sequence[Raw]) -> CallShape:
    """``LOAD_CONST names, CALL_KW``; the names never show on the canonical stack."""
    keywords = tables.consts[group[0].arg]
    return CallShape(group[-1].arg - len(keywords), keywords, False)


def call_ex(null_first: bool) -> Callable[[Tables, Sequence[Raw]], CallExShape]:
    return lambda tables, group: CallExShape(bool(group[-1].arg & 1), null_first)


def as_(op: str, argument: Callable[[Tables, Sequence[Raw]], Any] = none) -> Reader:
    return lambda tables, group: (op, argument(tables, group))


def load_attr(tables: Tables, group: Sequence[Raw]) -> tuple[str, str]:
    """3.12 on: the lowest bit asks for a method, which takes two slots."""
    return ("LOAD_METHOD" if group[-1].arg & 1 else "LOAD_ATTR"), name_shifted(tables, group)


def load_super_attr(tables: Tables, group: Sequence[Raw]) -> tuple[str, SuperAttr]:
    arg = group[-1].arg
    op = "LOAD_SUPER_METHOD" if arg & 1 else "LOAD_SUPER_ATTR"
    return op, SuperAttr(tables.names[arg >> 2], bool(arg & 2))


def load_fast_or_cell(tables: Tables, group: Sequence[Raw]) -> tuple[str, str]:
    """3.13 has no LOAD_CLOSURE: it loads the cell as it loads any other slot."""
    arg = group[-1].arg
    return ("LOAD_CLOSURE" if tables.cells[arg] else "LOAD_FAST"), tables.slots[arg]


def intrinsic(opcode: str, names: Sequence[str]) -> Reader:
    def read(tables: Tables, group: Sequence[Raw]) -> tuple[str, str | None]:
        which = names[group[-1].arg]
        return (which, None) if which in FORMER_OPCODES else (opcode, which)

    return read


def rows(argument: Callable[[Tables, Sequence[Raw]], Any], names: str) -> dict[str, Reader]:
    """Instructions whose canonical name is their own."""
    return {op: as_(op, argument) for op in words(names)}


COMMON: dict[str, Reader] = {
    **rows(
        none,
        "POP_TOP PUSH_NULL NOP UNARY_NEGATIVE UNARY_NOT UNARY_INVERT BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR"
        " GET_LEN MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS PUSH_EXC_INFO CHECK_EXC_MATCH CHECK_EG_MATCH"
        " WITH_EXCEPT_START BEFORE_WITH BEFORE_ASYNC_WITH GET_ITER GET_AITER GET_ANEXT GET_YIELD_FROM_ITER"
        " END_ASYNC_FOR LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR RETURN_GENERATOR RETURN_VALUE"
        " SETUP_ANNOTATIONS POP_EXCEPT",
    ),
    **rows(
        number,
        "UNPACK_SEQUENCE SWAP COPY BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_SLICE BUILD_STRING"
        " BUILD_CONST_KEY_MAP LIST_APPEND SET_ADD MAP_ADD LIST_EXTEND SET_UPDATE DICT_MERGE DICT_UPDATE"
        " RERAISE RAISE_VARARGS GET_AWAITABLE COPY_FREE_VARS RESUME MATCH_CLASS YIELD_VALUE",
    ),
    **rows(
        name,
        "STORE_NAME DELETE_NAME LOAD_NAME STORE_ATTR DELETE_ATTR STORE_GLOBAL DELETE_GLOBAL IMPORT_NAME IMPORT_FROM",
    ),
    **rows(slot, "LOAD_FAST STORE_FAST DELETE_FAST MAKE_CELL LOAD_DEREF STORE_DEREF DELETE_DEREF"),
    **rows(flag, "IS_OP CONTAINS_OP"),
    **rows(target, "FOR_ITER SEND"),
    "LOAD_GLOBAL": as_("LOAD_GLOBAL", name_shifted),
    "LOAD_CONST": as_("LOAD_CONST", const),
    "BINARY_OP": as_("BINARY_OP", operator),
    "UNPACK_EX": as_("UNPACK_EX", unpack_ex),
    "JUMP_FORWARD": as_("JUMP", target),
    "JUMP_BACKWARD": as_("JUMP", target),
    "JUMP_BACKWARD_NO_INTERRUPT": as_("JUMP", target),
}

CONDITIONS = ("TRUE", "FALSE", "NONE", "NOT_NONE")
CONDITIONAL_JUMPS = {f"POP_JUMP_IF_{condition}": f"POP_JUMP_IF_{condition}" for condition in CONDITIONS}


def null_before(load: str) -> Splitter:
    """3.11 and 3.12 push the NULL of a coming call below the callable."""
    return lambda arg: (("PUSH_NULL", 0), (load, arg & ~1)) if arg & 1 else ()


def null_after(load: str) -> Splitter:
    return lambda arg: ((load, arg & ~1), ("PUSH_NULL", 0)) if arg & 1 else ()


def jump_or_pop(jump: str) -> Splitter:
    """``x and y`` of 3.11, spelled as later versions spell it."""
    return lambda arg: (("COPY", 1), (jump, arg), ("POP_TOP", 0))


def two_slots(first: str, second: str) -> Splitter:
    return lambda arg: ((first, arg >> 4), (second, arg & 15))


COMMON_SPLITS: dict[str, Splitter] = {
    "RETURN_CONST": lambda arg: (("LOAD_CONST", arg), ("RETURN_VALUE", 0)),
    "BINARY_SLICE": lambda arg: (("BUILD_SLICE", 2), ("BINARY_SUBSCR", 0)),
    "STORE_SLICE": lambda arg: (("BUILD_SLICE", 2), ("STORE_SUBSCR", 0)),
}


SLOT_ARGUMENTS = frozenset(
    words(
        "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR STORE_FAST DELETE_FAST MAKE_CELL LOAD_CLOSURE LOAD_DEREF"
        " STORE_DEREF DELETE_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF"
    )
)
"""Physical instructions whose argument is a slot; ``Dialect.pairs`` are those with two."""


# ------------------------------------------------------------------------------- spelling of calls
# The assembler calls with [callable, argument, …] on the stack: the first argument takes the second slot of the
# pair, as it does in every decorator and ``with`` that CPython itself compiles. That order is the same on all
# versions. ``names`` is the index of the constant that holds the keyword names.


def spell_call_311(count: int, names: int | None) -> tuple[tuple[str, int], ...]:
    call = (("PRECALL", count - 1), ("CALL", count - 1))
    return call if names is None else (("KW_NAMES", names), *call)


def spell_call_312(count: int, names: int | None) -> tuple[tuple[str, int], ...]:
    call = (("CALL", count - 1),)
    return call if names is None else (("KW_NAMES", names), *call)


def spell_call_313(count: int, names: int | None) -> tuple[tuple[str, int], ...]:
    if names is None:
        return (("CALL", count - 1),)
    return (("LOAD_CONST", names), ("CALL_KW", count - 1))


# ------------------------------------------------------------------------------------------ tables
# What the interpreter and the compiler keep for themselves.
INTERPRETER_ONLY = frozenset(
    words(
        "CACHE EXTENDED_ARG RESERVED INTERPRETER_EXIT EXIT_INIT_CHECK ENTER_EXECUTOR"
        " SETUP_FINALLY SETUP_CLEANUP SETUP_WITH POP_BLOCK JUMP JUMP_NO_INTERRUPT LOAD_SUPER_METHOD"
        " LOAD_ZERO_SUPER_METHOD LOAD_ZERO_SUPER_ATTR STORE_FAST_MAYBE_NULL"
    )
)

CPYTHON_311 = Dialect(
    name="CPython 3.11",
    null_first=True,
    rows={
        **COMMON,
        **rows(none, "UNARY_POSITIVE LIST_TO_TUPLE PRINT_EXPR IMPORT_STAR ASYNC_GEN_WRAP PREP_RERAISE_STAR"),
        **rows(name, "LOAD_ATTR LOAD_METHOD"),
        **rows(slot, "LOAD_CLOSURE LOAD_CLASSDEREF"),
        **{
            f"POP_JUMP_{way}_IF_{condition}": as_(f"POP_JUMP_IF_{condition}", target)
            for way in ("FORWARD", "BACKWARD")
            for condition in CONDITIONS
        },
        "COMPARE_OP": as_("COMPARE_OP", comparison(0)),
        "FORMAT_VALUE": as_("FORMAT_VALUE", format_flags),
        "MAKE_FUNCTION": as_("MAKE_FUNCTION", function_flags),
        "CALL": as_("CALL", call_with_names_before),
        "CALL_FUNCTION_EX": as_("CALL_FUNCTION_EX", call_ex(null_first=True)),
    },
    splits={
        "LOAD_GLOBAL": null_before("LOAD_GLOBAL"),
        "JUMP_IF_FALSE_OR_POP": jump_or_pop("POP_JUMP_FORWARD_IF_FALSE"),
        "JUMP_IF_TRUE_OR_POP": jump_or_pop("POP_JUMP_FORWARD_IF_TRUE"),
    },
    folds={"KW_NAMES": frozenset({"PRECALL"}), "PRECALL": frozenset({"CALL"})},
    caches={
        "BINARY_SUBSCR": 4,
        "STORE_SUBSCR": 1,
        "UNPACK_SEQUENCE": 1,
        "STORE_ATTR": 4,
        "LOAD_ATTR": 4,
        "COMPARE_OP": 2,
        "LOAD_GLOBAL": 5,
        "BINARY_OP": 1,
        "LOAD_METHOD": 10,
        "PRECALL": 1,
        "CALL": 4,
    },
    forward={
        "JUMP": "JUMP_FORWARD",
        **{f"POP_JUMP_IF_{condition}": f"POP_JUMP_FORWARD_IF_{condition}" for condition in CONDITIONS},
    },
    backward={
        "JUMP": "JUMP_BACKWARD",
        **{f"POP_JUMP_IF_{condition}": f"POP_JUMP_BACKWARD_IF_{condition}" for condition in CONDITIONS},
    },
    loop_end=(),
    effects={"SEND": 0},
    jump_effects={"SEND": -1},
    unchecked=frozenset(),
    load_cell="LOAD_CLOSURE",
    attr_shift=0,
    truth=(),
    call=spell_call_311,
    never=INTERPRETER_ONLY,
)

ROWS_312: dict[str, Reader] = {
    **COMMON,
    **rows(none, "END_FOR END_SEND CLEANUP_THROW LOAD_LOCALS"),
    **rows(name, "LOAD_FROM_DICT_OR_GLOBALS"),
    **rows(slot, "LOAD_FAST_AND_CLEAR LOAD_FROM_DICT_OR_DEREF"),
    **rows(target, " ".join(CONDITIONAL_JUMPS)),
    "LOAD_FAST_CHECK": as_("LOAD_FAST", slot),
    "LOAD_ATTR": load_attr,
    "LOAD_SUPER_ATTR": load_super_attr,
    "CALL_INTRINSIC_1": intrinsic("CALL_INTRINSIC_1", INTRINSICS_1),
    "CALL_INTRINSIC_2": intrinsic("CALL_INTRINSIC_2", INTRINSICS_2),
}

CPYTHON_312 = Dialect(
    name="CPython 3.12",
    null_first=True,
    rows={
        **ROWS_312,
        **rows(slot, "LOAD_CLOSURE"),
        "COMPARE_OP": as_("COMPARE_OP", comparison(4)),
        "FORMAT_VALUE": as_("FORMAT_VALUE", format_flags),
        "MAKE_FUNCTION": as_("MAKE_FUNCTION", function_flags),
        "CALL": as_("CALL", call_with_names_before),
        "CALL_FUNCTION_EX": as_("CALL_FUNCTION_EX", call_ex(null_first=True)),
    },
    splits={**COMMON_SPLITS, "LOAD_GLOBAL": null_before("LOAD_GLOBAL")},
    folds={"KW_NAMES": frozenset({"CALL"})},
    caches={
        "BINARY_SUBSCR": 1,
        "STORE_SUBSCR": 1,
        "UNPACK_SEQUENCE": 1,
        "FOR_ITER": 1,
        "STORE_ATTR": 4,
        "LOAD_ATTR": 9,
        "COMPARE_OP": 1,
        "LOAD_GLOBAL": 4,
        "BINARY_OP": 1,
        "SEND": 1,
        "LOAD_SUPER_ATTR": 1,
        "CALL": 3,
    },
    forward={"JUMP": "JUMP_FORWARD", **CONDITIONAL_JUMPS},
    backward={"JUMP": "JUMP_BACKWARD"},
    loop_end=("END_FOR",),
    effects={"SEND": 0, "END_FOR": -2},
    jump_effects={"SEND": 0},
    unchecked=frozenset({"LOAD_FAST", "LOAD_CLOSURE"}),
    load_cell="LOAD_CLOSURE",
    attr_shift=1,
    truth=(),
    call=spell_call_312,
    # LOAD_METHOD is a pseudo instruction from here on
    never=INTERPRETER_ONLY | {"LOAD_METHOD"},
)

PAIRS_313 = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}

CPYTHON_313 = Dialect(
    name="CPython 3.13",
    null_first=False,
    rows={
        **ROWS_312,
        **rows(none, "TO_BOOL"),
        "LOAD_FAST": load_fast_or_cell,
        "COMPARE_OP": as_("COMPARE_OP", comparison(5)),
        "FORMAT_SIMPLE": as_("FORMAT_VALUE", lambda tables, group: Format(None, False)),
        "FORMAT_WITH_SPEC": as_("FORMAT_VALUE", lambda tables, group: Format(None, True)),
        "CONVERT_VALUE": as_("CONVERT_VALUE", lambda tables, group: CONVERSIONS[group[-1].arg]),
        "MAKE_FUNCTION": as_("MAKE_FUNCTION", lambda tables, group: ()),
        "SET_FUNCTION_ATTRIBUTE": as_("MAKE_FUNCTION", function_attributes),
        "CALL": as_("CALL", call_null_last),
        "CALL_KW": as_("CALL", call_kw),
        "CALL_FUNCTION_EX": as_("CALL_FUNCTION_EX", call_ex(null_first=False)),
    },
    splits={
        **COMMON_SPLITS,
        **{fused: two_slots(*pair) for fused, pair in PAIRS_313.items()},
        "LOAD_GLOBAL": null_after("LOAD_GLOBAL"),
        "COMPARE_OP": lambda arg: (("COMPARE_OP", arg & ~16), ("TO_BOOL", 0)) if arg & 16 else (),
    },
    folds={
        "LOAD_CONST": frozenset({"CALL_KW"}),
        "TO_BOOL": frozenset({"UNARY_NOT", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"}),
        "MAKE_FUNCTION": frozenset({"SET_FUNCTION_ATTRIBUTE"}),
        "SET_FUNCTION_ATTRIBUTE": frozenset({"SET_FUNCTION_ATTRIBUTE"}),
    },
    caches={
        "LOAD_GLOBAL": 4,
        "BINARY_OP": 1,
        "UNPACK_SEQUENCE": 1,
        "COMPARE_OP": 1,
        "CONTAINS_OP": 1,
        "BINARY_SUBSCR": 1,
        "FOR_ITER": 1,
        "LOAD_SUPER_ATTR": 1,
        "LOAD_ATTR": 9,
        "STORE_ATTR": 4,
        "CALL": 3,
        "STORE_SUBSCR": 1,
        "SEND": 1,
        "JUMP_BACKWARD": 1,
        "TO_BOOL": 3,
        "POP_JUMP_IF_TRUE": 1,
        "POP_JUMP_IF_FALSE": 1,
        "POP_JUMP_IF_NONE": 1,
        "POP_JUMP_IF_NOT_NONE": 1,
    },
    forward={"JUMP": "JUMP_FORWARD", **CONDITIONAL_JUMPS},
    backward={"JUMP": "JUMP_BACKWARD"},
    loop_end=("END_FOR", "POP_TOP"),
    effects={"SEND": 0, "END_FOR": -1},
    jump_effects={"SEND": 0},
    unchecked=frozenset({"LOAD_FAST"}),
    load_cell="LOAD_FAST",
    attr_shift=1,
    one_namespace=False,
    truth=("TO_BOOL",),
    call=spell_call_313,
    pairs=PAIRS_313,
    never=INTERPRETER_ONLY | {"LOAD_METHOD", "LOAD_CLOSURE"},
)

DIALECTS = {(3, 11): CPYTHON_311, (3, 12): CPYTHON_312, (3, 13): CPYTHON_313}

if sys.version_info[:2] not in DIALECTS:
    raise ImportError(f"capture reads the bytecode of CPython 3.11 to 3.13, not of {sys.version.split()[0]}")

DIALECT = DIALECTS[sys.version_info[:2]]
