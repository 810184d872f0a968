"""Assembled code objects run, and are what CPython would have made of the same frame."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import traceback
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

import pytest

from capture.errors import InternalError
from capture.frames.assemble import Assembler, Lasti, Slot, check, resume_at, same_code
from capture.frames.bytecode import JUMPS, TERMINATORS, decode
from capture.frames.origins import origin
from tests.corpus.samples import CALLS, Derived
from tests.frames.machine import Machine

calls = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0].__name__}{call[1]}")


def start(code: CodeType) -> int:
    """Index of the first instruction after RESUME."""
    return next(i.index for i in decode(code).instructions if i.op == "RESUME") + 1


def with_code(function: Callable[..., Any], code: CodeType) -> FunctionType:
    assert isinstance(function, FunctionType)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made


def shown(value: object) -> str:
    return re.sub("0x[0-9a-f]+", "", repr(value))


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        kind, text = "value", shown(call())
    except Exception as error:
        kind, text = type(error).__name__, shown(str(error))
    assert sys.exception() is None, "an exception is still being handled"
    return kind, text


def begin(function: Callable[..., Any]) -> Assembler:
    return Assembler(function.__code__)


def returning(write: Callable[[Assembler], None], function: Callable[..., Any] = lambda x, y: None) -> FunctionType:
    """A function whose code is what ``write`` writes, and a return."""
    new = begin(function)
    write(new)
    new.return_value()
    return with_code(function, new.build())


# ------------------------------------------------------------------------------------- whole bodies
@calls
def test_the_same_code_written_again(call):
    function, arguments = call
    expected = outcome(lambda: function([], *arguments))
    assert outcome(lambda: with_code(function, same_code(function.__code__))([], *arguments)) == expected


@calls
def test_a_prefix_and_the_original(call):
    function, arguments = call
    new = begin(function)
    new.load_local("log") if "log" not in new.source.cells else new.load_deref("log")
    new.load_attr("append")
    new.load_const("prefix")
    new.call(1)
    new.pop_top()
    new.jump_to_original(start(function.__code__))
    code = new.build()

    def plain() -> Any:
        return function(log, *arguments), log

    def changed() -> Any:
        return with_code(function, code)(log, *arguments), log

    log: list[Any] = ["prefix"]
    expected = outcome(plain)
    log = []
    assert outcome(changed) == expected
    assert code.co_varnames == function.__code__.co_varnames
    assert inspect.signature(with_code(function, code)) == inspect.signature(function)


def rewritten(code: CodeType) -> CodeType:
    """Every instruction that is reached without an exception, one by one; handlers stay in the original."""
    new = Assembler(code)
    source = new.source
    reached, waiting = set(), [start(code)]
    while waiting:
        index = waiting.pop()
        if index not in reached:
            reached.add(index)
            waiting.extend(target for target, _ in source.successors(index))
    labels = {index: new.label() for index in reached}
    for index in sorted(reached):
        if new.depth is None and labels[index].depth is None:
            labels[index].depth = source.depths()[index]  # only reached from further down
        new.place(labels[index])
        instruction = source.instructions[index]
        if instruction.op == "JUMP":
            new.at(index)
            new.jump(labels[instruction.arg])
        elif instruction.op in JUMPS:
            new.native_jump(index, labels[instruction.arg])
        else:
            new.native(index)
        if instruction.op not in TERMINATORS and index + 1 not in reached:
            raise AssertionError(instruction)
    return new.build()


@calls
def test_native_copies_of_every_instruction(call):
    function, arguments = call
    here: list[Any] = []
    there: list[Any] = []
    expected = outcome(lambda: function(here, *arguments))
    assert outcome(lambda: with_code(function, rewritten(function.__code__))(there, *arguments)) == expected
    assert shown(here) == shown(there)


def test_generators_keep_their_prologue():
    def f(n):
        for i in range(n):
            yield (lambda: i * n)()

    new = begin(f)
    new.jump_to_original(start(f.__code__))
    assert list(with_code(f, new.build())(3)) == [0, 3, 6]


def test_written_loops_over_generators():
    """CPython ends them at the instructions that a FOR_ITER otherwise steps over."""

    def f(n):
        total = 0
        for x in (i * i for i in range(n)):
            total += x
        return total

    function = with_code(f, rewritten(f.__code__))
    for n in range(60):
        assert function(n) == f(n)


# -------------------------------------------------------------------------------------------- resume
@calls
def test_resume_at_every_step(call):
    """Stop before each instruction that runs, let a resume function finish: nothing tells the difference."""
    function, arguments = call
    here: list[Any] = []
    expected = outcome(lambda: function(here, *arguments))
    stops = Machine(function, [], *arguments)
    outcome(stops.run)
    for steps in range(stops.steps):
        there: list[Any] = []
        machine = Machine(function, there, *arguments)
        machine.run(steps)
        if machine.enterable:
            where = f"before {machine.code.instructions[machine.at]}, stack {machine.stack}"
            assert outcome(machine.finish) == expected, where
            assert shown(here) == shown(there), where


def test_resume_where_super_is_called():
    function = Derived.name
    expected = function(Derived([]))
    stops = Machine(function, Derived([]))
    assert stops.run() == expected
    for steps in range(stops.steps):
        machine = Machine(function, Derived([]))
        machine.run(steps)
        if machine.enterable:
            assert machine.finish() == expected


def test_resume_function_looks_like_the_original():
    def f(x, *rest, key=1, **more):
        y = x + key
        return rest, more, y, sys._getframe().f_code

    index = next(i.index for i in decode(f.__code__).instructions if i.op == "STORE_FAST")
    resume = resume_at(f.__code__, index, [Slot.VALUE], ["rest", "more"])
    assert resume.parameters == ("___stack0", "rest", "more")
    made = with_code(f, resume.code)
    made.__defaults__ = made.__kwdefaults__ = None
    assert made(5, (1,), {"a": 2})[:3] == ((1,), {"a": 2}, 5)
    code = resume.code
    assert (code.co_name, code.co_qualname, code.co_filename) == ("f", f.__code__.co_qualname, __file__)
    assert code.co_firstlineno == f.__code__.co_firstlineno
    assert code.co_argcount == 3 and code.co_kwonlyargcount == 0
    assert not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    assert code.co_flags & inspect.CO_OPTIMIZED


def test_closures_made_before_and_after_share_their_variable():
    def f(x):
        def first():
            return x

        x += 1

        def second():
            nonlocal x
            x += 10
            return x

        return first, second

    index = next(i.index for i in decode(f.__code__).instructions if i.op == "STORE_DEREF")
    cell = CellType(1)
    values = {"___stack0": 7, "x": cell, "first": lambda: cell.cell_contents}
    resume = resume_at(f.__code__, index, [Slot.VALUE], ["x", "first"])
    first, second = with_code(f, resume.code)(*(values[name] for name in resume.parameters))
    assert (first(), second(), first()) == (7, 17, 17)
    assert second.__closure__ == (cell,)


def test_locals_seen_in_a_resume_function():
    def f(a, b=2):
        c = [a]
        return locals(), (lambda: c)

    code = decode(f.__code__)
    index = next(i.index for i in code.instructions if i.op == "STORE_DEREF")
    assert code.live_locals(index) == {"a", "b", "c"}
    resume = resume_at(f.__code__, index, [Slot.VALUE], ["a", "b", "c"])
    values = {"___stack0": [5], "a": 5, "b": 6, "c": CellType()}
    assert with_code(f, resume.code)(*(values[name] for name in resume.parameters))[0] == {"a": 5, "b": 6, "c": [5]}


def test_a_stack_value_lives_no_longer_than_in_the_original():
    class Thing:
        pass

    def f(make, alive):
        make()
        return alive()

    index = next(i.index for i in decode(f.__code__).instructions if i.op == "POP_TOP")
    resume = resume_at(f.__code__, index, [Slot.VALUE], ["alive"])
    things = [Thing()]
    reference = weakref.ref(things[0])
    function = with_code(f, resume.code)
    seen = function(things.pop(), reference)  # not inside assert, which would hold the argument
    assert seen is None


def test_a_resume_function_is_resumed_from_what_it_resumes():
    def f(a, b):
        c = a + b
        d = c * 2
        return d - a

    original = f.__code__
    stores = [i.index for i in decode(original).instructions if i.op == "STORE_FAST"]
    first = resume_at(original, stores[0], [Slot.VALUE], ["a"])
    second_store = [i.index for i in decode(first.code).instructions if i.op == "STORE_FAST"][-1]
    assert origin(first.code, second_store) == (original, stores[1])
    second = resume_at(first.code, second_store, [Slot.VALUE], ["a"])
    assert with_code(f, second.code)(10, 3) == 7
    assert second.code == resume_at(original, stores[1], [Slot.VALUE], ["a"]).code
    assert origin(original, 5) == (original, 5)
    assert origin(first.code, 1) == (first.code, 1)


def test_resume_in_the_callers_region():
    """A caller is continued by calling what continues its callee, under its own handlers."""

    def f(x):
        try:
            y = x()
        except KeyError as error:
            return error.args
        return y + 1

    code = f.__code__
    call = next(i.index for i in decode(code).instructions if i.op == "CALL")
    new = Assembler.resuming(code, [], [])
    with new.covered_by(call):
        new.at(call)
        new.load_const({"a": 1}.__getitem__)
        new.load_const("a")
        new.call(1)
    new.jump_to_original(call + 1)
    assert with_code(f, new.build())() == 2
    new = Assembler.resuming(code, [], [])
    with new.covered_by(call):
        new.load_const({}.__getitem__)
        new.load_const("b")
        new.call(1)
    new.jump_to_original(call + 1)
    assert with_code(f, new.build())() == ("b",)


def test_resume_in_a_handler_restores_what_is_handled():
    def f(log):
        try:
            log[0]
        except IndexError:
            log.append(1)
            raise

    code = decode(f.__code__)
    call = next(i.index for i in code.instructions if i.op == "CALL")
    depth = code.depths()[call]
    assert depth == 4
    resume = resume_at(f.__code__, call + 1, [Slot.HANDLED, Slot.VALUE], [])
    error = IndexError("mine")
    with pytest.raises(IndexError) as caught:
        with_code(f, resume.code)(error, None)
    assert caught.value is error
    assert sys.exception() is None


def test_place_of_a_failed_instruction():
    def f(x):
        with x:
            x.missing()

    code = decode(f.__code__)
    load = next(i.index for i in code.instructions if i.op == "LOAD_METHOD")
    region = code.region_at(load)
    assert region is not None and region.lasti

    frames = []

    class Manager:
        def __exit__(self, kind: type, *rest: Any) -> bool:
            frames.append(sys._getframe(1))
            return kind is AttributeError

    def raised(error: Exception) -> Exception:
        try:
            raise error
        except type(error):
            return error

    resume = resume_at(f.__code__, region.target, [Slot.VALUE, Lasti(load), Slot.VALUE], [])
    function = with_code(f, resume.code)
    assert function(Manager().__exit__, raised(AttributeError("gone"))) is None
    with pytest.raises(KeyError):
        function(Manager().__exit__, raised(KeyError("gone")))
    assert frames[1].f_lineno == code.instructions[load].line


# ---------------------------------------------------------------------------------------- positions
def test_tracebacks_are_the_same():
    def f(x, log):
        log.append(x)
        try:
            return (
                x + 1  #
            )
        finally:
            log.missing  # noqa: B018

    def entries(function: FunctionType, *arguments: Any) -> list[Any]:
        try:
            function(*arguments)
        except (TypeError, AttributeError) as error:
            found = traceback.TracebackException.from_exception(error)
        text = [line for line in found.format() if "in entries" not in line and "function(*arguments)" not in line]
        return ["".join(text)]

    expected = entries(f, "a", [])
    code = f.__code__
    assert entries(with_code(f, same_code(code)), "a", []) == expected
    assert entries(with_code(f, rewritten(code)), "a", []) == expected
    add = next(i.index for i in decode(code).instructions if i.op == "BINARY_OP")
    resume = resume_at(code, add, [Slot.VALUE, Slot.VALUE], ["log"])
    assert entries(with_code(f, resume.code), "a", 1, []) == expected


def test_prologue_carries_the_users_position():
    def f(x):
        print(x)

        return x

    new = begin(f)
    index = next(i.index for i in decode(f.__code__).instructions if i.op == "RETURN_VALUE")
    new.at(index)
    new.load_const(ZeroDivisionError("mine"))
    new.raise_exception()
    with pytest.raises(ZeroDivisionError) as caught:
        with_code(f, new.build())(1)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == f.__code__.co_firstlineno + 3


# ------------------------------------------------------------------------------------------- slots
def many(count: int, body: str, cell: str = "") -> FunctionType:
    """A function with so many locals; ``cell`` is one that a lambda reads."""
    lines = [f"    v{i} = x + {i}" for i in range(count)]
    lines += ["    try:", "        [][x]", "    except IndexError as error:", "        v0 = len(error.args)"]
    capture = f"    g = lambda: {cell}\n" if cell else ""
    space: dict[str, Any] = {}
    exec(f"def f(x, log):\n{chr(10).join(lines)}\n{capture}    {body}\n", space)
    return space["f"]


@pytest.mark.parametrize("count", [3, 13, 20, 250, 300])
def test_locals_are_renumbered(count):
    function = many(count, f"return v0, v1, [v{count - 1} for v2 in [log, x]], v2, g()", cell="v1")
    last = f"v{count - 1}"
    expected = function(5, [])
    code = decode(function.__code__)
    names = {i.arg for i in code.instructions if i.op == "LOAD_FAST"}
    assert last in names | set(code.slots)
    machine = Machine(function, 5, [])
    machine.run(len(code.instructions) // 2)
    while not machine.enterable:
        machine.step()
    assert machine.finish() == expected


@pytest.mark.parametrize("count", [2, 15, 255, 256])
def test_an_added_local_moves_the_cells(count):
    function = many(count, "log.append(v0)\n    for i in log:\n        x += g()\n    return x, log, g()", cell="v0")
    new = begin(function)
    new.add_local("extra")
    new.load_const([7])
    new.store_local("extra")
    new.load_local("extra")
    new.load_local("log")
    new.load_attr("extend")
    new.swap(2)
    new.call(1)
    new.pop_top()
    new.jump_to_original(start(function.__code__))
    code = new.build()
    assert code.co_varnames == (*function.__code__.co_varnames, "extra")
    assert with_code(function, code)(5, []) == function(5, [7])


def test_added_local_with_free_variables():
    factor = 3

    def f(x):
        def g():
            return x * factor

        return g() + factor

    new = begin(f)
    new.add_local("a")
    new.load_cell("x")
    new.store_local("a")
    new.load_deref("factor")
    new.store_deref("x")
    new.jump_to_original(start(f.__code__))
    assert with_code(f, new.build())(100) == 12


# ----------------------------------------------------------------------------------------- emitters
def test_calls_with_any_number_of_arguments():
    def collect(*args, **kwargs):
        return args, kwargs

    for count in range(4):
        for named in range(count + 1):
            keywords = tuple("abc"[:named])

            def write(new, count=count, keywords=keywords):
                new.load_const(collect)
                for i in range(count):
                    new.load_const(i)
                new.call(count, keywords)

            at = count - named
            assert returning(write)(0, 0) == (tuple(range(at)), dict(zip(keywords, range(at, count), strict=True)))


def test_calls_with_a_tuple_and_a_dict():
    def write(new):
        new.load_const(lambda *args, **kwargs: (args, kwargs))
        new.load_const((1, 2))
        new.build_map(0)
        new.call_with(keywords=True)
        new.load_const(max)
        new.load_const((3, 4))
        new.call_with()
        new.build_tuple(2)

    assert returning(write)(0, 0) == (((1, 2), {}), 4)


def test_containers_and_subscripts():
    def write(new):
        new.load_local("x")  # a list
        new.load_const(1)
        new.load_const(3)
        new.build_slice(2)
        new.binary_subscr()
        new.unpack_sequence(2)
        new.build_list(2)
        new.copy(1)
        new.load_local("y")  # a dict
        new.load_const("key")
        new.store_subscr()
        new.load_local("y")
        new.load_const("gone")
        new.delete_subscr()
        new.load_const(1)
        new.build_set(1)
        new.load_const("k")
        new.load_const("v")
        new.build_map(1)
        new.build_tuple(3)

    table = {"gone": 0}
    assert returning(write)([0, 1, 2, 3], table) == ([2, 1], {1}, {"k": "v"})
    assert table == {"key": [2, 1]}


def test_attributes_globals_and_operators():
    class Box:
        value = 2

    def write(new):
        new.load_local("x")
        new.load_attr("value")
        new.load_local("y")
        new.binary_op("**")
        new.copy(1)
        new.load_local("x")
        new.store_attr("other")
        new.store_global("WRITTEN_BY_A_TEST")
        new.load_global("WRITTEN_BY_A_TEST")

    box = Box()
    assert returning(write)(box, 5) == 32 == box.other
    del globals()["WRITTEN_BY_A_TEST"]


@pytest.mark.parametrize("value", [None, [], [1], 0, 1.5, True])
def test_branches(value):
    def write(new):
        truthy, nothing, end = new.label(), new.label(), new.label()
        new.load_local("x")
        new.jump_if_none(nothing)
        new.load_local("x")
        new.jump_if_true(truthy)
        new.load_const("false")
        new.jump(end)
        new.place(nothing)
        new.load_const("none")
        new.jump(end)
        new.place(truthy)
        new.load_const("true")
        new.place(end)

    assert returning(write)(value, 0) == ("none" if value is None else "true" if value else "false")


def test_a_loop_that_was_written():
    def write(new):
        again, end = new.label(), new.label()
        new.load_const(0)
        new.place(again)
        new.load_local("x")
        new.jump_if_false(end)
        new.load_local("x")
        new.load_attr("pop")
        new.call(0)
        new.binary_op("+=")
        new.jump(again)
        new.place(end)

    assert returning(write)([1, 2, 3], 0) == 6


def test_long_jumps():
    def write(new):
        end = new.label()
        new.load_const("jumped")
        new.load_local("x")
        new.jump_if_true(end)
        for _ in range(70_000 if sys.maxsize else 0):
            new.plain("NOP")
        new.pop_top()
        new.load_const("fell")
        new.place(end)

    function = returning(write)
    assert (function(1, 0), function(0, 0)) == ("jumped", "fell")


def test_constants_keep_their_identity():
    name = "".join(["con", "stant_of_this_test"])
    other = "".join(["con", "stant_of_this_test"])
    sys.intern(name)
    values = [[], {}, 1.0, 1, True, (other, [other]), frozenset([other]), name, other, "not a name", print, -0.0]

    def write(new):
        for value in values:
            new.load_const(value)
        new.build_tuple(len(values))

    assert all(a is b for a, b in zip(returning(write)(0, 0), values, strict=True))
    assert values[5][0] is other


def test_moving_a_local_unbinds_it():
    def write(new):
        new.move_local("x")
        new.pop_top()
        new.load_local("x", bound=False)

    with pytest.raises(UnboundLocalError):
        returning(write)(1, 2)


# ------------------------------------------------------------------------------------------- faults
def test_misuse_is_refused():
    def f(x):
        for y in x:
            print(y)

    def refused(write: Callable[[Assembler], object]) -> None:
        new = begin(f)
        with pytest.raises(InternalError):
            write(new)
            new.build()

    loop = next(i.index for i in decode(f.__code__).instructions if i.op == "FOR_ITER")
    refused(lambda new: new.pop_top())
    refused(lambda new: new.load_const(1))
    refused(lambda new: new.load_local("unknown"))
    refused(lambda new: new.native(loop))
    refused(lambda new: new.jump_to_original(loop))
    refused(lambda new: new.jump(new.label()))
    refused(lambda new: resume_at(f.__code__, loop, [], []))
    refused(lambda new: resume_at(f.__code__, loop, [Slot.VALUE], ["unknown"]))


def test_a_variable_that_is_read_unchecked_must_be_passed():
    def f(x, y):
        z = x + y
        return (lambda: x), z, y

    add = next(i.index for i in decode(f.__code__).instructions if i.op == "BINARY_OP")
    resume_at(f.__code__, add, [Slot.VALUE, Slot.VALUE], ["x", "y"])
    with pytest.raises(InternalError, match="reads x without a value"):
        resume_at(f.__code__, add, [Slot.VALUE, Slot.VALUE], ["y"])


def test_a_generator_is_not_resumed():
    def f(x):
        yield x
        yield x + 1

    with pytest.raises(InternalError, match="generator"):
        resume_at(f.__code__, 8, [Slot.VALUE], ["x"])


def test_variables_named_like_stack_slots_are_refused():
    def f(___stack0):
        return print(1), ___stack0

    add = next(i.index for i in decode(f.__code__).instructions if i.op == "BUILD_TUPLE") - 1
    with pytest.raises(InternalError, match="___stack0"):
        resume_at(f.__code__, add, [Slot.VALUE], ["___stack0"])


def test_check_refuses_a_shallow_stack():
    def f(x):
        return max(x, x, x)

    with pytest.raises(InternalError, match="stack slots"):
        check(f.__code__.replace(co_stacksize=2))


# --------------------------------------------------------------------------------------------- leaks
def test_nothing_is_kept():
    def f(x):
        y = x + 1
        return y

    code = f.__code__.replace()
    held = weakref.ref(resume_at(code, start(code), [], ["x"]).code)
    decode_cache_size = 600
    for _ in range(decode_cache_size):
        resume_at(code.replace(), start(code), [], ["x"])
    gc.collect()
    assert held() is None


def test_reference_counts_are_flat():
    def f(log, bad):
        try:
            return [log, bad, 1 // bad]
        except ZeroDivisionError as error:
            return error.args

    code = decode(f.__code__)
    index = next(i.index for i in code.instructions if i.op == "BINARY_OP")
    depth = code.depths()[index]
    resume = resume_at(f.__code__, index, [Slot.VALUE] * (depth or 0), [])
    function = with_code(f, resume.code)
    log = object()
    before = sys.getrefcount(log)
    for _ in range(200):
        function(log, 0, 1, 0)
        function(log, 1, 1, 1)
    assert sys.getrefcount(log) == before
