"""Masks of first axes, reshapes by axes of one element, and rolls by elements, in loops that are nodes."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])


def rows(x, places):
    out = np.zeros(x.shape[1:])
    for k in range(6):
        mine = places == k % 3
        chosen = x[mine]
        if mine.any():
            out = out + chosen.max(axis=0) * k - chosen[-1]
        x[places == k] = k
        out[0] += len(x[mine]) + chosen.size
    return out, x


def columns(x, places):
    total = np.zeros(x.shape)
    for k in range(6):
        total = total + places.reshape(-1, 1) * x[k].reshape(1, -1) + places.reshape((places.shape[0], 1)) * k
        flat = total[:, k % 4].reshape(1, -1, 1)
        total[0, 0] = flat.sum() + flat[0, k, 0]
    return total


def rolled(x, places):
    for k in range(6):
        x = np.roll(x, places[k], axis=0) + np.roll(x, -places[k] * 7, axis=1) * 0.5
        x[k] = np.roll(x[k], int(places[k]))
    return x


@BACKENDS
@pytest.mark.parametrize("function", [rows, columns, rolled], ids=lambda f: f.__name__)
def test_as_numpy(function, backend):
    run = captured(function, backend=backend, exact=backend is eager)
    for seed in range(3):
        run.on(lambda: (np.random.default_rng(seed).random((7, 4)), np.array([0, 1, 2, 0, 5, 1, 1])))  # noqa: B023
    assert sum(node.target == "loop" for graph in run.record.graphs for node in graph) == 1
    assert not run.breaks and not run.record.loops


def cubes(x, n):
    found = 0.0
    for k in range(n):
        mask = x[:, :, 0] > k * 0.2
        found += x[mask][:, 1].max() if mask.any() else -1.0
    return found


def wrong_mask(x, n):
    for k in range(n):
        x = x + x[np.zeros(k + 4, dtype=bool)].sum()
    return x


@BACKENDS
def test_masks_of_two_axes_and_of_the_wrong_size(backend):
    run = captured(cubes, backend=backend)
    for _ in range(2):
        run.on(lambda: (np.random.default_rng(1).random((3, 4, 5)), 8))
    assert not run.breaks
    run = captured(wrong_mask, backend=backend, exact=backend is eager)
    run.on(lambda: (np.ones((4, 2)), 1))
    run.on(lambda: (np.ones((4, 2)), 6))


def test_what_is_left():
    """Reshapes that change sizes, and arrays that go to rows that a mask chooses."""

    def function(x, n):
        for k in range(n):
            x = x.reshape(4, 3) + k
            x = x.reshape(3, 4)
            x[x[:, 0] > k] = x[0]
        return x

    run = captured(function)
    for _ in range(2):
        run.on(lambda: (np.random.default_rng(1).random((3, 4)), 7))
    assert len(run.record.loops) == 1
