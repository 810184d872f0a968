"""Rounds side by side, as lanes of one loop: the same results, errors and warnings as one after the other."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import numpy as np
import pytest

import capture
from capture import backends
from tests.benchmarks.loops.integers import binary_search, greatest_divisors
from tests.benchmarks.loops.physics import bisection
from tests.forced_lanes import counted_lanes, lanes_everywhere
from tests.helpers import Outcome, captured
from tests.random_lanes import make_program
from tests.random_loops import TooLong, check
from tests.shared_work import everything_shared


def rng():
    return np.random.default_rng(3)


# Loops that get lanes -------------------------------------------------------------------------------------------------
def newton(x, out):
    """Rounds that do not enter the inner loop at all, and what differs from lane to lane before it."""
    for i in range(x.shape[0]):
        value, guess, count = x[i], 1.0, 0
        if value > 0.5:
            guess = value
        while abs(guess * guess - value) > 1e-12 and count < 40:
            guess = 0.5 * (guess + value / guess)
            count += 1
        out[i, 0] = guess
        out[i, 1] = count
    return out


def every_other(x, out):
    for i in range(1, x.shape[0] - 1, 2):
        n, steps = int(x[i]), 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[i + 1] = steps
    return out


def first_above(x, bound, out):
    """A way out in the middle of the inner loop, and one at its end."""
    for i in range(x.shape[0]):
        j = 0
        while j < x.shape[1]:
            if x[i, j] > bound:
                out[i] = j
                break
            j += 1
        else:
            out[i] = -1
    return out


def two_ways_to_go_on(x, out):
    for i in range(x.shape[0]):
        n = int(x[i])
        if n < 0:
            continue
        total = 0
        while n > 0:
            n -= 3
            if n % 4 == 1:
                continue
            total += n
        if total > 40:
            out[i] = total
            continue
        out[i] = -total
    return out


def two_counters(x, out):
    j = 1
    for i in range(x.shape[0]):
        s, n = 0.0, 0
        while s < x[i]:
            s += 0.125
            n += i + 1
        out[j] = n
        j += 2
    return out


def nested(re, im, out):
    for i in range(re.shape[0]):
        for j in range(im.shape[0]):
            x, y, n = 0.0, 0.0, 0
            while x * x + y * y <= 4.0 and n < 50:
                x, y = x * x - y * y + re[i], 2 * x * y + im[j]
                n += 1
            out[i, j] = n
    return out


def filters(x, out):
    """An inner loop that counts, and writes in each of its rounds."""
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            s = 0.5 * s + x[c, t]
            out[c, t] = s
    return out


def in_its_place(x, limit):
    for i in range(x.shape[0]):
        while x[i] < limit:
            x[i] = x[i] * x[i] + 1
    return x


def small_dtypes(x, out):
    for i in range(x.shape[0]):
        v, n = x[i], np.uint8(0)
        while v:
            v &= v - x.dtype.type(1)
            n = n ^ np.uint8(1)
        out[i] = n
    return out


def singles(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        while v > np.float32(0.1):
            v = v * np.float32(0.5) if v < np.float32(3) else v - np.float32(1)
        out[i] = v
    return out


def tree(left, right, key, x, out):
    """What no round changes, the first node, is no reason to wait."""
    for i in range(x.shape[0]):
        node = 0
        while left[node] >= 0:
            node = left[node] if x[i] < key[node] else right[node]
        out[i] = key[node]
    return out


def integers(seed, high, *shape):
    return np.random.default_rng(seed).integers(0, high, shape)


LOOPS = {
    "roots": (bisection, lambda n: (0.0, 4.0, rng().random(n) * 90, 1e-9)),
    "search": (binary_search, lambda n: (np.sort(rng().random(57)), rng().random(n))),
    "search_nothing": (binary_search, lambda n: (np.zeros(0), rng().random(n))),
    "divisors": (greatest_divisors, lambda n: (integers(1, 999, n), integers(2, 999, n))),
    "divisors_i4": (greatest_divisors, lambda n: (integers(1, 99, n).astype("i4"), integers(2, 99, n).astype("i4"))),
    "newton": (newton, lambda n: (np.where(rng().random(n) < 0.2, 1.0, rng().random(n)), np.zeros((n, 2)))),
    "every_other": (every_other, lambda n: (integers(4, 60, n), np.zeros(n + 1))),
    "first_above": (first_above, lambda n: (rng().random((n, 9)), 0.8, np.zeros(n, "i8"))),
    "two_ways_to_go_on": (two_ways_to_go_on, lambda n: (integers(5, 50, n) - 9, np.zeros(n, "i8"))),
    "two_counters": (two_counters, lambda n: (rng().random(n) * 4 - 1, np.zeros(2 * n, "i8"))),
    "nested": (nested, lambda n: (rng().random(n) * 3 - 2, rng().random(7) * 2 - 1, np.zeros((n, 7), "i8"))),
    "filters": (filters, lambda n: (rng().random((n, 13)), np.zeros((n, 13)))),
    "filters_strided": (filters, lambda n: (rng().random((13, 2 * n)).T[::2], np.zeros((13, n)).T)),
    "in_its_place": (in_its_place, lambda n: (rng().random(n) * 20, 7.5)),
    "in_its_place_backwards": (in_its_place, lambda n: ((rng().random(n) * 20)[::-1], 7.5)),
    "tree": (
        tree,
        lambda n: (
            np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1]),
            np.array([0.5, 0.25, 0.75, 1.0, 2.0, 3.0, 4.0]), rng().random(n), np.zeros(n),
        ),
    ),
    "singles": (singles, lambda n: ((rng().random(n) * 9).astype("f4"), np.zeros(n, "f4"))),
    **{
        f"small_{dtype}": (
            small_dtypes, lambda n, dtype=dtype: (integers(6, 100, n).astype(dtype), np.zeros(n, "u1"))
        )
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_lanes(name):
    """Several sizes: no round, fewer than lanes, not all strips full."""
    function, arguments = LOOPS[name]
    with lanes_everywhere() as count:
        run = captured(function, backend=backends.inductor, dynamic=True)
        for size in (33, 0, 1, 3, 5, 8, 64):
            run(*arguments(size))
        assert run.graphs and run.breaks == [] and count() > 0


@pytest.mark.parametrize("name", ("roots", "search", "newton", "nested", "filters", "every_other", "tree"))
def test_lanes_on_threads(name):
    function, arguments = LOOPS[name]
    with lanes_everywhere() as count, everything_shared(3) as shared:
        run = captured(function, backend=backends.inductor)
        for size in (83, 83, 12):
            run(*arguments(size))
        assert run.graphs and count() > 0 and shared() > 0


def polynomial(c, x, out):
    """A compiler makes vectors of it: the same turn of several rounds."""
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(c.shape[0]):
            s = s * x[i] + c[k]
        out[i] = s
    return out


def few_steps(x, out):
    """Too little waits for anything."""
    for i in range(x.shape[0]):
        n = x[i]
        while n > 0:
            n -= 1
        out[i] = n
    return out


def side_by_side(x, out):
    """Rounds are neighbours in memory."""
    for c in range(x.shape[1]):
        s = 0.0
        for t in range(x.shape[0]):
            s = 0.5 * s + x[t, c]
            out[t, c] = s
    return out


@pytest.mark.parametrize(
    ("function", "arguments", "lanes"),
    [
        (bisection, lambda: LOOPS["roots"][1](200), 1),
        (greatest_divisors, lambda: LOOPS["divisors"][1](200), 1),
        (binary_search, lambda: (np.sort(rng().random(100_000)), rng().random(50)), 1),
        (filters, lambda: (rng().random((30, 200)), np.zeros((30, 200))), 1),
        (side_by_side, lambda: (rng().random((30, 200)), np.zeros((30, 200))), 0),
        (polynomial, lambda: (rng().random(30), rng().random(200), np.zeros(200)), 0),
        (few_steps, lambda: (integers(8, 30, 40), np.zeros(40, "i8")), 0),
    ],
)
def test_what_is_worth_it(function, arguments, lanes):
    with counted_lanes() as count:
        captured(function, backend=backends.inductor)(*arguments())
        assert count() == lanes


# Loops that do not ----------------------------------------------------------------------------------------------------
def one_after_the_other(x, out):
    for i in range(1, x.shape[0]):
        s = out[i - 1]
        while s < x[i]:
            s += 0.25
        out[i] = s
    return out


def best_of_all(x, out):
    best = 0.0
    for i in range(x.shape[0]):
        s = best
        while s < x[i]:
            s += 0.25
        best = s
        out[i] = s
    return out


def found_places(x, out):
    for i in range(x.shape[0]):
        j = 0
        while j < x[i]:
            j += 2
        out[j % 7] += 1
    return out


@pytest.mark.parametrize("function", (one_after_the_other, best_of_all))
def test_rounds_that_wait(function):
    with lanes_everywhere() as count:
        captured(function, backend=backends.inductor)(rng().random(40) * 3, np.zeros(40))
        assert count() == 0


def test_rounds_that_meet():
    with lanes_everywhere() as count:
        captured(found_places, backend=backends.inductor)(integers(8, 30, 40), np.zeros(40))
        assert count() == 0


# Random loops ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", (0, 5, 10))
def test_random_rounds(first, tmp_path):
    """Thousands of them: ``python -m tests.fuzz_loops --lanes``."""
    with lanes_everywhere() as count:
        for seed in range(first, first + 5):
            with contextlib.suppress(TooLong):
                check(make_program(seed), tmp_path, backends.inductor)
        assert count() >= 2


# Errors, warnings, signals --------------------------------------------------------------------------------------------
def places(x, starts, out):
    """The next place stands in each place, until there is none."""
    for i in range(starts.shape[0]):
        j = starts[i]
        n = 0
        while j != 0:
            j = x[j]
            n += 1
        out[i] = n
    return out


def divided(x, y, out):
    for i in range(x.shape[0]):
        n, s = int(x[i]), 0
        while n > 0:
            n -= 1
            s += 100 // int(y[i] + n)
        out[i] = s
    return out


def grown(x, out):
    for i in range(x.shape[0]):
        n, k = int(x[i]), 0
        while k < 70:
            n, k = n * 2, k + 1
        out[i] = k + (n > 0)
    return out


def raising(x, out):
    for i in range(x.shape[0]):
        s = 0
        while s < x[i]:
            s += 1
            if s == 17:
                raise ValueError(f"{i} is too much")
        out[i] = s
    return out


def warning(x, y, out):
    for i in range(x.shape[0]):
        v, n = x[i], 0
        while n < 4:
            v = v / y[i]
            n += 1
        out[i] = v
    return out


GOOD = np.array([3, 4, 0, 0, 1, 2, 5, 4] * 4)


FAILING = {
    "places": (
        places,
        lambda at: (
            np.array([0, 0, 1, 2, 3, 4]), np.where(np.arange(32) == at, 99, GOOD), np.zeros(32, "i8")
        ),
    ),
    "divided": (divided, lambda at: (GOOD, np.where(np.arange(32) == at, -1, 5), np.zeros(32))),
    "grown": (grown, lambda at: (np.where(np.arange(32) == at, 1, 0), np.zeros(32, "i8"))),
    "raising": (raising, lambda at: (np.where(np.arange(32) == at, 40, GOOD), np.zeros(32))),
    "warning": (warning, lambda at: (np.ones(32), np.where(np.arange(32) == at, 0.0, 2.0), np.zeros(32))),
}  # fmt: skip


@pytest.mark.parametrize("at", (0, 1, 6, 17, 31))
@pytest.mark.parametrize("name", FAILING)
def test_what_goes_wrong_in_a_round(name, at):
    """Error, traceback, warnings and what has been written before are Python's."""
    function, arguments = FAILING[name]
    with lanes_everywhere() as count:
        run = captured(function, backend=backends.inductor)
        run(*arguments(-1))
        assert run.graphs and count() > 0
        run(*arguments(at))
        run(*arguments(-1))


def test_two_rounds_go_wrong():
    """The first of them in order is seen, also where the other one comes to it sooner."""
    x = np.array([1, 30, 17, 18, 2])
    with lanes_everywhere() as count:
        run = captured(raising, backend=backends.inductor)
        run(np.arange(5), np.zeros(5))
        run(x, np.zeros(5))
        assert count() > 0


def endless(x, out):
    for i in range(x.shape[0]):
        s = 1.0
        while s != x[i]:
            s = s * 0.5 + 0.25
        out[i] = s
    return out


def test_ctrl_c():
    out = np.zeros(9)
    with lanes_everywhere() as count:
        compiled = capture.compile(endless, options={"strict": True})
        compiled(np.ones(9), out)
        assert count() > 0
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            compiled(np.array([1.0, 1, 1, 7, 1, 1, 1, 1, 1]), out * 0)
    assert Outcome(endless, (np.ones(9), out), {}).error is None
