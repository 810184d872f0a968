"""Loops over whole arrays that go through all rounds tile by tile."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs import binding, tiling
from tests.helpers import captured

SIZES = [0, 1, 63, 64, 65, 200, 320]
"""Elements, of tiles of 64."""


@pytest.fixture
def tiled(monkeypatch):
    """Small tiles; the programs that have any."""
    found = []

    def with_tiles(program):
        made = tiling.with_tiles(program)
        if made is not program:
            found.append(made)
        return made

    monkeypatch.setattr(tiling, "TILE", 1)
    passes = tuple(with_tiles if each is tiling.with_tiles else each for each in binding.PASSES)
    monkeypatch.setattr(binding, "PASSES", passes)
    return found


def compare(function, *calls, **settings):
    for first in range(0, len(calls), 4):  # of more shapes and numbers than that no code has variants
        run = captured(function, backend=inductor, exact=False, **settings)
        for call in calls[first : first + 4]:
            run.on(call)
        assert run.graphs
    return run


def points(count, dtype="c16", seed=1):
    rng = np.random.default_rng(seed)
    found = 3 * rng.standard_normal(count)
    return (found + 2j * rng.standard_normal(count)).astype(dtype) if dtype.startswith("c") else found.astype(dtype)


def escaping(c):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int32)
    for _ in range(20):
        inside = z.real * z.real + z.imag * z.imag <= 4
        z = np.where(inside, z * z + c, z)
        count += inside
    return count, z


def masked(c):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for k in range(9):
        inside = np.abs(z) < 2.0
        count[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    return count


@pytest.mark.parametrize("function", [escaping, masked])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex(tiled, function, dtype):
    run = compare(function, *[lambda n=n: (points(n, dtype),) for n in SIZES])
    assert tiled and not run.breaks


def logistic(x, r, rounds):
    for _ in range(rounds):
        x = r * x * (1.0 - x)
    return x


def in_place(x, y, rounds):
    total = 0.0
    for k in range(rounds):
        y += x * k
        y *= 0.5
        total += k * 0.25
    return total, k


def two_names(x, y, rounds):
    """A step of a pair of equations: both are new ones."""
    dt = 0.125
    for _ in range(rounds):
        a, b = x + dt * y, y - dt * x
        x, y = a, b
    return x, y


def until(x, y, limit):
    """How many rounds there are is not known before."""
    size, rounds = 1.0, 0
    while size < limit:
        x = np.maximum(x * 0.5, y)
        size *= 1.5
        rounds += 1
    return x, rounds


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_forms(tiled, dtype, dynamic):
    pairs = [(points(n, dtype), points(n, dtype, 2)) for n in SIZES]
    compare(logistic, *[lambda p=p: (p[0] * dtype_one(dtype), 0.7, 5) for p in pairs], dynamic=dynamic)
    compare(in_place, *[lambda p=p, k=k: (p[0], p[1].copy(), k) for p in pairs for k in (1, 6)], dynamic=dynamic)
    compare(two_names, *[lambda p=p, k=k: (*p, k) for p in pairs for k in (0, 1, 6)], dynamic=dynamic)
    compare(until, *[lambda p=p, k=k: (*p, k) for p in pairs for k in (0.5, 9.0)], dynamic=dynamic)
    assert len(tiled) >= 4


def dtype_one(dtype):
    return np.dtype(dtype).type(0.01)


def planes(x, row, column, full, rounds):
    for _ in range(rounds):
        x = x * row + column * 0.5 - full
    return x


@pytest.mark.parametrize("shape", [(300, 1), (1, 300), (3, 200), (70, 7), (5, 6, 20), (0, 4), (4, 0)])
def test_axes(tiled, shape):
    """Rows are divided; what has fewer axes, or one element along some, is read by all tiles."""
    rng = np.random.default_rng(3)
    x, full = rng.random(shape), rng.random(shape)
    row, column = rng.random(shape[-1]), rng.random((*shape[:-1], 1))
    compare(planes, *[lambda k=k: (x, row, column, full, k) for k in (0, 1, 7)])
    compare(planes, lambda: (x, row, column[:1], full, 7))
    compare(planes, lambda: (np.asfortranarray(x), row, column, full[::-1], 7))
    assert tiled or 1 in shape[:1]


def growing(x, rounds):
    for _ in range(rounds):
        x = x * x
    return x


def test_warnings(tiled):
    """A tile in which NumPy would warn."""
    calm = np.linspace(-1.0, 1.0, 300)
    wild = calm.copy()
    wild[250] = 1e200
    compare(growing, lambda: (calm, 7), lambda: (wild, 7), lambda: (calm, 7))
    assert tiled


def swapped(x, y, rounds):
    """Which array a name is depends on the rounds."""
    for _ in range(rounds):
        x, y = y, x * 0.5
    return x, y


def seen_twice(x, rounds):
    y = x[::-1]
    for _ in range(rounds):
        x += y * 0.5
    return x


def neighbours(x, rounds):
    for _ in range(rounds):
        x = 0.5 * (x + np.roll(x, 1))
    return x


def summed(x, rounds):
    for _ in range(rounds):
        x = x / np.sqrt((x * x).sum())
    return x


def twice_the_same(x, y, rounds):
    for _ in range(rounds):
        y = x = x * 0.5 + y
    return x, y, x is y


@pytest.mark.parametrize("function", [neighbours, summed, seen_twice])
def test_elements_that_need_others_are_not_divided(tiled, function):
    compare(function, *[lambda n=n, k=k: (points(n, "f8"), k) for n in (1, 65, 320) for k in (1, 7)])
    assert not tiled


@pytest.mark.parametrize("function", [swapped, twice_the_same])
def test_names_of_one_array_are_not_divided(tiled, function):
    compare(function, *[lambda k=k: (points(320, "f8"), points(320, "f8", 2), k) for k in (0, 1, 5, 6)])
    assert not tiled


def test_arguments_that_share_memory(tiled):
    base = points(700, "f8")

    def overlapping():
        own = base.copy()
        return own[:330], own[3:333], 7

    run = captured(in_place, backend=inductor, exact=False)
    run.on(lambda: (base[:330].copy(), base[3:333].copy(), 7))
    run.on(overlapping)
    run.on(lambda: (*(lambda x: (x, x))(base[:330].copy()), 7))
    assert tiled
