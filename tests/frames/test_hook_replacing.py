"""What runs in a captured frame: other code, grown or elsewhere, a finished result, a continuation."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import Guard, IsObject, TypeIs, compile_guards
from capture.frames.hook import Continuation, Entry, Variant
from tests.frames.hooks import (
    CALLS,
    Capture,
    Tracked,
    X,
    calls_plain,
    caught,
    everything,
    failing,
    larger,
    outcome,
    outline,
    plain,
    replaced,
    stack_of,
    variant,
)

pytestmark = pytest.mark.usefixtures("hook_is_left_as_found")

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
    made = larger(leaf_replaced, extra)
    Capture({leaf: made})
    with hook.armed():
        for n in range(300):
            assert deep(n, n) == ("replaced", n, [n] * 7)
    assert made.hits == 300


def everything_replaced(x, y=2, /, z=3, *args, k=4, m, **kwargs):
    a = b = c = d = 0
    return x, y, z, args, k, m, kwargs, [a, b, c, d]


def test_frames_that_cannot_grow_are_called_with_all_arguments():
    Capture({everything: larger(everything_replaced, 5000)})
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
    Capture({with_cells: larger(with_cells_replaced, extra)})
    with hook.armed():
        assert with_cells(1, 2) == ((2, 2, 0), 0)


# ---- results without running the frame ----


def direct(executor: Any, outputs: Any) -> Variant:
    """A variant of ``plain`` or of another function of one argument."""
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
    Capture({no_arguments_at_all: variant(no_arguments_at_all, direct=(tuple, (), ("const", 7)))})
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


@pytest.mark.parametrize("extra", [0, 30, 3000])
def test_tracebacks_are_those_of_plain_code(extra):
    expected = caught(failing)
    Capture({failing: larger(failing, extra)})
    with hook.armed():
        assert caught(failing) == expected


@pytest.mark.parametrize("extra", [0, 30, 3000])
def test_frames_are_those_of_plain_code(extra):
    expected = stack_of(1)
    Capture({stack_of: larger(stack_of, extra)})
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
    Capture({goes_on: larger(first, extra)})
    with hook.armed():
        assert calls_goes_on(1) == ("last", 2, [1], "calls_goes_on")


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
    Capture({goes_on: larger(drops, extra)})
    gone.clear()
    with hook.armed():
        assert goes_on(1) == 1
    assert gone == ["unused", True]


# ---- no leaks ----


def raising(x):
    raise KeyError


LEAK_CASES = {
    "replaced": lambda: variant(replaced),
    "grown": lambda: larger(replaced, 30),
    "called": lambda: larger(replaced, 3000),
    "miss": lambda: None,
    "missed": lambda: variant(replaced, Guard(X, IsObject(None))),
    "direct": lambda: variant(plain, direct=(lambda: (1,), (), ("item", 0))),
    "declined": lambda: variant(plain, direct=(lambda: None, (), ("item", 0))),
    "failing": lambda: variant(plain, direct=(lambda: 1 / 0, (), ("item", 0))),
    "raising": lambda: variant(raising),
    "continuing": lambda: variant(drops_quickly),
}


def here(x):
    """A function of this module, so that its replacements find the names of this module."""


def drops_quickly(x):
    return Continuation(second_entry, (x, Tracked()))


@pytest.mark.parametrize("name", LEAK_CASES)
def test_nothing_leaks(name):
    made = LEAK_CASES[name]()
    Capture({here: made}).misses = type("Nothing", (), {"append": lambda self, item: None})()
    value = Tracked()

    def use(count):
        for _ in range(count):
            with contextlib.suppress(KeyError, ZeroDivisionError):
                here(value)
        gone.clear()

    def counts():
        gc.collect()
        parts = [value, here, here.__code__, made, *(() if made is None else (made.code,))]
        return [sys.getrefcount(part) for part in parts if part is not None]

    with hook.armed():
        use(10)
        before, blocks = counts(), sys.getallocatedblocks()
        use(10_000)
        assert counts() == before
        assert sys.getallocatedblocks() - blocks < 1000
