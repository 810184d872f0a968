"""Loops whose rounds have nothing to do with each other are shared out over threads, all others are not."""

from __future__ import annotations

import math
import os
import signal
import threading

import numpy as np
import pytest

import capture
from capture import backends
from tests.helpers import captured
from tests.shared_work import everything_shared


def rng():
    return np.random.default_rng(5)


# Rounds that may run at once ------------------------------------------------------------------------------------------
def product(a, b, c):
    n, m = c.shape
    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def columns(a, out):
    for j in range(a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j]
            a[i, j] = s
        out[j + 1] = s
    return out


def elements(x, y):
    for i in range(x.shape[0]):
        y[i] = math.sqrt(abs(x[i])) * 2
    return y


def numbered(x, y):
    for i, row in enumerate(x):
        y[i, 1:] = row[1:] - row[0]
    return y


def own_memory(a, out):
    for i in range(1, a.shape[0]):
        t = np.zeros(7)
        room = np.zeros(a.shape[1] + i)
        for j in range(a.shape[1]):
            t[j % 7] += a[i, j]
            room[j + i] = a[i, j] * i
        out[i] = t.max() + room.sum()
    return out


def every_third(x):
    for i in range(2, x.shape[0] - 1, 3):
        x[i] = x[i] * 0.5 + 1
    return x, i


def behind(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            continue
        y[i] = x[i]
    return y, i


def leaving(x, k):
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise ValueError(f"{i} is negative")
        x[i] = x[i] ** 0.5 + 10 // k[i]
    return x


def collatz(counts):
    for i in range(counts.shape[0]):
        n, steps = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        counts[i] = steps
    return counts


def lower_triangle(a, b):
    for i in range(a.shape[0]):
        for j in range(i + 1):
            a[i, j] = b[j] - a[i, j]
    return a


def two_arrays(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j], b[j, i] = b[j, i] * 2, a[i, j] + 1
    return a, b


def in_time(u, steps):
    """The rounds of the inner loop, not those of the outer one."""
    v = np.zeros(u.shape)
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
        u, v = v, u
    return u


def around_the_end(x):
    """The first round stands before the loop."""
    for i in range(x.shape[0]):
        x[i - 1] = x[i - 1] * 2 + i
    return x


def last_sum(a, out):
    s = -1.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s = s * 0.5 + a[i, j]
        out[i] = s
    return out, s


def either_zero(x, y):
    z = 1.0
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
        if x[i] > 0.25:
            z = 0.0
            continue
        z = -0.0
    return y, math.copysign(1.0, z)


def tiles(re, im, n):
    """Arrays in time, which go by tiles."""
    zr, zi, count = np.zeros(re.shape), np.zeros(re.shape), np.zeros(re.shape, dtype=np.int64)
    for k in range(n):
        inside = zr * zr + zi * zi <= 4.0
        moved = np.where(inside, zr * zr - zi * zi + re + k * 0.01, zr)
        zi = np.where(inside, 2 * zr * zi + im, zi)
        zr = moved
        count = count + inside
    return zr, zi, count, k


def tiles_in_place(x, y, n):
    for _ in range(n):
        x += y * 0.5
        x *= 0.75
    return x


INDEPENDENT = {
    "around_the_end": (around_the_end, lambda: (rng().random(300),)),
    "product": (product, lambda: (rng().random((21, 8)), rng().random((8, 13)), np.zeros((21, 13)))),
    "columns": (columns, lambda: (rng().random((11, 30)), np.zeros(31))),
    "columns_in_memory": (columns, lambda: (np.asfortranarray(rng().random((11, 30))), np.zeros(31))),
    "elements": (elements, lambda: (rng().random(999) - 0.5, np.zeros(999))),
    "backwards": (elements, lambda: (rng().random(999)[::-1], np.zeros(1998)[::2])),
    "numbered": (numbered, lambda: (rng().random((40, 9)), np.zeros((40, 9)))),
    "own_memory": (own_memory, lambda: (rng().random((40, 300)), np.zeros(40))),
    "every_third": (every_third, lambda: (rng().random(500),)),
    "behind": (behind, lambda: (rng().random(500), np.zeros(500))),
    "leaving": (leaving, lambda: (rng().random(300), rng().integers(1, 9, 300))),
    "collatz": (collatz, lambda: (np.zeros(400, "i8"),)),
    "lower_triangle": (lower_triangle, lambda: (rng().random((50, 50)), rng().random(50))),
    "two_arrays": (two_arrays, lambda: (rng().random((30, 20)), rng().random((20, 30)))),
    "last_sum": (last_sum, lambda: (rng().random((40, 30)), np.zeros(40))),
    "either_zero": (either_zero, lambda: (rng().random(300), np.zeros(300))),
    "tiles": (tiles, lambda: (rng().random((61, 47)) * 3 - 2, rng().random((61, 47)) * 2 - 1, 9)),
    "tiles_in_place": (tiles_in_place, lambda: (rng().random((83, 57)), rng().random((83, 57)), 7)),
    "in_time": (in_time, lambda: (rng().random((30, 20)), 6)),
}


@pytest.mark.parametrize("threads", (1, 2, 4))
@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_rounds(name, threads):
    function, arguments = INDEPENDENT[name]
    with everything_shared(threads) as count:
        run = captured(function, backend=backends.inductor, exact=name != "own_memory")
        run(*arguments())
        run(*arguments())
        assert run.graphs and run.breaks == []
        assert (count() > 0) == (threads > 1)


@pytest.mark.parametrize("name", ("product", "columns", "elements", "own_memory", "every_third", "last_sum"))
def test_few_rounds(name):
    """One round, none, and as many as there were never before."""
    function, arguments = INDEPENDENT[name]
    with everything_shared(3):
        run = captured(function, backend=backends.inductor, dynamic=True, exact=name != "own_memory")
        for size in (9, 3, 4, 5, 7):
            run(*(np.ascontiguousarray(x[tuple(slice(size + (x.ndim == 1)) for _ in x.shape)]) for x in arguments()))
        assert run.graphs


# Rounds that may not --------------------------------------------------------------------------------------------------
def recurrence(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x


def ahead(x):
    for i in range(x.shape[0] - 1):
        x[i] = x[i + 1] * 0.5
    return x


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s = s * 0.5 + x[i]
    return s


def the_last_one(x, y):
    found = -1
    for i in range(x.shape[0]):
        if x[i] > 0.9:
            found = i
    y[0] = found
    return y


def until_one(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0.99:
            break
        y[i] = x[i] * 2
    return y


def counted_places(x, y):
    for i in range(x.shape[0]):
        y[int(x[i] * 10)] += 1
    return y


def its_mirror(x):
    n = x.shape[0]
    for i in range(n):
        x[i] = x[n - 1 - i] + 1
    return x


def both_axes(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            a[i, j] = a[j, i] * 0.5 + 1
    return a


def halves(x):
    for i in range(x.shape[0]):
        x[i // 2] += x[i]
    return x


def two_views(x):
    y = x[1:]
    for i in range(y.shape[0]):
        y[i] = x[i] + 1
    return x


def kept_row(a):
    last = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        a[i] = a[i] + last
        last = a[i] * 0.5
    return a


DEPENDENT = {
    "recurrence": (recurrence, lambda: (rng().random(300),)),
    "ahead": (ahead, lambda: (rng().random(300),)),
    "total": (total, lambda: (rng().random(300),)),
    "the_last_one": (the_last_one, lambda: (rng().random(300), np.zeros(3))),
    "until_one": (until_one, lambda: (rng().random(300), np.zeros(300))),
    "counted_places": (counted_places, lambda: (rng().random(300), np.zeros(10))),
    "its_mirror": (its_mirror, lambda: (rng().random(300),)),
    "both_axes": (both_axes, lambda: (rng().random((20, 20)),)),
    "halves": (halves, lambda: (rng().random(300),)),
    "two_views": (two_views, lambda: (rng().random(300),)),
    "kept_row": (kept_row, lambda: (rng().random((40, 1)),)),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_rounds_that_wait_for_each_other(name):
    function, arguments = DEPENDENT[name]
    with everything_shared(4) as count:
        run = captured(function, backend=backends.inductor)
        run(*arguments())
        run(*arguments())
        assert run.graphs and count() == 0


def test_arguments_that_share_memory():
    """What is written is a copy, so that the other argument is as it was: rounds read what they would not have."""

    def shifted(x, y):
        for i in range(x.shape[0]):
            x[i] = y[i] * 2
        return x

    with everything_shared(3):
        memory = rng().random(301)
        run = captured(shifted, backend=backends.inductor)
        run(memory[:300].copy(), memory[1:])
        run(memory[1:], memory[:300])
        run(memory[:300], memory[:300])


def test_sums_that_overflow():
    """What leaves behind the loop leaves from the part of a thread, too."""

    def added(a, b, c):
        for i in range(a.shape[0]):
            c[i] = max(int(a[i]) + int(b[i]), 3)
        return c

    with everything_shared(3) as count:
        run = captured(added, backend=backends.inductor)
        a = np.arange(1000)
        run(a, a, np.zeros(1000, "i8"))
        shared = count()
        assert run.graphs and shared
        for place in (0, 500, 999):
            large, small = a.copy(), a.copy()
            large[place], small[place] = 2**63 - 1, 5
            run(small, large, np.zeros(1000, "i8"))
        assert count() > shared


# What rounds raise, signals, forks ------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", (0, 150, 299))
@pytest.mark.parametrize("what", ("negative", "zero"))
def test_errors_of_rounds(what, place):
    """The error is the first one, and what rounds before it have written is there, as in Python."""
    x, k = INDEPENDENT["leaving"][1]()
    if what == "negative":
        x[place] = -1.0
        x[299] = -1.0
    else:
        k[place] = 0
    with everything_shared(4) as count:
        run = captured(leaving, backend=backends.inductor)
        run(*INDEPENDENT["leaving"][1]())
        shared = count()
        assert shared
        run(x, k)
        assert run.graphs and count() > shared


def quotients(x, y):
    for i in range(x.shape[0]):
        row = y[i]
        row[:] = 1 / x[i]
    return y


def test_warnings_of_rounds():
    x = rng().random((40, 30)) + 1
    with everything_shared(4) as count:
        run = captured(quotients, backend=backends.inductor)
        run(x, np.zeros((40, 30)))
        assert count()
        for place in ((0, 0), (20, 29), (39, 3)):
            y = x.copy()
            y[place] = 0
            run(y, np.zeros((40, 30)))
        assert run.graphs


def slow(counts, most):
    for i in range(counts.shape[0]):
        n = 0
        while n < most:
            n += 1 + (n ^ i) % 2
        counts[i] = n
    return counts


def test_an_interrupt():
    with everything_shared(3) as count:
        compiled = capture.compile(slow)
        assert np.array_equal(compiled(np.zeros(50, "i8"), 100), slow(np.zeros(50, "i8"), 100)) and count()
        counts = np.zeros(50, "i8")
        timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            compiled(counts, 2**60)
        timer.join()
        assert not counts.any()
        assert np.array_equal(compiled(counts, 100), slow(np.zeros(50, "i8"), 100))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork():
    with everything_shared(3) as count:
        compiled = capture.compile(collatz)
        expected = collatz(np.zeros(300, "i8"))
        assert np.array_equal(compiled(np.zeros(300, "i8")), expected) and count()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                before = count()
                if all(np.array_equal(compiled(np.zeros(300, "i8")), expected) for _ in range(5)):
                    status = 0 if count() > before else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
