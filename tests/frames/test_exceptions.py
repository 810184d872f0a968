"""try, except, else, finally and raise: followed while tracing where all is known, else run by Python; then captured.

``KNOWN`` make one graph and no break. In ``NATIVE`` Python raises and handles; the code behind the handler is captured.
"""

import gc
import sys
import traceback
import weakref

import numpy as np
import pytest

from capture.frames.bytecode import decode
from capture.frames.handlers import can_break
from capture.frames.landings import ends_of_handlers
from capture.frames.values import special
from tests.frames.corpus import sample
from tests.frames.samples import asserts
from tests.helpers import captured, numbers

CONFIG = {"steps": 3}


# Known --------------------------------------------------------------------------------------------------------------
def raises_and_handles(x, y):
    try:
        z = x + y
        raise ValueError("bad", 1)
    except ValueError as error:
        z = x - y
        text = f"{error} {error!r} {error.args[0]} {error!s:>20}" + str(error) + repr(error)
    finally:
        x = x * 2
    return z + x, text


def has_a_default(x, y):
    try:
        rate = CONFIG["rate"]
    except KeyError as error:
        rate = 0.5 if error.args == ("rate",) else 0.0
    return x * rate + y * CONFIG["steps"]


def divides_by_zero(x, y):
    try:
        q = 1 // (len(x) - 3)
    except (ZeroDivisionError, OSError):
        q = 2
    return x * q + y


def converts(x, y):
    found = []
    for text in ("1", "x", "2.5"):
        try:
            found.append(int(text))
        except ValueError:
            try:
                found.append(float(text))
            except ValueError as error:
                found.append(str(error))
    return x + y, found


def indexes(x, y):
    items = (x, y)
    try:
        return items[2]
    except IndexError as error:
        return items[1] + 1, str(error)


def inner(x, k):
    if k > 1:
        raise IndexError(k)
    try:
        if k == 1:
            raise KeyError(k)
    except ValueError:
        return x * 10
    return x + k


def handles_what_a_callee_raises(x, y):
    for k in range(3):
        try:
            x = inner(x, k) + y
        except LookupError as error:
            x = x - error.args[0]
        else:
            x = x * 2
    return x


def raises_again(x, y):
    try:
        try:
            raise ValueError(1)
        except ValueError:
            x = x + y
            raise
    except ValueError as error:
        return x * error.args[0]


def chains(x, y):
    try:
        try:
            raise ValueError(1)
        except ValueError as error:
            x = x + y
            raise KeyError("k") from error
    except KeyError:
        try:
            raise TypeError("t") from None
        except (AttributeError, TypeError):
            return x * 2


def returns_through_finally(x, y):
    for k in range(5):
        try:
            if k == 3:
                return x
            x = x + y
            continue
        finally:
            x = x * 2


def finally_wins(x, y):
    for _ in range(2):
        try:
            raise ValueError
        finally:
            x = x + y
            break  # noqa: B012
    return x


def goes_on_after_an_exception_in_a_loop(x, y):
    total = 0
    for k in range(6):
        try:
            if k % 2:
                raise StopIteration(k)
        except StopIteration as stop:
            total += stop.args[0]
            continue
        x = x + y * total
    return x, total


def keeps_what_was_changed(x, y):
    seen = []
    try:
        seen.append(x + 1)
        x[0] = 5
        raise RuntimeError
    except RuntimeError:
        seen.append(y)
    return seen, x


def not_implemented():
    raise NotImplementedError("later")


def tries_alternatives(x, y):
    for function in (not_implemented, lambda: x * 3):
        try:
            return function() + y
        except NotImplementedError:
            y = y + 1


KNOWN = [
    raises_and_handles, has_a_default, divides_by_zero, converts, indexes, handles_what_a_callee_raises, asserts,
    raises_again, chains, returns_through_finally, finally_wins, goes_on_after_an_exception_in_a_loop,
    keeps_what_was_changed, tries_alternatives,
]  # fmt: skip


@pytest.mark.parametrize("function", KNOWN, ids=lambda f: f.__name__)
def test_known_exceptions_are_no_break(function):
    run = captured(function, fullgraph=True)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == len(run.record.variants) == 1


# Native -------------------------------------------------------------------------------------------------------------
@special.disabled
def fails(n):
    """Left to Python, and fails for odd numbers."""
    if n % 2:
        raise ValueError(n)
    return n


def behind_a_handler(x, y):
    try:
        z = x + y
        w = fails(3)
    except ValueError as error:
        w = 10
        print("handled", error)
    z = np.exp(x) * w
    return z + y * w


def behind_a_handler_that_prints(x, y):
    x = x + y
    try:
        raise ValueError("out")
    except ValueError as error:
        print(error)
    return x * 2


def an_exception_that_is_kept(x, y):
    x = x + y
    try:
        raise ValueError("out")
    except ValueError as error:
        kept = error
    x = x * 2
    return x, str(kept), kept.__traceback__ is not None, kept.__context__


def looks_at_the_traceback(x, y):
    x = x + y
    try:
        inner(x, 2)
    except IndexError:
        text = traceback.format_exc()
        kind = sys.exc_info()[0]
    return x * 2, "inner" in text, kind


def nested_handlers(x, y):
    try:
        fails(1)
    except ValueError:
        try:
            fails(3)
        except ValueError as error:
            print(error.__context__)
        x = x + 1
    x = x * y
    try:
        fails(5)
    except KeyError:
        x = x * 0
    except ValueError:
        pass
    return x + 1


def handlers_in_a_with(x, y):
    with np.errstate(all="ignore"):
        try:
            fails(1)
        except ValueError:
            x = x / 0
        x = x * 2
    return x + y


def suppressed(x, y):
    x = x + y
    with Suppresses():
        x = x * 2
        fails(1)
        x = x * 0
    x = x + 1
    return x * y


class Suppresses:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is ValueError


def deleted_and_unbound(x, y):
    z = x + y
    try:
        del z
        fails(1)
        w = 1
    except ValueError:
        pass
    try:
        return w + x
    except UnboundLocalError:
        return x * y


def never_bound(x, y):
    try:
        x = x + y
        y = 0 + z  # noqa: F821  3.11 fuses a store and a load behind it and reports the first line: not here
    finally:
        x = x * 2
        try:
            with Suppresses():
                z = fails(1)
        except KeyError:
            z = x
    return z


def cells_behind_a_handler(x, y):
    k = x * 2

    def scaled(a):
        return a * k

    try:
        k = k + 1
        fails(1)
    except ValueError:
        k = k * 2
    k = k + y
    return scaled(x), k


def in_a_callee(x, y):
    return behind_a_handler(x * 2, y) + behind_a_handler(y, x)


def leaves(x, y):
    x = x + y
    try:
        raise ValueError("out")
    finally:
        x = x * 2
        print(x.shape)


def is_not_caught(x, y):
    x = x + y
    raise ValueError("out", x.shape)


def is_raised_from(x, y):
    x = x + y
    try:
        fails(1)
    except ValueError as error:
        raise RuntimeError("again") from error


def is_not_the_one(x, y):
    try:
        inner(x, 2)
    except KeyError:
        return y


def group_is_handled(x, y):
    x = x + y
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        x = x * 2
    except* TypeError:
        x = x + 1
    return x * y


NATIVE = {
    behind_a_handler: 2,
    behind_a_handler_that_prints: 2,
    an_exception_that_is_kept: 2,
    looks_at_the_traceback: 2,
    nested_handlers: 2,
    handlers_in_a_with: 2,
    suppressed: 2,
    deleted_and_unbound: 1,
    never_bound: 1,
    cells_behind_a_handler: 3,
    in_a_callee: 4,
    leaves: 1,
    is_not_caught: 1,
    is_raised_from: 1,
    is_not_the_one: 0,
    group_is_handled: 2,
}


@pytest.mark.parametrize("function", NATIVE, ids=lambda f: f.__name__)
def test_capture_goes_on_behind_a_handler(function):
    run = captured(function)
    for _ in range(3):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == NATIVE[function]


@pytest.mark.parametrize("function", [*KNOWN, *NATIVE], ids=lambda f: f.__name__)
def test_a_break_at_every_instruction(function):
    called = [f.__code__ for f in (inner, behind_a_handler) if f.__name__ in function.__code__.co_names]
    for code in (function.__code__, *called):
        for instruction in decode(code).instructions:
            if can_break(instruction):
                at = instruction.index
                run = captured(function, force_break=lambda c, index, code=code, at=at: c is code and index == at)
                run(numbers(3), numbers(3) + 1)
                run(numbers(3), numbers(3) + 1)
    run = captured(function, force_break=lambda code, index: True)
    run(numbers(3), numbers(3) + 1)
    run(numbers(3), numbers(3) + 1)


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
    run = captured(has_a_default)
    for config in ({"steps": 3}, {"steps": 3, "rate": 2.0}, {"steps": 2}, {"steps": 3}):
        CONFIG.clear()
        CONFIG.update(config)
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
