"""Writes to arrays, aliasing, order of effects: what the caller can see, and when."""

import gc
import sys
import weakref

import numpy as np
import pytest

from tests.helpers import captured, numbers


# Writes -------------------------------------------------------------------------------------------------------------
def adds_in_place(x, y):
    x += y
    x *= 2.0
    return x


def slices(x, y):
    x[1:] = y[:-1]
    x[0] = 7
    x[::2] -= 1
    return x


def views(x, y):
    v = x[1:]
    w = v[::-1]
    w += y[1:]
    return v.sum(), x


def overlapping(x, y):
    x[1:] += x[:-1]
    y[:-1] = y[1:]
    return x * y


def out(x, y):
    np.add(x, y, out=x)
    z = np.empty_like(y)
    result = np.multiply(x, y, out=z)
    return result is z, z, x


def fills(x, y):
    x.fill(3)
    y[...] = 2
    return x + y


def own(x, y):
    z = x + y
    w = z
    z += 1
    z[0] = 0
    return z, w is z, w


def reads_before_and_after(x, y):
    before = x + 1
    view = x[:2]
    x *= y
    return before, view, view * 2, x


def swaps(x, y):
    z = x.copy()
    x[:] = y
    y[:] = z
    return x, y


def integer(x, y):
    n = np.arange(3)
    n += 2
    n *= n
    return n, x + n


def two_dimensional(x, y):
    m = np.zeros((3, 3))
    m[0] = x
    m[:, 1] = y
    m.T[2] += 1
    m[1, 2] = 5
    return m


def augmented_attribute_of_view(x, y):
    x.T[...] += y
    return x


WRITES = [
    adds_in_place, slices, views, overlapping, out, fills, own, reads_before_and_after, swaps, integer, two_dimensional,
    augmented_attribute_of_view,
]  # fmt: skip


@pytest.mark.parametrize("function", WRITES, ids=lambda f: f.__name__)
def test_writes(function):
    run = captured(function)
    run(numbers(3), numbers(3) + 1)
    run(numbers(3), numbers(3) + 1)
    assert run.graphs == 1 and run.breaks == []


@pytest.mark.parametrize("function", WRITES, ids=lambda f: f.__name__)
def test_the_same_array_twice(function):
    def make():
        x = numbers(3)
        return x, x

    run = captured(function)
    run.on(make)
    run(numbers(3), numbers(3) + 1)
    run.on(make)


@pytest.mark.parametrize("function", WRITES, ids=lambda f: f.__name__)
def test_overlapping_arguments(function):
    def make():
        base = numbers(5)
        return base[:3], base[2:]

    run = captured(function)
    run(numbers(3), numbers(3) + 1)
    run.on(make)
    run.on(make)
    run(numbers(3), numbers(3) + 1)


@pytest.mark.parametrize("function", WRITES, ids=lambda f: f.__name__)
def test_read_only_arguments(function):
    def make():
        x, y = numbers(3), numbers(3)
        x.flags.writeable = False
        y.flags.writeable = False
        return x, y

    run = captured(function)
    run(numbers(3), numbers(3) + 1)
    run.on(make)
    run.on(make)


def wrong_cast(x):
    x += 0.5
    return x


def wrong_shape(x, y):
    x += y
    return x


def read_only_view(x):
    y = np.broadcast_to(x, (2, 3))
    y[0, 0] = 1
    return y


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (wrong_cast, (np.arange(3),)),
        (wrong_shape, (numbers(3), numbers(2, 3))),
        (wrong_shape, (numbers(3), numbers(1))),
        (read_only_view, (numbers(3),)),
        (lambda x: np.broadcast_to(x, (2, 3)), (numbers(3),)),
    ],
)
def test_refused_writes(function, args):
    run = captured(function)
    run(*args)
    run(*args)


def test_guards_of_written_arguments():
    run = captured(adds_in_place)
    run(numbers(3), numbers(3))
    assert "x: shares no memory with y" in run.guards
    assert any(text.startswith("x: ") and "writ" in text for text in run.guards)


# Order --------------------------------------------------------------------------------------------------------------
def test_output_in_order():
    def f(x):
        print("a")
        x += 1
        print("b", x[0])
        y = x * 2
        print("c", y[0], end="")
        return y

    run = captured(f)
    run(numbers(3))
    run(numbers(3))


class Reader:
    """Looks at an array whenever it is asked something."""

    def __init__(self, array):
        self.array = array
        self.seen = []

    def __call__(self):
        self.seen.append(self.array.copy())

    def __deepcopy__(self, memo):
        return self


def test_writes_are_seen_by_calls():
    def f(x, reader):
        x += 1
        reader()
        x *= 2
        reader()
        return x

    for _ in range(2):
        x, y = numbers(3), numbers(3)
        compiled, plain = Reader(x), Reader(y)
        run = captured(f)
        run.entry(x, compiled)
        f(y, plain)
        np.testing.assert_array_equal(compiled.seen, plain.seen)


def test_what_was_stored_before_an_error_stays():
    def f(x):
        x += 1
        y = x * 2
        x[0] = y[100]
        return x

    run = captured(f)
    run(numbers(3))
    run(numbers(3))


def test_extern_after_a_write_is_a_break():
    def f(x):
        x += 1
        y = np.cumsum(x)
        return y

    run = captured(f)
    run(numbers(3))
    assert run.kinds in (["order"], [])


def test_global_store():
    run = captured(stores_a_global)
    for k in range(3):
        plain = stores_a_global(numbers(3) + k)
        stored = LAST
        np.testing.assert_array_equal(run.entry(numbers(3) + k), plain)
        np.testing.assert_array_equal(LAST, stored)
        assert LAST is not stored
    assert run.kinds == [] and run.graphs == 1


LAST = None


def stores_a_global(x):
    global LAST
    y = x + 1
    LAST = y
    return y * 2


def test_closure_store():
    count = 0

    def f(x):
        nonlocal count
        y = x + 1
        count += 1
        return y * count

    run = captured(f)
    for _ in range(3):
        before = count
        plain = f(numbers(3))
        count = before
        np.testing.assert_array_equal(run.entry(numbers(3)), plain)
        assert count == before + 1


# Lifetime -----------------------------------------------------------------------------------------------------------
def test_nothing_leaks():
    def f(x):
        y = x + 1
        print(end="")
        return y * 2

    run = captured(f)
    x = numbers(3)
    for _ in range(3):
        run.entry(x)
    gc.collect()
    before = sys.getrefcount(x), len(gc.get_objects())
    for _ in range(200):
        run.entry(x)
    gc.collect()
    assert sys.getrefcount(x) == before[0]
    assert len(gc.get_objects()) < before[1] + 50


def test_values_die_when_they_should():
    deaths = []

    class Tracked(np.ndarray):
        pass

    def make():
        array = numbers(3).view(Tracked)
        weakref.finalize(array, deaths.append, "gone")
        return array

    def f(x):
        z = make()
        del z
        print(x.shape)
        return x + 1

    captured(f).entry(numbers(3))
    assert deaths == ["gone"]


def test_recursion_with_breaks():
    def f(x, n):
        if n == 0:
            return x
        print(end="")
        return f(x + 1, n - 1)

    run = captured(f)
    run(numbers(3), 5)


def test_called_from_itself_while_running():
    def f(x, again):
        y = x + 1
        z = again(x)
        return y + z

    run = captured(f)
    run.entry(numbers(3), lambda x: x * 2)
    result = run.entry(numbers(3), lambda x: run.entry(x, np.negative))
    np.testing.assert_array_equal(result, (numbers(3) + 1) * 2 - numbers(3))
