"""A break at every instruction of small functions, with every kind of state around it: nothing may change."""

import numpy as np
import pytest

from capture.frames import bytecode
from capture.frames.bytecode import decode
from capture.frames.handlers import can_break
from tests.helpers import captured, numbers

SCALE = 2.0


def helper(x, factor=3.0, *rest, shift=1.0):
    y = x * factor
    return y + shift


def deeper(x, y):
    z = helper(x, shift=2.0) + y
    return helper(z) - 1


def straight(x, y):
    z = x + y
    z *= SCALE
    return z, x


def calls(x, y):
    return np.add(np.sqrt(x), np.multiply(y, np.sqrt(x)))


def nested(x, y):
    return helper(np.maximum(x, helper(y, 2.0)), shift=0.5)


def twice_nested(x, y):
    a = deeper(x, y)
    return [a, deeper(a, x)]


def branches(x, y):
    if x.sum() > 3:  # noqa: SIM108
        z = x - y
    else:
        z = x + y
    return z if y.max() > 100 else -z


def loop(x, y):
    total = np.zeros_like(x)
    for k, item in enumerate((x, y, x)):
        total = total + item * k
    return total


def long_loop(x, y):
    total = x
    for _ in range(70):
        total = total + y
    return total


def while_loop(x, y):
    n = 0
    while n < 4:
        x = x + y
        n += 1
    return x, n


def comprehension(x, y):
    return sum([item * k for k, item in enumerate([x, y])]), {name: x * k for k, name in enumerate("ab")}


def errstate(x, y):
    with np.errstate(all="ignore"):
        z = x / (y - y)
    return z


def handled(x, y):
    try:
        z = x + y
        z = z[10]
    except IndexError as error:
        return str(error), x
    finally:
        x = x * 2
    return z


def unhandled(x, y):
    z = x + y
    for k in range(10):
        z = z + y[k]
    return z


def closure(x, y):
    k = 2.0

    def inner(z):
        return z * k + x

    return inner(y)


def captures(x, y):
    k = x * 2
    scale = lambda z: z * k  # noqa: E731
    k = k + 1
    return scale(y), scale(x)


def prints(x, y):
    z = x + 1
    print(z.shape, "first")
    w = z * y
    print("second", w.sum())
    return w


def containers(x, y):
    items = [x, y]
    items.append(x + y)
    table = {"a": items, "b": (x, 1)}
    table["c"] = items[-1] * 2
    first, *rest = items
    return table, first, rest


def in_place(x, y):
    x += y
    x[1:] *= 2
    y[0] = x[1]
    return x


def strings(x, y):
    name = f"{1.5:.2f}-{'a'!r}"
    return name, x[1:2], y[::-1]


def starred(x, y):
    def inner(*args, **kwargs):
        return args[0] * kwargs["k"]

    arguments, options = (x, y), {"k": 2.0}
    return inner(*arguments, **options)


def unpacking(x, y):
    (a, b), c = (x, y), 3
    a, b = b, a
    return a, b * c


def deletes(x, y):
    z = x * 2
    del x
    w = z + y
    del z
    return w


def generator_inside(x, y):
    return sum(item for item in (x, y))


def chained(x, y):
    n = len(x)
    return x if 0 < n <= 5 and n != 2 else y


FUNCTIONS = [
    straight, calls, nested, twice_nested, branches, loop, long_loop, while_loop, comprehension, errstate, handled,
    unhandled, closure, captures, prints, containers, in_place, strings, starred, unpacking, deletes, generator_inside,
    chained,
]  # fmt: skip


def name_of(function):
    return function.__name__


@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
def test_as_it_is(function):
    run = captured(function)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)


@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
def test_break_at_every_instruction(function):
    """At each in turn, of the function and of what it calls."""
    called = [f.__code__ for f in (helper, deeper) if f.__name__ in function.__code__.co_names]
    for code in (function.__code__, *called):
        for instruction in decode(code).instructions:
            if can_break(instruction):
                run = captured(
                    function, force_break=lambda c, index, code=code, at=instruction.index: c is code and index == at
                )
                run(numbers(3), numbers(3) + 1)
                run(numbers(3), numbers(3) + 1)


@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
def test_break_everywhere_at_once(function):
    """No instruction is captured: all of it is resume functions."""
    run = captured(function, force_break=lambda code, index: True)
    run(numbers(3), numbers(3) + 1)
    run(numbers(3), numbers(3) + 1)


def test_the_cost_of_a_break_does_not_grow_with_the_function(monkeypatch):
    moved = []
    move = bytecode._moved_instruction
    monkeypatch.setattr(bytecode, "_moved_instruction", lambda *a, **k: moved.append(1) or move(*a, **k))

    def looked_at(count):
        lines = "".join(f"    y = x * {number}\n    sink(y)\n" for number in range(count))
        namespace = {}
        exec(f"def function(x, sink):\n{lines}    return y", namespace)
        found, first = [], len(moved)
        run = captured(namespace["function"])
        run(numbers(3), found.append)
        assert run.graphs == count
        return len(moved) - first

    assert looked_at(60) < 2.5 * looked_at(30)
