"""Frames seen while the hook is armed: captured where asked, replaced in place, everything else untouched."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import threading
import weakref
from types import CodeType, FunctionType
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import EqualsConstant, Guard, IsObject, TypeIs, compile_guards
from capture.frames.hook import Continuation, Entry, Variant
from capture.frames.sources import Argument, Cell, Global
from tests.frames.test_hook import CALLS, SIGNATURES, caught, everything, outcome, outline, stack_of

ALWAYS = (0, ())
X = Argument(0, "x")


class Capture:
    """Callbacks that give each code object in a table its variant, and note what they are asked."""

    def __init__(self, table: dict[FunctionType, Variant | None]):
        self.table = {function.__code__: variant for function, variant in table.items()}
        self.decisions: list[CodeType] = []
        self.misses: list[tuple[str, tuple[Any, ...]]] = []
        hook.set_callbacks(self.miss, self.should_capture)

    def should_capture(self, code: CodeType) -> bool:
        self.decisions.append(code)
        return code in self.table

    def miss(self, entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
        assert entry.function.__code__ is entry.code
        self.misses.append((entry.code.co_name, arguments))
        return self.table[entry.code]


@pytest.fixture(autouse=True)
def hook_is_left_as_found():
    yield
    assert hook.armed_depth() == 0
    hook.set_callbacks(None, None)
    hook.reset()


def variant(replacement: FunctionType, *guards: Guard, **options: Any) -> Variant:
    return Variant(compile_guards(guards)[0], replacement.__code__.replace(), **options)


def plain(x):
    return ("plain", x)


def replaced(x):
    return ("replaced", x)


def calls_plain(x):
    return plain(x), plain(x + 1)


# ---- capturing ----


def test_frames_are_captured_only_while_armed():
    capture = Capture({plain: variant(replaced)})
    assert calls_plain(1) == (("plain", 1), ("plain", 2))
    with hook.armed():
        assert hook.armed_depth() == 1
        assert calls_plain(1) == (("replaced", 1), ("replaced", 2))
    assert calls_plain(1) == (("plain", 1), ("plain", 2))
    assert capture.misses == [("plain", (1,))]
    assert hook.code_record(plain.__code__).decision == "capture"
    assert hook.code_record(calls_plain.__code__) == ("skip", ())


def test_each_code_is_decided_once_until_forgotten():
    capture = Capture({plain: None})
    with hook.armed():
        calls_plain(1)
        calls_plain(2)
    mine = [calls_plain.__code__, plain.__code__]
    assert [code for code in capture.decisions if code in mine] == mine
    assert capture.misses == [("plain", (value,)) for value in (1, 2, 2, 3)]
    hook.forget(plain.__code__)
    assert hook.code_record(plain.__code__) == ("undecided", ())
    with hook.armed():
        calls_plain(1)
    assert [code for code in capture.decisions if code in mine] == [*mine, plain.__code__]
    hook.reset()
    assert hook.code_record(calls_plain.__code__) == ("undecided", ())


def test_replacement_code_is_never_captured_itself():
    made = variant(replaced)
    assert hook.code_record(made.code) == ("replacement", ())
    hook.reset()
    assert hook.code_record(made.code).decision == "replacement"


def test_running_a_native_variant_arms_the_hook():
    Capture({plain: variant(replaced)})
    entry = Entry(calls_plain)
    entry.add(variant(calls_plain))
    assert entry(1) == (("replaced", 1), ("replaced", 2))
    with hook.nested(False):
        assert entry(1) == (("plain", 1), ("plain", 2))
    entry.clear()
    entry.add(variant(calls_plain, native=False))
    assert entry(1) == (("plain", 1), ("plain", 2))


def test_frames_know_on_whose_behalf_they_are_captured():
    infos = []

    def miss(entry, arguments):
        infos.append((entry.info, hook.current_info()))

    hook.set_callbacks(miss, lambda code: code is plain.__code__)
    entry = Entry(calls_plain, info="settings")
    entry.add(variant(calls_plain))
    entry(1)
    assert infos == [(None, "settings")] * 2
    assert hook.current_info() is None


def test_quiet_and_plain_entries():
    Capture({plain: variant(replaced)})
    with hook.armed():
        assert plain(1) == ("replaced", 1)
        with hook.quiet():
            assert plain(1) == ("plain", 1)
        (entry,) = hook.code_record(plain.__code__).entries
        entry.plain = True
        assert plain(1) == ("plain", 1)


def test_a_plain_run_of_an_entry_is_not_captured_as_a_frame():
    Capture({plain: variant(replaced)})
    entry = Entry(plain, lambda entry, arguments: None)
    with hook.armed():
        assert entry(1) == ("plain", 1)
        assert plain(1) == ("replaced", 1)


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_arguments_of_frames(function):
    capture = Capture({function: Variant(ALWAYS, function.__code__.replace())})
    asked = []
    entry = Entry(function, lambda entry, arguments: asked.append(arguments))
    for args, kwargs in CALLS:
        expected = outcome(function, args, kwargs)
        hook.reset()
        capture.misses.clear()
        asked.clear()
        with hook.armed():
            assert outcome(function, args, kwargs) == expected
        outcome(entry, args, kwargs)
        assert [arguments for _, arguments in capture.misses] == asked


def test_closures_share_code_but_not_cells():
    def make(scale):
        def scaled(x):
            return x * scale

        return scaled

    def tenfold(scale):
        def scaled(x):
            return ("ten", scale)

        return scaled

    ten, two = make(10), make(2)
    made = variant(tenfold(0), Guard(Cell(0, "scale"), EqualsConstant(10)))
    Capture({ten: made})
    with hook.armed():
        assert [ten(1), two(1), ten(3), two(3)] == [("ten", 10), 2, ("ten", 10), 6]


def test_each_namespace_has_its_own_variants():
    first: dict[str, Any] = {"w": 1}
    second: dict[str, Any] = {"w": 2}
    source = "def f(): return w\ndef g(): return ('replaced', w)"
    exec(source, first)
    exec(source, second)
    other = FunctionType(first["f"].__code__, second)

    def miss(entry, arguments):
        namespace = entry.function.__globals__
        program = compile_guards([Guard(Global(namespace, "w"), EqualsConstant(namespace["w"]))])[0]
        return Variant(program, first["g"].__code__.replace())

    hook.set_callbacks(miss, lambda code: code is other.__code__)
    with hook.armed():
        assert [first["f"](), other(), first["f"](), other()] == [("replaced", 1), ("replaced", 2)] * 2
        second["w"] = 3
        assert other() == ("replaced", 3)
    assert [len(entry.variants) for entry in hook.code_record(other.__code__).entries] == [1, 2]


def test_methods_and_class_bodies():
    class Thing:
        def method(self, x):
            return ("plain", x)

        def other(self, x):
            return (type(self).__name__, x)

    capture = Capture({Thing.method: variant(Thing.other)})
    with hook.armed():
        assert Thing().method(1) == ("Thing", 1)

        class Body:
            value = plain(3)

    names = [code.co_name for code in capture.decisions]
    assert "Body" not in names and Body.value == ("plain", 3)


# ---- generators ----


def counting(n):
    total = 0
    for value in (i * i for i in range(n)):
        total += value
        yield total


async def waiting(n):
    await asyncio.sleep(0)
    return n


def test_generators_and_coroutines_are_left_alone():
    capture = Capture({})
    with hook.armed():
        assert list(counting(5)) == [0, 1, 5, 14, 30]
        generator = counting(5)
        next(generator)
        with pytest.raises(KeyError):
            generator.throw(KeyError)
        assert asyncio.run(waiting(3)) == 3
    flags = 0x20 | 0x80 | 0x200
    assert not any(code.co_flags & flags for code in capture.decisions)


# ---- growing frames ----


def deep(n, x):
    return leaf(x) if n == 0 else deep(n - 1, x)


def leaf(x):
    return ("plain", x)


def leaf_replaced(x):
    a, b, c, d, e, f, g, h = x, x, x, x, x, x, x, x
    return ("replaced", a, [b, c, d, e, f, g, h])


@pytest.mark.parametrize("extra", [0, 30, 400, 3000])
def test_frames_that_must_grow(extra):
    code = leaf_replaced.__code__
    made = Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))
    Capture({leaf: made})
    with hook.armed():
        for n in range(300):
            assert deep(n, n) == ("replaced", n, [n] * 7)
    assert made.hits == 300


def everything_replaced(x, y=2, /, z=3, *args, k=4, m, **kwargs):
    a = b = c = d = 0
    return x, y, z, args, k, m, kwargs, [a, b, c, d]


def test_frames_that_cannot_grow_are_called_with_all_arguments():
    code = everything_replaced.__code__
    Capture({everything: Variant(ALWAYS, code.replace(co_stacksize=5000))})
    for args, kwargs in CALLS:
        expected = outcome(everything, args, kwargs)
        if type(expected) is not str:
            with hook.armed():
                assert everything(*args, **kwargs) == (*expected, [0] * 4)


def test_frames_that_shrink():
    Capture({leaf_replaced: variant(leaf)})
    with hook.armed():
        assert leaf_replaced(1) == ("plain", 1)


def with_cells(x, y):
    def inner():
        return x, y

    z = 1
    return inner(), z


def with_cells_replaced(x, y):
    a = b = c = 0

    def inner():
        return x, y, a

    x += 1
    b += c
    return inner(), b


@pytest.mark.parametrize("extra", [0, 3000])
def test_arguments_that_become_cells(extra):
    code = with_cells_replaced.__code__
    Capture({with_cells: Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))})
    with hook.armed():
        assert with_cells(1, 2) == ((2, 2, 0), 0)


# ---- results without running the frame ----


def direct(executor: Any, outputs: Any) -> Variant:
    program, slots = compile_guards([Guard(X, TypeIs(int))], [X])
    return Variant(program, plain.__code__.replace(), (executor, slots, outputs))


def test_direct_results_of_frames():
    Capture({plain: direct(lambda x: (x * 2,), ("list", (("item", 0), ("slot", 0))))})
    with hook.armed():
        assert calls_plain(1) == ([2, 1], [4, 2])


def test_an_executor_may_decline_a_frame():
    Capture({plain: direct(lambda x: None, ("item", 0))})
    with hook.armed():
        assert calls_plain(1) == (("plain", 1), ("plain", 2))


def no_arguments_at_all():
    return 0


def test_a_frame_without_arguments_has_room_for_its_result():
    Capture({no_arguments_at_all: Variant(ALWAYS, no_arguments_at_all.__code__.replace(), (tuple, (), ("const", 7)))})
    with hook.armed():
        assert no_arguments_at_all() == 7


def dividing(x):
    return 1 / x


def calls_dividing(x):
    return dividing(x - 1)


def failing_executor(x):
    return (1 / x,)


def test_errors_of_an_executor_come_from_the_caller():
    Capture({dividing: direct(failing_executor, ("item", 0))})
    with hook.armed():
        try:
            calls_dividing(1)
        except ZeroDivisionError as error:
            names = [name for name, _, _ in outline(error)]
    assert names == ["test_errors_of_an_executor_come_from_the_caller", "calls_dividing", "failing_executor"]


@pytest.mark.parametrize("place", ["miss", "should_capture"])
def test_errors_of_callbacks_reach_the_caller(place):
    def fail(*args):
        raise LookupError(place)

    def should_capture(code):
        return code is plain.__code__ and (place == "miss" or fail())

    hook.set_callbacks(fail, should_capture)
    with pytest.raises(LookupError, match=place), hook.armed():
        calls_plain(1)
    assert hook.armed_depth() == 0


# ---- frames and errors look the same ----


def failing(x):
    y = x
    return y / 0


@pytest.mark.parametrize("extra", [0, 30, 3000])
def test_tracebacks_are_those_of_plain_code(extra):
    expected = caught(failing)
    code = failing.__code__
    Capture({failing: Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))})
    with hook.armed():
        assert caught(failing) == expected


@pytest.mark.parametrize("extra", [0, 30, 3000])
def test_frames_are_those_of_plain_code(extra):
    expected = stack_of(1)
    code = stack_of.__code__
    Capture({stack_of: Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))})
    with hook.armed():
        assert stack_of(1) == [expected[0], *expected[1:]]


def kept_frame(x):
    return sys._getframe()


def test_frames_may_be_kept():
    Capture({kept_frame: variant(kept_frame)})
    with hook.armed():
        frame = kept_frame([1])
    assert frame.f_locals == {"x": [1]} and frame.f_code.co_name == "kept_frame"


# ---- continuations ----


def goes_on(x):
    raise AssertionError("the plain function")


def last(x, kept):
    return ("last", x, kept, sys._getframe(1).f_code.co_name)


last_entry = Entry(last)


def first(x):
    return Continuation(last_entry, (x + 1, [x]))


def calls_goes_on(x):
    return goes_on(x)


@pytest.mark.parametrize("extra", [0, 3000])
def test_a_frame_may_continue(extra):
    code = first.__code__
    Capture({goes_on: Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))})
    with hook.armed():
        assert calls_goes_on(1) == ("last", 2, [1], "calls_goes_on")


class Tracked:
    pass


gone: list[Any] = []


def second(kept, dropped):
    reference = weakref.ref(dropped)
    del dropped
    gone.append(reference() is None)
    return kept


second_entry = Entry(second)


def drops(x):
    dropped, unused = Tracked(), Tracked()
    unused.on_death = weakref.finalize(unused, gone.append, "unused")
    return Continuation(second_entry, (x, dropped))


@pytest.mark.parametrize("extra", [0, 3000])
def test_what_a_continuation_does_not_keep_dies_in_time(extra):
    code = drops.__code__
    Capture({goes_on: Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + extra))})
    gone.clear()
    with hook.armed():
        assert goes_on(1) == 1
    assert gone == ["unused", True]


# ---- changing things meanwhile ----


def test_forgetting_during_a_miss():
    def miss(entry, arguments):
        hook.reset()
        return variant(replaced)

    hook.set_callbacks(miss, lambda code: code is plain.__code__)
    with hook.armed(), pytest.raises(ValueError, match="other arguments"):
        plain(1)
    hook.set_callbacks(lambda entry, arguments: hook.forget(entry.code), lambda code: code is plain.__code__)
    with hook.armed():
        assert plain(1) == ("plain", 1)


def test_an_entry_of_frames_outlives_its_code():
    entries = []
    namespace: dict[str, Any] = {}
    exec("def f(x): return x", namespace)
    hook.set_callbacks(lambda entry, arguments: entries.append(entry), lambda code: code.co_name == "f")
    with hook.armed():
        namespace["f"](1)
    (entry,) = entries
    assert entry.code is namespace["f"].__code__ and entry.function is None and entry.variants == ()
    with pytest.raises(TypeError, match="not callable"):
        entry(1)
    with pytest.raises(TypeError):
        entry.__reduce__()
    del namespace["f"]
    gc.collect()
    assert entry.code is None and "gone" in repr(entry)
    with pytest.raises(ValueError):
        entry.add(variant(plain))


def test_code_that_goes_away_takes_its_records_along():
    namespace: dict[str, Any] = {}
    exec("def f(x): return x\ndef g(x): return -x", namespace)
    made = Variant(ALWAYS, namespace["g"].__code__.replace(), info=Tracked())
    died = weakref.ref(made.info)
    hook.set_callbacks(lambda entry, arguments: made, lambda code: code.co_name == "f")
    with hook.armed():
        assert namespace["f"](1) == -1
    hook.set_callbacks(None, None)
    del made
    gc.collect()
    assert died() is not None
    del namespace["f"]
    gc.collect()
    assert died() is None


# ---- watched ----


def test_settrace_sees_plain_frames():
    Capture({plain: variant(replaced)})
    seen = []
    before = sys.gettrace()
    with hook.armed():
        assert plain(1) == ("replaced", 1)
        sys.settrace(lambda frame, event, arg: seen.append(frame.f_code))
        try:
            result = plain(1)
        finally:
            sys.settrace(before)
    assert result == ("plain", 1) and plain.__code__ in seen


# ---- threads, processes, other tools ----


def test_other_threads_are_not_captured():
    Capture({plain: variant(replaced)})
    results: list[Any] = []

    def run(arm):
        if arm:
            hook.arm()
        results.extend(plain(1) for _ in range(3))
        if arm:
            hook.disarm()

    with hook.armed():
        for arm in (False, True):
            thread = threading.Thread(target=run, args=(arm,))
            thread.start()
            thread.join()
    assert results == [("plain", 1)] * 3 + [("replaced", 1)] * 3


def test_threads_arm_and_disarm_at_the_same_time():
    Capture({plain: variant(replaced)})
    errors: list[Any] = []

    def run():
        for index in range(3000):
            with hook.armed():
                if calls_plain(index) != (("replaced", index), ("replaced", index + 1)):
                    errors.append(index)
            if plain(index) != ("plain", index):
                errors.append(-index)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors


def test_disarming_takes_arming():
    with pytest.raises(RuntimeError):
        hook.disarm()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_goes_on():
    Capture({plain: variant(replaced)})
    with hook.armed():
        child = os.fork()
        if child == 0:
            right = plain(1) == ("replaced", 1)
            hook.disarm()
            os._exit(0 if right and plain(1) == ("plain", 1) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_another_tool_may_take_the_hook_away():
    api = ctypes.pythonapi
    api.PyInterpreterState_Main.restype = ctypes.c_void_p
    get, put = api._PyInterpreterState_GetEvalFrameFunc, api._PyInterpreterState_SetEvalFrameFunc
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    put.restype, put.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p]
    interpreter = api.PyInterpreterState_Main()
    default = get(interpreter)
    Capture({plain: variant(replaced)})
    with hook.armed():
        assert get(interpreter) != default
        put(interpreter, default)
        assert plain(1) == ("plain", 1)
        with hook.armed():
            assert plain(1) == ("replaced", 1)
    assert get(interpreter) == default


# ---- no leaks ----


def raising(x):
    raise KeyError


LEAK_CASES = {
    "replaced": lambda: variant(replaced),
    "grown": lambda: Variant(ALWAYS, replaced.__code__.replace(co_stacksize=30)),
    "called": lambda: Variant(ALWAYS, replaced.__code__.replace(co_stacksize=3000)),
    "miss": lambda: None,
    "missed": lambda: variant(replaced, Guard(X, IsObject(None))),
    "direct": lambda: Variant(ALWAYS, plain.__code__.replace(), (lambda: (1,), (), ("item", 0))),
    "declined": lambda: Variant(ALWAYS, plain.__code__.replace(), (lambda: None, (), ("item", 0))),
    "failing": lambda: Variant(ALWAYS, plain.__code__.replace(), (lambda: 1 / 0, (), ("item", 0))),
    "raising": lambda: variant(raising),
    "continuing": lambda: variant(drops_quickly),
}


def drops_quickly(x):
    return Continuation(second_entry, (x, Tracked()))


@pytest.mark.parametrize("name", LEAK_CASES)
def test_nothing_leaks(name):
    made = LEAK_CASES[name]()
    Capture({plain: made}).misses = type("Nothing", (), {"append": lambda self, item: None})()
    value = Tracked()

    def use(count):
        for _ in range(count):
            try:
                plain(value)
            except (KeyError, ZeroDivisionError):
                pass
        gone.clear()

    def counts():
        gc.collect()
        parts = [value, plain, plain.__code__, made, *(() if made is None else (made.code,))]
        return [sys.getrefcount(part) for part in parts if part is not None]

    with hook.armed():
        use(10)
        before, blocks = counts(), sys.getallocatedblocks()
        use(10_000)
        assert counts() == before
        assert sys.getallocatedblocks() - blocks < 1000
