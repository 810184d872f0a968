"""Maps and stores that one nest of loops computes."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs import function, together
from tests.helpers import captured


@pytest.fixture
def groups(monkeypatch):
    """How many arrays each nest writes."""
    found = []
    plain = function.Function.settle_together

    def settle(self):
        if self.together is not None:
            found.append(len(self.together.outputs))
        plain(self)

    monkeypatch.setattr(function.Function, "settle_together", settle)
    return found


def equations(x, y, rounds):
    """Three new arrays of what is at one place."""
    for _ in range(rounds):
        r = x * x + y * y
        x, y = x + 0.1 * y / r, y - 0.1 * x / r
    return x, y


def in_place(x, y, rounds):
    """What has been written is read again, at the same place."""
    for k in range(rounds):
        x += y * 0.5
        y -= x
        x *= 0.75
        y += k
    return x, y


def shifted(x, y, rounds):
    """What is written is read elsewhere: before, and after."""
    for _ in range(rounds):
        new = x[1:] - x[:-1]
        x[1:] += y[1:]
        y[:-1] += x[1:] * 0.25
        x[:-1] = x[:-1] * 0.5 + new
        x[::-1][1:] += y[1:]
    return x, y


def mixed(x, y, rounds):
    """Several dtypes; a decision that is counted; a row against a table."""
    table = np.zeros((7, x.size))
    count = np.zeros(x.shape, dtype=np.int16)
    for k in range(rounds):
        is_high = x > y
        count += is_high
        x = np.where(is_high, x * 0.5, x + 0.25)
        table += x
        table[k % 7] -= y
        y = np.minimum(x + y, 2.0) * 0.5
    return x, y, count, table


def read_as_a_whole(x, y, rounds):
    """A sum and a product see what was made before them."""
    total = 0.0
    for _ in range(rounds):
        a = x * 0.5 + y
        b = x - y
        total += a.sum() + float(a @ b) + b[0] + b.max()
        x = a + b * 0.125
    return x, total


@pytest.mark.parametrize("form, most", [(equations, 3), (in_place, 1), (shifted, 1), (mixed, 2), (read_as_a_whole, 2)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_forms(groups, form, most, dynamic):
    run = captured(form, backend=inductor, exact=False, dynamic=dynamic)
    for n in (1, 2, 9, 130):
        run.on(lambda n=n: (np.random.default_rng(4).random(n) + 0.5, np.linspace(0.5, 1.5, n), 6))
    assert run.graphs and not run.breaks and not run.record.loops, run.record.loops
    assert max(groups) >= most


def test_no_more_than_a_few(groups):
    def many(x, rounds):
        a = b = c = d = e = f = g = h = x
        for _ in range(rounds):
            a, b, c, d = a + 1.0, b * 0.5, c - d, d * 0.25
            e, f, g, h = e - 1.0, f * a, g + h, h * 0.125
        return a, b, c, d, e, f, g, h

    run = captured(many, backend=inductor, exact=False)
    run.on(lambda: (np.linspace(0.0, 1.0, 50), 6))
    assert run.graphs and max(groups) == together.MOST
