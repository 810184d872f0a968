"""Loops that are there twice, with sure places and with tested ones; overflow that is looked at behind a loop."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs import binding, function
from tests.helpers import captured

HIGHEST = 2**63 - 1


@pytest.fixture
def made(monkeypatch):
    """What became of the programs: how many were changed, and how many sums may wrap."""
    found = {"versions": 0, "deferred": 0}
    plain_versions, plain_deferred = binding.with_versions, function.find_deferred

    def versions(chosen, tested):
        changed = plain_versions(chosen, tested)
        found["versions"] += changed is not chosen
        return changed

    def deferred(*args):
        steps = plain_deferred(*args)
        found["deferred"] += bool(steps)
        return steps

    monkeypatch.setattr(binding, "with_versions", versions)
    monkeypatch.setattr(function, "find_deferred", deferred)
    return found


def run_all(function, calls, backend=inductor):
    run = captured(function, backend=backend)
    for call in calls:
        run.on(call)
    assert run.graphs and not run.record.loops, run.record.loops
    return run


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for weight, value in zip(weights, values):  # noqa: B905
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best


def test_knapsack(made):
    weights, values = np.array([3, 1, 4, 1, 5]), np.array([2, 7, 1, 8, 2])
    run_all(
        knapsack,
        [
            lambda: (weights, values, 20),
            lambda: (weights, values, 0),
            lambda: (weights[::-1], values, 3),
            lambda: (np.array([0, 2, 9]), values[:3], 9),
            lambda: (np.array([2, -1, 3]), values[:3], 9),  # places from the other end, then none
            lambda: (np.array([2, -30]), values[:2], 9),
            lambda: (np.array([2, 3]), np.array([HIGHEST - 5, 9]), 9),  # overflows
            lambda: (np.array([-HIGHEST - 1, 3]), values[:2], 2),
        ],
    )
    assert made["versions"] and made["deferred"]


def shifted(x, y, first, last, by):
    for i in range(first, last):
        y[i] = x[i + by] * 2.0
    return y


SHIFTS = [(0, 10, 0), (2, 8, 2), (2, 8, -2), (0, 10, -3), (0, 10, 1), (5, 5, 100), (7, 3, 100), (-4, 4, 0), (0, 11, 0),
          (3, 6, 4), (3, 6, 5), (-10, -2, 2), (0, 1, 2**40), (0, 2**40, 0)]  # fmt: skip


@pytest.mark.parametrize("scalar", [int, np.int64])
def test_shifts(made, scalar):
    run_all(
        shifted, [lambda s=s: (np.arange(10.0), np.zeros(10), s[0], s[1], scalar(s[2])) for s in SHIFTS]
    )
    assert made["versions"]


def planes(x, y, offsets):
    total = 0.0
    for k in range(len(offsets)):
        p, q = offsets[k, 0], offsets[k, 1]
        for i in range(1, 5):
            for j in range(1, 6):
                y[i, j] += x[i + p, j - q] - x[i, j]
                total += x[i - p, j]
    return y, total, i, j


def test_two_axes(made):
    x = np.arange(42.0).reshape(6, 7)
    offsets = [[(0, 0), (1, 1), (-1, -1)], [(1, 1), (-2, 0)], [(0, 1), (0, 2), (2, 0)], [(0, 6)]]
    run_all(planes, [lambda o=o: (x, np.zeros((6, 7)), np.array(o)) for o in offsets])
    assert made["versions"]


def downward(x, n, by):
    for i in range(n - 1, by, -3):
        x[i - by] = x[i] + x[i - by - 1]
    for i in range(by, n, 2):
        x[i] -= x[n - 1 - i]
    return x, i


def decided(x, y, by):
    """A place that is not come to is no error."""
    count = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            y[i + by] = x[i]
            count += 1
    return y, count


def used_besides(x, places, by):
    """The number that is a place is a result, too."""
    for i in range(len(places)):
        at = i * 2 - by
        places[i] = at
        x[at] += 1.0
    return x, places


def test_forms(made):
    ten = np.linspace(0.0, 1.0, 10)
    bounds = [(10, 1), (10, 3), (7, 2), (2, 1), (10, 0), (12, 1)]
    run_all(downward, [lambda n=n, by=by: (np.arange(10.0), n, by) for n, by in bounds])
    run_all(decided, [lambda by=by: (ten, np.zeros(10), by) for by in (0, -2, -7, 1, -14, -16)])
    places = np.zeros(5, dtype=np.int64)
    run_all(used_besides, [lambda by=by: (np.arange(10.0), places.copy(), by) for by in (0, 1, -1, -3, 12, 2**40)])
    assert made["versions"] >= 3


def added(x, y, z):
    for i in range(len(x)):
        z[i] = x[i] + y[i]
    return z


def differences(x, y, z):
    for i in range(len(x)):
        z[i] = max(x[i] - y[i], y[i] - 3)
    return z


def of_numbers(x, y, z):
    for i in range(len(x)):
        z[i] = int(x[i]) - int(y[i]) + 5
    return z


def used_as_place(x, y, z):
    for i in range(len(x)):
        z[(x[i] + y[i]) % len(z)] = x[i] // (y[i] + 1)
    return z


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
@pytest.mark.parametrize("function", [added, differences, of_numbers, used_as_place])
def test_overflow(made, function, dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(5)
    small = rng.integers(0, 40, (2, 37)).astype(dtype)
    wide = rng.integers(info.min, info.max, (2, 37), dtype=dtype, endpoint=True)
    ends = small.copy()
    ends[:, -1] = info.max
    low = small.copy()
    low[0, 3], low[1, 3] = info.min, info.max
    pairs = small, wide, ends, low, small[:, :1], small[:, :0]
    run_all(function, [lambda a=a: (a[0], a[1], np.zeros(37, dtype)) for a in pairs])
    assert bool(made["deferred"]) == (function is not used_as_place)
