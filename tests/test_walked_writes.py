"""Writes at computed places happen as often as there are places: not at all where there are none, and the last one wins
where all are one place.
"""

from __future__ import annotations

import numpy as np
import pytest

from capture.backends import inductor
from tests.helpers import captured, numbers

NONE = np.array([], int)


def assigned(x, places, y):
    t = x.copy()
    t[places] = 3.0
    return t


def filled(x, places, y):
    t = x.T.copy()
    t[places] = y[:1]
    x[...] = t.T
    return x


def added(x, places, y):
    np.add.at(x, places, 1.0)
    return x


def put(x, places, y):
    x[places] = np.resize(y, np.shape(places) + np.shape(x)[1:]) if np.size(places) else 0.0
    return x


def counted(x, places, y):
    return np.bincount(places, minlength=3)


def listed(x, places, y):
    x[[]] = 3.0
    x[[], None] = y[:1]
    return x


PLACES = {
    "none": NONE,
    "none by rows": NONE.reshape(0, 2),
    "one, repeated": np.broadcast_to(np.array([1]), (5,)),
    "one, repeated by columns": np.broadcast_to(np.array([[1], [2]]), (2, 4)),
    "one, not at all": np.broadcast_to(np.array([1]), (0,)),
    "some": np.array([2, 0, 2]),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("function", [assigned, filled, added, put, counted, listed])
def test_writes_happen_as_often_as_there_are_places(function, places, dynamic):
    run = captured(function, backend=inductor, dynamic=dynamic)
    for shape in ((3,), (3, 3)):
        for dtype in ("f8", "i4", "c16"):
            run.on(lambda shape=shape, dtype=dtype: (numbers(*shape).astype(dtype), places, numbers(3).astype(dtype)))
    assert run.graphs or run.breaks
