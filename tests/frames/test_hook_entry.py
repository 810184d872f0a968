"""Entries behave as the functions do: to look at, on the stack, in recursion, under a debugger, in threads."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from types import FunctionType, MethodType
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import EqualsConstant, Guard
from capture.frames.hook import Continuation, Entry, Variant
from capture.frames.sources import Argument
from tests.frames.hooks import (
    ALWAYS,
    Tracked,
    X,
    caught,
    direct_entry,
    entry_of,
    everything,
    failing,
    larger,
    plain,
    replaced,
    stack_of,
    variant,
)

pytestmark = pytest.mark.usefixtures("hook_is_left_as_found")

# ---- like the function ----


def documented(x: int, *, k: str = "a") -> float:
    """What it does."""
    return 1.0


documented.marked = "by the user"  # type: ignore[attr-defined]
documented_entry = Entry(documented)
plain_entry = Entry(plain)


def test_an_entry_looks_like_its_function():
    entry = documented_entry
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__defaults__", "__code__"):
        assert getattr(entry, name) == getattr(documented, name)
    assert entry.__wrapped__ is entry.function is documented
    assert inspect.signature(entry) == inspect.signature(documented)
    assert inspect.unwrap(entry) is documented
    assert inspect.getdoc(entry) == "What it does."
    assert inspect.getsource(entry) == inspect.getsource(documented)
    assert callable(entry) and "documented" in repr(entry)


def test_an_entry_takes_attributes():
    entry = Entry(documented)
    assert entry.marked == "by the user"
    for name in ("counter", "function", "info", "variants", "add", "code"):
        setattr(entry, name, 5)
        assert getattr(entry, name) == 5
        delattr(entry, name)
    assert entry.function is documented and not hasattr(documented, "counter")
    with pytest.raises(AttributeError):
        del entry.counter
    with pytest.raises(AttributeError):
        _ = entry.nothing
    entry.__doc__ = "New."
    assert documented.__doc__ == "New."
    documented.__doc__ = "What it does."


def test_what_info_offers_shows_through():
    class Info:
        graphs = ("one",)

    entry = Entry(plain, None, None, Info())
    assert entry.graphs == ("one",)
    made = variant(plain, native=False, info=Info())
    assert made.graphs == made.info.graphs == ("one",) and not made.native


class Base:
    def method(self, x):
        return type(self).__name__, x

    def __replaced(self, x):
        return "replaced", self, x

    method = entry_of(method, __replaced, Guard(Argument(1, "x"), EqualsConstant(1)))  # type: ignore[arg-type]
    static = staticmethod(entry_of(plain, replaced))
    of_class = classmethod(Entry(lambda cls, x: (cls, x)))  # type: ignore[arg-type, var-annotated]


class Derived(Base):
    def method(self, x):
        return super().method(x), "derived"


def test_an_entry_binds_as_a_method():
    base, derived = Base(), Derived()
    assert base.method(1) == ("replaced", base, 1)
    assert base.method(x=2) == Base.method(base, 2) == ("Base", 2)
    assert derived.method(1) == (("replaced", derived, 1), "derived")
    assert type(base.method) is MethodType and base.method.__func__ is Base.__dict__["method"]
    assert base.static(3) == Base.static(3) == ("replaced", 3)
    assert Derived.of_class(4) == (Derived, 4)


def test_copies_and_pickles_are_the_entry_itself(monkeypatch):
    entry = Entry(documented)
    monkeypatch.setattr(sys.modules[__name__], "documented", entry)
    assert copy.copy(entry) is copy.deepcopy(entry) is entry
    assert copy.deepcopy({"f": [entry]})["f"][0] is entry
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(entry, protocol)) is entry


def test_an_entry_is_collected_with_its_cycles():
    def make():
        def function(x):
            return entry

        entry = Entry(function, lambda entry, arguments: None)
        entry.add(variant(function, info=[entry]))
        entry.me = entry
        assert entry(1) is entry
        return weakref.ref(entry)

    gone = make()
    gc.collect()
    assert gone() is None


def test_keyword_calls_and_star_calls():
    entry = entry_of(everything, everything)
    args, kwargs = (1, 2, 3, 4), {"m": 5, "w": 6}
    assert entry(*args, **kwargs) == everything(*args, **kwargs)
    assert functools.partial(entry, 1, m=2)(3) == everything(1, 3, m=2)
    assert list(map(entry_of(plain, replaced), [1, 2])) == [("replaced", 1), ("replaced", 2)]


# ---- frames and errors look the same ----


@pytest.mark.parametrize("native", [False, True])
def test_tracebacks_are_those_of_plain_code(native):
    entry = entry_of(failing, failing, native=native)
    assert caught(entry) == caught(failing) and len(caught(failing)) == 1


def calls_stack_of(x):
    x += 1
    return stack_of(x)


@pytest.mark.parametrize("native", [False, True])
def test_frames_are_those_of_plain_code(native):
    entry = entry_of(calls_stack_of, calls_stack_of, native=native)
    assert entry(1) == calls_stack_of(1)
    hook.set_callbacks(lambda entry, arguments: larger(entry.function, 9), lambda code: True)
    assert entry(1) == calls_stack_of(1)


# ---- continuations ----


def count_down(n, total):
    raise AssertionError("the plain function")


countdown = Entry(count_down)


def count_down_step(n, total):
    return total if n == 0 else Continuation(countdown, (n - 1, total + n))


countdown.add(Variant(ALWAYS, count_down_step.__code__))


def test_continuations_do_not_nest():
    assert countdown(100_000, 0) == sum(range(100_001))


def test_a_continuation_may_miss():
    asked = []

    def miss(entry, arguments):
        asked.append(arguments)
        return None

    last = Entry(plain, miss)

    def first(x):
        return Continuation(last, (x + 1,))

    def entry_function(x):
        raise AssertionError("the plain function")

    first_code = FunctionType(first.__code__, globals(), "first", None, first.__closure__)
    entry = Entry(FunctionType((lambda x: last).__code__, globals(), "first", None, first.__closure__))
    entry.add(Variant(ALWAYS, first_code.__code__))
    assert entry(1) == ("plain", 2)
    assert asked == [(2,)]


def test_errors_in_a_continuation_show_its_frame_only():
    last = Entry(failing)

    def first(x):
        return Continuation(last, (x,))

    def function(x):
        return last

    assert caught(entry_of(function, first)) == caught(failing)


def test_what_a_continuation_does_not_keep_dies_in_time():
    gone = []

    def second(kept, dropped):
        reference = weakref.ref(dropped)
        del dropped
        gone.append(reference() is None)
        return kept

    resumed = Entry(second)

    def first(x):
        dropped, unused = Tracked(), Tracked()
        unused.on_death = weakref.finalize(unused, gone.append, "unused")
        return Continuation(resumed, (x, dropped))

    def function(x):
        return resumed, gone

    entry = Entry(FunctionType(function.__code__, globals(), "f", None, function.__closure__))
    replacement = FunctionType(first.__code__, globals(), "f", None, first.__closure__)
    entry.add(Variant(ALWAYS, replacement.__code__))
    assert entry(1) == 1
    assert gone == ["unused", True]


def test_only_entries_of_functions_continue():
    with pytest.raises(TypeError):
        Continuation(plain, ())
    with pytest.raises(TypeError):
        Continuation(countdown, [])
    with pytest.raises(TypeError):
        Continuation(countdown)
    continuation = Continuation(countdown, (0, 1))
    assert continuation.entry is countdown and continuation.arguments == (0, 1)


# ---- recursion ----


def fibonacci(n):
    return n if n < 2 else fibonacci_entry(n - 1) + fibonacci_entry(n - 2)


fibonacci_entry = entry_of(fibonacci, fibonacci)


def depth(n):
    return 0 if n == 0 else 1 + depth_entry(n - 1)


depth_entry = entry_of(depth, depth)


def plain_depth(n):
    return 0 if n == 0 else 1 + plain_depth(n - 1)


def deepest(function):
    """How deep a recursion from here may go."""
    low, high = 1, 4000
    while low < high:
        middle = (low + high + 1) // 2
        try:
            function(middle)
            low = middle
        except RecursionError:
            high = middle - 1
    return low


def test_recursion():
    assert fibonacci_entry(15) == 610


@pytest.mark.parametrize("native", [False, True])
def test_recursion_goes_as_deep_as_plain(native):
    depth_entry.clear()
    depth_entry.add(variant(depth, native=native))
    assert deepest(depth_entry) == deepest(plain_depth)
    with hook.armed():
        assert deepest(plain_depth) == deepest(depth_entry)


def test_very_deep_recursion_while_armed():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        with hook.armed():
            assert plain_depth(60_000) == 60_000
    finally:
        sys.setrecursionlimit(limit)


def test_the_end_of_the_stack_is_an_error_not_a_crash():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(500_000)
    try:
        with pytest.raises(RecursionError):
            depth_entry(400_000)
        assert depth_entry(100) == 100
    finally:
        sys.setrecursionlimit(limit)


def test_recursion_in_a_thread_with_a_small_stack():
    results = []

    def run():
        with hook.armed():
            results.append(plain_depth(800))
        results.append(depth_entry(400))

    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert results == [800, 400]


# ---- watched ----


def test_settrace_sees_plain_code():
    entry = entry_of(plain, replaced)
    seen = []

    def tracer(frame, event, arg):
        seen.append((frame.f_code, event))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        result = entry(1)
    finally:
        sys.settrace(before)
    assert result == ("plain", 1)
    assert (plain.__code__, "line") in seen
    assert entry(1) == ("replaced", 1) or before is not None


def test_setprofile_sees_plain_code():
    entry = entry_of(plain, replaced)
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append((frame.f_code, event)))
    try:
        result = entry(1)
    finally:
        sys.setprofile(before)
    assert result == ("plain", 1)
    assert (plain.__code__, "call") in seen


monitoring = getattr(sys, "monitoring", None)


@pytest.mark.skipif(monitoring is None, reason="sys.monitoring is new in Python 3.12")
@pytest.mark.parametrize("everywhere", [True, False])
def test_monitoring_sees_plain_code(everywhere):
    entry = entry_of(plain, replaced)
    seen = []
    tool, events = 3, monitoring.events
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, events.PY_START, lambda code, offset: seen.append(code))
        if everywhere:
            monitoring.set_events(tool, events.PY_START)
        else:
            monitoring.set_local_events(tool, plain.__code__, events.PY_START)
        result = entry(1)
        if not everywhere:
            monitoring.set_local_events(tool, plain.__code__, 0)
        monitoring.set_events(tool, 0)
    finally:
        monitoring.register_callback(tool, events.PY_START, None)
        monitoring.free_tool_id(tool)
    assert result == ("plain", 1)
    assert plain.__code__ in seen
    assert entry(1) == ("replaced", 1)


# ---- no leaks ----


def declined(x):
    return None


def raising(x):
    raise KeyError


def here(x):
    """A function of this module, so that its replacement finds the names of this module."""


def continuing(x):
    return Continuation(plain_entry, (x,))


LEAK_CASES = {
    "replaced": entry_of(plain, replaced),
    "native": entry_of(plain, replaced, native=True),
    "miss": Entry(plain, lambda entry, arguments: None),
    "direct": direct_entry(plain, lambda x: (x, x), [X], ("tuple", (("item", 0), ("slot", 0)))),
    "declined": direct_entry(plain, declined, [X], ("item", 0)),
    "failing": direct_entry(plain, raising, [X], ("item", 0)),
    "bad template": direct_entry(plain, lambda x: (x,), [X], ("list", (("item", 0), ("item", 7)))),
    "raising": entry_of(plain, raising),
    "continuing": entry_of(here, continuing),
    "packed": entry_of(everything, everything),
}


def use(entry: Entry, value: Any) -> None:
    try:
        entry(value)
        entry(x=value)
        entry(value, m=value, extra=value)
    except (TypeError, KeyError, SystemError):
        pass


@pytest.mark.parametrize("name", LEAK_CASES)
def test_nothing_leaks(name):
    entry, value = LEAK_CASES[name], Tracked()

    def counts() -> list[int]:
        gc.collect()
        parts = [value, entry, entry.function, entry.function.__code__, *entry.variants]
        return [sys.getrefcount(part) for part in parts]

    use(entry, value)
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(10_000):
        use(entry, value)
    assert counts() == before
    assert sys.getallocatedblocks() - blocks < 1000


# ---- threads ----


def test_threads_share_an_entry():
    def miss(entry, arguments):
        return variant(replaced, Guard(X, EqualsConstant(arguments[0])))

    entry = Entry(plain, miss)
    errors: list[Any] = []

    def run(seed):
        for index in range(2000):
            value = (index * seed) % 7
            if entry(value) != ("replaced", value):
                errors.append(value)
            if index % 500 == 0:
                entry.clear()

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2, 3, 5)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
