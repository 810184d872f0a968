"""Frames seen while the hook is armed: which are captured, when, and for whom."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import threading
import weakref
from types import FunctionType
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import EqualsConstant, Guard
from capture.frames.hook import Entry
from capture.frames.sources import Cell, Global
from tests.frames.hooks import CALLS, SIGNATURES, Capture, Tracked, calls_plain, outcome, plain, replaced, variant

pytestmark = pytest.mark.usefixtures("hook_is_left_as_found")

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
    capture = Capture({function: variant(function)})
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
        return variant(first["g"], Guard(Global(namespace, "w"), EqualsConstant(namespace["w"])))

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


def test_frames_of_generators_and_coroutines_are_left_alone():
    capture = Capture({})
    with hook.armed():
        assert list(counting(5)) == [0, 1, 5, 14, 30]
        generator = counting(5)
        next(generator)
        with pytest.raises(KeyError):
            generator.throw(KeyError)
        assert asyncio.run(waiting(3)) == 3
    makes, suspends = 0x20, 0x80 | 0x200
    assert not any(code.co_flags & suspends for code in capture.decisions)
    assert [code.co_name for code in capture.decisions if code.co_flags & makes][:2] == ["counting", "<genexpr>"]


# ---- changing things meanwhile ----


def test_forgetting_during_a_miss():
    def miss(entry, arguments):
        hook.reset()
        return variant(replaced)

    hook.set_callbacks(miss, lambda code: code is plain.__code__)
    with hook.armed():
        assert plain(1) == ("plain", 1)
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
    made = [variant(namespace["g"], info=Tracked())]
    died = weakref.ref(made[0].info)
    hook.set_callbacks(lambda entry, arguments: made.pop(), lambda code: code.co_name == "f")
    with hook.armed():
        assert namespace["f"](1) == -1
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
