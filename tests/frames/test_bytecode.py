"""Canonical bytecode against ``dis``, against CPython's own behaviour, and as stated listings."""

from __future__ import annotations

import dis
import opcode
import re
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from capture.errors import InternalError
from capture.frames import versions
from capture.frames.bytecode import decode, stack_effect
from capture.frames.instructions import EFFECTS, JUMPS
from capture.frames.reading import read_raws
from capture.frames.versions import DIALECT, DIALECTS
from tests.corpus.samples import CALLS
from tests.frames import corpus
from tests.frames.machine import Machine


def listing(function: FunctionType) -> list[str]:
    return [str(i)[5:] for i in decode(function.__code__).instructions if i.op not in ("RESUME", "NOP")]


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    """What a call returns or raises, as text without addresses."""
    try:
        kind, text = "value", repr(call())
    except Exception as error:
        kind, text = type(error).__name__, str(error)
    return kind, re.sub("0x[0-9a-f]+", "", text)


# ------------------------------------------------------------------------------------------- tables
def test_every_opcode_has_a_place():
    for name in dis.opmap:
        plain = name.removeprefix("INSTRUMENTED_")
        if plain in DIALECT.never or plain in ("INSTRUCTION", "LINE"):
            continue  # these two only stand in for others, and co_code shows the others
        assert plain in DIALECT.rows or plain in DIALECT.splits or plain in DIALECT.folds, name


def test_tables_name_only_opcodes_of_their_version():
    named = {*DIALECT.rows, *DIALECT.splits, *DIALECT.folds, *DIALECT.caches, *DIALECT.never}
    assert named - {"SETUP_FINALLY", "SETUP_CLEANUP", "SETUP_WITH", *versions.words(
        "CACHE RESERVED INTERPRETER_EXIT EXIT_INIT_CHECK ENTER_EXECUTOR POP_BLOCK JUMP JUMP_NO_INTERRUPT"
        " LOAD_SUPER_METHOD LOAD_ZERO_SUPER_METHOD LOAD_ZERO_SUPER_ATTR STORE_FAST_MAYBE_NULL"
        " BINARY_SLICE STORE_SLICE RETURN_CONST"
    )} <= dis.opmap.keys()  # fmt: skip


def test_caches_are_those_of_cpython():
    entries = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if not isinstance(entries, dict):
        entries = {dis.opname[op]: count for op, count in enumerate(entries)}
    assert {name: count for name, count in entries.items() if count} == DIALECT.caches


def test_operators_are_those_of_cpython():
    from capture.frames.versions import BINARY_OPERATORS, COMPARISONS, INTRINSICS_1, INTRINSICS_2

    assert [symbol for _, symbol in opcode._nb_ops] == list(BINARY_OPERATORS)  # type: ignore[attr-defined]
    assert dis.cmp_op == COMPARISONS
    for ours, theirs in ((INTRINSICS_1, "_intrinsic_1_descs"), (INTRINSICS_2, "_intrinsic_2_descs")):
        names = [re.sub("^INTRINSIC_([12]_)?", "", name) for name in getattr(opcode, theirs, ())]
        assert list(ours[: len(names)]) == names


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_every_canonical_operation_has_an_effect(dialect):
    """Also on the versions that do not run here, for operations that take no look at tables."""
    effects = {**EFFECTS, **dialect.effects}
    canonical = {name for name in dialect.rows if name in effects}
    only_physical = set(dialect.rows) - canonical
    assert only_physical <= {
        *dialect.forward.values(), *dialect.backward.values(), "LOAD_FAST_CHECK", "JUMP_BACKWARD_NO_INTERRUPT",
        "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "SET_FUNCTION_ATTRIBUTE", "CALL_KW",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------- corpus
def test_library_sample_reads_and_writes_as_dis_and_cpython_say():
    found = {}
    count = 0
    for code in corpus.sample():
        count += 1
        faults = list(corpus.faults(code, builds=count % 8 == 0))
        if faults:
            found[code.co_filename, code.co_qualname] = faults
    assert not found
    assert count > 1000


# ---------------------------------------------------------------------------------------- listings
def test_calls_have_one_form():
    def f(a, g):
        return g(a, key=a.m(1))

    null_first = DIALECT.null_first
    first, second = ("PUSH_NULL", "LOAD_FAST g") if null_first else ("LOAD_FAST g", "PUSH_NULL")
    assert listing(f) == [
        first,
        second,
        "LOAD_FAST a",
        "LOAD_FAST a",
        "LOAD_METHOD m",
        "LOAD_CONST 1",
        f"CALL CallShape(positional=1, keywords=(), null_first={null_first})",
        f"CALL CallShape(positional=1, keywords=('key',), null_first={null_first})",
        "RETURN_VALUE",
    ]


def test_versions_do_not_show():
    def f(x, y, s):
        if x and not y < s:
            s[x:y] = x[1:]
        return f"{x!r}{y:>3}"

    assert listing(f)[:16] == [
        "LOAD_FAST x",
        "POP_JUMP_IF_FALSE 17",
        "LOAD_FAST y",
        "LOAD_FAST s",
        "COMPARE_OP <",
        "POP_JUMP_IF_TRUE 17",
        "LOAD_FAST x",
        "LOAD_CONST 1",
        "LOAD_CONST None",
        "BUILD_SLICE 2",
        "BINARY_SUBSCR",
        "LOAD_FAST s",
        "LOAD_FAST x",
        "LOAD_FAST y",
        "BUILD_SLICE 2",
        "STORE_SUBSCR",
    ]


def test_conditions_are_one_instruction_that_takes_any_object():
    def f(x, y):
        return (x and y) if not x is None else x or (x if x else y)  # noqa: E714

    operations = {i.op for i in decode(f.__code__).instructions}
    assert operations <= {
        "RESUME", "LOAD_FAST", "LOAD_CONST", "COPY", "POP_TOP", "RETURN_VALUE", "JUMP",
        "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
    }  # fmt: skip


def test_function_parts_are_named_in_stack_order():
    def f(x):
        def g(a, b=1, *, c: int = 2):
            return x

        return g

    made = [i.arg for i in decode(f.__code__).instructions if i.op == "MAKE_FUNCTION"]
    assert made == [("defaults", "kwdefaults", "annotations", "closure")]


def test_loop_leaves_behind_its_end():
    def f(xs):
        for _x in xs:
            pass
        return xs

    code = decode(f.__code__)
    loop = next(i for i in code.instructions if i.op == "FOR_ITER")
    assert [str(i)[5:] for i in code.instructions[loop.arg :]] == ["LOAD_FAST xs", "RETURN_VALUE"]
    assert code.depths()[loop.arg] == 0
    assert [i.backward for i in code.instructions if i.op in JUMPS] == [False, True]


def test_pieces_of_one_physical_instruction_share_its_place():
    def f(x):
        return len(x)

    instructions = decode(f.__code__).instructions
    pair = [i for i in instructions if i.op in ("PUSH_NULL", "LOAD_GLOBAL")]
    assert [(i.part, i.resumable) for i in pair] == [(0, True), (1, False)]
    assert pair[0].offset == pair[1].offset and pair[0].end == pair[1].end


def test_free_variable_and_comprehension_variable_of_one_name():
    def outer():
        x = 10

        def f(n):
            return [x for x in range(n) if n], x

        return f

    f = outer()
    code = decode(f.__code__)
    assert list(code.free.values()) == [0]
    assert len(set(code.slots)) == len(code.slots)
    assert Machine(f, 3).run() == ([0, 1, 2], 10)


# ---------------------------------------------------------------------------------------- behaviour
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0].__name__}{call[1]}")
def test_canonical_code_does_what_the_function_does(call):
    function, arguments = call
    here: list[Any] = []
    there: list[Any] = []
    expected = outcome(lambda: function(here, *arguments))
    assert outcome(Machine(function, there, *arguments).run) == expected
    assert re.sub("0x[0-9a-f]+", "", repr(there)) == re.sub("0x[0-9a-f]+", "", repr(here))


def test_raw_index_finds_the_running_instruction():
    def f(x):
        y = x + 1
        return (y, sys._getframe().f_lasti)

    code = decode(f.__code__)
    at = code.instructions[code.raw_index(f(1)[1])]
    assert (at.op, at.arg) == ("LOAD_ATTR", "f_lasti")
    assert at.line == f.__code__.co_firstlineno + 2
    with pytest.raises(InternalError):
        code.raw_index(10**6)


def test_regions_name_the_innermost_handler():
    def f(x):
        try:
            with x:
                g = x.a
        finally:
            x.b()
        return g

    code = decode(f.__code__)
    inside = next(i.index for i in code.instructions if i.op == "LOAD_ATTR")
    region = code.region_at(inside)
    assert region is not None and region.lasti and region.depth == 1
    assert code.instructions[region.target].op == "PUSH_EXC_INFO"
    assert region.target in code.jump_targets
    outer = code.region_at(next(i.index for i in code.instructions if i.op == "BEFORE_WITH"))
    assert outer is not None and not outer.lasti and outer.depth == 0
    assert code.region_at(0) is None
    assert code.depths()[region.target] == region.entry_depth == 3


# ---------------------------------------------------------------------------------------- liveness
def live_at(function: Callable[..., Any], op: str, arg: Any = None) -> set[str]:
    code = decode(function.__code__)
    index = next(i.index for i in code.instructions if i.op == op and arg in (None, i.arg))
    return set(code.live_locals(index))


def test_only_what_is_read_later_is_live():
    def f(a, b, c):
        d = a + b
        a = d * 2
        return a

    assert live_at(f, "BINARY_OP", "+") == set()
    assert live_at(f, "LOAD_FAST", "b") == {"b"}
    assert live_at(f, "STORE_FAST", "a") == set()


def test_what_a_handler_reads_is_live_in_the_region():
    def f(a, b):
        try:
            return a()
        except ValueError:
            return b

    assert live_at(f, "CALL") == {"b"}


def test_what_the_next_iteration_reads_is_live():
    def f(xs, step):
        total = 0
        for x in xs:
            total = total + x
            x = step
        return total

    assert live_at(f, "STORE_FAST", "x") == {"total", "step"}


def test_cells_are_live_while_they_are_stored_to():
    def f(a, b):
        def g():
            return a

        a = b
        return g()

    assert live_at(f, "STORE_DEREF", "a") >= {"a", "g"}


def test_free_variables_are_not_local():
    outside = 1

    def f(a):
        return a + outside

    assert live_at(f, "BINARY_OP", "+") == set()
    assert live_at(f, "LOAD_FAST", "a") == {"a"}


def test_all_is_live_where_locals_can_be_seen():
    def f(a, b):
        c = 1
        return locals()

    assert live_at(f, "LOAD_CONST", 1) == {"a", "b", "c"}


def test_super_keeps_the_first_argument():
    class C:
        def f(self, x):
            y = x + 1
            return super().__repr__(), y

        def g():
            return super().__repr__()

    assert "self" in live_at(C.f, "BINARY_OP", "+")
    assert live_at(C.g, "LOAD_GLOBAL") == set()


def test_loads_without_a_check_are_required():
    def f(a, flag):
        if flag:
            b = a
        return a, b

    code = decode(f.__code__)
    required = code.required_locals(0)
    assert required == ({"a", "flag"} if "LOAD_FAST" in DIALECT.unchecked else set())


# -------------------------------------------------------------------------------------------- faults
def test_specialised_and_traced_code_reads_as_it_was_compiled():
    def f(xs):
        total = 0
        for x in xs:
            total += len(x) if x else 1
        return total

    before = list(read_raws(f.__code__))
    for _ in range(50):
        f(["a", ""])
    assert list(read_raws(f.__code__)) == before
    lines = []
    outer = sys.gettrace()
    sys.settrace(lambda frame, event, arg: lambda *event: lines.append(event[1]))
    try:
        f(["a", ""])
        assert list(read_raws(f.__code__)) == before
    finally:
        sys.settrace(outer)
    assert "line" in lines


def test_decoding_is_remembered_by_identity():
    def f():
        return 1

    code = f.__code__
    assert decode(code) is decode(code)
    assert decode(code) is not decode(code.replace())
    odd = code.replace(co_consts=(*code.co_consts, [1]))  # no hash
    assert decode(odd).original is odd


def test_bad_bytecode_is_refused():
    def f(x):
        for y in x:
            print(y)

    code = f.__code__
    jump = bytes((dis.opmap["JUMP_FORWARD"], 200))
    pop = bytes((dis.opmap["POP_TOP"], 0))
    with pytest.raises(InternalError):
        decode(code.replace(co_code=code.co_code + jump))
    with pytest.raises(InternalError):
        decode(code.replace(co_code=code.co_code[:2] + pop + code.co_code[2:])).depths()
    with pytest.raises(InternalError):
        decode(code.replace(co_names=()))
    inside = next(i.end // 2 - 1 for i in decode(code).instructions if i.op == "CALL")  # its last cache
    with pytest.raises(InternalError):
        decode(code.replace(co_exceptiontable=bytes((0x81, 2, inside, 0))))


def test_effects_by_jump():
    def f(xs):
        for x in xs:
            return x

    loop = next(i for i in decode(f.__code__).instructions if i.op == "FOR_ITER")
    assert (stack_effect(loop), stack_effect(loop, jump=True)) == (1, -1)
