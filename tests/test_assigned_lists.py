"""``x[key] = [1, y[0]]``: a list is converted to the array's dtype, item by item, and written like an array."""

from __future__ import annotations

import numpy as np
import pytest

from tests import helpers

DTYPES = ("?", "i1", "u1", "i4", "i8", "f2", "f4", "f8", "c8")
LISTS = {
    "ints": [1, 2],
    "floats": [1.5, 2.5],
    "bools": [True, False],
    "mixed": [True, 2.5],
    "tuple": (1, 2),
    "one": [1],
    "two axes": [[1], [2]],
    "large": [300, -1],
    "no numbers": [float("nan"), float("inf")],
    "too large": [1e300, 1],
    "complex": [1j, 2],
    "very large": [2**70, 1],
    "too many": [1, 2, 3],
    "too few": [],
    "nested once more": [[1, 2]],
    "ragged": [[1, 2], 3],
    "texts": ["1", "2"],
}
FITS = ("ints", "floats", "bools", "mixed", "tuple", "one")


def by_slice(x, values):
    x[1:3] = values
    return x


def by_steps(x, values):
    x[::-2] = values
    return x


def by_places(x, values):
    x[[3, 0]] = values
    x[np.array([2, -1])] = values
    return x


def by_mask(x, values):
    x[np.arange(4) % 3 == 1] = values
    x[x == x] = True
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("write", [by_slice, by_steps, by_places, by_mask])
def test_converted(write, name, dtype):
    values = LISTS[name]
    run = helpers.captured(lambda x: write(x, values))
    run(np.arange(4).astype(dtype))
    assert run.graphs or run.breaks
    if name in FITS and write is not by_mask:
        assert run.breaks == []


def test_items_that_are_computed(captured):
    def assign(x, y, n):
        x[1] = [x[0, 0], y[1], n]
        x[2] = [n, n + 1, 0.5]
        x[:, 0] = y.sum(), 3, y[0]
        x[[0, 2], [1, 2]] = [y[2], 2.5]
        x[0] = [y[0], y[1], y[2]]
        return x

    run = captured(assign)
    for n in (3, 7, 9):
        run(np.arange(9.0).reshape(3, 3), np.arange(3) + n, n)
    assert run.breaks == [] and run.graphs


def test_rows_of_what_is_written():
    """NumPy reads a row when it writes it, but for computed places."""

    def assign(x, y):
        x[[0, 1]] = [x[1], x[0]]
        x[:2] = [y[1], x[0] + 1]
        x[1:] = [x[0], x[1]]
        return x

    run = helpers.captured(assign)
    run(np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2))
    assert len(run.breaks) == 1 and run.graphs


def test_floats_among_ints():
    def assign(x, y):
        x[:2] = [y[0], 1]
        return x

    run = helpers.captured(assign)
    run(np.arange(3), np.array([2.5]))
    assert len(run.breaks) == 1
