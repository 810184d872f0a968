"""Columns that inner loops go through again and again, as rows of a transposed copy."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs import binding, columns
from tests.helpers import captured
from tests.shared_work import everything_shared


@pytest.fixture
def changed(monkeypatch):
    """How many arrays are transposed in each program that is made."""
    found = []

    def with_columns_as_rows(program, sizes):
        made = columns.with_columns_as_rows(program, sizes)
        copies = [step for step in made.steps if step.target == "copy" and "_transposed_" in step.name]
        found.append(len(copies))
        return made

    monkeypatch.setattr(binding, "with_columns_as_rows", with_columns_as_rows)
    return found


def table(rows, width, dtype="f8", seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 9, (rows, width)).astype(dtype)


# Loops that go through copies ---------------------------------------------------------------------------------------
def orthogonal(a):
    """Two arrays that are written, by columns and single elements."""
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.dot(a[:, k], a[:, k]) % 5 + 1
        q[:, k] = a[:, k] % r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j]) % 3
            a[:, j] -= q[:, k] * r[k, j]
    return q, r, a


def triangle(c, a, b):
    """Two that are read, by parts of columns and otherwise."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= 2
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * b[i, k] + b[: i + 1, k] * a[i, k]
    return c


def pairs(a):
    n = a.shape[1]
    found = np.zeros((n, n), dtype=a.dtype)
    for i in range(n - 1):
        for j in range(i + 1, n):
            found[i, j] = (a[:, i] * a[:, j]).sum()
    return found


def from_behind(a):
    n = a.shape[1]
    for i in range(n):
        for j in range(-1, -n, -1):
            a[1:, j] = a[:-1, i - n] + a[0, j]
    return a


def elements(a):
    """Single elements of an array whose columns are written."""
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            a[0, j] = a[1, i] + a[-1, j]
            a[:, j] = a[:, i] - a[0, j]
    return a


def views_of_columns(a):
    total = a[0, 0] * 0
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            column = a[:, j]
            column[::2] = column[::2] + a[:, i][::2]
            total += column[1:][0]
    return a, total


def three_deep(a, steps):
    n = a.shape[1]
    for _ in range(steps):
        for i in range(n):
            for j in range(i):
                a[:, i] += a[:, j]
    return a


def other_loops(a):
    """A loop of one depth, and one that does not know how often."""
    for k in range(a.shape[1]):
        j = 0
        while j < k:
            a[:, j] = np.minimum(a[:, j], a[:, k])
            j += 2
    for k in range(a.shape[1]):
        a[:, k] += k
    return a


CHANGED = {
    "orthogonal": (orthogonal, lambda: (table(17, 30),), 2),
    "triangle": (triangle, lambda: (table(20, 20), table(20, 20, seed=2), table(20, 20, seed=3)), 2),
    "pairs": (pairs, lambda: (table(23, 18),), 1),
    "pairs of integers": (pairs, lambda: (table(23, 18, "i4"),), 1),
    "pairs of floats": (pairs, lambda: (table(23, 18, "f4"),), 1),
    "from_behind": (from_behind, lambda: (table(9, 30),), 1),
    "elements": (elements, lambda: (table(9, 30),), 1),
    "elements of bytes": (elements, lambda: (table(9, 30, "i2"),), 1),
    "views_of_columns": (views_of_columns, lambda: (table(9, 30),), 1),
    "three_deep": (three_deep, lambda: (table(5, 30), 3), 1),
    "other_loops": (other_loops, lambda: (table(40, 64), ), 1),
    "of no rows": (three_deep, lambda: (table(0, 30), 3), 1),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CHANGED)
def test_columns(changed, name, dynamic, threads):
    function, arguments, arrays = CHANGED[name]
    with everything_shared(threads):
        run = captured(function, backend=inductor, dynamic=dynamic)
        run(*arguments())
        run(*arguments())
    assert run.graphs == 1 and not run.breaks
    assert max(changed) == arrays


@pytest.mark.parametrize("name", ["orthogonal", "triangle", "pairs", "elements", "other_loops"])
def test_sizes_that_change(changed, name):
    """As many rounds as make a copy worth it, and fewer; none."""
    function, arguments, arrays = CHANGED[name]
    run = captured(function, backend=inductor, dynamic=True)
    for width in (20, 9, 2, 3, 20, 5):
        run(*(x[:width, :width].copy() if isinstance(x, np.ndarray) else x for x in arguments()))
    assert run.graphs and max(changed) == arrays


def test_warnings_and_errors(changed):
    def divided(a, places):
        for i in range(a.shape[1]):
            for j in range(a.shape[1]):
                a[:, j] = a[:, i] / a[0, places[j]]
        return a

    calm, places = np.full((6, 20), 2.0), np.arange(20)
    wild = calm.copy()
    wild[0, 7] = 0.0
    beyond = places.copy()
    beyond[13] = 20
    run = captured(divided, backend=inductor)
    for a, which in ((calm, places), (wild, places), (calm, -places - 1), (calm, beyond), (calm, places)):
        run(a.copy(), which)
    assert run.graphs == 1 and max(changed) == 1


# Loops that do not --------------------------------------------------------------------------------------------------
def few(a):
    for i in range(20):
        for j in range(5):
            a[:, j] += a[:, i]
    return a


def rows_too(a):
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            a[:, i] += a[j, i]
            a[j] = a[j] * 2
    return a


def kept(a):
    last = a[:, 0]
    for i in range(a.shape[1]):
        for j in range(i):
            last = a[:, j]
    return last


def carried(a):
    """A view from the round before shows what is written."""
    column = a[:, 0]
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            a[:, j] += column
            column = a[:, i]
    return a


def once(a):
    for k in range(1, a.shape[1]):
        a[:, k] += a[:, k - 1]
    return a


def another_name(a):
    b = a.T
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            b[i] = b[i] + a[:, j]
    return a


def whole(a):
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            a += a[:, i : i + 1] * j
            a[:, j] -= i
    return a


def until(a):
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            a[:, j] += a[:, i]
        if a[0, 0] > 1e6:
            break
    return a, i


def swapped(a, steps):
    """Names that change places: either may be the other's memory."""
    b = np.zeros_like(a)
    for _ in range(steps):
        for i in range(a.shape[1]):
            for j in range(a.shape[1]):
                b[:, j] = a[:, i] - a[:, j]
        a, b = b, a
    return a


UNCHANGED = {
    "swapped": (swapped, lambda: (table(9, 30), 3)),
    "rows_too": (rows_too, lambda: (table(12, 12),)),
    "kept": (kept, lambda: (table(12, 12),)),
    "carried": (carried, lambda: (table(12, 12),)),
    "once": (once, lambda: (table(12, 12),)),
    "another_name": (another_name, lambda: (table(12, 12),)),
    "whole": (whole, lambda: (table(12, 12),)),
    "until": (until, lambda: (table(12, 12),)),
    "columns in memory": (three_deep, lambda: (np.asfortranarray(table(12, 12)), 3)),
    "complex numbers": (pairs, lambda: (table(12, 12, "c16"),)),
    "few of many columns": (few, lambda: (table(12, 300),)),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_loops_that_go_through_arrays_themselves(changed, name):
    function, arguments = UNCHANGED[name]
    run = captured(function, backend=inductor)
    run(*arguments())
    run(*arguments())
    assert not any(changed)


def test_arguments_that_share_memory(changed):
    def mixed(a, b):
        for i in range(a.shape[1]):
            for j in range(a.shape[1]):
                a[:, j] += b[:, i]
        return a

    memory = table(12, 28)
    run = captured(mixed, backend=inductor)
    run(table(12, 14), table(12, 14, seed=2))
    run.on(lambda: ((base := memory.copy()), (base[:, :14], base[:, 14:]))[1])
    run.on(lambda: ((base := table(12, 14)), (base, base))[1])
    assert max(changed) == 2
