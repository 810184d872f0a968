"""try, except, else, finally and raise: followed while tracing where all is known, else run by Python; then captured.

Functions of ``corpus.exceptions`` make one graph and no break; in ``corpus.handlers`` Python raises and handles, and
the code behind the handler is captured.
"""

import gc
import weakref

import numpy as np
import pytest

from capture.frames.bytecode import decode
from capture.frames.landings import ends_of_handlers
from tests.corpus import exceptions
from tests.corpus.handlers import fails
from tests.corpus.worlds import functions
from tests.frames.corpus import sample
from tests.helpers import captured, numbers

KNOWN = functions("exceptions")


@pytest.mark.parametrize("function", KNOWN, ids=lambda f: f.__name__)
def test_known_exceptions_are_no_break(function):
    run = captured(function, fullgraph=True)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == len(run.record.variants) == 1


# Loops --------------------------------------------------------------------------------------------------------------
def handler_in_a_loop(x, y, n):
    failed = 0
    for k in range(n):
        try:
            x = x * 0.5 + y
            w = fails(k)
        except ValueError:
            w = 1
            failed += 1
        finally:
            x = x + 1
        x = x * 0.25 + w
    return x, failed


def handler_in_a_while(x, y, n):
    k = 0
    while True:
        k += 1
        try:
            fails(k)
            x = x * 0.5 + y
        except ValueError:
            x = x + 1
            if k > n:
                break
            continue
        x = x * 0.25
    return x, k


@pytest.mark.parametrize("function", [handler_in_a_loop, handler_in_a_while])
def test_loops_go_on_captured(function):
    run = captured(function)
    run(numbers(3), numbers(3), 300)
    count = len(run.record.variants)
    assert count < 20
    run(numbers(3), numbers(3), 300)
    assert len(run.record.variants) == count
    resumed = [target.entry for target in run.record.resumes.values()]
    assert not any(entry.plain for entry in (run.entry, *resumed))


def test_a_loop_does_not_nest():
    run = captured(handler_in_a_loop)
    run(numbers(3), numbers(3), 5000)


def test_a_graph_that_is_left_each_time_makes_progress():
    """The plain region behind the exit comes to the end of a handler; what is captured from there exits again."""

    def f(x, n):
        for k in range(n):
            try:  # noqa: SIM105
                fails(k)
            except ValueError:
                pass
            x = x + k
        return x

    run = captured(f, backend=lambda graph, inputs: lambda *inputs: None)
    run(numbers(3), 200)


# What else changes --------------------------------------------------------------------------------------------------
def test_a_missing_key_is_guarded():
    run = captured(exceptions.has_a_default)
    for config in ({"steps": 3}, {"steps": 3, "rate": 2.0}, {"steps": 2}, {"steps": 3}):
        exceptions.CONFIG.clear()
        exceptions.CONFIG.update(config)
        run(numbers(3), numbers(3))


def test_what_is_caught_is_guarded():
    error = ValueError

    def f(x):
        try:
            raise KeyError("k")
        except (error, KeyError):
            return x + 1

    def g(x):
        try:
            raise KeyError("k")
        except error:
            return x + 1

    for function in (f, g):
        run = captured(function)
        for kind in (ValueError, LookupError, KeyError, ValueError):
            error = kind
            run(numbers(3))


def test_a_name_that_is_no_exception():
    error = 3

    def f(x):
        try:
            raise KeyError("k")
        except error:
            return x + 1

    captured(f)(numbers(3))


def test_exceptions_of_the_users():
    class Mine(Exception):
        def __init__(self, text):
            super().__init__(text + "!")

    def f(x):
        try:
            raise Mine("a")
        except Mine as error:
            return x + 1, str(error)

    captured(f)(numbers(3))


def test_unraised_exceptions_are_made():
    def f(x):
        error = ValueError("a", x.shape)
        return x + 1, type(error), error.args, error

    run = captured(f)
    for _ in range(2):
        _, kind, args, error = run.entry(numbers(3))
        assert (kind, args, error.args, error.__traceback__) == (ValueError, ("a", (3,)), ("a", (3,)), None)
    assert run.graphs == 1 and run.breaks == []


def test_arguments_die_when_they_should():
    class Array(np.ndarray):
        pass

    def f(x, y):
        try:  # noqa: SIM105
            fails(1)
        except ValueError:
            pass
        del y
        return x + 1

    run = captured(f)
    for _ in range(3):
        y = numbers(3).view(Array)
        gone = weakref.ref(y)
        run.entry(numbers(3), y)
        del y
        assert gone() is None
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        run.entry(numbers(3), None)
    gc.collect()
    assert len(gc.get_objects()) < before + 20


def test_ends_of_handlers_of_the_library():
    """Behind each of them nothing is being handled, and the frame goes on."""
    found = 0
    for code in sample():
        decoded = decode(code)
        for index in ends_of_handlers(decoded):
            instruction = decoded.instructions[index]
            assert instruction.resumable and instruction.op not in ("POP_EXCEPT", "RERAISE", "RETURN_VALUE")
            found += 1
    assert found > 100
