"""Points in space: loops over their few coordinates are unrolled within one over many points, which are vectors."""

import numpy as np
import pytest

import capture
from capture.backends import inductor
from tests.helpers import captured
from tests.shared_work import everything_shared


def orbits(position, velocity, steps):
    for _ in range(steps):
        r = np.sqrt((position * position).sum(axis=1))
        velocity -= 0.125 * position / (r * r * r)[:, None]
        position += 0.25 * velocity
    return position, velocity


def mixed(position, velocity, steps):
    """Other dtypes, a row, masks, integers that may raise."""
    count = np.zeros(position.shape, dtype=np.int32)
    row = np.arange(1, position.shape[1] + 1)
    for k in range(steps):
        is_near = position < velocity
        count += is_near * row
        count //= row - (k == 3)
        position = np.where(is_near, position + row, velocity) * 0.5
        velocity = velocity[::-1] + position
    return position, velocity, count


def itself(position, velocity, steps):
    """What is written is read in other places."""
    for _ in range(steps):
        position[1:] += position[:-1] * 0.5
        position[:, 1:] -= velocity[:, :-1]
        velocity[:] = position[::-1]
    return position, velocity


def points(count, width, dtype="f8", seed=1):
    return np.random.default_rng(seed).random((count, width)).astype(dtype) + 1


def text(function, *arguments):
    with np.errstate(all="ignore"):
        return "".join(kernel.source for kernel in capture.explain(function)(*arguments).kernels)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("function", [orbits, mixed, itself])
def test_few_coordinates(function, width, threads):
    with everything_shared(threads):
        run = captured(function, backend=inductor)
        for count in (40, 17, 33):
            run(points(count, width), points(count, width, seed=2), 5)
        assert run.graphs and not run.breaks
    assert f"#pragma GCC unroll {width}" in text(function, points(40, width), points(40, width), 5)


@pytest.mark.parametrize("count, width", [(40, 5), (9, 3), (40, 1), (1, 3), (0, 3)])
def test_more_coordinates_and_few_points(count, width):
    arguments = points(count, width), points(count, width, seed=2), 5
    assert "unroll" not in text(orbits, *arguments).partition("optimize")[2].replace("unroll-loops", "")
    run = captured(orbits, backend=inductor)
    run(*arguments)
    assert run.graphs == 1


@pytest.mark.parametrize("dtype", ["f4", "i2", "u1"])
def test_dtypes_and_sizes_that_change(dtype):
    def moved(position, velocity, steps):
        for _ in range(steps):
            position = position + velocity * position
            velocity -= position
        return position, velocity

    run = captured(moved, backend=inductor, dynamic=True)
    for count in (40, 17, 3, 1, 0, 33):
        run(points(count, 3, dtype), points(count, 3, dtype, seed=2), 4)
    assert run.graphs and not run.breaks


def test_warnings():
    calm, wild = points(40, 3), points(40, 3)
    wild[31, 1] = 1e308
    run = captured(lambda x, y, n: orbits(x * y * 2, y, n), backend=inductor)
    for x in (calm, wild, calm):
        run(x.copy(), x.copy(), 3)
    assert run.graphs
