"""Programs that write memory which the graph has made, in its place; what is read before and behind is as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from capture import backends
from capture.inductor.programs import taken_operands
from tests.helpers import captured


def filled(x):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def read_before(x):
    y = x * 2.0
    z = y + 1.0
    w = y[::-1] * 3.0
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return y + 1.0, z, w


def read_behind(x):
    y = x * 2.0
    kept = y.copy()
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + kept[i]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] - kept[i]
    y[0] = 5.0
    return y, kept


def shown_by_a_view(x):
    y = x * 2.0
    view = y[::-1]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return y, view


def two_views(x):
    y = x * 2.0
    one, other = y[1:], y[:-1]
    for i in range(x.shape[0] - 1):
        one[i] = one[i] + other[i]
    return y


def argument(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x


def only_scratch(x):
    row = np.zeros(x.shape[0])
    total = 0.0
    for i in range(1, x.shape[0]):
        row[i] = row[i - 1] + x[i]
        total += float(row[i])
    return total


def returned_twice(x):
    y = x + 1.0
    pair = (y, y)
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return pair


def changed_by_turns(x):
    a, b = x * 1.0, x * 2.0
    for _ in range(5):
        for i in range(1, x.shape[0]):
            b[i] = a[i - 1] * 0.5 + x[i]
        a, b = b, a
    return a


TAKEN = {
    filled: 1,
    read_before: 1,
    read_behind: 2,
    shown_by_a_view: 1,
    two_views: 0,
    argument: 0,
    only_scratch: 1,
    returned_twice: 1,
    changed_by_turns: 2,
}


@pytest.mark.parametrize("function", TAKEN)
def test_results_are_those_of_numpy(function):
    run = captured(function, backend=backends.inductor)
    for _ in range(3):
        run.on(lambda: (np.linspace(-1.0, 2.0, 40),))
    (graph,) = run.record.graphs
    assert sum(map(len, taken_operands(graph).values())) == TAKEN[function], graph


def test_a_call_that_is_left_begins_anew():
    def divided(x):
        out = x * 1.0
        for i in range(x.shape[0]):
            out[i] = out[i] + 1.0 / float(x[i])
        return out

    run = captured(divided, backend=backends.inductor)
    run.on(lambda: (np.linspace(1.0, 2.0, 41),))
    run.on(lambda: (np.linspace(-2.0, 2.0, 41),))
    assert (run.graphs, run.breaks) == (1, [])
