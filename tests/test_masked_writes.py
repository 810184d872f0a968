"""What the functions that write under a mask accept: ``copyto`` broadcasts truth values, the others take any numbers of
the array's size."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])


def copies(x, m, y):
    np.copyto(x, y, where=m)
    return x


def puts(x, m, y):
    np.putmask(x, m, y)
    return x


def places(x, m, y):
    np.place(x, m, y)
    return x


MASKS = {
    "truths": np.array([True, False, True]),
    "one truth": np.array([True]),
    "a truth": np.True_,
    "rank 0": np.array(True),
    "a column": np.array([[True], [False], [True]]),
    "numbers": np.array([1, 0, 2]),
    "floats": np.array([1.0, 0.0, np.nan]),
    "one number": np.array([1]),
    "a list": [True, False, True],
    "a list of numbers": [1, 0, 1],
    "a list of one": [True],
    "an int": 1,
}
KEPT = {(copies, "truths"), (copies, "one truth"), (puts, "truths"), (puts, "numbers"), (places, "truths")}


@BACKENDS
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("function", [copies, puts, places], ids=lambda f: f.__name__)
def test_as_numpy(function, mask, backend):
    run = captured(function, backend=backend)
    for value in (7.0, np.array([4.0, 5.0, 6.0])):
        run.on(lambda: (np.zeros(3), MASKS[mask], value))  # noqa: B023
    if (function, mask) in KEPT:
        assert run.breaks == [] and run.graphs
    else:
        assert run.graphs or run.breaks
