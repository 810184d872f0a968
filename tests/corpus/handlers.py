"""Exceptions that Python raises and handles; what lies behind the handler is captured."""

import sys
import traceback

import numpy as np

from capture.frames.marks import marked
from tests.corpus import case
from tests.helpers import numbers

pair = case(numbers(3), numbers(3) + 1)


def inner(x, k):
    if k > 1:
        raise IndexError(k)
    return x + k


@marked("disabled")
def fails(n):
    """Left to Python, and fails for odd numbers."""
    if n % 2:
        raise ValueError(n)
    return n


@pair
def behind_a_handler(x, y):
    try:
        z = x + y
        w = fails(3)
    except ValueError as error:
        w = 10
        print("handled", error)
    z = np.exp(x) * w
    return z + y * w


@pair
def behind_a_handler_that_prints(x, y):
    x = x + y
    try:
        raise ValueError("out")
    except ValueError as error:
        print(error)
    return x * 2


@pair
def an_exception_that_is_kept(x, y):
    x = x + y
    try:
        raise ValueError("out")
    except ValueError as error:
        kept = error
    x = x * 2
    return x, str(kept), kept.__traceback__ is not None, kept.__context__


@pair
def looks_at_the_traceback(x, y):
    x = x + y
    try:
        inner(x, 2)
    except IndexError:
        text = traceback.format_exc()
        kind = sys.exc_info()[0]
    return x * 2, "inner" in text, kind


@pair
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


@pair
def handlers_in_a_with(x, y):
    with np.errstate(all="ignore"):
        try:
            fails(1)
        except ValueError:
            x = x / 0
        x = x * 2
    return x + y


@pair
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


@pair
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


@pair
def never_bound(x, y):
    try:
        x = x + y
        y = 0 + z
    finally:
        x = x * 2
        try:
            with Suppresses():
                z = fails(1)
        except KeyError:
            z = x
    return z


@pair
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


@pair
def in_a_callee(x, y):
    return behind_a_handler(x * 2, y) + behind_a_handler(y, x)


@pair
def leaves(x, y):
    x = x + y
    try:
        raise ValueError("out")
    finally:
        x = x * 2
        print(x.shape)


@pair
def is_not_caught(x, y):
    x = x + y
    raise ValueError("out", x.shape)


@pair
def is_raised_from(x, y):
    x = x + y
    try:
        fails(1)
    except ValueError as error:
        raise RuntimeError("again") from error


@pair
def is_not_the_one(x, y):
    try:
        inner(x, 2)
    except KeyError:
        return y


@pair
def group_is_handled(x, y):
    x = x + y
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        x = x * 2
    except* TypeError:
        x = x + 1
    return x * y
