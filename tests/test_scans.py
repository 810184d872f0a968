"""Running sums and products: every bit NumPy's, on every layout; and NumPy's functions that write their argument."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from capture.ir.ops.assigning import COPIES_WHAT_OVERLAPS
from tests.helpers import captured

rng = np.random.default_rng(7)
X = rng.standard_normal((5, 6)) * 1e3
X[0, 0] = -0.0
TALL = rng.standard_normal((300, 4, 5))
LAYOUTS = (X, np.asfortranarray(X), X[::-1, ::2], np.tile(X, (20, 30)), np.tile(X, (20, 30)).T, TALL.transpose(1, 2, 0))
BACKENDS = (eager, inductor)


def floats(x):
    return (
        np.cumsum(x),
        x.cumsum(axis=0),
        np.cumprod(x[:3, :8], axis=1),
        np.cumsum(x * 2 + 1, axis=-1),
        np.cumsum(x[0], axis=0),
        np.cumsum(x.max()),
        np.cumsum(x[:, :1], axis=1),
        np.cumsum(x[:1], axis=0),
    )


def extremes(x):
    x = np.where(np.abs(x) > 900, np.nan, x)
    small = np.nan_to_num(x).astype(np.int8)
    return (
        np.maximum.accumulate(x),
        np.minimum.accumulate(x, axis=1),
        np.maximum.accumulate(small, axis=-1),
        np.minimum.accumulate(small.astype(np.uint16)),
        np.maximum.accumulate(x > 0, axis=0),
        np.minimum.accumulate(x[0] > 0),
        np.maximum.accumulate(x[:1]),
        np.minimum.accumulate(np.zeros((0, 3))),
    )


def integers(x):
    small = np.clip(x, -100, 100).astype(np.int8)
    return (
        (x > 0).cumsum(),
        small.cumsum(axis=0),
        np.cumsum(small, dtype=np.int16, axis=1),
        np.cumprod(small),
        np.cumsum(x[x > 0]),
        np.cumsum(np.zeros((0, 3)), axis=0),
    )


def overflows(x):
    return (x.astype("f4") * np.float32(1e35)).cumsum(axis=0), (x.astype("f4") * np.float32(1e33)).cumprod(axis=1)


def onto_itself(x):
    x[:] = np.cumsum(x, axis=0)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [floats, integers, extremes, overflows, onto_itself])
def test_running_sums(backend, function):
    run = captured(function, backend=backend)
    for layout in LAYOUTS:
        run.on(lambda: (layout.copy("K"),))  # noqa: B023
    assert run.breaks == []


# Functions that write ---------------------------------------------------------------------------------------------
def puts(x, y, m, i, j):
    np.put(x, i, [1.0, 2.0, 3.0, 4.0])
    np.put(x, i + 7, 7)
    x.put(j, y[0, :4])
    np.place(y, m, [1.0])
    np.putmask(x, m, x * 2)
    np.put_along_axis(x, np.array([[1], [2], [0], [0], [5]]), 9.0, axis=1)


def copies(x, y, m, i, j):
    np.copyto(x, 1.0, where=m)
    np.copyto(x, x[::-1])
    np.copyto(y, x, where=m[0])
    np.copyto(y, 3)


def combined(x, y, m, i, j):
    np.add.at(x, i, 1.0)
    np.add.at(x, (i, j), y[:4, 0])
    np.subtract.at(x, i, 1)
    np.maximum.at(x, (j,), y[:4])
    np.multiply.at(x, (slice(None), j), y[:, :4])
    np.add.at(y[0], j[::-1], y[1, :4])
    np.add.at(j, j, 1)
    np.bitwise_or.at(j, [1, 1], 4)


def overflowing(x, y, m, i, j):
    z = x.astype("f4")
    np.add.at(z, j, np.float32(3e38))
    return z


def nowhere(x, y, m, i, j):
    np.put(x, i + 100, 3.0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [puts, copies, combined, overflowing, nowhere])
def test_functions_that_write(backend, function):
    run = captured(function, backend=backend)
    index = np.array([0, 2, -1, 2])
    run.on(lambda: (X.copy(), X[::-1].copy(), X > 0.3, index.copy(), np.abs(index)))
    assert run.breaks == [] or not COPIES_WHAT_OVERLAPS
