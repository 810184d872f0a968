"""What every round of a loop computes alike is computed once, and long products in several vectors."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs.hoisting import with_maps_before_loops
from tests.helpers import captured


def steady(x, w, n):
    for _ in range(n):
        g = 2.0 * x.T @ (x @ w)
        w = w - 1e-3 * g
    return w


def written(x, w, n):
    """What is read changes in the loop."""
    for k in range(n):
        g = 2.0 * x.T @ (x @ w)
        x[k % x.shape[0]] *= 0.5
        w = w - 1e-3 * g
    return w


def kept(x, w, n):
    """The result itself is written, or outlives the round: one array for each round."""
    last = x * 1.0
    total = 0.0
    for k in range(n):
        rows = np.sqrt(x * x + 1.0)
        rows[k % 3, 0] = k
        total += rows[0, 0] + last[1, 1]
        last = rows
    return last, total


def inner(x, w, n):
    """It climbs out of two loops; decisions and no rounds at all do no harm."""
    total = np.zeros(x.shape[1])
    for i in range(n):
        for j in range(i, n):
            part = np.exp(x[1:].T / 4.0)
            if j % 2:
                total = total + part[:, 0] * i - part.sum(axis=1) + np.dot(part[:, 1], part[:, 0])
    return total


STEADY = {steady: True, written: False, kept: False, inner: True}


@pytest.mark.parametrize("function", STEADY, ids=lambda f: f.__name__)
def test_as_numpy(function):
    run = captured(function, backend=inductor, exact=False)
    for n in (7, 7, 0, 20):
        run.on(lambda: (np.random.default_rng(n).random((6, 4)) + 1.0, np.ones(4), n))  # noqa: B023
    nodes = [node for graph in run.record.graphs for node in graph if node.target == "loop"]
    assert nodes and not run.breaks
    programs = [node.params["program"] for node in nodes]
    moved = any(len(with_maps_before_loops(each).blocks[0].steps) > len(each.blocks[0].steps) for each in programs)
    assert moved == STEADY[function] or function is inner


def test_maps_move_in_nested_loops():
    run = captured(inner, backend=inductor, exact=False)
    run.on(lambda: (np.ones((6, 4)), np.ones(4), 9))
    (node,) = [node for graph in run.record.graphs for node in graph if node.target == "loop"]
    program = node.params["program"]
    before = [len(block.steps) for block in program.blocks]
    after = [len(block.steps) for block in with_maps_before_loops(program).blocks]
    assert sum(before) == sum(after) and before != after


def products(x, y):
    out = np.zeros((x.shape[0], 2), x.dtype)
    for k in range(x.shape[0]):
        out[k, 0] = x[:k] @ y[:k]
        out[k, 1] = x[k:] @ y[k:]
    return out


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_long_products(dtype):
    run = captured(products, backend=inductor, exact=False)
    for seed in range(2):
        run.on(lambda: tuple(np.random.default_rng(seed).random((2, 300)).astype(dtype) + 1))  # noqa: B023
    assert not run.breaks and not run.record.loops
