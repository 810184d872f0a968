"""Short loops around others: unrolled where all are short, one node where one of them turns out to be long."""

import numpy as np
import pytest

import capture.backends
from capture.frames.loops.worth import FEW
from tests.helpers import captured

X = np.arange(110.0).reshape(22, 5) / 7
LONG = FEW + 3


def by_slices(image):
    out = np.zeros((image.shape[0] - 2, image.shape[1] - 2))
    for i in range(3):
        for j in range(3):
            out += (i - j) * image[i : i + out.shape[0], j : j + out.shape[1]]
    return out


def elements(x):
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = x[i] @ x[j]
    return out


def ways_out(x):
    for i, scale in zip(range(4), (1, 2, 3, 4), strict=True):
        for j in range(2):
            if j == i:
                continue
            x = x * scale + j
        else:
            x = x - 1
        if i == 2:
            break
    return x


def turns_out_long(x):
    """The inner loop is long from the second round on."""
    total, seen = np.zeros(5), []
    for i in range(3):
        seen.append(i)
        for j in range(1 + LONG * i):
            total = total + x[j % 20] * i
    return total, seen


def long_inside(x):
    x = x.copy()
    for i in range(3):
        x += i
        for j in range(LONG):
            x *= 1.25
            for k in range(2):
                x[k] += j
    return x


def of_one_iterator(x):
    rounds = iter(range(4))
    for _ in rounds:
        for j in range(LONG):
            x = x + j
        next(rounds)
    return x


def with_while(x):
    n = 0
    for i in range(2):
        while n < 10 * (i + 1):
            n += 1
            x = x + n
    return x, n


def three_deep(x):
    for i in range(2):
        for j in range(3):
            for k in range(2):
                x = x + i * j * k
    return x


LOOPS = {
    by_slices: 0,
    elements: 0,
    ways_out: 0,
    turns_out_long: 1,
    long_inside: 1,
    of_one_iterator: 0,  # so is an iterator
    with_while: 1,
    three_deep: 1,
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_short_loops(function, backend):
    run = captured(function, backend=getattr(capture.backends, backend), exact=backend == "eager")
    run(X)
    run(X)
    assert (run.graphs, run.breaks) == (1, [])
    (graph,) = run.record.graphs
    assert sum(node.target == "loop" for node in graph.calls) == LOOPS[function]
